"""NVIDIA's perf_analyzer, unmodified, over both protocols."""
import glob
import os
import pathlib
import re
import subprocess
import sys

import pytest

ENVIRONMENT = pathlib.Path(sys.executable).parent


@pytest.mark.parametrize("protocol", ["http", "grpc"])
@pytest.mark.parametrize("model, more", [("digits_cnn", ["-b", "4"]), ("identity_fp32", ["--shape", "input0:16"])])
def test_concurrency(serving, protocol, model, more):
    cuda = glob.glob(str(ENVIRONMENT.parent / "lib/python*/site-packages/nvidia/cuda_runtime/lib"))
    command = [str(ENVIRONMENT / "perf_analyzer"), "-m", model, "-i", protocol, "-u", getattr(serving, protocol),
               "--concurrency-range", "1:2", "--measurement-mode", "count_windows", "--measurement-request-count", "100", "-s", "95", "-r", "10", *more]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120,
                            env={**os.environ, "LD_LIBRARY_PATH": ":".join(cuda)})
    # A machine that does other work may give no three stable windows; then the numbers do not matter, the answers do.
    unstable = "Failed to obtain stable measurement" in answer.stdout + answer.stderr
    assert answer.returncode == 0 or unstable, answer.stdout + answer.stderr
    rates = [float(rate) for rate in re.findall(r"throughput: ([\d.]+) infer/sec", answer.stdout)]
    assert unstable or (rates and min(rates) > 10), answer.stdout + answer.stderr
    completed = sum(m["inference_count"] for m in serving.statistics(model))
    assert completed > 100
