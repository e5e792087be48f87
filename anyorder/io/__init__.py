"""The ground: sequences in and out, whole files, trees of arrays, number types and the cache."""
