"""Algorithm 1 (two stages) and Algorithm 2 (preconditioned): whole runs as compiled programs, in chunks of steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray, Scalar

from anyorder import chains
from anyorder.chains import Kernel, Prior
from anyorder.chains.random import Seed, as_key
from anyorder.chains.source import as_prior
from anyorder.errors import InputError
from anyorder.estimators import mean_and_error
from anyorder.io.gates import gated
from anyorder.papers.two_can.dynamics.closed_form import Offsets, lag_scores_of, stage_one_gradient
from anyorder.papers.two_can.dynamics.objective import Standings, evaluate, mean_excess, model_excess
from anyorder.papers.two_can.dynamics.reduced import Reduced, initial
from anyorder.papers.two_can.dynamics.settings import AlgorithmSettings, Preconditioned, TwoStage
from anyorder.papers.two_can.dynamics.trajectory import Trajectory

#: Progress callback of a run, called after every chunk: steps taken, all steps, excess loss of the last batch.
StepWatcher: TypeAlias = Callable[[int, int, float], None]
#: Progress callback of several runs, called before each: number done, and total.
RunWatcher: TypeAlias = Callable[[int, int], None]
#: Steps between two calls of the watcher.
CHUNK = 50
#: Value of a_2 that represents infinity: scores of directions differ by far more than 1/a_2 or not at all.
SHARP = 1e5
#: The a_2 tried for Algorithm 2's final predictor.
GRID = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


@gated
def two_stage(prior: Prior | Kernel, settings: TwoStage | None = None, watch: StepWatcher | None = None) -> Trajectory:
    """Run Algorithm 1 and evaluate its last state."""
    settings = settings or TwoStage()
    stages = (_Stage("p", settings.rate, settings.steps), _Stage("a_2", settings.rate_2, settings.steps_2, True))
    return _run(prior, settings, stages, watch)


@gated
def preconditioned(
    prior: Prior | Kernel, settings: Preconditioned | None = None, watch: StepWatcher | None = None
) -> Trajectory:
    """Run Algorithm 2, for chains of any order, and evaluate its last state."""
    settings = settings or Preconditioned()
    stage = _Stage("preconditioned p" if settings.precondition else "p", settings.rate, settings.steps)
    return _run(prior, settings, (stage,), watch)


def preconditioned_direction(gradient: Offsets, order: int) -> Offsets:
    """D_t^{-1} ∇L with D_t^{-1} = diag(0, 1, d_1/d_2, …, d_1/d_k, 1, …, 1), where d_m = dL/dp_m (App. D).

    Where d_m is zero the quotient is not defined; there the product is its limit, d_1.

    >>> preconditioned_direction(jnp.array([5.0, 2.0, 4.0, 1.0]), 2).tolist()
    [0.0, 2.0, 2.0, 1.0]
    """
    place = jnp.arange(len(gradient), dtype=jnp.int32)
    inside = (place >= 1) & (place <= order)
    divisor = jnp.where(inside & (gradient != 0), gradient, 1)
    diagonal = jnp.where(inside, gradient[1] / divisor, 1)
    moved = jnp.where(inside & (gradient == 0), gradient[1], diagonal * gradient)
    return jnp.where(place == 0, 0, moved)


class _Stage(NamedTuple):
    """Steps on one part of the parameters, with or without norms."""

    which: Literal["p", "preconditioned p", "a_2"]
    rate: float
    steps: int
    normalise: bool = False


class _Steps(NamedTuple):
    """The record of steps: the state after each, its excess loss, and dL/dp, which is zero in stage two."""

    p: Float[Array, "*steps offsets"] | Float[np.ndarray, "steps offsets"]
    a_2: Float[Array, "*steps"] | Float[np.ndarray, "steps"]
    excess: Float[Array, "*steps"] | Float[np.ndarray, "steps"]
    gradient: Float[Array, "*steps offsets"] | Float[np.ndarray, "steps offsets"]


def _run(
    prior: Prior | Kernel, settings: TwoStage | Preconditioned, stages: tuple[_Stage, ...], watch: StepWatcher | None
) -> Trajectory:
    """Take the steps of all stages in compiled chunks, and measure the last state on fresh chains."""
    prior = as_prior(prior)
    settings.check(prior)
    key, total = jax.random.key(settings.seed), sum(stage.steps for stage in stages)
    exclude_own = isinstance(settings, Preconditioned)
    start = initial(length=settings.length + 1, a_2=settings.a_2, order=prior.order, exclude_own=exclude_own)
    scores = None
    if settings.gradient == "closed":
        drawn = lag_scores_of(prior, jax.random.fold_in(key, 1 << 20), lags=len(start.p))
        scores = jnp.asarray(drawn.mean(axis=0))
    model, taken, done = start, [], 0
    for stage in stages:
        model = dataclasses.replace(model, normalise=stage.normalise)
        rate = jnp.asarray(stage.rate, jnp.float64)
        for first in range(0, stage.steps, CHUNK):
            # Every chunk has CHUNK steps, so that a single program suffices; results beyond the last step are dropped.
            places = jnp.arange(done, done + CHUNK, dtype=jnp.uint32)
            keys = jax.vmap(lambda step: jax.random.fold_in(key, step))(places)
            steps = _chunk(model, keys, prior, scores, rate, stage.which, settings.batch, settings.epsilon)
            kept = min(CHUNK, stage.steps - first)
            taken.append(_Steps(*(np.asarray(values)[:kept] for values in steps)))
            _check_finite(taken, stage, done)
            model = dataclasses.replace(model, p=jnp.asarray(taken[-1].p[-1]), a_2=jnp.asarray(taken[-1].a_2[-1]))
            done += kept
            if watch is not None:
                watch(done, total, float(taken[-1].excess[-1]))
    p, a_2, excess, gradient = (np.concatenate(parts) for parts in zip(*taken, strict=True))
    models = {"learned": model} | ({} if model.normalise else _with_norms(model, prior, settings))
    return Trajectory(
        settings=settings,
        order=prior.order,
        alphabet_size=prior.alphabet_size,
        p=np.concatenate([start.p[None], p]),
        a_2=np.concatenate([start.a_2[None], a_2]),
        excess=excess,
        gradient=gradient[: settings.steps],
        normalise=model.normalise,
        evaluation=_evaluation(models, prior, settings),
    )


@eqx.filter_jit
def _chunk(
    model: Reduced,
    keys: Key[Array, "steps"],
    prior: Prior,
    scores: Offsets | None,
    rate: Scalar,
    which: str,
    batch: int,
    epsilon: float,
) -> _Steps:
    """CHUNK steps as one program."""
    contexts, order = prior.alphabet_size**prior.order, prior.order

    def step(model: Reduced, key: PRNGKeyArray) -> tuple[Reduced, _Steps]:
        drawn = chains.sample(prior, length=len(model.p), count=batch, start="stationary", seed=key)
        excess, slopes = jax.value_and_grad(mean_excess)(model, drawn, epsilon)
        if which == "a_2":
            gradient = jnp.zeros_like(model.p)
            moved = dataclasses.replace(model, a_2=model.a_2 - rate * slopes.a_2)
        else:
            gradient = slopes.p if scores is None else stage_one_gradient(model.p, scores, model.a_2, contexts, order)
            direction = preconditioned_direction(gradient, order) if which == "preconditioned p" else gradient
            moved = dataclasses.replace(model, p=model.p - rate * direction)
        return moved, _Steps(moved.p, moved.a_2, excess, gradient)

    return jax.lax.scan(step, model, keys)[1]


def _check_finite(taken: list[_Steps], stage: _Stage, before: int) -> None:
    """Raise if a value became non-finite in the last chunk, with the step and the last finite loss."""
    last = taken[-1]
    bad = ~(np.isfinite(last.p).all(axis=1) & np.isfinite(last.a_2) & np.isfinite(last.excess))
    if not bad.any():
        return
    first = int(bad.argmax())
    losses = np.concatenate([*(steps.excess for steps in taken[:-1]), last.excess[: first + 1]])
    finite = losses[np.isfinite(losses)]
    loss = f"{finite[-1]:.6g}" if len(finite) else "none"
    what, option = ("a_2", "rate_2") if stage.which == "a_2" else ("p", "rate")
    raise InputError(
        f"the run diverged at step {before + first + 1}: {what} is no longer finite, the last finite excess loss was "
        f"{loss} nats; lower `{option}=`, it is {stage.rate:g}"
    )


def _with_norms(end: Reduced, prior: Prior, settings: AlgorithmSettings) -> dict[str, Reduced]:
    """Algorithm 2's last lines: norms are restored and a_2 is raised, to infinity or to the best value of a grid."""
    sharpened = {f"{a_2:g}": dataclasses.replace(end, a_2=jnp.float64(a_2), normalise=True) for a_2 in (*GRID, SHARP)}
    tried = _evaluation(sharpened, prior, settings, count=256, seed_offset=2).standings
    best = min(GRID, key=lambda a_2: tried[f"{a_2:g}"].excess)
    return {
        f"learned, norms, a_2 = {best:g}": sharpened[f"{best:g}"],
        "learned, norms, a_2 → ∞": sharpened[f"{SHARP:g}"],
    }


def _evaluation(
    models: dict[str, Reduced], prior: Prior, settings: AlgorithmSettings, count: int = 1024, seed_offset: int = 1
) -> Standings:
    """Reduced models next to k-gram, bag of k and Bayes, on fresh chains."""
    key = jax.random.fold_in(jax.random.key(settings.seed), (1 << 20) + seed_offset)
    return evaluate(models, prior, key, length=settings.length + 1, epsilon=settings.epsilon, count=count)


class Agreement(NamedTuple):
    """dL/dp of one model in the closed form and from sampled chains, with the standard error of the latter."""

    closed: Float[np.ndarray, "offsets"]
    sampled: Float[np.ndarray, "offsets"]
    standard_error: Float[np.ndarray, "offsets"]

    @property
    def cosine(self) -> float:
        """The cosine of the angle between the two gradients."""
        return float(self.closed @ self.sampled / np.linalg.norm(self.closed) / np.linalg.norm(self.sampled))

    @property
    def relative_difference(self) -> float:
        """‖closed - sampled‖ / ‖closed‖."""
        return float(np.linalg.norm(self.closed - self.sampled) / np.linalg.norm(self.closed))

    @property
    def relative_noise(self) -> float:
        """The share of that difference due to sampling: ‖standard error‖ / ‖closed‖."""
        return float(np.linalg.norm(self.standard_error) / np.linalg.norm(self.closed))


@gated
def agreement(model: Reduced, prior: Prior, key: Seed, *, epsilon: float = 1e-3, count: int = 2048) -> Agreement:
    """Both gradients of stage one at the same model; they differ by noise, the finite length and a_2 > 0."""
    key = as_key(key)
    scores = jnp.asarray(lag_scores_of(prior, jax.random.fold_in(key, 1), lags=len(model.p)).mean(axis=0))
    closed = stage_one_gradient(model.p, scores, model.a_2, prior.alphabet_size**prior.order, prior.order)
    drawn = chains.sample(prior, length=len(model.p), count=count, start="stationary", seed=key)
    slope = lambda pair: jax.grad(model_excess)(model, *pair, epsilon).p  # noqa: E731
    sampled = jax.jit(lambda *pairs: jax.lax.map(slope, pairs, batch_size=64))(drawn.tokens, drawn.kernels)
    return Agreement(np.asarray(closed), *mean_and_error(sampled))
