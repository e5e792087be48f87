"""Readings of "the model" in the paper's text and code: the same data, several architectures."""

from __future__ import annotations

import dataclasses

from anyorder.papers.experiment import OnPage, Result, Table, Task, experiment, of_preset
from anyorder.papers.figure_data import Plot
from anyorder.papers.two_can.experiments import as_published, learned_code
from anyorder.papers.two_can.experiments.depth import DATA, excess_chart, of_judged
from anyorder.papers.two_can.printed import BITS, DEPTH
from anyorder.sweeps.analysis import spread
from anyorder.training.config import Config
from anyorder.training.reference import held_out

#: Limit on the seeds of all presets but `paper`, which only explain a difference.
SEEDS = 3
CAPTION = (
    "Excess cross-entropy over the true loss at order 2, T = 32, mean ± standard deviation over seeds (at most three "
    "except for the preset paper), next to the printed value for two layers; attention of each seed, and the Frobenius "
    f"distance of layer 2 to the pseudo-attention map (App. H.4 prints {BITS['32'].mean:.2f}), next to that of uniform "
    "attention."
)


def config(task: Task, name: str) -> Config:
    """A preset, or Theorem 2's shape: two heads in layer 1 and one in layer 2."""
    return of_preset(task, "paper", DATA, heads=[2, 1]) if "heads" in name else of_preset(task, name, DATA)


NAMES = {
    "paper": "App. B.1's stack, as the text describes it",
    "paper, heads 2 1": "the same with two heads in layer 1, the shape of Theorem 2",
    "published": "the authors' code: another MLP, key positions through W_K, shared kernels, loss over all positions",
    "gpt2": "GPT-2's blocks with absolute positions, loss over all positions",
}


@experiment(
    "Candidate models of the paper",
    "App. B.1, App. H.5 and the published code",
    {"tiny": 0.4, "quick": 4.5, "paper": 55},
    paper="H.5 says GPT-2 based; the text has the stack of App. B.1; the code has a third architecture.",
    reading="Sizes, steps and data are those of `depth` for all. The training page lists how the presets differ.",
    on_page=OnPage(),
)
def presets(task: Task) -> Result:
    """Train each model; evaluate it by our method and by that of the published code."""
    fewer = dataclasses.replace(task, seeds=min(task.seeds, SEEDS))
    names = list(NAMES) if task.budget != "tiny" else ["published"]
    rows, published = [], []
    tokens = held_out(*config(task, "paper").evaluation).tokens[:, :-1]
    uniform = float(learned_code.uniform_distances(tokens, DATA.order).mean())
    for part, name in task.parts(names):
        trained = part.train(config(task if name == "paper" else fewer, name))
        models, reference = trained.summary.models, trained.summary.reference
        excess = spread([model.excess for model in models])
        rows.append(
            {
                "model": name,
                "what": NAMES[name],
                "excess": excess,
                **DEPTH[2].beside("excess", excess),
                "floor": reference.floor_excess,
                "layer_1_on_last_k": [sum(head.offset_mass) for model in models for head in model.attention[0]],
                "layer_2_on_matches": [model.attention[1][0].matching_mass for model in models],
                "chance": reference.chance_matching_mass,
                "distance_to_ideal": [model.attention[1][0].distance for model in models],
                "uniform_distance": uniform,
            }
        )
        published.append({"model": name, **as_published.row(task, trained.models, DATA, DEPTH[2])})
    ticks = {row["model"].replace(", ", "\n"): float(place) for place, row in enumerate(rows)}
    chart = excess_chart("model", rows, ticks, [DEPTH[2]] * len(rows), style="s:")
    caption = "Excess loss of the candidate models, mean and standard deviation over seeds."
    tables = {"excess": Table(CAPTION, rows), "as_published": Table(as_published.CAPTION, published)}
    return of_judged(fewer, tables, {"excess": Plot(caption, [chart], width=4.6)})
