"""`anyorder dynamics`: gradient descent on the reduced models of App. C and D."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Group, RenderableType
from rich.table import Table

from anyorder import chains, io, papers
from anyorder.chains.config import PRIORS
from anyorder.cli.command import Command, Outcome, check_kernel_alone, facts, progress, result_table, table
from anyorder.errors import require
from anyorder.io.gates import Gate
from anyorder.papers.two_can import dynamics
from anyorder.papers.two_can.dynamics.settings import Algorithm, Preconditioned, TwoStage
from anyorder.training import devices


class Dynamics(TwoStage, Preconditioned, Command):
    """Run the paper's training algorithms on the reduced model, and measure the learned attention and losses.

    Examples:
      anyorder dynamics two-stage --out run
      anyorder dynamics two-stage --sweep 32 64 128 256 512 1024 --out sweep
      anyorder dynamics preconditioned --order 3 --out run
      anyorder dynamics preconditioned --prior dirichlet --jointly --out run --json

    The reduced model has one score p_i for every offset i of layer 1, and the inverse temperature a_2 of layer 2.
    """

    next = "anyorder explore --models {out}"
    algorithm: Annotated[Algorithm, tyro.conf.Positional] = "two-stage"
    """two-stage: Algorithm 1, first-order chains. preconditioned: Algorithm 2, any order."""
    out: Annotated[str, Gate("fill")] = "dynamics"
    """Folder for trajectory.npz, index.html and run.png (and sweep.png)."""
    prior: Annotated[str, PRIORS] = "floored"
    """The prior over kernels; preconditioned: reversible. A prior that violates an assumption still runs. The priors
    named binary satisfy the second-order assumption, with contexts read oldest or newest token first."""
    kernel: Annotated[str | None, Gate("read")] = None
    """One kernel for all chains: .npy of shape (S,)*k + (S,), oldest token first. Sets order and alphabet."""
    order: int = 1
    """Order k of the chains; preconditioned: 2."""
    alphabet_size: int = 3
    """Number of symbols S; preconditioned: 2."""
    gamma: float = 0.2
    """γ of the floored prior and of the assumptions of App. C."""
    sweep: tuple[int, ...] = ()
    """Also run the two-stage algorithm at these T and fit exponents; the six T of the example take minutes."""
    jointly: bool = False
    """Also train both heads and a_2 jointly: from p = 0, from the run's end, and from dyadic and triadic codes."""

    @classmethod
    def default(cls, given: Mapping[str, Any]) -> Dynamics:
        """Defaults of Algorithm 2, which is for higher orders.

        >>> Dynamics.default({"algorithm": "preconditioned"}).order
        2
        """
        check_kernel_alone(given)
        if given.get("algorithm", "two-stage") == "two-stage":
            return cls()
        own = vars(Preconditioned())
        return cls(algorithm="preconditioned", prior="reversible", order=2, alphabet_size=2, **own)

    def run(self) -> Outcome:
        """Check the assumptions, run, measure, draw."""
        two_stage = self.algorithm == "two-stage"
        require(not (two_stage and self.jointly), "--jointly continues Algorithm 2; use it with preconditioned")
        require(two_stage or not self.sweep, "--sweep applies to Algorithm 1; use it with two-stage")
        devices.prepare()
        import jax

        from anyorder.report.descent_page import write_run

        prior, folder = self._prior(), Path(self.out)
        key = jax.random.fold_in(jax.random.key(self.seed), 1 << 21)
        limit, sweep, joint = None, None, None
        with io.atomic.locked(folder), progress() as bar:
            task = bar.add_task("steps", total=self.steps + (self.steps_2 if two_stage else 0))

            def watch(step: int, total: int, excess: float) -> None:
                bar.update(task, completed=step, total=total, description=f"steps, excess {excess:.4f}")

            def counted(what: str) -> dynamics.RunWatcher:
                runs = bar.add_task(what, total=None)
                return lambda done, total: bar.update(runs, completed=done, total=total)

            if two_stage:
                settings = TwoStage(**self._fields(TwoStage))
                trajectory = dynamics.two_stage(prior, settings, watch)
            else:
                trajectory = dynamics.preconditioned(prior, Preconditioned(**self._fields(Preconditioned)), watch)
                limit = dynamics.limit(trajectory.p[-1], prior, key, length=self.length + 1)
            start = dynamics.initial(length=self.length + 1, a_2=self.a_2, order=prior.order, exclude_own=not two_stage)
            gradients = dynamics.agreement(start, prior, key, epsilon=self.epsilon)
            checks = chains.conditions(prior, self.gamma, key)
            if self.sweep:
                sweep = dynamics.sweep_lengths(prior, settings, self.sweep, counted("lengths"))
            if self.jointly:
                further = dynamics.JointTraining(length=self.length, epsilon=self.epsilon, seed=self.seed)
                joint = dynamics.train_jointly(prior, further, trajectory.p[-1], counted("starts"))
            names = {"trajectory": "trajectory.npz"}
            dynamics.write_trajectory(trajectory, folder / names["trajectory"])
            names |= write_run(folder, trajectory, sweep, self.next_step({}))
        report, shown = described_run(trajectory, checks, gradients, limit)
        if sweep is not None:
            report["sweep"] = sweep
            shown.append(sweep_table(sweep))
        if joint is not None:
            report["jointly"] = {
                "starts": {
                    name: {"attention": one.attention[:8], **facts(one, "query_attention", "a_2", "offsets")}
                    for name, one in joint.found.items()
                },
                "standings": joint.evaluation.standings,
            }
            shown += joint_tables(joint)
        paths = {name: str(folder / file) for name, file in names.items()}
        shown.append("\n".join(f"{name.replace('_', ' ')}: {path}" for name, path in paths.items()))
        return Outcome({**report, "out": self.out, **paths}, Group(*shown))

    def _fields(self, kind: type[TwoStage | Preconditioned]) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(kind)}

    def _prior(self) -> chains.Prior:
        if self.kernel is not None:
            return chains.PointMass(chains.Kernel(io.sequence_files.read_array(self.kernel)))
        prior = chains.named_prior(self.prior, self.order, self.alphabet_size, gamma=self.gamma)
        require(
            len(prior.orders) == 1, f"the prior {self.prior} has several orders; choose one that has a single order"
        )
        return prior


def described_run(
    trajectory: dynamics.Trajectory,
    checks: list[chains.Check],
    gradients: dynamics.Agreement,
    limit: dynamics.LimitDistances | None,
) -> tuple[dict[str, object], list[RenderableType]]:
    """A run as JSON-ready numbers and as text: violated assumptions, the attention, losses next to the floor."""
    order, row = trajectory.order, trajectory.attention[trajectory.stage_one_steps]
    violated = [check for check in checks if not check.holds]
    report = {
        **facts(trajectory, "algorithm", "order", "alphabet_size", "settings"),
        "assumptions": checks,
        "violated": [check.name for check in violated],
        "leads_at_every_step": trajectory.leads,
        "spread_of_p_1_to_k": trajectory.spread,
        "attention": row[: order + 2],
        "a_2": float(trajectory.a_2[-1]),
        "true_loss": trajectory.true_loss,
        "bayes_floor": trajectory.floor,
        "standings": trajectory.evaluation.standings,
        "gradients": facts(gradients, "cosine", "relative_difference", "relative_noise"),
    }
    assumed = "\n".join(["assumptions that this prior violates:", *(f"  {check}" for check in violated)])
    mass = ", ".join(f"{row[offset]:.4f}" for offset in range(1, order + 1))
    shown: list[RenderableType] = [
        assumed if violated else f"all {len(checks)} assumptions on the prior hold",
        f"softmax(p) at offsets 1 … {order}: {mass} (target {1 / order:.4f} each); "
        f"{'ahead' if trajectory.leads else 'NOT ahead'} of all others at every step"
        + (f"; largest relative difference among them {trajectory.spread:.1e}" if order > 1 else ""),
        f"a_2: {trajectory.a_2[0]:.3g} → {trajectory.a_2[-1]:.3g};  L* = {trajectory.true_loss:.4f} nats",
        f"gradient at the start, closed form against 2048 chains: cosine {gradients.cosine:.4f}, relative difference "
        f"{gradients.relative_difference:.3f} (sampling noise {gradients.relative_noise:.3f})",
        standings_table(trajectory.evaluation),
    ]
    if limit is not None:
        report["limit"] = limit
        shown.append(
            "with norms and a_2 → ∞, total variation on contexts seen before: "
            f"{limit.to_bag:.4f} to the bag of k, {limit.to_kgram:.4f} to the k-gram "
            f"(these two are {limit.kgram_to_bag:.4f} apart)"
        )
    return report, shown


def standings_table(evaluation: dynamics.Standings) -> Table:
    """All predictors on the same chains: excess over L*, and sup-norm error."""
    return result_table(
        papers.Table("", [{"predictor": name, **one._asdict()} for name, one in evaluation.standings.items()])
    )


def sweep_table(sweep: dynamics.LengthSweep) -> Group:
    """A table of the lengths, and the fitted exponents; "p at 1" is softmax(p)_1."""
    numbers = ("excess", "± s.e.", "floor", "k-gram", "sup norm")
    columns = {"T": "", "p at 1": ".4f", "a_2": ".2f", **dict.fromkeys(numbers, ".4f")}
    rows = []
    for length, attention, a_2, learned, kgram, bayes in sweep.points:
        floor = None if bayes is None else bayes.excess
        losses = (learned.excess, learned.excess_error, floor, kgram.excess, learned.generalisation)
        rows.append((length, attention, a_2, *losses))
    laws = {"excess": sweep.excess, "sup-norm error": sweep.generalisation, "Bayes floor": sweep.floor}
    fitted = [
        f"{name} ~ (T+1)^({law.exponent:.3f} ± {law.standard_error:.3f})"
        for name, law in laws.items()
        if law is not None
    ]
    return Group(table(columns, rows), ";  ".join(fitted))


def joint_tables(runs: dynamics.JointRuns) -> list[RenderableType]:
    """Tables of the end points of all starts, and of their losses."""
    rows = []
    for name, one in runs.found.items():
        heads = (one.attention[: len(one.query_attention) + 2], one.query_attention)
        rows.append((name, *(" ".join(f"{value:.3f}" for value in head) for head in heads), one.a_2))
    columns = {"start": "<", "attention at offsets 0, 1, …": "<", "query at 0, 1, …": "<", "a_2": ".2f"}
    return [table(columns, rows, "both heads and a_2 trained jointly"), standings_table(runs.evaluation)]
