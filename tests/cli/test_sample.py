"""`anyorder sample`."""

import json

import numpy as np


def test_sample_to_standard_output_and_json_agree(run):
    code, text, _ = run("sample", "--order", 2, "--alphabet-size", 3, "--length", 12, "--count", 2, "--seed", 5)
    assert code == 0
    rows = [list(map(int, line.split())) for line in text.splitlines()]
    assert [len(row) for row in rows] == [12, 12]
    code, text, _ = run(
        "sample", "--order", 2, "--alphabet-size", 3, "--length", 12, "--count", 2, "--seed", 5, "--json"
    )
    assert json.loads(text)["tokens"] == rows


def test_sample_writes_tokens_and_kernels(run, tmp_path):
    out, kernels = tmp_path / "t.npy", tmp_path / "k.npy"
    code, _, _ = run("sample", "--order", 2, "--length", 9, "--count", 3, "--out", out, "--kernels", kernels)
    assert code == 0
    assert np.load(out).shape == (3, 9)
    np.testing.assert_allclose(np.load(kernels).sum(axis=-1), 1)
    again = tmp_path / "again.npy"
    one = tmp_path / "one.npy"
    np.save(one, np.load(kernels)[0])
    assert run("sample", "--kernel", one, "--length", 50, "--out", again)[0] == 0
    assert np.load(again).shape == (1, 50)
