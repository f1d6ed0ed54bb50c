#!/usr/bin/env python3
"""Times Tondar beside ONNX Runtime and OpenVINO (f32) on the same models, in one interleaved run.

    compare_engines.py --tondar build/release/tondar --threads 1,2 [--rounds 7] [--models DIR]... [--json OUT]

DIR (default: some of tests/fixtures) holds model.pt2, model.onnx and inputs_K.npz; without model.onnx only Tondar runs. Each engine is a process of its own;
the engines take turns, round after round, so that what else the machine does falls on all alike. Prints the median over the rounds of each
round's median, in milliseconds, and ratios to the fastest. With one thread every process is bound to one core.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFAULT = ["mlp", "digits_cnn", "resnet_thin", "mobilenet_thin", "vit_thin", "bert_thin"]
CALLS = 20  # per turn, after two that are not timed


def median_ms(call):
    call(), call()
    times = []
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def worker(engine, model, threads):
    """Answers each line on stdin, the path of an .npz file, with the median milliseconds of running it."""
    import numpy
    if engine == "ort":
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]
        prepare = lambda arrays: lambda: session.run(None, dict(zip(names, arrays)))
    else:
        import openvino
        compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
                                                                "INFERENCE_PRECISION_HINT": "f32"})
        request = compiled.create_infer_request()
        prepare = lambda arrays: lambda: request.infer(arrays)
    print("ready", flush=True)
    for line in sys.stdin:
        arrays = list(numpy.load(line.strip()).values())
        print(median_ms(prepare(arrays)), flush=True)


class Peer:
    def __init__(self, engine, model, threads):
        command = [sys.executable, __file__, "--worker", engine, str(model / "model.onnx"), str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def time(self, inputs):
        self.process.stdin.write(f"{inputs}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Tondar:
    def __init__(self, binary, model, threads):
        self.command = [binary, "bench", "--model", str(model / "model.pt2"), "--threads", str(threads), "--iterations", str(CALLS), "--json"]

    def time(self, inputs):
        return json.loads(subprocess.run([*self.command, "--inputs", str(inputs)], check=True, capture_output=True).stdout)["median_ms"]

    def close(self):
        pass


def measure(binary, model, threads, rounds):
    engines = {"tondar": Tondar(binary, model, threads)}
    if (model / "model.onnx").exists():
        engines |= {name: Peer(name, model, threads) for name in ("ort", "openvino")}
    cases = sorted(model.glob("inputs_*.npz"))
    times = {(case.stem, name): [] for case in cases for name in engines}
    for _ in range(rounds):
        for case in cases:
            for name, engine in engines.items():
                times[case.stem, name].append(engine.time(case))
    for engine in engines.values():
        engine.close()
    return [{"model": model.name, "threads": threads, "case": case.stem,
             "median_ms": {name: statistics.median(times[case.stem, name]) for name in engines}} for case in cases]


def shape_text(model, case):
    import numpy
    return " ".join("x".join(map(str, a.shape)) for a in numpy.load(model / f"{case}.npz").values())


def main():
    if sys.argv[1:2] == ["--worker"]:
        return worker(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tondar", default=str(ROOT / "build/release/tondar"))
    parser.add_argument("--models", action="append", type=pathlib.Path)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json")
    options = parser.parse_args()
    models = options.models or [ROOT / "tests/fixtures" / name for name in DEFAULT]
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    rows = []
    cores = os.sched_getaffinity(0)
    for threads in map(int, options.threads.split(",")):
        os.sched_setaffinity(0, sorted(cores)[-threads:])
        for model in models:
            for row in measure(options.tondar, model, threads, options.rounds):
                row["shapes"] = shape_text(model, row["case"])
                best = min(row["median_ms"].values())
                print(f"{threads} thread(s) {row['model']:16} {row['shapes']:32} " + "  ".join(
                    f"{name} {ms:.4g} ({ms / best:.2f})" for name, ms in row["median_ms"].items()), flush=True)
                rows.append(row)
    if options.json:
        report = {"cpu": cpu, "cores": len(cores), "commit": commit, "calls_per_turn": CALLS, "rounds": options.rounds, "rows": rows}
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
