"""The types of the API's requests and responses; the page uses only these.

Matrices travel as base64 of little-endian float32, which browsers read without parsing numbers.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from jaxtyping import Shaped
from pydantic import BaseModel, ConfigDict, Field, model_validator

from anyorder.constructions import CONSTRUCTIONS, Option
from anyorder.constructions.price import PricePanel
from anyorder.errors import require
from anyorder.io.gates import Dtype
from anyorder.models import Certificate
from anyorder.web import limits

Order = Annotated[int, Field(ge=1, le=limits.MOST_ORDER)]
Symbols = Annotated[int, Field(ge=2, le=limits.MOST_SYMBOLS)]
#: A sequence in which windows of two letters recur visibly.
EXAMPLE = "barbara had a banana bar and a barbarian band"
Fraction = Annotated[float, Field(ge=0, le=1)]


#: A number in a response; NaN and infinities are written as null.
Number = Annotated[float | None, Field(description="null where it is infinite or undefined")]


#: Messages for pydantic's error types.
_COMPLAINTS = {
    "missing": "must be given",
    "extra_forbidden": "a field that is not known here",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be below {lt}",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be above {gt}",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "literal_error": "must be {expected}",
    "union_tag_invalid": "its {discriminator} must be one of {expected_tags}",
    "union_tag_not_found": "must have a field {discriminator}",
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), "must be a whole number"),
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "string_unicode": "must be Unicode text",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must be a JSON object"),
}


def complaint(error: Mapping[str, Any]) -> str:
    """An error of pydantic as the end of a sentence about the value.

    >>> complaint({"type": "less_than_equal", "ctx": {"le": 16}})
    'must be at most 16'
    """
    return _COMPLAINTS.get(error["type"], "which does not fit; see /api/openapi.json").format_map(error.get("ctx", {}))


class Asked(BaseModel):
    """Base of requests: no conversion, no unknown field, no infinity."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


def _options() -> dict[str, Option]:
    """Every option that some construction has."""
    return {option.name: option for entry in CONSTRUCTIONS.values() for option in entry.options}


def _with_options(described: dict[str, Any]) -> None:
    """The JSON schema of `Constructed`, with the options of the registry."""
    kinds = {bool: "boolean", int: "integer", float: "number"}
    for name, option in _options().items():
        most = min(limits.MOST_DIMENSION, limits.MOST_DIMENSION if option.most is None else option.most)
        bounds = {"minimum": option.least, "exclusiveMinimum": option.above}
        bounds |= {} if isinstance(option.default, bool) else {"maximum": most}
        about = {"type": kinds[type(option.default)], "default": option.default, "description": option.help}
        described["properties"][name] = about | {word: limit for word, limit in bounds.items() if limit is not None}
    described["additionalProperties"] = False


class Constructed(Asked):
    """A construction of the registry; one that its dtype does not support is built and marked.

    The options of constructions are further fields, under their names in the registry.
    """

    model_config = ConfigDict(extra="allow", json_schema_extra=_with_options)

    kind: Literal["construction"] = "construction"
    name: str = Field("unrolled", max_length=64)
    order: Order = 2
    alphabet_size: Symbols | None = Field(None, description="by default that of the sequence")
    dtype: Dtype = "float64"
    temperature: float = Field(
        1.0, ge=limits.COLDEST, le=limits.WARMEST, description="kappa is the certified kappa divided by this"
    )

    @model_validator(mode="after")
    def _options_of_the_registry(self) -> Constructed:
        """Check further fields, which are options of constructions; options of other constructions are ignored."""
        known, most = _options(), limits.MOST_DIMENSION
        for name, value in self.options.items():
            require(name in known, f"{name[:40]!r} is a field that is not known here; options are {', '.join(known)}")
            if isinstance(value, int | float):
                limits.at_most(most, value, name, f"{name} is above {most}, the explorer's limit; lower it")
            known[name].checked(value)
        return self

    @property
    def options(self) -> dict[str, object]:
        """The options of constructions that were given."""
        return self.__pydantic_extra__ or {}


class Stored(Asked):
    """A model file, or a model of a training run, in a folder named on the command line."""

    kind: Literal["stored"]
    path: str = Field(max_length=1024, description="as listed by /api/options")
    index: int = Field(0, ge=0, le=4096, description="which model of a run")
    order: Order | None = Field(None, description="order of the estimators to compare with; by default the model's")
    beta: float = Field(1.0, gt=0, le=1000)


class Text(Asked):
    """A typed sequence: every code point is a token, the alphabet is in order of first appearance."""

    kind: Literal["text"]
    text: str = Field(min_length=1, max_length=limits.MOST_TOKENS)


class Chain(Asked):
    """A sequence from a random kernel with Dirichlet rows; one more token is drawn and returned as the outcome."""

    kind: Literal["chain"] = "chain"
    order: Order = 2
    alphabet_size: Symbols = 2
    length: int = Field(64, ge=2, le=limits.MOST_TOKENS)
    seed: int = Field(0, ge=0, le=2**31 - 1)
    concentration: float = Field(1.0, gt=0, le=1000)
    token_noise: Fraction = 0.0
    transition_noise: Fraction = 0.0


Model = Annotated[Constructed | Stored, Field(discriminator="kind")]
Sequence = Annotated[Text | Chain, Field(discriminator="kind")]


class ViewRequest(Asked):
    """One model on one sequence."""

    model: Model = Constructed()
    sequence: Sequence = Text(kind="text", text=EXAMPLE)
    maps: bool = Field(True, description="false omits the attention maps; /api/map returns them one at a time")
    estimator: str | None = Field(
        None, max_length=64, description="additional estimator to show, by its name in the registry"
    )


class MapRequest(ViewRequest):
    """One attention map of a view: of a head, of pseudo-attention, or of the difference."""

    map: Literal["head", "pseudo", "difference"]
    layer: int = Field(0, ge=0, le=64, description="of a head, from 1")
    head: int = Field(0, ge=0, le=64, description="in its layer, from 1")


class StoryRequest(ViewRequest):
    """The proof at one position."""

    position: int = Field(ge=0, lt=limits.MOST_TOKENS)


class VerifyRequest(Asked):
    """A construction to verify on hard sequences."""

    model: Constructed
    alphabet_size: Symbols = 2
    length: int = Field(256, ge=2, le=limits.MOST_TOKENS)
    sequences: int = Field(8, ge=1, le=limits.MOST_SEQUENCES)
    seed: int = Field(0, ge=0, le=2**31 - 1)


class FreshRun(Asked):
    """A short run of Algorithm 1 (on floored kernels of order 1) or 2 (on reversible ones of any order)."""

    kind: Literal["fresh"] = "fresh"
    algorithm: Literal[1, 2] = 1
    order: int = Field(1, ge=1, le=4)
    alphabet_size: int = Field(3, ge=2, le=8)
    length: int = Field(64, ge=4, le=limits.MOST_LENGTH)
    steps: int = Field(200, ge=1, le=limits.MOST_STEPS, description="of each stage")
    seed: int = Field(0, ge=0, le=2**31 - 1)


class StoredRun(Asked):
    """The trajectory.npz of `anyorder dynamics`, in a folder named on the command line."""

    kind: Literal["stored"]
    path: str = Field(max_length=1024)


class DynamicsRequest(Asked):
    """A run of gradient descent to play."""

    run: Annotated[FreshRun | StoredRun, Field(discriminator="kind")] = FreshRun()


class Problem(BaseModel):
    """The form of every error response: a one-line message, and the limit if there is one."""

    error: str
    limit: limits.Limit | None = None


class Matrix(BaseModel):
    """Rows of numbers, as base64 of little-endian float32; NaN where undefined."""

    rows: int
    columns: int
    values: str

    @classmethod
    def of(cls, array: Shaped[np.ndarray, "rows columns"]) -> Matrix:
        """Pack an array.

        >>> Matrix.of(np.ones((1, 1))).values
        'AACAPw=='
        """
        data = np.ascontiguousarray(array, "<f4").tobytes()
        return cls(rows=array.shape[0], columns=array.shape[1], values=base64.b64encode(data).decode("ascii"))


class ConstructionInfo(BaseModel):
    """A line of the registry."""

    name: str
    title: str
    source: str
    exactness: str
    heads: str
    dimension: str
    advice: str
    largest_order: int | None
    options: list[Option]


#: Entries of folders: a model file, a training run, a run of gradient descent, a result of the probe.
Kind = Literal["file", "run", "trajectory", "probe"]
Count = Annotated[int, Field(ge=0, lt=2**31)]


class StoredInfo(BaseModel):
    """A model file, a run with some models, or a trajectory of gradient descent, that may be opened."""

    path: str
    kind: Literal["file", "run", "trajectory"]
    models: Count
    title: str = Field(max_length=1000, description="description: order, preset, gap and date where they are known")
    about: str = Field("", max_length=2000)
    order: Count | None = None
    alphabet_size: Count | None = None
    length: Count | None = Field(None, description="the longest sequence that the model can read, if there is one")


class LeftOut(BaseModel):
    """An entry of a folder that cannot be opened, and why."""

    path: str
    kind: Kind
    why: str


class Stop(BaseModel):
    """A stop of a tour: a state of the page by the names in its address, a sentence, and a question."""

    model_config = ConfigDict(extra="forbid")

    state: dict[str, str | int | float | bool] = {}
    sentence: str
    question: str = ""


class Tour(BaseModel):
    """A guided tour."""

    name: str = Field(description="its name in the address: #tour=name")
    title: str
    stops: list[Stop]


class Options(BaseModel):
    """The choices that the page offers."""

    tours: list[Tour]
    opening: str | None = Field(None, description="the tour that a page without an address opens with")
    features: list[str] = Field(description="optional abilities of this backend: noise, verify, fresh")

    constructions: list[ConstructionInfo]
    dtypes: list[str]
    estimators: dict[str, str] = Field(description="additional estimators, with their predictions in words")
    stored: list[StoredInfo]
    left_out: list[LeftOut] = Field([], description="entries of the folders that cannot be opened")
    limits: dict[str, float]
    example: str
    price: list[PricePanel] = Field(description="the price of an order at two symbols: over k, and over T")


class ModelInfo(BaseModel):
    """The kind of the model that ran."""

    title: str
    source: str
    construction: str | None
    order: int
    alphabet_size: int
    dtype: str
    heads: list[int] = Field(description="of every attention layer")
    mlp: list[int] = Field(description="MLP layers after every attention layer")
    dimension: int
    parameters: int
    certified_kappa: float | None = Field(description="the kappa that suffices for the target error")
    refusal: str | None = Field(description="why a plain construct refuses this, in one line")
    certificate: Certificate | None


class Map(BaseModel):
    """The attention weights of one head."""

    layer: int
    head: int
    weights: Matrix


HowExact = Literal["exact", "within", "beyond", "open"]


class Exactness(BaseModel):
    """The worst error on this sequence, next to the certified bound."""

    compared_with: str
    max_error: Number
    at: int | None
    bound: float | None
    positions_checked: int
    passed: bool | None = Field(description="null: no certificate")
    level: HowExact = Field(
        description="exact: an error at the level of rounding; within or beyond the bound; open: no certificate"
    )


class Losses(BaseModel):
    """Mean exact loss in nats after every position with a full window; null where it is infinite."""

    true_loss: float
    model_excess: Number
    bayes_excess: float
    kgram_excess: Number


class View(BaseModel):
    """A model on a sequence: the data of the page except the story. Row n predicts the token after position n."""

    symbols: list[str]
    tokens: list[int]
    outcome: int | None = Field(description="the token that came next, where the sequence was drawn")
    begins: int = Field(description="rows and columns of the maps before position 0: 1 with a beginning token")
    model: ModelInfo
    nearest: list[int] = Field(
        description="layer and head next to pseudo-attention, from 1: the last, or of a trained model the nearest"
    )
    maps: list[Map]
    pseudo_attention: Matrix | None
    difference: Matrix | None = Field(
        description="that head minus pseudo-attention, NaN in rows whose window is new; the maps are sent on request"
    )
    predicted: Matrix
    kgram: Matrix
    bayes: Matrix
    bayes_name: str
    estimated: Matrix | None = Field(description="the predictions of the requested estimator")
    truth: Matrix | None
    errors: list[Number] = Field(description="largest error of a probability at every position")
    exactness: Exactness
    losses: Losses | None


class Weight(BaseModel):
    """An array of the model, and its function in this step."""

    name: str
    shape: list[int]
    does: str


class Over(BaseModel):
    """A key drawn over the query: a match, or the nearest miss."""

    kind: Literal["match", "near miss"]
    position: int
    word: list[str]
    values: list[Number]
    score: Number


class Part(BaseModel):
    """A drawing: bars with labels, one number for every key up to the query, or a query over two keys."""

    kind: Literal["bars", "keys", "overlay"]
    name: str
    read: str = Field(description="its source in the trace")
    labels: list[str]
    values: list[Number]
    line: Number = Field(None, description="a threshold to draw across")
    marks: list[int] = Field([], description="marked bars")
    first: int = Field(0, description="keys: the position of the first one, -1 for the beginning token")
    unit: str = Field("", description="of the values")
    over: list[Over] = Field([], description="overlay: other vectors to draw over the values")


class StoryStep(BaseModel):
    """One step of the proof at one position."""

    title: str
    text: str
    here: str
    equation: str
    source: str
    about: list[int] = Field([], description="the positions that the step is about")
    weights: list[Weight]
    parts: list[Part]


class Story(BaseModel):
    """The proof at position n: its window, the positions that match it, the counts of their tokens, and the steps."""

    position: int
    order: int
    window: list[int] = Field(description="positions of the last k tokens; empty where there are fewer")
    matches: list[int]
    counts: list[int]
    looks: list[Number] = Field(description="attention of the nearest head from n to every key, ⊢ first where it is")
    steps: list[StoryStep]


class Verified(BaseModel):
    """The worst error on hard sequences, next to the bound."""

    construction: str
    order: int
    alphabet_size: int
    length: int
    dtype: str
    kappa: float | None
    bound: float | None
    max_error: Number
    positions_checked: int
    passed: bool


class Film(BaseModel):
    """A run of gradient descent as frames: the state before some of its steps."""

    title: str
    algorithm: int
    order: int | None
    steps: list[int] = Field(description="the number of steps taken at each frame")
    stage_one_steps: int
    attention: Matrix = Field(description="softmax(p), the first layer's attention by offset, one row for each frame")
    a_2: list[Number]
    excess: list[Number] = Field(description="loss of the frame's batch above the entropy of its own kernels")
    true_loss: float
    floor_excess: Number = Field(description="excess of Bayes for independent rows, where it is known")
    standings: dict[str, float] = Field(description="excess loss of the last state and of others, on fresh chains")
