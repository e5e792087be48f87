"""docs/reproduce.md, made from the experiments and from what is recorded at the paper's budget."""

from __future__ import annotations

from pathlib import Path

from anyorder.experiments import recorded
from anyorder.experiments.printed import RULE
from anyorder.experiments.registry import EXPERIMENTS
from anyorder.files import Row
from anyorder.report.differences import differences
from anyorder.report.page import shown

#: Experiments of App. H and one of our own: what is recorded, in the order of the page.
RECORDED = ("depth", "presets", "attention-maps", "token-noise", "transition-noise", "bits", "grid", "unknown-order")
#: Tables with more rows than this are left to the file.
LONG = 16
#: Long tables that are shown with the values of a column as heads: what names a row, that column, and what is shown.
WIDE = {("attention-maps", "offsets"): (("preset", "order"), "offset", "weight")}
#: Figures that the page shows, by the id of their experiment.
FIGURES = {"depth": ("one-layer",), "attention-maps": ("offsets", "layer-1")}

_HEAD = """# Reproducing the paper

```sh
anyorder reproduce                                    # all, quick
anyorder reproduce depth bits --out two               # some
anyorder reproduce depth --budget paper --out paper   # 30,000 steps and five seeds, as in App. H.5
anyorder reproduce list                               # ids, and what each costs
```

The result is one page, `index.html`, that needs no network: for every experiment what the paper says, how we read it,
what was measured, and how it was run. `<id>.json` has all numbers of an experiment: tables with mean, standard
deviation and each seed, printed values beside ours, steps, seeds, preset, config, versions and minutes. Beside it lie
every table as CSV, every figure as PNG and SVG, and the trained models. The same command again goes on where it was
interrupted; a model that two experiments need is trained once. The command says how long it takes before it starts.

"""

_BUDGETS = """
## Budgets

`paper` has the 30,000 steps of App. H.5 and five seeds. `quick` has the same architecture, batch and width, but 2,000
steps with a rate of 3e-3 that decays to zero, and three seeds. It shows that two layers are better than one, and what
noise does to the loss. It does not show the attention of App. H.1: after 2,000 steps layer 2 of the preset `paper` has
hardly more mass on the matching positions than uniform attention. `tiny` shows only that everything runs.

## Readings

- **Losses.** Excess is over the true loss on the same sequences, mean over predictions from a full window, with the
  expectation over the next token taken exactly. "As published" is the evaluation of the authors' code: one random
  kernel, all positions, sampled losses of model and optimum on different sequences, and the absolute value.
- **Noise.** The paper does not say which truth is subtracted. Reading A takes the distribution that each observed token
  was really drawn from; reading B the entropy of the undisturbed chain; reading C measures the model that was trained
  with noise on sequences without. Over two symbols, replacing half of the tokens by the other one leaves a fair coin:
  reading A must be zero there, and readings B and C log 2 less the clean entropy, about 0.22. The text replaces a token
  by an "alternative", that is another one; a second table shows what comes out if it is drawn from all symbols. Under
  token noise two references stand beside the models: the exact filter that knows the kernel, which no predictor from
  the tokens can beat, and the Bayes predictor that does not know it, by integration over all kernels.
- **Attention maps** are those of the preset `paper` and, next to them, of the preset `floor`.
- **Bits.** Weights, activations, queries, keys, values and attention weights are rounded wherever they enter a matrix
  product, scaled to the largest entry of each vector, to 2^b - 1 levels around zero; attention weights, which are never
  negative, to 2^b levels from zero. Two bits are the levels -1, 0, 1 and 0, 1/3, 2/3, 1. Sums, norms and the
  denominator of the softmax are kept.
- **Precision.** To count bits, every weight and every intermediate number of a construction is rounded to b significant
  bits. The constructions with an anchor (`dyadic`, `attention-only`, `bayes`) rely on the rounding of the type that
  they are built for, so their bits are read off the orders that float32 and float64 reach.
"""


def page(folder: Path = recorded.FOLDER) -> str:
    """The page as Markdown."""
    listed = ["| id | what | where | quick | paper |", "|---|---|---|---|---|"]
    listed += [
        f"| `{one.id}` | {one.title} | {one.where} | {one.minutes['quick']:g} min | {one.minutes['paper']:g} min |"
        for one in EXPERIMENTS.values()
    ]
    found = {id: recorded.read(id, folder) for id in RECORDED}
    parts = [
        _HEAD,
        "\n".join(listed),
        "\n\nMinutes are those of each experiment alone on two free cores, less where models are shared; those in the "
        "recorded files were taken beside other work.\n",
        _BUDGETS,
    ]
    parts.append(f"\n## At the paper's budget\n\n{RULE} ± is over seeds, in `bits` over sequences.\n")
    parts += [_section(record) for record in found.values() if record is not None]
    missing = [f"`{id}`" for id, record in found.items() if record is None]
    if missing:
        parts.append(f"\nNot recorded yet: {', '.join(missing)}.\n")
    tables = {
        id: {name: table["rows"] for name, table in record["tables"].items()}
        for id, record in found.items()
        if record is not None
    }
    parts += ["\n## Where ours differ from print, and what was tried\n\n"]
    parts += [f"- {paragraph}\n" for paragraph in differences(tables)]
    parts.append('\nIn Python: `registry.EXPERIMENTS["depth"].run(Task("quick", seeds=3))` gives the tables.\n')
    return "".join(parts)


def _section(record: Row) -> str:
    id, seeds = record["id"], record["seeds"]
    models = f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"
    trained = f"{record['steps']:,} steps, {models}" if record["steps"] else "no training"
    lines = [f"\n### {record['title']} (`{id}`)\n", f"{record['where']}; preset `{record['preset']}`, {trained}.\n"]
    judged = record["verdict"]
    if judged is not None:
        counts = "; ".join(f"`{name}` {count}" for name, count in judged["agree"].items())
        lines.append(f"Agreement with print: {counts}.\n")
    lines += [f"{note}\n" for note in record["notes"]]
    for name, table in record["tables"].items():
        if (id, name) in WIDE:
            lines += [f"{table['caption']}\n", markdown(wide(table["rows"], *WIDE[id, name])) + "\n"]
        elif len(table["rows"]) <= LONG:
            lines += [f"{table['caption']}\n", markdown(table["rows"]) + "\n"]
        else:
            lines.append(f"{table['caption']} {len(table['rows'])} rows: table `{name}` of the file.\n")
    # A path that holds on GitHub and for Sphinx, which copies pictures from beside its root.
    lines += [f"![{record['figures'][name]}](../results/paper/{id}/{name}.png)\n" for name in FIGURES.get(id, ())]
    lines.append(f"All numbers and each seed: `results/paper/{id}.json`.\n")
    return "\n".join(lines)


def wide(rows: list[Row], keys: tuple[str, ...], by: str, value: str) -> list[Row]:
    """One row for each value of the keys, with mean and deviation of `value` under each value of the column `by`.

    >>> wide([{"k": 1, "offset": 0, "weight_mean": 0.25, "weight_std": 0.0104}], ("k",), "offset", "weight")
    [{'k': 1, '0_mean': 0.25, '0_std': 0.01}]
    """
    heads = sorted({row[by] for row in rows})
    found: dict[tuple[object, ...], Row] = {}
    for row in rows:
        named = {key: row[key] for key in keys}
        empty = {f"{head}_{end}": None for head in heads for end in ("mean", "std")}
        own = found.setdefault(tuple(named.values()), named | empty)
        own |= {f"{row[by]}_{end}": round(row[f"{value}_{end}"], 3) for end in ("mean", "std")}
    return list(found.values())


def markdown(rows: list[Row]) -> str:
    """Rows as a table of Markdown: mean and deviation in one column, what each seed gave left to the file.

    >>> print(markdown([{"k": 1, "loss_mean": 0.5, "loss_std": 0.01, "loss_seeds": [0.5], "loss_agrees": True}]))
    | k | loss | loss agrees |
    |---|---|---|
    | 1 | 0.5 ± 0.01 | yes |
    """
    merged = {
        name.removesuffix("_mean") + end for name in rows[0] if name.endswith("_mean") for end in ("_std", "_seeds")
    }
    names = [name for name in rows[0] if name not in merged and any(row[name] is not None for row in rows)]

    def cell(row: Row, name: str) -> str:
        value = row[name]
        if isinstance(value, list):
            return " ".join(shown(entry) for entry in value)
        deviation = row.get(f"{name.removesuffix('_mean')}_std") if name.endswith("_mean") else None
        return shown(value) if deviation is None else f"{shown(value)} ± {deviation:.2g}"

    heads = [name.removesuffix("_mean").replace("_", " ") for name in names]
    lines = [heads, ["---"] * len(names), *([cell(row, name) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" if cells != lines[1] else f"|{'|'.join(cells)}|" for cells in lines)
