"""All experiments, in the order of the report."""

from __future__ import annotations

from anyorder.errors import InputError, nearest
from anyorder.experiments.attention_maps import attention_maps
from anyorder.experiments.birth import birth
from anyorder.experiments.bits import bits
from anyorder.experiments.depth import depth
from anyorder.experiments.dynamics import preconditioned, two_stage
from anyorder.experiments.experiment import Experiment, OnPage
from anyorder.experiments.floor import floor
from anyorder.experiments.grid import grid
from anyorder.experiments.head_trade_off import head_trade_off
from anyorder.experiments.mechanism import mechanism
from anyorder.experiments.noise import token_noise, transition_noise
from anyorder.experiments.parameters import parameters, table_1
from anyorder.experiments.phase import phase
from anyorder.experiments.precision import precision
from anyorder.experiments.presets import presets
from anyorder.experiments.unknown_order import unknown_order

#: Every experiment, by id.
EXPERIMENTS: dict[str, Experiment] = {
    experiment.id: experiment
    for experiment in (
        table_1,
        attention_maps,
        depth,
        presets,
        token_noise,
        transition_noise,
        bits,
        grid,
        parameters,
        precision,
        floor,
        phase,
        two_stage,
        preconditioned,
        head_trade_off,
        birth,
        mechanism,
        unknown_order,
    )
}
#: How the docs show those whose results at the paper's budget are recorded, by id.
RECORDED: dict[str, OnPage] = {
    id: experiment.recorded for id, experiment in EXPERIMENTS.items() if experiment.recorded is not None
}


def chosen(ids: tuple[str, ...]) -> list[Experiment]:
    """The experiments of these ids, in the order of the report; none or `all` are all.

    >>> [experiment.id for experiment in chosen(("bits", "depth"))]
    ['depth', 'bits']
    """
    unknown = [id for id in ids if id not in EXPERIMENTS and id != "all"]
    if unknown:
        raise InputError(f"no experiment {unknown[0]!r}; {nearest(unknown[0], [*EXPERIMENTS, 'all'])}")
    everything = not ids or "all" in ids
    return [experiment for experiment in EXPERIMENTS.values() if everything or experiment.id in ids]
