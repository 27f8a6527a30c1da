"""The average of runs that began from the same weights, as a run that can be exported.

python studies/english/average.py OUTPUT RUN RUN ...
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import click

PARTS = ("architecture", "inventories", "inputs")  # of a model's description, that runs must share


@click.command(help=__doc__)
@click.argument("output", type=click.Path(path_type=Path))
@click.argument("runs", type=click.Path(path_type=Path, exists=True), nargs=-1, required=True)
def main(output: Path, runs: tuple[Path, ...]) -> None:
    """Equal shares of each."""
    import torch
    from safetensors.torch import load_file

    from arcspan.training.checkpoint import Checkpoint

    checkpoints = [Checkpoint(run).open("best") for run in runs]
    texts = {
        file.name: file.read_text(encoding="utf-8")
        for file in sorted(checkpoints[0][0].glob("*.json"))
    }
    described = [
        json.loads((folder / "model.json").read_text(encoding="utf-8")) for folder, _ in checkpoints
    ]
    if any(description[part] != described[0][part] for description in described for part in PARTS):
        raise click.ClickException("these are not runs of the same model")
    weights = [load_file(folder / "model.safetensors") for folder, _ in checkpoints]
    mean = {
        name: torch.stack([state[name].double() for state in weights]).mean(0).to(weight.dtype)
        for name, weight in weights[0].items()
    }
    output.mkdir(parents=True, exist_ok=True)
    shutil.copy(runs[0] / "config.json", output)
    Checkpoint(output).write("best", "models/average", {"model": mean}, texts, checkpoints[0][1])


if __name__ == "__main__":
    main()
