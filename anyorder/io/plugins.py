"""Registries of named objects, shipped with the package or defined by plug-ins.

A plug-in is a Python file or package named by `--plugin` or in `ANYORDER_PLUGINS` (separated like PATH), a module or
object that an installed package declares as an entry point of the group `anyorder`, or a package below
`anyorder.papers`. It registers nothing itself: a registry finds what the plug-in defines at its top level. A package
may also keep the objects of one kind in a module of that name (`presets`, `priors`, …), imported when it is needed.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import os
import pkgutil
import shlex
import sys
import traceback
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Generic, TypeVar

from anyorder.errors import InputError, in_a_line, nearest, require

VARIABLE, GROUP, SHIPPED = "ANYORDER_PLUGINS", "anyorder", "anyorder.papers"
#: The origin of objects that were passed to a function.
PROGRAM = "this program"

Thing = TypeVar("Thing")

#: Origin of each plug-in → the objects it defines; None while it is being imported.
_imported: dict[str, Any] = {}


class Registry(Mapping[str, Thing], Generic[Thing]):
    """The objects of one kind by name: those shipped with the package, then those of plug-ins.

    kind: the noun used in messages; its plural names the module in which a package keeps such objects.
    shipped: name → object, or `module:attribute`, which is imported when the object is needed.
    named: the class of objects that have a `name`, or a function from a plug-in's variable and its value to the name,
        None for other kinds.

    >>> numbers = Registry("number", {"one": 1, "pi": "math:pi"}, lambda variable, value: None)
    >>> list(numbers), numbers["pi"] > 3, "two" in numbers
    (['one', 'pi'], True, False)
    """

    def __init__(
        self, kind: str, shipped: Mapping[str, Thing | str], named: type[Thing] | Callable[[str, object], str | None]
    ) -> None:
        self.kind, self._shipped = kind, dict(shipped)
        self._named = functools.partial(_own_name, named) if isinstance(named, type) else named
        self._given: dict[str, Thing] = {}
        self._read: tuple[tuple[str, ...], dict[str, Thing | str], dict[str, str]] | None = None

    __eq__, __hash__ = object.__eq__, object.__hash__  # annotations, which contain registries, are compared

    def __getitem__(self, name: str) -> Thing:
        # Shipped entries are found without plug-ins, which may themselves need them while they are imported.
        if name not in self._shipped:
            return self._given[name] if name in self._given else self._all()[0][name]  # type: ignore[return-value]
        found = self._shipped[name]
        if isinstance(found, str):
            found = self._shipped[name] = pkgutil.resolve_name(found)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._all()[0])

    def __len__(self) -> int:
        return len(self._all()[0])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._shipped or name in self._given or name in self._all()[0])

    def find(self, given: str | Thing) -> Thing:
        """The object of this name; an object is returned unchanged, and registered until the program ends.

        >>> Registry("number", {"one": 1}, lambda variable, value: None).find("on")
        Traceback (most recent call last):
        anyorder.errors.InputError: no number 'on'; did you mean one?
        """
        if isinstance(given, str):
            require(given in self, f"no {self.kind} {given!r}; {nearest(given, self)}")
            return self[given]
        name = self._named("", given)
        if name is None:
            kind = given if isinstance(given, type) else type(given)
            raise InputError(f"the {self.kind} is a {kind.__name__}, must be a name, or a {self.kind} that has one")
        known = self._all()[0]
        if name not in known or self[name] is not given:
            require(name not in known, self._clash(name, self.home(name), PROGRAM))
            self._given[name] = given
        return given

    def name_of(self, given: str | Thing) -> str:
        """The name of an object: that of its variable in a plug-in, or its own; a name is returned unchanged."""
        if isinstance(given, str):
            return given
        known = next((name for name in self if self[name] is given), None)
        return known or str(self._named("", self.find(given)))

    def home(self, name: str) -> str:
        """The origin of an object: anyorder, a file, an entry point, or this program."""
        return self._all()[1].get(name, PROGRAM if name in self._given else "anyorder")

    def _clash(self, name: str, home: str, other: str) -> str:
        return f"the {self.kind} {name!r} is in {home} and in {other}; rename one of them"

    def _all(self) -> tuple[dict[str, Thing | str], dict[str, str]]:
        sources = _plugins()
        if self._read is None or self._read[0] != tuple(sources):
            things, homes = dict(self._shipped), dict[str, str]()
            for home, plugin in sources.items():
                with _worded(home):
                    brought = list(self._brought(plugin))
                for name, thing in brought:
                    if any(thing is other for other in things.values()):  # imported from elsewhere
                        continue
                    require(name not in things, self._clash(name, homes.get(name, "anyorder"), home))
                    things[name], homes[name] = thing, home
            self._read = tuple(sources), things, homes
        return self._read[1:]

    def _brought(self, plugin: Any) -> Iterator[tuple[str, Thing]]:
        modules = [plugin]
        if hasattr(plugin, "__path__") and importlib.util.find_spec(own := f"{plugin.__name__}.{self.kind}s"):
            modules.append(importlib.import_module(own))
        for module in modules:
            for variable, value in list(vars(module).items()):
                elsewhere = isinstance(value, type) and value.__module__ != getattr(module, "__name__", None)
                name = None if variable.startswith("_") or elsewhere else self._named(variable, value)
                if name is not None:
                    yield name, value


def _own_name(kind: type, variable: str, value: object) -> str | None:
    return value.name if isinstance(value, kind) else None  # type: ignore[attr-defined]


def use(*named: str | Path) -> None:
    """Import these plug-ins, here and in every worker process that is started from here."""
    require(not any("\0" in str(file) for file in named), "the name of a plug-in contains a null byte; choose another")
    paths = [os.path.realpath(file) for file in named]
    for path in paths:
        separator = f"{os.pathsep!r} in its path, which separates plug-ins"
        require(os.pathsep not in path, f"the plug-in {path} has {separator}; rename it")
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys([*files(), *paths]))
    if paths:
        _plugins()


@contextlib.contextmanager
def within(named: Iterable[str]) -> Iterator[None]:
    """Use plug-ins inside a `with` block; exceptions of their code become one-line errors."""
    before = os.environ.get(VARIABLE, "")
    try:
        use(*named)
        yield
    except InputError:
        raise
    except Exception as error:
        if (place := _place_in_plugin(error)) is None:
            raise
        raise InputError(f"the plug-in {place} fails: {in_a_line(error)}") from error
    finally:
        os.environ[VARIABLE] = before


def _place_in_plugin(error: Exception) -> str | None:
    """The last file and line of a traceback that belong to a plug-in."""
    inside = tuple(path if path.endswith(".py") else path + os.sep for path in files())
    frames = [(os.path.realpath(one.filename), one.lineno) for one in traceback.extract_tb(error.__traceback__)]
    return next((f"{file}, line {line}," for file, line in reversed(frames) if file.startswith(inside)), None)


def outside() -> list[str]:
    """The plug-ins that are not part of the package."""
    return [*_declared(), *files()]


def files() -> list[str]:
    """The files and folders that are named as plug-ins."""
    named = os.environ.get(VARIABLE, "").split(os.pathsep)
    return [os.path.realpath(file) for file in named if file]


def flags() -> str:
    """The flags that name the loaded files, to be added to a suggested command; those below the current folder by
    their relative path.
    """
    here = os.path.realpath(os.curdir) + os.sep
    return "".join(f" --plugin {shlex.quote(file.removeprefix(here))}" for file in files())


def _plugins() -> dict[str, Any]:
    """Every plug-in by its home, imported once; one that is being imported is left out."""
    own = {path: functools.partial(_from_file, Path(path)) for path in files()}
    homes: dict[str, Callable[[], Any]] = {**_shipped(), **_declared(), **own}
    for home, bring in homes.items():
        if home not in _imported:
            _imported[home] = None
            try:
                with _worded(home), contextlib.redirect_stdout(sys.stderr):  # standard output is the command's
                    _imported[home] = bring()
            finally:
                if _imported.get(home) is None:
                    _imported.pop(home, None)
    return {home: _imported[home] for home in homes if _imported[home] is not None}


@contextlib.contextmanager
def _worded(home: str) -> Iterator[None]:
    """Convert any exception of a plug-in's code, including `SystemExit`, into a one-line error."""
    try:
        yield
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        _imported.pop(home, None)  # so that it is read again after a correction
        try:
            reason = str(error) if isinstance(error, InputError) else in_a_line(error)
        except Exception:  # its message is code of the plug-in too
            reason = type(error).__name__
        raise InputError(f"the plug-in {home} cannot be imported: {reason}") from error


@functools.cache
def _shipped() -> dict[str, Callable[[], ModuleType]]:
    spec = importlib.util.find_spec(SHIPPED)
    assert spec is not None
    names = [f"{SHIPPED}.{one.name}" for one in pkgutil.iter_modules(spec.submodule_search_locations) if one.ispkg]
    return {name: functools.partial(importlib.import_module, name) for name in names}


@functools.cache
def _declared() -> dict[str, Callable[[], Any]]:
    from importlib.metadata import EntryPoint, entry_points  # slow to import

    def bring(point: EntryPoint) -> Any:
        thing = point.load()
        if isinstance(thing, ModuleType):
            return thing
        return SimpleNamespace(**{point.name: thing, "__name__": getattr(thing, "__module__", None)})

    return {f"the entry point {one.value}": functools.partial(bring, one) for one in entry_points(group=GROUP)}


def _from_file(path: Path) -> ModuleType:
    file = path / "__init__.py" if path.is_dir() else path
    require(file.suffix == ".py" and file.is_file(), "pass a Python file, or a folder with __init__.py")
    name = f"{path.stem}_{zlib.crc32(os.fsencode(path)):08x}"  # unique to the path
    inside = [str(path)] if path.is_dir() else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=inside)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
