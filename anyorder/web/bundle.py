"""The page's modules as one classic script: one request instead of thirty, and browsers load no modules from files.

Each module becomes a function that returns its exports, after the modules that it imports. Only named imports and
exports are supported, one statement per line, as in our modules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let) (\w+))", re.MULTILINE)


def bundle(folder: Path, entry: str, instead: Mapping[str, str] | None = None) -> str:
    """The module `entry` of a folder with all that it imports; `instead` names modules that replace others.

    >>> bundle(Path(__file__).parent, "static/svg.js").splitlines()[2:4]
    ['const modules = {};', 'modules["static/palette.js"] = (() => {']
    """
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        done[name] = ""  # a placeholder, so that circular imports end here

        def imported(found: re.Match[str]) -> str:
            path = (folder / name).parent.joinpath(found[2]).resolve().relative_to(folder.resolve()).as_posix()
            path = (instead or {}).get(path, path)
            add(path)
            names = ", ".join(word.strip() for word in found[1].split(",") if word.strip())
            return f'const {{ {names} }} = modules["{path}"];'

        text = (folder / name).read_text(encoding="utf-8").rstrip("\n")
        body = _EXPORT.sub("", _IMPORT.sub(imported, text))
        left = re.search(r"^(?:import|export)\b.*$", body, re.MULTILINE)
        assert left is None, f"{name}: cannot bundle {left and left[0]!r}"
        done.pop(name)
        exported = ", ".join(_EXPORT.findall(text))
        done[name] = f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();'

    add(entry)
    return "\n".join(['"use strict";', "(() => {", "const modules = {};", *done.values(), "})();"])
