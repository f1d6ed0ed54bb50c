"""Whatever comes in, the server names what is wrong and goes on answering."""
import gzip
import json
import os
import random
import socket
import zipfile

import numpy as np
import pytest

import server
from conftest import FIXTURES

INFER = "/v2/models/digits_cnn/infer"


def image(shape=(1, 1, 8, 8), datatype="FP32", name="image", data=None, **more):
    return {"name": name, "datatype": datatype, "shape": list(shape), "data": data or [0.0] * 64, **more}


def still_answers(running):
    status, _ = running.post(INFER, {"inputs": [image()]})
    assert status == 200 and running.process.poll() is None


BAD_JSON = {
    "empty": b"",
    "not json": b"{",
    "not an object": b"[1]",
    "no inputs": b"{}",
    "inputs not a list": b'{"inputs": 3}',
    "deep": b"[" * 250000,
    "deep data": b'{"inputs":[{"name":"image","datatype":"FP32","shape":[1,1,8,8],"data":' + b"[" * 250000,
    "utf-8": b'{"inputs": "\xff\xfe"}',
}


@pytest.mark.parametrize("kind", BAD_JSON)
def test_malformed_json(serving, kind):
    status, _, body = serving.request("POST", INFER, BAD_JSON[kind])
    assert status == 400 and json.loads(body)["error"]
    still_answers(serving)


BAD_TENSORS = {
    "negative extent": [image((-1, 1, 8, 8))],
    "huge extent": [image((2**62, 1, 8, 8))],
    "huge product": [image((2**20, 2**20, 2**20, 8))],
    "huge rank": [image([1] * 100)],
    "overflowing number": [image((10**30, 1, 8, 8))],
    "fractional extent": [image((1.5, 1, 8, 8))],
    "too few elements": [image(data=[0.0] * 63)],
    "too many elements": [image(data=[0.0] * 65)],
    "ragged": [image(data=[[0.0] * 60, [0.0, [0.0]]])],
    "text for a number": [image(data=["a"] * 64)],
    "unknown datatype": [image(datatype="FP99")],
    "wrong datatype": [image(datatype="INT32", data=[0] * 64)],
    "half precision in json": [image(datatype="FP16")],
    "unknown name": [image(name="picture")],
    "twice": [image(), image()],
    "missing": [],
    "data and binary": [image(parameters={"binary_data_size": 256})],
}


@pytest.mark.parametrize("kind", BAD_TENSORS)
def test_malformed_tensors(serving, kind):
    status, answer = serving.post(INFER, {"inputs": BAD_TENSORS[kind]})
    assert status == 400, answer
    assert answer["error"]
    still_answers(serving)


@pytest.mark.parametrize("value", ["abc", "-1", "99999999999999999999", "10000"])
def test_malformed_binary_header(serving, value):
    status, _, body = serving.request("POST", INFER, b"{}", {"Inference-Header-Content-Length": value})
    assert status == 400 and json.loads(body)["error"]


@pytest.mark.parametrize("size", [0, 255, 257, 2**40, -4])
def test_binary_sizes_that_do_not_fit(serving, size):
    header = json.dumps({"inputs": [{"name": "image", "datatype": "FP32", "shape": [1, 1, 8, 8],
                                     "parameters": {"binary_data_size": size}}]}).encode()
    status, _, body = serving.request("POST", INFER, header + b"\0" * 256,
                                      {"Inference-Header-Content-Length": str(len(header))})
    assert status == 400 and json.loads(body)["error"]
    still_answers(serving)


def test_bad_and_boundless_compression(serving):
    before = serving.rss_kb()
    bomb = gzip.compress(b" " * (200 << 20))
    for body in [os.urandom(1000)] * 20 + [gzip.compress(b"{}")[:-4], bomb]:
        status, _, answer = serving.request("POST", INFER, body, {"Content-Encoding": "gzip"})
        assert status in (400, 413) and json.loads(answer)["error"]
    assert serving.request("POST", INFER, b"{}", {"Content-Encoding": "br"})[0] == 415
    assert serving.rss_kb() - before < 150 << 10
    still_answers(serving)


def test_wrong_verbs_and_paths(serving):
    assert serving.request("GET", INFER)[0] == 405
    assert serving.request("POST", "/v2/health/live", b"")[0] == 405
    for path in ("/", "/v3", "/v2/models//infer", "/v2/models/digits_cnn/versions/v1", "/v2/" + "a" * 5000):
        assert serving.get(path)[0] in (404, 405, 414, 431), path
    assert serving.get("/anything", base=serving.metrics)[0] == 404


def test_noise_on_every_port(serving):
    rng = random.Random(1)
    for address in (serving.http, serving.grpc, serving.metrics):
        host, port = address.split(":")
        for _ in range(20):
            with socket.create_connection((host, int(port)), 5) as s:
                s.sendall(rng.randbytes(rng.randrange(1, 5000)))
    still_answers(serving)


def test_half_a_request(serving):
    host, port = serving.http.split(":")
    with socket.create_connection((host, int(port)), 5) as s:
        s.sendall(b"POST " + INFER.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{")
    still_answers(serving)


def test_grpc_refusals(serving):
    import grpc
    from tritonclient.grpc import service_pb2 as pb
    channel = grpc.insecure_channel(serving.grpc)
    call = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer", request_serializer=lambda x: x,
                               response_deserializer=pb.ModelInferResponse.FromString)

    def message(shape=(1, 1, 8, 8), datatype="FP32", raw=b"\0" * 256, typed=()):
        request = pb.ModelInferRequest(model_name="digits_cnn")
        given = request.inputs.add(name="image", datatype=datatype)
        given.shape.extend(shape)
        given.contents.fp32_contents.extend(typed)
        if raw is not None:
            request.raw_input_contents.append(raw)
        return request.SerializeToString()

    assert len(call(message()).raw_output_contents[0]) == 40
    rng = random.Random(2)
    good = message()
    bad = [message(raw=b"\0" * 255), message(raw=b"\0" * 260), message(raw=None), message(typed=[0.0] * 64),
           message((2**62, 1, 8, 8)), message((-1, 1, 8, 8)), message(datatype="NONE"), b"\xff" * 100, good[:-20],
           message((2**62, 4, 8, 8), raw=b"")]
    bad += [bytes(b ^ (rng.random() < 0.02) * rng.randrange(256) for b in good[:60]) + good[60:] for _ in range(100)]
    for number, body in enumerate(bad):
        try:
            call(body, timeout=20)
            assert number >= 10, f"case {number} was accepted"
        except grpc.RpcError as error:
            assert error.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND), (number, error)
            assert error.details()
    still_answers(serving)


def rezip(source, target, change):
    """Copies an archive record by record; `change` maps (name, bytes) to new bytes, or None to leave the record out."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for record in old.namelist():
            data = change(record, old.read(record))
            if data is not None:
                new.writestr(record, data)


def edit_program(edit):
    def change(record, data):
        if not (record.endswith(".json") and "/models/" in record):
            return data
        program = json.loads(data)
        edit(program)
        return json.dumps(program).encode()
    return change


def unknown_operators(program):
    for number, node in enumerate(program["graph_module"]["graph"]["nodes"][:3]):
        node["target"] = f"torch.ops.acme.strange_{number}.default"


BAD_ARCHIVES = {
    "unknown operators": (edit_program(unknown_operators), ["acme.strange_0", "acme.strange_1", "acme.strange_2"]),
    "no program": (lambda n, d: None if "/models/" in n else d, ["model"]),
    "program is not JSON": (lambda n, d: d[:100] if "/models/" in n else d, ["json"]),
    "a weight is missing": (lambda n, d: None if n.endswith("weight_1") else d, ["weight_1"]),
    "a weight is short": (lambda n, d: d[:4] if n.endswith("weight_1") else d, ["weight_1"]),
    "another archive version": (lambda n, d: b"7" if n.endswith("archive_version") else d, ["archive_version", "7"]),
    "big-endian": (lambda n, d: b"big" if n.endswith("byteorder") else d, ["byteorder"]),
}


@pytest.mark.parametrize("kind", BAD_ARCHIVES)
def test_a_bad_archive_is_refused_and_the_old_version_stays(repository, kind):
    change, words = BAD_ARCHIVES[kind]
    server.put_model(repository, "mlp", 1, FIXTURES / "mlp/model.pt2")
    bad = repository / "bad.pt2"
    rezip(FIXTURES / "mlp/model.pt2", bad, change)
    with server.Server(repository, "--model-control-mode=explicit", "--load-model=mlp") as running:
        server.put_model(repository, "mlp", 2, bad)
        status, answer = running.post("/v2/repository/models/mlp/load", {})
        assert status == 400, answer
        for word in words:
            assert word.lower() in answer["error"].lower()
        assert running.get("/v2/models/mlp/versions/1/ready")[0] == 200
        reasons = [m.get("reason", "") for m in running.post("/v2/repository/index", {})[1] if m.get("version") == "2"]
        assert any(reasons)


def foreign_files(folder):
    with zipfile.ZipFile(folder / "torchscript.pt2", "w") as z:
        z.writestr("model/data.pkl", b"\x80\x02.")
        z.writestr("model/code/__torch__.py", b"")
        z.writestr("model/constants.pkl", b"\x80\x02.")
    with zipfile.ZipFile(folder / "pickled.pt2", "w") as z:
        z.writestr("archive/data.pkl", b"\x80\x02.")
        z.writestr("archive/version", b"3")
    with zipfile.ZipFile(folder / "legacy.pt2", "w") as z:
        z.writestr("serialized_exported_program.json", b"{}")
        z.writestr("serialized_state_dict.pt", b"")
        z.writestr("version", b"8.2")
    with zipfile.ZipFile(folder / "inductor.pt2", "w") as z:
        z.writestr("model/archive_format", b"pt2")
        z.writestr("model/data/aotinductor/model/abc.wrapper.so", b"\x7fELF")
    (folder / "pickle.pt2").write_bytes(b"\x80\x04\x95" + b"\0" * 50)
    (folder / "openvino.pt2").write_bytes(b'<?xml version="1.0"?>\n<net name="x" version="11"></net>')
    return {"torchscript": "TorchScript", "pickled": "checkpoint", "legacy": "2.9", "inductor": "AOTInductor",
            "pickle": "pickle", "openvino": "OpenVINO"}


def test_foreign_formats_are_named_with_the_way_out(tmp_path):
    import subprocess
    for name, word in foreign_files(tmp_path).items():
        answer = subprocess.run([server.BINARY, "inspect", tmp_path / f"{name}.pt2"], capture_output=True, text=True, timeout=60)
        assert answer.returncode == 1 and word.lower() in answer.stderr.lower(), (name, answer.stderr)


def test_mutated_archives_never_crash(tmp_path):
    """Random bytes changed, cut or doubled: refused or loaded, never a crash or a hang."""
    import subprocess
    original = (FIXTURES / "mlp/core.pt2").read_bytes()
    rng = random.Random(3)
    for number in range(60):
        data = bytearray(original)
        for _ in range(rng.choice([1, 5, 50])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if number % 3 == 0:
            del data[rng.randrange(len(data)):]
        path = tmp_path / "mutant.pt2"
        path.write_bytes(data)
        answer = subprocess.run([server.BINARY, "inspect", path], capture_output=True, text=True, timeout=30)
        assert answer.returncode in (0, 1), (number, answer.returncode, answer.stderr)
        assert answer.returncode == 0 or "mutant.pt2" in answer.stderr


@pytest.mark.parametrize("bad", (-1, -100, 100000, 2**60))
def test_a_token_that_the_table_lacks_is_refused_by_its_number(serving, bad):
    arrays = dict(np.load(FIXTURES / "bert_thin/inputs_0.npz"))
    arrays["input_ids"][0, 0] = bad
    inputs = [{"name": name, "shape": list(array.shape), "datatype": "INT64", "data": array.ravel().tolist()}
              for name, array in arrays.items()]
    status, answer = serving.post("/v2/models/bert_thin/infer", {"inputs": inputs})
    assert status == 400 and f"index {bad} is out of range" in answer["error"], answer


@pytest.mark.parametrize("knock, why", ((b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"not TLS"),
                                        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"gRPC port"), (b"\x00\x00", b"no HTTP request")))
def test_who_knocks_at_the_wrong_port_is_told_at_once(serving, knock, why):
    host, port = serving.http.split(":")
    with socket.create_connection((host, int(port)), timeout=5) as wrong:
        wrong.sendall(knock)
        answer = b""
        while chunk := wrong.recv(4096):
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 400") and why in answer
    still_answers(serving)


@pytest.mark.parametrize("body, why", (
    (b'{"inputs": [{"name": "image", "shape": [1], "datatype": "FP32", "data": [NaN]}]}', 'NaN at byte 73 is no JSON; write it in quotes'),
    (b'{"inputs": []} {"inputs": []}', "more text follows the object, from byte 15 on"),
    (b'{"parameters": {"a": 1, "a": 2}, "inputs": []}', "parameter 'a' is given twice"),
    (b"{'inputs': []}", "strings are written in double quotes"),
))
def test_mistakes_in_json_are_named_with_their_place(serving, body, why):
    status, _, answer = serving.request("POST", INFER, body)
    assert status == 400 and why in json.loads(answer)["error"], answer
