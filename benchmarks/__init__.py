"""Benchmarks: ratios measured in one run, next to the goal that each is held against.

`python -m benchmarks` runs all of them; `python -m benchmarks.sampling` runs one.
"""
