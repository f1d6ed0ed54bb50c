#!/usr/bin/env python3
"""The demo: a server over models/repository, digits over gRPC, REST and REST-binary, and the batches they made."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

import numpy as np
import tritonclient.grpc
import tritonclient.http

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e"))
import server  # noqa: E402

SHADES = " .:-=+*#"


def ask_grpc(running, image):
    client = tritonclient.grpc.InferenceServerClient(running.grpc)
    given = tritonclient.grpc.InferInput("image", list(image.shape), "FP32")
    given.set_data_from_numpy(image)
    return client.infer("digits_cnn", [given]).as_numpy("logits")


def ask_rest(running, image, binary):
    client = tritonclient.http.InferenceServerClient(running.http)
    given = tritonclient.http.InferInput("image", list(image.shape), "FP32")
    given.set_data_from_numpy(image, binary_data=binary)
    wanted = tritonclient.http.InferRequestedOutput("logits", binary_data=binary)
    return client.infer("digits_cnn", [given], outputs=[wanted]).as_numpy("logits")


PROTOCOLS = [("gRPC", ask_grpc), ("REST, JSON", lambda r, i: ask_rest(r, i, False)), ("REST, binary", lambda r, i: ask_rest(r, i, True))]


def draw(image):
    return ["".join(SHADES[min(int(v * len(SHADES)), len(SHADES) - 1)] * 2 for v in row) for row in image[0]]


def show_predictions(running, images, labels):
    right = 0
    for number, (name, ask) in enumerate(PROTOCOLS):
        chosen = slice(number * 4, number * 4 + 4)
        answers = ask(running, images[chosen]).argmax(1)
        print(f"\n{name}: predicted {', '.join(map(str, answers))}")
        for lines in zip(*map(draw, images[chosen])):
            print("   " + "   ".join(lines))
        right += int((answers == labels[chosen]).sum())
    return right


def send_many(running, images, labels, seconds=2.0):
    """Sixteen clients, one image a request, so that the server has something to batch."""
    end = time.monotonic() + seconds

    def work(number):
        client = tritonclient.grpc.InferenceServerClient(running.grpc)
        sent = right = 0
        while time.monotonic() < end:
            row = (number + sent) % len(images)
            given = tritonclient.grpc.InferInput("image", [1, 1, 8, 8], "FP32")
            given.set_data_from_numpy(images[row:row + 1])
            right += int(client.infer("digits_cnn", [given]).as_numpy("logits").argmax() == labels[row])
            sent += 1
        return sent, right

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        results = list(pool.map(work, range(16)))
    return sum(s for s, _ in results), sum(r for _, r in results)


def batch_histogram(running):
    """[(upper bound, executions)] from the server's own metric."""
    pattern = re.compile(r'tondar_batch_size_bucket\{.*model="digits_cnn".*le="([^"]+)"\} (\d+)')
    cumulative = [(m.group(1), int(m.group(2))) for m in map(pattern.match, running.metrics_text().splitlines()) if m]
    counts, before = [], 0
    for bound, total in cumulative:
        counts.append((bound, total - before))
        before = total
    return counts


def show_histogram(counts):
    largest = max((n for _, n in counts), default=0)
    print("\nBatches that the server formed (rows per execution):")
    for bound, count in counts:
        if count:
            print(f"  up to {bound:>5}  {count:7}  {'#' * max(1, round(40 * count / largest))}")


def main(binary):
    images, labels = (np.load(ROOT / "models/digits.npz")[key] for key in ("image", "label"))
    with tempfile.TemporaryDirectory() as scratch:
        repository = pathlib.Path(scratch) / "models"
        shutil.copytree(ROOT / "models/repository", repository)
        with server.Server(repository) as running:
            right = show_predictions(running, images, labels)
            print(f"\n{right} of 12 digits recognised.")
            sent, correct = send_many(running, images, labels)
            print(f"Then 16 clients sent {sent} requests in 2 seconds; {correct} answers were right.")
            show_histogram(batch_histogram(running))
            code = running.stop()
    print(f"""
The server drained and ended with code {code}. To go on:
  {os.path.relpath(binary, ROOT)} serve --model-repository=models/repository
  curl localhost:8000/v2/models/digits_cnn                    what the model takes and gives
  cp -r models/next/digits_cnn/2 models/repository/digits_cnn/    a new version takes over while you ask
  curl localhost:8002/metrics                                 what Prometheus sees
  {os.path.relpath(binary, ROOT)} inspect models/repository/digits_cnn/1/model.pt2 --plan""")
    return 0 if right == 12 and code == 0 and correct > 0 else 1


if __name__ == "__main__":
    server.BINARY = sys.argv[1]
    sys.exit(main(sys.argv[1]))
