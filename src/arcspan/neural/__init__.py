"""Words to scores, in torch: encoders, scorers, models and losses. Needs the extra `train`."""

from arcspan.errors import MissingExtraError

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingExtraError("arcspan.neural", "train") from error
