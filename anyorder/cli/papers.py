"""`anyorder papers`: list papers with their experiments and claims."""

from __future__ import annotations

from rich.console import Group

from anyorder.cli.catalogue import listed
from anyorder.cli.command import Command, Outcome

_OFFERED = ("experiments", "presets", "sweeps", "priors", "estimators", "constructions", "mixers")


class Papers(Command):
    """List papers with what each offers: experiments for `anyorder reproduce`, claims for `anyorder claims`, and more.

    Examples:
      anyorder papers
      anyorder papers --plugin mine --json
      anyorder reproduce two_can
    """

    next = "anyorder reproduce list"

    def run(self) -> Outcome:
        """A few lines for each."""
        found = listed("papers")
        shown = []
        for paper in found:
            lines = [f"{paper['name']}: {paper['title']} ({paper['reference']})", f"  {paper['about']}"]
            lines += [f"  {kind}: {', '.join(paper[kind])}" for kind in _OFFERED if paper[kind]]
            lines += [f"  {paper['claims']} claims: anyorder claims {paper['name']}"] if paper["claims"] else []
            shown.append("\n".join([*lines, ""]))
        return Outcome({"papers": found}, Group(*shown, "anyorder reproduce PAPER runs all experiments of a paper."))
