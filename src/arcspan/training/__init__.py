"""Training: configuration, batches, the trainer, checkpoints and export."""
