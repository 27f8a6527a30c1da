"""Training: configuration, batches, the trainer, checkpoints and export."""

from typing import TYPE_CHECKING, Any

from arcspan.errors import MissingExtraError
from arcspan.training.config import Config, read_config

if TYPE_CHECKING:
    from arcspan.training.run import predict_pairs, train


def __getattr__(name: str) -> Any:
    """`train` and `predict_pairs` import torch, which configurations do without."""
    if name not in ("predict_pairs", "train"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from arcspan.training import run
    except ModuleNotFoundError as error:
        raise MissingExtraError("training", "train") from error
    return getattr(run, name)


__all__ = ["Config", "predict_pairs", "read_config", "train"]
