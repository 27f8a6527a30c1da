"""A model bundle to scores, without torch."""
