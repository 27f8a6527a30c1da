"""The bundles with random weights of tests/prediction."""

from tests.prediction.conftest import bundle, joint1o, joint2o, sep

__all__ = ["bundle", "joint1o", "joint2o", "sep"]
