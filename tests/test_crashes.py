"""A training run with one fault of each kind: it resumes, and ends with the same bytes as an undisturbed run."""

import pytest

pytest.importorskip("resource", reason="limits on the size of files are of Unix")

from benchmarks.crashes import CODES, Ring, locks

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


def test_a_folder_is_never_held_twice(tmp_path):
    held, refused, shared = locks(tmp_path / "folder", processes=3, rounds=20)
    assert (held, shared) == (60, 0)
    assert refused > 0


def test_two_commands_in_one_folder_leave_what_one_leaves(ring):
    assert ring.race(0, "train") == ""


def test_a_run_of_another_version_goes_on_and_says_so(ring):
    assert ring.another_version(0) == ""
