"""Files of models: bit for bit in every dtype, and a one-line error for every kind of damage."""

from __future__ import annotations

import dataclasses
import json
import struct
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import anyorder
from anyorder.errors import InputError
from anyorder.io.numerics import DTYPES
from anyorder.io.trees import read_tensors, write_tensors
from anyorder.models.storage import Summary, read_summary
from tests.models.small import random_model, tokens_of


def assert_same_model(first, second):
    assert jax.tree.structure(first) == jax.tree.structure(second)
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_constructions_come_back_bit_for_bit(dtype, tmp_path):
    model = anyorder.construct("k-head-bayes", order=2, alphabet_size=3, length=20, dtype=dtype, beta=0.5)
    anyorder.save(model, tmp_path / "model.safetensors")
    loaded = anyorder.load(tmp_path / "model.safetensors")
    assert_same_model(model, loaded)
    assert loaded.certificate == model.certificate
    assert loaded.blocks == model.blocks
    np.testing.assert_array_equal(loaded(tokens_of(20)), model(tokens_of(20)))


def test_trained_shapes_come_back_bit_for_bit(tmp_path):
    model = random_model(
        0,
        dtype="float32",
        heads=(2, 1),
        mlp="gpt",
        pre_norm=True,
        beginning=True,
        tied=True,
        projected=True,
        scale=jnp.float32(0.25),
    )
    anyorder.save(model, tmp_path / "model.safetensors")
    assert_same_model(model, anyorder.load(tmp_path / "model.safetensors"))


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.safetensors"
    anyorder.save(anyorder.construct("dyadic", order=2, alphabet_size=2, length=20), path)
    return path


def refused(path):
    with pytest.raises(InputError) as caught:
        anyorder.load(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kept", [0, 7, 8, 200, -1])
def test_a_file_cut_short_is_refused(saved, kept):
    saved.write_bytes(saved.read_bytes()[:kept])
    assert "cut short" in refused(saved)


def test_a_changed_weight_is_refused(saved):
    data = bytearray(saved.read_bytes())
    data[-9] ^= 1
    saved.write_bytes(bytes(data))
    assert "digest" in refused(saved)


def test_a_changed_certificate_is_refused(saved):
    data = saved.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    text = header["__metadata__"]["anyorder"]
    header["__metadata__"]["anyorder"] = text.replace('"order": 2', '"order": 3')
    assert header["__metadata__"]["anyorder"] != text
    changed = json.dumps(header).encode()
    saved.write_bytes(struct.pack("<Q", len(changed)) + changed + data[8 + size :])
    assert "digest" in refused(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors, header: tensors.pop("embedding"),
        lambda tensors, header: tensors.update({"embedding": np.zeros((2, 3))}),
        lambda tensors, header: header["value"].update(kind="Unknown"),
        lambda tensors, header: header["value"]["fields"].update(surprise=1),
        lambda tensors, header: header.update(format="another"),
        lambda tensors, header: header.clear(),
    ],
    ids=["missing", "shape", "kind", "field", "format", "empty"],
)
def test_a_structure_that_does_not_fit_is_refused(saved, change):
    tensors, header = read_tensors(saved)
    change(tensors, header)
    write_tensors(saved, tensors, header)
    assert "write it again" in refused(saved)


def test_a_part_of_a_plug_in_is_named(saved):
    tensors, header = read_tensors(saved)
    header["value"]["fields"]["layers"]["tuple"][0]["kind"] = "TheirLayer"
    write_tensors(saved, tensors, header)
    assert "unknown kind 'TheirLayer'; load the plug-in that defines it" in refused(saved)


def test_no_file_and_another_file(tmp_path):
    assert "cannot read" in refused(tmp_path / "none.safetensors")
    (tmp_path / "other.npy").write_bytes(b"\x93NUMPY" + bytes(100))
    assert "not a complete safetensors file" in refused(tmp_path / "other.npy")


def test_equal_models_are_equal_files(saved, tmp_path):
    """The library writes metadata in another order every time; ours is fixed."""
    again = tmp_path / "again.safetensors"
    for _ in range(4):
        anyorder.save(anyorder.construct("dyadic", order=2, alphabet_size=2, length=20), again)
        assert again.read_bytes() == saved.read_bytes()


def test_others_can_read_the_arrays(saved):
    """The file is plain safetensors, with arrays named by their place in the model."""
    arrays = safetensors.numpy.load_file(saved)
    np.testing.assert_array_equal(arrays["embedding"], anyorder.load(saved).embedding)
    assert "layers.0.heads.0.key_positions" in arrays


def test_a_certificate_belongs_to_its_weights(saved, tmp_path):
    model = anyorder.load(saved)
    other = dataclasses.replace(model, embedding=2 * model.embedding)
    with pytest.raises(InputError, match="the certificate is not that of these weights"):
        anyorder.save(other, tmp_path / "other.safetensors")
    anyorder.save(dataclasses.replace(other, certificate=None), tmp_path / "other.safetensors")
    tensors, _ = read_tensors(tmp_path / "other.safetensors")
    _, header = read_tensors(saved)
    write_tensors(saved, tensors, header)  # a complete file, with the certificate of another model
    assert "has a certificate that does not belong to its weights; build the model again" in refused(saved)


def test_weights_that_are_no_numbers_are_said(saved, tmp_path):
    model = dataclasses.replace(anyorder.load(saved), certificate=None)
    broken = dataclasses.replace(model, embedding=model.embedding.at[0, 0].set(jnp.nan))
    anyorder.save(broken, tmp_path / "broken.safetensors")
    with pytest.warns(UserWarning, match="has nan in the array embedding, weights are finite"):
        anyorder.load(tmp_path / "broken.safetensors")


def test_the_header_sums_a_model_up(saved):
    said = Summary(alphabet_size=2, length=None, construction="dyadic", order=2, dtype="float64")
    assert read_summary(saved) == said
    tensors, header = read_tensors(saved)
    del header["summary"]  # as version 0.2 wrote it
    write_tensors(saved, tensors, header)
    assert read_summary(saved) == said
    anyorder.save(dataclasses.replace(anyorder.load(saved), certificate=None), saved)
    assert read_summary(saved) == Summary(2, None)
    write_tensors(saved, tensors, {"format": "anyorder training checkpoint 2"})
    with pytest.raises(InputError, match="it is not a model"):
        read_summary(saved)
    anyorder.save(dataclasses.replace(random_model(0), positions=jnp.zeros((9, 8))), saved)
    assert read_summary(saved).length == 9


@pytest.mark.slow
def test_a_program_that_imports_models_alone_computes_in_float64(tmp_path):
    path = tmp_path / "model.safetensors"
    anyorder.save(random_model(0), path)
    program = f"from anyorder import models; print(models.load({str(path)!r})([0, 1]).dtype)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "float64"
