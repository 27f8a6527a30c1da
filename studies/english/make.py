"""The English model, from treebanks to the bundle inside the package: stop and start at will.

    export ARCSPAN_TREEBANKS=FOLDER ARCSPAN_ENCODERS=FOLDER
    python studies/english/make.py [--until STEP] [--bundle FOLDER]

A step whose result is there is not done again, and a training that was stopped goes on from its last checkpoint. What
each step took is in steps.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RUNS = ROOT / "runs"
TIMES = HERE / "steps.json"
TEACHER = {"silver": "english-silver", "gold": "english", "gold-2": "english-2", "gold-3": "english-3"}


class Step(NamedTuple):
    """A command, and the file that is there once it is done; None for what is quick enough to be done each time."""

    name: str
    command: list[str]
    result: Path | None


def steps(bundle: Path, treebanks: Path) -> list[Step]:
    """Everything, in order."""
    run, teacher = RUNS / "english-6", RUNS / "english-teacher"
    last = [RUNS / "english-5", RUNS / "english-5b"]
    arcspan, python = [sys.executable, "-m", "arcspan"], [sys.executable]

    def pair(treebank: str, part: str) -> list[str]:
        return [str(treebanks / treebank / f"{part}.{kind}.xz") for kind in ("ptb", "conllu")]

    def training(name: str, recipe: str, output: Path, *options: str) -> Step:
        command = [*arcspan, "train", str(HERE / f"{recipe}.toml"), "--resume", *options]
        return Step(name, command, output / "result.json")

    export = [*arcspan, "export", "--replace", "--precision", "int8"]
    silver = [str(treebanks / "amalgum/train.conllu.xz"), str(teacher), "--every", "6", "--first", "1"]
    segmenter = ["--segmenter", str(ROOT / "studies/segmenter/english.toml"), "--set", f"output={run}"]
    free = [str(RUNS / f"gum-free.{kind}") for kind in ("ptb", "conllu")]
    without = ["--incompatible", "--without", "genre=essay,fiction,letter,podcast,whow,conversation"]
    fitted = ["--style", "gum", "--calibrate", *pair("gum", "dev")]
    return [
        *(training(recipe, recipe, RUNS / folder) for recipe, folder in TEACHER.items()),
        Step(
            "teacher",
            [*export, str(RUNS / "english-3"), str(teacher / "bundle")],
            teacher / "bundle/config.json",
        ),
        Step(
            "completed",
            [*python, str(HERE / "complete.py"), *silver, "-m", str(teacher / "bundle")],
            teacher / "completed.conllu",
        ),
        training("student", "student", RUNS / "english-4"),
        training("last", "last", last[0]),
        training("last again", "last", last[1], "--set", "seed=5", "--set", f"output={last[1]}"),
        Step("average", [*python, str(HERE / "average.py"), str(run), *map(str, last)], run / "best.json"),
        Step("segmenter", [*arcspan, "train", *segmenter], run / "segmenter/segmenter.onnx"),
        Step(
            "free", [*arcspan, "treebank", "filter", *pair("gum", "train"), *free, *without], RUNS / free[1]
        ),
        Step(
            "bundle",
            [*export, str(run), str(bundle), "--name", "arcspan-en", *fitted],
            bundle / "config.json",
        ),
        Step("scores", [*python, str(HERE / "score.py"), str(bundle)], None),
        Step("sentences", [*python, str(HERE / "sentences.py"), str(bundle)], None),
    ]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--bundle", type=Path, default=RUNS / "english-bundle")
    options.add_argument("--until", metavar="STEP", help="the last step to do")
    options.add_argument("--again", action="append", default=[], metavar="STEP", help="do this step again")
    options.add_argument("--treebanks", type=Path, default=os.environ.get("ARCSPAN_TREEBANKS"))
    given = options.parse_args()
    if given.treebanks is None:
        options.error("say where the treebanks are: --treebanks FOLDER, or the variable ARCSPAN_TREEBANKS")
    times = json.loads(TIMES.read_text(encoding="utf-8")) if TIMES.exists() else {}
    for step in steps(given.bundle, Path(given.treebanks)):
        if step.result and step.result.exists() and step.name not in given.again:
            print(f"{step.name}: done before ({step.result})")
        else:
            print(f"{step.name}: {' '.join(step.command)}", flush=True)
            begun = time.time()
            subprocess.run(step.command, check=True)
            times[step.name] = round(times.get(step.name, 0) + (time.time() - begun) / 60, 1)
            TIMES.write_text(json.dumps(times, indent=1) + "\n", encoding="utf-8")
        if step.name == given.until:
            break


if __name__ == "__main__":
    main()
