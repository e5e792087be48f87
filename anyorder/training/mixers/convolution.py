"""`convolution`: a causal depthwise convolution of the input of the heads, then attention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anyorder.training.config import Config
from anyorder.training.mixers import Mixer, attention

if TYPE_CHECKING:
    from anyorder.training.mixers import Draw


def _parts(config: Config, number: int, draw: Draw) -> Mapping[str, Any]:
    taps = draw("matrix", config.architecture.dimension, config.taps).T
    return {"convolution": taps, **attention.heads(config, number, draw)}


CONVOLUTION = Mixer(_parts)
