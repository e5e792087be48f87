"""The Evolution of Statistical Induction Heads (2024): from uniform to unigram to bigram predictions."""

from anyorder.papers.paper import Paper, imported

PAPER = Paper(
    name="statistical_induction",
    title="The Evolution of Statistical Induction Heads: In-Context Learning Markov Chains",
    reference="Edelman, Tsilivis, Edelman, Malach and Goel, NeurIPS 2024, arXiv 2402.11004",
    about="training passes from uniform to unigram to bigram predictions, and the unigram delays the bigram",
    experiments=imported("anyorder.papers.statistical_induction.experiments:EXPERIMENTS"),
    ledger=imported("anyorder.papers.statistical_induction.claims:LEDGER"),
    page="statistical-induction",
)
