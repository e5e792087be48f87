import json

import pytest


def test_a_construction_reads_its_order_and_the_files_are_written(run, tmp_path):
    code, out, _ = run("probe", "construction:k-head", "--order", 2, "--alphabet-size", 3, "--sequences", 6,
                       "--length", 110, "--out", tmp_path / "p", "--ablate", "--json")  # fmt: skip
    report = json.loads(out)
    assert code == 0
    assert [head["order"] for head in report["heads"]] == [None, None, 2]
    assert report["ablation"]["without"] > report["ablation"]["whole"]
    kept = json.loads((tmp_path / "p" / "probe.json").read_text())
    assert kept["maps"]["heads"][0]["layer"] == 1
    assert (tmp_path / "p" / "probe.png").stat().st_size > 1000
    page = (tmp_path / "p" / "index.html").read_text()
    assert report["page"] == str(tmp_path / "p" / "index.html")
    assert "<td>of order 2</td>" in page
    assert f"anyorder explore --models {tmp_path / 'p'}</code>" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["absent"], "no file or folder absent"),
        (["recorded.npz", "--paths"], "drop --ablate and --paths"),
        (["construction:dyadic"], "needs an order"),
        (["construction:nothing", "--order", "2"], "nothing"),
        (["construction:k-head", "--order", "2", "--symbols", "9"], "symbols is 9"),
        (["construction:k-head", "--order", "2", "--layers", "5"], "layer is 5"),
        (["construction:k-head", "--order", "2", "--length", "8"], "length is 8"),
        (["construction:k-head", "--order", "2", "--sequences", "2"], "sequences is 2"),
    ],
)
def test_bad_input_is_one_line(run, words, said):
    code, out, err = run("probe", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
