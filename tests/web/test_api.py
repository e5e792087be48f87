"""The API of the explorer: right numbers for every construction."""

from __future__ import annotations

import numpy as np
import pytest

import anyorder
from anyorder.constructions import CONSTRUCTIONS, backend, certificate
from anyorder.constructions.verify import verify
from anyorder.web import api, schema
from tests import oracles
from tests.web.exploring import SYMBOLS, TOKENS, body, matrix


def promised(name):
    return {"biased": "biased", "bayes": "bayes"}.get(
        "biased" if name.endswith("-qk") else "bayes" if name.endswith("bayes") else "", "kgram"
    )


@pytest.mark.parametrize("name", CONSTRUCTIONS)
@pytest.mark.slow
def test_every_construction_has_a_view_and_a_story(client, name):
    order = CONSTRUCTIONS[name].largest_order or 2
    asked = body(name=name, order=order)
    view = client.post("/api/view", json=asked).raise_for_status().json()
    assert view["symbols"] == SYMBOLS
    assert view["tokens"] == TOKENS
    predicted, size = matrix(view["predicted"]), len(SYMBOLS)
    exact = oracles.distributions(tuple(TOKENS), order, size, promised(name))
    for n in range(len(TOKENS)):
        promise = not np.isnan(exact[n][0]) and not (name == "two-layer-qk" and n == order - 1)
        assert (view["errors"][n] is not None) == promise
        if promise and name != "associative":
            np.testing.assert_allclose(predicted[n], exact[n], atol=1e-6)
    assert view["exactness"]["passed"] is (None if name == "associative" else True)
    assert view["exactness"]["level"] in ({"open"} if name == "associative" else {"exact", "within"})
    if view["exactness"]["bound"] is not None:
        assert view["exactness"]["max_error"] <= view["exactness"]["bound"] == view["model"]["certificate"]["bound"]
    assert len(view["maps"]) == sum(view["model"]["heads"])
    last = matrix(view["maps"][-1]["weights"])
    if name.startswith("recurrent"):  # the readout is the matches and the initial table
        np.testing.assert_allclose(last, matrix(view["pseudo_attention"]), atol=1e-6)
    else:
        np.testing.assert_allclose(last.sum(axis=1), 1, atol=1e-5)

    n = len(TOKENS) - 3
    story = client.post("/api/story", json={**asked, "position": n}).raise_for_status().json()
    np.testing.assert_allclose(story["looks"], last[n + view["begins"]][: len(story["looks"])], atol=1e-6)
    assert len(story["looks"]) == n + 1 + view["begins"]
    assert story["window"] == list(range(n - order + 1, n + 1))
    followed = oracles.followers(TOKENS, n, order)
    assert story["counts"] == [followed[s] for s in range(size)]
    assert [TOKENS[match - order : match] for match in story["matches"]] == [TOKENS[n - order + 1 : n + 1]] * len(
        story["matches"]
    )
    model = anyorder.construct(name, order=order, alphabet_size=size, length=32)
    for step in story["steps"]:
        assert step["equation"]
        assert step["source"]
        assert step["parts"]
        for weight in step["weights"]:
            value = model
            for part in weight["name"].split("."):
                value = value[int(part)] if part.isdigit() else getattr(value, part)
            assert list(np.shape(value)) == weight["shape"], weight["name"]
    last = story["steps"][-1]["parts"][-1]
    np.testing.assert_allclose(last["values"], predicted[n], atol=1e-6)


def test_the_schema_describes_every_route_and_refusal(client):
    described = client.get("/api/openapi.json").raise_for_status().json()
    posts = {path for path, item in described["paths"].items() if "post" in item}
    assert posts >= {"/api/view", "/api/story", "/api/verify"}
    for path in posts:
        answers = described["paths"][path]["post"]["responses"]
        assert answers["422"]["content"]["application/json"]["schema"]["$ref"].endswith("/Problem")
        assert (
            answers["200"]["content"]["application/json"]["schema"]["$ref"].split("/")[-1]
            in described["components"]["schemas"]
        )


def test_the_page_verifies_as_the_command_does(monkeypatch):
    asked = schema.VerifyRequest(
        model=schema.Constructed(name="dyadic", dtype="float32"), alphabet_size=2, length=32, sequences=4
    )
    answer = api.verified(asked, lambda: None)
    found = verify("dyadic", order=2, alphabet_size=2, length=32, dtype="float32", sequences=4)
    assert answer.passed
    assert answer.max_error == pytest.approx(found.max_error, abs=1e-7)
    exactly = {name: getattr(found, name) for name in schema.Verified.model_fields if name != "max_error"}
    assert answer.model_dump(exclude={"max_error"}) == exactly
    monkeypatch.setitem(backend.ASSUMPTIONS, certificate.EQUAL_SCORES, lambda model, request: False)
    assert not api.verified(asked, lambda: None).passed  # at any error, because an assumption of the certificate fails
