"""The presets of the paper."""

from anyorder.papers.two_can.presets import PAPER as config


def test_the_paper_preset_is_the_published_setting():
    architecture, optimisation = config.architecture, config.optimisation
    assert (config.data.alphabet_size, architecture.layers, config.heads) == (2, 2, (1, 1))
    assert (architecture.key_positions, architecture.mlp, architecture.last_mlp) == ("first", "paper", False)
    assert (architecture.beginning, architecture.pre_norm, architecture.qk_norm) == (False, False, False)
    assert (optimisation.optimiser, optimisation.schedule, optimisation.steps) == ("adamw", "cosine", 30_000)
    assert architecture.dimension in (32, 64, 128)
    assert optimisation.batch in (16, 32, 64)
    assert config.data.length in (8, 32, 64)
    assert set(optimisation.learning_rate) <= {1e-4, 1e-3, 1e-2}
    assert optimisation.weight_decay in (0, 1e-4, 1e-3)
