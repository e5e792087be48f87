"""A key and small tables that several tests of claims share."""

import jax

from anyorder.papers.results import folded

KEY = jax.random.key(11)


def rows(key, value, *entries, **columns):
    about = {"preset": "published", **columns}
    return [{**about, key: level, f"{value}_mean": mean, f"{value}_std": std} for level, mean, std in entries]


DEPTH = rows("layers", "excess", (1, 0.131, 0.001), (2, 0.0985, 0.002), floor=0.0865)


def noisy(*entries):
    """Rows by level of noise: the loss over the undisturbed chain, and two other readings that do not grow."""
    others = {
        f"{name}_{end}": value for name in ("excess", "on_clean") for end, value in (("mean", 0.1), ("std", 0.001))
    }
    return rows("level", "over_clean", *entries, **others)


TOKEN = noisy((0.0, 0.1, 0.003), (0.1, 0.152, 0.01), (0.25, 0.181, 0.002), (0.5, 0.212, 0.004))


def typed(tables):
    """Tables as an experiment holds them, of rows as they are written."""
    return {name: folded(rows) for name, rows in tables.items()}
