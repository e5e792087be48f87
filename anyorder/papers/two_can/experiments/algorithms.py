"""Algorithms 1 and 2 (Sec. 5, App. C and D): runs, the sweep over T, and the final predictors."""

from __future__ import annotations

import dataclasses

import jax

from anyorder.chains import Dirichlet, Floored, Prior, Reversible
from anyorder.io.atomic import Row
from anyorder.io.trees import as_json
from anyorder.papers.experiment import Budget, Result, Table, TableRow, Task, experiment
from anyorder.papers.figure_data import Figure
from anyorder.papers.two_can import dynamics
from anyorder.papers.two_can.dynamics import Preconditioned, Standings, StepWatcher, TwoStage
from anyorder.papers.two_can.dynamics.lengths import over_lengths, over_steps

#: Rows that satisfy the assumptions of App. C, with a floor of γ/S.
PRIOR = Floored(1, 3, gamma=0.2)
LENGTHS: dict[Budget, tuple[int, ...]] = {
    "tiny": (16, 32, 64),
    "quick": (32, 64, 128, 256, 512, 1024),
    "paper": (32, 64, 128, 256, 512, 1024, 2048),
}
ORDERS: dict[Budget, tuple[int, ...]] = {"tiny": (2,), "quick": (2, 3), "paper": (2, 3, 4)}


def standings(evaluation: Standings, **about: int | str) -> list[Row]:
    """Every predictor of an evaluation as a row."""
    return [
        {**about, "predictor": name, **as_json(standing), "true_loss": evaluation.true_loss}
        for name, standing in evaluation.standings.items()
    ]


def first_algorithm(settings: TwoStage, watch: StepWatcher) -> Result:
    """A run of Algorithm 1 on rows with a floor: its end, facts about it, and its trajectory."""
    run = dynamics.two_stage(PRIOR, settings, watch)
    facts = {
        "attention_at_offset_1": float(run.attention[run.stage_one_steps, 1]),
        "p_1_leads": run.leads,
        "a_2_start": float(run.a_2[0]),
        "a_2_end": float(run.a_2[-1]),
    }
    about = "The run itself: attention at offset 1 after stage one, and whether p_1 led after every step."
    return Result(
        {
            "run": Table("The end of the run, on fresh chains; losses relative to L*.", standings(run.evaluation)),
            "facts": Table(about, [facts]),
        },
        {"run": over_steps("Positional scalars, a_2 and loss over the steps of both stages.", run)},
        settings={**dataclasses.asdict(settings), "alphabet_size": PRIOR.alphabet_size, "gamma": PRIOR.gamma},
    )


@experiment(
    "Algorithm 1: learning to attend to the previous token",
    "Sec. 5, App. C, Theorem on the two stages",
    {"tiny": 0.4, "quick": 1.1, "paper": 4},
    paper="Gradient descent on the positional scalars alone makes p_1 the largest at every step and attention at "
    "offset 1 go to one; then a_2 grows, and loss and generalisation error vanish as T grows.",
    reading="The theorem is about T → ∞; at every T the run stops at a finite a_2 and above the k-gram, so T is swept. "
    "Assumptions hold for the prior used, rows with a floor of γ/S with γ = 0.2.",
)
def two_stage(task: Task) -> Result:
    """One run at T = 128 with its trajectory, then the sweep over T."""
    lengths, tiny = LENGTHS[task.budget], task.budget == "tiny"
    settings = TwoStage(length=32, batch=32, steps=60, steps_2=60) if tiny else TwoStage()
    share = 1 / (len(lengths) + 1)
    one = first_algorithm(settings, lambda step, steps, _: task.watch(share * step / steps, "one run"))
    swept = dynamics.sweep_lengths(
        PRIOR, settings, lengths, lambda done, total: task.watch(share * (1 + done), f"T = {lengths[done]}")
    )
    points = [
        {"length": point.length, "attention": point.attention, "a_2": point.a_2}
        | {
            f"{of}_{name}": value
            for of in ("learned", "kgram", "bayes")
            for name, value in as_json(getattr(point, of)).items()
        }
        for point in swept.points
        if point.bayes is not None
    ]
    laws = {"excess": swept.excess, "generalisation": swept.generalisation, "floor": swept.floor}
    return Result(
        {
            **one.tables,
            "sweep": Table("Algorithm 1 at several T, next to the k-gram and the Bayes predictor.", points),
            "exponents": Table(
                "Power laws in T + 1, by least squares of logarithms.",
                [{"of": name, **as_json(law)} for name, law in laws.items() if law is not None],
            ),
        },
        {
            **one.figures,
            "sweep": over_lengths("Excess loss and sup-norm error against T, with fitted power laws.", swept),
        },
        settings=one.settings,
    )


@experiment(
    "Algorithm 2: uniform attention over the last k",
    "App. D, any-order theorem",
    {"tiny": 0.5, "quick": 2.2, "paper": 6},
    paper="With the preconditioner p_1 = … = p_k stay equal, attention goes to 1/k each, and the model is said to "
    "become a conditional k-gram.",
    reading="Equal weights keep the tokens of a window but not their order: the limit is the bag of k. The limiting "
    "predictor, and the result of further training, are measured on reversible and on Dirichlet chains.",
)
def preconditioned(task: Task) -> Result:
    """Algorithm 2 on reversible and on Dirichlet chains, and gradient descent beyond it."""
    tiny = task.budget == "tiny"
    kinds: dict[str, type[Prior]] = {"reversible": Reversible} | ({} if tiny else {"Dirichlet": Dirichlet})
    cells = [(order, name, kind(order, 2)) for order in ORDERS[task.budget] for name, kind in kinds.items()]
    facts: list[TableRow] = []
    rows, jointly = [], []
    figures: dict[str, Figure] = {}
    settings = Preconditioned(batch=128)
    if tiny:
        settings = dataclasses.replace(settings, length=32, batch=32, steps=60)
    for part, (order, name, prior) in task.parts(cells):
        part.watch(0.0, f"order {order}, {name} chains")
        run = dynamics.preconditioned(prior, settings)
        end = dynamics.limit(run.p[-1], prior, jax.random.key(1), length=settings.length + 1)
        rows += standings(run.evaluation, order=order, chains=name)
        facts.append(
            {
                "order": order,
                "chains": name,
                "attention": " ".join(f"{value:.4f}" for value in run.attention[-1, 1 : order + 1]),
                "spread_of_p": run.spread,
                "leads": run.leads,
                "limit_to_bag": end.to_bag,
                "limit_to_kgram": end.to_kgram,
                "kgram_to_bag": end.kgram_to_bag,
            }
        )
        if name == "reversible":
            rise = f"Order {order}, reversible chains: p_1 … p_k rise together; the loss next to k-gram and bag of k."
            figures[f"order-{order}"] = over_steps(rise, run)
        further = dynamics.JointTraining(length=settings.length, steps=60 if tiny else 1000)
        found = dynamics.train_jointly(prior, further, run.p[-1])
        for row in standings(found.evaluation, order=order, chains=name):
            start = found.found.get(row["predictor"])
            offsets = None if start is None else " ".join(map(str, start.offsets))
            jointly.append({**row, "offsets": offsets, "a_2": None if start is None else float(start.a_2)})
    return Result(
        {
            "limit": Table(
                "What Algorithm 2 learns: attention at offsets 1 … k, the relative spread of p_1 … p_k, and the total "
                "variation distance of its limit (norms, a_2 → ∞) to the bag of k and to the k-gram, on seen "
                "contexts.",
                facts,
            ),
            "losses": Table("Its predictor next to k-gram, bag of k and Bayes; losses relative to L*.", rows),
            "jointly": Table(
                "Both heads and a_2 trained jointly from several starts: the offsets that get at least a twentieth of "
                "the first layer's attention, and the loss relative to L*.",
                jointly,
            ),
        },
        figures,
        settings={**dataclasses.asdict(settings), "alphabet_size": 2},
    )
