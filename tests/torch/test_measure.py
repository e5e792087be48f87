"""Foreign modules next to the floor, and one-line errors for those that cannot be measured."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import anyorder
import anyorder.torch
from anyorder.chains import Dirichlet, Source
from anyorder.errors import InputError
from anyorder.probing import Settings

SOURCE = Source(Dirichlet(order=1, alphabet_size=2), length=33)
FEW = {"count": 64, "probe": False}


class Table(torch.nn.Module):
    """Logits from the last token; `wrap` is applied to them."""

    def __init__(self, columns=2, wrap=lambda logits: logits):
        super().__init__()
        self.table, self.wrap = torch.nn.Embedding(2, columns), wrap

    def forward(self, ids):
        return self.wrap(self.table(ids))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpt2") / "model"
    anyorder.export("k-head-bayes", folder, order=1, alphabet_size=2, length=32, sequences=1)
    return folder


def test_an_exported_model_is_at_the_floor_and_its_order_is_read(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    model.train()
    found = anyorder.torch.evaluate(model, SOURCE, count=256)
    assert model.training
    assert abs(found.gap) < 1e-5  # add-1 smoothing is the Bayes predictor of this source
    assert found.follows == "bayes"
    assert found.divergence["bayes"] < 1e-6 < found.divergence["order-0"]
    assert [head.found.order for head in found.probe.heads] == [None, 1]
    assert "orders [None, 1]" in repr(found)


def test_attention_that_is_not_kept_leaves_the_losses(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="sdpa")
    found = anyorder.torch.evaluate(model, SOURCE, count=64)
    assert found.probe is None
    assert found.no_probe == 'the model does not keep its attention; load it with attn_implementation="eager"'
    assert abs(found.gap) < 1e-5
    with pytest.raises(InputError, match="eager"):
        anyorder.torch.evaluate(model, SOURCE, count=64, probe=True)


def test_losses_are_those_of_the_numpy_path():
    torch.manual_seed(0)
    model = Table()
    found, other = anyorder.torch.evaluate(model, SOURCE, **FEW), anyorder.evaluate(model, SOURCE, count=64)
    assert found.excess == pytest.approx(other.excess, abs=1e-7)
    assert found.gap == pytest.approx(other.gap, abs=1e-7)
    assert found.no_probe == "no probe was requested"


def test_our_own_models_in_pytorch(tmp_path):
    model = anyorder.construct("k-head-bayes", order=2, alphabet_size=2, length=64)
    anyorder.save(model, tmp_path / "m.safetensors")
    source = Source(Dirichlet(order=2, alphabet_size=2), length=65)
    found = anyorder.torch.evaluate(anyorder.torch.load(tmp_path / "m.safetensors"), source, count=64)
    assert abs(found.gap) < 1e-6
    assert [head.found.order for head in found.probe.heads] == [None, None, 2]


def test_a_function_gives_the_attention_of_any_module():
    def attend(ids):
        return [np.tri(len(ids))[None] / np.arange(1, len(ids) + 1)[:, None]]

    found = anyorder.torch.evaluate(Table(), SOURCE, count=64, attention=attend, probe=Settings(sequences=8))
    assert [head.found.order for head in found.probe.heads] == [None]
    assert "pass `attention=`" in anyorder.torch.evaluate(Table(), SOURCE, count=64).no_probe


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Table(wrap=lambda logits: (logits, None)), r"a tuple, .*evaluate\(lambda ids: model\(ids\)\[0\], source\)"),
        (Table(wrap=lambda logits: {"logits": logits}), r"returns a dictionary, .*model\(ids\)\['logits'\]"),
        (Table(columns=50), "has 50 tokens, the source 2 symbols; make a source with `alphabet_size=50`"),
        (Table(wrap=lambda logits: logits[:, -1]), r"returns shape \(64, 2\) for ids of shape \(64, 32\)"),
        (Table(wrap=lambda logits: logits / 0 * 0), "returns NaN"),
        (Table(wrap=lambda logits: logits.missing), r"cannot read ids of shape \(64, 32\): AttributeError"),
        (3, "the model is a int"),
    ],
)  # fmt: skip
def test_other_modules_are_refused_in_one_line(model, message):
    with pytest.raises(InputError, match=message) as refused:
        anyorder.torch.evaluate(model, SOURCE, **FEW)
    assert "\n" not in str(refused.value)
