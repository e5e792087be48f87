"""A training run under one blow of each kind: it goes on, and ends with the same bytes as one that nobody disturbed."""

import pytest

pytest.importorskip("resource", reason="limits on the size of files are of Unix")

from benchmarks.crashes import CODES, Ring

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    made = Ring(tmp_path_factory.mktemp("crashes"), seed=0)
    made.undisturbed("train")
    return made


@pytest.mark.parametrize("kind", CODES)
def test_a_run_under_a_blow_ends_with_the_same_bytes(ring, kind):
    number = list(CODES).index(kind)
    assert ring.attempt(number, "train", [kind]) == ""
