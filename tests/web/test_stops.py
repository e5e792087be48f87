"""Tours are checked before a class sees them: the line names the stop, the value and the limit."""

from __future__ import annotations

import re

import pytest

from anyorder.errors import InputError
from anyorder.web import export as exports
from anyorder.web.library import Library
from anyorder.web.stops import check_tour
from anyorder.web.tours import read_tour, shipped_tours


def written(folder, *states):
    stops = "".join(f"## B\n`{state}`\nLook.\n" for state in states)
    (folder / "lesson.md").write_text(f"# A\n{stops}", encoding="utf-8")
    return read_tour(folder / "lesson.md")


@pytest.mark.parametrize("tour", shipped_tours(), ids=lambda tour: tour.name)
def test_the_tours_of_the_package_can_be_shown(tour):
    check_tour(tour, Library())


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("model=unroled", "'unroled'"),
        ("order=99", "order is 99, must be at most 16"),
        ("order=two", "order is 'two', must be a whole number"),
        ("text=abab&order=4", "order is 4, must be smaller than the length 4"),
        ("text=abab&order=1&position=4", "position is 4, the sequence has positions 0 to 3"),
        ("source=chain&chainLength=9999", "length is 9999, must be at most 512"),
        ("model=stored:package/absent.safetensors", "there is no 'package/absent.safetensors'"),
        ("model=stored:elsewhere/a.safetensors", "is not in a folder of this explorer"),
        ("show=prof", "show is 'prof', must be one of answer, proof"),
        ("page=modle", "page is 'modle'"),
        ("page=dynamics&run=package/absent.npz", "there is no run"),
        ("page=heads&layer=30", "has no head 0 in layer 30"),
        ("show=proof&step=99", "step is 99, unrolled has steps 0 to 3"),
        ("show=proof&step=one", "step is one, unrolled has steps 0 to 3"),
        ("page=dynamics&frame=9999", "frame is 9999, package/two-stage.npz has frames 0 to "),
    ],
)
def test_a_stop_that_cannot_be_shown_is_refused_in_one_line(tmp_path, state, message):
    tour = written(tmp_path, "order=1", state)
    with pytest.raises(InputError, match=re.escape(message)) as refused:
        check_tour(tour, Library())
    assert str(refused.value).startswith("lesson, stop 2: ")
    assert "\n" not in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("model=k-head&order=2", "the exported page has no k-head of order 2"),
        ("model=bigram&order=1&text=abcabc", "over 3 symbols"),
        ("model=bigram&order=1&dtype=float16&text=abab", "in float16; lower one of them"),
        (f"model=bigram&order=1&text={'ab' * 65}", "the sequence has 130 tokens, the exported bigram takes 128"),
        ("model=bigram&order=1&text=abab&estimator=ctw", "estimator is given, which an exported page does not have"),
    ],
)
def test_an_export_checks_what_it_holds(tmp_path, state, message):
    tour = written(tmp_path, "model=bigram&order=1&text=abab&position=3", state)
    with pytest.raises(InputError, match=re.escape(message)) as refused:
        exports.export(tmp_path / "page", tour, names=["bigram"], orders=(1,), sizes=(2,))
    assert str(refused.value).startswith("lesson, stop 2: ")
    assert not (tmp_path / "page").exists()
