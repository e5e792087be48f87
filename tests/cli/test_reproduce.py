"""`anyorder reproduce`: one-line refusals."""

import pytest


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("depht",), "no experiment 'depht'; did you mean depth?"),
        (("table-1", "--seeds", 0), "seeds is 0, must be at least 1"),
        (("table-1", "--seeds", 2), "contains results of budget quick with 3 seeds, this is budget quick with 2"),
    ],
)
def test_bad_input(run, tmp_path, words, said):
    (tmp_path / "reproduce.json").write_text('{"budget": "quick", "seeds": 3}')
    code, _, error = run("reproduce", *words, "--out", tmp_path)
    assert code == 2
    assert said in error
    assert [path.name for path in tmp_path.iterdir()] == ["reproduce.json"]
