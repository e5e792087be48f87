"""A GPT-2 run in NumPy, and its errors on hard sequences: of predictions, and of the attention of every head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from anyorder.constructions.gpt2_weights import Array, gelu
from anyorder.constructions.hard_sequences import hard_sequences
from anyorder.estimators.matching import window_matches
from anyorder.estimators.streaming import StreamingEstimator

if TYPE_CHECKING:
    from anyorder.constructions.gpt2 import GPT2


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
