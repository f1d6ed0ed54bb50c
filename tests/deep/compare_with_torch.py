#!/usr/bin/env python3
"""Compares random calls of operators with eager PyTorch, through `tondar infer`.

    compare_with_torch.py --tondar build/release/tondar [--seed S] [--cases 2000] [--only sort.stable,...]
    compare_with_torch.py --tondar build/release/tondar --seed S --case N      # one case again, shown

Prints the seed, the cases that differ (with what shows them again), those that Tondar refuses by operator, and a summary. Exit code 1
if a case differs. Case N of a seed is always the same call for the same version of torch.
"""
import argparse
import collections
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import numpy
import torch

from drawn_operators import ROWS, Draw

PROGRAM_CASES = 30
TOLERANCE = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float32: 2e-6, torch.float64: 1e-12}


class Case:
    """One call: the operator, its arguments with tensors taken out, the tensors as they are fed, and what PyTorch answers."""

    def __init__(self, seed, number, names):
        self.number = number
        generator = random.Random(f"{seed}:{number}")
        self.name = generator.choice(names)
        draw_row, self.loose, self.free, self.count, self.may_view = ROWS[self.name]
        op, _, overload = self.name.partition(".")
        self.op = getattr(getattr(torch.ops.aten, op), overload or "default")
        while True:
            try:
                self.draw(Draw(generator), draw_row)
                return
            except Exception:  # noqa: BLE001, PyTorch refuses with many kinds: draw again
                continue

    def draw(self, d, draw_row):
        args = draw_row(d)
        self.kwargs = args[-1] if isinstance(args[-1], dict) else {}
        args = args[:-1] if isinstance(args[-1], dict) else args
        self.fed, self.views = [], []
        self.args = [self.take_out(d, a) for a in args]
        self.expected = self.results(self.fed)

    def take_out(self, d, value):
        if isinstance(value, list) and any(isinstance(v, torch.Tensor) for v in value):
            return [self.take_out(d, v) for v in value]
        if not isinstance(value, torch.Tensor):
            return value
        view = None
        if not self.may_view:
            pass
        elif value.dim() >= 2 and d.chance(0.25):
            order = d.random.sample(range(value.dim()), value.dim())
            view = ("permute", [order.index(i) for i in range(value.dim())])
            value = value.permute(order).contiguous()
        elif value.dim() >= 1 and value.numel() and d.chance(0.15):
            view = ("slice", 2)
            value = value.repeat_interleave(2, 0)
        self.fed.append(value)
        self.views.append(view)
        return Slot(len(self.fed) - 1)

    def results(self, tensors):
        """What the call gives on tensors that are fed as `self.fed` is."""
        result = self.call(tensors)
        return (list(result) if isinstance(result, (tuple, list)) else [result])[:self.count]

    def call(self, tensors):
        def put_in(value):
            if isinstance(value, list):
                return [put_in(v) for v in value]
            return show(tensors[value.index], self.views[value.index]) if isinstance(value, Slot) else value
        return self.op(*[put_in(a) for a in self.args], **self.kwargs)

    def describe(self):
        def text(value):
            if isinstance(value, Slot):
                x = self.fed[value.index]
                return f"{str(x.dtype)[6:]}{list(x.shape)}{self.views[value.index] or ''}"
            return f"[{', '.join(text(v) for v in value)}]" if isinstance(value, list) else repr(value)
        return f"{self.name}({', '.join([text(a) for a in self.args] + [f'{k}={v!r}' for k, v in self.kwargs.items()])})"


class Slot:
    def __init__(self, index):
        self.index = index


def show(tensor, view):
    if view is None:
        return tensor
    return tensor.permute(view[1]) if view[0] == "permute" else tensor[::2]


class Program(torch.nn.Module):
    def __init__(self, cases):
        super().__init__()
        self.cases = cases

    def forward(self, tensors):
        results, begin = [], 0
        for case in self.cases:
            end = begin + len(case.fed)
            results += [r.contiguous() for r in case.results(tensors[begin:end])]
            begin = end
        return tuple(results)


class Refused(Exception):
    pass


def to_numpy(tensor):
    return tensor.view(torch.uint16).numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()


def from_numpy(array, dtype):
    if dtype == torch.bfloat16 and array.dtype == numpy.uint16:
        return torch.from_numpy(array.copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def answers(tondar, cases, directory):
    """What Tondar answers for the cases, in one program. Refused: it does not load, or it fails."""
    tensors = [t.clone() for case in cases for t in case.fed]
    program = torch.export.export(Program(cases), (tensors,), strict=False)
    model, fed, answered = directory / "model.pt2", directory / "in.npz", directory / "out.npz"
    torch.export.save(program, model)
    names = [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    listed = subprocess.run([tondar, "inspect", model], capture_output=True, text=True)
    if listed.returncode != 0:
        raise Refused(listed.stderr.strip())
    assert len(names) == len(tensors), "an input has gone"
    numpy.savez(fed, **{f"tensors_{i}": to_numpy(t) for i, t in enumerate(tensors)})
    run = subprocess.run([tondar, "infer", "--model", model, "--inputs", fed, "--output", answered], capture_output=True, text=True)
    if run.returncode != 0:
        raise Refused(run.stderr.strip() or f"exit code {run.returncode}")
    with numpy.load(answered) as file:
        return [file[name] for name in file.files]


def difference(case, results):
    for i, (actual, expected) in enumerate(zip(results, case.expected)):
        if i in case.free:
            continue
        actual = from_numpy(actual, expected.dtype)
        if actual.dtype != expected.dtype or list(actual.shape) != list(expected.shape):
            return f"result {i} is {actual.dtype} {list(actual.shape)}, expected {expected.dtype} {list(expected.shape)}"
        if expected.dtype not in TOLERANCE:
            wrong = actual != expected
        else:
            a, e = actual.double(), expected.double()
            finite = e[e.isfinite()].abs()
            rounding = [TOLERANCE[t.dtype] for t in case.fed if t.dtype in TOLERANCE] + [TOLERANCE[expected.dtype]]
            tolerance = max(rounding) * case.loose
            bound = tolerance * (e.abs() + (finite.max() if finite.numel() else 0) + 1)
            close = (a - e).abs() <= bound
            wrong = ~(close | (a == e) | (a.isnan() & e.isnan()))
        if wrong.any():
            at = wrong.reshape(-1).nonzero()[0].item()
            return f"result {i}[{at}] is {actual.reshape(-1)[at].item()}, expected {expected.reshape(-1)[at].item()}"
    return ""


class Comparison:
    def __init__(self, tondar, seed, only):
        self.tondar = tondar
        self.again = f"--seed {seed}" + (f" --only {only}" if only else "")
        self.tried, self.differing = 0, []
        self.refused = collections.defaultdict(list)

    def run(self, cases):
        with tempfile.TemporaryDirectory() as directory:
            try:
                results = answers(self.tondar, cases, pathlib.Path(directory))
            except Refused as why:
                if len(cases) == 1:
                    self.refuse(cases[0], str(why))
                    return
                half = len(cases) // 2
                self.run(cases[:half])
                self.run(cases[half:])
                return
        for case in cases:
            self.judge(case, results[:len(case.expected)])
            results = results[len(case.expected):]

    def judge(self, case, results):
        self.tried += 1
        text = difference(case, results)
        if text:
            self.differing.append(case)
            print(f"DIFFERS {case.describe()}: {text}\n    {self.again} --case {case.number}", flush=True)

    # A program that loads but fails when it runs is a difference: PyTorch did answer.
    def refuse(self, case, why):
        if "not supported" in why or "UNIMPLEMENTED" in why or "Unimplemented" in why:
            self.refused[case.name].append((case, why))
        else:
            self.tried += 1
            self.differing.append(case)
            print(f"FAILS {case.describe()}: {why[:400]}\n    {self.again} --case {case.number}", flush=True)

    def summary(self):
        for name, refusals in sorted(self.refused.items()):
            case, why = refusals[0]
            print(f"refused {len(refusals)}x {case.describe()}: {why.splitlines()[0][-200:]}")
        count = sum(len(r) for r in self.refused.values())
        print(f"{self.tried} cases compared, {len(self.differing)} differ, {count} refused; {self.again}, torch {torch.__version__}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tondar", required=True)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--case", type=int, help="run this case alone and print its tensors")
    parser.add_argument("--only", help="operators, separated by commas")
    options = parser.parse_args()
    names = sorted(options.only.split(",") if options.only else ROWS)
    print(f"seed {options.seed}, torch {torch.__version__}, {len(names)} operators", flush=True)
    comparison = Comparison(options.tondar, options.seed, options.only)
    if options.case is not None:
        case = Case(options.seed, options.case, names)
        print(case.describe(), *case.fed, "expected:", *case.expected, sep="\n")
        comparison.run([case])
    else:
        for begin in range(0, options.cases, PROGRAM_CASES):
            comparison.run([Case(options.seed, n, names) for n in range(begin, min(begin + PROGRAM_CASES, options.cases))])
    comparison.summary()
    sys.exit(1 if comparison.differing else 0)


if __name__ == "__main__":
    main()
