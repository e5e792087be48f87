"""`python -m anyorder` is the `anyorder` command."""

import sys

from anyorder.cli import main

if __name__ == "__main__":
    sys.exit(main())
