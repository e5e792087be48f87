"""GGUF files through transformers, against a forward pass written position by position, and hostile headers."""

import struct

import numpy as np
import pytest

gguf = pytest.importorskip("gguf")
pytest.importorskip("transformers")

from anyorder.errors import InputError
from anyorder.probing import Settings, probe
from anyorder.probing.adapters.gguf import GGUFModel, read_header

D, HEADS, KEY_HEADS, WIDTH, HIDDEN, LAYERS, WORDS = 16, 4, 2, 4, 24, 2, 30


SIZES = {
    "block_count": LAYERS, "embedding_length": D, "feed_forward_length": HIDDEN, "context_length": 64,
    "vocab_size": WORDS, "head_count": HEADS, "head_count_kv": KEY_HEADS, "rope_dimension_count": WIDTH,
    "rope_freq_base": 100.0, "layer_norm_rms_eps": 1e-5,
}  # fmt: skip


def write(path, architecture="llama", left_out=(), other=None, **sizes):
    generator = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, architecture)
    for name, value in (SIZES | sizes).items():
        getattr(writer, f"add_{name}")(value)
    writer.add_bos_token_id(1)
    writer.add_token_list([f"w{word}" for word in range(WORDS)])
    writer.add_token_types([3, 3, *[1] * (WORDS - 2)])
    shapes = {
        "attn_q": (HEADS * WIDTH, D), "attn_k": (KEY_HEADS * WIDTH, D), "attn_v": (KEY_HEADS * WIDTH, D),
        "attn_output": (D, HEADS * WIDTH), "ffn_gate": (HIDDEN, D), "ffn_up": (HIDDEN, D), "ffn_down": (D, HIDDEN),
        "attn_norm": (D,), "ffn_norm": (D,),
    }  # fmt: skip
    named = {f"blk.{layer}.{name}.weight": shape for layer in range(LAYERS) for name, shape in shapes.items()}
    named |= {"token_embd.weight": (WORDS, D), "output_norm.weight": (D,)}
    named |= other or {}
    weights = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in named.items()}
    for name, array in weights.items():
        if name not in left_out:
            writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return weights


def rms(x, gain):
    return x / np.sqrt((x * x).mean() + 1e-5) * gain


def turned(x, place):
    """Each pair of neighbouring coordinates, turned by the place times its own rate."""
    pairs = x[0::2] + 1j * x[1::2]
    pairs = pairs * np.exp(1j * place * 100.0 ** (-np.arange(WIDTH // 2) / (WIDTH // 2)))
    return np.stack([pairs.real, pairs.imag], axis=1).reshape(-1)


def slow(weights, tokens):
    """Attention (layers, heads, T, T) and logits (T, words), in float64 and plain loops."""
    stream = [weights["token_embd.weight"][token].astype(float) for token in tokens]
    maps = np.zeros((LAYERS, HEADS, len(tokens), len(tokens)))
    for layer in range(LAYERS):
        part = {name.split(".")[2]: value for name, value in weights.items() if name.startswith(f"blk.{layer}.")}
        read = [rms(x, part["attn_norm"]) for x in stream]
        after = []
        for n, x in enumerate(stream):
            mixed = []
            for head in range(HEADS):
                rows = slice(head * WIDTH, (head + 1) * WIDTH)
                group = slice(head // 2 * WIDTH, (head // 2 + 1) * WIDTH)
                query = turned(part["attn_q"][rows] @ read[n], n)
                scores = [query @ turned(part["attn_k"][group] @ read[i], i) / 2 for i in range(n + 1)]
                weight = np.exp(scores - np.max(scores))
                weight /= weight.sum()
                maps[layer, head, n, : n + 1] = weight
                mixed.append(sum(w * (part["attn_v"][group] @ read[i]) for i, w in enumerate(weight)))
            after.append(x + part["attn_output"] @ np.concatenate(mixed))
        stream = []
        for x in after:
            inner = rms(x, part["ffn_norm"])
            gate = part["ffn_gate"] @ inner
            stream.append(x + part["ffn_down"] @ (gate / (1 + np.exp(-gate)) * (part["ffn_up"] @ inner)))
    return maps, np.stack([weights["token_embd.weight"] @ rms(x, weights["output_norm.weight"]) for x in stream])


def test_the_forward_pass_is_that_of_plain_loops(tmp_path):
    weights = write(tmp_path / "m.gguf")
    model, tokens = GGUFModel(tmp_path / "m.gguf"), np.array([1, 5, 9, 5, 9, 20])
    maps, logits = slow(weights, tokens)
    look = model.run(tokens, layers=[1])
    assert set(look.attention) == {1}
    np.testing.assert_allclose(look.attention[1], maps[1], atol=2e-4)
    expected = logits - np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True))
    np.testing.assert_allclose(look.log_probabilities, expected - logits.max(1, keepdims=True), atol=2e-3)
    assert (model.start, model.heads, model.ids.min()) == (1, (4, 4), 2)


def test_without_any_head_only_the_last_token_counts(tmp_path):
    write(tmp_path / "m.gguf")
    model = GGUFModel(tmp_path / "m.gguf")
    every = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
    left, right = (model.run(np.array(tokens), off=every).log_probabilities[-1] for tokens in ([1, 5, 9], [1, 7, 9]))
    np.testing.assert_allclose(left, right, atol=1e-5)


def test_an_unknown_architecture_and_missing_weights_are_refused_in_one_line(tmp_path):
    write(tmp_path / "other.gguf", architecture="unheard-of")
    with pytest.raises(InputError, match=r"other\.gguf is not a causal language model"):
        GGUFModel(tmp_path / "other.gguf")
    write(tmp_path / "part.gguf", left_out=("blk.1.attn_k.weight",))
    with pytest.raises(
        InputError, match=r"^part\.gguf lacks 1 weights, such as model\.layers\.1\.self_attn\.k_proj\.weight"
    ):
        GGUFModel(tmp_path / "part.gguf")


@pytest.mark.parametrize(
    "sizes",
    [
        {"head_count": 0}, {"head_count": 3}, {"head_count": 2**31}, {"head_count": 5, "head_count_kv": 5},
        {"head_count_kv": 3}, {"head_count_kv": 0}, {"head_count_kv": 8}, {"block_count": 0}, {"block_count": 3},
        {"block_count": 10**6}, {"block_count": 2**31}, {"embedding_length": 1}, {"embedding_length": 17},
        {"embedding_length": 2**31}, {"feed_forward_length": 7}, {"feed_forward_length": 2**31}, {"vocab_size": 0},
        {"vocab_size": 10}, {"vocab_size": 2**31}, {"context_length": 2**31}, {"rope_dimension_count": 1000},
        {"rope_dimension_count": 0}, {"rope_dimension_count": 3}, {"rope_freq_base": float("nan")},
        {"rope_freq_base": 0.0}, {"layer_norm_rms_eps": float("nan")}, {"architecture": "gpt2"},
        {"architecture": "mamba"}, {"architecture": "t5"}, {"architecture": "a\nb"},
        {"other": {"blk.0.attn_q.weight": (8, D)}}, {"other": {"blk.0.attn_q.weight": (D,)}},
        {"other": {"blk.0.attn_q.weight": (2, 8, D)}}, {"other": {"token_embd.weight": (WORDS, 8)}},
        {"other": {"output_norm.weight": (8,)}}, {"left_out": ("token_embd.weight",)},
    ],
    ids=str,
)  # fmt: skip
def test_sizes_that_do_not_fit_together_are_one_line(tmp_path, sizes):
    write(tmp_path / "m.gguf", **sizes)
    with pytest.raises(InputError) as refused:
        probe(GGUFModel(tmp_path / "m.gguf"), Settings(sequences=6, length=40, max_length=3))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("length", [0, 3, 4, 12, 24, 200, 1000])
def test_a_file_that_is_cut_off_is_refused(tmp_path, length):
    write(tmp_path / "m.gguf")
    (tmp_path / "cut.gguf").write_bytes((tmp_path / "m.gguf").read_bytes()[:length])
    with pytest.raises(InputError, match="not a complete GGUF file"):
        read_header(tmp_path / "cut.gguf")


@pytest.mark.parametrize("kind", [4, 8, 9, 77])
def test_lengths_beyond_the_file_are_refused_before_anything_is_read(tmp_path, kind):
    array = struct.pack("<IIQ", 9, kind, 2**60)
    (tmp_path / "m.gguf").write_bytes(b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"a" + array)
    with pytest.raises(InputError, match="GGUF file: "):
        read_header(tmp_path / "m.gguf")
    (tmp_path / "n.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 2**60, 2**60))
    with pytest.raises(InputError, match="not a complete GGUF file"):
        read_header(tmp_path / "n.gguf")
