import pathlib

import numpy as np
import pytest

import server

FIXTURES = server.ROOT / "tests/fixtures"
MODELS = server.ROOT / "models"


@pytest.fixture
def repository(tmp_path):
    return tmp_path / "models"


@pytest.fixture(scope="session")
def digits():
    """The example's test images with labels and both versions' logits."""
    return np.load(MODELS / "digits.npz")


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    """A server over the example models and two of the fixtures, for tests that only ask."""
    root = tmp_path_factory.mktemp("serving") / "models"
    server.put_model(root, "digits_cnn", 1, MODELS / "repository/digits_cnn/1/model.pt2")
    server.put_model(root, "identity_fp32", 1, MODELS / "repository/identity_fp32/1/model.pt2", "max_batch_size: 0\n")
    for name in ("bert_thin", "multi_io"):
        server.put_model(root, name, 1, FIXTURES / name / "model.pt2")
    server.put_model(root, "bert_onnx", 1, FIXTURES / "bert_thin/model.onnx")
    with server.Server(root) as running:
        yield running
