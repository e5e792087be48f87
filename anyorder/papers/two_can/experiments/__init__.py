"""The experiments of the paper, with our numbers next to the printed ones."""

from anyorder.papers.two_can.experiments.algorithms import preconditioned, two_stage
from anyorder.papers.two_can.experiments.attention_maps import attention_maps
from anyorder.papers.two_can.experiments.bits import bits
from anyorder.papers.two_can.experiments.depth import depth, depth_settings
from anyorder.papers.two_can.experiments.grid import grid
from anyorder.papers.two_can.experiments.noise import token_noise, transition_noise
from anyorder.papers.two_can.experiments.parameters import parameters, table_1
from anyorder.papers.two_can.experiments.presets import presets

#: In the order of the report.
EXPERIMENTS = (
    table_1, attention_maps, depth, depth_settings, presets, token_noise, transition_noise, bits, grid, parameters,
    two_stage, preconditioned,
)  # fmt: skip
