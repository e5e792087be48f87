"""Language models of the Llama kind in GGUF files: the forward pass in JAX, with attention kept and heads switched off.

RMS norm, rotary positions, grouped keys and values, SwiGLU. Two things differ from other files of the same models:
the rows of W_Q and W_K are stored for *interleaved* rotary pairs (coordinates 2j and 2j + 1 turn together, where
Hugging Face turns j and j + width/2), and quantised matrices are expanded to float32 when the file is opened.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder.errors import InputError, require
from anyorder.probing.protocol import Look, Place

if TYPE_CHECKING:
    from gguf import GGUFReader

ARCHITECTURES = ("llama",)
#: Fields that are read; others, such as the merges of the tokenizer, are long.
_PREFIXES = ("general.architecture", "general.name", "llama.", "tokenizer.ggml.bos", "tokenizer.ggml.token")
#: Kinds of tokens that stand for text; the others are control tokens and bytes.
NORMAL = 1
_MATRICES = {
    "query": "attn_q", "key": "attn_k", "value": "attn_v", "projection": "attn_output", "gate": "ffn_gate",
    "up": "ffn_up", "down": "ffn_down", "attention_norm": "attn_norm", "mlp_norm": "ffn_norm",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Shape:
    """The numbers of a model that are no weights."""

    layers: int
    heads: int
    key_heads: int
    rotated: int
    base: float
    epsilon: float


class GGUFModel:
    """A model file; `run` gives predictions and attention on one sequence of token ids."""

    def __init__(self, path: str | Path) -> None:
        reader = _open(path)
        fields = {name: field.contents() for name, field in reader.fields.items() if name.startswith(_PREFIXES)}
        kind = fields.get("general.architecture")
        require(
            kind in ARCHITECTURES,
            f"{path} has architecture {kind!r}, the forward pass here knows {', '.join(ARCHITECTURES)}; "
            "convert the model to a Hugging Face folder and probe that",
        )
        try:
            heads = fields["llama.attention.head_count"]
            self.shape = Shape(
                layers=fields["llama.block_count"],
                heads=heads,
                key_heads=fields.get("llama.attention.head_count_kv", heads),
                rotated=fields.get("llama.rope.dimension_count", fields["llama.embedding_length"] // heads),
                base=float(fields.get("llama.rope.freq_base", 10_000.0)),
                epsilon=float(fields["llama.attention.layer_norm_rms_epsilon"]),
            )
            self.weights = _weights(reader, self.shape.layers)
        except KeyError as error:
            raise InputError(f"{path} has no {error.args[0]}; it is not a whole Llama model, get it again") from None
        require(
            "rope_freqs.weight" not in {tensor.name for tensor in reader.tensors}
            and fields.get("llama.rope.scaling.type", "none") == "none"
            and not fields.get("llama.expert_count", 0),
            f"{path} scales its rotary positions or has experts, which the forward pass here does not know; "
            "convert the model to a Hugging Face folder and probe that",
        )
        self.name = str(fields.get("general.name", Path(path).stem))
        self.heads = (self.shape.heads,) * self.shape.layers
        self.start = fields.get("tokenizer.ggml.bos_token_id")
        self.tokens: list[str] = fields.get("tokenizer.ggml.tokens", [])
        kinds, size = fields.get("tokenizer.ggml.token_type"), len(self.weights["embedding"])
        self.ids = np.arange(size) if kinds is None else np.flatnonzero(np.asarray(kinds) == NORMAL)
        self.about: dict[str, object] = {"bits": _bits(reader), "tensors": len(reader.tensors)}

    def run(self, tokens: Int[np.ndarray, "rows"], *, layers: Sequence[int] = (), off: Sequence[Place] = ()) -> Look:
        """Log-probabilities after every token, and the attention of the layers that are named."""
        mask = np.ones((self.shape.layers, self.shape.heads), np.float32)
        for layer, head in off:
            mask[layer, head] = 0.0
        keep = tuple(sorted(set(layers)))
        logits, maps = _forward(self.weights, self.shape, keep, jnp.asarray(tokens, jnp.int32), jnp.asarray(mask))
        return Look(np.asarray(logits), {layer: np.asarray(maps[place]) for place, layer in enumerate(keep)})


def _open(path: str | Path) -> GGUFReader:
    try:
        import gguf
    except ImportError:
        raise InputError("GGUF files need the package gguf; install anyorder[gguf]") from None
    try:
        return gguf.GGUFReader(str(path))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; give a .gguf file") from None
    except (ValueError, IndexError, KeyError):
        raise InputError(f"{path} is not a whole GGUF file; get it again") from None


def _weights(reader: GGUFReader, layers: int) -> dict[str, Float[Array, "..."]]:
    """Every matrix as float32; those of the blocks stacked, a row for each layer."""
    from gguf import dequantize

    stored = {tensor.name: tensor for tensor in reader.tensors}

    def read(name: str) -> np.ndarray:
        tensor = stored[name]
        return np.asarray(dequantize(tensor.data, tensor.tensor_type), np.float32).reshape(tensor.shape[::-1])

    weights = {
        ours: jnp.asarray(np.stack([read(f"blk.{layer}.{theirs}.weight") for layer in range(layers)]))
        for ours, theirs in _MATRICES.items()
    }
    weights["embedding"] = jnp.asarray(read("token_embd.weight"))
    weights["norm"] = jnp.asarray(read("output_norm.weight"))
    if "output.weight" in stored:  # otherwise tied to the embedding
        weights["output"] = jnp.asarray(read("output.weight"))
    return weights


def _bits(reader: GGUFReader) -> str:
    """The storage types of the matrices, by how many numbers they hold."""
    sizes: Counter[str] = Counter()
    for tensor in reader.tensors:
        sizes[tensor.tensor_type.name] += int(tensor.n_elements)
    return ", ".join(name for name, _ in sizes.most_common())


@partial(jax.jit, static_argnums=(1, 2))
def _forward(
    weights: dict[str, Array],
    shape: Shape,
    keep: tuple[int, ...],
    tokens: Int[Array, "length"],
    mask: Float[Array, "layers heads"],
) -> tuple[Float[Array, "length vocabulary"], Float[Array, "kept heads length length"]]:
    blocks = {name: weights[name] for name in _MATRICES}
    causal = jnp.tri(len(tokens), dtype=bool)
    slots = np.full(shape.layers, len(keep), np.int32)  # the last slot takes what is not kept
    slots[list(keep)] = np.arange(len(keep))
    group = shape.heads // shape.key_heads

    def layer(
        carry: tuple[Array, Array], item: tuple[dict[str, Array], Array, Array]
    ) -> tuple[tuple[Array, Array], None]:
        (x, maps), (block, mask, slot) = carry, item
        read = _rms(x, block["attention_norm"], shape.epsilon)
        query = _rotate((read @ block["query"].T).reshape(len(x), shape.heads, -1), shape)
        key = _rotate((read @ block["key"].T).reshape(len(x), shape.key_heads, -1), shape)
        value = (read @ block["value"].T).reshape(len(x), shape.key_heads, -1)
        query = query.reshape(len(x), shape.key_heads, group, -1)
        scores = jnp.einsum("nhgd,ihd->hgni", query, key) / jnp.sqrt(jnp.float32(query.shape[-1]))
        attention = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), axis=-1)
        mixed = jnp.einsum("hgni,ihd->nhgd", attention, value).reshape(len(x), shape.heads, -1) * mask[:, None]
        x = x + mixed.reshape(len(x), -1) @ block["projection"].T
        read = _rms(x, block["mlp_norm"], shape.epsilon)
        x = x + (jax.nn.silu(read @ block["gate"].T) * (read @ block["up"].T)) @ block["down"].T
        return (x, maps.at[slot].set(attention.reshape(shape.heads, len(x), -1))), None

    x = weights["embedding"][tokens]
    maps = jnp.zeros((len(keep) + 1, shape.heads, len(tokens), len(tokens)), jnp.float32)
    (x, maps), _ = jax.lax.scan(layer, (x, maps), (blocks, mask, jnp.asarray(slots)))
    x = _rms(x, weights["norm"], shape.epsilon)
    logits = x @ weights.get("output", weights["embedding"]).T
    return jax.nn.log_softmax(logits, axis=-1), maps[: len(keep)]


def _rms(x: Float[Array, "length d"], gain: Float[Array, "d"], epsilon: float) -> Float[Array, "length d"]:
    mean = jnp.mean(jnp.square(x), axis=-1, keepdims=True)
    return x * jax.lax.rsqrt(mean + jnp.float32(epsilon)) * gain


def _rotate(x: Float[Array, "length heads width"], shape: Shape) -> Float[Array, "length heads width"]:
    """Rotary positions on interleaved pairs of coordinates."""
    half = shape.rotated // 2
    rates = shape.base ** (-np.arange(half) / half)
    angles = jnp.asarray(np.arange(len(x))[:, None] * rates, jnp.float32)[:, None]
    cosine, sine = jnp.cos(angles), jnp.sin(angles)
    even, odd = x[..., 0 : shape.rotated : 2], x[..., 1 : shape.rotated : 2]
    turned = jnp.stack([even * cosine - odd * sine, even * sine + odd * cosine], axis=-1)
    return jnp.concatenate([turned.reshape(*x.shape[:-1], shape.rotated), x[..., shape.rotated :]], axis=-1)
