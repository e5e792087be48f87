"""Benchmarks: ratios measured in one run, each with its goal.

`python -m benchmarks` runs all of them; `python -m benchmarks.sampling` runs one.
"""
