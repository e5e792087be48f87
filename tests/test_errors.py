"""Error messages: in Python they name arguments, and the command line turns these into flags."""

import ast
import pathlib
import re

import pytest

import anyorder

PACKAGE = pathlib.Path(anyorder.__file__).parent
RAISING = {"InputError", "BeyondLimit", "require", "at_most", "ImportError"}
MODULES = [path for path in PACKAGE.rglob("*.py") if "cli" not in path.relative_to(PACKAGE).parts]


def messages(path):
    """Every text in a call that rejects something, with its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in RAISING:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    yield node.lineno, inner.value


@pytest.mark.slow
def test_no_message_outside_the_command_line_has_a_flag():
    found = {
        f"{path.relative_to(PACKAGE)}:{line}": text
        for path in MODULES
        for line, text in messages(path)
        if re.search(r"(^|[^\w-])--[a-z]", text)
    }
    assert sum(1 for path in MODULES for _ in messages(path)) > 300
    assert found == {}
