"""Probe models of other frameworks: a Hugging Face model, TransformerLens, and any function that gives attention.

Run with PyTorch and transformers installed (`pip install '.[torch]'` in a clone); the model is small and random.
"""

from __future__ import annotations

import torch
import transformers

from anyorder.probing import Probed, Settings, probe
from anyorder.probing.adapters.callables import CallableModel
from anyorder.probing.adapters.huggingface import HuggingFaceModel

FEW = Settings(sequences=8, length=110)


def say(name: str, result: Probed) -> None:
    """One line: how many heads have an order."""
    orders = [head.found.order for head in result.heads]
    print(f"{name}: {sum(order is not None for order in orders)} of {len(orders)} heads have an order")


def main() -> None:
    """Three ways to the same numbers; random weights have no order."""
    config = transformers.GPT2Config(vocab_size=200, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0)
    config._attn_implementation = "eager"  # others do not keep their attention
    model = transformers.GPT2LMHeadModel(config).eval()
    say("Hugging Face", probe(HuggingFaceModel(model=model), FEW))

    def attend(tokens):  # what nnsight, or a model of your own, gives
        with torch.no_grad():
            out = model(torch.as_tensor(tokens)[None], output_attentions=True)
        return [layer[0] for layer in out.attentions], out.logits[0]

    say("a function", probe(CallableModel(attend, vocabulary=200, start=0), FEW))
    # TransformerLens 4: TransformerLensModel(TransformerBridge.boot_transformers("gpt2")), from
    # anyorder.probing.adapters.transformer_lens.


if __name__ == "__main__":
    main()
