"""Smoke test of an installed wheel with nothing but its own dependencies: python tests/smoke.py"""

import importlib.resources
import json
import pathlib
import subprocess
import sys

import anyorder

HERE = pathlib.Path(anyorder.__file__).parent


def command(*words):
    """Run the installed command; return its output."""
    program = pathlib.Path(sys.executable).with_name("anyorder")
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    assert "site-packages" in str(HERE), f"{HERE} is not an installed package"
    for name in ("py.typed", "web/static/index.html", "report/page.css", "constructions/exact_orders.json"):
        assert importlib.resources.files("anyorder").joinpath(name).is_file(), f"{name} is missing"
    assert anyorder.__version__ in command("--version")
    assert json.loads(command("verify", "dyadic", "--order", "3", "--length", "64", "--json"))["passed"]
    assert "dyadic" in command("constructions")
    tokens = anyorder.sample(order=2, length=32, seed=0).tokens[0]
    model = anyorder.construct("dyadic", order=2, alphabet_size=2, length=32)
    assert anyorder.plot.attention(model, tokens)._repr_png_().startswith(b"\x89PNG")
    print(f"anyorder {anyorder.__version__}: the installed wheel works")
