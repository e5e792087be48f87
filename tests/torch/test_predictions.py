"""PyTorch models as rows of probabilities."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import jax.numpy as jnp

from anyorder.errors import InputError
from anyorder.training.predictions import predictions
from tests.test_promises import ROOT, blocks

TOKENS = jnp.asarray([[0, 1, 1, 0], [1, 1, 0, 1]], jnp.int32)


class Bigram(torch.nn.Module):
    """Logits from the last token, in a batch; dropout would spoil them in training mode."""

    def __init__(self, batched=True, columns=3):
        super().__init__()
        torch.manual_seed(0)
        self.table, self.batched = torch.nn.Embedding(2, columns), batched
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, tokens):
        assert tokens.shape == (1, 4)
        rows = self.dropout(self.table(tokens))
        return rows if self.batched else rows[0]


@pytest.mark.parametrize("batched", [True, False])
def test_modules_get_a_batch_of_one_in_evaluation_mode(batched):
    model = Bigram(batched)
    logits = model.table.weight.detach().double().numpy()
    rows, taken = predictions(model, TOKENS, 3)
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert taken == "logits"
    np.testing.assert_allclose(rows, expected[np.asarray(TOKENS)], rtol=1e-6)
    assert model.training


def test_functions_that_give_tensors_may_require_gradients():
    table = torch.full((2, 2), 0.5, requires_grad=True)
    rows, taken = predictions(lambda tokens: table[torch.as_tensor(tokens)], TOKENS, 2)
    assert taken == "probabilities"
    assert (rows == 0.5).all()


def test_a_wrong_shape_is_refused_in_a_line():
    with pytest.raises(InputError, match=r"the model returns shape \(4, 2\) for 4 tokens, must be \(4, 3\)"):
        predictions(Bigram(columns=2), TOKENS, 3)


def test_the_example_of_the_page_runs():
    (block,) = blocks(ROOT / "docs/bring-your-own.md", "py")
    exec(block, {})
