"""The explorer: a typed API over the package, and one page that uses nothing else."""
