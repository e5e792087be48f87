"""Presets for the paper's model: as described in the text, as in the authors' code, and based on GPT-2."""

from __future__ import annotations

from anyorder.training.config import FLOOR, changed

#: The model described in the text, with settings from the grid of App. H.5.
PAPER = changed(
    FLOOR,
    {"seeds": 1, "last_mlp": False, "beginning": False, "pre_norm": False, "qk_norm": False, "tied": True,
     "weights": "gpt2", "zero_output": False,
     "steps": 30_000, "learning_rate": 1e-3, "warmup": 600, "final_rate": 0.2},
)  # fmt: skip
#: The model of the authors' code.
PUBLISHED = changed(
    PAPER,
    {"mlp": "published", "positions_through_key": True, "batch": 32, "per_kernel": 16, "predictions": "all",
     "learning_rate": 2e-3},
)  # fmt: skip
#: The model of the words "based on the GPT-2 architecture" in App. H.5.
GPT2 = changed(
    PAPER,
    {"mlp": "gpt2", "last_mlp": True, "key_positions": "none", "absolute_positions": True, "pre_norm": True,
     "predictions": "all"},
)  # fmt: skip
