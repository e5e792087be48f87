"""Files that open as models, and files that are rejected."""

import numpy as np
import pytest

import anyorder
from anyorder.errors import InputError
from anyorder.probing import Settings
from tests.probing import heads

FEW = Settings(sequences=8, length=96, max_length=3)


def orders(result):
    return [head.found.order for head in result.heads]


def test_one_call_takes_models_paths_and_functions(tmp_path):
    model = anyorder.construct("k-head", order=2, alphabet_size=3, length=96)
    anyorder.save(model, tmp_path / "model.safetensors")
    for given in (model, tmp_path / "model.safetensors", str(tmp_path / "model.safetensors")):
        assert orders(anyorder.probe(given, FEW)) == [None, None, 2]
    attend = lambda tokens: ([heads.induction(tokens, 1)[None]], np.zeros((len(tokens), 5)))  # noqa: E731
    assert orders(anyorder.probe(attend, FEW)) == [1]


def test_what_is_no_model_is_refused_by_its_class():
    with pytest.raises(InputError, match="an object of type list cannot be probed; give a run folder"):
        anyorder.probe([1, 2], FEW)


def test_pickles_are_refused_with_the_way_to_convert(run, tmp_path):
    (tmp_path / "weights.pt").write_bytes(b"\x80\x04.")
    code, _, err = run("probe", tmp_path / "weights.pt")
    assert code == 2
    assert "safe_serialization=True" in err
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    code, _, err = run("probe", folder)
    assert code == 2
    assert "pickled" in err
