"""Input and output: sequence files, atomic writes, trees of arrays, number types and the cache."""
