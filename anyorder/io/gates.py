"""Input checks: numbers, paths to read and paths to write.

Every command and public function checks its input here, by the same rules everywhere:

- a number has a type and a range, and the arrays that it implies fit into memory;
- a path to read leads to a regular file of an expected size;
- a path to write leads to a regular file or to none, has a known suffix, and is the target of one output only.
  A symbolic link is followed: the file that it leads to is replaced, the link stays.

Nothing here imports NumPy.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import functools
import inspect
import itertools
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Literal, TypeVar, cast

from anyorder.errors import InputError, as_number, check_seed, check_whole, require, shown

Function = TypeVar("Function", bound=Callable[..., Any])
Place = str | os.PathLike[str]
"""A path as people give it."""
Dtype = Literal["bfloat16", "float16", "float32", "float64"]
"""The floating-point types that a model can be built in, by name."""
#: Prefix of the names of unfinished files; a process number follows.
UNFINISHED = ".anyorder-unfinished-"
#: Suffixes of figures.
FIGURES = (".png", ".svg", ".pdf")
#: Limit for numbers of a type; its inverse is the least absolute value of a nonzero number.
LARGEST: dict[type, float] = {int: 1e12, float: 1e100}
#: Ranges of numbers by name, the same in flags, arguments and configs; functions may narrow them.
RANGES: dict[str, tuple[float, float]] = {
    "alphabet_size": (2, 1 << 16),
    "beta": (1e-9, 1e9),
    "concentration": (1e-6, 1e6),
    **dict.fromkeys(("order", "min_order", "max_order", "depth"), (-1e6, 1e6)),
    **dict.fromkeys(("roughness", "coupling"), (0.01, 10)),  # beyond, kernels overflow or are redrawn for ever
    "epsilon": (-1e9, 1e9),
    "iterations": (1, 1e6),
    "length": (-1e18, 1e18),
    "max_length": (-1e3, 1e3),
    "orders": (1, 1e6),
    **dict.fromkeys(("rate", "rate_2"), (-1e308, 1e308)),  # a diverging run is reported with its step
    "sequences": (-1e6, 1e6),
    "steps": (-1e9, 1e9),
    "symbols": (2, 1e6),
    "target_error": (1e-100, 1e100),
}
#: Most levels of an output path: Python creates nested folders recursively.
DEEPEST = 256
#: Annotations that are checked.
_KINDS: dict[str, type] = {"int": int, "float": float, "Number": float, "bool": bool, "str": str}
#: Annotation of an array with its axes, of which those with a star stand for any number.
_ARRAY = re.compile(r"(?:Bool|Float|Int)\[(?:Any|Array|np\.ndarray), '(.*)'\]")
#: Fraction of the free memory that one computation may take, and bytes that are always allowed.
SHARE, SMALL = 0.9, 1 << 26


@dataclasses.dataclass(frozen=True)
class Gate:
    """Annotation of a flag that is a path: `Annotated[str, Gate("write", FIGURES)]`.

    use: read; write, a file; fill, a folder.
    suffixes: of the files that are written; none means any.
    stream: `-` is standard input or output.
    """

    use: Literal["read", "write", "fill"]
    suffixes: tuple[str, ...] = ()
    stream: bool = False


def check_number(name: str, value: object, kind: type = int) -> None:
    """Reject a number of another type than `kind`, int or float, or outside the range of its name.

    >>> check_number("beta", 1e308, float)
    Traceback (most recent call last):
    anyorder.errors.InputError: beta is 1e+308, must be at most 1e+09; pass `beta=1e+09` or less
    """
    words = name.replace("_", " ")
    if name.endswith("seed"):
        check_seed(value, name)  # type: ignore[arg-type]
        return
    if kind is int:
        check_whole(**{name: value})
    number: Any = value if kind is int else as_number(words, value)
    least, most = RANGES.get(name, (-LARGEST[kind], LARGEST[kind]))
    size = f"{words} is {shown(value)}, must be at"
    limits = [f"{name}={limit:.0f}" if kind is int else f"{name}={limit:g}" for limit in (least, most)]
    require(number >= least, f"{size} least {least:g}; pass `{limits[0]}` or more")
    require(number <= most, f"{size} most {most:g}; pass `{limits[1]}` or less")
    tiny = number != 0 and abs(number) < 1 / LARGEST[float]
    require(not tiny, f"{size} least {1 / LARGEST[float]:g}, or 0; pass `{name}=0` or more")


def gated(function: Function) -> Function:
    """Decorator of a public function: checks arguments that are numbers, switches, texts, arrays or our own classes.

    >>> @gated
    ... def doubled(count: int) -> int:
    ...     return 2 * count
    >>> doubled(True)
    Traceback (most recent call last):
    anyorder.errors.InputError: count is True, must be a whole number
    """
    kinds = {name: str(one.annotation) for name, one in inspect.signature(function).parameters.items()}
    names, known = list(kinds), inspect.unwrap(function).__globals__

    @functools.wraps(function)
    def checked(*given: Any, **named: Any) -> Any:
        for name, value in itertools.chain(zip(names, given, strict=False), named.items()):
            _check_kind(name, value, kinds.get(name, ""))
        try:
            return function(*given, **named)
        except InputError:
            raise
        except Exception:  # the function's own refusals are more specific than a wrong class
            for name, value in itertools.chain(zip(names, given, strict=False), named.items()):
                _check_class(name, value, kinds.get(name, ""), known)
            raise

    checked.gated = True  # type: ignore[attr-defined]
    return cast(Function, checked)


def check_fields(made: Any) -> None:
    """Check the fields of a dataclass in the same way."""
    for field in dataclasses.fields(made):
        _check_kind(field.name, getattr(made, field.name), str(field.type))


def _check_kind(name: str, value: Any, annotation: str) -> None:
    if annotation in ("Path", "str | Path") or (annotation == "str | Path | None" and value is not None):
        _check_place(value)
    first, _, other = annotation.partition(" | ")
    kind = _KINDS.get(first)
    if kind is None or hasattr(value, "_trace") or (value is None and "None" in other):
        return  # of an unchecked kind, inside a compiled program, or not given
    if (first == "Number" or "Array" in other) and getattr(value, "shape", None) == ():
        value = value.item()
    if kind in (int, float):
        if other in ("", "None") or "Array" in other or isinstance(value, int | float | complex):
            check_number(name, value, kind)  # other types are left to the function
    elif kind is bool:
        require(type(value).__name__ in ("bool", "bool_"), f"{name} is {shown(value)}, must be True or False")
    else:
        require(isinstance(value, str) or other not in ("", "None"), f"{name} is {shown(value)}, must be a text")


def _check_class(name: str, value: Any, annotation: str, known: dict[str, Any]) -> None:
    """Refuse an object of another class, where the annotation consists of classes of this package or of arrays."""
    words = [word for word in annotation.split(" | ") if word != "None"]
    if value is None and "None" in annotation:
        return
    classes: Any = tuple(known.get(word) for word in words)
    if all(isinstance(one, type) and one.__module__.startswith("anyorder.") for one in classes):
        fits = isinstance(value, classes)
        require(fits, f"{name.replace('_', ' ')} is {shown(value)}, must be of the type {annotation}")
    if annotation.startswith(("Mapping[", "dict[")):
        require(isinstance(value, Mapping), f"{name} is {shown(value)}, must be a dictionary")
    shapes = [found[1] for word in words if (found := _ARRAY.fullmatch(word))]
    if len(shapes) == len(words):
        least = min(sum("*" not in axis for axis in shape.split()) for shape in shapes)
        number = getattr(getattr(value, "dtype", None), "kind", "O") in "fiubV" and not hasattr(value, "mask")
        fits = number and getattr(value, "ndim", -1) >= least
        require(fits, f"{name.replace('_', ' ')} is {shown(value)}, must be an array ({shapes[0]}) of numbers")


def free_memory() -> int | None:
    """Bytes that this process may still allocate: the least of the machine's, its control group's and its own limit."""
    found = []
    with contextlib.suppress(OSError, ValueError):
        found.append(1024 * _entry("/proc/meminfo", "MemAvailable:"))
    with contextlib.suppress(OSError, ValueError):  # the cache of files is given back when it is needed
        group = Path("/sys/fs/cgroup")
        most, used = (int((group / f"memory.{name}").read_text(encoding="ascii")) for name in ("max", "current"))
        found.append(most - used + _entry(str(group / "memory.stat"), "file"))
    with contextlib.suppress(OSError, ValueError, ImportError):  # Windows has no such limits
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            found.append(limit - 1024 * _entry("/proc/self/status", "VmSize:"))
    return max(0, min(found)) if found else None


def _entry(path: str, name: str) -> int:
    """The number after a name at the beginning of a line."""
    lines = Path(path).read_text(encoding="ascii").splitlines()
    return next((int(line.split()[1]) for line in lines if line.split()[:1] == [name]), 0)


def check_memory(needed: int, what: str, way_out: str) -> None:
    """Reject work that needs more memory than is free, before any is allocated.

    >>> check_memory(10**18, "a batch of 10 sequences", "pass a smaller `batch=`")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    anyorder.errors.InputError: a batch of 10 sequences would need about 931 million GiB of memory, ...
    """
    free = free_memory() if needed > SMALL else None
    if free is not None and needed > SHARE * free:
        raise InputError(
            f"{what} would need about {_gibibytes(needed)} of memory, {_gibibytes(free)} are free; {way_out}"
        )


def _gibibytes(size: int) -> str:
    count = size / 2**30
    return f"{count:.2g} GiB" if count < 99 else f"{count:.0f} GiB" if count < 1e6 else f"{count / 1e6:.0f} million GiB"


def open_regular(path: Place, expected: str, *, most: int | None = None) -> IO[bytes]:
    """Open a regular file to read its bytes; pipes and devices, which may never end, are rejected.

    expected: the file to suggest in an error message.
    most: bytes that it may have.
    """
    _check_place(path)
    try:
        # Without the flag, opening a pipe without a writer would block; Windows has neither.
        at_once = getattr(os, "O_NONBLOCK", 0)
        stream = open(path, "rb", opener=lambda path, flags: os.open(path, flags | at_once))  # noqa: SIM115
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {_reason(error)}; give {expected}") from None
    try:
        found = os.fstat(stream.fileno())
        require(stat.S_ISREG(found.st_mode), f"{path} is not a regular file; give {expected}")
        large = most is not None and found.st_size > most
        require(not large, f"{path} has {found.st_size:,} bytes, must be at most {most or 0:,}; give {expected}")
    except InputError:
        stream.close()
        raise
    return stream


def read_bytes(path: Place, expected: str, *, most: int | None = None) -> bytes:
    """The content of a regular file; arguments are those of `open_regular`."""
    with open_regular(path, expected, most=most) as stream:
        return stream.read()


def target(path: Place, *, folder: bool = False, suffixes: tuple[str, ...] = ()) -> Path:
    """The file or folder that a path to write leads to, with links followed; anything else is rejected.

    >>> target("/dev/null")
    Traceback (most recent call last):
    anyorder.errors.InputError: /dev/null is a device; outputs are regular files, choose another name
    """
    _check_place(path)
    name = os.fspath(path)
    require(name != "", f"the name of the {'folder' if folder else 'file'} to write is empty; give one")
    require(folder or not name.endswith(os.sep), f"{name} is the name of a folder; name a file to write to")
    require(name.count(os.sep) <= DEEPEST, f"{name[:40]}… has more than {DEEPEST} levels; choose another name")
    stream = os.path.abspath(name).startswith(("/dev/fd/", "/dev/std", "/proc/"))
    require(not stream, f"{name} belongs to the system; outputs are regular files, choose another name")
    known = not suffixes or name.endswith(suffixes)
    require(known, f"{name} must end in {' or '.join(suffixes)}; choose another name")
    try:
        mode = os.stat(name).st_mode
    except (FileNotFoundError, NotADirectoryError):  # the latter is for the folder
        mode = None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot write {name}: {_reason(error)}; choose another name") from None
    if mode is not None and folder:
        require(stat.S_ISDIR(mode), f"{name} is {_kind(mode)} where a folder is needed; choose another name")
    elif mode is not None:
        require(not stat.S_ISDIR(mode), f"{name} is a folder; name a file to write to")
        require(stat.S_ISREG(mode), f"{name} is {_kind(mode)}; outputs are regular files, choose another name")
    return Path(os.path.realpath(name))


def check_writable(path: Place, *, folder: bool = False, suffixes: tuple[str, ...] = ()) -> None:
    """Reject a file or folder that cannot be written before any work is done, by writing a temporary file.

    >>> check_writable("/dev/null/figures/a.png")
    Traceback (most recent call last):
    anyorder.errors.InputError: /dev/null is a device where a folder is needed; choose another name
    """
    found = target(path, folder=folder, suffixes=suffixes)
    place = next(part for part in ([found] if folder else []) + [*found.parents] if part.exists())
    try:
        with tempfile.TemporaryFile(dir=place, prefix=UNFINISHED):
            pass
    except OSError as error:
        raise no_folder(place, error) from None


def no_folder(folder: Path, error: OSError) -> InputError:
    """The reason why a folder cannot be written to."""
    for part in (folder, *folder.parents):
        with contextlib.suppress(OSError):
            mode = part.stat().st_mode
            if not stat.S_ISDIR(mode):
                return InputError(f"{part} is {_kind(mode)} where a folder is needed; choose another name")
    return InputError(f"cannot write to {folder}: {_reason(error)}; choose a folder that you can write to")


def check_paths(paths: Iterable[tuple[str, Gate, str]]) -> None:
    """Check the paths of a command, with their flags and gates, before any work: each alone, and no two outputs alike.

    >>> check_paths([("--out", Gate("write"), "a.npy"), ("--kernels", Gate("write"), "./a.npy")])
    Traceback (most recent call last):
    anyorder.errors.InputError: --out and --kernels are both ./a.npy; give each output its own path
    """
    taken: dict[str, tuple[str, str]] = {}
    for flag, gate, path in paths:
        require("\0" not in path, f"{flag} contains a null byte; choose another name")
        require(path != "" or gate.use != "read", f"{flag} is empty; name a file or a folder, . for this one")
        if path == "-":
            way_out = "standard input and output are not used here; name a file"
            require(gate.stream, f"{flag} is -, {way_out}")
            continue
        if gate.use == "read":
            usable = True
            with contextlib.suppress(OSError, ValueError):  # the reader says more
                mode = os.stat(path).st_mode
                usable = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
            require(usable, f"{path} is not a regular file; give a file or a folder")
        else:
            check_writable(path, folder=gate.use == "fill", suffixes=gate.suffixes)
        place = os.path.realpath(path)
        other, use = taken.setdefault(place, (flag, gate.use))
        clash = other != flag and {gate.use, use} not in ({"read"}, {"read", "fill"})
        require(not clash, f"{other} and {flag} are both {path}; give each output its own path")


def _check_place(path: object) -> None:
    """Reject values that are not paths, such as integers, which Python would treat as file descriptors."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"the path is {shown(path)}, must be a text or a Path")
    longest = max(len(part.encode("utf-8", "surrogatepass")) for part in os.fspath(path).split(os.sep))
    way_out = "File name too long; choose another name"
    require(longest <= 255, f"the path {shown(path)} has a name of {longest} bytes: {way_out}")


def _kind(mode: int) -> str:
    """The kind of a file in words."""
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFREG: "a file"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def _reason(error: OSError | ValueError) -> str:
    """The reason why a file cannot be used: from the system, or from Python, which rejects zero bytes in names."""
    if isinstance(error, OSError):
        return error.strerror or (os.strerror(errno.ENOSPC) if error.errno is None else str(error))
    return str(error)
