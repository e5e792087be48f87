"""Algorithm 1 (two stages) and Algorithm 2 (preconditioned): whole runs as compiled programs, in chunks of steps."""

from __future__ import annotations

import dataclasses
import math
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray

from anyorder import chains
from anyorder.chains import Prior
from anyorder.chains.random import as_key
from anyorder.dynamics.closed_form import expected_lag_scores, stage_one_gradient
from anyorder.dynamics.objective import Standings, evaluate, model_excess
from anyorder.dynamics.reduced import Reduced, initial
from anyorder.dynamics.trajectory import Algorithm, Trajectory
from anyorder.errors import InputError, check_order, check_seed, require
from anyorder.estimators import mean_and_error


@runtime_checkable
class StepWatcher(Protocol):
    """Hears of a run: the steps taken, the steps in all, and the excess loss of the last batch."""

    def __call__(self, step: int, steps: int, excess: float, /) -> None:
        """Called after every `CHUNK` steps."""


#: Steps between two calls of the watcher.
CHUNK = 50
#: a_2 that stands for infinity: scores of directions differ by far more than 1/a_2 or not at all.
SHARP = 1e5
#: The a_2 tried for the predictor that Algorithm 2 ends with.
GRID = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class AlgorithmSettings:
    """What both algorithms need to know; T is `length`, so that sequences have T + 1 tokens."""

    length: int = 128
    """T: sequences have T + 1 tokens."""
    rate: float = 5000.0
    """η_1, of the steps on p: gradients are of the size of a_2/(S^k·T)."""
    steps: int = 400
    """T_1: steps on p."""
    a_2: float = 0.01
    """a_{2,0}: the attention scalar while p is learned; the closed form is its limit 0."""
    batch: int = 128
    """Fresh chains a step."""
    epsilon: float = 1e-3
    """ε of log(logit + ε)."""
    gradient: Literal["sampled", "closed"] = "sampled"
    """Of stage one: automatic differentiation on fresh chains, or the closed form at a_2 → 0 through g_{i,j}."""
    seed: int = 0
    """The same seed gives the same numbers."""

    def check(self, prior: Prior) -> None:
        """Refuse what cannot be run."""
        check_order(prior.order, self.length)
        check_seed(self.seed)
        for name, least in (("steps", 1), ("batch", 1)):
            value = getattr(self, name)
            require(value >= least, f"{name} is {value}, must be at least {least}")
        for name in ("rate", "a_2", "epsilon"):
            value = getattr(self, name)
            require(value > 0 and math.isfinite(value), f"{name} is {value}, must be above 0 and finite")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TwoStage(AlgorithmSettings):
    """Algorithm 1: T_1 steps on p at a small a_2 without norms, then T_2 steps on a_2 with norms."""

    rate_2: float = 10.0
    """η_2, of the steps on a_2."""
    steps_2: int = 400
    """T_2: steps on a_2."""

    def check(self, prior: Prior) -> None:
        """Refuse what cannot be run; the two-stage algorithm is about first-order chains."""
        require(
            prior.order == 1,
            f"the prior has order {prior.order}, the two-stage algorithm is about order 1; use preconditioned",
        )
        super().check(prior)
        require(self.steps_2 >= 0, f"steps_2 is {self.steps_2}, must be at least 0")
        require(self.rate_2 > 0 and math.isfinite(self.rate_2), f"rate_2 is {self.rate_2}, must be above 0 and finite")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preconditioned(AlgorithmSettings):
    """Algorithm 2: T_1 steps on p with D_t, p_0 = -∞, at a small a_2; the query head is fixed at 1/k each."""

    precondition: bool = True
    """Without it, plain gradient descent on the same model."""


def two_stage(prior: Prior, settings: TwoStage | None = None, watch: StepWatcher | None = None) -> Trajectory:
    """Run Algorithm 1 and measure where it ends."""
    settings = settings or TwoStage()
    settings.check(prior)
    key = jax.random.key(settings.seed)
    total = settings.steps + settings.steps_2
    model = initial(length=settings.length + 1, a_2=settings.a_2)
    first = _descend(model, prior, settings, "p", settings.rate, settings.steps, key, 0, total, watch)
    model = eqx.tree_at(lambda tree: tree.p, model, jnp.asarray(first.p[-1]))
    model = dataclasses.replace(model, normalise=True)
    second = _descend(
        model, prior, settings, "a_2", settings.rate_2, settings.steps_2, key, settings.steps, total, watch
    )
    return _trajectory("two-stage", prior, settings, [first, second], normalise=True)


def preconditioned(
    prior: Prior, settings: Preconditioned | None = None, watch: StepWatcher | None = None
) -> Trajectory:
    """Run Algorithm 2, for chains of any order, and measure where it ends."""
    settings = settings or Preconditioned()
    settings.check(prior)
    model = initial(length=settings.length + 1, a_2=settings.a_2, order=prior.order, exclude_own=True)
    which = "preconditioned p" if settings.precondition else "p"
    key = jax.random.key(settings.seed)
    run = _descend(model, prior, settings, which, settings.rate, settings.steps, key, 0, settings.steps, watch)
    return _trajectory("preconditioned", prior, settings, [run], normalise=False)


def preconditioned_direction(gradient: Float[Array, "offsets"], order: int) -> Float[Array, "offsets"]:
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


@dataclasses.dataclass(frozen=True)
class _Record:
    """One stage: the state before each step and after the last, the excess that each step saw, and dL/dp."""

    p: Float[np.ndarray, "states offsets"]
    a_2: Float[np.ndarray, "states"]
    excess: Float[np.ndarray, "steps"]
    gradient: Float[np.ndarray, "steps offsets"]


def _descend(
    model: Reduced,
    prior: Prior,
    settings: AlgorithmSettings,
    which: str,
    rate: float,
    steps: int,
    key: PRNGKeyArray,
    done: int,
    total: int,
    watch: StepWatcher | None,
) -> _Record:
    """Take the steps of one stage in compiled chunks; stop where a number is no longer finite."""
    scores = None
    if settings.gradient == "closed" and which != "a_2":
        scores = jnp.asarray(expected_lag_scores(prior, jax.random.fold_in(key, 1 << 20), lags=len(model.p)).mean)
    ps, a_2s = [np.asarray(model.p)[None]], [np.asarray(model.a_2)[None]]
    excesses: list[np.ndarray] = []
    gradients: list[np.ndarray] = []
    for start in range(0, steps, CHUNK):
        # Every chunk has CHUNK steps, so that there is one program; what is beyond the last step is not kept.
        keys = jax.vmap(lambda step: jax.random.fold_in(key, step))(
            jnp.arange(done + start, done + start + CHUNK, dtype=jnp.uint32)
        )
        _, taken = _chunk(
            model, keys, prior, scores, jnp.asarray(rate, jnp.float64), which, settings.batch, settings.epsilon
        )
        kept = min(CHUNK, steps - start)
        p, a_2, excess, gradient = (np.asarray(values)[:kept] for values in taken)
        _check_finite(p, a_2, excess, done + start, which, rate, excesses)
        for store, values in ((ps, p), (a_2s, a_2), (excesses, excess), (gradients, gradient)):
            store.append(values)
        model = eqx.tree_at(lambda tree: (tree.p, tree.a_2), model, (jnp.asarray(p[-1]), jnp.asarray(a_2[-1])))
        if watch is not None:
            watch(done + start + kept, total, float(excess[-1]))
    none = np.zeros(0), np.zeros((0, len(model.p)))
    return _Record(
        np.concatenate(ps),
        np.concatenate(a_2s),
        np.concatenate(excesses) if excesses else none[0],
        np.concatenate(gradients) if gradients else none[1],
    )


@eqx.filter_jit
def _chunk(
    model: Reduced,
    keys: Key[Array, "steps"],
    prior: Prior,
    scores: Float[Array, "offsets"] | None,
    rate: Float[Array, ""],
    which: str,
    batch: int,
    epsilon: float,
) -> tuple[Reduced, tuple[Array, Array, Array, Array]]:
    """CHUNK steps as one program: the state after each step, the excess that it saw, and dL/dp of stage one."""
    contexts, order = prior.alphabet_size**prior.order, prior.order

    def step(model: Reduced, key: PRNGKeyArray) -> tuple[Reduced, tuple[Array, Array, Array, Array]]:
        drawn = chains.sample(prior, length=len(model.p), count=batch, start="stationary", seed=key)

        def mean_excess(p: Float[Array, "offsets"], a_2: Float[Array, ""]) -> Float[Array, ""]:
            moved = eqx.tree_at(lambda tree: (tree.p, tree.a_2), model, (p, a_2))
            return jax.vmap(lambda t, k: model_excess(moved, t, k, epsilon))(drawn.tokens, drawn.kernels).mean()

        p, a_2, gradient = model.p, model.a_2, jnp.zeros_like(model.p)
        if which == "a_2":
            excess, slope = jax.value_and_grad(mean_excess, argnums=1)(p, a_2)
            a_2 = a_2 - rate * slope
        else:
            if scores is None:
                excess, gradient = jax.value_and_grad(mean_excess)(p, a_2)
            else:
                excess, gradient = mean_excess(p, a_2), stage_one_gradient(p, scores, a_2, contexts, order)
            p = p - rate * (preconditioned_direction(gradient, order) if which == "preconditioned p" else gradient)
        return eqx.tree_at(lambda tree: (tree.p, tree.a_2), model, (p, a_2)), (p, a_2, excess, gradient)

    return jax.lax.scan(step, model, keys)


def _check_finite(
    p: Float[np.ndarray, "steps offsets"],
    a_2: Float[np.ndarray, "steps"],
    excess: Float[np.ndarray, "steps"],
    before: int,
    which: str,
    rate: float,
    earlier: list[Float[np.ndarray, "_"]],
) -> None:
    """Raise where something stopped being finite, with the step and the last finite loss."""
    bad = ~(np.isfinite(p).all(axis=1) & np.isfinite(a_2) & np.isfinite(excess))
    if not bad.any():
        return
    first = int(bad.argmax())
    losses = np.concatenate([*earlier, excess[: first + 1]])
    finite = losses[np.isfinite(losses)]
    last = f"{finite[-1]:.6g}" if len(finite) else "none"
    what, option = ("a_2", "rate_2") if which == "a_2" else ("p", "rate")
    raise InputError(
        f"the run diverged at step {before + first + 1}: {what} is no longer finite, the last finite excess loss was "
        f"{last} nats; lower `{option}=`, it is {rate:g}"
    )


def _trajectory(
    algorithm: Algorithm, prior: Prior, settings: AlgorithmSettings, records: list[_Record], normalise: bool
) -> Trajectory:
    """Join the stages, and measure the last state on fresh chains."""
    last = records[-1]
    end = initial(length=settings.length + 1, a_2=0.0, order=prior.order, normalise=normalise)
    end = eqx.tree_at(lambda tree: (tree.p, tree.a_2), end, (jnp.asarray(last.p[-1]), jnp.asarray(last.a_2[-1])))
    models = {"learned": end} if normalise else {"learned": end, **_with_norms(end, prior, settings)}
    evaluation = evaluation_of(models, prior, settings)
    return Trajectory(
        algorithm=algorithm,
        order=prior.order,
        alphabet_size=prior.alphabet_size,
        p=np.concatenate([records[0].p, *(record.p[1:] for record in records[1:])]),
        a_2=np.concatenate([records[0].a_2, *(record.a_2[1:] for record in records[1:])]),
        excess=np.concatenate([record.excess for record in records]),
        gradient=records[0].gradient,
        stage_one_steps=len(records[0].excess),
        normalise=normalise,
        evaluation=evaluation,
        settings=dataclasses.asdict(settings),
    )


def _with_norms(end: Reduced, prior: Prior, settings: AlgorithmSettings) -> dict[str, Reduced]:
    """Algorithm 2's last lines: norms are put back and a_2 is sharpened; to infinity, or to the best of a grid."""
    normed = dataclasses.replace(end, normalise=True)
    sharpened = {f"{a_2:g}": eqx.tree_at(lambda tree: tree.a_2, normed, jnp.float64(a_2)) for a_2 in (*GRID, SHARP)}
    tried = evaluation_of(sharpened, prior, settings, count=256, seed_offset=2).standings
    best = min(GRID, key=lambda a_2: tried[f"{a_2:g}"].excess)
    return {
        f"learned, norms, a_2 = {best:g}": sharpened[f"{best:g}"],
        "learned, norms, a_2 → ∞": sharpened[f"{SHARP:g}"],
    }


def evaluation_of(
    models: dict[str, Reduced], prior: Prior, settings: AlgorithmSettings, count: int = 1024, seed_offset: int = 1
) -> Standings:
    """Reduced models next to k-gram, bag of k and Bayes, on chains that no step has seen."""
    key = jax.random.fold_in(jax.random.key(settings.seed), (1 << 20) + seed_offset)
    return evaluate(models, prior, key, length=settings.length + 1, epsilon=settings.epsilon, count=count)


class Agreement(NamedTuple):
    """dL/dp of one model in the closed form and from sampled chains, with the standard error of the latter."""

    closed: Float[np.ndarray, "offsets"]
    sampled: Float[np.ndarray, "offsets"]
    standard_error: Float[np.ndarray, "offsets"]

    @property
    def cosine(self) -> float:
        """Of the angle between the two."""
        return float(self.closed @ self.sampled / np.linalg.norm(self.closed) / np.linalg.norm(self.sampled))

    @property
    def relative_difference(self) -> float:
        """‖closed - sampled‖ / ‖closed‖."""
        return float(np.linalg.norm(self.closed - self.sampled) / np.linalg.norm(self.closed))

    @property
    def relative_noise(self) -> float:
        """The part of that difference that sampling alone makes: ‖standard error‖ / ‖closed‖."""
        return float(np.linalg.norm(self.standard_error) / np.linalg.norm(self.closed))


def agreement(
    model: Reduced, prior: Prior, key: PRNGKeyArray | int, *, epsilon: float = 1e-3, count: int = 2048
) -> Agreement:
    """Both gradients of stage one at the same model; what is left beyond noise is the finite length and a_2 > 0."""
    key = as_key(key)
    scores = jnp.asarray(expected_lag_scores(prior, jax.random.fold_in(key, 1), lags=len(model.p)).mean)
    closed = stage_one_gradient(model.p, scores, model.a_2, prior.alphabet_size**prior.order, prior.order)
    return Agreement(np.asarray(closed), *mean_and_error(_sampled_gradients(model, prior, key, epsilon, count)))


@eqx.filter_jit
def _sampled_gradients(
    model: Reduced, prior: Prior, key: PRNGKeyArray, epsilon: float, count: int
) -> Float[Array, "{count} offsets"]:
    drawn = chains.sample(prior, length=len(model.p), count=count, start="stationary", seed=key)

    def one(pair: tuple[Array, Array]) -> Float[Array, "offsets"]:
        return jax.grad(lambda p: model_excess(eqx.tree_at(lambda tree: tree.p, model, p), *pair, epsilon))(model.p)

    return jax.lax.map(one, (drawn.tokens, drawn.kernels), batch_size=64)
