"""A part of AMALGUM, whose dependencies are silver, with the constituents that a model finds under them.

    python studies/english/complete.py amalgum/train.conllu.xz FOLDER --every 6 --first 1 -m BUNDLE

FOLDER gets completed.ptb and completed.conllu. Sentences that no constituents fit (arcs that cross) are left out.
"""

from __future__ import annotations

import lzma
import subprocess
import sys
from pathlib import Path

import click

PAIR = ("completed.ptb", "completed.conllu")


def complete(source: Path, folder: Path, every: int, first: int = 0, model: str = "en") -> list[Path]:
    """The pair of files, made where it is not there."""
    pair = [folder / name for name in PAIR]
    if not pair[1].exists():
        folder.mkdir(parents=True, exist_ok=True)
        with lzma.open(source, "rt", encoding="utf-8") as file:
            sentences = file.read().strip().split("\n\n")
        part = folder / "amalgum.conllu"
        part.write_text("\n\n".join(sentences[first::every]) + "\n\n", encoding="utf-8")
        files = [str(part), *map(str, pair)]
        subprocess.run(
            [sys.executable, "-m", "arcspan", "treebank", "complete", *files, "-m", model], check=True
        )
    return pair


@click.command(help=__doc__)
@click.argument("source", type=click.Path(path_type=Path, exists=True))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--every", type=click.IntRange(1), default=1, show_default=True, help="Every k-th sentence.")
@click.option("--first", type=click.IntRange(0), default=0, show_default=True, help="Sentences to leave out.")
@click.option("-m", "--model", default="en", show_default=True, help="The model: a name or a bundle.")
def main(source: Path, folder: Path, every: int, first: int, model: str) -> None:
    """Do it."""
    complete(source, folder, every, first, model)


if __name__ == "__main__":
    main()
