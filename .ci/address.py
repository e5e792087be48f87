"""Set the address of the repository everywhere: make address URL=https://…

It is one setting: pyproject.toml, README.md and CITATION.cff get it here, the docs site reads it from there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

#: File, the line that holds the address or takes its place, and the line with it.
LINES = (
    ("README.md", r"git clone \S.* anyorder && cd anyorder", "git clone {url} anyorder && cd anyorder"),
    ("CITATION.cff", r"(repository-code: .*\n)?keywords:", "repository-code: {url}\nkeywords:"),
    ("pyproject.toml", r"(\[project\.urls\]\nRepository = .*\n\n)?\[project\.scripts\]",
     '[project.urls]\nRepository = "{url}"\n\n[project.scripts]'),
)  # fmt: skip


def main(root: Path, url: str) -> None:
    """Write the address into every file that shows it."""
    if not re.fullmatch(r"https://[^\s\"'<>]+", url):
        sys.exit(f"the address is {url!r}, must begin with https://; make address URL=https://…")
    for name, pattern, line in LINES:
        text = (root / name).read_text(encoding="utf-8")
        changed, count = re.subn(pattern, line.format(url=url), text)
        assert count == 1, f"{name} has {count} places for the address, must have one"
        (root / name).write_text(changed, encoding="utf-8")


if __name__ == "__main__":
    main(Path(__file__).parent.parent, sys.argv[1] if len(sys.argv) > 1 else "")
