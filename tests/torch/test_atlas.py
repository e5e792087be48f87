"""The converter of the llama2.c format, against a forward pass of our own, and models that are missing or damaged."""

import struct

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from benchmarks import atlas

WIDTH, HIDDEN, LAYERS, HEADS, GROUPS, WORDS, LENGTH = 16, 24, 2, 4, 2, 11, 32
SIZE = WIDTH // HEADS
SHAPES = {
    "embedding": (WORDS, WIDTH), "norm1": (LAYERS, WIDTH), "q": (LAYERS, WIDTH, WIDTH),
    "k": (LAYERS, GROUPS * SIZE, WIDTH), "v": (LAYERS, GROUPS * SIZE, WIDTH), "o": (LAYERS, WIDTH, WIDTH),
    "norm2": (LAYERS, WIDTH), "w1": (LAYERS, HIDDEN, WIDTH), "w2": (LAYERS, WIDTH, HIDDEN),
    "w3": (LAYERS, HIDDEN, WIDTH), "norm": (WIDTH,),
}  # fmt: skip


def forward(weights, tokens):
    """Logits and attention by layer, as llama2.c computes them: coordinates 2j and 2j + 1 of a head turn together."""

    def norm(x, gain):
        return gain * x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5)

    def turned(x):  # (rows, heads, size)
        angle = np.arange(len(x))[:, None, None] * 10000.0 ** (-2 * np.arange(SIZE // 2) / SIZE)
        pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angle)
        return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)

    x, maps = weights["embedding"][tokens], []
    for layer in range(LAYERS):
        w = {name: weights[name][layer] for name in ("norm1", "q", "k", "v", "o", "norm2", "w1", "w2", "w3")}
        read = norm(x, w["norm1"])
        queries = turned((read @ w["q"].T).reshape(len(x), HEADS, SIZE))
        keys = turned((read @ w["k"].T).reshape(len(x), GROUPS, SIZE)).repeat(HEADS // GROUPS, axis=1)
        values = (read @ w["v"].T).reshape(len(x), GROUPS, SIZE).repeat(HEADS // GROUPS, axis=1)
        scores = np.einsum("nhd,ihd->hni", queries, keys) / SIZE**0.5
        maps.append(np.tril(np.exp(scores)) / np.tril(np.exp(scores)).sum(axis=-1, keepdims=True))
        x = x + np.einsum("hni,ihd->nhd", maps[-1], values).reshape(len(x), WIDTH) @ w["o"].T
        read = norm(x, w["norm2"])
        gate = read @ w["w1"].T
        x = x + (gate / (1 + np.exp(-gate)) * (read @ w["w3"].T)) @ w["w2"].T
    return norm(x, weights["norm"]) @ weights["embedding"].T, maps


def test_the_converted_model_computes_what_the_format_means(tmp_path):
    generator = np.random.default_rng(0)
    weights = {name: (0.5 * generator.standard_normal(shape)).astype(np.float32) for name, shape in SHAPES.items()}
    path = tmp_path / "model.bin"
    header = struct.pack("<7i", WIDTH, HIDDEN, LAYERS, HEADS, GROUPS, WORDS, LENGTH)
    path.write_bytes(header + b"".join(part.tobytes() for part in weights.values()) + bytes(4 * LENGTH * SIZE))
    tokens = generator.integers(WORDS, size=9)
    with torch.no_grad():
        out = atlas.llama(path).eval()(torch.as_tensor(tokens)[None], output_attentions=True)
    logits, maps = forward({name: part.astype(np.float64) for name, part in weights.items()}, tokens)
    np.testing.assert_allclose(out.logits[0], logits, atol=1e-4)
    for found, expected in zip(out.attentions, maps, strict=True):
        np.testing.assert_allclose(found[0], expected, atol=1e-5)


def test_a_missing_or_damaged_model_is_skipped_with_a_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(atlas, "ROOT", tmp_path)
    monkeypatch.setattr(atlas, "MODELS", tmp_path / "models")
    entry = atlas.Entry("a/model.gguf", "0" * 64, "someone/a-model", (), 4)
    assert atlas.fetched(entry) is None
    assert "no models/a/model.gguf; get it from someone/a-model" in capsys.readouterr().out
    (tmp_path / "models" / "a").mkdir(parents=True)
    (tmp_path / "models" / "a" / "model.gguf").write_bytes(b"other")
    assert atlas.fetched(entry) is None
    assert "must be 000000000000…; remove it" in capsys.readouterr().out
