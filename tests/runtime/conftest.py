"""The bundles with random weights of tests/prediction."""

from tests.prediction.conftest import joint1o, joint2o, made, sep

__all__ = ["joint1o", "joint2o", "made", "sep"]
