"""The live server against its own description: every response to any request matches the schema."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anyorder.web import limits, schema
from tests import oracles
from tests.web import exploring
from tests.web.exploring import body, matrix, refused

#: All but `positive_data_acceptance`: a description of values cannot say which of them make a model together.
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,negative_data_rejection,unsupported_method"
)


@pytest.mark.slow
def test_no_answer_violates_the_description(tmp_path, monkeypatch):
    # A fresh run compiles for seconds at every length and order, and `test_dynamics` has one: here any film will do.
    for algorithm in ("two_stage", "preconditioned"):
        monkeypatch.setattr(f"anyorder.web.films.{algorithm}", lambda *_: exploring.trajectory(steps=4))
    pytest.importorskip("schemathesis", reason="pip install '.[test]' in a clone")
    words = [sys.executable, "-m", "schemathesis.cli", "run", "--checks", CHECKS, "--phases", "coverage,fuzzing"]
    bounds = ["--max-examples", "4", "--seed", "1", "--request-timeout", "120", "--suppress-health-check", "all"]
    (tmp_path / "models").mkdir()
    with exploring.explorer([tmp_path / "models"]) as (url, _):
        given = [*words, *bounds, "--generation-database", ":memory:", "--no-color", f"{url}/api/openapi.json"]
        done = subprocess.run(given, capture_output=True, text=True, cwd=tmp_path, timeout=900)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


JUNK = st.one_of(
    st.none(), st.booleans(), st.text(max_size=20), st.floats(max_value=-0.001, allow_infinity=False),
    st.sampled_from([-(2**70), -1, 2**31, 2**70, [], {}, "\ud800", "\0", "‮", "../x", [[]], {"kind": "text"}]),
    st.lists(st.integers(), max_size=3), st.dictionaries(st.text(max_size=5), st.integers(), max_size=2),
)  # fmt: skip
PLACES = [("model", name) for name in schema.Constructed.model_fields] + [
    ("sequence", name) for name in schema.Chain.model_fields
] + [("model",), ("sequence",), ("position",)]  # fmt: skip


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(place=st.sampled_from(PLACES), junk=JUNK)
@pytest.mark.slow
def test_junk_in_any_field_is_answered_in_kind(client, place, junk):
    asked = {
        "model": schema.Constructed().model_dump(),
        "sequence": schema.Chain(length=20).model_dump(),
        "position": 3,
    }
    inner = asked
    for part in place[:-1]:
        inner = inner[part]
    inner[place[-1]] = junk
    raw = json.dumps(asked).encode()
    response = client.post("/api/story", content=raw, headers={"content-type": "application/json"})
    if response.status_code == 200:
        schema.Story.model_validate_json(response.content)
    else:
        assert response.status_code in (403, 422)
        refused(response)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    text=st.text(st.sampled_from("ab\n \0é漢😀‮́"), min_size=3, max_size=32),
    temperature=st.floats(limits.COLDEST, limits.WARMEST),
    beta=st.floats(0.01, 100),
    name=st.sampled_from(["bayes", "k-head-bayes"]),
)
@pytest.mark.slow
def test_what_the_schema_allows_is_answered_by_the_schema(client, text, temperature, beta, name):
    asked = body(text, name=name, order=2, alphabet_size=10, temperature=temperature, beta=beta)
    view = schema.View.model_validate_json(client.post("/api/view", json=asked).raise_for_status().content)
    assert "".join(view.symbols[token] for token in view.tokens) == text
    given = matrix(view.predicted.model_dump())
    assert given.shape == (len(text), 10)
    if temperature <= 1 and name == "k-head-bayes":
        exact = oracles.distributions(tuple(view.tokens), 2, 10, "bayes", beta)
        for n in range(1, len(text)):
            np.testing.assert_allclose(given[n], exact[n], atol=1e-5)
