#!/usr/bin/env python3
"""Makes those fixtures of tests/fixtures that are about one corner of an export each: model.pt2, core.pt2, inputs and answers.

Usage: make_models.py [OUTPUT_DIR] [NAME...]. The answers are eager PyTorch's; seeds are fixed, the version goes into meta.json.
"""
import json
import pathlib
import sys

import numpy as np
import torch
from torch.export import Dim


class DataSized(torch.nn.Module):
    """Results whose sizes the data tell: masks as indices, unique, repeats, bins."""

    def forward(self, x, mask, bins, points):
        values, inverse, counts = torch.unique(bins, return_inverse=True, return_counts=True)
        runs, run_of, lengths = torch.unique_consecutive(bins, return_inverse=True, return_counts=True)
        return dict(
            rows=x[mask], elements=x[points], column=x[mask, 1], mirror=x[:, 0][mask], constant_mask=x[:, torch.tensor([True, False, True])],
            values=values, inverse=inverse, counts=counts, runs=runs, run_of=run_of, lengths=lengths, unique=torch.unique(x),
            repeated=torch.repeat_interleave(bins), repeated_rows=x.repeat_interleave(bins, dim=0), doubled=x.repeat_interleave(bins.sum() * 0 + 2),
            bins=torch.bincount(bins, minlength=5), weighted=torch.bincount(bins, weights=x[:, 0]), mean=torch.bincount(bins).float().mean(),
            where=torch.argwhere(x > 0))

    @staticmethod
    def inputs(rows, seed):
        g = torch.Generator().manual_seed(seed)
        return (torch.randn(rows, 3, generator=g).round(decimals=1), torch.rand(rows, generator=g) > 0.4,
                torch.randint(0, 4, (rows,), generator=g), torch.rand(rows, 3, generator=g) > 0.5)


class Autocast(torch.nn.Module):
    """Regions of torch.autocast, one within the other."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.LayerNorm(8)
        self.inside, self.outside = torch.nn.Linear(8, 8), torch.nn.Linear(8, 4)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.norm(self.conv(x).mean((2, 3)))
            z = self.inside(y)
            attended = torch.nn.functional.scaled_dot_product_attention(z[None], z[None], z[None])[0]
            joined = torch.cat([z, attended.float()], -1)
            with torch.autocast("cpu", enabled=False):
                plain = self.outside(y.float())
        return z.float(), attended.float(), joined, plain, torch.softmax(z, -1).float()

    @staticmethod
    def inputs(rows, seed):
        return (torch.randn(rows, 3, 8, 8, generator=torch.Generator().manual_seed(seed)),)


ROWS = Dim("rows", min=1, max=64)
CASES = {  # name: module, dynamic shapes, (rows, seed) of each set, tolerance
    "data_sized": (DataSized, ({0: ROWS},) * 4, ((4, 1), (7, 2), (1, 3), (50, 4)), 1e-5),
    "autocast": (Autocast, ({0: ROWS},), ((4, 1), (1, 2)), 1e-2),
}


def numpy_of(tensor):
    tensor = tensor.detach()
    return tensor.view(torch.uint16).numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()


def describe(tensors):
    return [{"key": key, "kind": "tensor", "dtype": str(x.dtype).removeprefix("torch."), "shape": list(x.shape)} for key, x in tensors.items()]


def make(name, folder):
    kind, dynamic, sets, tolerance = CASES[name]
    torch.manual_seed(0)
    model = kind().eval()
    folder.mkdir(parents=True, exist_ok=True)
    program = torch.export.export(model, kind.inputs(*sets[0]), dynamic_shapes=dynamic)
    torch.export.save(program, folder / "model.pt2")
    torch.export.save(program.run_decompositions(), folder / "core.pt2")
    keys = [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind == torch.export.graph_signature.InputKind.USER_INPUT]
    described = []
    for k, (rows, seed) in enumerate(sets):
        inputs = kind.inputs(rows, seed)
        outputs = torch.utils._pytree.tree_leaves(model(*inputs))
        named = {f"out_{i}": output for i, output in enumerate(outputs)}
        described.append({"inputs": describe(dict(zip(keys, inputs))), "outputs": describe(named)})
        np.savez(folder / f"inputs_{k}.npz", **dict(zip(keys, map(numpy_of, inputs))))
        np.savez(folder / f"outputs_{k}.npz", **{key: numpy_of(output) for key, output in named.items()})
    meta = {"name": name, "torch": torch.__version__.split("+")[0], "atol": tolerance, "rtol": tolerance, "stateful": False, "order_free": [], "inputs": keys,
            "sets": described}
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2] / "tests/fixtures"
    for name in sys.argv[2:] or CASES:
        make(name, root / name)


if __name__ == "__main__":
    main()
