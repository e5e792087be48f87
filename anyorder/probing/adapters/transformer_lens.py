"""Models of TransformerLens 4: a `TransformerBridge`, read at `hook_pattern` and changed at `hook_z`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from anyorder.probing.protocol import Look, Place

if TYPE_CHECKING:
    from torch import Tensor
    from transformer_lens.model_bridge import TransformerBridge


class TransformerLensModel:
    """A model loaded by `TransformerBridge.boot_transformers`."""

    def __init__(self, bridge: TransformerBridge, *, name: str | None = None) -> None:
        import torch

        self._torch, self.bridge, config = torch, bridge, bridge.cfg
        self.name = name or str(getattr(config, "model_name", "TransformerBridge"))
        self.heads = (int(config.n_heads),) * int(config.n_layers)
        tokenizer = getattr(bridge, "tokenizer", None)
        special = set(getattr(tokenizer, "all_special_ids", ()))
        self.ids = np.asarray([token for token in range(int(config.d_vocab)) if token not in special])
        self.start: int | None = getattr(tokenizer, "bos_token_id", None)
        self.about: dict[str, object] = {"architecture": str(getattr(config, "original_architecture", "unknown"))}

    def run(
        self,
        tokens: Int[np.ndarray, "rows"],
        *,
        layers: Sequence[int] = (),
        off: Sequence[Place] = (),
        write: Mapping[Place, Tensor] | None = None,
    ) -> Look:
        """Log-probabilities after every token, and the attention of `layers`."""
        kept: dict[int, np.ndarray] = {}

        def keep(layer: int) -> Callable[[Tensor, object], None]:
            def hook(value: Tensor, hook: object) -> None:
                kept[layer] = value[0].detach().float().numpy()

            return hook

        hooks = [(f"blocks.{layer}.attn.hook_pattern", keep(layer)) for layer in layers]
        instead = dict.fromkeys(off, 0.0) | dict(write or {})
        hooks += self._at_outputs(sorted({layer for layer, _ in instead}), instead.get)
        with self._torch.no_grad():
            logits = self.bridge.run_with_hooks(self._torch.as_tensor(tokens)[None], fwd_hooks=hooks)
        return Look(self._torch.log_softmax(logits[0].double(), dim=-1).numpy(), kept)

    def written(self, tokens: Int[np.ndarray, "rows"]) -> dict[Place, Tensor]:
        """The output of every head, before the output projection, for `run(…, write=…)`."""
        kept: dict[Place, Tensor] = {}
        hooks = self._at_outputs(range(len(self.heads)), lambda place, own: kept.setdefault(place, own.clone()))
        with self._torch.no_grad():
            self.bridge.run_with_hooks(self._torch.as_tensor(tokens)[None], fwd_hooks=hooks)
        return kept

    def _at_outputs(
        self, layers: Iterable[int], instead: Callable[[Place, Tensor], Tensor | float]
    ) -> list[tuple[str, Callable[[Tensor, object], Tensor]]]:
        """Hooks that replace the output of each head of `layers` by a function of (layer, head) and the output."""

        def at(layer: int) -> Callable[[Tensor, object], Tensor]:
            def hook(value: Tensor, hook: object) -> Tensor:
                value = value.clone()
                by_head = value if value.ndim == 4 else value.unflatten(-1, (self.heads[layer], -1))
                for head in range(self.heads[layer]):
                    by_head[..., head, :] = instead((layer, head), by_head[..., head, :])
                return value

            return hook

        return [(f"blocks.{layer}.attn.hook_z", at(layer)) for layer in layers]
