"""Lists and help come from kept data, which is what the registries hold."""

import json
import subprocess
import sys

from anyorder.cli import catalogue

HEAVY = {"jax", "equinox", "scipy", "numba", "matplotlib"}


def test_what_is_kept_is_what_the_registries_hold():
    kept = json.loads(catalogue.PATH.read_text(encoding="utf-8"))
    names = ("constructions", "estimators", "experiments", "claims")
    made = {name: catalogue.made(name) for name in names}
    assert kept == made, "write it again: python -m anyorder.cli.catalogue"


def test_lists_and_help_need_no_heavy_library():
    program = (
        "import sys\nfrom anyorder.cli import main\n"
        "for words in (['constructions'], ['reproduce', 'list'], ['claims', 'list'], ['verify', '--help'], "
        "['estimate', '--help'], ['train', '--help'], ['demo', '--help'], ['dynamics', '--help']):\n"
        "    try:\n        assert main(words) == 0\n    except SystemExit as end:\n        assert not end.code\n"
        f"print('heavy:', sorted({HEAVY} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("heavy: []\n")
    for said in ("unrolled-bayes", "attention-maps", "thm-two-layer", "context-tree weighting", "--no-gated"):
        assert said in done.stdout
