"""Training data that change before a run is resumed: it goes on only where they are read as before."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from arcspan.errors import ConfigError, FileError
from arcspan.treebanks import read_pairs
from tests.toy import toy_pairs


def change(path: Path, rng: random.Random) -> str:
    """Change a file in place; returns how."""
    lines = path.read_text(encoding="utf-8").split("\n")
    line = rng.randrange(len(lines))
    edit = rng.choice(("double", "delete", "swap", "letter", "comment", "nothing"))
    if edit == "double":
        lines.insert(line, lines[line])
    elif edit == "delete":
        del lines[line]
    elif edit == "swap":
        other = rng.randrange(len(lines))
        lines[line], lines[other] = lines[other], lines[line]
    elif edit == "letter" and lines[line]:
        at = rng.randrange(len(lines[line]))
        lines[line] = lines[line][:at] + rng.choice("abcNV()_012\t") + lines[line][at + 1 :]
    elif edit == "comment" and path.suffix == ".conllu":
        lines.insert(0, "# note = this is not data")
    path.write_text("\n".join(lines), encoding="utf-8")
    return f"{edit} {path.name}:{line + 1}"


def read(folder: Path) -> list[Any] | None:
    """The pairs as they are read; None where they cannot be."""
    try:
        return list(read_pairs(folder / "toy.ptb", folder / "toy.conllu"))
    except FileError:
        return None


def run(seed: int, rounds: Iterable[object]) -> Counter[str]:
    from arcspan.training import read_config, train
    from tests.training.test_training import configure

    rng, counts = random.Random(seed), Counter[str]()
    options: dict[str, Any] = {"say": lambda line: None, "bars": False}
    with tempfile.TemporaryDirectory() as name:
        folder, before = Path(name) / "run", Path(name) / "before"
        folder.mkdir()
        config = configure(folder, toy_pairs(6, seed=seed), training__epochs=1)
        train(read_config(config), **options)
        (folder / "run" / "result.json").unlink()  # as if it had been killed just before its end
        shutil.copytree(folder, before)
        data_before = read(folder)
        for _ in rounds:
            shutil.rmtree(folder)
            shutil.copytree(before, folder)
            done = [
                change(folder / rng.choice(("toy.ptb", "toy.conllu")), rng)
                for _ in range(rng.choice((1, 1, 3)))
            ]
            now = read(folder)
            try:
                train(read_config(config), resume=True, **options)
            except (ConfigError, FileError) as error:
                assert now != data_before, (
                    f"refused, though the data are read as before: {error} ({done}, seed {seed})"
                )
                assert "toy." in str(error), f"the file is not named: {error} ({done})"
                counts["changed data that were refused"] += 1
            else:
                assert now == data_before, f"resumed on other data ({done}, seed {seed})"
                counts["data that are read as before"] += 1
    return counts


def test_a_run_is_resumed_on_the_same_data_only() -> None:
    assert run(seed=1, rounds=range(6)).total() == 6
