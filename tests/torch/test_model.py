"""Our model files in PyTorch, against our own forward pass."""

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import anyorder
import anyorder.torch
from anyorder.errors import InputError


@pytest.fixture(scope="module")
def tokens():
    return np.random.default_rng(0).integers(3, size=40)


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("two-layer", 2),
        ("two-head-qk", 2),
        ("k-head", 3),
        ("k-head-bayes", 2),
        ("dyadic", 4),
        ("attention-only", 3),
        ("one-layer", 2),
        ("convolution", 3),
        ("recurrent", 2),
        ("recurrent-bayes", 3),
    ],
)
def test_constructions_agree_to_the_last_bits(tmp_path, tokens, name, order):
    ours = anyorder.construct(name, order=order, alphabet_size=3, length=64)
    anyorder.save(ours, tmp_path / "model.safetensors")
    theirs = anyorder.torch.load(tmp_path / "model.safetensors")
    trace = ours.trace(tokens)
    # Cosines that differ in their last bit, with the order of a sum, are multiplied by kappa.
    last_bits = 4 * np.finfo(np.float64).eps * max(ours.certificate.kappa, 16)
    np.testing.assert_allclose(theirs(tokens).detach().numpy(), trace.probabilities, rtol=0, atol=last_bits)
    for layer, weights in enumerate(theirs.attention(tokens)):
        np.testing.assert_allclose(weights.detach().numpy(), trace.attention[layer], rtol=0, atol=last_bits)


@pytest.mark.parametrize("preset", ["paper", "floor", "published"])
def test_trained_architectures_agree(tmp_path, tokens, preset):
    import dataclasses

    import jax

    from anyorder.training import config as configs
    from anyorder.training.initial import initial_model

    if preset not in configs.PRESETS:
        pytest.skip(f"no preset {preset}")
    config = configs.PRESETS[preset]
    config = dataclasses.replace(
        config,
        data=dataclasses.replace(config.data, alphabet_size=3, length=64),
        optimisation=dataclasses.replace(config.optimisation, dtype="float64"),
    )
    ours = initial_model(config, jax.random.key(1))
    anyorder.save(ours, tmp_path / "model.safetensors")
    theirs = anyorder.torch.load(tmp_path / "model.safetensors")
    np.testing.assert_allclose(theirs(tokens).detach().numpy(), ours(tokens), rtol=0, atol=1e-13)


MIXERS = {
    "mamba": {"mixer": "mamba"},
    "linear attention": {"mixer": "mamba", "decay": "one"},
    "convolution": {"mixer": "convolution"},
    "rotary positions": {"rotary_positions": True, "key_positions": "none"},
    "both": {"mixer": ("mamba", "convolution")},
}


def mixed(name):
    from anyorder.training import preset
    from anyorder.training.initial import initial_model

    changes = {"alphabet_size": 3, "length": 64, "dtype": "float64", "zero_output": False}
    return initial_model(preset(**MIXERS[name], **changes), 1)


@pytest.mark.parametrize("name", MIXERS)
def test_mixers_agree(tmp_path, tokens, name):
    ours = mixed(name)
    anyorder.save(ours, tmp_path / "model.safetensors")
    theirs = anyorder.torch.load(tmp_path / "model.safetensors")
    trace = ours.trace(tokens)
    np.testing.assert_allclose(theirs(tokens).detach().numpy(), trace.probabilities, rtol=0, atol=1e-12)
    for layer, weights in enumerate(theirs.attention(tokens)):
        np.testing.assert_allclose(weights.detach().numpy(), trace.attention[layer], rtol=0, atol=1e-12)


BATCHED = {
    **{name: lambda name=name: anyorder.construct(name, order=2, alphabet_size=3, length=64)
       for name in ("two-head-qk", "k-head-bayes", "one-layer", "convolution", "recurrent-bayes")},
    **{name: lambda name=name: mixed(name) for name in MIXERS},
}  # fmt: skip


@pytest.mark.parametrize("name", BATCHED)
def test_batches_are_their_sequences(tmp_path, name):
    anyorder.save(BATCHED[name](), tmp_path / "model.safetensors")
    model = anyorder.torch.load(tmp_path / "model.safetensors")
    batch = np.random.default_rng(1).integers(3, size=(3, 20))
    each = torch.stack([model(row) for row in batch])
    np.testing.assert_allclose(model(batch).detach(), each.detach(), rtol=0, atol=1e-9)
    for layer, maps in enumerate(model.attention(batch)):
        alone = torch.stack([model.attention(row)[layer] for row in batch])
        np.testing.assert_allclose(maps.detach(), alone.detach(), rtol=0, atol=1e-9)
    model(torch.as_tensor(batch)).sum().backward()


def test_heads_of_plug_ins_are_refused_in_one_line(tmp_path):
    import dataclasses

    class Own(anyorder.models.Head):
        pass

    model = anyorder.construct("bigram", order=1, alphabet_size=2, length=8)
    first, second = model.layers
    own = Own(**{field.name: getattr(first.heads[0], field.name) for field in dataclasses.fields(Own)})
    layers = (dataclasses.replace(first, heads=(own,)), second)
    anyorder.save(dataclasses.replace(model, layers=layers, certificate=None), tmp_path / "m.safetensors")
    with pytest.raises(InputError, match="has a 'Own', which has no PyTorch form"):
        anyorder.torch.load(tmp_path / "m.safetensors")


def test_a_hook_reads_and_replaces_attention(tmp_path, tokens):
    anyorder.save(anyorder.construct("k-head", order=2, alphabet_size=3, length=64), tmp_path / "m.safetensors")
    model = anyorder.torch.load(tmp_path / "m.safetensors")
    before = model(tokens)
    uniform = torch.ones(40, 40, dtype=torch.float64).tril()
    uniform = uniform / uniform.sum(1, keepdim=True)
    handle = model.layers[1].heads[0].pattern.register_forward_hook(lambda module, inputs, output: uniform)
    frequencies = torch.eye(3, dtype=torch.float64)[torch.as_tensor(tokens)].cumsum(0) / torch.arange(1, 41)[:, None]
    np.testing.assert_allclose(model(tokens).detach(), frequencies, atol=1e-12)
    handle.remove()
    assert torch.equal(model(tokens), before)


def test_names_of_tensors_are_those_of_the_file(tmp_path):
    anyorder.save(anyorder.construct("k-head", order=2, alphabet_size=3, length=8), tmp_path / "m.safetensors")
    names = set(anyorder.torch.load(tmp_path / "m.safetensors").state_dict())
    heads = {"layers.0.heads.1.query", "layers.1.heads.0.key", "layers.0.heads.0.key_positions"}
    assert {"embedding", "output", *heads} <= names


def test_other_files_are_refused_in_one_line(tmp_path):
    from safetensors.numpy import save_file

    save_file({"a": np.ones(2)}, tmp_path / "other.safetensors")
    with pytest.raises(InputError, match="not a complete model of anyorder") as refused:
        anyorder.torch.load(tmp_path / "other.safetensors")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["[" * 100_000, "[1]", "1", "{"])
def test_headers_that_are_no_objects_are_refused(tmp_path, text):
    from safetensors.numpy import save_file

    save_file({"a": np.ones(2)}, tmp_path / "other.safetensors", {"anyorder": text})
    with pytest.raises(InputError, match="not a complete model of anyorder"):
        anyorder.torch.load(tmp_path / "other.safetensors")


def test_pipes_and_numbers_are_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is not a regular file"):
        anyorder.torch.load(tmp_path / "pipe")
    with pytest.raises(InputError, match="the path is 3, must be a text or a Path"):
        anyorder.torch.load(3)


@pytest.mark.parametrize("token", [-1, 2])
def test_tokens_out_of_range_have_no_distribution(token):
    with pytest.raises(IndexError, match="index out of range"):
        anyorder.torch.load("zoo:fast")([0, token, 1])
