"""Scores to the best structure: exact search, numpy arrays in and out."""
