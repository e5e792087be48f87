"""The promises of the README."""

import ast
import doctest
import json
import os
import pathlib
import re
import subprocess
import sys

import jax.numpy as jnp
import jaxtyping
import pytest

from anyorder.papers.two_can.dynamics.objective import excess

ROOT = pathlib.Path(__file__).parent.parent


def test_importing_the_package_is_light():
    heavy = ("jax", "matplotlib", "numba", "scipy", "fastapi", "uvicorn", "plotly", "torch", "ray")
    program = f"import sys, anyorder; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def blocks(path, language="python"):
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if blocks(page)]


QUICK = {"README", "estimators", "text"}


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.stem, marks=[pytest.mark.slow] * (page.stem not in QUICK)) for page in PAGES]
)
def test_python_examples_of_a_page_run_from_top_to_bottom(page, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    names = {}
    for block in blocks(page):
        if ">>>" in block:
            test = parser.get_doctest(block, names, page.name, str(page), 0)
            assert runner.run(test, clear_globs=False).failed == 0
            names.update(test.globs)
        else:
            exec(compile(block, str(page), "exec"), names)


def test_the_readme_names_commands_that_exist():
    from anyorder.cli.main import COMMANDS

    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    named = {name for block in blocks for name in re.findall(r"^anyorder ([a-z]+)", block, flags=re.MULTILINE)}
    assert named
    assert named <= set(COMMANDS)


def test_errors_of_the_command_leave_no_traceback():
    result = subprocess.run(
        [sys.executable, "-m", "anyorder", "estimate", "absent.txt", "--order", "1"], capture_output=True, text=True
    )
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_certificates_hold_in_programs_compiled_as_users_compile_them():
    """The other tests compile with little optimisation; equal keys must get equal scores with full optimisation too."""
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


#: Modules without a test file of their name, with their contents or the test that covers them.
TESTED_ELSEWHERE = {
    "cli/unused": "cli/test_parsing",
    "constructions/disentangled": "constructions/test_registry has every construction over its cases",
    "constructions/tables": "test_pages and cli/test_constructions",
    "constructions/gpt2_weights": "constructions/test_gpt2",
    "constructions/steps": "web/test_api tells every step of every proof",
    "models/mlp": "models/test_model has Definition 3 as loops",
    "papers/figure_data": "types, drawn in report/test_figures",
    "papers/own/phase": "papers/test_runner",
    "papers/ledger": "papers/two_can/claims/test_registry",
    "papers/paper": "papers/test_registry",
    "papers/two_can/experiments/algorithms": "papers/test_runner runs every experiment",
    "papers/two_can/experiments/grid": "papers/test_runner",
    "papers/two_can/experiments/parameters": "papers/test_runner",
    "papers/two_can/experiments/presets": "papers/test_runner",
    "papers/two_can/story": "cli/test_demo",
    "probing/adapters/gguf": "torch/test_gguf",
    "probing/adapters/huggingface": "torch/test_huggingface",
    "probing/adapters/transformer_lens": "torch/test_huggingface",
    "report/demo_page": "cli/test_demo",
    "report/style": "the tests of every command that draws",
    "report/training": "cli/test_training",
    "sweeps/cost": "constants that were fitted; a running sweep corrects what follows from them",
    "training/attention_sums": "training/test_evaluation",
    "training/reference": "training/test_evaluation",
    "web/bundle": "web/local/test_forward runs what it makes",
    "web/traced": "web/test_view and web/test_proof",
}
#: Tests of the page as a whole, which is many scripts, of the probe on a language model, and of a benchmark.
PAGE = {"web/static/test_page.py", "web/static/test_driving.py", "torch/test_smollm2.py", "torch/test_atlas.py"}


def does_something(path):
    """Whether a module has a public function, or a public class with one; entries of the ledger are run by it."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        within = node.body if isinstance(node, ast.ClassDef) else [node]
        functions = [inner for inner in within if isinstance(inner, ast.FunctionDef) and inner.name[0] != "_"]
        if functions and node.name[0] != "_":
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            if not any(name.startswith("claim(") for name in decorators):
                return True
    return False


def test_tests_are_found_by_the_name_of_their_module():
    package, tests = ROOT / "anyorder", ROOT / "tests"
    for file in sorted(tests.glob("*/**/test_*.py")):
        within, name = file.relative_to(tests).parent, file.stem.removeprefix("test_")
        if within.name == "torch":  # a separate environment, for modules of several packages
            named = list(package.rglob(f"{name}.py"))
        else:
            named = [path for path in (package / within).glob(f"{name}.*") if path.suffix in (".py", ".js")]
        assert named or file.relative_to(tests).as_posix() in PAGE, f"{file.relative_to(ROOT)} names no module"
    modules = [path for path in sorted(package.rglob("*.py")) if path.stem[:2] != "__" and does_something(path)]
    names = [path.relative_to(package).with_suffix("") for path in modules]
    without = {name.as_posix() for name in names if not (tests / name.parent / f"test_{name.name}.py").exists()}
    assert without == set(TESTED_ELSEWHERE)


def test_shapes_are_checked_at_run_time_from_the_first_call():
    rows = jnp.full((4, 2), 0.5)
    assert excess(rows, rows, 0.0) == 0
    for predicted in (rows[:3], rows.astype(int)):
        with pytest.raises(jaxtyping.TypeCheckError):
            excess(predicted, rows, 0.0)
