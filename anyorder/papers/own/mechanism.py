"""Interventions on trained two-layer models and on the construction, to test for the mechanism of App. B.1.

App. B.1: layer 1 writes the window of the last k tokens; the MLP finds and removes the oldest of them, so that the
query is the window shifted by one; layer 2 compares. Two interventions test this. *Replacing* the token at one offset
in the input of layer 1, at the key or at the query alone, shows which tokens the comparison uses: offsets 1 … k of the
key, and 0 … k - 1 of the query. *Removing* the direction of the token at offset k from the MLP's output shows whether
the oldest token is encoded there; random directions are the control.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Scalar

from anyorder.constructions import construct
from anyorder.estimators import matching
from anyorder.io.atomic import Row
from anyorder.models import Trace, Transformer
from anyorder.models.mlp import run_stack
from anyorder.papers.experiment import Result, Table, Task, experiment, of_preset
from anyorder.papers.figure_data import Chart, Plot, Series, grouped
from anyorder.papers.own.birth import enough_seeds
from anyorder.sweeps.analysis import wilson
from anyorder.training.config import Data
from anyorder.training.reference import held_out

DATA = Data(order=2, length=32)
#: Offsets that are replaced: up to two beyond the window.
OFFSETS = DATA.order + 3
SEQUENCES = 512
DIRECTIONS = 8


def first_stream(model: Transformer, tokens: Int[Array, "length"]) -> Float[Array, "rows d"]:
    """The stream after the attention of layer 1."""
    return jnp.asarray(model.trace(tokens).stream("attention 1"))


def written(model: Transformer, stream: Float[Array, "rows d"]) -> Float[Array, "rows d"]:
    """The contribution of layer 1's MLP to that stream."""
    first = model.layers[0]
    return run_stack(first.mlp, first.mlp_norm, stream)[-1] - stream


def onwards(model: Transformer, stream: Float[Array, "rows d"], removed: Float[Array, "directions d"]) -> Trace:
    """The output of layer 2 with unit directions removed from the contribution of layer 1's MLP.

    It runs as a one-layer model with the stream as its positions and embeddings of zero.
    """
    wrote = written(model, stream)
    rest = dataclasses.replace(
        model,
        embedding=jnp.zeros_like(model.embedding),
        positions=stream + wrote - (wrote @ removed.T) @ removed,
        beginning=None,
        layers=model.layers[1:],
        output=model.embedding if model.output is None else model.output,
    )
    return rest.trace(jnp.zeros(len(stream), jnp.int32))


@eqx.filter_jit
def replaced(
    model: Transformer, tokens: Int[Array, "length"], query: Int[Array, ""], key: Int[Array, ""], offset: Int[Array, ""]
) -> tuple[Scalar, Scalar]:
    """Ratio of the query's attention to a matching key, after over before replacing a token for one of the two."""
    begins, nothing = int(model.beginning is not None), jnp.zeros((1, model.dimension), model.dtype)
    stream = first_stream(model, tokens)
    before = onwards(model, stream, nothing).attention[0][0, query + begins, key + begins]

    def ratio(row: Int[Array, ""]) -> Scalar:
        other = tokens.at[row - offset].set(1 - tokens[row - offset])
        patched = stream.at[row + begins].set(first_stream(model, other)[row + begins])
        after = onwards(model, patched, nothing).attention[0][0, query + begins, key + begins]
        return after / jnp.maximum(before, 1e-9)

    return ratio(key), ratio(query)


@eqx.filter_jit
def effect(
    model: Transformer, tokens: Int[Array, "count length"], removed: Float[Array, "directions d"]
) -> tuple[Scalar, Scalar]:
    """Share of layer 2's attention on the matches, and distance of the predictions to those of the intact model."""
    begins = int(model.beginning is not None)

    def one(row: Int[Array, "length"]) -> tuple[Array, Array, Array]:
        stream = first_stream(model, row)
        seen = onwards(model, stream, removed)
        whole = onwards(model, stream, jnp.zeros_like(removed))
        keys = matching.window_matches(row, DATA.order)
        weights = seen.attention[0][0, begins:, begins:]
        share = (weights * keys).sum(axis=1) / jnp.maximum(weights.sum(axis=1), 1e-9)
        moved = jnp.abs(seen.probabilities - whole.probabilities).sum(axis=1)[begins + DATA.order :].mean() / 2
        return (share * keys.any(axis=1)).sum(), keys.any(axis=1).sum(), moved

    shares, queries, moved = jax.lax.map(one, tokens, batch_size=64)
    return shares.sum() / queries.sum(), moved.mean()


def written_directions(model: Transformer, tokens: Int[np.ndarray, "count length"]) -> Float[np.ndarray, "offsets d"]:
    """Unit directions in the output of layer 1's MLP for the token at each offset, by least squares."""
    begins, order = int(model.beginning is not None), DATA.order

    @eqx.filter_jit
    def write(row: Int[Array, "length"]) -> Float[Array, "length d"]:
        return written(model, first_stream(model, row))[begins:]

    wrote = np.stack([np.asarray(write(row), np.float64) for row in jnp.asarray(tokens)])[:, OFFSETS:]
    signs = 2.0 * tokens - 1
    length = tokens.shape[1]
    inputs = np.stack([signs[:, OFFSETS - offset : length - offset] for offset in range(order + 1)], axis=-1)
    inputs = np.concatenate([inputs, np.ones((*inputs.shape[:-1], 1))], axis=-1)
    weights = np.linalg.lstsq(inputs.reshape(-1, order + 2), wrote.reshape(-1, wrote.shape[-1]), rcond=None)[0]
    return weights[: order + 1] / np.maximum(np.linalg.norm(weights[: order + 1], axis=1, keepdims=True), 1e-12)


def chosen_pairs(tokens: Int[np.ndarray, "count length"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A sequence, a query and one of its matches, at random, with all offsets inside the sequence."""
    generator, picked = np.random.default_rng(0), []
    for place, row in enumerate(tokens):
        keys = np.array(matching.window_matches(jnp.asarray(row), DATA.order))  # a writable copy
        keys[:, :OFFSETS] = False
        # The windows of query and key must not overlap: a replacement must change only one of them.
        queries, matches = np.nonzero(keys & (np.subtract.outer(np.arange(len(row)), np.arange(len(row))) > OFFSETS))
        if len(queries):
            one = generator.integers(len(queries))
            picked.append((place, queries[one], matches[one]))
    places, queries, matches = np.array(picked).T
    return tokens[places], queries, matches


def interventions(model: Transformer, tokens: Int[np.ndarray, "count length"]) -> Row:
    """Both interventions on one model."""
    rows, queries, keys = (jnp.asarray(part) for part in chosen_pairs(tokens))
    at = jax.vmap(partial(replaced, model), in_axes=(0, 0, 0, None))
    kept = np.array([np.median(at(rows, queries, keys, jnp.int32(offset)), axis=1) for offset in range(OFFSETS)])
    directions = written_directions(model, tokens)
    random = np.random.default_rng(0).standard_normal((DIRECTIONS, model.dimension))
    random /= np.linalg.norm(random, axis=1, keepdims=True)

    def without(direction: np.ndarray) -> tuple[float, float]:
        share, moved = effect(model, jnp.asarray(tokens), jnp.asarray(direction[None], model.dtype))
        return float(share), float(moved)

    by_offset, by_chance = [without(one) for one in directions], [without(one) for one in random]
    return {
        "key_side": kept[:, 0].tolist(),
        "query_side": kept[:, 1].tolist(),
        "on_matches": without(np.zeros(model.dimension))[0],
        "on_matches_without": [share for share, _ in by_offset],
        "on_matches_without_random": [share for share, _ in by_chance],
        "moved_without": [moved for _, moved in by_offset],
        "moved_without_random": [moved for _, moved in by_chance],
    }


def medians(rows: Sequence[Row]) -> Row:
    """The median of every number over the seeds of one kind of model, for the figures."""
    names = [name for name, value in rows[0].items() if isinstance(value, list | float)]
    return {"model": rows[0]["model"]} | {
        name: np.median([row[name] for row in rows], axis=0).tolist() for name in names
    }


#: Statements about a model, each with a test on its numbers.
SAID: dict[str, Callable[[Row], bool]] = {
    "compares all k tokens of key and query": lambda row: (
        max(row["key_side"][1 : DATA.order + 1]) < 0.5 and max(row["query_side"][: DATA.order]) < 0.5
    ),
    "has dropped the oldest token of the query": lambda row: row["query_side"][DATA.order] > 0.5,
    "keeps half of its matching without the MLP's direction of the oldest token": lambda row: (
        row["on_matches_without"][DATA.order] >= row["on_matches"] / 2
    ),
    "loses more without that direction than without any random one": lambda row: (
        row["on_matches_without"][DATA.order] < min(row["on_matches_without_random"])
    ),
}
STATEMENTS = "The number of models for which each statement holds, with the 95% interval of their share."


def statements(rows: Sequence[Row]) -> Iterator[Row]:
    """The number of models of each kind that satisfy each statement."""
    for kind, own in grouped(rows, "model").items():
        for said, so in SAID.items():
            hits = sum(so(row) for row in own)
            low, high = wilson(hits, len(own))
            yield {"model": kind, "statement": said, "models": hits, "of": len(own), "from": low, "to": high}


def sentences(rows: Sequence[Row]) -> Iterator[str]:
    """The statements that hold in almost every model of a kind: all but one of eight."""
    for kind, own in grouped(list(statements(rows)), "model").items():
        held = [row["statement"] for row in own if row["models"] >= row["of"] * 7 / 8]
        yield f"{kind} ({own[0]['of']} models): {'; '.join(held) or 'none of the statements holds'}."


@experiment(
    "Which mechanism does training find?",
    "App. B.1, tested by interventions",
    {"tiny": 0.4, "quick": 3, "paper": 30},
    paper="Layer 1 writes the window, the MLP finds and removes its oldest token, layer 2 compares.",
    reading="The paper shows attention maps; a map does not show which tokens a comparison uses. Replacing a token "
    "for one row alone, and removing one direction, does.",
)
def mechanism(task: Task) -> Result:
    """Intervene on the construction, and on every trained model of two recipes."""
    task = enough_seeds(task)
    tokens = np.asarray(held_out(DATA, 64 if task.budget == "tiny" else SEQUENCES).tokens)[:, :-1]
    built = construct("two-layer", order=DATA.order, alphabet_size=2, length=DATA.length)
    models: list[tuple[str, int, Transformer]] = [("two-layer (App. B.1)", 0, built)]
    recipes = ("floor",) if task.budget == "tiny" else ("floor", "paper")
    for part, name in task.parts(recipes):
        trained = part.train(of_preset(task, name, DATA))
        models += [(f"trained, {name}", seed, model) for seed, model in enumerate(trained.models)]
    rows: list[Row] = []
    for kind, seed, model in models:
        found = interventions(dataclasses.replace(model, certificate=None), tokens)
        rows.append({"model": kind, "seed": seed, **found})
    typical = [medians(own) for own in grouped(rows, "model").values()]
    caption = (
        "Median attention to a matching key after over before, with the token at offset 0, 1, … replaced in what layer "
        "1 reads for that key or for that query; share of layer 2 on the matches and change of the predictions when "
        "the direction of the token at offset 0 … k is removed from the MLP's output, next to random directions."
    )
    return Result(
        {"mechanism": Table(caption, rows), "statements": Table(STATEMENTS, list(statements(rows)))},
        {"replaced": _replaced(typical), "removed": _removed(typical)},
        notes=tuple(sentences(rows)),
        settings={"data": "order 2, T = 32, Dirichlet(1) rows", "sequences": len(tokens)},
    )


def _replaced(rows: list[Row]) -> Plot:
    offsets = [float(offset) for offset in range(OFFSETS)]
    charts = [
        Chart(
            f"offset replaced for the {side}",
            "attention after / before",
            [Series(row["model"], offsets, row[f"{side}_side"], None, "o-", number) for number, row in enumerate(rows)],
        )
        for side in ("key", "query")
    ]
    return Plot(
        "Attention to a matching key when one token is replaced in what layer 1 reads.", charts, width=4.2, height=3.4
    )


def _removed(rows: list[Row]) -> Plot:
    names = ["nothing", *(f"offset {offset}" for offset in range(DATA.order + 1)), "random"]
    places = [float(place) for place in range(len(names))]
    series = []
    for number, row in enumerate(rows):
        random = row["on_matches_without_random"]
        shares = [row["on_matches"], *row["on_matches_without"], float(np.mean(random))]
        errors = [0.0] * (len(shares) - 1) + [float(np.std(random))]
        series.append(Series(row["model"], places, shares, errors, "o", number))
    ticks = dict(zip(names, places, strict=True))
    chart = Chart("direction removed from the MLP", "share of layer 2 on matches", series, ticks=ticks)
    caption = "Layer 2's attention on the matches with one direction removed from the output of layer 1's MLP."
    return Plot(caption, [chart], width=4.6)
