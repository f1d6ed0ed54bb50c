"""tritonclient's http, grpc and asyncio clients, unmodified."""
import asyncio

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.grpc.aio
import tritonclient.http
import tritonclient.http.aio
from tritonclient.utils import InferenceServerException

from conftest import FIXTURES

CLIENTS = {"http": tritonclient.http, "grpc": tritonclient.grpc}
AIO = {"http": tritonclient.http.aio, "grpc": tritonclient.grpc.aio}


@pytest.fixture(params=CLIENTS)
def protocol(request):
    return request.param


@pytest.fixture
def client(serving, protocol):
    made = CLIENTS[protocol].InferenceServerClient(getattr(serving, protocol))
    yield made
    made.close()


def tensor(protocol, name, array, datatype="FP32"):
    made = CLIENTS[protocol].InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array)
    return made


def as_dict(protocol, message):
    if protocol == "http":
        return message
    from google.protobuf.json_format import MessageToDict
    return MessageToDict(message, preserving_proto_field_name=True)


def test_health(client):
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("digits_cnn") and client.is_model_ready("digits_cnn", "1")
    assert not client.is_model_ready("digits_cnn", "7")
    assert not client.is_model_ready("nobody")


def test_metadata(client, protocol):
    server = as_dict(protocol, client.get_server_metadata())
    assert server["name"] == "tondar" and "statistics" in server["extensions"]
    model = as_dict(protocol, client.get_model_metadata("digits_cnn"))
    assert model["name"] == "digits_cnn" and model["versions"] == ["1"]
    (image,), (logits,) = model["inputs"], model["outputs"]
    assert (image["name"], image["datatype"], [int(d) for d in image["shape"]]) == ("image", "FP32", [-1, 1, 8, 8])
    assert (logits["name"], logits["datatype"], [int(d) for d in logits["shape"]]) == ("logits", "FP32", [-1, 10])


def test_onnx(client, protocol):
    model = as_dict(protocol, client.get_model_metadata("bert_onnx"))
    assert model["platform"] == "onnx"
    assert [(i["name"], i["datatype"], [int(d) for d in i["shape"]]) for i in model["inputs"]] == [
        ("input_ids", "INT64", [-1, -1]), ("attention_mask", "INT64", [-1, -1])]
    for k in range(3):
        given = np.load(FIXTURES / f"bert_thin/inputs_{k}.npz")
        inputs = [tensor(protocol, name, given[name], "INT64") for name in ("input_ids", "attention_mask")]
        result = client.infer("bert_onnx", inputs)
        expected = np.load(FIXTURES / f"bert_thin/outputs_{k}.npz")["out_0"]
        np.testing.assert_allclose(result.as_numpy(model["outputs"][0]["name"]), expected, rtol=1e-4, atol=1e-4)


def test_config(client, protocol):
    config = client.get_model_config("digits_cnn")
    if protocol == "grpc":
        config = as_dict(protocol, config)["config"]
    assert config["name"] == "digits_cnn" and int(config["max_batch_size"]) > 1


@pytest.mark.parametrize("rows", [1, 3, 8])
def test_infer(client, protocol, digits, rows):
    result = client.infer("digits_cnn", [tensor(protocol, "image", digits["image"][:rows])], request_id="abc")
    assert np.allclose(result.as_numpy("logits"), digits["logits_v1"][:rows], atol=1e-4)
    response = as_dict(protocol, result.get_response())
    assert response["id"] == "abc" and response["model_version"] == "1"


def test_infer_json_tensors(serving, digits):
    client = tritonclient.http.InferenceServerClient(serving.http)
    image = tritonclient.http.InferInput("image", [2, 1, 8, 8], "FP32")
    image.set_data_from_numpy(digits["image"][:2], binary_data=False)
    output = tritonclient.http.InferRequestedOutput("logits", binary_data=False)
    result = client.infer("digits_cnn", [image], outputs=[output])
    assert np.allclose(result.as_numpy("logits"), digits["logits_v1"][:2], atol=1e-4)


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_http_compression(serving, digits, algorithm):
    client = tritonclient.http.InferenceServerClient(serving.http)
    result = client.infer("digits_cnn", [tensor("http", "image", digits["image"])], request_compression_algorithm=algorithm,
                          response_compression_algorithm=algorithm)
    assert np.allclose(result.as_numpy("logits"), digits["logits_v1"], atol=1e-4)


def test_several_inputs_and_dynamic_length(client, protocol):
    for number in range(3):
        given = np.load(FIXTURES / f"bert_thin/inputs_{number}.npz")
        expected = np.load(FIXTURES / f"bert_thin/outputs_{number}.npz")["out_0"]
        inputs = [tensor(protocol, name, given[name], "INT64") for name in given.files]
        result = client.infer("bert_thin", inputs)
        assert np.allclose(result.as_numpy("output_0"), expected, atol=1e-4, rtol=1e-4)


def test_requested_outputs_of_a_tree(client, protocol):
    given = np.load(FIXTURES / "multi_io/inputs_0.npz")
    expected = np.load(FIXTURES / "multi_io/outputs_0.npz")
    inputs = [tensor(protocol, name, given[name]) for name in given.files if given[name].ndim == 2]
    outputs = [CLIENTS[protocol].InferRequestedOutput(n) for n in ("output_1", "output_0.nested.z")]
    result = client.infer("multi_io", inputs, outputs=outputs)
    assert np.allclose(result.as_numpy("output_1"), expected["out_8"], atol=1e-4)
    assert np.allclose(result.as_numpy("output_0.nested.z"), expected["out_4"], atol=1e-4)
    assert result.as_numpy("output_0.y") is None


@pytest.mark.parametrize("name, array, words", [
    ("image", np.zeros((2, 1, 8, 9), "f4"), "image"),
    ("image", np.zeros((2, 8, 8), "f4"), "image"),
    ("pixels", np.zeros((2, 1, 8, 8), "f4"), "pixels"),
    ("image", np.zeros((5000, 1, 8, 8), "f4"), "batch"),
    ("image", np.zeros((2, 1, 8, 8), "i4"), "INT32"),
])
def test_refusals_name_what_is_wrong(client, protocol, name, array, words):
    datatype = {"f": "FP32", "i": "INT32"}[array.dtype.kind]
    with pytest.raises(InferenceServerException) as refusal:
        client.infer("digits_cnn", [tensor(protocol, name, array, datatype)])
    assert words in str(refusal.value)
    assert refusal.value.status() in ("400", "StatusCode.INVALID_ARGUMENT")


def test_unknown_model_and_version(client, protocol, digits):
    for model, version in (("nobody", ""), ("digits_cnn", "9")):
        with pytest.raises(InferenceServerException) as refusal:
            client.infer(model, [tensor(protocol, "image", digits["image"][:1])], model_version=version)
        assert refusal.value.status() in ("404", "StatusCode.NOT_FOUND")


def test_statistics_count_rows_and_runs(client, protocol, digits):
    def read():
        answer = as_dict(protocol, client.get_inference_statistics("digits_cnn", "1"))
        return answer["model_stats"][0]
    before = read()
    for _ in range(3):
        client.infer("digits_cnn", [tensor(protocol, "image", digits["image"][:4])])
    after = read()
    delta = lambda key: int(after.get(key, 0)) - int(before.get(key, 0))
    assert delta("inference_count") == 12 and delta("execution_count") == 3
    success = lambda s: int(s["inference_stats"]["success"].get("count", 0))
    assert success(after) - success(before) == 3


def test_repository_index(client, protocol):
    index = as_dict(protocol, client.get_model_repository_index())
    models = {m["name"]: m for m in (index["models"] if protocol == "grpc" else index)}
    assert models["digits_cnn"]["state"] == "READY" and models["digits_cnn"]["version"] == "1"


@pytest.mark.parametrize("which", AIO)
def test_asyncio(serving, digits, which):
    async def many():
        async with AIO[which].InferenceServerClient(getattr(serving, which)) as client:
            calls = [client.infer("digits_cnn", [tensor(which, "image", digits["image"][i:i + 1])]) for i in range(20)]
            return [r.as_numpy("logits") for r in await asyncio.gather(*calls)]
    answers = np.concatenate(asyncio.run(many()))
    assert np.allclose(answers, digits["logits_v1"][:20], atol=1e-4)


def test_async_infer(client, protocol, digits):
    import queue
    done = queue.Queue()
    given = [tensor(protocol, "image", digits["image"][:2])]
    if protocol == "http":
        result = client.async_infer("digits_cnn", given).get_result()
    else:
        client.async_infer("digits_cnn", given, lambda result, error: done.put((result, error)))
        result, error = done.get(timeout=30)
        assert error is None
    assert np.allclose(result.as_numpy("logits"), digits["logits_v1"][:2], atol=1e-4)


def test_grpc_health_service(serving):
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc
    stub = health_pb2_grpc.HealthStub(grpc.insecure_channel(serving.grpc))
    assert stub.Check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.SERVING
