#!/usr/bin/env python3
"""Trains and exports the served example: a small convolutional classifier of handwritten digits.

    python models/digits_cnn.py            writes beside itself:
        repository/digits_cnn/1/model.pt2      version 1, 16 and 32 channels
        next/digits_cnn/2/model.pt2            version 2, wider and trained longer, to drop in while version 1 serves
        digits.npz                             40 test images with labels and the logits of both versions

Needs torch 2.9 or later, numpy and scikit-learn (whose digits data set, 1797 images of 8x8, is used). Seeds are fixed; the
committed files were made by torch 2.15.0.
"""
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
TRAINING = 1437  # images; the other 360 are for testing


class DigitsCNN(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(1, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, 2 * channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(2 * channels)
        self.pool = nn.MaxPool2d(2)
        self.drop = nn.Dropout(0.25)
        self.fc1 = nn.Linear(2 * channels * 2 * 2, 4 * channels)
        self.fc2 = nn.Linear(4 * channels, 10)

    def forward(self, image):
        x = self.pool(F.relu(self.bn1(self.conv1(image))))
        x = self.pool(F.relu(self.bn2(self.conv2(x))))
        x = self.drop(torch.flatten(x, 1))
        return {"logits": self.fc2(F.relu(self.fc1(x)))}


def shuffled_digits():
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(data.target)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(7))
    return images[order], labels[order]


def train(channels, epochs, images, labels):
    torch.manual_seed(7)
    model = DigitsCNN(channels)
    optimiser = torch.optim.Adam(model.parameters(), 2e-3)
    generator = torch.Generator().manual_seed(7)
    model.train()
    for _ in range(epochs):
        order = torch.randperm(TRAINING, generator=generator)
        for start in range(0, TRAINING, 64):
            batch = order[start : start + 64]
            optimiser.zero_grad()
            F.cross_entropy(model(images[batch])["logits"], labels[batch]).backward()
            optimiser.step()
    return model.eval()


def save(program, path):
    """Writes the program without the traces that name files of the exporting machine."""
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.export.save(program, str(path))


def export(model, example, path):
    batch = torch.export.Dim("batch", max=1024)
    save(torch.export.export(model, (example,), dynamic_shapes=({0: batch},)), path)


class Identity(nn.Module):
    """Gives back what it gets: measures the server alone."""

    def forward(self, INPUT0):
        return {"OUTPUT0": INPUT0.view(-1)}


def main():
    images, labels = shuffled_digits()
    test_images, test_labels = images[TRAINING:].contiguous(), labels[TRAINING:]
    arrays = {"image": test_images[:40].numpy(), "label": test_labels[:40].numpy()}
    versions = [(1, 16, 12, HERE / "repository/digits_cnn/1/model.pt2"), (2, 24, 30, HERE / "next/digits_cnn/2/model.pt2")]
    for number, channels, epochs, path in versions:
        model = train(channels, epochs, images, labels)
        with torch.no_grad():
            logits = model(test_images)["logits"]
        accuracy = (logits.argmax(1) == test_labels).float().mean().item()
        export(model, test_images[:8].clone(), path)  # a slice would save the whole storage
        arrays[f"logits_v{number}"] = logits[:40].numpy()
        print(f"version {number}: accuracy {accuracy:.4f} on {len(test_labels)} held-out images, {path.relative_to(HERE)}")
    np.savez(HERE / "digits.npz", **arrays)

    length = torch.export.Dim("length", max=2**30)
    program = torch.export.export(Identity(), (torch.zeros(3),), dynamic_shapes=({0: length},))
    save(program, HERE / "repository/identity_fp32/1/model.pt2")


if __name__ == "__main__":
    main()
