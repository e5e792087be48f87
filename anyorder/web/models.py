"""Where models come from: the registry of constructions, and the folders that were named on the command line."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from pathlib import Path

from anyorder.constructions import construct
from anyorder.constructions.associative import default_kappa
from anyorder.constructions.certificate import Request, certify, default_target
from anyorder.constructions.registry import Construction, find
from anyorder.errors import InputError, require
from anyorder.training.folder import read_config, read_models
from anyorder.transformer import Transformer, load
from anyorder.web import limits
from anyorder.web.schema import Constructed, Stored, StoredInfo

#: Entries of the folders that are listed, and how deep they are searched.
MOST_LISTED, DEEPEST = 500, 3
_PRIVATE = ("checkpoint.safetensors", "start.safetensors")


class Refused(InputError):
    """A path outside the named folders."""


@dataclasses.dataclass(frozen=True)
class Opened:
    """A model that is ready to run, and what is known about it."""

    model: Transformer
    title: str
    source: str
    construction: str | None
    order: int
    beta: float
    certified_kappa: float | None
    refusal: str | None


def build(asked: Constructed, alphabet_size: int, length: int) -> Opened:
    """A construction at a temperature; forced where the dtype cannot hold it, with the refusal kept.

    >>> build(Constructed(name="dyadic", order=12, dtype="float32"), 2, 64).refusal
    'order 12 with `dyadic` needs 28 bits, float32 has 24; use float64, order ≤ 10, or `k-head`'
    """
    entry = find(asked.name)
    width = (asked.order + 1) * (alphabet_size + length)
    limits.at_most(
        limits.MOST_WIDTH,
        width if asked.name == "disentangled" else 0,
        "width",
        f"`disentangled` would have matrices of {width}², the explorer takes {limits.MOST_WIDTH}²; "
        "shorten the sequence, lower the order, or use `k-head`",
    )
    options = {name: getattr(asked, name) for name in entry.options if name in type(asked).model_fields}

    def make(kappa: float | None, force: bool) -> Transformer:
        return construct(
            asked.name,
            order=asked.order,
            alphabet_size=alphabet_size,
            length=length,
            dtype=asked.dtype,
            kappa=kappa,
            force=force,
            **options,
        )

    refusal = None
    kappa = None if asked.temperature == 1 else certified_kappa(entry, asked, alphabet_size, length) / asked.temperature
    try:
        model = make(kappa, force=False)
    except InputError as error:
        model, refusal = make(kappa, force=True), str(error)  # any other fault is raised again here
    return Opened(
        model=model,
        title=f"{asked.name}: {entry.title}",
        source=entry.source,
        construction=asked.name,
        order=asked.order,
        beta=asked.beta if "beta" in entry.options else 1.0,
        certified_kappa=certified_kappa(entry, asked, alphabet_size, length),
        refusal=refusal,
    )


def certified_kappa(entry: Construction, asked: Constructed, alphabet_size: int, length: int) -> float:
    """The kappa that suffices for the target error, or what `associative` takes by itself."""
    request = Request(asked.order, alphabet_size, length, asked.dtype, default_target(asked.dtype))
    if entry.analyse is None:
        return default_kappa(request)
    options = {name: getattr(asked, name) for name in entry.options if name in type(asked).model_fields}
    return certify(entry.name, request, entry.analyse(request, **options)).kappa


class Library:
    """The models in some folders, each known by the folder's name and the path inside it."""

    def __init__(self, folders: Sequence[str | Path] = ()) -> None:
        self.roots: dict[str, Path] = {}
        for folder in folders:
            root = Path(folder)
            require(root.is_dir(), f"{folder} is not a folder; --models takes folders with models or runs")
            root = root.resolve()
            name = root.name or "models"
            while name in self.roots:
                name += "+"
            self.roots[name] = root

    def listed(self) -> list[StoredInfo]:
        """Every run and every model file, runs without the files inside them."""
        found: list[StoredInfo] = []
        for name, root in self.roots.items():
            self._search(name, root, root, DEEPEST, found)
        return found[:MOST_LISTED]

    def _search(self, name: str, root: Path, folder: Path, depth: int, found: list[StoredInfo]) -> None:
        label = "/".join((name, *folder.relative_to(root).parts))
        if (folder / "config.json").is_file() and (folder / "checkpoint.safetensors").is_file():
            with contextlib.suppress(InputError):  # a run that cannot be read is not offered
                found.append(StoredInfo(path=label, kind="run", models=len(read_config(folder).members)))
            return
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            return
        for entry in entries:
            if len(found) >= MOST_LISTED:
                return
            if entry.is_dir() and not entry.is_symlink() and depth and not entry.name.startswith("."):
                self._search(name, root, entry, depth - 1, found)
            elif entry.suffix == ".safetensors" and entry.is_file() and entry.name not in _PRIVATE:
                found.append(StoredInfo(path=f"{label}/{entry.name}", kind="file", models=1))
            elif entry.name == "trajectory.npz" and entry.is_file():
                found.append(StoredInfo(path=f"{label}/{entry.name}", kind="trajectory", models=0))

    def locate(self, path: str) -> tuple[Path, Path]:
        """The root and the resolved path that a listed name stands for; links out of the folder are refused."""
        name, _, rest = path.partition("/")
        outside = f"{path!r} is not in a folder of this explorer; name its folder with --models DIR"
        if name not in self.roots or "\0" in path:
            raise Refused(outside)
        root = self.roots[name]
        try:
            target = (root / rest).resolve()
        except (OSError, RuntimeError, ValueError):
            raise Refused(outside) from None
        if not target.is_relative_to(root):
            raise Refused(outside)
        require(target.exists(), f"there is no {path!r}; it was moved or removed, reload the page")
        return root, target

    def stamp(self, path: str) -> int:
        """Changes when the file or the run does: part of the key under which results are kept."""
        _, target = self.locate(path)
        file = target / "checkpoint.safetensors" if target.is_dir() else target
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
        if target.is_dir():
            config = read_config(target)
            fits(target / "checkpoint.safetensors")
            step, models = read_models(target)
            require(asked.index < len(models), f"index is {asked.index}, the run has 0 to {len(models) - 1}")
            seed, rate = config.members[asked.index]
            title = f"trained, seed {seed}, rate {rate:g}, {step} steps"
            return Opened(
                models[asked.index], title, asked.path, None, asked.order or config.data.order, asked.beta, None, None
            )
        require(target.suffix == ".safetensors", f"{asked.path} is no .safetensors file; give a model or a run")
        fits(target)
        model = load(target)
        promise = model.certificate
        if promise is None:
            return Opened(model, "saved model", asked.path, None, asked.order or 1, asked.beta, None, None)
        return Opened(
            model,
            f"saved {promise.construction}",
            asked.path,
            promise.construction if asked.order in (None, promise.order) else None,
            asked.order or promise.order,
            asked.beta,
            promise.kappa,
            None,
        )


def fits(file: Path) -> None:
    """Refuse a file that is too large to open here."""
    size = file.stat().st_size if file.is_file() else 0
    limits.at_most(
        limits.MOST_FILE,
        size,
        "bytes",
        f"{file} has {size} bytes, the explorer opens at most {limits.MOST_FILE}; look into it in Python",
    )
