"""The paragraphs on differences from the numbers of `two_can`, generated from the recorded tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any

import numpy as np

from anyorder.io.atomic import Row, Tables
from anyorder.papers.two_can.printed import BITS, DEPTH, JUDGED, TOKEN_NOISE, TRANSITION_NOISE, Printed, judged

_BITS = f"{BITS['32'].mean:.2f} ± {BITS['32'].deviation:.2f}"


def at_each(values: Mapping[str, float] | Mapping[float, float], digits: int = 3) -> str:
    """Every value with its key, in words.

    >>> at_each({0.1: 0.02, 0.5: -0.01})
    '0.020 at 0.1, -0.010 at 0.5'
    """
    return ", ".join(f"{value:.{digits}f} at {key}" for key, value in values.items())


def rows_by(rows: Iterable[Row], column: str) -> dict[Any, Row]:
    """The row of every value in a column."""
    return {row[column]: row for row in rows}


def verb(row: Row) -> str:
    """The verb that states whether the excess of a row agrees with the printed one."""
    return "agrees" if row["excess_agrees"] else "does not agree"


def attention_maps(recorded: Tables) -> str:
    """Compare layers 1 and 2 with the paper's statements."""
    rows = judged(recorded["attention"])
    seeds = len(rows[0]["excess"].seeds)
    shapes = [
        f"at order {row['order']} it "
        + (f"rises from offset 1 to k in {row['seeds_that_rise_to_k']} and " if row["order"] > 1 else "")
        + f"drops after k in {row['seeds_that_end_at_k']} of {seeds} seeds"
        for row in rows
    ]
    bases = [
        f"{row['base']:.2f} [{row['low']:.2f}, {row['high']:.2f}] at order {row['order']}, which "
        + ("contains" if row["low"] <= row["construction"] <= row["high"] else "excludes")
        + f" the {row['construction']} of App. B"
        for row in judged(recorded["base"])
    ]
    inside, beyond, longer, ideal, contrast = (
        at_each({f"order {row['order']}": value(row) for row in rows}, 2)
        for value in (
            itemgetter("layer_1_on_last_k"),
            itemgetter("layer_1_beyond_k"),
            lambda row: row["longer_match"].mean,
            itemgetter("longer_match_ideal"),
            lambda row: row["match_contrast"].mean,
        )
    )
    overlap = [
        f"{row['overlap_in_every_seed']} of {row['pairs']} overlap in every seed and {row['confused_in_any_seed']} are "
        f"confused in any at order {row['order']}"
        for row in judged(recorded["overlap"])
    ]
    ours = {f"order {row['order']}": row["layer_1_on_last_k"] for row in judged(recorded["attention"], "paper")}
    return (
        f"**Attention.** The weight of layer 1 over offsets, preset `{JUDGED}`: {'; '.join(shapes)}. Its mass at "
        f"offsets 1 … k is {inside}; beyond offset k it is {beyond}. With the preset `paper` the mass at offsets 1 … "
        f"k is {at_each(ours, 2)}: the previous-token head depends on the architecture. The attention of layer 2 on "
        f"keys of match length k or more, divided by that on other keys, is {contrast}. The base of the code is "
        f"{'; '.join(bases)}. Of the pairs of contexts {'; '.join(overlap)}: codes that overlap need not confuse "
        "layer 2. Call a match longer if the next older token agrees too. The attention on longer matches, divided by "
        f"that on other matches, is {longer}. For the pseudo-attention map, which ignores tokens beyond the window, "
        f"it is {ideal}: less than one, because a frequent window shares its attention among many matches, and more "
        "of these are longer."
    )


def depth(recorded: Tables) -> str:
    """Compare the table with the printed one, and with the evaluation of the published code."""
    rows, published = (rows_by(judged(recorded[name]), "layers") for name in ("excess", "as_published"))
    ours = rows_by(judged(recorded["excess"], "paper"), "layers")
    one, two = published[1], published[2]
    layers = [
        f"{name}: {rows[count]['excess'].mean:.4f}, which {verb(rows[count])} with the printed {DEPTH[count]} "
        f"(`paper`: {ours[count]['excess'].mean:.4f})"
        for count, name in ((1, "one layer"), (2, "two layers"))
    ]
    deviations = f"{one['std_over_kernels']:.3f} and {two['std_over_kernels']:.3f}"
    agree = f"{one['kernels_that_agree']:.0%} and {two['kernels_that_agree']:.0%}"
    changes = [
        f"{row['excess']:.4f} with {row['change']} ({row['as_published']:.3f} in the evaluation of the published code)"
        for row in recorded["one_layer"]
    ]
    return (
        f"**Depth.** {'; '.join(layers).capitalize()}. The evaluation of the published code takes one kernel and "
        f"counts all positions. Over {one['kernels']} kernels it gives {one['mean']:.3f} and {two['mean']:.3f}, with "
        f"standard deviations from kernel to kernel of {deviations}; {agree} of the kernels agree with the printed "
        "values, which may be for a single kernel: their ± excludes the variation between kernels. On one kernel the "
        f"deviation over seeds is {one['seed_spread']:.4f} for one layer and {two['seed_spread']:.4f} for two (medians "
        f"over kernels), next to the printed {DEPTH[1].deviation:.3f} and {DEPTH[2].deviation:.3f}. In a batch of the "
        f"authors' code 16 sequences share a kernel. One layer ends at {' and at '.join(changes)}."
    )


def depth_settings(recorded: Tables) -> str:
    """Name the cell of the grid in which one layer comes nearest to two."""
    rows = recorded["cells"]
    nearest, best = min(rows, key=lambda row: row["difference"]), min(rows, key=lambda row: row["one_layer"])
    return (
        f"**Depth across settings.** In {sum(row['difference'] > 0 for row in rows)} of {len(rows)} cells one layer is "
        f"above two. The smallest difference is {nearest['difference']:.4f}, at {_cell(nearest)}; the best one-layer "
        f"model has {best['one_layer']:.4f}, at {_cell(best)}, next to the printed {DEPTH[1]}."
    )


def _cell(row: Row) -> str:
    return f"rate {row['learning_rate']:g}, width {row['dimension']}, batch {row['batch']}"


def presets(recorded: Tables) -> str:
    """Compare the candidates with the printed numbers."""
    each = [f"`{row['model']}` {row['excess'].mean:.4f} ({verb(row)})" for row in recorded["excess"]]
    distances = [f"`{row['model']}` {np.mean(row['distance_to_ideal']):.2f}" for row in recorded["excess"]]
    windows = [
        f"`{row['model']}` {np.mean(row['layer_1_on_last_k']):.2f}"
        for row in recorded["excess"]
        if len(row["layer_1_on_last_k"]) == len(row["excess"].seeds)  # one head in layer 1
    ]
    return (
        f"**Preset, heads, shared kernels.** Excess of two layers next to the printed {DEPTH[2]}: {', '.join(each)}. "
        "`published` has sequences that share a kernel and a loss over all positions, like the authors' code. Distance "
        f"of layer 2 to the pseudo-attention map, next to {recorded['excess'][0]['uniform_distance']:.2f} of uniform "
        f"attention and the printed {_BITS}: {', '.join(distances)}. Mass of layer 1 on the last two "
        f"tokens, where it has one head: {', '.join(windows)}."
    )


def passed(rows: Mapping[float, Row], column: str, printed: Mapping[float, Printed]) -> dict[float, float]:
    """A bound of reading A, converted to B, if the printed value is below it beyond rounding and B does not agree."""
    bounds = {level: row[column] - row["clean_less_true"] for level, row in rows.items() if level}
    return {
        level: bound
        for level, bound in bounds.items()
        if printed[level].mean < bound - printed[level].rounding and not rows[level]["over_clean_agrees"]
    }


def above(rows: Mapping[float, Row], name: str) -> dict[float, float]:
    """Difference between a reading and the printed value, at every level of noise."""
    return {level: row[f"{name}_difference"] for level, row in rows.items() if level}


def token_noise(recorded: Tables) -> str:
    """Compare every reading of token noise with the printed values."""
    rows, again = (rows_by(judged(recorded[name]), "level") for name in ("excess", "any_token"))
    below = passed(rows, "kernel_known", TOKEN_NOISE)
    agree = sum(row["any_over_clean_agrees"] for row in again.values())
    return (
        "**Token noise.** With replacement by a different token, reading B exceeds the printed values by "
        f"{at_each(above(rows, 'over_clean'))}; reading A tends to zero, the printed values do not. "
        + (
            f"The printed values are below the filter that knows the kernel in reading B ({at_each(below)}): no mean "
            "over kernels can be that low. "
            if below
            else ""
        )
        + "With replacement by any token, the same one included, reading B differs by "
        f"{at_each(above(again, 'any_over_clean'))}, and {agree} of {len(again)} rows agree."
    )


def transition_noise(recorded: Tables) -> str:
    """Compare every reading of transition noise with the printed values."""
    rows = rows_by(judged(recorded["excess"]), "level")
    below = passed(rows, "floor", TRANSITION_NOISE)
    agree = {name: sum(row[f"{column}_agrees"] for row in rows.values())
             for name, column in {"A": "excess", "B": "over_clean", "C": "on_clean"}.items()}  # fmt: skip
    counts = ", ".join(f"{count} of {len(rows)} in reading {name}" for name, count in agree.items())
    return (
        f"**Transition noise.** Rows that agree: {counts}. Differences to the printed values: reading A "
        f"{at_each(above(rows, 'excess'))}; B {at_each(above(rows, 'over_clean'))}; C "
        f"{at_each(above(rows, 'on_clean'))}. "
        + (f"In reading B the printed value is below the Bayes floor ({at_each(below)}). " if below else "")
        + "The distribution of P_r cannot be the reason in readings B and C: P_r is redrawn at every step, so a model "
        "sees only its mean. Variation between kernels is 0.02 to 0.04 (see the paragraph on depth)."
    )


def bits(recorded: Tables) -> str:
    """Compare the distances with the printed ones, and with uniform attention."""
    rows, ours = (rows_by(judged(recorded["distance"], preset), "bits") for preset in (JUDGED, "paper"))
    added, theirs = rows["2"]["distance"].mean - rows["32"]["distance"].mean, BITS["2"].mean - BITS["32"].mean
    uniform = rows["32"]["uniform_distance"]
    agree = sum(rows[bits]["distance_agrees"] for bits in BITS)
    return (
        f"**Bits.** Distance of layer 2 to the pseudo-attention map at 32 bits: {rows['32']['distance'].mean:.2f} with "
        f"the preset `{JUDGED}`, {ours['32']['distance'].mean:.2f} with `paper`, printed {_BITS}; {agree} "
        f"of {len(BITS)} rows agree. Two bits add {added:.2f} here and {theirs:.2f} in the paper. Uniform attention "
        f"has {uniform:.2f} on the same sequences: if the paper's map has rows that sum to one, like ours, the printed "
        f"distance is {'larger' if uniform < BITS['32'].mean else 'smaller'} than that of attention that ignores the "
        "tokens. The printed distances are those of one trained model on ten sequences, whose settings are not "
        "stated."
    )


def grid(recorded: Tables) -> str:
    """Compare the cells with T = 32 with the printed loss."""
    cells = [row for row in recorded["cells"] if row["length"] == 32]
    each = []
    for rate, dropout in sorted({(row["learning_rate"], row["dropout"]) for row in cells}):
        found = [row["excess"] for row in cells if (row["learning_rate"], row["dropout"]) == (rate, dropout)]
        ends = f"{min(found):.3f}" if len(found) == 1 else f"{min(found):.3f} to {max(found):.3f}"
        each.append(f"{ends} at rate {rate:g} with{'' if dropout else 'out'} dropout")
    return (
        f"**Learning rate and the rest of the grid.** In the {len(cells)} cells with T = 32 the excess of two layers "
        f"is {', '.join(each)}, next to the printed {DEPTH[2]}."
    )


#: The paragraph of every experiment with printed numbers, by id.
DIFFERENCES = {
    "attention-maps": attention_maps, "depth": depth, "depth-settings": depth_settings, "presets": presets,
    "token-noise": token_noise, "transition-noise": transition_noise, "bits": bits, "grid": grid,
}  # fmt: skip
