"""Records: trees come back as they were, and a file with any byte changed is refused."""

import dataclasses
import hashlib
import json
import math
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

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
    for form, kinds, said in (("trees 2", [Leaf, Pair], "contains 'trees 1'"), ("trees 1", [Leaf], "kind 'Pair'")):
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


def test_equal_arrays_give_equal_bytes(tmp_path):
    def written(number):
        path = tmp_path / f"{number}.safetensors"
        write_tensors(path, {"w": np.ones(2), "b": np.zeros(3, np.float32)}, {"step": 3, "name": "a"})
        return path.read_bytes()

    assert len(set(map(written, range(20)))) == 1


def test_files_with_the_digest_under_a_key_of_its_own_are_read_and_checked(tmp_path):
    arrays, text = {"w": np.arange(3, dtype=np.float32)}, '{"step": 7, "rate": 1e-05}'
    written = hashlib.sha256(text.encode() + b"w float32 (3,)" + arrays["w"].tobytes()).hexdigest()
    path = tmp_path / "a.safetensors"
    for digest, name in ((written, "w"), ("0" * 64, "w"), (written, "v")):
        path.write_bytes(safetensors.numpy.save({name: arrays["w"]}, {"anyorder": text, "digest": digest}))
        if (digest, name) == (written, "w"):
            found, header = read_tensors(path)
            assert (found["w"].tolist(), header) == ([0.0, 1.0, 2.0], {"step": 7, "rate": 1e-05})
        else:
            with pytest.raises(InputError, match="does not match its own digest"):
                read_tensors(path)


def test_json_for_others_has_null_where_json_has_no_number():
    plain = as_json(TREE)
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["pair"] == {"one": [1, None, True], "other": {"inf": None, "nan": None}}
    assert plain["leaves"][0] == {"weights": [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], "name": "a"}
