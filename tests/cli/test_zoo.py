"""The zoo: models that load by name, and cards that are true."""

import json

import numpy as np
import pytest

import anyorder
from anyorder import zoo
from anyorder.constructions.parameters import count_arrays
from anyorder.errors import InputError
from anyorder.training.config import preset
from tests.test_promises import ROOT

NAMES = ["fast", "floor", "mamba", "one-layer", "pool", *(f"published-order-{order}" for order in (1, 2, 3))]


def source(card):
    """The data of a card, as its command has them."""
    changes = {name: value for name, value in card["data"].items() if name != "prior"}
    return preset("fast", order=card["order"], prior=card["data"]["prior"], **changes).data


def test_the_zoo_is_complete_and_small():
    assert zoo.names() == sorted(NAMES)
    assert sum(file.stat().st_size for file in zoo.FOLDER.glob("*.safetensors")) < 1.2e6


@pytest.mark.parametrize("name", NAMES)
def test_models_load_by_name_and_have_the_size_of_their_card(name):
    model, card = anyorder.load(f"zoo:{name}"), zoo.card(name)
    assert model.alphabet_size == card["data"]["alphabet_size"]
    assert count_arrays(model) == card["parameters"]
    assert zoo.located(f"zoo:{name}").stat().st_size == card["bytes"]
    assert [(head["layer"], head["head"]) for head in card["heads"]] == [
        (number, head) for number, layer in enumerate(model.layers) for head in range(len(layer.heads))
    ]
    assert card["gap"] == pytest.approx(card["excess"] - card["floor_excess"], abs=1e-4)
    assert f"{card['gap']:+.4f}" in card["title"]
    assert f"--preset {'published' if 'published' in name else name if name == 'floor' else 'fast'}" in card["command"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_models_keep_what_their_card_says(name):
    """On other sequences than the card's, within four standard errors; the probe reads the same heads."""
    card = zoo.card(name)
    found = anyorder.evaluate(anyorder.load(f"zoo:{name}"), source(card), count=512, seed=card["evaluation_seed"] + 1)
    assert abs(found.gap - card["gap"]) < 4 * np.hypot(found.gap_error, card["gap_error"])
    assert abs(found.excess - card["excess"]) < 4 * np.hypot(found.excess_error, card["excess_error"])
    assert found.follows == card["follows"]
    heads = [{key: head[key] for key in ("kind", "order")} for head in card["heads"]]
    assert [{"kind": one.kind, "order": one.found.order} for one in anyorder.probe(f"zoo:{name}").heads] == heads


def test_lists_and_cards_are_printed(run):
    code, text, _ = run("zoo")
    assert code == 0
    assert all(name in text for name in NAMES)
    code, text, _ = run("zoo", "mamba", "--json")
    assert (code, json.loads(text)) == (0, {"models": {"mamba": zoo.card("mamba")}})


def test_the_table_of_the_page_is_that_of_the_cards():
    page = (ROOT / "docs/training.md").read_text(encoding="utf-8")
    for name in NAMES:
        card = zoo.card(name)
        orders = ", ".join("–" if head["order"] is None else str(head["order"]) for head in card["heads"])
        start = f"| `{name}` | {card['order']} | {card['gap']:+.5f} ± {card['gap_error']:.5f} | {card['follows']} | "
        assert start in page
        assert f"| {orders} | `{card['command'].removesuffix(' --out RUN')}` |" in page


def test_unknown_names_are_one_line(run):
    with pytest.raises(InputError, match="name is None, must be a text"):
        anyorder.zoo.card(None)
    with pytest.raises(InputError, match=r"^no model 'fats' in the zoo; did you mean fast\?$"):
        anyorder.load("zoo:fats")
    code, text, error = run("zoo", "nothing")
    assert (code, text) == (2, "")
    assert error.startswith("anyorder: no model 'nothing' in the zoo; choose from fast, floor")
    assert run("probe", "zoo:fats")[0] == 2
