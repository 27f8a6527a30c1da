"""The English models, from treebanks to bundles: stop and start at will.

    export ARCSPAN_TREEBANKS=FOLDER ARCSPAN_ENCODERS=FOLDER
    python studies/english/make.py [--until STEP] [--again STEP] [--every K]

large     the large model, best and slowest: runs/large-bundle. It is the teacher of the others
silver    AMALGUM as the teacher parses it, and the rare constructions of all treebanks
last      the student, in two trainings, the second with two seeds: runs/english-bundle, `en` of the package
fast      a student of the `en` inside the package with five of its layers: runs/fast-bundle, `en-fast`
scores    of all three

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
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RUNS = ROOT / "runs"
DATA = RUNS / "data"  # treebank files that the scripts beside this one write
TIMES = HERE / "steps.json"
# Silver trees: name, style, every which sentence of AMALGUM, from which.
SILVER = (("silver", "default", 4, 0), ("silver-gum", "gum", 4, 2), ("silver-ewt", "ewt", 8, 1))
ARCSPAN = (sys.executable, "-m", "arcspan")


class Step(NamedTuple):
    """A command, and the file that is there once it is done; None for what is quick enough to be done each time."""

    name: str
    command: list[str]
    result: Path | None


def training(name: str, recipe: str, output: str, *options: str) -> Step:
    """A recipe's run."""
    command = [*ARCSPAN, "train", str(HERE / f"{recipe}.toml"), "--resume", *options]
    return Step(name, command, RUNS / output / "result.json")


def script(name: str, file: str, result: Path | None, *arguments: object) -> Step:
    """One of the scripts beside this one."""
    return Step(name, [sys.executable, str(HERE / file), *map(str, arguments)], result)


def bundle(name: str, run: str, treebanks: Path, *options: str) -> Iterator[Step]:
    """A run with the segmenter, exported in 8 bits, with the temperatures of gum dev."""
    dev = [str(treebanks / f"gum/dev.{kind}.xz") for kind in ("ptb", "conllu")]
    target = RUNS / f"{run}-bundle"
    segmenter = str(RUNS / "segmenter-en" / "segmenter")
    yield Step(f"{name}, segmenter", ["cp", "-r", segmenter, str(RUNS / run)], None)
    export = [*ARCSPAN, "export", "--replace", "--precision", "int8", str(RUNS / run), str(target)]
    yield Step(
        name, [*export, *options, "--style", "gum", "--calibrate", *dev], target / "config.json"
    )


def steps(treebanks: Path, every: int) -> Iterator[Step]:
    """Everything, in order."""
    amalgum = treebanks / "amalgum/train.conllu.xz"
    silver = DATA / "silver-gum.conllu"
    options = ("--style", "gum", "--every", 8)
    yield script("silver of en", "silver.py", silver, amalgum, silver, *options)
    rare = DATA / "rare"
    yield script("rare of en", "rare.py", rare / "silver.conllu", treebanks, rare, silver)
    speech, forms = DATA / "speech", DATA / "forms"
    yield script("speech", "speech.py", speech / "eslspok-ud.conllu", treebanks, speech)
    yield script("forms", "forms.py", forms / "masc-web.ptb", treebanks, forms)
    yield training("large-1", "large", "large-1")
    yield training("large-2", "large-gold", "large")
    recipe = str(ROOT / "studies/segmenter/english.toml")
    segmenter = RUNS / "segmenter-en/segmenter/segmenter.onnx"
    yield Step("segmenter", [*ARCSPAN, "train", "--segmenter", recipe], segmenter)
    yield from bundle("large", "large", treebanks, "--name", "arcspan-en-large")
    for name, style, share, first in SILVER:
        silver = RUNS / f"{name}.conllu"
        options = ("-m", RUNS / "large-bundle", "--style", style, "--least", 0.5)
        options += ("--every", share * every, "--first", first)
        yield script(name, "silver.py", silver, amalgum, silver, *options)
    silver = RUNS / "silver.conllu"
    yield script("rare", "rare.py", RUNS / "rare/silver.conllu", treebanks, RUNS / "rare", silver)
    yield training("student", "student", "student")
    yield training("last-1", "last", "last")
    yield training(
        "last-2", "last", "last-b", "--set", "seed=5", "--set", f"output={RUNS / 'last-b'}"
    )
    runs = [RUNS / name for name in ("english", "last", "last-b")]
    yield script("average", "average.py", runs[0] / "best.json", *runs)
    yield from bundle("last", "english", treebanks)
    yield training("fast-1", "fast", "fast")
    yield from bundle("fast", "fast", treebanks)
    for name, run in (("large", "large"), ("en", "english"), ("en-fast", "fast")):
        results = () if name == "en" else ("--output", HERE / f"results-{name}.json")
        results += ("--brief",) if name == "large" else ()
        yield script(f"scores of {name}", "score.py", None, RUNS / f"{run}-bundle", *results)
    found = [f"{name}={RUNS / name}-bundle" for name in ("large", "english", "fast")]
    yield script("sentences", "sentences.py", None, *found)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--until", metavar="STEP", help="the last step to do")
    options.add_argument(
        "--again", action="append", default=[], metavar="STEP", help="do this step again"
    )
    options.add_argument("--every", type=int, default=1, help="silver: every k-th of the sentences")
    options.add_argument("--treebanks", type=Path, default=os.environ.get("ARCSPAN_TREEBANKS"))
    given = options.parse_args()
    if given.treebanks is None:
        options.error(
            "say where the treebanks are: --treebanks FOLDER, or the variable ARCSPAN_TREEBANKS"
        )
    times = json.loads(TIMES.read_text(encoding="utf-8")) if TIMES.exists() else {}
    wanted = list(steps(Path(given.treebanks), given.every))
    unknown = {given.until, *given.again} - {None, *(step.name for step in wanted)}
    if unknown:
        options.error(f"no step {min(unknown)!r}; known: {', '.join(step.name for step in wanted)}")
    for step in wanted:
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
