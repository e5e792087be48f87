"""Figures and tables of docs/atlas.md, from `results/probe/*.json`: `python -m benchmarks.atlas --page`."""

import json
import re
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import BoundaryNorm, ListedColormap
from scipy import optimize, stats

from anyorder.estimators.match_lengths import match_lengths
from benchmarks.atlas import ATLAS, IMAGES, RESULTS, ROOT

#: Largest match length of the mixture on text, length of its contexts, and their number.
LONGEST, CONTEXT, WINDOWS = 5, 256, 120
#: Kinds of heads that compare tokens, in the order of the tables.
KINDS = ("k-gram", "graded", "bag", "skip", "diffuse")
STRONGEST = 8


def by_length(head):
    """Attention relative to the row's mean at match length 0 … K: none agree, the next offset is flipped, all agree."""
    profile = head["agreement"]
    return np.array([profile["none"], *profile["flipped"][1:], profile["all"]])


def strength(head):
    return head["agreement"]["all"] - head["agreement"]["none"]


def comparing(report):
    """Heads that compare tokens, strongest first."""
    return sorted((head for head in report["heads"] if head["kind"] != "none"), key=strength, reverse=True)


def interval(count, total):
    """Share with its 95% interval (Clopper and Pearson)."""
    low = stats.beta.ppf(0.025, count, total - count + 1) if count else 0.0
    high = stats.beta.ppf(0.975, count + 1, total - count) if count < total else 1.0
    return f"{count} of {total} ({low:.0%} to {high:.0%})"


def suffix_share(head):
    """(alone_j - none) / (all - none), mean over j ≥ 2, and its standard error: 0 if older offsets need newer ones."""
    profile, error, rise = head["agreement"], head["agreement_error"], strength(head)
    alone = (np.array(profile["alone"][1:]) - profile["none"]) / rise
    return float(alone.mean()), float(np.linalg.norm(error["alone"][1:]) / len(alone) / rise)


def grows(head):
    """Whether the profile by match length rises as a whole, and no step falls by more than two standard errors."""
    values, error = by_length(head), head["agreement_error"]
    errors = np.array([error["none"], *error["flipped"][1:], error["all"]])
    falls = np.diff(values) < -2 * np.hypot(errors[1:], errors[:-1])
    return not falls.any() and values[-1] > values[0]


def texts():
    """The words and punctuation marks of the text in `examples`, which does not change with the repository."""
    text = (ROOT / "examples" / "alice.txt").read_text(encoding="utf-8")
    return {"first chapter of Alice": re.findall(r"\w+|[^\w\s]", text)}


def mixture(words, seed=0):
    """Weights by match length of the best predictor that copies the token after each earlier place, on a text.

    p(x) = (1 - e) Σ_i w_ℓ(n, i) [x_i = x] / Σ_i w_ℓ(n, i) + e / V, with w and e of maximum likelihood. Returns log w_ℓ
    less log w_K, and their standard errors over windows by the bootstrap.
    """
    names, tokens = np.unique(words, return_inverse=True)
    starts = np.random.default_rng(seed).integers(len(tokens) - CONTEXT - 1, size=WINDOWS)
    counts, hits = [], []  # by query: number of keys of each match length, and of correct ones
    for start in starts:
        window = tokens[start : start + CONTEXT + 1]
        lengths = match_lengths(window[:-1], LONGEST)
        for n in range(CONTEXT // 2, CONTEXT):
            keys = lengths[n] if n < CONTEXT else None
            right = window[:-1] == window[n + 1]
            counts.append(np.bincount(keys[keys >= 0], minlength=LONGEST + 1))
            hits.append(np.bincount(keys[(keys >= 0) & right], minlength=LONGEST + 1))
    counts, hits = (np.array(values, float).reshape(WINDOWS, -1, LONGEST + 1) for values in (counts, hits))

    def fit(chosen):
        count, hit = counts[chosen].reshape(-1, LONGEST + 1), hits[chosen].reshape(-1, LONGEST + 1)

        def loss(given):
            weights, rest = np.exp(np.append(given[:-1], 0.0)), 1 / (1 + np.exp(-given[-1]))
            total = count @ weights
            copied, first = hit @ weights / total, np.append(given[:-1], 0.0)
            p = (1 - rest) * copied + rest / len(names)
            slope = (1 - rest) / p / total
            by_weight = -(slope[:, None] * (hit - copied[:, None] * count)).mean(axis=0) * np.exp(first)
            by_rest = -((1 / len(names) - copied) / p).mean() * rest * (1 - rest)
            return -np.log(p).mean(), np.append(by_weight[:-1], by_rest)

        found = optimize.minimize(loss, np.append(np.linspace(-6, -1, LONGEST), -2.0), jac=True, method="L-BFGS-B")
        return np.append(found.x[:-1], 0.0)

    generator = np.random.default_rng([seed, 1])
    again = [fit(generator.integers(WINDOWS, size=WINDOWS)) for _ in range(20)]
    return fit(np.arange(WINDOWS)), np.std(again, axis=0)


def grid(axes, name, report):
    """Layers × heads: grey none, colours by mean length, letters for kinds without one."""
    heads, longest = report["heads"], report["settings"]["max_length"]
    values = np.zeros((1 + max(head["layer"] for head in heads), 1 + max(head["head"] for head in heads)))
    for head in heads:
        place = head["layer"], head["head"]
        if head["mean_length"] is not None:
            values[place] = np.clip(round(head["mean_length"]), 1, longest)
        elif head["kind"] != "none":
            axes.text(place[1], place[0], head["kind"][0], ha="center", va="center", fontsize=6)
    colours = ListedColormap(["#E8E8E8", *plt.colormaps["viridis"](np.linspace(0.9, 0.0, longest))])
    norm = BoundaryNorm(np.arange(longest + 2) - 0.5, colours.N)
    image = axes.imshow(values, cmap=colours, norm=norm, aspect="auto", origin="lower")
    axes.set(title=name, xlabel="head", ylabel="layer")
    return image, longest


def draw(reports, mixtures):
    figure, panels = plt.subplots(1, len(reports), figsize=(3.2 * len(reports), 4.6), layout="constrained")
    for axes, (name, report) in zip(np.atleast_1d(panels), reports.items(), strict=True):
        image, longest = grid(axes, name, report)
    bar = figure.colorbar(image, ax=panels, ticks=range(longest + 1))
    bar.ax.set_yticklabels(["none", *map(str, range(1, longest)), f"≥ {longest}"])
    bar.set_label("mean match length; d: diffuse, s: skip")
    figure.savefig(IMAGES / "atlas.png", dpi=130)
    figure, panels = plt.subplots(1, len(reports), figsize=(3.2 * len(reports), 3.4), sharey=True, layout="constrained")
    for axes, (name, report) in zip(np.atleast_1d(panels), reports.items(), strict=True):
        for head in comparing(report)[:STRONGEST]:
            values = np.maximum(by_length(head), 1e-3)
            axes.semilogy(values / values[-1], marker=".", linewidth=1, label=f"L{head['layer']} H{head['head']}")
        for logs, _ in mixtures.values():
            axes.semilogy(np.exp(logs), color="black", linestyle="--", label="mixture, Alice")
        axes.set(title=name, xlabel="match length ℓ", ylim=(1e-3, 2))
        axes.legend(fontsize=6)
    np.atleast_1d(panels)[0].set_ylabel("attention over that at ℓ = K")
    figure.savefig(IMAGES / "atlas_lengths.png", dpi=130)


def page():
    reports = {
        name: json.loads((RESULTS / f"{name}.json").read_text())
        for name in ATLAS
        if (RESULTS / f"{name}.json").exists()
    }
    reports = {name: report for name, report in reports.items() if "file" in report}
    mixtures = {name: mixture(words) for name, words in texts().items()}
    found = {
        name: {"log_weights": logs.tolist(), "errors": errors.tolist()} for name, (logs, errors) in mixtures.items()
    }
    record = {"command": "python -m benchmarks.atlas --page", "seeds": [0], "values": found}
    (RESULTS / "mixture.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(
        "| model | layers × heads | sequences | "
        + " | ".join(KINDS)
        + " | depth of the ten strongest, of 1 |\n"
        + "|---" * 9
        + "|"
    )
    for name, report in reports.items():
        heads = comparing(report)
        kinds, layers = Counter(head["kind"] for head in heads), 1 + max(head["layer"] for head in report["heads"])
        depths = np.array([(head["layer"] + 1) / layers for head in heads[:10]])
        shape = f"{layers} × {len(report['heads']) // layers} | {report['settings']['sequences']}"
        said = f"{depths.mean():.2f} ({depths.min():.2f} to {depths.max():.2f})" if heads else "–"
        print(f"| {name} | {shape} | " + " | ".join(str(kinds[kind]) for kind in KINDS) + f" | {said} |")
    columns = "grows with match length | offset 1 is needed | older offsets alone | graded or k-gram"
    print(f"\n| model | {columns} |\n|---|---|---|---|---|")
    pooled = []
    for name, report in reports.items():
        heads = comparing(report)
        pooled += heads
        _hypothesis(name, heads)
    _hypothesis("all", pooled)
    print("\n| | log ratio of attention, or weight, at ℓ + 1 to ℓ, for ℓ = 0 … K - 1 |\n|---|---|")
    for name, report in reports.items():
        steps = np.array([np.diff(np.log(np.maximum(by_length(head), 1e-3))) for head in comparing(report)[:STRONGEST]])
        if len(steps):
            print(
                f"| {name}, {len(steps)} strongest | {_row(steps.mean(0), steps.std(0, ddof=1) / len(steps) ** 0.5)} |"
            )
    for name, (logs, errors) in mixtures.items():
        print(f"| best mixture, {name} | {_row(np.diff(logs), np.hypot(errors[1:], errors[:-1]))} |")
    print(
        "\n| model, head | kind | mean length | all | flipped 1 … | alone 1 … | none |\n|---|---|---|---|---|---|---|"
    )
    for name, report in reports.items():
        for head in comparing(report)[:4]:
            profile, length = head["agreement"], head["mean_length"]
            flipped, alone = (" ".join(f"{value:.1f}" for value in profile[kind]) for kind in ("flipped", "alone"))
            error = head["agreement_error"]["all"]
            place, mean = f"{name} L{head['layer']} H{head['head']}", "–" if length is None else f"{length:.1f}"
            whole = f"{profile['all']:.1f} ± {error:.1f} | {flipped} | {alone} | {profile['none']:.2f}"
            print(f"| {place} | {head['kind']} | {mean} | {whole} |")
    draw(reports, mixtures)


def _row(values, errors):
    return ", ".join(f"{value:.1f} ± {error:.1f}" for value, error in zip(values, errors, strict=True))


def _hypothesis(name, heads):
    if not heads:
        print(f"| {name} | no heads | | | |")
        return
    total, shares = len(heads), np.array([suffix_share(head)[0] for head in heads])
    growing, first = sum(map(grows, heads)), sum(1 in head["needed"] for head in heads)
    kinds = sum(head["kind"] in ("graded", "k-gram") for head in heads)
    error = shares.std(ddof=1) / total**0.5 if total > 1 else np.nan
    columns = (
        interval(growing, total),
        interval(first, total),
        f"{shares.mean():.3f} ± {error:.3f}",
        interval(kinds, total),
    )
    print(f"| {name} | " + " | ".join(columns) + " |")
