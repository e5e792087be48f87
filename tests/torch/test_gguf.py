"""Our forward pass on the language model, against transformers on the same file."""

import os
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
PATH = os.environ.get("ANYORDER_MODEL")


@pytest.mark.skipif(PATH is None, reason="needs the language model: make test-torch")
def test_our_forward_pass_agrees_with_transformers():
    from anyorder.probing.adapters.gguf import GGUFModel

    path = Path(PATH)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, attn_implementation="eager", dtype=torch.float32, local_files_only=True
    )
    tokens = np.random.default_rng(0).integers(100, 40_000, size=48)
    with torch.no_grad():
        out = theirs(torch.as_tensor(tokens)[None], output_attentions=True)
    look = GGUFModel(path).run(tokens, layers=[0, 18, 29])
    for layer, weights in look.attention.items():
        np.testing.assert_allclose(weights, out.attentions[layer][0], atol=1e-4)
    np.testing.assert_allclose(look.log_probabilities, torch.log_softmax(out.logits[0], -1), atol=2e-3)
