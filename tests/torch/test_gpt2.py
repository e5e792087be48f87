"""Exported folders in `transformers` and TransformerLens: the errors in the card, and the order read by the probe."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import anyorder
from anyorder.constructions.gpt2 import HELD, ideal_attention
from anyorder.constructions.hard_sequences import hard_sequences
from anyorder.estimators.streaming import StreamingEstimator
from anyorder.probing import Settings

#: The supported sizes, and smoothing.
CASES = [
    ("k-head", 1, 3, 128, None),
    ("k-head", 2, 3, 128, None),
    ("k-head", 3, 4, 128, None),
    ("k-head", 4, 2, 256, None),
    ("k-head-bayes", 3, 4, 128, None),
    ("k-head-bayes", 2, 3, 64, 0.25),
]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def exported(request, tmp_path_factory):
    name, order, size, length, beta = request.param
    folder = tmp_path_factory.mktemp("gpt2") / "model"
    anyorder.export(name, folder, order=order, alphabet_size=size, length=length, beta=beta)
    return folder, request.param


@pytest.fixture(scope="module")
def loaded(exported):
    model, found = transformers.AutoModelForCausalLM.from_pretrained(
        exported[0], attn_implementation="eager", local_files_only=True, output_loading_info=True
    )
    assert not any(found.values())
    return model


def test_transformers_keeps_what_the_card_promises(exported, loaded):
    folder, (name, order, size, length, _) = exported
    beta = json.loads((folder / "ground_truth.json").read_text())["beta"]
    assert isinstance(loaded, transformers.GPT2LMHeadModel)
    assert loaded.dtype == torch.float32
    hard = hard_sequences(count=8, length=length, alphabet_size=size, order=order, seed=5)
    ids = torch.as_tensor(np.pad(hard, ((0, 0), (1, 0)), constant_values=size))
    with torch.no_grad():
        out = loaded(ids, output_attentions=True)
    probabilities = torch.softmax(out.logits, -1)[:, 1:, :size].double().numpy()
    for place, tokens in enumerate(hard):
        exact = StreamingEstimator(order, size, HELD[name], beta=beta or 1.0).distributions(tokens)
        assert np.nanmax(np.abs(probabilities[place] - exact)) < 2e-4
        ideal = ideal_attention(tokens, order, size, beta)
        assert np.abs(out.attentions[1][place, 0, 1:].numpy() - ideal[-1]).max() < 2e-4
        assert np.abs(out.attentions[0][place, :, 1:].numpy() - ideal[:-1]).max() < 2e-4


def test_the_probe_reads_the_order_from_the_folder(exported):
    folder, (_, order, _, _, _) = exported
    truth = json.loads((folder / "ground_truth.json").read_text())
    expected = {(head["layer"], head["head"]): head.get("order") for head in truth["heads"]}
    assert max(filter(None, expected.values())) == order
    read = anyorder.probe(folder, Settings(sequences=12))
    assert {(head.layer, head.head): head.found.order for head in read.heads} == expected


def test_generation_never_gives_the_beginning_token(exported, loaded):
    size = exported[1][2]
    drawn = loaded.generate(torch.tensor([[size, 0, 1]]), max_new_tokens=20, do_sample=True)
    assert drawn[0, 1:].max() < size


@pytest.mark.parametrize("processed", [False, True])
def test_transformer_lens_agrees(tmp_path, processed):
    """With its weight processing too: folded layer norms and centred weights."""
    bridges = pytest.importorskip("transformer_lens.model_bridge")
    anyorder.export("k-head", tmp_path / "gpt2", order=3, alphabet_size=4, length=128, sequences=1)
    plain, fresh = (
        transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "gpt2", attn_implementation="eager")
        for _ in range(2)
    )
    bridge = bridges.TransformerBridge.boot_transformers(str(tmp_path / "gpt2"), hf_model=fresh, device="cpu")
    if processed:
        bridge.enable_compatibility_mode()
    ids = torch.as_tensor([[4, *np.random.default_rng(0).integers(4, size=128)]])
    with torch.no_grad():
        ours, (theirs, cache) = plain(ids, output_attentions=True), bridge.run_with_cache(ids)
    for block in range(2):
        pattern = cache[f"blocks.{block}.attn.hook_pattern"]
        np.testing.assert_allclose(pattern, ours.attentions[block], atol=2e-4)
    np.testing.assert_allclose(torch.softmax(theirs, -1), torch.softmax(ours.logits, -1), atol=2e-4)
