"""The API of the explorer: right numbers for every model, and one line for everything else."""

from __future__ import annotations

import dataclasses
import importlib
import json
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anyorder
from anyorder import chains, dynamics
from anyorder.constructions import CONSTRUCTIONS, backend, certificate
from anyorder.constructions.verify import verify
from anyorder.estimators.registry import ESTIMATORS
from anyorder.report.style import COLOURS
from anyorder.web import api, limits, schema
from anyorder.web import app as web_app
from anyorder.web import dynamics as web_dynamics
from tests import oracles
from tests.web import exploring
from tests.web.exploring import matrix

STATIC = pathlib.Path(web_app.STATIC)
TEXT = "abracadabra abracabadabra"
SYMBOLS = list(dict.fromkeys(TEXT))
TOKENS = [SYMBOLS.index(character) for character in TEXT]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return exploring.fill(tmp_path_factory.mktemp("explorer"))


@pytest.fixture(scope="module")
def client(folder):
    with exploring.explorer([folder]) as (url, _), httpx.Client(base_url=url, timeout=60) as opened:
        yield opened


def body(text=TEXT, **model):
    return {"model": {"kind": "construction", **model}, "sequence": {"kind": "text", "text": text}}


def promised(name):
    return {"biased": "biased", "bayes": "bayes"}.get(
        "biased" if name.endswith("-qk") else "bayes" if name.endswith("bayes") else "", "kgram"
    )


@pytest.mark.parametrize("name", CONSTRUCTIONS)
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
    np.testing.assert_allclose(matrix(view["maps"][-1]["weights"]).sum(axis=1), 1, atol=1e-5)

    n = len(TOKENS) - 3
    story = client.post("/api/story", json={**asked, "position": n}).raise_for_status().json()
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


def parts(story):
    """Every part by its name, the first of several."""
    return {part["name"]: part for step in reversed(story["steps"]) for part in reversed(step["parts"])}


@pytest.mark.parametrize(
    ("name", "weight"), [("dyadic", lambda i, k: 2 ** (i - 1)), ("attention-only", lambda i, k: 3 ** (k - i))]
)
def test_the_story_shows_the_code_of_the_window(client, name, weight):
    k, n = 3, 17
    story = client.post("/api/story", json={**body(name=name, order=k), "position": n}).raise_for_status().json()
    code = np.zeros(len(SYMBOLS))
    for i in range(1, k + 1):
        code[TOKENS[n - i]] += weight(i, k)
    shown = parts(story)
    np.testing.assert_array_equal(shown["v_n"]["values"], code)
    if name == "dyadic":
        isolated = np.zeros(len(SYMBOLS))
        isolated[TOKENS[n - k]] = 1
        np.testing.assert_array_equal(shown["isolated"]["values"], isolated)
        assert shown["v_n and the threshold"]["line"] == 2 ** (k - 1) - 1
        assert shown["v_n and the threshold"]["marks"] == [TOKENS[n - k]]
        query = np.zeros(len(SYMBOLS))
        for i in range(k):
            query[TOKENS[n - i]] += 2**i
        np.testing.assert_array_equal(shown["u_n"]["values"], query)
        assert max(shown["score"]["values"]) == pytest.approx(1, abs=1e-9)
        assert [place for place, score in enumerate(shown["score"]["values"]) if score > 1 - 1e-9] == story["matches"]


def test_temperature_breaks_exactness_and_restores_it(client):
    errors = []
    for temperature in (1.0, 2.0**10, 1.0):
        view = client.post("/api/view", json=body(name="dyadic", temperature=temperature)).raise_for_status().json()
        errors.append(view["exactness"]["max_error"])
        assert view["model"]["certificate"]["kappa"] == pytest.approx(view["model"]["certified_kappa"] / temperature)
        assert view["exactness"]["passed"] is (temperature == 1)
    assert errors[0] == errors[2] < 1e-7 < 0.1 < errors[1]


def test_what_the_dtype_cannot_hold_is_built_and_said(client):
    view = client.post("/api/view", json=body(name="dyadic", order=12, dtype="float32")).raise_for_status().json()
    assert "needs 28 bits, float32 has 24" in view["model"]["refusal"]
    assert view["exactness"]["passed"] is False


def test_a_drawn_chain_is_that_of_the_command_and_knows_its_truth(client, run):
    asked = {"kind": "chain", "order": 2, "alphabet_size": 3, "length": 40, "seed": 7}
    view = client.post("/api/view", json={"model": {"kind": "construction", "name": "bayes"}, "sequence": asked})
    view = view.raise_for_status().json()
    code, text, _ = run("sample", "--order", 2, "--alphabet-size", 3, "--length", 41, "--seed", 7)
    assert code == 0
    assert [*view["tokens"], view["outcome"]] == [int(word) for word in text.split()]
    truth = matrix(view["truth"])
    np.testing.assert_allclose(truth.sum(axis=1), 1, atol=1e-6)
    entropy = np.mean([oracles.entropy(row[row > 0]) for row in truth[1:]])
    assert view["losses"]["true_loss"] == pytest.approx(entropy, abs=1e-5)
    assert view["losses"]["model_excess"] == pytest.approx(view["losses"]["bayes_excess"], abs=1e-6)
    noisy = client.post(
        "/api/view",
        json={"model": {"kind": "construction"}, "sequence": {**asked, "alphabet_size": 2, "transition_noise": 0.3}},
    )
    assert noisy.raise_for_status().json()["bayes_name"] == "Bayes under noise 0.3"


def test_every_estimator_of_the_registry_can_stand_beside_a_model(client, monkeypatch):
    monkeypatch.setitem(ESTIMATORS, "toy", dataclasses.replace(ESTIMATORS["ctw"], meaning="a toy"))
    offered = client.get("/api/options").raise_for_status().json()["estimators"]
    assert offered == {name: entry.meaning for name, entry in ESTIMATORS.items()}
    view = client.post("/api/view", json={**body(order=2), "estimator": "toy"}).raise_for_status().json()
    row, _ = oracles.ctw(TOKENS, len(TOKENS) - 1, 2, len(SYMBOLS), Fraction(1, 2))
    np.testing.assert_allclose(matrix(view["estimated"])[-1], [float(p) for p in row], atol=1e-6)
    assert client.post("/api/view", json=body(order=2)).json()["estimated"] is None
    wrong = client.post("/api/view", json={**body(order=2), "estimator": "oracle"})
    assert "no estimator 'oracle'; choose from kgram" in refused(wrong)


def test_stored_models_and_runs_are_listed_and_opened(client, folder):
    options = client.get("/api/options").raise_for_status().json()
    assert {entry["name"] for entry in options["constructions"]} == set(CONSTRUCTIONS)
    stored = {entry["path"]: entry for entry in options["stored"]}
    run = stored["models/run"]
    assert (run["kind"], run["models"], run["order"], run["alphabet_size"]) == ("run", 2, 1, 2)
    assert re.fullmatch(r"order 1, fast, gap \+0\.2500, \d{4}-\d\d-\d\d \(models/run\)", run["title"])
    assert stored["models/dyadic.safetensors"]["title"].startswith("dyadic, order 2, float64")
    assert stored["package/trained-order-2.safetensors"]["order"] == 2
    assert "models/run/model-0.safetensors" not in stored
    text = {"kind": "text", "text": "abcabcababcabcab"}
    view = client.post(
        "/api/view", json={"model": {"kind": "stored", "path": "models/dyadic.safetensors"}, "sequence": text}
    )
    view = view.raise_for_status().json()
    assert view["model"]["construction"] == "dyadic"
    assert view["exactness"]["passed"] is True
    asked = {
        "model": {"kind": "stored", "path": "models/run", "index": 1},
        "sequence": {"kind": "text", "text": "abbabaab"},
    }
    view = client.post("/api/view", json=asked).raise_for_status().json()
    _, models = anyorder.training.folder.read_models(folder / "run")
    tokens = [0, 1, 1, 0, 1, 0, 0, 1]
    np.testing.assert_allclose(matrix(view["predicted"]), models[1](tokens), atol=1e-6)
    assert view["exactness"]["passed"] is None
    assert view["model"]["certificate"] is None
    story = client.post("/api/story", json={**asked, "position": 5}).raise_for_status().json()
    assert [step["title"] for step in story["steps"]] == ["Layer 1", "Layer 2", "Prediction"]


@pytest.mark.parametrize(
    "path",
    [
        "../secret.safetensors", "models/../secret.safetensors", "models/../../etc/passwd", "/etc/passwd",
        "models//etc/passwd", "models/link.safetensors", "models/%2e%2e/secret.safetensors", "models/\0", "",
        "models/../models/../secret.safetensors", "\u2025/secret.safetensors", "models/" + "a/" * 300,
    ],
)  # fmt: skip
def test_paths_outside_the_folders_are_refused(client, path):
    response = client.post("/api/view", json={"model": {"kind": "stored", "path": path}})
    assert response.status_code in (403, 422)
    refused(response)
    assert "secret" not in response.text or "not in a folder" in response.text or "no 'models" in response.text


def test_a_broken_file_is_one_line_without_our_paths(client, folder):
    response = client.post("/api/view", json={"model": {"kind": "stored", "path": "models/cut.safetensors"}})
    assert "not a whole safetensors file" in refused(response)
    assert str(folder) not in response.text
    assert "has 2 symbols" not in response.text
    short = client.post(
        "/api/view",
        json={"model": {"kind": "stored", "path": "models/run"}, "sequence": {"kind": "text", "text": "abcd"}},
    )
    assert "the sequence has 4 symbols, the model has 2" in refused(short)


def refused(response):
    """The one line of a refusal."""
    assert 400 <= response.status_code < 500, response.text
    problem = schema.Problem.model_validate_json(response.content)
    assert problem.error
    assert "\n" not in problem.error
    assert "Traceback" not in response.text
    return problem.error


LIMITS = [
    ({"model": {"kind": "construction", "order": 17}}, "order", 16),
    ({"model": {"kind": "construction", "order": 0}}, "order", 1),
    ({"model": {"kind": "construction", "order": -(2**70)}}, "order", 1),
    ({"model": {"kind": "construction", "order": 10**400}}, "order", 16),
    ({"model": {"kind": "construction", "alphabet_size": 65}}, "alphabet_size", 64),
    ({"model": {"kind": "construction", "temperature": 0.0}}, "temperature", limits.COLDEST),
    ({"model": {"kind": "construction", "temperature": 1e308}}, "temperature", limits.WARMEST),
    ({"model": {"kind": "construction", "dimension": 10**9}}, "dimension", limits.MOST_DIMENSION),
    ({"sequence": {"kind": "text", "text": "ab" * 300}}, "text", limits.MOST_TOKENS),
    ({"sequence": {"kind": "text", "text": ""}}, "text", 1),
    ({"sequence": {"kind": "text", "text": "".join(map(chr, range(0x4E00, 0x4E00 + 65)))}}, "symbols", 64),
    ({"sequence": {"kind": "chain", "length": 513}}, "length", limits.MOST_TOKENS),
    ({"sequence": {"kind": "chain", "order": 8, "alphabet_size": 64}}, "transitions", limits.MOST_KERNEL),
    ({"sequence": {"kind": "chain", "token_noise": 1.5}}, "token_noise", 1),
    ({"model": {"kind": "construction", "name": "disentangled", "order": 9},
      "sequence": {"kind": "chain", "length": 256}}, "width", limits.MOST_WIDTH),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "name", "limit"), LIMITS)
def test_beyond_a_limit_the_limit_is_in_the_body(client, asked, name, limit):
    response = client.post("/api/view", json=asked)
    assert response.status_code == 422
    refused(response)
    told = response.json()["limit"]
    assert (told["name"], told["limit"]) == (name, limit)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"model": {"kind": "construction", "name": "tryadic"}}, "no construction 'tryadic'"),
        ({"model": {"kind": "construction", "name": "bigram", "order": 2}}, "is for order 1"),
        ({"model": {"kind": "construction", "order": "2"}}, "order is '2', must be a valid integer"),
        ({"model": {"kind": "construction", "order": 2.5}}, "order is 2.5"),
        ({"model": {"kind": "construction", "gated": 1}}, "gated is 1"),
        ({"model": {"kind": "elsewhere"}}, "model is"),
        ({"model": None}, "model is None"),
        ({"unknown": 1}, "unknown is 1, a field that is not known here"),
        ([], "is []"),
        ({"model": {"kind": "construction", "order": 4}, "sequence": {"kind": "text", "text": "abba"}}, "be smaller"),
        ({"model": {"kind": "construction", "alphabet_size": 2}}, "the sequence has 8 symbols, the model has 2"),
        ({"sequence": {"kind": "chain", "token_noise": 0.1, "transition_noise": 0.1}}, "together"),
        ({"sequence": {"kind": "chain", "length": 2}}, "length is 2, must be above the order 2"),
    ],
)  # fmt: skip
def test_wrong_requests_are_one_line(client, asked, message):
    assert message in refused(client.post("/api/view", json=asked))


def test_a_position_outside_the_sequence_is_refused(client):
    for position, message in ((24 + 1, "0 to 24"), (-1, "position is -1"), (10**6, "position is 1000000")):
        assert message in refused(client.post("/api/story", json={**body(), "position": position}))


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"null", b"\xff\xfe", b"NaN", b'{"model": {"kind": "construction", "beta": NaN}}', b"[" * 3000],
)
def test_bodies_that_are_no_request_are_refused(client, raw):
    refused(client.post("/api/view", content=raw, headers={"content-type": "application/json"}))
    refused(client.post("/api/view", content=raw, headers={"content-type": "text/plain"}))


def test_oversized_bodies_are_refused_with_and_without_a_length(client):
    large = json.dumps(body("a" * (limits.MOST_BODY + 1))).encode()
    for content in (large, iter([large[:40000], large[40000:]])):
        response = client.post("/api/view", content=content, headers={"content-type": "application/json"})
        assert response.status_code == 413
        refused(response)
        assert response.json()["limit"]["limit"] == limits.MOST_BODY


def test_foreign_hosts_and_origins_are_refused(client):
    assert client.get("/", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/", headers={"host": "localhost:1"}).status_code == 200
    foreign = client.post("/api/view", json=body(), headers={"origin": "http://evil.example"})
    assert foreign.status_code == 403
    refused(foreign)


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


def test_long_work_is_bounded_cancelled_and_blocks_nobody(monkeypatch):
    monkeypatch.setattr(limits, "LONG", 1)
    monkeypatch.setattr(limits, "LONG_WAITING", 0)
    asked = {"model": {"kind": "construction", "name": "dyadic"}, "length": 512, "sequences": 32}
    with exploring.explorer() as (url, app), httpx.Client(base_url=url, timeout=60) as client:
        client.post("/api/verify", json={**asked, "sequences": 1}).raise_for_status()  # compiled
        steps, go_on = [], threading.Event()
        # The first of the 32 sequences is made to wait, so that what follows does not depend on the machine.
        verification = importlib.import_module("anyorder.constructions.verify")
        real = verification.errors

        def slow(*arguments, **options):
            steps.append(1)
            go_on.wait(20)
            return real(*arguments, **options)

        monkeypatch.setattr(verification, "errors", slow)

        def leave():
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(f"{url}/api/verify", json=asked, timeout=3.0)

        client_that_leaves = threading.Thread(target=leave)
        client_that_leaves.start()
        while not steps:
            time.sleep(0.01)
        busy = client.post("/api/verify", json=asked)
        assert busy.status_code == 429
        assert busy.json()["limit"] == {"name": "long computations", "value": 1, "limit": 1}
        assert busy.headers["retry-after"] == "1"
        assert client.post("/api/view", json=body()).status_code == 200
        client_that_leaves.join()
        time.sleep(0.3)
        go_on.set()
        deadline = time.monotonic() + 10
        while app.state.long.taken and time.monotonic() < deadline:
            time.sleep(0.01)
        assert app.state.long.taken == 0
        assert len(steps) < 3
        monkeypatch.setattr(verification, "errors", real)
        found = client.post("/api/verify", json={**asked, "sequences": 4}).raise_for_status().json()
        assert found["passed"]
        assert found["max_error"] <= found["bound"]
        assert found["positions_checked"] > 1000


@pytest.mark.parametrize(("algorithm", "order"), [(1, 1), (2, 2)])
def test_a_fresh_run_is_that_of_the_package(client, monkeypatch, algorithm, order):
    # Short sequences and few steps: compiling them takes most of the time.
    monkeypatch.setattr(web_dynamics, "BATCH", 16)
    asked = {"algorithm": algorithm, "order": order, "alphabet_size": 2, "length": 8, "steps": 12, "seed": 3}
    film = client.post("/api/dynamics", json={"run": {"kind": "fresh", **asked}}).raise_for_status().json()
    shared = {"length": 8, "steps": 12, "batch": 16, "seed": 3}
    if algorithm == 1:
        run = dynamics.two_stage(chains.Floored(1, 2), dynamics.TwoStage(**shared, rate=5000.0, steps_2=12))
        assert film["floor_excess"] == pytest.approx(run.evaluation.standings["Bayes"].excess)
    else:
        run = dynamics.preconditioned(chains.Reversible(2, 2), dynamics.Preconditioned(**shared, rate=20000.0))
    assert film["steps"] == list(range(len(run.p)))
    scores = np.exp(run.p)
    np.testing.assert_allclose(matrix(film["attention"]), scores / scores.sum(axis=1, keepdims=True), atol=1e-6)
    assert film["a_2"] == run.a_2.tolist()
    assert film["excess"] == [*run.excess, run.excess[-1]]
    assert film["stage_one_steps"] == 12
    assert film["true_loss"] == run.true_loss


def test_a_stored_trajectory_is_played(client, folder):
    stored = exploring.trajectory(steps=1000)
    exploring.write_trajectory(folder / "trajectory.npz", steps=1000)
    listed = client.get("/api/options").json()["stored"]
    assert ("models/trajectory.npz", "trajectory") in {(entry["path"], entry["kind"]) for entry in listed}
    asked = {"run": {"kind": "stored", "path": "models/trajectory.npz"}}
    film = client.post("/api/dynamics", json=asked).raise_for_status().json()
    assert (film["algorithm"], film["order"], film["floor_excess"]) == (2, 2, None)
    assert (film["steps"][0], film["steps"][-1]) == (0, 1000)
    assert len(film["steps"]) <= limits.MOST_FRAMES + 1
    np.testing.assert_allclose(matrix(film["attention"]), stored.attention[film["steps"]], atol=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"a_2": np.ones(5)}, {"excess": np.ones((2, 2))}, {"p": np.ones((1, 9))}, {"p": np.array(["x"])},
        {"record": "{"}, {"record": '{"kind": "Path", "fields": {}}'}, {"p": np.array([None], dtype=object)},
    ],
)  # fmt: skip
def test_files_that_are_no_trajectory_are_one_line(client, folder, changes):
    (folder / "odd").mkdir(exist_ok=True)
    exploring.write_trajectory(folder / "odd" / "trajectory.npz", steps=10, **changes)
    response = client.post("/api/dynamics", json={"run": {"kind": "stored", "path": "models/odd"}})
    assert "is not a trajectory" in refused(response)


def test_a_trajectory_that_unpacks_to_too_much_is_not_unpacked(client, folder):
    (folder / "bomb").mkdir()
    exploring.write_trajectory(folder / "bomb" / "trajectory.npz", steps=10, loss=np.zeros(1 << 24))
    response = client.post("/api/dynamics", json={"run": {"kind": "stored", "path": "models/bomb/trajectory.npz"}})
    refused(response)
    assert response.json()["limit"]["limit"] == limits.MOST_FILE
    for path in ("../trajectory.npz", "models/link.safetensors", "models/dyadic.safetensors", "models/absent"):
        refused(client.post("/api/dynamics", json={"run": {"kind": "stored", "path": path}}))


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"kind": "fresh", "algorithm": 1, "order": 2}, "Algorithm 1 is about order 1"),
        ({"kind": "fresh", "algorithm": 3}, "algorithm is 3"),
        ({"kind": "fresh", "algorithm": 2, "order": 4, "alphabet_size": 8}, "4096 contexts"),
        ({"kind": "fresh", "length": 10**9}, "length is 1000000000, must be at most 256"),
        ({"kind": "fresh", "steps": 0}, "steps is 0, must be at least 1"),
        ({"kind": "fresh", "algorithm": 2, "order": 4, "alphabet_size": 2, "length": 4}, "must be above the order 4"),
    ],
)
def test_runs_beyond_the_limits_are_one_line(client, run, message):
    assert message in refused(client.post("/api/dynamics", json={"run": run}))


def test_the_page_is_served_whole_and_from_here_alone(client):
    page = client.get("/")
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    sources = {"index.html"}
    for html in STATIC.glob("*.html"):
        sources |= set(re.findall(r'(?:src|href)="([\w.]+\.(?:html|js|css|svg))"', html.read_text(encoding="utf-8")))
    for script in STATIC.glob("*.js"):
        sources |= set(re.findall(r'from "\./([\w]+\.js)"', script.read_text(encoding="utf-8")))
    assert sources == {path.name for path in STATIC.iterdir()}
    for path in STATIC.iterdir():
        text = client.get(f"/{path.name}").raise_for_status().text
        # Names of XML, and the paper's address in its BibTeX, are text: nothing is loaded from there.
        assert not re.findall(r"https?://(?!www\.w3\.org/|openreview\.net/forum)", text), path.name
    for path in ("/absent", "/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "/static/../../limits.py"):
        refused(client.get(path))
    style = (STATIC / "style.css").read_text(encoding="utf-8").upper()
    assert all(colour.upper() in style for colour in COLOURS)


def test_explore_says_where_it_listens_serves_and_ends_with_ctrl_c(folder):
    words = [
        sys.executable,
        "-m",
        "anyorder",
        "explore",
        "--no-browser",
        "--port",
        "0",
        "--json",
        "--models",
        str(folder),
    ]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        report = json.loads(process.stdout.readline())
        assert report["url"].startswith("http://127.0.0.1:")
        assert report["models"] == {"models": str(folder)}
        assert "anyorder" in httpx.get(report["url"], timeout=30).text
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out, error) == (0, "", "")


def test_explore_refuses_what_it_cannot_do(run, tmp_path, client):
    taken = str(client.base_url.port)
    for words, message in (
        (["--models", str(tmp_path / "absent")], "is not a folder"),
        (["--port", "70000"], "port is 70000"),
        (["--port", taken], "--port 0"),
    ):
        code, out, error = run("explore", "--no-browser", *words)
        assert (code, out) == (2, "")
        assert message in error
        assert error.count("\n") == 1


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
    assert not api.verified(asked, lambda: None).passed  # whatever the error is: the certificate assumed it
