"""Path patching on constructions, whose first layer is known: its attention says which head fetches which offset."""

import numpy as np
import pytest

import anyorder
from anyorder.constructions import construct
from anyorder.errors import InputError
from anyorder.probing import OwnModel, Settings, as_json, paths
from tests.probing import heads
from tests.probing.heads import with_heads


@pytest.mark.parametrize(("name", "order"), [("k-head", 3), ("dyadic", 2)])
def test_each_offset_comes_from_the_head_that_looks_there(name, order):
    model = construct(name, order=order, alphabet_size=2, length=65)
    found = paths(OwnModel(model, name), [(1, 0)], max_length=order, symbols=2, length=65)
    first = np.asarray(model.attention(np.zeros(65, int))[0])  # (heads, rows, rows)
    looks = [int(np.argmax(first[:, 40, 40 - offset])) for offset in range(1, order + 1)]
    assert [(path.offset, path.from_layer, path.from_head) for path in found] == [
        (offset, 0, head) for offset, head in enumerate(looks, start=1)
    ]
    for path in found:
        assert path.loss > 0.8
        assert max(path.head_remains, path.layer_remains) < 0.05
        assert f"gets the token at offset {path.offset} from layer 0 head {path.from_head}" in path.in_words


def test_outputs_of_the_own_run_change_nothing():
    own = OwnModel(construct("two-layer", order=2, alphabet_size=3, length=20), "two-layer")
    tokens = np.array([0, 1, 2, 0, 1, 2, 2, 1, 0, 1])
    tokens = tokens if own.start is None else np.concatenate([[own.start], tokens])
    plain, same = own.run(tokens, layers=[1]), own.run(tokens, layers=[1], write=own.written(tokens))
    np.testing.assert_allclose(same.attention[1], plain.attention[1], atol=1e-6)


def test_the_result_has_paths_on_request():
    model = construct("k-head", order=2, alphabet_size=3, length=96)
    found = anyorder.probe(model, Settings(sequences=8, length=96, max_length=3), follow=True)
    assert [path["from_head"] for path in as_json(found)["paths"]] == [0, 1]


def test_heads_of_a_first_layer_and_of_a_function_are_said_so():
    own = OwnModel(construct("k-head", order=2, alphabet_size=3, length=32), "k-head")
    assert paths(own, [(0, 0)], max_length=3, length=32) == ()
    with pytest.raises(InputError, match="cannot be replaced; probe without paths"):
        paths(with_heads(heads.uniform), [(0, 0)], max_length=3)
