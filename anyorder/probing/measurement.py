"""Run a model on test sequences, and determine the kind of every head, with controls.

A head compares tokens if its attention rises with agreement on the even sequences and, separately, on the odd ones.
Its needed offsets are also decided on both halves. Reported profiles and spectra use all sequences.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from anyorder.errors import require, shown
from anyorder.io.gates import check_fields, check_memory, check_number, gated
from anyorder.probing import controls
from anyorder.probing.ablation import SEQUENCES as REPEATS
from anyorder.probing.ablation import ablation, repeats
from anyorder.probing.agreement import (
    LEAST_CONTRAST,
    Agreed,
    agreed,
    as_agreement,
    kind_of,
    profiles,
    score_fits,
)
from anyorder.probing.behaviour import behaviour
from anyorder.probing.order import LEVEL, order
from anyorder.probing.paths import check as check_paths
from anyorder.probing.paths import paths
from anyorder.probing.protocol import Model, Place, begun
from anyorder.probing.result import Controls, HeldOut, Maps, Placebo, Probed, ProbedHead
from anyorder.probing.spectrum import Rows, check_rows, jackknife, join, rows, tally
from anyorder.probing.stimuli import complete, drawn_from, fitting

if TYPE_CHECKING:
    from anyorder.chains import Kernel, Prior, Source
    from anyorder.models import Transformer

#: Level of the test on each half: two independent halves give `LEVEL`.
HALF_LEVEL = LEVEL**0.5
#: Default length of a test sequence, unless the context of the model is shorter.
LENGTH = 192
#: A head compares bags of tokens if its attention to permuted windows, relative to exact matches, exceeds this.
BAG_SHARE = 0.5

#: Heads whose attention map on the first sequence is kept, and rows of each map.
MAPS, MAP_ROWS = 16, 96


@runtime_checkable
class ProbeWatcher(Protocol):
    """Progress callback of a measurement: forward passes done, and their total."""

    def __call__(self, done: int, total: int, /) -> None:
        """Called after every pass."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings of the test sequences.

    length: tokens of a sequence; None: 192, or the context of the model if that is shorter.
    symbols: distinct tokens of a sequence; None: the largest number up to 4 for which every pattern is frequent.
    max_length: most offsets compared; lowered if even 2 symbols leave patterns rare (results contain the number used).
    layers: layers to probe; None: all.
    ids: token ids to draw from; None: all tokens that represent text.
    """

    sequences: int = 48
    length: int | None = None
    symbols: int | None = None
    max_length: int = 5
    layers: tuple[int, ...] | None = None
    seed: int = 0
    ids: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        for name, several in (("layers", self.layers), ("ids", self.ids)):
            fits = several is None or isinstance(several, tuple | list)
            require(fits, f"{name} are {shown(several)}, must be a tuple of whole numbers")
            for one in several or ():
                check_number(name, one)

    @property
    def test_length(self) -> int:
        """Length of a test sequence for a model without a limit."""
        return LENGTH if self.length is None else self.length

    def decided(self, model: Model) -> Settings:
        """These settings with every open choice made for a model: length, symbols, layers and, if needed, a lower K."""
        ids = model.ids if self.ids is None else np.asarray(self.ids)
        require(
            2 <= (self.symbols or 2) <= len(ids),
            f"symbols is {self.symbols or 2}, must be 2 to {len(ids)}, the tokens of this model's vocabulary; "
            + ("a model of one token has nothing to match" if len(ids) < 2 else "draw fewer symbols"),
        )
        layers = tuple(range(len(model.heads))) if self.layers is None else tuple(sorted(set(self.layers)))
        for layer in layers:
            require(0 <= layer < len(model.heads), f"layer is {layer}, this model has 0 to {len(model.heads) - 1}")
        require(self.sequences >= 4, f"sequences is {self.sequences}, must be at least 4: two for each half")
        length = self.length or min(LENGTH, getattr(model, "context", None) or LENGTH)
        choice = range(self.symbols, self.symbols + 1) if self.symbols else range(2, min(4, len(ids)) + 1)
        heads = sum(model.heads[layer] for layer in layers)
        maps, fewer = f"a test sequence of {length} tokens, with {heads} attention maps,", "layers"
        if self.sequences > heads:
            maps, fewer = f"agreement in {self.sequences} test sequences of {length} tokens", "sequences"
        needed = 8 * (heads + self.sequences) * length**2
        check_memory(needed, maps, f"pass a smaller `length=`, or fewer `{fewer}=`")
        symbols, longest = fitting(length, choice, self.max_length)
        return dataclasses.replace(self, length=length, symbols=symbols, max_length=longest, layers=layers)


@gated
def probe(
    model: Model | Transformer | str | Path | Callable[..., Any],
    settings: Settings | None = None,
    *,
    source: Source | Prior | Kernel | None = None,
    ablate: bool = False,
    follow: bool = False,
    watch: ProbeWatcher = lambda done, total: None,
) -> Probed:
    """Measure the order of every head of a model.

    model: a model of anyorder, a run folder or another path that the command takes, a loaded model of `transformers`, a
    `TransformerBridge`, a `Model`, or a function from token ids to attention by layer, with or without logits.

    ablate: also measure the loss on repeated tokens with the strongest heads removed.

    follow: also find the earlier heads that carry tokens to the eight strongest heads, by path patching.

    source: draw test sequences from this source instead of the designed ones; its symbols become the first tokens of
    the vocabulary.

    >>> from anyorder.constructions import construct
    >>> model = construct("k-head", order=2, alphabet_size=3, length=96)
    >>> result = probe(model, Settings(sequences=8, length=96, max_length=3))
    >>> [(head.layer, head.head, head.found.order) for head in result.heads]
    [(0, 0, None), (0, 1, None), (1, 0, 2)]
    """
    from anyorder.probing.adapters.choose import as_model

    settings = settings or Settings()
    model = as_model(model, settings)
    if follow:
        check_paths(model)
    if source is not None:
        from anyorder.chains import as_source

        source = as_source(source, settings.test_length)
        settings = dataclasses.replace(settings, length=source.length, symbols=source.alphabet_size)
        drawn = drawn_from(source, settings.sequences, max_length=settings.max_length, seed=settings.seed)
    settings = settings.decided(model)
    available = model.ids if settings.ids is None else np.asarray(settings.ids)
    length, size, layers, longest, seed = (
        settings.test_length, settings.symbols or 2, settings.layers or (), settings.max_length, settings.seed
    )  # fmt: skip
    if source is None:
        drawn = complete(settings.sequences, length=length, symbols=size, max_length=longest, seed=seed)
    generator = np.random.default_rng([seed, 1])
    placebos = max(4, settings.sequences // 3) if len(available) >= length else 0
    done = itertools.count(1)

    def look(tokens: Int[np.ndarray, "rows"], predict: bool = False) -> tuple[list[np.ndarray], np.ndarray | None]:
        attend = getattr(model, "attend", None)
        found = model.run(tokens, layers=layers) if predict or attend is None else attend(tokens, layers)
        maps = [np.asarray(found.attention[layer]) for layer in layers]
        for attention in maps:
            check_rows(attention)
        watch(next(done), settings.sequences + placebos + REPEATS)
        return maps, found.log_probabilities

    tested, blank = [], []
    ids = np.stack([generator.choice(available, size, replace=False) for _ in range(settings.sequences)])
    if source is not None:  # a source may treat its symbols differently
        ids = np.broadcast_to(available[:size], ids.shape)
    for number, (symbols, queries) in enumerate(zip(drawn.tokens, drawn.queries, strict=True)):
        tokens = begun(model, ids[number][symbols])
        marked = np.pad(queries, (len(tokens) - length, 0))
        maps, logs = look(tokens, predict=True)
        known = None if logs is None else (symbols, np.exp(np.asarray(logs[-length:, ids[number]], np.float64)))
        begins = len(tokens) - length
        pairs = None if drawn.pairs is None else drawn.pairs[number]
        tested.append(as_pass(maps, tokens, marked, longest, number, known, begins, pairs))
        if number < placebos:
            distinct = begun(model, generator.choice(available, length, replace=False))
            # Grouped by the patterns of the test sequence.
            blank.append(agreed(look(distinct)[0], tokens, longest, begins, pairs))
    scored = [
        np.concatenate([controls.prefix_matching(attention, tokens) for attention in look(tokens)[0]])
        for tokens in repeats(model, length, seed, available)
    ]
    places = [(layer, head) for layer in layers for head in range(model.heads[layer])]
    made_for = getattr(model, "context", None)
    beyond = made_for is not None and length > made_for
    about = {
        **dataclasses.asdict(settings),
        "made_for": made_for,
        "beyond": beyond,
        "start": model.start,
        **model.about,
    }
    no_repeat = _placebo(blank, longest) if blank else None
    result = read_heads(model.name, places, tested, longest, np.mean(scored, axis=0), about, no_repeat)
    best = [head.place for head in result.strongest]
    if ablate:
        result = dataclasses.replace(result, ablation=ablation(model, best, length=length, seed=seed, ids=available))
    if follow:
        found = paths(
            model, best, max_length=longest, length=length, symbols=size, ids=available, seed=seed, watch=watch
        )
        result = dataclasses.replace(result, paths=found)
    return result


Predictions: TypeAlias = tuple[Int[np.ndarray, "length"], Float[np.ndarray, "length symbols"]]


class Pass(NamedTuple):
    """Data kept from a forward pass: rows of attention at the queries, and scores that need whole maps.

    `beginning` has the attention maps at the first positions, for the first sequence only. `predictions`, if known,
    are the tokens as symbols 0 … m - 1, without a start token, and the probabilities of all symbols after each token.
    """

    tokens: Int[np.ndarray, "rows"]
    rows: Rows
    previous: Float[np.ndarray, "heads"]
    beginning: Float[np.ndarray, "heads some some"] | None
    predictions: Predictions | None
    agreed: Agreed


def as_pass(
    maps: Sequence[Float[np.ndarray, "_ rows rows"]],
    tokens: Int[np.ndarray, "rows"],
    queries: Bool[np.ndarray, "rows"],
    max_length: int,
    number: int,
    predictions: Predictions | None = None,
    begins: int = 0,
    pairs: Bool[np.ndarray, "length length"] | None = None,
) -> Pass:
    """The data of one sequence, by its number, with `begins` start tokens; `maps` by layer; profiles use `pairs`."""
    found = rows(maps, tokens, queries, max_length, number)
    previous = np.concatenate([controls.previous_token(attention) for attention in maps])
    beginning = None if number else np.concatenate([attention[:, :MAP_ROWS, :MAP_ROWS] for attention in maps])
    compared = agreed(maps, tokens, max_length, begins, pairs)
    return Pass(tokens, found, previous, beginning, predictions, compared)


def read_heads(
    name: str,
    places: Sequence[Place],
    passes: Sequence[Pass],
    longest: int,
    prefix_matching: Float[np.ndarray, "heads"],
    settings: Mapping[str, object],
    no_repeat: Placebo | None = None,
) -> Probed:
    """Orders, controls and scores from the kept data; `places` are the layer and the number of every head.

    `prefix_matching` and `no_repeat` are measured on other sequences and passed in.
    """
    joined, tokens = join([one.rows for one in passes]), np.stack([one.tokens for one in passes])
    scores = {"prefix_matching": prefix_matching, "previous_token": np.mean([one.previous for one in passes], axis=0)}
    acts, known = None, [one.predictions for one in passes if one.predictions is not None]
    if known:
        symbols, predicted = map(np.stack, zip(*known, strict=True))
        acts = behaviour(predicted, symbols, max_length=longest)
        begins, at_keys = tokens.shape[1] - symbols.shape[1], np.eye(predicted.shape[2])[symbols]
        attended = [one.rows.attention[..., begins:] @ names for one, names in zip(passes, at_keys, strict=True)]
        at_queries = predicted[joined.sequence, joined.position - begins]
        scores["copying"] = controls.copying(np.concatenate(attended), at_queries)
    whole, balanced = tally(joined, longest), tally(joined, longest, "offsets")
    ratio, error = whole.ratio, whole.error
    parts = [one.agreed for one in passes]
    compared, fits = profiles(parts, longest), score_fits(parts, longest)
    halves = [compared.of(slice(half, None, 2)) for half in (0, 1)]
    one, other = (half.compares(HALF_LEVEL) for half in halves)
    both = one & other
    kept, alone = compared.shares(1), compared.shares(1 + longest)
    kept_by_half = np.stack([half.shares(1) for half in halves], axis=1)
    mean, deviation = compared.mean, jackknife(compared.replicates)
    heads = []
    for number, (layer, head) in enumerate(places):
        found = order(whole[number])
        kind, needed = kind_of(kept[number], kept_by_half[number], alone[number]) if both[number] else ("none", ())
        at = len(needed) if kind == "k-gram" else None
        mixed = np.nan if at is None else controls.permuted(joined.attention[:, number], joined, tokens, at)
        if mixed > BAG_SHARE:
            kind = "bag"
        found = dataclasses.replace(found, order=at, graded=kind == "graded", capped=at == longest)
        if kind == "none":
            found = dataclasses.replace(found, mean=np.nan, mean_error=np.nan)
        beside = {
            **{score: float(values[number]) for score, values in scores.items()},
            "held_out_contrast": float(halves[1].contrast[number]),
            "recency_balanced_contrast": order(balanced[number]).contrast,
            "distractor": np.nan if at is None else controls.distractor(whole[number], at),
            "permuted": mixed,
            "own_mass": float(whole.own_mass[number]),
        }
        rising = kind in ("k-gram", "graded")
        heads.append(
            ProbedHead(
                layer=layer,
                head=head,
                found=found,
                kind=kind,
                needed=needed,
                mean_length=float((1 - kept[number]).sum()) if rising else np.nan,
                weights=tuple(np.diff(kept[number], append=1.0).tolist()) if rising else (),
                agreement=as_agreement(mean[number]),
                agreement_error=as_agreement(deviation[number]),
                score_fit=fits[number],
                spectrum=tuple(ratio[number].tolist()),
                spectrum_error=tuple(error[number].tolist()),
                sink_mass=float(whole.sink_mass[number]),
                scores=beside,
            )
        )
    control = Controls(HeldOut(int(one.sum()), int(both.sum())), LEVEL, no_repeat)
    about = {**settings, "queries": len(joined.sequence), "least_contrast": LEAST_CONTRAST}
    result = Probed(name, tuple(heads), acts, control, about)
    first, strongest = passes[0], [head.place for head in result.strongest[:MAPS]]
    assert first.beginning is not None
    shown = {place: first.beginning[places.index(place)] for place in strongest}
    return dataclasses.replace(result, maps=Maps(first.tokens[:MAP_ROWS], shown))


def _placebo(blank: list[Agreed], longest: int) -> Placebo:
    found = profiles(blank, longest)
    above = found.compares(LEVEL)
    return Placebo(len(blank), len(above), int(above.sum()), float(np.max(np.nan_to_num(found.contrast, nan=-np.inf))))
