"""From Markov to Laplace (2025): one layer of Mamba learns add-β smoothing, and its convolution is the reason."""

from anyorder.papers.paper import Paper, imported

PAPER = Paper(
    name="markov_to_laplace",
    title="From Markov to Laplace: How Mamba In-Context Learns Markov Chains",
    reference="Bondaschi, Rajaraman, Wei, Ramchandran, Pascanu, Gulcehre, Gastpar and Makkuva, 2025, arXiv 2502.10178",
    about="one layer of Mamba learns add-β smoothing at every order, if its convolution sees k + 1 tokens",
    experiments=imported("anyorder.papers.markov_to_laplace.experiments:EXPERIMENTS"),
    ledger=imported("anyorder.papers.markov_to_laplace.claims:LEDGER"),
    page="markov-to-laplace",
)
