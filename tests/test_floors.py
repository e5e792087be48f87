"""Imports point down: faces, papers, lab, io."""

import ast
import pathlib
import re

import pytest

PACKAGE = pathlib.Path(__file__).parent.parent / "anyorder"
#: From the lowest to the highest; modules outside all rooms (`__init__`, `__main__`) are above all.
FLOORS = [
    {"errors", "io"},
    {"chains", "estimators", "models", "constructions", "training", "probing", "sweeps", "torch", "zoo"},
    {"papers"},
    {"cli", "web", "report", "plot"},
]


def floor(module: str) -> int | None:
    """The floor of a module by its full name; None for the package itself."""
    room = module.split(".")[1:2]
    return next((number for number, rooms in enumerate(FLOORS) if rooms & set(room)), None)


def exported(package: pathlib.Path, name: str) -> str | None:
    """The module behind a name that a stub exports, relative to its package."""
    stub = package / "__init__.pyi"
    for node in ast.parse(stub.read_text(encoding="utf-8")).body if stub.exists() else ():
        if isinstance(node, ast.ImportFrom) and name in {one.asname or one.name for one in node.names}:
            return node.module
    return None


def resolved(root: pathlib.Path, module: str, name: str) -> str:
    """The module from which `from module import name` imports."""
    folder = root.parent.joinpath(*module.split("."))
    if (folder / name).is_dir() or (folder / f"{name}.py").exists():
        return f"{module}.{name}"
    home = exported(folder, name)
    return f"{module}.{home}" if home else module


def imported(root: pathlib.Path, file: pathlib.Path) -> set[str]:
    """The modules of the package that a file names in imports anywhere, in strings, and as the package's attributes."""
    own = file.relative_to(root.parent).with_suffix("").parts
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Import():
                found |= {one.name for one in node.names}
            case ast.ImportFrom():
                above = ".".join(own[: len(own) - node.level]) if node.level else ""
                module = ".".join(filter(None, (above, node.module)))
                found |= {resolved(root, module, one.name) for one in node.names}
            case ast.Attribute(value=ast.Name(id=root.name)):
                found.add(resolved(root, root.name, node.attr))
            case ast.Constant(value=str(text)) if re.fullmatch(r"\w+(\.\w+)+\.?(:\w*)?", text):  # also of an f-string
                found.add(text.partition(":")[0].rstrip("."))
    return {name for name in found if name.split(".")[0] == root.name}


def upward(root: pathlib.Path) -> list[str]:
    """Every import of a package that points from a floor to one above it."""
    found = []
    for file in sorted([*root.rglob("*.py"), *root.rglob("*.pyi")]):
        name = file.relative_to(root.parent)
        own = floor(".".join(name.with_suffix("").parts))
        for module in sorted(imported(root, file)) if own is not None else ():
            other = floor(module)
            if other is not None and other > own:
                found.append(f"{name.as_posix()} imports {module}")
    return found


def test_no_floor_imports_from_above():
    # Papers are found as plug-ins are, in the folder that the registry names.
    assert upward(PACKAGE) == ["anyorder/io/plugins.py imports anyorder.papers"]


def test_what_papers_share_knows_no_paper():
    shared = [path for path in (PACKAGE / "papers").glob("*.py") if path.stem != "__init__"]
    folders = {f"anyorder.papers.{path.name}" for path in (PACKAGE / "papers").iterdir() if path.is_dir()}
    assert {"anyorder.papers.two_can", "anyorder.papers.own"} <= folders
    for file in shared:
        assert {name for name in imported(PACKAGE, file) if ".".join(name.split(".")[:3]) in folders} == set(), file


def test_every_room_has_a_floor():
    rooms = {path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert {room for room in rooms if not room.startswith("__")} == set.union(*FLOORS)


@pytest.mark.parametrize(
    ("file", "text", "named"),
    [
        ("chains/a.py", "from anyorder.papers import b", "anyorder.papers.b"),
        ("chains/a.py", "def f():\n    import anyorder.cli", "anyorder.cli"),
        ("chains/a.py", "if TYPE_CHECKING:\n    from anyorder.web.app import App", "anyorder.web.app"),
        ("chains/a.py", "from ..papers.b import c", "anyorder.papers.b"),
        ("chains/a.py", "from anyorder import plot", "anyorder.plot"),
        ("chains/a.py", "from anyorder import verdict", "anyorder.papers.b"),
        ("chains/a.py", "import anyorder\nanyorder.verdict", "anyorder.papers.b"),
        ("chains/a.py", 'THINGS = {"b": "anyorder.papers.b:c"}', "anyorder.papers.b"),
        ("chains/a.py", 'import_module("anyorder.papers.b")', "anyorder.papers.b"),
        ("chains/a.py", 'import_module(f"anyorder.papers.{name}")', "anyorder.papers"),
        ("chains/a.py", 'HOME = "anyorder.papers.b"\nresolve_name(f"{HOME}:c")', "anyorder.papers.b"),
        ("chains/__init__.pyi", "from ..plot import c as c", "anyorder.plot"),
        ("io/a.py", "from anyorder.chains.kernel import Kernel", "anyorder.chains.kernel"),
        ("papers/a/b.py", "from anyorder.report.page import Section", "anyorder.report.page"),
    ],
)
def test_an_import_from_above_is_found(tmp_path, file, text, named):
    root = tmp_path / "anyorder"
    for path, content in {
        "__init__.pyi": "from .papers.b import verdict as verdict",
        "papers/b.py": "from anyorder.chains import kernel\nfrom anyorder import __version__",
        "chains/kernel.py": "import numpy\nfrom anyorder.io.atomic import Row\nfrom .. import errors",
        "cli/main.py": "import anyorder.papers.b\nimport anyorder.plot",
        "plot.py": "",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    assert upward(root) == []
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text(text)
    assert upward(root) == [f"anyorder/{file} imports {named}"]
