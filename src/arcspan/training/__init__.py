"""Training: configuration, batches, the trainer, checkpoints and export."""

from arcspan.training.config import Config, read_config
from arcspan.training.run import predict_pairs, train

__all__ = ["Config", "predict_pairs", "read_config", "train"]
