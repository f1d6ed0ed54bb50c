"""Models that remember, decide, take Python numbers, and whose results' sizes depend on the data."""
import json

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http

import server
from conftest import FIXTURES

NAMES = ("gpt_thin_state", "mutation", "unbacked", "int_input", "cond_branch", "cond_on_size", "while_loop", "scan_rnn")


@pytest.fixture(scope="module", params=("model.pt2", "core.pt2"))
def running(request, tmp_path_factory):
    root = tmp_path_factory.mktemp("state") / "models"
    for name in NAMES:
        server.put_model(root, name, 1, FIXTURES / name / request.param)
    with server.Server(root) as running:
        yield running


def arrays(name, kind, number):
    with np.load(FIXTURES / name / f"{kind}_{number}.npz") as file:
        return dict(file)


def ask(running, module, model, inputs):
    """All outputs of one inference, in the order of the model."""
    client = module.InferenceServerClient(running.grpc if module is tritonclient.grpc else running.http)
    metadata = json.loads(running.get(f"/v2/models/{model}")[1])
    given = []
    for tensor in metadata["inputs"]:
        array = inputs[tensor["name"]]
        given.append(module.InferInput(tensor["name"], list(array.shape), tensor["datatype"]))
        given[-1].set_data_from_numpy(array)
    result = client.infer(model, given)
    client.close()
    return [result.as_numpy(output["name"]) for output in metadata["outputs"]]


def check(answers, expected):
    assert len(answers) == len(expected)
    for i, answer in enumerate(answers):
        assert answer.shape == expected[f"out_{i}"].shape
        np.testing.assert_allclose(answer, expected[f"out_{i}"], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("model", ("gpt_thin_state", "mutation"))
def test_state_goes_on_from_call_to_call_and_begins_with_the_file(running, model):
    for number in range(3):  # the answers of later sets depend on the earlier ones
        check(ask(running, tritonclient.grpc if number % 2 else tritonclient.http, model, arrays(model, "inputs", number)),
              arrays(model, "outputs", number))


@pytest.mark.parametrize("module", (tritonclient.http, tritonclient.grpc))
@pytest.mark.parametrize("model", ("unbacked", "int_input", "cond_branch", "cond_on_size", "while_loop", "scan_rnn"))
def test_sizes_and_decisions_that_depend_on_data(running, module, model):
    for number in (0, 1, 2, 1, 0):
        check(ask(running, module, model, arrays(model, "inputs", number)), arrays(model, "outputs", number))


def test_a_number_out_of_range_is_refused_by_name_and_harms_nobody(running):
    inputs = arrays("int_input", "inputs", 0)
    for wrong in (-1, 7, 2**62):
        with pytest.raises(Exception) as refused:
            ask(running, tritonclient.http, "int_input", {**inputs, "k": np.array(wrong, np.int64)})
        assert "400" in refused.value.status() and "'k'" in refused.value.message(), refused.value
    check(ask(running, tritonclient.http, "int_input", inputs), arrays("int_input", "outputs", 0))


def test_a_size_from_data_out_of_range_is_refused(running):
    inputs = arrays("unbacked", "inputs", 0)
    for wrong in (-3, 0, 10**6):
        with pytest.raises(Exception) as refused:
            ask(running, tritonclient.http, "unbacked", {**inputs, "k": np.array(wrong, np.int64)})
        assert "400" in refused.value.status(), refused.value
    check(ask(running, tritonclient.http, "unbacked", inputs), arrays("unbacked", "outputs", 0))
