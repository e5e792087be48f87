"""What the README promises."""

import doctest
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent


def test_importing_the_package_is_light():
    heavy = ("jax", "matplotlib", "numba", "scipy", "fastapi", "uvicorn", "plotly", "torch", "ray")
    program = f"import sys, anyorder; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def python_blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if python_blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_examples_of_a_page_run_from_top_to_bottom(page):
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    names = {}
    for block in python_blocks(page):
        if ">>>" in block:
            test = parser.get_doctest(block, names, page.name, str(page), 0)
            assert runner.run(test, clear_globs=False).failed == 0
            names.update(test.globs)
        else:
            exec(compile(block, str(page), "exec"), names)


def test_the_readme_names_commands_that_exist():
    from anyorder.cli.main import COMMANDS

    named = set(re.findall(r"^anyorder ([a-z]+)", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert named
    assert named <= set(COMMANDS)


def test_errors_of_the_command_leave_no_traceback():
    result = subprocess.run(
        [sys.executable, "-m", "anyorder", "estimate", "absent.txt", "--order", "1"], capture_output=True, text=True
    )
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


def test_certificates_hold_in_programs_compiled_as_users_compile_them():
    """The other tests compile with little optimisation; equal keys must get equal scores with all of it too."""
    users = {key: value for key, value in os.environ.items() if not key.startswith(("XLA_", "JAX_"))}
    asked = [("dyadic", 10, "float32"), ("bayes", 6, "float64"), ("k-head", 8, "bfloat16")]
    program = (
        "from anyorder.cli import main\n"
        f"for name, order, dtype in {asked}:\n"
        "    words = f'verify {name} --order {order} --dtype {dtype} --length 256 --sequences 4 --json'\n"
        "    assert main(words.split()) == 0\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=users)
    assert result.returncode == 0, result.stderr
    reports = [json.loads(line) for line in result.stdout.splitlines()]
    assert [report["construction"] for report in reports] == [name for name, _, _ in asked]
    for report in reports:
        assert report["passed"]
        assert report["max_error"] <= report["bound"]
        assert report["positions_checked"] > 100
