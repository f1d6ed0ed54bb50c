"""The binary as a person uses it."""
import json
import subprocess
import zipfile

import numpy as np
import pytest

import server
from conftest import FIXTURES, MODELS


def tondar(*args):
    return subprocess.run([server.BINARY, *map(str, args)], capture_output=True, text=True, timeout=120)


def test_help_of_every_verb():
    top = tondar("--help")
    assert top.returncode == 0
    for verb in ("serve", "infer", "inspect", "bench", "repo", "health"):
        assert verb in top.stdout
        one = tondar(verb, "--help")
        assert one.returncode == 0 and "--" in one.stdout
    assert tondar("serv").returncode == 2


def test_unknown_flag_names_the_nearest():
    answer = tondar("serve", "--model-repositry=/tmp")
    assert answer.returncode == 2 and "--model-repository" in answer.stderr


@pytest.mark.parametrize("name", ["mlp", "digits_cnn", "resnet_thin", "mobilenet_thin", "vit_thin", "bert_thin", "multi_io",
                                  "shared_weights"])
@pytest.mark.parametrize("dialect", ["model", "core"])
def test_infer_gives_the_expected_outputs(tmp_path, name, dialect):
    folder = FIXTURES / name
    meta = json.loads((folder / "meta.json").read_text())
    for number in range(len(meta["sets"])):
        out = tmp_path / "out.npz"
        answer = tondar("infer", "--model", folder / f"{dialect}.pt2", "--inputs", folder / f"inputs_{number}.npz", "--output", out)
        assert answer.returncode == 0, answer.stderr
        found, expected = np.load(out), np.load(folder / f"outputs_{number}.npz")
        assert len(found.files) == len(expected.files)
        for a, b in zip(found.files, expected.files):
            assert found[a].dtype == expected[b].dtype, (a, b)
            np.testing.assert_allclose(found[a], expected[b], atol=meta["atol"], rtol=meta["rtol"], err_msg=a)


def test_bench_prints_json():
    folder = FIXTURES / "digits_cnn"
    answer = tondar("bench", "--model", folder / "model.pt2", "--inputs", folder / "inputs_0.npz", "--expected",
                    folder / "outputs_0.npz", "--iterations", 5, "--json")
    result = json.loads(answer.stdout)
    assert len(result["latencies_ms"]) == 5 and result["max_abs_err"] < 1e-4
    assert result["load_ms"] > 0 and result["peak_rss_kb"] > 0


def test_bench_fails_where_outputs_differ(tmp_path):
    folder = FIXTURES / "mlp"
    wrong = {name: array + 0.01 for name, array in np.load(folder / "outputs_0.npz").items()}
    np.savez(tmp_path / "wrong.npz", **wrong)
    base = ("bench", "--model", folder / "model.pt2", "--inputs", folder / "inputs_0.npz", "--iterations", 1)
    answer = tondar(*base, "--expected", tmp_path / "wrong.npz", "--json")
    assert answer.returncode == 1 and "--tolerance" in answer.stderr and json.loads(answer.stdout)["max_abs_err"] > 0.009
    assert tondar(*base, "--expected", tmp_path / "wrong.npz", "--tolerance", 0.1).returncode == 0
    assert tondar(*base, "--expected", folder / "outputs_0.npz").returncode == 0


@pytest.mark.parametrize("wrong", (("--iterations", 0), ("--iterations", "x"), ("--threads", -1), ("--batch", 0), ("--tolerance", -1),
                                   ("--precision", "int3")))
def test_bench_refuses_options_out_of_range(wrong):
    folder = FIXTURES / "mlp"
    answer = tondar("bench", "--model", folder / "model.pt2", "--inputs", folder / "inputs_0.npz", *wrong)
    assert answer.returncode == 2 and wrong[0] in answer.stderr + answer.stdout


def test_inspect_shows_what_it_can_of_a_model_that_is_not_supported(tmp_path):
    source, target = FIXTURES / "mlp/model.pt2", tmp_path / "odd.pt2"
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for record in old.infolist():
            data = old.read(record)
            if record.filename.endswith("models/model.json"):
                data = data.replace(b"aten.linear.default", b"mine.linear.default").replace(b"aten.gelu.default", b"mine.curve.default")
            new.writestr(record.filename, data)
    answer = tondar("inspect", target)
    assert answer.returncode == 1 and "input " in answer.stdout and "mine.linear.default" in answer.stdout
    assert "mine.linear.default" in answer.stderr
    shown = json.loads(tondar("inspect", target, "--json").stdout)
    assert shown["supported"] is False and shown["inputs"][0]["name"] == "input" and "mine.linear" in shown["error"]


def test_all_that_is_missing_is_listed_in_branches_too(tmp_path):
    target = tmp_path / "odd.pt2"
    with zipfile.ZipFile(FIXTURES / "cond_branch/core.pt2") as old, zipfile.ZipFile(target, "w") as new:
        for record in old.infolist():
            data = old.read(record)
            if record.filename.endswith("models/model.json"):
                for name in (b"tanh", b"sigmoid", b"relu", b"sub", b"gt"):
                    data = data.replace(b"aten." + name + b".", b"mine." + name + b".")
            new.writestr(record.filename, data)
    answer = tondar("inspect", target)
    assert answer.returncode == 1 and "5 things are not supported" in answer.stderr
    assert all(f"mine.{name}." in answer.stderr for name in ("tanh", "sigmoid", "relu", "sub", "gt"))


def test_inspect(tmp_path):
    answer = tondar("inspect", FIXTURES / "bert_thin/model.pt2", "--json")
    shown = json.loads(answer.stdout)
    assert shown["supported"] and [i["name"] for i in shown["inputs"]] == ["input_ids", "attention_mask"]
    broken = tmp_path / "broken.pt2"
    broken.write_bytes((FIXTURES / "mlp/model.pt2").read_bytes()[:1000])
    answer = tondar("inspect", broken)
    assert answer.returncode == 1 and "broken.pt2" in answer.stderr


def test_repo_and_health(serving):
    url = f"http://{serving.http}"
    assert tondar("health", "--url", url).returncode == 0
    assert tondar("health", "--url", "http://127.0.0.1:1").returncode == 1
    listed = tondar("repo", "list", "--url", url)
    assert listed.returncode == 0 and "digits_cnn" in listed.stdout
    assert tondar("repo", "load", "digits_cnn", "--url", url).returncode == 1, "load needs explicit mode"
