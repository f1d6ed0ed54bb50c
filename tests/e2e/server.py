"""Starts and stops a real Tondar for tests."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("TONDAR", str(ROOT / "build/release/tondar"))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A running server over `repository`; addresses are attributes."""

    def __init__(self, repository, *flags, wait=True):
        self.http, self.grpc, self.metrics = (f"127.0.0.1:{free_port()}" for _ in range(3))
        self.log_path = pathlib.Path(repository) / ".server.log"
        self.log = open(self.log_path, "w")
        ports = [f"--{name}-port={getattr(self, name).split(':')[1]}" for name in ("http", "grpc", "metrics")]
        addresses = [f"--{name}-address=127.0.0.1" for name in ("http", "grpc", "metrics")]
        command = [BINARY, "serve", f"--model-repository={repository}", *ports, *addresses, *flags]
        self.process = subprocess.Popen(command, stderr=self.log, stdout=self.log)
        if wait:
            self.wait_ready()

    def wait_ready(self, seconds=60):
        self.wait_until(lambda: self.get("/v2/health/ready")[0] == 200, seconds)

    def wait_until(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, "the server ended:\n" + self.log_text()
            with contextlib.suppress(OSError):
                if condition():
                    return
            time.sleep(0.02)
        raise AssertionError(f"not so within {seconds} s; log:\n" + self.log_text())

    def log_text(self):
        return self.log_path.read_text()

    def request(self, method, path, body=None, headers=None, base=None):
        """(status, headers, body bytes) of one request, whatever the status."""
        data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        request = urllib.request.Request(f"http://{base or self.http}{path}", data, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), error.read()

    def get(self, path, base=None):
        status, _, body = self.request("GET", path, base=base)
        return status, body

    def post(self, path, body):
        status, _, answer = self.request("POST", path, body)
        return status, json.loads(answer or b"null")

    def statistics(self, model):
        return json.loads(self.get(f"/v2/models/{model}/stats")[1])["model_stats"]

    def metrics_text(self):
        return self.get("/metrics", base=self.metrics)[1].decode()

    def metric(self, name, **labels):
        """The sum of all samples of a metric that carry these labels."""
        total = 0.0
        for line in self.metrics_text().splitlines():
            if not line.startswith((name + "{", name + " ")):
                continue
            if all(f'{k}="{v}"' in line for k, v in labels.items()):
                total += float(line.rsplit(" ", 1)[1])
        return total

    def rss_kb(self):
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmRSS:"):
                return int(line.split()[1])

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def stop(self):
        """SIGTERM, then the exit code."""
        self.terminate()
        code = self.process.wait(60)
        self.log.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
        if kind:
            print(self.log_text())
        self.log.close()


def put_model(repository, name, version, source, config=None):
    """Copies a model file into the repository the safe way: under another name first, then by rename."""
    folder = pathlib.Path(repository) / name
    folder.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (folder / "config.pbtxt").write_text(config)
    staging = folder / f".staging-{version}"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    shutil.copy(source, staging / ("model" + pathlib.Path(source).suffix))
    staging.rename(folder / str(version))
