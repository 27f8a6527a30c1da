"""Scores that can be trusted and compared."""
