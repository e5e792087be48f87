"""App. H and Fig. 2: trained models. Verdicts are functions of the tables of the experiment of the same name.

A table is a list of rows, each a mapping from column to value; means over seeds are a `Spread`. Rows of the preset
`published` are judged, by the rules of docs/rules.md, which were written before the runs. Alignment is (mass on the
matches - chance) / (1 - chance): 0 for uniform attention, 1 for the pseudo-attention.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from anyorder.errors import require
from anyorder.io.atomic import Row, Tables
from anyorder.papers.entry import Finding, Numbers, Verdict, claim, judge
from anyorder.papers.two_can.experiments import learned_code
from anyorder.papers.two_can.experiments.depth import AVERAGED, DATA
from anyorder.papers.two_can.presets import GPT2, PUBLISHED
from anyorder.papers.two_can.printed import BITS, DEPTH, DEVIATIONS, JUDGED, TOKEN_NOISE, TRANSITION_NOISE, Printed
from anyorder.papers.two_can.sweeps import PAPER_GRID
from anyorder.sweeps.analysis import Spread
from anyorder.training.config import values
from anyorder.training.evaluation import held_out

#: What a printed table is indexed by.
Level = TypeVar("Level", int, float, str)
#: A mean and the deviation beside it, zero for a single seed.
Mean = tuple[float, float]
#: The order of the model in Fig. 2.
SHOWN = 3
#: An alignment below this, in absolute value, is that of uniform attention.
CHANCE = 0.02
#: Readings of "the true loss" under noise, by the table and column that hold them; the paper does not say which.
READINGS = {
    ("excess", "excess"): "over what each token was drawn from",
    ("excess", "over_clean"): "over the undisturbed chain",
    ("excess", "on_clean"): "on sequences without noise",
    ("any_token", "any_excess"): "over what each token was drawn from, replaced by any token",
    ("any_token", "any_over_clean"): "over the undisturbed chain, tokens replaced by any",
    ("any_token", "any_on_clean"): "on sequences without noise, tokens replaced by any in training",
}


def _rows(tables: Tables, table: str, *columns: str) -> list[Row]:
    """The rows of the judged preset in a table, with a value in each column; `excess.mean` is part of a spread."""
    require(table in tables, f"the results have no table {table!r}, only {', '.join(tables)}; run the experiment again")
    rows = [row for row in tables[table] if row.get("preset", JUDGED) == JUDGED]
    for column in columns:
        name, _, part = column.partition(".")
        written = column.replace(".", "_")
        for row in tables[table]:
            found = name in row and (not part or isinstance(row[name], Spread))
            require(found, f"table {table!r} has no column {written!r}, only {', '.join(row)}")
        for row in rows:
            require(
                (getattr(row[name], part) if part else row[name]) is not None,
                f"table {table!r} has no value of {written!r} in the row of {row[columns[0]]}; a missing value cannot "
                "be judged, run the experiment again",
            )
    return rows


def _levels(tables: Tables, table: str, column: str, value: str, printed: Mapping[Level, Printed]) -> dict[Level, Mean]:
    """Our mean and deviation at every printed level; the column holds these."""
    ours = {row[column]: row for row in _rows(tables, table, column)}
    missing = [str(key) for key in printed if key not in ours]
    require(
        not missing, f"the results have no row for {', '.join(missing)}; run the experiment with the paper's levels"
    )
    rows = _rows({table: [ours[key] for key in printed]}, table, column, f"{value}.mean")
    return {key: (row[value].mean, row[value].std or 0.0) for key, row in zip(printed, rows, strict=True)}


def _compared(found: Mapping[Level, Mean], printed: Mapping[Level, Printed]) -> tuple[Numbers, bool]:
    """Numbers for the ledger, and whether every mean agrees with print by the rule."""
    agree = {key: printed[key].agrees(*found[key]) for key in printed}
    numbers: Numbers = {
        "levels": [str(key) for key in printed],
        "printed": [str(entry) for entry in printed.values()],
        "measured": [mean for mean, _ in found.values()],
        "standard deviation": [deviation for _, deviation in found.values()],
        "agree": list(agree.values()),
    }
    return numbers, all(agree.values())


def _range(table: Mapping[str, Mean] | Mapping[str, Printed]) -> str:
    means = [entry[0] for entry in table.values()]
    return f"{min(means):.2f} to {max(means):.2f}"


def _printed(table: Mapping[Level, Printed], symbol: str = "") -> str:
    """The printed means and what they are at, for a sentence."""
    means = ", ".join(f"{entry.mean:.{entry.digits}f}" for entry in table.values())
    return f"{means} at {symbol}{', '.join(f'{float(key):g}' for key in table)}"


def _near(a: Mean, b: Mean) -> bool:
    return abs(a[0] - b[0]) <= DEVIATIONS * math.hypot(a[1], b[1])


def _rises(found: list[Mean]) -> bool:
    """No step down beyond noise, and up from first to last."""
    first, last = found[0], found[-1]
    steps = itertools.pairwise(found)
    return all(b[0] >= a[0] or _near(a, b) for a, b in steps) and last[0] > first[0] and not _near(first, last)


@claim("App. H.2, table", f"Excess loss at order 2: {DEPTH[1]} with one layer, {DEPTH[2]} with two.")
def tab_depth(depth: Tables) -> Finding:
    """Both rows against print, and against each other; ± over seeds."""
    found = _levels(depth, "excess", "layers", "excess", DEPTH)
    numbers, agree = _compared(found, DEPTH)
    better = found[2][0] < found[1][0] and not _near(found[1], found[2])
    numbers["Bayes floor"] = [row["floor"] for row in _rows(depth, "excess", "layers", "floor")]
    return judge(
        numbers,
        printed=agree and better,
        trend=better,
        note="two layers are above the Bayes floor, which the paper does not show",
        difference="two layers are better than one, as stated; not every value is the printed one",
        failure="two layers are not better than one",
    )


@functools.cache
def ideal_diagonals() -> tuple[float, ...]:
    """Mass of the pseudo-attention at offsets 0 … 5, on the sequences of the table `diagonals`.

    >>> 0.2 < sum(ideal_diagonals()[1:4]) < 0.3
    True
    """
    maps = learned_code.ideal_maps(held_out(DATA, AVERAGED).tokens[:, :-1], DATA.order)
    return tuple(learned_code.offset_weights(maps, DATA.order).tolist())


@claim(
    "App. H.2, qualitative results",
    "In one-layer models attention concentrates along the two to three lower diagonals, rather than following the "
    "induction-like pattern.",
    see=("tab-depth",),
)
def claim_one_layer_diagonals(depth: Tables) -> Finding:
    """Mass of the one-layer model at offsets 0, 1, 2, …: offsets 1 to 3 must hold four fifths of it.

    What it has there beyond the mass of the pseudo-attention cannot follow the pattern, wherever the rest lies: that
    must be half of the mass.
    """
    rows = _rows(depth, "diagonals", "offset", "weight.mean")
    weights = {int(row["offset"]): row["weight"].mean for row in rows}
    lower, ideal = sum(weights.get(offset, 0.0) for offset in (1, 2, 3)), sum(ideal_diagonals()[1:4])
    near = lower + weights.get(0, 0.0)
    astray = lower - ideal
    return judge(
        {
            "mass at offsets 0 … 5": [weights.get(offset, 0.0) for offset in range(6)],
            "at offsets 1 to 3": lower,
            "at offsets 0 to 3": near,
            "of the pseudo-attention at offsets 1 to 3": ideal,
        },
        printed=lower >= 0.8 and astray >= 0.5,
        trend=near >= 0.8 and astray >= 0,
        note=f"by the rule that offsets 1 to 3 hold at least four fifths of the mass. The pseudo-attention has "
        f"{ideal:.0%} there, so that at least {astray:.0%} of the mass does not follow it",
        difference=f"offsets 0 to 3 hold {near:.0%} of the mass, offsets 1 to 3 {lower:.0%}; the rule asks for 80% at "
        f"1 to 3, half of the mass more than the {ideal:.0%} of the pseudo-attention",
        failure="the mass is spread over more than the main diagonal and the three below it",
    )


def _readings(tables: Tables, printed: Mapping[float, Printed]) -> dict[str, dict[float, Mean]]:
    """Means and deviations at the printed levels of noise, in every reading of the true loss that the tables have."""
    return {
        name: _levels(tables, table, "level", value, printed)
        for (table, value), name in READINGS.items()
        if value == "excess" or (tables.get(table) and all(value in row for row in tables[table]))
    }


def _noise(tables: Tables, printed: Mapping[float, Printed]) -> Finding:
    """Four rows against print, and their order; ± over seeds.

    The paper does not say of what the loss is taken, and how a token is replaced: every reading is tried.
    """
    agrees: dict[str, bool] = {}
    numbers: Numbers = {}
    readings = _readings(tables, printed)
    for name, found in readings.items():
        facts, agrees[name] = _compared(found, printed)
        numbers |= {"levels": facts.pop("levels"), "printed": facts.pop("printed")}
        numbers |= {f"{key} {name}": fact for key, fact in facts.items()}
    rising = [name for name, found in readings.items() if _rises(list(found.values()))]
    agreeing = [name for name in rising if agrees[name]]
    return judge(
        numbers,
        printed=bool(agreeing),
        corrected=bool(rising),
        note=f"with the loss taken {' and '.join(agreeing)}; readings tried: {len(agrees)}",
        correction=f"the gap grows with the noise if the loss is taken {' or '.join(rising)}; in none of {len(agrees)} "
        "readings is every value the printed one",
        failure="the loss gap does not grow with the noise",
    )


@claim(
    "App. H.3.1, table",
    f"Excess loss grows with token noise: {_printed(TOKEN_NOISE, 'p_n = ')}.",
)
def tab_token_noise(token_noise: Tables) -> Finding:
    """Every reading of the loss, at the printed levels."""
    return _noise(token_noise, TOKEN_NOISE)


@claim(
    "App. H.3.2, table",
    f"Excess loss grows with transition noise: {_printed(TRANSITION_NOISE, 'α = ')}.",
)
def tab_transition_noise(transition_noise: Tables) -> Finding:
    """Every reading of the loss, at the printed levels."""
    return _noise(transition_noise, TRANSITION_NOISE)


def _alignments(tables: Tables) -> dict[float, float]:
    rows = _rows(tables, "excess", "level", "matching_mass", "chance_mass")
    return dict(sorted((float(row["level"]), _alignment(row["matching_mass"], row["chance_mass"])) for row in rows))


def _alignment(mass: float, chance: float) -> float:
    return (mass - chance) / (1 - chance)


@claim(
    "App. H.3.1, text",
    "Without noise the attention of layer two closely aligns with the pseudo-attention; with p_n the alignment "
    "degrades.",
    see=("tab-token-noise",),
)
def claim_alignment_token(token_noise: Tables) -> Finding:
    """Alignment at every level: above a half without noise, and falling, until it is that of chance."""
    found = _alignments(token_noise)
    values = list(found.values())
    falls = all(b < a or max(abs(a), abs(b)) < CHANCE for a, b in itertools.pairwise(values))
    return judge(
        {"p_n": list(found), "alignment": values},
        printed=values[0] >= 0.5 and falls,
        corrected=values[0] > 0 and falls,
        note="by the rule that half of the way from chance to the pseudo-attention is close",
        correction="it degrades, as stated; without noise it is less than half of the way from chance to the "
        "pseudo-attention",
        failure="the alignment does not fall with the noise",
    )


@claim(
    "App. H.3.2, text",
    "For α ≤ 0.1 attention stays close to the pseudo-attention; at 0.25 and beyond alignment deteriorates "
    "substantially.",
    see=("tab-transition-noise",),
)
def claim_alignment_transition(transition_noise: Tables) -> Finding:
    """Alignment relative to that without noise: nine tenths at 0.1, at most seven tenths from 0.25 on.

    The distance to the pseudo-attention, the measure of App. H.4, grows with α for uniform attention too, so it is
    judged less that, with standard errors of the mean over seeds.
    """
    found = _alignments(transition_noise)
    there = found.get(0.0, 0.0) > 0 and {0.1, 0.25} <= set(found)
    require(there, "the results have no levels 0, 0.1 and 0.25; run with the paper's")
    share = {level: value / found[0.0] for level, value in found.items()}
    far = [value for level, value in share.items() if level >= 0.25]
    moved = max(far) < 0.9 * share[0.1]
    distances = _levels(transition_noise, "excess", "level", "distance", TRANSITION_NOISE)
    rows = {float(row["level"]): row for row in _rows(transition_noise, "excess", "uniform_distance", "distance.seeds")}
    over = [
        (mean - rows[level]["uniform_distance"], deviation / math.sqrt(len(rows[level]["distance"].seeds)))
        for level, (mean, deviation) in distances.items()
    ]
    left = " and ".join(f"{value:.0%}" for value in far)
    mass = f"of the alignment without noise {share[0.1]:.0%} are left at 0.1, and {left} from 0.25 on"
    beyond = ", ".join(f"{difference:.2f}" for difference, _ in over)
    return judge(
        {
            "α": list(found),
            "alignment": list(found.values()),
            "relative to α = 0": list(share.values()),
            "distance to the pseudo-attention": [mean for mean, _ in distances.values()],
            "distance of uniform attention": [rows[level]["uniform_distance"] for level in distances],
            "their difference": [difference for difference, _ in over],
            "its standard error over seeds": [error for _, error in over],
        },
        printed=share[0.1] >= 0.9 and max(far) <= 0.7,
        corrected=moved or _rises(over),
        note="by the rule that nine tenths of the alignment without noise is close and seven tenths is "
        "substantially less",
        correction=f"it deteriorates by other shares: {mass}"
        if moved
        else "by the distance to the pseudo-attention, the measure of App. H.4, which grows more than that of uniform "
        f"attention does (less that: {beyond}); by the mass on the matches alignment does not deteriorate: {mass}",
        failure=f"the alignment does not deteriorate: {mass}; and the distance to the pseudo-attention grows no more "
        "than that of uniform attention does",
    )


@claim(
    "App. H.3.3",
    "Models are more robust to transition noise than to token noise of the same level.",
    see=("tab-token-noise", "tab-transition-noise"),
)
def claim_robustness(token_noise: Tables, transition_noise: Tables) -> Finding:
    """The two tables level by level, beyond their noise, in every reading of the true loss that both have."""
    levels = [level for level in TOKEN_NOISE if level > 0]
    by_token, by_transition = _readings(token_noise, TOKEN_NOISE), _readings(transition_noise, TRANSITION_NOISE)
    numbers: Numbers = {"levels": [str(level) for level in levels]}
    so: list[str] = []
    not_so: list[str] = []
    for name in (name for name in by_token if name in by_transition):
        noisy = [(by_token[name][level], by_transition[name][level]) for level in levels]
        numbers[f"token noise {name}"] = [a[0] for a, _ in noisy]
        numbers[f"transition noise {name}"] = [b[0] for _, b in noisy]
        costs_more = all(b[0] < a[0] for a, b in noisy) and any(not _near(a, b) for a, b in noisy)
        (so if costs_more else not_so).append(name)
    otherwise = f", not {' and '.join(not_so)}" if not_so else ""
    return judge(
        numbers,
        printed=bool(so),
        note=f"with the loss taken {' and '.join(so)}{otherwise}; levels of the two kinds are not of one scale: at α "
        "the observed kernel is (1 - α)P + α/S, at p_n the context is wrong as well",
        failure="token noise does not cost more",
    )


@claim(
    "App. H.4, table",
    f"Distance of layer two to the pseudo-attention: {_printed(BITS)} bits; eight bits are almost as good as 32.",
)
def tab_bits(bits: Tables) -> Finding:
    """Four rows against print (± over ten sequences); eight bits against full precision, next to two bits."""
    found = _levels(bits, "distance", "bits", "distance", BITS)
    numbers, agree = _compared(found, BITS)
    lost = {key: found[key][0] - found["32"][0] for key in ("2", "8")}
    numbers["distance more than at 32 bits, 2 and 8 bits"] = list(lost.values())
    kept = abs(lost["8"]) < 0.25 * abs(lost["2"])
    return judge(
        numbers,
        printed=agree and kept and lost["2"] > 0,
        trend=kept and lost["2"] > 0,
        note="by the rule that eight bits lose less than a quarter of what two bits lose",
        difference="eight bits lose less than a quarter of what two bits lose, as stated; not every value is the "
        f"printed one: {_range(found)} here, {_range(BITS)} in print",
        failure="eight bits do not keep the attention, or two bits lose nothing",
    )


def _weights(tables: Tables) -> dict[int, Float[np.ndarray, "seeds offsets"]]:
    """Weight of layer one at offsets 0, 1, … in every seed, by order."""
    found: dict[int, list[list[float]]] = {}
    for row in sorted(_rows(tables, "offsets", "order", "offset", "weight.seeds"), key=lambda row: row["offset"]):
        found.setdefault(int(row["order"]), []).append(row["weight"].seeds)
    return {order: np.array(found[order]).T for order in sorted(found)}


def _rising(weights: Float[np.ndarray, "seeds offsets"], order: int) -> int:
    """In how many seeds the weight rises from offset 1 to k and then drops below half of it.

    At order 1 nothing can rise: offset 1 must have more than half of the mass.
    """
    each = [learned_code.rises_and_ends(row, order) for row in weights]
    enough = weights[:, 1] > 0.5 if order == 1 else np.ones(len(weights), bool)
    return sum(rises and ends and bool(most) for (rises, ends), most in zip(each, enough, strict=True))


@claim(
    "Fig. 2",
    "In a trained model of order 3 layer one attends to the last three tokens, layer two nearly as the "
    "pseudo-attention.",
    see=("fig-attention-rises", "claim-other-orders"),
)
def fig_attention(attention_maps: Tables) -> Finding:
    """Mass of layer one on offsets 1 … k, alignment of layer two, and its attention on matches over that elsewhere.

    Order 3 is judged, which Fig. 2 shows; the statement on other orders is `claim-other-orders`.
    """
    columns = ("order", "layer_1_on_last_k", "layer_2_on_matches", "chance", "match_contrast.seeds")
    rows = {row["order"]: row for row in _rows(attention_maps, "attention", *columns)}
    require(SHOWN in rows, f"table 'attention' has no order {SHOWN}, only {', '.join(map(str, rows))}")
    alignment = {order: _alignment(row["layer_2_on_matches"], row["chance"]) for order, row in sorted(rows.items())}
    first, aligned = rows[SHOWN]["layer_1_on_last_k"], alignment[SHOWN]
    contrast = min(rows[SHOWN]["match_contrast"].seeds)
    came = (
        f"layer one has {first:.0%} of its mass there; layer two comes {aligned:.0%} of the way from chance to the "
        f"pseudo-attention and attends to matches at least {contrast:.1f} times as much as to other keys"
    )
    return judge(
        {
            "orders": list(alignment),
            "layer one on the last k": [rows[order]["layer_1_on_last_k"] for order in alignment],
            "layer two on matches": [rows[order]["layer_2_on_matches"] for order in alignment],
            "by chance": [rows[order]["chance"] for order in alignment],
            "alignment of layer two": list(alignment.values()),
            "attention on matches over that elsewhere, smallest seed": [
                min(rows[order]["match_contrast"].seeds) for order in alignment
            ],
        },
        printed=first > 0.8 and aligned > 0.5,
        trend=first > 0.5 and contrast >= 2,
        note=came,
        difference=f"{came}; the rule asks for 80% and 50%",
        failure=f"the attention is elsewhere: {came}",
    )


def _shapes(tables: Tables) -> tuple[Numbers, dict[int, tuple[int, int]]]:
    """Numbers for the ledger, and by order in how many seeds layer one rises and ends, of how many."""
    weights = _weights(tables)
    found = {order: (_rising(own, order), len(own)) for order, own in weights.items()}
    numbers: Numbers = {
        "orders": list(found),
        "seeds": [seeds for _, seeds in found.values()],
        "of these rising to k and ending there": [count for count, _ in found.values()],
    }
    for order, own in weights.items():
        numbers[f"mean weight at offsets 0, 1, …, order {order}"] = own.mean(axis=0)
    return numbers, found


@claim("Fig. 2", "At order 3 attention of layer one rises along the last three tokens, and then drops to zero.")
def fig_attention_rises(attention_maps: Tables) -> Finding:
    """In how many seeds the weight rises from offset 1 to k, and ends there; order 3 is judged, which Fig. 2 shows."""
    numbers, found = _shapes(attention_maps)
    require(SHOWN in found, f"table 'offsets' has no order {SHOWN}, only {', '.join(map(str, found))}")
    count, seeds = found[SHOWN]
    return judge(
        {name: value for name, value in numbers.items() if "order " not in name or name.endswith(f"order {SHOWN}")},
        printed=count == seeds,
        trend=count > seeds / 2,
        note="in every seed; zero is less than half of the weight at offset k",
        difference=f"in {count} of {seeds} seeds",
        failure=f"it does so in {count} of {seeds} seeds",
    )


@claim(
    "Sec. 4, Note, with App. H.1",
    "For chains of order k attention of layer one rises along the first k diagonals and then drops to near zero.",
    see=("fig-attention", "fig-attention-rises"),
)
def claim_other_orders(attention_maps: Tables) -> Finding:
    """Orders 1 to 3: the weight rises from offset 1 to k, and ends there; at order 1 offset 1 has most of the mass."""
    numbers, found = _shapes(attention_maps)
    said = ", ".join(f"in {count} of {seeds} seeds at order {order}" for order, (count, seeds) in found.items())
    return judge(
        numbers,
        printed=all(count == seeds for count, seeds in found.values()),
        trend=all(count > seeds / 2 for count, seeds in found.values()),
        note="in every seed of every order",
        difference=said,
        failure=f"not in most seeds of every order: {said}",
    )


@claim(
    "App. H.5, table",
    "The settings of all experiments: a model based on GPT-2, two layers, five repetitions, a grid for the rest.",
)
def tab_settings() -> Finding:
    """Where the preset `published` is off the printed grid, and where it is not GPT-2."""
    theirs, gpt2 = values(PUBLISHED), values(GPT2)
    chosen = {axis: np.ravel(theirs[axis]).tolist() for axis in PAPER_GRID.axes}
    outside = [f"{axis} {own[0]:g}" for axis, own in chosen.items() if own[0] not in PAPER_GRID.axes[axis]]
    architecture = [name for name in vars(PUBLISHED.architecture) if theirs[name] != gpt2[name]]
    return Finding(
        Verdict.UNTESTABLE,
        "which point of the grid an experiment took is not said, so that no run can contradict the table; App. H.3 has "
        "three repetitions, App. H.2 one-layer models, and the architecture of the authors' code is not that of GPT-2",
        {
            "settings of the authors' code outside the grid": outside,
            "fields of its architecture that differ from GPT-2": architecture,
        },
    )
