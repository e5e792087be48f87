"""Sweeps: grids of training runs, on the cores of one machine or on a Ray cluster, into one table."""
