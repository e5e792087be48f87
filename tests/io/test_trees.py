"""Records: trees come back as they were, and a file with any byte changed is refused."""

import dataclasses
import json
import math
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest

from anyorder.errors import InputError
from anyorder.io.trees import as_json, described, read_record, read_tensors, rebuilt, write_record, write_tensors


@dataclasses.dataclass(frozen=True)
class Leaf:
    weights: np.ndarray
    name: str


class Pair(NamedTuple):
    one: object
    other: object


TREE = {
    "leaves": [Leaf(np.arange(6.0).reshape(2, 3), "a"), Leaf(np.ones(2, ml_dtypes.bfloat16), "b")],
    "pair": Pair((1, None, True), {"inf": -math.inf, "nan": math.nan}),
    "scalar": np.float64(0.5),
}


def assert_is_the_tree(found):
    assert found["pair"].one == (1, None, True)
    assert found["pair"].other["inf"] == -math.inf
    assert math.isnan(found["pair"].other["nan"])
    assert (found["scalar"], type(found["scalar"])) == (0.5, float)
    for leaf, expected in zip(found["leaves"], TREE["leaves"], strict=True):
        assert (type(leaf), leaf.name, leaf.weights.dtype) == (Leaf, expected.name, expected.weights.dtype)
        np.testing.assert_array_equal(leaf.weights, expected.weights)


def test_a_tree_comes_back_through_json_and_through_a_file(tmp_path):
    plain, arrays = described(TREE)
    assert_is_the_tree(rebuilt(json.loads(json.dumps(plain, allow_nan=False)), arrays, [Leaf, Pair]))
    write_record(tmp_path / "a.safetensors", TREE, "trees 1")
    assert_is_the_tree(read_record(tmp_path / "a.safetensors", "trees 1", [Leaf, Pair]))
    for form, kinds, said in (("trees 2", [Leaf, Pair], "holds 'trees 1', must be"), ("trees 1", [Leaf], "describe")):
        with pytest.raises(InputError, match=said):
            read_record(tmp_path / "a.safetensors", form, kinds)


def test_a_change_of_any_byte_is_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    write_tensors(path, {"w": np.arange(3, dtype=np.float32)}, {"step": 7})
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(InputError, match="write it again"):
            read_tensors(path)


def test_json_for_others_has_null_where_json_has_no_number():
    plain = as_json(TREE)
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["pair"] == {"one": [1, None, True], "other": {"inf": None, "nan": None}}
    assert plain["leaves"][0] == {"weights": [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], "name": "a"}
