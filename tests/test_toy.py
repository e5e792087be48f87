"""A new construction is one file: a toy, loaded as a plug-in, is found everywhere."""

from __future__ import annotations

import json

import pytest

from anyorder.constructions import CONSTRUCTIONS, construct, plan, tables
from anyorder.constructions.exact_orders import precision_table
from anyorder.constructions.verify import verify
from anyorder.errors import InputError
from anyorder.io import plugins
from anyorder.web import api, proof, schema, view
from anyorder.web.library import Library

#: `k-head` under another name, with its own option.
TOY = """
import dataclasses

from anyorder.constructions import CONSTRUCTIONS, Option

_K_HEAD = CONSTRUCTIONS["k-head"]
MINE = dataclasses.replace(
    _K_HEAD,
    name="toy",
    advice="Take it to see that nothing else has to change.",
    build=lambda request, kappa, volume: _K_HEAD.build(request, kappa),
    analyse=lambda request, volume: _K_HEAD.analyse(request),
    steps=lambda request, volume: _K_HEAD.steps(request),
    options=(Option("volume", 3, "how loud it is", least=1, most=11),),
    last_order=2,
)
"""


@pytest.fixture
def toy(plugin):
    plugin(TOY)
    return CONSTRUCTIONS["toy"]


def test_it_is_built_and_verified(toy):
    assert construct("toy", order=2, alphabet_size=2, length=16, volume=5).certificate.options == (("volume", 5),)
    assert verify("toy", order=2, alphabet_size=2, length=32, sequences=4).passed


@pytest.mark.slow
def test_the_command_line_lists_it_and_has_its_options(toy, run):
    code, text, _ = run("constructions", "--json")
    listed = {row["construction"]: row for row in json.loads(text)["constructions"]}
    assert code == 0
    assert listed["toy"]["advice"] == toy.advice
    assert listed["toy"]["options"][0]["name"] == "volume"
    code, _, error = run("verify", "toy", "--order", 2, "--length", 32, "--volume", 12)
    assert (code, error) == (2, "anyorder: volume is 12, must be 1 to 11\n")


@pytest.mark.slow
def test_the_tables_of_the_docs_have_it(toy):
    assert ("toy", toy.advice) in tables.advice().rows
    assert next(row for row in precision_table() if row.label == "toy").cells() == ["– (2)"] * 4
    assert "toy" in {row[0] for row in tables.shapes().rows}


def test_the_explorer_offers_it_and_tells_its_proof(toy):
    explorer = view.Explorer(Library())
    info = next(entry for entry in api.choices(explorer).constructions if entry.name == "toy")
    assert [option.name for option in info.options] == ["volume"]
    asked = schema.ViewRequest(
        model=schema.Constructed(name="toy", order=2, volume=7),
        sequence=schema.Text(kind="text", text="abababababab"),
    )
    traced = explorer.traced(asked, lambda: None)
    assert traced.opened.plan.options == {"volume": 7}
    assert [step.title for step in proof.tell(traced, 8).steps] == [step.title for step in traced.opened.plan.steps]


def test_functions_take_the_construction_itself(toy, monkeypatch):
    monkeypatch.delenv(plugins.VARIABLE)
    request = {"order": 2, "alphabet_size": 2, "length": 32}
    with pytest.raises(InputError, match="no construction 'toy'"):
        plan("toy", **request)
    assert plan(toy, **request).construction is toy
    model = construct(toy, **request, volume=4)
    assert verify(toy, **request, sequences=4).passed
    assert verify(model, sequences=4).passed  # found by the name in its certificate
    assert "toy" not in list(CONSTRUCTIONS)
