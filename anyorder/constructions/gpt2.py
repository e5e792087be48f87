"""`k-head` in stock GPT-2: a Hugging Face folder whose mechanism is known, written and measured without PyTorch."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from safetensors.numpy import save

from anyorder.constructions.certificate import Request
from anyorder.constructions.construction import Construction
from anyorder.constructions.gpt2_weights import KNOTS, LEVEL, PERIODS, Array, Weights, gelu, layout, weights_of
from anyorder.constructions.hard_sequences import hard_sequences
from anyorder.constructions.registry import find, plan
from anyorder.constructions.stream import Stream
from anyorder.errors import InputError, require
from anyorder.estimators.matching import window_matches
from anyorder.estimators.streaming import StreamingEstimator
from anyorder.io.atomic import holds, interrupted, locked, whole_file, write_json, write_text
from anyorder.io.gates import check_memory, gated

#: Files of an export, except the last.
_PARTS = ("model.safetensors", "config.json", "README.md")
#: Largest error of a probability for a model to be written.
TOLERANCE = 1e-3
#: Longest sequence and order of an export: positions are known modulo four periods.
LONGEST, LARGEST_ORDER = 256, 8
#: Most hard sequences on which the errors in a card are measured.
MOST_SEQUENCES = 4096
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
    sequences, seed: the hard sequences on which the errors in the card are measured.

    >>> import tempfile
    >>> made = export("k-head", Path(tempfile.mkdtemp()) / "gpt2", order=2, alphabet_size=3, length=32)
    >>> made.truth["measured"]["prediction_error"] < 2e-4
    True
    """
    require(
        1 <= sequences <= MOST_SEQUENCES,
        f"sequences is {sequences}, must be 1 to {MOST_SEQUENCES}; 8 shows every kind twice",
    )
    # Without the last file they are from an interrupted export, or of another model.
    done = holds(folder, "ground_truth.json", own=_PARTS if interrupted(folder) else ())
    if done and interrupted(folder):  # it became read-only before the lock file was removed
        with locked(folder):
            pass
    require(not done, f"{folder} already contains an export; choose another folder")
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
    weights = weights_of(made.request, smoothing, stream, width)
    return GPT2(config, weights, _truth(entry.name, made.request, smoothing, stream))


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
    """Ground truth for scoring interpretability tools: the role of each head, and the contents of the stream."""
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


def card(made: GPT2) -> str:
    """The model card: how to load it, its mechanism, the measured errors, and the limits of GPT-2."""
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

A GPT-2 with explicit, untrained weights: it predicts in context by {target}. Symbol s is token id s;
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

GPT-2 is inexact in these respects:

{zero}- The MLP approximates the logarithm with {KNOTS + 1} GELUs per symbol.
- A layer norm is linear only up to rounding: two coordinates of ±{LEVEL:g} keep its scale constant.
- There is no guarantee in 16 bits, without the beginning token, or beyond {length} symbols.

Made with anyorder: `{command(truth)}`
"""


def command(truth: dict[str, Any]) -> str:
    """The command that exports the model again."""
    beta = "" if truth["beta"] is None else f" --beta {truth['beta']:g}"
    asked = f"--order {truth['order']} --alphabet-size {truth['alphabet_size']} --length {truth['length']}{beta}"
    return f"anyorder export {truth['construction']} {asked} --to gpt2 --out DIR"
