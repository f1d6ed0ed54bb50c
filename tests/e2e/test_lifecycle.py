"""Versions come, go and break while clients keep asking; the server drains."""
import shutil
import threading
import time

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http

import server
from conftest import FIXTURES, MODELS

V1, V2 = MODELS / "repository/digits_cnn/1/model.pt2", MODELS / "next/digits_cnn/2/model.pt2"


class Traffic:
    """Threads that ask without pause and check every answer against the version that gave it."""

    def __init__(self, running, digits, threads=20, model="digits_cnn"):
        self.running, self.digits, self.model = running, digits, model
        self.stopping, self.failures, self.answers = threading.Event(), [], {}
        self.latencies = []
        self.threads = [threading.Thread(target=self.ask, args=(i,)) for i in range(threads)]
        for thread in self.threads:
            thread.start()

    def ask(self, number):
        module = tritonclient.grpc if number % 2 else tritonclient.http
        client = module.InferenceServerClient(self.running.grpc if number % 2 else self.running.http)
        row = number
        while not self.stopping.is_set():
            row = (row + 1) % 38
            image = self.digits["image"][row:row + 1 + row % 3]
            given = module.InferInput("image", list(image.shape), "FP32")
            given.set_data_from_numpy(image)
            begin = time.perf_counter()
            try:
                result = client.infer(self.model, [given])
            except Exception as error:  # any failure is the test's finding
                self.failures.append(repr(error))
                continue
            self.latencies.append(time.perf_counter() - begin)
            response = result.get_response()
            version = response["model_version"] if isinstance(response, dict) else response.model_version
            expected = self.digits["logits_v2" if int(version) % 2 == 0 else "logits_v1"][row:row + 1 + row % 3]
            if not np.allclose(result.as_numpy("logits"), expected, atol=1e-4):
                self.failures.append(f"wrong answer from version {version}")
            self.answers[version] = self.answers.get(version, 0) + 1
        client.close()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()


def versions_ready(running, name="digits_cnn"):
    _, index = running.post("/v2/repository/index", {})
    return [m["version"] for m in index if m["name"] == name and m["state"] == "READY"]


@pytest.mark.parametrize("mode", ["poll", "explicit"])
def test_new_versions_lose_no_request(repository, digits, mode):
    server.put_model(repository, "digits_cnn", 1, V1)
    server.put_model(repository, "neighbour", 1, V1)
    flags = ["--model-control-mode=" + mode, "--repository-poll-secs=0.2"]
    flags += ["--load-model=*"] if mode == "explicit" else []
    with server.Server(repository, *flags) as running:
        traffic, neighbour = Traffic(running, digits, 8), Traffic(running, digits, 2, "neighbour")

        def arrive(version, source):
            server.put_model(repository, "digits_cnn", version, source)
            if mode == "explicit":
                return running.post("/v2/repository/models/digits_cnn/load", {})[0]

        time.sleep(0.5)
        arrive(2, V2)
        running.wait_until(lambda: versions_ready(running) == ["2"])
        broken = repository / "broken.pt2"
        broken.write_bytes(V2.read_bytes()[:5000])
        status = arrive(3, broken)
        assert status in (None, 400)
        running.wait_until(lambda: "UNAVAILABLE" in str(running.post("/v2/repository/index", {})[1]))
        time.sleep(0.5)
        assert versions_ready(running) == ["2"], "the broken version must not unseat the one that serves"
        shutil.rmtree(repository / "digits_cnn/3")
        arrive(4, V2)
        running.wait_until(lambda: versions_ready(running) == ["4"])
        time.sleep(0.5)
        traffic.stop()
        neighbour.stop()
        assert traffic.failures == [] and neighbour.failures == []
        assert set(traffic.answers) == {"1", "2", "4"}
        assert running.stop() == 0


def test_drain_finishes_what_was_accepted(repository, digits):
    server.put_model(repository, "digits_cnn", 1, V1)
    with server.Server(repository) as running:
        traffic = Traffic(running, digits, 4)
        time.sleep(0.5)
        before = sum(traffic.answers.values())
        running.terminate()
        assert running.process.wait(40) == 0
        traffic.stop()
        assert before > 0
        wrong = [f for f in traffic.failures if "wrong answer" in f]
        assert wrong == []


def test_explicit_mode_loads_and_unloads(repository, digits):
    server.put_model(repository, "digits_cnn", 1, V1)
    with server.Server(repository, "--model-control-mode=explicit") as running:
        assert running.get("/v2/models/digits_cnn/ready")[0] != 200
        assert running.post("/v2/repository/models/nobody/load", {})[0] == 404
        assert running.post("/v2/repository/models/digits_cnn/load", {})[0] == 200
        assert running.get("/v2/models/digits_cnn/ready")[0] == 200
        assert running.post("/v2/repository/models/digits_cnn/unload", {})[0] == 200
        running.wait_until(lambda: running.get("/v2/models/digits_cnn/ready")[0] != 200)


def test_control_mode_none_refuses_the_load_api(repository):
    server.put_model(repository, "digits_cnn", 1, V1)
    with server.Server(repository, "--model-control-mode=none") as running:
        status, answer = running.post("/v2/repository/models/digits_cnn/load", {})
        assert status == 503 and "explicit" in answer["error"]


def test_a_version_that_vanishes_is_unloaded(repository):
    server.put_model(repository, "digits_cnn", 1, V1)
    server.put_model(repository, "digits_cnn", 2, V2, "version_policy: { all {} }\n")
    with server.Server(repository, "--repository-poll-secs=0.2") as running:
        assert versions_ready(running) == ["1", "2"]
        shutil.rmtree(repository / "digits_cnn/2")
        running.wait_until(lambda: versions_ready(running) == ["1"])


def test_load_and_unload_leave_memory_flat(repository):
    for name in ("digits_cnn", "resnet_thin", "bert_thin"):
        source = V1 if name == "digits_cnn" else FIXTURES / name / "model.pt2"
        server.put_model(repository, name, 1, source)
    with server.Server(repository, "--model-control-mode=explicit") as running:
        def cycle():
            for name in ("digits_cnn", "resnet_thin", "bert_thin"):
                assert running.post(f"/v2/repository/models/{name}/load", {})[0] == 200
            for name in ("digits_cnn", "resnet_thin", "bert_thin"):
                assert running.post(f"/v2/repository/models/{name}/unload", {})[0] == 200
        for _ in range(10):
            cycle()
        settled = running.rss_kb()
        for _ in range(20):
            cycle()
        assert running.rss_kb() < settled * 1.05
