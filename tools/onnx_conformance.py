#!/usr/bin/env python3
"""Runs the onnx package's own operator tests (onnx.backend.test) through `tondar infer`.

    tools/onnx_conformance.py --tondar build/release/tondar [--filter REGEX] [--list FILE] [--save DIR]

Needs the Python packages onnx and numpy. Each case counts as passed, unsupported (the message says what is missing),
wrong (the answer differs, or the model was called broken) or not asked (strings, sequences, optionals, maps, training).
--list writes one line per case; --save DIR keeps the passed cases that --filter picks as DIR/NAME/{model.onnx,
inputs_0.npz,outputs_0.npz,meta.json}, the form of tests/fixtures. Exit 1 if a case is wrong.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

TRAINING = {"ai.onnx.preview.training", "ai.onnx.ml", "ai.onnx.training"}


def cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases
        from onnx.backend.test.loader import load_model_tests
        for case in collect_testcases(None):
            yield case.name, case.model, [(list(i), list(o)) for i, o in case.data_sets], case.rtol, case.atol
        for kind in ("simple", "pytorch-converted", "pytorch-operator"):
            for case in load_model_tests(kind=kind):
                folder = pathlib.Path(case.model_dir)
                model = onnx.load(folder / "model.onnx")
                sets = [tuple([read_pb(p) for p in sorted(f.glob(f"{what}_*.pb"), key=number)] for what in ("input", "output"))
                        for f in sorted(folder.glob("test_data_set_*"))]
                yield case.name, model, sets, case.rtol, case.atol


def number(path):
    return int(re.search(r"_(\d+)\.pb$", path.name).group(1))


def read_pb(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return tensor


def storable(value):
    """An array as npz keeps it: bfloat16 as its bits; None for what is no tensor of numbers."""
    if isinstance(value, onnx.TensorProto):
        value = numpy_helper.to_array(value)
    if value is None or isinstance(value, (list, dict, str)):
        return None
    array = np.asarray(value)
    if array.dtype.kind in "OSU" or array.dtype.name.startswith(("float4", "int4", "uint4", "int2", "uint2", "float6")):
        return None
    if array.dtype.name == "bfloat16":
        return array.view(np.uint16)
    if array.dtype.name.startswith("float8"):
        return array.view(np.uint8)
    return array


def differ(found, expected, rtol, atol):
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    if found.dtype != expected.dtype:
        return f"dtype {found.dtype}, expected {expected.dtype}"
    if not np.allclose(found.astype(np.complex128), expected.astype(np.complex128), rtol=rtol, atol=atol, equal_nan=True):
        with np.errstate(all="ignore"):
            return f"differs by {np.nanmax(np.abs(found.astype(np.complex128) - expected.astype(np.complex128))):.3g}"
    return ""


def run(tondar, folder, model, data, rtol, atol):
    onnx.save(model, folder / "model.onnx")
    inputs, outputs = data
    initializers = {i.name for i in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in initializers or len(inputs) == len(model.graph.input)]
    arrays = {}
    for name, value in zip(names, inputs):
        array = storable(value)
        if array is None:
            return "not asked", f"input {name}"
        arrays[name] = array
    expected = [storable(o) for o in outputs]
    if any(e is None for e in expected):
        return "not asked", "an output that is no tensor of numbers"
    np.savez(folder / "inputs_0.npz", **{k: v for k, v in arrays.items() if k not in initializers})
    done = subprocess.run([tondar, "infer", "--model", folder / "model.onnx", "--inputs", folder / "inputs_0.npz",
                           "--output", folder / "found.npz"], capture_output=True, text=True, timeout=120)
    message = (done.stderr + done.stdout).strip().replace(str(folder) + "/model.onnx: ", "")
    if done.returncode != 0:
        refused = any(w in message for w in ("not supported", "no input", "cannot run these steps"))
        return ("unsupported" if refused and done.returncode == 1 else "wrong"), message[:300]
    found = np.load(folder / "found.npz")
    for name, value in zip([o.name for o in model.graph.output], expected):
        if problem := differ(found[name], value, rtol, atol):
            return "wrong", f"{name}: {problem}"
    np.savez(folder / "outputs_0.npz", **{f"out_{i}": v for i, v in enumerate(expected)})
    (folder / "meta.json").write_text(json.dumps({"source": f"onnx {onnx.__version__}, onnx.backend.test", "atol": atol, "rtol": rtol}) + "\n")
    return "passed", ""


def with_constants(model, data):
    """The case with all inputs but the first as initializers: shapes and axes, which models hold as constants."""
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    inputs, outputs = data
    first = 1 if len(inputs) > 1 or storable(inputs[0]).dtype.kind == "f" else 0
    for info, value in list(zip(fixed.graph.input, inputs))[first:]:
        tensor = value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(np.asarray(value), info.name)
        tensor.name = info.name
        fixed.graph.initializer.append(tensor)
    del fixed.graph.input[first:]
    return fixed, (inputs[:first], outputs)


def keep(folder, target):
    target.mkdir(parents=True, exist_ok=True)
    for name in ("model.onnx", "inputs_0.npz", "outputs_0.npz", "meta.json"):
        shutil.copy(folder / name, target / name)


def judge(args, case):
    name, model, sets, rtol, atol = case
    if any(o.domain in TRAINING for o in model.opset_import):
        return name, "not asked", "domain " + ", ".join(o.domain for o in model.opset_import)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for data in sets:
            verdict, why = run(args.tondar, folder, model, data, max(rtol, 1e-4), max(atol, 1e-6))
            if verdict == "unsupported" and "depend" in why:
                verdict, why = run(args.tondar, folder, *with_constants(model, data), max(rtol, 1e-4), max(atol, 1e-6))
            if verdict != "passed":
                return name, verdict, why
        if args.save and sets:
            keep(folder, pathlib.Path(args.save) / name.removeprefix("test_"))
    return name, "passed", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tondar", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--filter", default="", type=re.compile)
    parser.add_argument("--list")
    parser.add_argument("--save")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    picked = (c for c in cases() if re.search(args.filter, c[0]))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = sorted(pool.map(lambda c: judge(args, c), picked))
    if args.list:
        pathlib.Path(args.list).write_text("".join(f"{v}\t{n}\t{w}\n" for n, v, w in results))
    counts = collections.Counter(v for _, v, _ in results)
    for name, verdict, why in results:
        if verdict == "wrong":
            print(f"wrong {name}: {why}")
    print(", ".join(f"{counts[v]} {v}" for v in ("passed", "unsupported", "wrong", "not asked")))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
