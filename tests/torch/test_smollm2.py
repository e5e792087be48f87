"""The language model that `make smollm2` gets; `make test-torch` runs this."""

import os
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from anyorder.probing import Settings, probe
from anyorder.probing.adapters.gguf import GGUFModel

PATH = os.environ.get("ANYORDER_MODEL")
pytestmark = pytest.mark.skipif(PATH is None, reason="needs the language model: make test-torch")


@pytest.fixture(scope="module")
def model():
    return GGUFModel(PATH)


def test_it_knows_the_capital_of_france(model):
    path = Path(PATH)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name, local_files_only=True)
    tokens = np.array(tokenizer("The capital of France is")["input_ids"])
    assert tokenizer.decode(model.run(tokens).log_probabilities[-1].argmax()) == " Paris"


def test_the_probe_finds_its_induction_heads(model):
    result = probe(model, Settings(sequences=24, layers=(2, 17, 18, 20)), ablate=True)
    found = {head.place: head for head in result.heads}
    assert found[18, 6].kind == found[17, 3].kind == "graded"
    assert found[17, 3].mean_length < found[18, 6].mean_length < 4
    assert found[18, 6].needed[0] == 1
    assert all(found[2, head].kind == "none" for head in range(9))
    assert sum(head.kind == "none" for head in found.values()) > len(found) / 2
    assert result.controls.no_repeat.heads_above == 0
    assert result.ablation.without > result.ablation.whole + 4
    assert max(result.ablation.random) < result.ablation.whole + 3
