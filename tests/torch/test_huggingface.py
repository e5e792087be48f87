"""Adapters for PyTorch models, with the real libraries, on small random models saved to disk."""

import json
import os
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

import safetensors.torch

import anyorder
from anyorder.errors import InputError
from anyorder.probing import Settings, paths, probe
from anyorder.probing.adapters.choose import open_model
from anyorder.probing.adapters.huggingface import HuggingFaceModel

FEW = Settings(sequences=6, length=72, max_length=3)


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def folder(request, tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp(request.param)
    if request.param == "llama":
        config = transformers.LlamaConfig(
            vocab_size=80, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, bos_token_id=1, eos_token_id=2,
        )  # fmt: skip
    else:
        config = transformers.GPT2Config(
            vocab_size=80, n_embd=32, n_layer=2, n_head=4, n_positions=128, bos_token_id=1, eos_token_id=2
        )
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(path)
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({str(token): token for token in range(80)}, unk_token="0"))
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token="1", eos_token="2", unk_token="0", pad_token="2"
    ).save_pretrained(path)
    return path


def test_a_folder_gives_attention_and_predictions_as_the_library_has_them(folder):
    model = open_model(folder)
    assert model.heads == (4, 4)
    assert model.start == 1
    assert not {1, 2} & set(model.ids)
    tokens = np.array([1, 5, 9, 5, 9, 7])
    look = model.run(tokens, layers=[1])
    loaded = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    out = loaded(torch.as_tensor(tokens)[None], output_attentions=True)
    np.testing.assert_allclose(look.attention[1], out.attentions[1][0].detach(), atol=1e-6)
    np.testing.assert_allclose(np.exp(look.log_probabilities).sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(model.attend(tokens, [1]).attention[1], look.attention[1], atol=1e-6)


def test_random_weights_have_no_order(folder):
    result = probe(open_model(folder), FEW)
    assert len(result.heads) == 8
    assert all(head.found.order is None for head in result.heads)
    assert result.controls.no_repeat.heads_above == 0


def test_one_call_takes_a_loaded_model_and_tensors_with_gradients(folder):
    loaded = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    read = [head.spectrum for head in anyorder.probe(loaded, FEW).heads]
    for form in (HuggingFaceModel(loaded), HuggingFaceModel(model=loaded)):
        assert [head.spectrum for head in anyorder.probe(form, FEW).heads] == read
    with pytest.raises(InputError, match="list is neither a folder nor a model of transformers"):
        HuggingFaceModel([loaded])

    def attend(tokens):
        out = loaded(torch.as_tensor(tokens)[None], output_attentions=True)
        return [layer[0] for layer in out.attentions], out.logits[0]

    model = anyorder.probing.adapters.CallableModel(attend, start=1, ids=open_model(folder).ids)
    np.testing.assert_allclose([head.spectrum for head in anyorder.probe(model, FEW).heads], read, rtol=1e-4)


def test_heads_that_are_off_write_nothing(folder):
    model, tokens = open_model(folder), np.array([1, 5, 9, 5])
    whole = model.run(tokens).log_probabilities
    silent = model.run(tokens, off=[(0, 2)]).log_probabilities
    assert np.abs(whole - silent).max() > 1e-6
    every = [(layer, head) for layer in range(2) for head in range(4)]
    alone = model.run(tokens, off=every).log_probabilities
    swapped = model.run(np.array([1, 9, 5, 5]), off=every).log_probabilities
    np.testing.assert_allclose(alone[3], swapped[3], atol=1e-9)  # without attention only the token itself counts
    assert np.array_equal(model.run(tokens).log_probabilities, whole)


def test_missing_weights_are_refused_by_name(folder, tmp_path):
    held = safetensors.torch.load_file(folder / "model.safetensors")
    name = next(name for name in held if name.endswith(("k_proj.weight", "attn.c_attn.weight")))
    shutil.copytree(folder, tmp_path / "part")
    left = {other: tensor for other, tensor in held.items() if other != name}
    safetensors.torch.save_file(left, tmp_path / "part" / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match=f"lacks 1 weights, such as {name}; get it again"):
        open_model(tmp_path / "part")


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("vocab_size", 10**8),
        ("num_hidden_layers", 10**5),
        ("n_layer", 10**5),
        ("hidden_size", 10**6),
        ("max_position_embeddings", 10**10),
        ("head_dim", 10**400),
        ("rope_scaling", {"original_max_position_embeddings": 10**10}),
    ],
)
def test_sizes_beyond_the_tensors_are_refused_before_anything_is_allocated(folder, tmp_path, monkeypatch, name, number):
    path = shutil.copytree(folder, tmp_path / "model")
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {name: number}))
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", None)  # never called
    with pytest.raises(InputError, match=r"model has \w+ (10+|about 10\^400), its \d+ tensors allow at most \d+; get"):
        open_model(path)


def test_positions_that_the_file_does_not_hold_are_refused_before_they_are_allocated(tmp_path, monkeypatch):
    config = transformers.GPT2Config(vocab_size=16, n_embd=8, n_layer=1, n_head=2, n_positions=32)
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
    stated = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(stated | {"n_positions": 10**6}))
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", None)  # never called
    with pytest.raises(InputError, match="has fewer or smaller tensors than its config states"):
        open_model(tmp_path)


def test_several_tokens_that_end_a_text_are_left_out(folder, tmp_path):
    path = shutil.copytree(folder, tmp_path / "model")
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {"eos_token_id": [2, 7, 9]}))
    assert not {1, 2, 7, 9} & set(open_model(path).ids)


def test_a_model_without_layers_is_refused():
    config = transformers.GPT2Config(vocab_size=16, n_embd=8, n_layer=0, n_head=2, attn_implementation="eager")
    with pytest.raises(InputError, match="has no layers"):
        HuggingFaceModel(transformers.GPT2LMHeadModel(config))


@pytest.mark.parametrize("name", ["model.safetensors", "generation_config.json", "config.json"])
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path)], ids=["pipe", "device"])
def test_pipes_and_devices_in_a_folder_are_refused(folder, tmp_path, name, make):
    path = shutil.copytree(folder, tmp_path / "model")
    (path / name).unlink()
    make(path / name)
    with pytest.raises(InputError, match=f"{name} is not a regular file"):
        open_model(path)


@pytest.mark.parametrize("text", ["[1]", "[" * 100_000, '{"vocab_size": ' + "9" * 5000 + "}", "\udcff"])
def test_configs_that_are_no_objects_are_refused(folder, tmp_path, text):
    path = shutil.copytree(folder, tmp_path / "model")
    (path / "config.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"config\.json (is not a JSON object|is not valid JSON)"):
        open_model(path)


def test_pickled_weights_are_refused_and_nothing_of_them_is_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    folder = tmp_path / "pickled"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    torch.save({"weight": Trap()}, folder / "pytorch_model.bin")
    for word in (folder, folder / "pytorch_model.bin"):
        with pytest.raises(InputError, match=r"pickle.*safe_serialization"):
            open_model(word)
    assert not (tmp_path / "sprung").exists()


def test_code_in_a_folder_is_refused(folder, tmp_path):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "auto_map": {"AutoModelForCausalLM": "evil.Model"}}))
    (tmp_path / "evil.py").write_text("raise SystemExit('run')")
    with pytest.raises(InputError, match="contains code, which"):
        open_model(tmp_path)
    hidden = (tmp_path / "config.json").read_text().replace("auto_map", "auto\\u005fmap")  # the same key, escaped
    (tmp_path / "config.json").write_text(hidden)
    with pytest.raises(InputError, match="contains code, which"):
        open_model(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InputError, match="is not valid JSON"):
        open_model(tmp_path)


def test_a_loaded_model_without_eager_attention_is_refused(folder):
    loaded = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="sdpa")
    with pytest.raises(InputError, match="eager"):
        HuggingFaceModel(model=loaded)


def test_transformer_lens_reads_as_hugging_face_does(folder):
    bridges = pytest.importorskip("transformer_lens.model_bridge")
    from anyorder.probing.adapters.transformer_lens import TransformerLensModel

    loaded = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    bridge = bridges.TransformerBridge.boot_transformers(str(folder), hf_model=loaded, device="cpu")
    lens, hugging = TransformerLensModel(bridge), open_model(folder)
    tokens = np.array([1, 5, 9, 5, 9, 7])
    assert lens.heads == hugging.heads
    for off in ((), [(1, 2)]):
        left, right = (model.run(tokens, layers=[0, 1], off=off) for model in (lens, hugging))
        np.testing.assert_allclose(left.log_probabilities, right.log_probabilities, atol=1e-4)
        np.testing.assert_allclose(left.attention[1], right.attention[1], atol=1e-5)
    other = np.array([1, 5, 8, 5, 9, 7])
    left, right = (
        model.run(tokens, layers=[1], write={(0, 3): model.written(other)[0, 3]}) for model in (lens, hugging)
    )
    np.testing.assert_allclose(left.attention[1], right.attention[1], atol=1e-5)


def test_outputs_of_heads_can_be_replaced(folder):
    """A model's own outputs change nothing; those on other tokens change only later layers."""
    model = open_model(folder)
    tokens, other = np.array([1, 5, 9, 5, 9, 7]), np.array([1, 5, 8, 5, 9, 7])
    plain, outputs = model.run(tokens, layers=[0, 1]), model.written(other)
    same = model.run(tokens, layers=[1], write=model.written(tokens))
    np.testing.assert_allclose(same.attention[1], plain.attention[1], atol=1e-6)
    changed = model.run(tokens, layers=[0, 1], write={(0, head): outputs[0, head] for head in range(4)})
    np.testing.assert_array_equal(changed.attention[0], plain.attention[0])
    np.testing.assert_array_equal(changed.attention[1][:, :2, :2], plain.attention[1][:, :2, :2])
    assert np.abs(changed.attention[1][:, 3:] - plain.attention[1][:, 3:]).max() > 1e-6


def test_tokens_are_followed_to_heads(folder):
    followed = paths(open_model(folder), [(1, 2)], max_length=2, length=40)
    assert all((path.layer, path.head, path.from_layer) == (1, 2, 0) for path in followed)
