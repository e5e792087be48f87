"""All experiments, in the order of the report."""

from __future__ import annotations

from anyorder.errors import InputError, nearest
from anyorder.experiments import (
    attention_maps,
    birth,
    bits,
    depth,
    dynamics,
    floor,
    grid,
    head_trade_off,
    mechanism,
    noise,
    parameters,
    phase,
    precision,
    presets,
    unknown_order,
)
from anyorder.experiments.experiment import Experiment

#: Every experiment, by id.
EXPERIMENTS: dict[str, Experiment] = {
    experiment.id: experiment
    for experiment in (
        parameters.TABLE_ONE,
        attention_maps.EXPERIMENT,
        depth.EXPERIMENT,
        presets.EXPERIMENT,
        noise.TOKEN,
        noise.TRANSITION,
        bits.EXPERIMENT,
        grid.EXPERIMENT,
        parameters.BREAKDOWNS,
        precision.EXPERIMENT,
        floor.EXPERIMENT,
        phase.EXPERIMENT,
        dynamics.TWO_STAGE,
        dynamics.PRECONDITIONED,
        head_trade_off.EXPERIMENT,
        birth.EXPERIMENT,
        mechanism.EXPERIMENT,
        unknown_order.EXPERIMENT,
    )
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
