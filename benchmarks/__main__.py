"""Run every benchmark, one after the other, each in a new process with fresh memory and threads."""

import importlib.util
import pkgutil
import subprocess
import sys

import benchmarks
from benchmarks.measure import LEFT_OUT


def main() -> int:
    names = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name not in LEFT_OUT)
    wanted = sys.argv[1:] or names
    for name in wanted:
        if importlib.util.find_spec(f"benchmarks.{name}") is None:
            print(f"no benchmark {name!r}; choose from {', '.join(names)}", file=sys.stderr)
            return 2
    codes = [subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode for name in wanted]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
