"""Outputs of a model: one entry in the table is learnt, exported and predicted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "arcspan"

# What a contributor writes in `prediction/outputs.py`.
GOLD = """
def lengths_of(tree):
    return ["long" if len(word) > 4 else "short" for word in tree.words]

OUTPUTS = ("""
ENTRY = """
    Output("length", "words", "word_lengths", "dependency", "tags", lengths_of),
)
WORD_OUTPUTS ="""
FIELD = """
    word_lengths: tuple[str, ...] = ()
    styles: tuple"""

SCRIPT = """
import pathlib, sys
import arcspan.prediction.outputs
from arcspan import Parse, load
from arcspan.training import read_config, train
from arcspan.training.export import export
from tests.toy import toy_pairs
from tests.training.test_training import configure

folder = pathlib.Path(sys.argv[1])
pairs = toy_pairs(12)
config = read_config(configure(folder, pairs, training__epochs=12))
train(config, say=print, bars=False)
parser = load(export(folder / "run", folder / "bundle", precision="fp32"))
right = total = 0
for parse in parser.pipe([list(pair.words) for pair in pairs]):
    names = parse.prediction.column("length", parse.words)
    right += sum(name == ("long" if len(word) > 4 else "short") for name, word in zip(names, parse.words))
    total += len(parse.words)
    assert Parse.from_conllu(parse.conllu()).heads == parse.heads
print("right", right / total)
assert right > 0.95 * total
"""


def package_with_output(folder: Path) -> Path:
    """Return a folder with the package, in which the table of outputs has one more entry."""
    package = folder / "arcspan"
    (package / "prediction").mkdir(parents=True)
    for path in SOURCE.iterdir():
        if path.name != "prediction":
            (package / path.name).symlink_to(path)
    for path in (SOURCE / "prediction").glob("*.py"):
        (package / "prediction" / path.name).symlink_to(path)
    table = package / "prediction" / "outputs.py"
    text = table.read_text(encoding="utf-8")
    for place, addition in (
        ("\nOUTPUTS = (", GOLD),
        ("\n)\nWORD_OUTPUTS =", ENTRY),
        ("\n    styles: tuple", FIELD),
    ):
        assert text.count(place) == 1
        text = text.replace(place, addition)
    table.unlink()
    table.write_text(text, encoding="utf-8")
    return folder


def test_an_output_that_is_added_to_the_table_is_learnt_exported_and_predicted(
    tmp_path: Path,
) -> None:
    source = package_with_output(tmp_path / "src")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(ROOT)])}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr[-2000:]
