"""The binary as a person uses it."""
import json
import subprocess

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
