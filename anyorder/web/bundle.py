"""The page's modules as one classic script: browsers load no module from a file, and fetch nothing there.

Each module becomes a function that gives what the module exports, in an order in which imports are there before they
are used. Our modules import and export by name only, one statement a line, and that is all that is understood here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let) (\w+))", re.MULTILINE)


def bundle(folder: Path, entry: str, instead: Mapping[str, str] | None = None) -> str:
    """The module `entry` of a folder with all that it imports; `instead` names modules that replace others.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "one.js").write_text("export const one = 1;\\n")
    >>> _ = (folder / "main.js").write_text('import { one } from "./one.js";\\nconsole.log(one);\\n')
    >>> print(bundle(folder, "main.js"))
    "use strict";
    (() => {
    const modules = {};
    modules["one.js"] = (() => {
    const one = 1;
    return { one };
    })();
    modules["main.js"] = (() => {
    const { one } = modules["one.js"];
    console.log(one);
    return {  };
    })();
    })();
    """
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        done[name] = ""  # holds its place, so that a circle would end here
        text = (folder / name).read_text(encoding="utf-8").rstrip("\n")
        for _, path in _IMPORT.findall(text):
            add(_resolved(folder, name, path, instead or {}))
        done.pop(name)
        done[name] = _module(folder, name, text, instead or {})

    add(entry)
    return "\n".join(['"use strict";', "(() => {", "const modules = {};", *done.values(), "})();"])


def _resolved(folder: Path, name: str, path: str, instead: Mapping[str, str]) -> str:
    found = (folder / name).parent.joinpath(path).resolve().relative_to(folder.resolve()).as_posix()
    return instead.get(found, found)


def _module(folder: Path, name: str, text: str, instead: Mapping[str, str]) -> str:
    exported = ", ".join(_EXPORT.findall(text))

    def imported(found: re.Match[str]) -> str:
        names = ", ".join(word.strip() for word in found[1].split(",") if word.strip())
        return f'const {{ {names} }} = modules["{_resolved(folder, name, found[2], instead)}"];'

    body = _EXPORT.sub("", _IMPORT.sub(imported, text))
    left = re.search(r"^(?:import|export)\b.*$", body, re.MULTILINE)
    assert left is None, f"{name}: cannot bundle {left and left[0]!r}"
    return f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();'
