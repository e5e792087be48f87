"""The `anyorder` command: one dataclass for each sub-command, one place for exit codes and error lines."""

from anyorder.cli.main import main

__all__ = ["main"]
