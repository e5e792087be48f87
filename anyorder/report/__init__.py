"""Figures: the same style everywhere, labelled, colour-blind safe."""
