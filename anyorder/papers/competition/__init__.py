"""Competition Dynamics Shape Algorithmic Phases of In-Context Learning (2025): models mix four predictors."""

from anyorder.papers.paper import Paper, imported

PAPER = Paper(
    name="competition",
    title="Competition Dynamics Shape Algorithmic Phases of In-Context Learning",
    reference="Park, Lubana, Pres and Tanaka, ICLR 2025, arXiv 2412.01003",
    about="models trained on N chains retrieve or infer the chain, from unigrams or bigrams, depending on N and "
    "training time",
    experiments=imported("anyorder.papers.competition.experiments:EXPERIMENTS"),
    ledger=imported("anyorder.papers.competition.claims:LEDGER"),
    page="competition",
)
