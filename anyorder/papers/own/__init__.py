"""Our own experiments, which belong to no paper."""

from anyorder.papers.paper import RESULTS, Paper, imported

PAPER = Paper(
    name="own",
    title="Our own experiments",
    reference="the anyorder developers",
    about="the Bayes floor, precision, mechanism and birth of induction heads, the price of an order",
    experiments=imported("anyorder.papers.own.experiments:EXPERIMENTS"),
    results=RESULTS / "paper",
)
