"""Tours: accepted files, and one-line errors."""

from __future__ import annotations

import re

import pytest

from anyorder.constructions import plan
from anyorder.errors import InputError
from anyorder.web import export, tours
from anyorder.web.app import STATIC
from anyorder.web.library import Library

LESSON = """# Our names

An opening that is not shown.

## The window
`#model=dyadic&order=2&text=anna and hannah&position=5`
Layer 1 looks at the two
tokens before.
> Which two?

## Free
No state, no question.
"""


def test_markdown_and_json_say_the_same(tmp_path):
    (tmp_path / "3-Our names.md").write_text(LESSON, encoding="utf-8")
    read = tours.read_tour(tmp_path / "3-Our names.md")
    assert (read.name, read.title, len(read.stops)) == ("our-names", "Our names", 2)
    given = {"model": "dyadic", "order": "2", "text": "anna and hannah", "position": "5"}
    assert read.stops[0].state == {**given, "hide": "counts,prediction"}
    assert (read.stops[0].sentence, read.stops[0].question) == ("Layer 1 looks at the two tokens before.", "Which two?")
    assert (read.stops[1].state, read.stops[1].question) == ({"hide": ""}, "")
    (tmp_path / "our-names.json").write_text(read.model_dump_json(exclude={"name"}), encoding="utf-8")
    assert tours.read_tour(tmp_path / "our-names.json") == read


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{", "is not valid JSON"),
        ("a.json", "[]", "contains [], must be an object"),
        ("a.json", "[" * 100_000, "is nested too deeply"),
        ("a.json", '{"title": "A", "title": "B"}', "has the key 'title' twice"),
        ("a.json", '{"title": "A"}', "has no stops"),
        ("a.json", '{"title": "A", "stops": [{"state": {}}]}', "stop 1: sentence: must be given"),
        (
            "a.json",
            '{"title": "A", "stops": [{"sentence": "B", "text": "C"}]}',
            "stop 1: text: a field that is not known here",
        ),
        ("a.md", "## B\nC\n", "has no title"),
        ("a.md", "# A\n", "has no stops"),
        ("a.md", "# A\n## B\n`ordr=2`\nC\n", "stop 1: there is no 'ordr' in the state"),
        ("a.md", "# A\n## B\n`order=2`\n> C?\n", "stop 1 has no sentence"),
        ("a.md", "# A\n## B\n`hide=count`\nC\n", "stop 1: hide is 'count', must be some of none, counts, prediction"),
    ],
)
def test_what_is_wrong_with_a_tour_is_one_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(message)) as refused:
        tours.read_tour(tmp_path / name)
    assert "\n" not in str(refused.value)


def test_a_missing_and_a_binary_file_are_refused(tmp_path):
    (tmp_path / "a.md").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "a.md", tmp_path / "absent.md", tmp_path):
        with pytest.raises(InputError):
            tours.read_tour(path)


def test_a_state_has_the_names_of_the_page():
    source = (STATIC / "state.js").read_text(encoding="utf-8").partition("export function")[0]
    names = set(re.findall(r"(\w+): ", re.sub(r"^//.*", "", source, flags=re.MULTILINE)))
    assert names - {"present", "tour", "stop"} == tours.STATE


@pytest.mark.parametrize(
    ("words", "question", "hide"),
    [
        ("", "> Why?", "counts,prediction"),
        ("show=proof", "> Why?", "counts,prediction"),
        ("show=maps", "> Why?", ""),
        ("page=heads", "> Why?", ""),
        ("", "", ""),
        ("hide=none", "> Why?", ""),
        ("hide=attention", "", "attention"),
    ],
)
def test_a_question_hides_its_answer_unless_the_stop_says_otherwise(tmp_path, words, question, hide):
    (tmp_path / "a.md").write_text(f"# A\n## B\n`{words}`\nLook.\n{question}\n", encoding="utf-8")
    assert tours.read_tour(tmp_path / "a.md").stops[0].state["hide"] == hide


def test_the_seven_tours_of_the_package():
    shipped = tours.shipped_tours()
    assert [tour.name for tour in shipped] == [
        "what-follows-ba", "isolating-the-oldest-token", "floating-point-breaks-it", "one-head-or-many",
        "trained-or-constructed", "what-one-layer-cannot", "heads-of-a-language-model",
    ]  # fmt: skip
    stops = [stop for tour in shipped for stop in tour.stops]
    assert all(stop.state for stop in stops)
    assert all(stop.question.rstrip(".").endswith(("?", "reveal")) for stop in stops if stop.question)
    # Only the answer to the question is covered until "Reveal".
    assert all(bool(stop.question) == bool(stop.state["hide"]) for stop in stops)
    assert all(stop.state["result"] == "package/probe.json" for stop in stops if stop.state.get("page") == "heads")


@pytest.mark.parametrize(
    ("name", "order", "bits"),
    [("dyadic", 3, 10), ("two-head", 3, 37), ("k-head", 3, 4), ("two-layer", 3, 37), ("two-layer", 4, 44),
     ("two-layer", 5, 50), ("two-layer", 6, 57), ("unrolled", 5, 7)],
)  # fmt: skip
def test_the_bits_that_tours_name_are_needed(name, order, bits):
    texts = " ".join(stop.sentence for tour in tours.shipped_tours() for stop in tour.stops)
    assert plan(name, order=order, alphabet_size=8, length=64).certificate.bits_needed == bits
    assert re.search(rf"\b{bits}\b", texts)


def written(folder, *states):
    stops = "".join(f"## B\n`{state}`\nLook.\n" for state in states)
    (folder / "lesson.md").write_text(f"# A\n{stops}", encoding="utf-8")
    return tours.read_tour(folder / "lesson.md")


@pytest.mark.parametrize("tour", tours.shipped_tours(), ids=lambda tour: tour.name)
def test_the_tours_of_the_package_can_be_shown(tour):
    tours.check_tour(tour, Library())


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
        tours.check_tour(tour, Library())
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
        ("model=bigram&order=1&text=abab&estimator=ctw", "estimator is given, which an exported page does not support"),
    ],
)
def test_an_export_checks_what_it_holds(tmp_path, state, message):
    tour = written(tmp_path, "model=bigram&order=1&text=abab&position=3", state)
    with pytest.raises(InputError, match=re.escape(message)) as refused:
        export.export(tmp_path / "page", tour, names=["bigram"], orders=(1,), sizes=(2,))
    assert str(refused.value).startswith("lesson, stop 2: ")
    assert not (tmp_path / "page").exists()
