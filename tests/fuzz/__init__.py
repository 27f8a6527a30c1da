"""Hostile inputs, drawn at random: each module `test_*.py` has `run(seed, seconds)`, which counts what happened.

A promise that is broken is an AssertionError with the input in it. The tests run each module for seconds,
`scripts/fuzz` for as long as it is told.
"""
