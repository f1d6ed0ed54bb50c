"""Files that serve are written over, cut off and removed: what was loaded stays what it was, and nothing ends the server."""
import os
import shutil
import threading

import numpy as np
import pytest
import tritonclient.http

import server
from conftest import FIXTURES, MODELS

V1, V2 = MODELS / "repository/digits_cnn/1/model.pt2", MODELS / "next/digits_cnn/2/model.pt2"


def ask(client, model, inputs):
    """All outputs of one inference, by name."""
    given = []
    for name, array in inputs.items():
        given.append(tritonclient.http.InferInput(name, list(array.shape), tritonclient.utils.np_to_triton_dtype(array.dtype)))
        given[-1].set_data_from_numpy(array)
    result = client.infer(model, given)
    return {output["name"]: result.as_numpy(output["name"]) for output in result.get_response()["outputs"]}


def overwrite(path, data):
    """As cp does: the same file, from its beginning on."""
    with open(path, "r+b") as file:
        file.write(data)
        file.truncate()


DAMAGES = {
    "copied over": lambda path: overwrite(path, (FIXTURES / "digits_cnn/model.pt2").read_bytes()),
    "garbage": lambda path: overwrite(path, os.urandom(os.path.getsize(path))),
    "emptied": lambda path: os.truncate(path, 0),
    "cut in half": lambda path: os.truncate(path, os.path.getsize(path) // 2),
    "removed": os.remove,
}


# Embeddings are used as they are, so a mapping of the file would show; large enough for many pages.
@pytest.mark.parametrize("file", ["bert_thin/model.pt2", "bert_thin/model.onnx"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_answers_stay_what_they_were(repository, damage, file):
    source = FIXTURES / file
    server.put_model(repository, "bert", 1, source)
    inputs = dict(np.load(source.parent / "inputs_0.npz"))
    with server.Server(repository, "--model-control-mode=explicit", "--load-model=*") as running:
        client = tritonclient.http.InferenceServerClient(running.http)
        before = ask(client, "bert", inputs)
        DAMAGES[damage](repository / "bert/1" / source.name)
        for _ in range(5):
            after = ask(client, "bert", inputs)
            assert all(np.array_equal(before[name], after[name]) for name in before)
        if damage not in ("copied over", "removed"):
            assert running.post("/v2/repository/models/bert/load", {})[0] == 400
            after = ask(client, "bert", inputs)
            assert all(np.array_equal(before[name], after[name]) for name in before), "the old version stays"
        client.close()
        assert running.stop() == 0


def test_polling_takes_over_what_was_copied_over_a_served_version(repository, digits):
    server.put_model(repository, "digits_cnn", 1, V1)
    file = repository / "digits_cnn/1/model.pt2"
    image = {"image": digits["image"][:4]}
    with server.Server(repository, "--repository-poll-secs=0.2") as running:
        client = tritonclient.http.InferenceServerClient(running.http)

        def answers(logits):
            return np.allclose(ask(client, "digits_cnn", image)["logits"], digits[logits][:4], atol=1e-4)

        def entry():
            return running.post("/v2/repository/index", {})[1][0]

        assert answers("logits_v1")
        overwrite(file, V2.read_bytes())
        running.wait_until(lambda: answers("logits_v2"))
        overwrite(file, V1.read_bytes()[:5000])
        running.wait_until(lambda: "refused" in entry().get("reason", ""))
        assert entry()["state"] == "READY" and answers("logits_v2"), "the old answers go on, and the index says why"
        overwrite(file, V1.read_bytes())
        running.wait_until(lambda: answers("logits_v1"))
        assert entry().get("reason", "") == ""
        client.close()
        assert running.stop() == 0


def test_a_load_never_takes_a_mixture(repository, digits):
    server.put_model(repository, "digits_cnn", 1, V1)
    file = repository / "digits_cnn/1/model.pt2"
    image = {"image": digits["image"][:4]}
    done = threading.Event()

    def write():
        turn = 0
        while not done.is_set():
            turn += 1
            shutil.copyfile((V1, V2)[turn % 2], file)

    with server.Server(repository, "--model-control-mode=explicit", "--load-model=*") as running:
        client = tritonclient.http.InferenceServerClient(running.http)
        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(100):
                status, answer = running.post("/v2/repository/models/digits_cnn/load", {})
                assert status in (200, 400, 503), answer
                logits = ask(client, "digits_cnn", image)["logits"]
                assert any(np.allclose(logits, digits[which][:4], atol=1e-4) for which in ("logits_v1", "logits_v2"))
        finally:
            done.set()
            writer.join()
        assert running.post("/v2/repository/models/digits_cnn/load", {})[0] == 200, "once it is complete it loads"
        client.close()
        assert running.stop() == 0
