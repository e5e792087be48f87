"""The models of the explorer: the registry of constructions, and the folders named on the command line.

Entries of a folder have titles in words: runs by order, preset, gap and date, files and trajectories by content.
A folder may name its files in `about.json`, as the folder of the package does: `{file: {"title": …, "order": …}}`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pydantic
from pydantic_core import PydanticSerializationError, to_json

from anyorder import zoo
from anyorder.constructions import Plan, plan
from anyorder.constructions.registry import find, planned
from anyorder.constructions.steps import Step, learnt
from anyorder.errors import InputError, require, shown
from anyorder.io.archives import read_npz
from anyorder.io.atomic import read_json
from anyorder.models import Transformer, load
from anyorder.models.storage import read_summary
from anyorder.papers.experiment import SECONDS
from anyorder.papers.runner import RESULT
from anyorder.training.folder import CHECKPOINT, CONFIG, START, SUMMARY, read_config, read_models
from anyorder.web import limits
from anyorder.web.schema import Constructed, Kind, LeftOut, Stored, StoredInfo, complaint

#: The model and the trajectories that come with the package, and the names of its folders in paths.
SHIPPED, SHIPPED_NAME, ZOO_NAME = Path(__file__).with_name("shipped"), "package", "zoo"
#: Most listed and most skipped entries of the folders, the depth of the search, and its time limit in seconds.
MOST_LISTED, DEEPEST, PATIENCE = 500, 3, 5.0
#: Most bytes of the two entries of a trajectory that a list needs, and most characters of a reason.
_MOST_HEADER, _MOST_REASON = 1 << 12, 300
_TRAJECTORY, _ABOUT, PROBE = "trajectory.npz", "about.json", "probe.json"
_PRIVATE = (CHECKPOINT, START)
_OF_A_RUN = (CONFIG, CHECKPOINT, START, SUMMARY, _TRAJECTORY)
_ALGORITHMS = {"two-stage": 1, "preconditioned": 2}

Info = TypeVar("Info", bound=pydantic.BaseModel)


class Refused(InputError):
    """A path outside the named folders."""

    status = 403


@dataclasses.dataclass(frozen=True)
class Opened:
    """A model that is ready to run, with its facts."""

    model: Transformer
    title: str
    source: str
    plan: Plan | None
    order: int
    beta: float
    refusal: str | None = None

    @classmethod
    def of(cls, made: Plan, model: Transformer, refusal: str | None = None) -> Opened:
        """A model that was built as planned."""
        entry = made.construction
        return cls(model, f"{entry.name}: {entry.title}", entry.source, made, made.request.order, made.beta, refusal)

    @property
    def construction(self) -> str | None:
        """The name of the construction, None for other models."""
        return None if self.plan is None else self.plan.construction.name

    @property
    def steps(self) -> tuple[Step, ...]:
        """The proof of a construction, or generic steps for other models."""
        heads = [layer.heads for layer in self.model.layers]
        kinds = [type(each[0]).__name__ for each in heads]
        return learnt(self.order, [len(each) for each in heads], kinds) if self.plan is None else self.plan.steps


def plans(asked: Constructed, alphabet_size: int, length: int) -> tuple[Plan, Plan]:
    """The plans of a construction at the sufficient temperature, and at the requested one."""
    entry = find(asked.name)
    given = asked.options
    options = {option.name: option.checked(given[option.name]) for option in entry.options if option.name in given}
    made = plan(asked.name, order=asked.order, alphabet_size=alphabet_size, length=length, dtype=asked.dtype, **options)
    side = 0 if entry.width is None else entry.width(made.request)
    limits.at_most(
        limits.MOST_WIDTH,
        side,
        "width",
        f"`{entry.name}` would have matrices of {side}², the explorer takes {limits.MOST_WIDTH}²; "
        f"shorten the sequence, lower the order, or use `{'` or `'.join(entry.instead)}`",
    )
    return made, made if asked.temperature == 1 else made.at(made.kappa / asked.temperature)


def build(asked: Constructed, alphabet_size: int, length: int) -> Opened:
    """A construction at a temperature; forced if the dtype does not support it, with the error message kept.

    >>> build(Constructed(name="dyadic", order=12, dtype="float32"), 2, 64).refusal
    'order 12 with `dyadic` needs 28 bits, float32 has 24; use float64, order ≤ 10, or `unrolled`'
    """
    made, run = plans(asked, alphabet_size, length)
    return Opened.of(made, run.build(force=True), run.refusal)


class Library:
    """The models in some folders, each known by the folder's name and the path inside it."""

    def __init__(self, folders: Sequence[str | Path] = ()) -> None:
        self.roots: dict[str, Path] = {}
        self._all = {SHIPPED_NAME: SHIPPED, ZOO_NAME: zoo.FOLDER}
        several = isinstance(folders, list | tuple) and all(isinstance(one, str | Path) for one in folders)
        require(several, f"the folders are {shown(folders)}, must be a list of paths")
        for folder in folders:
            root = Path(folder)
            require(root.is_dir(), f"{folder} is not a folder; give folders with models or runs")
            root = root.resolve()
            name = root.name or "models"
            while name in self._all:
                name += "+"
            self.roots[name] = self._all[name] = root

    def listed(self) -> tuple[list[StoredInfo], list[LeftOut]]:
        """Every run, without the files inside it, and every model file: the package's first, by order and title.

        The second list has the entries that cannot be read, each with the reason.
        """
        shown, left_out = self.looked(("file", "run", "trajectory"), self._info)
        ours = (f"{SHIPPED_NAME}/", f"{ZOO_NAME}/")
        return sorted(shown, key=lambda one: (not one.path.startswith(ours), one.order or 0, one.title)), left_out

    def looked(self, kinds: Sequence[Kind], look: Callable[[Kind, str], Info]) -> tuple[list[Info], list[LeftOut]]:
        """Apply `look` to every entry of these kinds; entries for which it raises are left out, with the reason."""
        shown: list[Info] = []
        left_out: list[LeftOut] = []

        def leave_out(kind: Kind, path: str, why: str) -> None:
            left_out.append(LeftOut(path=_unicode(path), kind=kind, why=_unicode(why)))

        found = itertools.chain.from_iterable(_search(root, name, DEEPEST) for name, root in self._all.items())
        end, hidden = time.monotonic() + PATIENCE, 0
        for kind, path in found:
            if time.monotonic() > end:
                leave_out(kinds[0], path, f"the folders take longer than {PATIENCE:g} s to list; name smaller folders")
                break
            if kind is None or kind not in kinds:
                continue
            if len(shown) == MOST_LISTED:
                leave_out(kind, path, f"more than {MOST_LISTED} entries; name smaller folders")
                break
            try:
                info = look(kind, path)
                to_json(info)  # raises where a name or a title is not Unicode
                shown.append(info)
            except Exception as error:  # a stranger's file may contain anything
                if len(left_out) < MOST_LISTED:
                    leave_out(kind, path, self._why(error, path))
                else:
                    hidden += 1
        if hidden:
            leave_out(kinds[0], "…", f"{hidden} more entries cannot be opened; name smaller folders")
        return shown, left_out

    def _why(self, error: Exception, path: str) -> str:
        """The reason why an entry is left out, in one line and without paths of this machine."""
        if isinstance(error, Refused):
            said = "it is or contains a link that is broken or leads out of its folder; copy the file"
        elif isinstance(error, InputError):
            name = path.partition("/")[0]
            said = " ".join(str(error).replace(str(self._all[name]), name).split())
        elif isinstance(error, pydantic.ValidationError):
            first = error.errors()[0]
            said = f"its {'.'.join(map(str, first['loc'])) or 'content'} {complaint(first)}"
        elif isinstance(error, PydanticSerializationError):
            said = "its name or its title is not Unicode text; rename it"
        else:
            said = f"it cannot be read ({type(error).__name__}); write it again"
        return said if len(said) <= _MOST_REASON else f"{said[:_MOST_REASON]}…"

    def _info(self, kind: Kind, path: str) -> StoredInfo:
        """The title and facts of an entry, from its headers or from the `about.json` of its folder."""
        _, target = self.locate(path)
        if kind == "run":
            return run_info(target, path)
        found = file_info(target, path) if kind == "file" else trajectory_info(target, path)
        said = None
        if path.startswith(f"{ZOO_NAME}/"):
            card = zoo.card(target.stem)
            said = {key: card[key] for key in ("title", "about", "order")}
        with contextlib.suppress(InputError):
            _, about = self.locate(f"{path.rpartition('/')[0]}/{_ABOUT}")
            said = read_json(about, "names of files").get(target.name)
        found |= said if isinstance(said, dict) else {}
        return StoredInfo.model_validate(found | {"path": path, "kind": kind})

    def locate(self, path: str) -> tuple[Path, Path]:
        """The root and the resolved path of a listed name; links out of the folder are rejected."""
        name, _, rest = path.partition("/")
        outside = f"{path!r} is not in a folder of this explorer; start the explorer with that folder"
        if name not in self._all or "\0" in path:
            raise Refused(outside)
        root = self._all[name]
        try:
            target = (root / rest).resolve()
            found = target.exists()
        except (OSError, RuntimeError, ValueError):  # loops of links, names that are too long
            raise Refused(outside) from None
        # Files of a run may be links too: each must end inside.
        parts = [target / name for name in _OF_A_RUN] if target.is_dir() else []
        if not all(one.resolve().is_relative_to(root) for one in (target, *parts)):
            raise Refused(outside)
        require(found, f"there is no {path!r}; it was moved or removed, reload the page")
        return root, target

    def stamp(self, path: str) -> int:
        """A value that changes with the file or the run: part of the cache key of results."""
        _, target = self.locate(path)
        file = target / CHECKPOINT if target.is_dir() else target
        return file.stat().st_mtime_ns if file.exists() else 0

    def open(self, asked: Stored) -> Opened:
        """Read a model, or raise an `InputError` that names it as the page does."""
        root, target = self.locate(asked.path)
        try:
            return self._read(asked, target)
        except InputError as error:
            error.args = (str(error).replace(str(root), asked.path.partition("/")[0]),)
            raise

    def _read(self, asked: Stored, target: Path) -> Opened:
        made = None
        if target.is_dir():
            config = read_config(target)
            fits(target / CHECKPOINT)
            step, models = read_models(target)
            require(asked.index < len(models), f"index is {asked.index}, the run has 0 to {len(models) - 1}")
            model, member, order = models[asked.index], config.members[asked.index], config.data.window
            title = f"trained, seed {member.seed}, rate {member.learning_rate:g}, {step} steps"
        else:
            require(target.suffix == ".safetensors", f"{asked.path} is not a .safetensors file; give a model or a run")
            fits(target)
            model = load(target)
            if (promise := model.certificate) is not None:
                title, order = f"saved {promise.construction}", promise.order
                made = planned(promise) if asked.order in (None, order) else None
            else:
                named = self._info("file", asked.path)
                title, order = "saved model" if named.title == asked.path else named.title, named.order or 1
        beta = asked.beta if made is None else made.beta  # the file has its own β
        return Opened(model, title, asked.path, made, asked.order or order, beta)


def fits(file: Path) -> None:
    """Reject a file that is too large to open here."""
    size = file.stat().st_size if file.is_file() else 0
    limits.at_most(
        limits.MOST_FILE,
        size,
        "bytes",
        f"{file} has {size} bytes, the explorer opens at most {limits.MOST_FILE}; open it in Python",
    )


def _unicode(text: str) -> str:
    """A text with invalid Unicode replaced: file names may contain any bytes."""
    return text.encode("utf-8", "replace").decode()


def _search(folder: Path, path: str, depth: int, in_run: bool = False) -> Iterator[tuple[Kind | None, str]]:
    """Entries of a folder, and of those inside it, by their names alone; `path` is the folder's name on the page.

    Of the files in a run, only results of the probe are entries; results of experiments are not. A folder itself comes
    first, as None, so that the caller can stop in time.
    """
    yield None, path
    private = (*_PRIVATE, RESULT) if (folder / SECONDS).exists() else _PRIVATE
    if not in_run and all((folder / name).exists() for name in (CONFIG, CHECKPOINT)):
        in_run = True
        yield "run", path
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        inside = f"{path}/{entry.name}"
        if entry.is_dir() and not entry.is_symlink():
            if depth and not entry.name.startswith("."):
                yield from _search(entry, inside, depth - 1, in_run)
        elif entry.name == PROBE:
            yield "probe", inside
        elif not in_run and entry.suffix == ".safetensors" and entry.name not in private:
            yield "file", inside
        elif not in_run and (entry.name == _TRAJECTORY or (folder == SHIPPED and entry.suffix == ".npz")):
            yield "trajectory", inside


def run_info(folder: Path, path: str) -> StoredInfo:
    """The title of a training run: its setting, its gap to the Bayes floor, and its date."""
    config = read_config(folder)
    words = [f"order {config.data.order}", *filter(None, [config.preset])]
    with contextlib.suppress(InputError, KeyError, TypeError, ValueError, OverflowError):
        gap = float(read_json(folder / SUMMARY, "a finished run")["mean_gap"])
        words.append(f"gap {gap:+.4f}")
    date = datetime.date.fromtimestamp((folder / CHECKPOINT).stat().st_mtime)
    size = config.data.alphabet_size
    return StoredInfo(
        path=path,
        kind="run",
        models=config.seeds * len(config.optimisation.learning_rate),
        title=f"{', '.join(words)}, {date} ({path})",
        about=f"Trained: S = {size}, T = {config.data.length}, d = {config.architecture.dimension}. "
        "The gap is that of its loss to Bayes, in nats.",
        order=config.data.order,
        alphabet_size=size,
        length=config.data.length if config.architecture.absolute_positions else None,
    )


def file_info(file: Path, path: str) -> dict[str, object]:
    """A model file, by the summary in its header."""
    fits(file)
    about = read_summary(file)
    named = f"{about.construction}, order {about.order}, {about.dtype} ({path})"
    found = {"alphabet_size": about.alphabet_size, "length": about.length, "order": about.order}
    return {"models": 1, "title": named if about.order else path, **found}


def trajectory_info(file: Path, path: str) -> dict[str, object]:
    """A trajectory of gradient descent, by its algorithm and order."""
    found, _ = read_npz(file, "a trajectory", names=("algorithm", "order"), most=_MOST_HEADER)
    algorithm, order = (str(found.get(name)) for name in ("algorithm", "order"))
    require(
        algorithm in _ALGORITHMS and order.isdecimal(),
        f"{path} is not a trajectory of anyorder dynamics; write it again",
    )
    return {"models": 0, "title": f"Algorithm {_ALGORITHMS[algorithm]}, order {order} ({path})", "order": int(order)}
