"""`k-head` in stock GPT-2: a Hugging Face folder whose mechanism is known, written and measured without PyTorch.

Block 0 has a head for each offset 1 … k, block 1 has the induction head, and its MLP computes logarithms, because GPT-2
ends in a softmax. The architecture of GPT-2 requires four tricks:

- Positions are absolute: each is known by its residues modulo 3, 4, 5 and 7, as points on four circles. A rotation
  moves position i to i + j, and every other position is at least a margin away.
- Layer norms divide by a scale that depends on the row. Two coordinates ±C make it constant, and the gain undoes it.
- Layer norms subtract the mean. A coordinate that is zero before the norm is minus the mean after it, and every weight
  subtracts it.
- Position 0 is the beginning token: heads that find nothing attend to it.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from safetensors.numpy import save

from anyorder.constructions.certificate import Request
from anyorder.constructions.construction import Construction
from anyorder.constructions.hard_sequences import hard_sequences
from anyorder.constructions.registry import find, plan
from anyorder.constructions.stream import Route, Stream
from anyorder.errors import InputError, check_seed, check_whole, require
from anyorder.estimators.matching import window_matches
from anyorder.estimators.streaming import StreamingEstimator
from anyorder.io.atomic import holds, interrupted, locked, whole_file, write_json, write_text
from anyorder.io.gates import check_memory, gated

Array = Float[np.ndarray, "..."]
Weights = dict[str, Array]

#: Files of an export, except the last.
_PARTS = ("model.safetensors", "config.json", "README.md")
#: Largest error of a probability with which a model is written.
TOLERANCE = 1e-3
#: Coprime periods of the positions, the longest sequence and order that they tell apart, and the margin between two.
PERIODS = (3, 4, 5, 7)
LONGEST, LARGEST_ORDER = 256, 8
#: Hard sequences on which the promises of a card are measured, at most.
MOST_SEQUENCES = 4096
MARGIN = 1 - np.cos(2 * np.pi / max(PERIODS))
#: C, and the nats by which the score of the beginning token falls short of a match, where it stands for "no match".
LEVEL, SINK = 2.0**15, 16.0
#: Hidden units for the logarithm of one probability, their width in spacings, and the logarithm of zero.
KNOTS, WIDTH, LOG_ZERO = 48, 0.7, -16.0
#: Logit of the beginning token, which is never predicted.
NEVER = -40.0
#: Constructions that GPT-2 can represent, and why it cannot represent the others.
HELD = {"k-head": "kgram", "bigram": "kgram", "k-head-bayes": "bayes"}
_DEPTH = "has MLP layers with skips between them, and a GPT-2 block has one hidden layer and one skip"
_NORMS = "normalises inside its MLP by the Euclidean length, and GPT-2 has no norm there"
_LENGTHS = "normalises queries and keys, which GPT-2 does not"
REASONS = {
    **dict.fromkeys(("unrolled", "unrolled-bayes", "one-layer"), _DEPTH),
    **dict.fromkeys(("two-layer", "two-head", "three-layer", "dyadic", "bayes"), _NORMS),
    **dict.fromkeys(("two-layer-qk", "two-head-qk"), _LENGTHS),
    "attention-only": "weights k offsets by powers in one head, for which absolute positions need a width of T",
    "disentangled": "copies one-hot positions with every token, and its width would be 2(k + 1)(S + T)",
    "associative": "is approximate by design, with errors above 1e-3",
    "convolution": "needs a convolution, which GPT-2 does not have",
    "recurrent": "needs a recurrence, which GPT-2 does not have",
    "recurrent-bayes": "needs a recurrence, which GPT-2 does not have",
}


@dataclasses.dataclass(frozen=True)
class GPT2:
    """A GPT-2 with known mechanism: its config, its weights by their Hugging Face names, and the ground truth."""

    config: dict[str, Any]
    weights: Weights
    truth: dict[str, Any]


@gated
def export(
    name: str | Construction,
    folder: str | Path,
    *,
    order: int,
    alphabet_size: int,
    length: int,
    beta: float | None = None,
    sequences: int = 8,
    seed: int = 0,
) -> GPT2:
    """Write a construction as a Hugging Face folder of a plain GPT-2, with `ground_truth.json` and a model card.

    beta: smoothing of `k-head-bayes`; 1 by default.
    sequences, seed: the hard sequences on which the promises of the card are measured.

    >>> import tempfile
    >>> made = export("k-head", Path(tempfile.mkdtemp()) / "gpt2", order=2, alphabet_size=3, length=32)
    >>> made.truth["measured"]["prediction_error"] < 2e-4
    True
    """
    check_whole(sequences=sequences)
    check_seed(seed)
    require(
        1 <= sequences <= MOST_SEQUENCES,
        f"sequences is {sequences}, must be 1 to {MOST_SEQUENCES}; 8 shows every kind twice",
    )
    # Without the last file they are from a killed export, or another model.
    holds(folder, "ground_truth.json", own=_PARTS if interrupted(folder) else ())
    require(not Path(folder, "ground_truth.json").exists(), f"{folder} already holds an export; choose another folder")
    made = gpt2(name, order=order, alphabet_size=alphabet_size, length=length, beta=beta)
    measured = measure(made, sequences=sequences, seed=seed)
    error = max(measured["prediction_error"], measured["unseen_error"])
    require(
        error <= TOLERANCE,
        f"`{made.truth['construction']}` would be wrong by {error:.2g} in float32, the limit is {TOLERANCE:g}; lower "
        "the length or the alphabet size, or raise `beta=`",
    )
    made.truth["measured"] = measured
    with locked(folder):
        with whole_file(Path(folder) / "model.safetensors") as temporary:
            temporary.write_bytes(save(made.weights, {"format": "pt"}))
        write_json(Path(folder) / "config.json", made.config)
        write_text(Path(folder) / "README.md", card(made))
        write_json(Path(folder) / "ground_truth.json", made.truth)
    return made


def gpt2(name: str | Construction, *, order: int, alphabet_size: int, length: int, beta: float | None = None) -> GPT2:
    """The weights of a construction in stock GPT-2; an `InputError` says why GPT-2 cannot represent it."""
    entry = find(name)
    if entry.name not in HELD:
        why = REASONS.get(entry.name, "has no GPT-2 form here")
        raise InputError(f"`{entry.name}` {why}; export {', '.join(f'`{one}`' for one in HELD)}")
    options = {} if beta is None else {"beta": beta}
    made = plan(entry, order=order, alphabet_size=alphabet_size, length=length, dtype="float32", **options)
    require(length <= LONGEST, f"length is {length}, exported models go to {LONGEST}; pass `length={LONGEST}` or less")
    require(order <= LARGEST_ORDER, f"order is {order}, exported models go to {LARGEST_ORDER}; lower the order")
    smoothing = made.beta if HELD[entry.name] == "bayes" else None
    stream, width = layout(made.request)
    config = _config(made.request, stream, width, alphabet_size * (KNOTS + 1 + (smoothing is None)))
    d, inner = config["n_embd"], config["n_inner"]
    numbers = 2 * (4 * d * d + 2 * d * inner) + d * (2 * alphabet_size + length)
    check_memory(16 * numbers, f"a GPT-2 of width {d}", "lower the order or the alphabet size")  # float64, and a copy
    weights = _weights(made.request, smoothing, stream, width)
    return GPT2(config, weights, _truth(entry.name, made.request, smoothing, stream))


def layout(asked: Request) -> tuple[Stream, int]:
    """The blocks of the residual stream, and the width of a head."""
    order, size = asked.order, asked.alphabet_size
    windows = {f"window_{offset}": size for offset in range(1, order + 1)}
    widths = {"token": size, "beginning": 1, "angles": 2 * len(PERIODS), **windows}
    widths |= {"prediction": size, "logarithm": size, "high": 1, "low": 1}
    used = sum(widths.values())
    width = max(2 * len(PERIODS) + 1, order * size + 1, used // order + 1)
    return Stream(**widths, zero=order * width - used), width


def _weights(asked: Request, beta: float | None, stream: Stream, width: int) -> Weights:
    order, size, d = asked.order, asked.alphabet_size, stream.dimension
    zero, root = stream.place("zero").start, np.sqrt(width)

    def read(*routes: Route, to: Stream) -> Array:
        matrix = stream.map(*routes, to=to)
        matrix[:, zero] -= matrix.sum(axis=1)  # the mean that a layer norm has subtracted
        return matrix

    def padded(*blocks: tuple[str, int]) -> Stream:
        return Stream(**dict(blocks), spare=width - sum(count for _, count in blocks))

    # Block 0: head j finds the position i with i + j = n, and copies its token to window j.
    sharp = 2 * SINK / MARGIN
    meet, value = padded(("angles", 2 * len(PERIODS)), ("sink", 1)), padded(("value", size))
    queries, keys, values, writes = [], [], [], []
    for offset in range(1, order + 1):
        queries.append(read(("angles", "angles", sharp * root), to=meet))
        moved = ("angles", "angles", _rotation(offset))
        keys.append(read(moved, ("beginning", "sink", sharp * (len(PERIODS) - MARGIN / 2)), to=meet))
        values.append(read(("token", "value", 1.0), to=value))
        writes.append(value.map(("value", f"window_{offset}", 1.0), to=stream))
    one = np.tile(meet.vector(sink=root), order)
    weights = _attention(0, queries, keys, values, writes, one)

    # Block 1: head 0 compares its last k tokens with the k tokens before a key; one mismatch costs 2 SINK nats.
    past = ["token", *(f"window_{offset}" for offset in range(1, order))]
    pairs = [(query, f"window_{offset}") for offset, query in enumerate(past, 1)]
    meet = padded(*((key, size) for _, key in pairs), ("sink", 1))
    match = 2 * SINK
    sink = match * order + (-SINK if beta is None else np.log(size * beta))
    query = read(*((query, key, match * root) for query, key in pairs), to=meet)
    key = read(*((key, key, 1.0) for _, key in pairs), ("beginning", "sink", sink), to=meet)
    copied = read(("token", "value", 1.0), ("beginning", "value", 1 / size), to=value)
    idle = [np.zeros((width, d))] * (order - 1)
    write = [value.map(("value", "prediction", 1.0), to=stream), *(matrix.T for matrix in idle)]
    one = np.concatenate([meet.vector(sink=root), np.zeros(d - width)])
    weights |= _attention(1, [query, *idle], [key, *idle], [copied, *idle], write, one)

    # The MLP of block 1: log p = constant + Σ_u scale_u GELU(slope_u p + bias_u), the same units for every symbol.
    slopes, biases, scales, constant = logarithm(asked.length, size, beta)
    inner = np.kron(read(("prediction", "symbol", 1.0), to=Stream(symbol=size)), slopes[:, None])
    outer = np.kron(stream.readout("logarithm"), scales[:, None])
    ends = np.tile(biases, size), stream.vector(logarithm=constant)
    for block, on in enumerate((0.0, 1.0)):  # block 0 needs no MLP
        mlp = {"c_fc.weight": inner.T, "c_fc.bias": ends[0], "c_proj.weight": outer, "c_proj.bias": ends[1]}
        weights |= {f"h.{block}.mlp.{name}": on * array for name, array in mlp.items()}

    gain = stream.vector(**{block: np.sqrt(2 * LEVEL**2 / d + 1e-5) for block, _ in stream.blocks})
    gain[stream.place("high")] = gain[stream.place("low")] = 0.0
    for norm in ("h.0.ln_1", "h.0.ln_2", "h.1.ln_1", "h.1.ln_2", "ln_f"):
        weights |= {f"{norm}.weight": gain, f"{norm}.bias": np.zeros(d)}
    weights["ln_f.bias"] = stream.vector(high=1.0)  # a constant, for the logit of the beginning token
    begin = stream.vector(beginning=1.0, high=LEVEL, low=-LEVEL)
    weights["wte.weight"] = np.vstack([stream.embedding(high=LEVEL, low=-LEVEL), begin])
    places = np.arange(asked.length + 1)
    weights["wpe.weight"] = stream.rows(len(places), angles=_angles(places) * (places > 0)[:, None])
    head = np.vstack([read(("logarithm", "symbol", 1.0), to=Stream(symbol=size)), stream.vector(high=NEVER)])
    named = {f"transformer.{name}": array for name, array in weights.items()} | {"lm_head.weight": head}
    return {name: np.ascontiguousarray(array, np.float32) for name, array in named.items()}


def _attention(
    block: int, queries: list[Array], keys: list[Array], values: list[Array], writes: list[Array], one: Array
) -> Weights:
    """The attention of a block; `one` is the bias of the queries, which acts on the key of the beginning token."""
    joined = np.vstack([*queries, *keys, *values]).T
    projection = np.hstack(writes).T
    found = {"c_attn.weight": joined, "c_attn.bias": np.concatenate([one, np.zeros(2 * len(one))])}
    found |= {"c_proj.weight": projection, "c_proj.bias": np.zeros(len(one))}
    return {f"h.{block}.attn.{name}": array for name, array in found.items()}


def _angles(places: Int[np.ndarray, "rows"]) -> Float[np.ndarray, "rows angles"]:
    """Positions as points on a circle for each period."""
    turns = 2 * np.pi * places[:, None] / np.array(PERIODS)
    return np.stack([np.cos(turns), np.sin(turns)], axis=2).reshape(len(places), -1)


def _rotation(offset: int) -> Float[np.ndarray, "angles angles"]:
    """The matrix that maps the angles of position i to those of i + offset."""
    matrix = np.zeros((2 * len(PERIODS), 2 * len(PERIODS)))
    for place, (cosine, sine) in enumerate(_angles(np.array([offset])).reshape(-1, 2)):
        matrix[2 * place : 2 * place + 2, 2 * place : 2 * place + 2] = [[cosine, -sine], [sine, cosine]]
    return matrix


def gelu(x: Array) -> Array:
    """GPT-2's GELU, by the hyperbolic tangent."""
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def logarithm(length: int, size: int, beta: float | None = None) -> tuple[Array, Array, Array, float]:
    """Slopes, biases and scales of hidden units, and a constant, whose sum is log p for every p that can occur.

    The softmax multiplies an error of log p by p, so knots are evenly spaced in √p. For the k-gram one more unit is
    active only at p = 0, which it maps to `LOG_ZERO`.

    >>> slopes, biases, scales, constant = logarithm(64, 2)
    >>> p = np.array([0.0, 1 / 64, 0.5, 1.0])
    >>> (gelu(p[:, None] * slopes + biases) @ scales + constant).round(2).tolist()
    [-16.0, -4.16, -0.69, 0.0]
    """
    least = min(1 / length, 1 / size) if beta is None else beta / (length + size * beta)
    knots = np.concatenate([[least / 2], np.linspace(np.sqrt(least), 1, KNOTS) ** 2])
    slopes = 1 / (WIDTH * np.gradient(knots))
    biases = -slopes * knots
    p = np.linspace(np.sqrt(least), 1, 40 * KNOTS) ** 2
    features = np.column_stack([gelu(p[:, None] * slopes + biases), np.ones_like(p)])
    weight = p**0.75
    fit = np.linalg.lstsq(features * weight[:, None], np.log(p) * weight, rcond=1e-12)[0]
    scales, constant = fit[:-1], float(fit[-1])
    if beta is not None:
        return slopes, biases, scales, constant
    drop = gelu(biases) @ scales + constant - LOG_ZERO
    # GELU(6), which is 6, at p = 0; GELU(-6), which is 0 in float32, at the least p
    return np.append(slopes, -12 / least), np.append(biases, 6.0), np.append(scales, -drop / 6), constant


def run(made: GPT2, tokens: Int[np.ndarray, "rows"]) -> tuple[Array, Array]:
    """Logits (rows, vocabulary) and attention (blocks, heads, rows, rows) of a GPT-2, in NumPy's float32."""
    weights = {name.removeprefix("transformer."): array for name, array in made.weights.items()}
    heads, rows = made.config["n_head"], len(tokens)

    def norm(x: Array, name: str) -> Array:
        centred = x - x.mean(axis=1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=1, keepdims=True) + np.float32(made.config["layer_norm_epsilon"]))
        return centred / scale * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def linear(x: Array, name: str) -> Array:
        return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]

    x = weights["wte.weight"][tokens] + weights["wpe.weight"][:rows]
    patterns = []
    for block in range(made.config["n_layer"]):
        joined = linear(norm(x, f"h.{block}.ln_1"), f"h.{block}.attn.c_attn")
        queries, keys, values = joined.reshape(rows, 3, heads, -1).transpose(1, 2, 0, 3)
        scores = queries @ keys.transpose(0, 2, 1) / np.sqrt(np.float32(keys.shape[2]))
        scores = np.where(np.tri(rows, dtype=bool), scores, -np.inf)
        pattern = np.exp(scores - scores.max(axis=2, keepdims=True))
        pattern /= pattern.sum(axis=2, keepdims=True)
        patterns.append(pattern)
        x = x + linear((pattern @ values).transpose(1, 0, 2).reshape(rows, -1), f"h.{block}.attn.c_proj")
        hidden = gelu(linear(norm(x, f"h.{block}.ln_2"), f"h.{block}.mlp.c_fc"))
        x = x + linear(hidden, f"h.{block}.mlp.c_proj")
    return norm(x, "ln_f") @ weights["lm_head.weight"].T, np.stack(patterns)


def measure(made: GPT2, *, sequences: int = 8, seed: int = 0) -> dict[str, Any]:
    """The largest errors on hard sequences: of predictions, and of the attention of every head against the ideal."""
    asked, size = made.truth, made.truth["alphabet_size"]
    order, beta, length = asked["order"], asked["beta"], asked["length"]
    hard = hard_sequences(count=sequences, length=length, alphabet_size=size, order=order, seed=seed)
    errors = {"prediction_error": 0.0, "unseen_error": 0.0, "induction_error": 0.0, "offset_error": 0.0}
    for tokens in hard:
        logits, attention = run(made, np.concatenate([[size], tokens]))
        logits = logits[1:].astype(np.float64)
        probabilities = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        exact = StreamingEstimator(order, size, asked["estimator"], beta=beta or 1.0).distributions(tokens)
        seen = ~np.isnan(exact[:, 0])
        wrong = np.abs(probabilities[:, :size] - np.where(seen[:, None], exact, 1 / size)).max(axis=1)
        ideal = ideal_attention(tokens, order, size, beta)
        found = {
            "prediction_error": wrong[seen],
            "unseen_error": wrong[~seen],
            "induction_error": np.abs(attention[1, 0, 1:] - ideal[-1]),
            "offset_error": np.abs(attention[0, :, 1:] - ideal[:-1]),
        }
        errors = {name: max(value, float(found[name].max(initial=0))) for name, value in errors.items()}
    about = {"sequences": sequences, "seed": seed, "dtype": "float32", "arithmetic": "NumPy"}
    return {name: float(f"{error:.2g}") for name, error in errors.items()} | about


def ideal_attention(
    tokens: Int[np.ndarray, "length"], order: int, size: int, beta: float | None
) -> Float[np.ndarray, "heads length rows"]:
    """Attention after every token: of the head of each offset, then of the induction head; row 0 is the beginning."""
    length = len(tokens)
    places = np.arange(1, length + 1)
    offsets = [np.maximum(places - offset, 0) for offset in range(1, order + 1)]
    copies = [np.eye(length + 1)[place] for place in offsets]
    matches = np.pad(np.asarray(window_matches(np.asarray(tokens), order), np.float64), ((0, 0), (1, 0)))
    matches[:, 0] = matches.sum(axis=1) == 0 if beta is None else size * beta
    return np.stack([*copies, matches / matches.sum(axis=1, keepdims=True)])


def _config(asked: Request, stream: Stream, width: int, inner: int) -> dict[str, Any]:
    size = asked.alphabet_size
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": size + 1,
        "n_positions": asked.length + 1,
        "n_embd": stream.dimension,
        "n_layer": 2,
        "n_head": stream.dimension // width,
        "n_inner": inner,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        **dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0.0),
        "bos_token_id": size,
        "eos_token_id": None,
        "tie_word_embeddings": False,
        "dtype": "float32",
    }


def _truth(name: str, asked: Request, beta: float | None, stream: Stream) -> dict[str, Any]:
    """The ground truth for scoring interpretability tools: the role of each head, and the contents of the stream."""
    order, offsets = asked.order, range(1, asked.order + 1)
    blocks = {block: stream.place(block) for block, _ in stream.blocks}
    meaning: dict[str, dict[str, str | None]] = {
        block: {"holds": text, "written_by": writer}
        for block, text, writer in (
            ("token", "the token at this position, one-hot", "embedding"),
            ("beginning", "1 at the beginning token", "embedding"),
            ("angles", f"cosine and sine of 2π·position/P for P in {PERIODS}; 0 at position 0", "positions"),
            *((f"window_{j}", f"the token {j} before this position, one-hot", f"head 0.{j - 1}") for j in offsets),
            ("prediction", "the distribution of the next token", "head 1.0"),
            ("logarithm", "the logarithm of the prediction", "MLP 1"),
            ("high", f"the constant {LEVEL:g}, which makes layer norms linear", "embedding"),
            ("low", f"the constant {-LEVEL:g}", "embedding"),
            ("zero", "0", None),
        )
    }
    copying = [
        {"layer": 0, "head": offset - 1, "kind": "offset", "offset": offset, "reads": "token"}
        | {"writes": f"window_{offset}", "otherwise": "position 0"}
        for offset in offsets
    ]
    past = ["token", *(f"window_{offset}" for offset in range(1, order))]
    compared = [
        {"query": query, "query_offset": offset - 1, "key": f"window_{offset}", "key_offset": offset}
        for offset, query in enumerate(past, 1)
    ]
    induction = {"layer": 1, "head": 0, "kind": "induction", "order": order, "compares": compared}
    induction |= {"reads": "token", "writes": "prediction", "otherwise": "position 0"}
    idle = [{"layer": 1, "head": head, "kind": "idle"} for head in range(1, order)]
    return {
        "format": "anyorder ground truth 1",
        "construction": name,
        "estimator": HELD[name],
        "order": order,
        "alphabet_size": asked.alphabet_size,
        "length": asked.length,
        "beta": beta,
        "bos_token_id": asked.alphabet_size,
        "unseen_context": "uniform",
        "heads": [*copying, induction, *idle],
        "mlps": [
            {"layer": 0, "kind": "idle"},
            {"layer": 1, "kind": "logarithm", "reads": "prediction", "writes": "logarithm"},
        ],
        "stream": {
            block: {"coordinates": list(range(place.start, place.stop)), **meaning[block]}
            for block, place in blocks.items()
        },
    }


def card(made: GPT2) -> str:
    """The model card: how to load it, its mechanism, what was measured, and what GPT-2 cannot do exactly."""
    truth, found = made.truth, made.truth["measured"]
    order, size, length, beta = (truth[name] for name in ("order", "alphabet_size", "length", "beta"))
    target = f"the k-gram of order {order}" if beta is None else f"add-β smoothing of order {order} with β = {beta:g}"
    ideal = "equal weight on every match" if beta is None else "1 on every match, Sβ on position 0, normalised"
    rows = {
        f"probability of the next token, against {target}": "prediction_error",
        "the same where the context has not occurred, against 1/S": "unseen_error",
        f"attention of head 1.0, against {ideal}": "induction_error",
        "attention of the offset heads, against all weight on one token": "offset_error",
    }
    table = "\n".join(f"| {label} | {found[name]:.1e} |" for label, name in rows.items())
    zero = "- Probabilities of zero are about 1e-7, since a softmax gives no zeros.\n" if beta is None else ""
    return f"""---
library_name: transformers
tags: [interpretability, ground-truth, induction-heads, markov-chains]
---
# {truth["construction"]}, order {order}, {size} symbols, in GPT-2

A GPT-2 whose weights are written down: it predicts by {target}, from the sequence itself. Symbol s is token id s;
every sequence begins with the token id {size} and has at most {length} symbols after it.

```py
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("THIS FOLDER", attn_implementation="eager")
```

Head 0.j copies the token j + 1 positions back, for j = 0 … {order - 1}. Head 1.0 compares the last {order} tokens with
the {order} before every earlier token and copies the tokens that followed a match. MLP 1 takes logarithms. All other
parts are zero. `ground_truth.json` has the coordinates of the residual stream and the offsets that are compared.

Largest errors on {found["sequences"]} hard sequences of {length} symbols (random, periodic, sparse, de Bruijn; seed
{found["seed"]}) in float32, computed with NumPy:

| | error |
|---|---|
{table}

What GPT-2 cannot do exactly:

{zero}- The MLP approximates the logarithm with {KNOTS + 1} GELUs per symbol.
- A layer norm is linear only up to rounding: two coordinates of ±{LEVEL:g} keep its scale constant.
- Nothing is promised in 16 bits, without the beginning token, or beyond {length} symbols.

Made with anyorder: `{command(truth)}`
"""


def command(truth: dict[str, Any]) -> str:
    """The command that exports the model again."""
    beta = "" if truth["beta"] is None else f" --beta {truth['beta']:g}"
    asked = f"--order {truth['order']} --alphabet-size {truth['alphabet_size']} --length {truth['length']}{beta}"
    return f"anyorder export {truth['construction']} {asked} --to gpt2 --out DIR"
