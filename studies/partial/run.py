"""How many heads must be annotated, and which: the most uncertain ones, or any?

    python studies/partial/run.py run --treebanks TREEBANKS     # stop and start at will
    python studies/partial/run.py report                        # the table of results.json

A treebank (French Sequoia, dependencies alone) is annotated in rounds: 5% of all heads with their
relations, chosen at random, then 10%, 20% and 40%. `entropy` chooses the words whose heads the last
round's model is least sure of, `random` any. After every round a model is trained on the partial
trees; "100%" is the whole treebank. The answer is the share at which 95% of the whole treebank's
LAS is reached, read off the line between two rounds. What is in `results.json` is not trained
again, and a training that was stopped goes on from its last checkpoint.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import click

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
SEEDS = (1, 2, 3)
SHARES = (5, 10, 20, 40, 100)
CHOICES = ("entropy", "random")
EPOCHS = 15  # over the whole treebank; fewer sentences have as many updates
GOAL = 0.95
# A small encoder trained from scratch: what treebanks teach is not hidden by what pretraining
# knows.
SETTINGS: dict[str, Any] = {
    "encoder": {
        "kind": "lstm",
        "hidden_size": 128,
        "depth": 2,
        "character_filters": 50,
        "lstm_dropout": 0.2,
    },
    "model": {"system": "joint1o", "loss": "crf", "arc_size": 128, "relation_size": 128},
    "training": {"rate": 5e-3, "average": 0.99, "punctuation": "none", "checkpoint_minutes": 2},
}

Word = tuple[int, int]  # sentence, place from 0


@click.group(help=__doc__)
def main() -> None:
    """The study."""


@main.command()
@click.option(
    "--treebanks", envvar="ARCSPAN_TREEBANKS", required=True, help="Folder of the treebanks."
)
@click.option(
    "--runs", type=click.Path(path_type=Path), default=HERE.parents[1] / "runs" / "partial"
)
@click.option(
    "--results", type=click.Path(path_type=Path), default=RESULTS, help="File of the results."
)
@click.option(
    "--tiny", is_flag=True, help="A few sentences, one epoch and seed: only to see that it works."
)
def run(treebanks: str, runs: Path, results: Path, tiny: bool) -> None:
    """Train every round that has no result."""
    from arcspan.files import atomic_write, dump
    from arcspan.treebanks import read_conll

    figures = _read(results)
    folder = Path(treebanks) / "sequoia"
    gold = list(read_conll(folder / "train.conllu.xz"))[: 30 if tiny else None]
    for seed in SEEDS[: 1 if tiny else None]:
        for choice in CHOICES:
            annotated = first_words(gold, SHARES[0], seed)
            for share in SHARES:
                key = f"{_name(choice, share)}/{share}/{seed}"
                folder_of_run = runs / key
                if share > SHARES[0]:
                    before = SHARES[SHARES.index(share) - 1]
                    model = runs / f"{_name(choice, before)}/{before}/{seed}"
                    annotated = more_words(gold, annotated, share, choice, seed, model)
                if key not in figures:
                    las = _train(
                        gold, annotated, folder / "dev.conllu.xz", folder_of_run, seed, tiny
                    )
                    figures[key] = {"las": las, "words": len(annotated)}
                    with atomic_write(results) as file:
                        file.write(dump(figures))
    click.echo(report_text(figures))


def _name(choice: str, share: int) -> str:
    """Of a share: both choices begin with the same words and end with all."""
    return {SHARES[0]: "any", 100: "all"}.get(share, choice)


def first_words(gold: list[Any], share: int, seed: int) -> set[Word]:
    """Words that are annotated to begin with."""
    everyone = [(b, m) for b, tree in enumerate(gold) for m in range(len(tree.heads))]
    return set(random.Random(seed).sample(everyone, len(everyone) * share // 100))


def more_words(
    gold: list[Any], annotated: set[Word], share: int, choice: str, seed: int, before: Path
) -> set[Word]:
    """The known words and as many more as make the share, by the model of the round before or at
    random.
    """
    others = [
        (b, m)
        for b, tree in enumerate(gold)
        for m in range(len(tree.heads))
        if (b, m) not in annotated
    ]
    missing = sum(len(tree.heads) for tree in gold) * share // 100 - len(annotated)
    if missing >= len(others):
        return annotated | set(others)
    random.Random(seed * 1000 + share).shuffle(others)
    if choice == "entropy":
        entropies = _entropies(gold, before)
        others.sort(key=lambda word: -entropies[word[0]][word[1]])
    return annotated | set(others[:missing])


def _entropies(gold: list[Any], folder: Path) -> list[tuple[float, ...]]:
    """How uncertain the model of a round is of each head; kept beside it."""
    import arcspan
    from arcspan.training.export import export

    cache = folder / "entropies.json"
    if not cache.exists():
        bundle = folder / "bundle"
        if not bundle.exists():
            export(folder / "run", bundle, replace=True)
        parses = arcspan.load(bundle).pipe((tree.words for tree in gold), confidence=True)
        # A sentence too long for probabilities is not asked about.
        entropies = [
            parse.confidence.entropies if parse.confidence else (0.0,) * len(parse)
            for parse in parses
        ]
        cache.write_text(json.dumps(entropies), encoding="utf-8")
    return json.loads(cache.read_text(encoding="utf-8"))


def _train(
    gold: list[Any], annotated: set[Word], dev: Path, folder: Path, seed: int, tiny: bool
) -> float:
    """The LAS on dev of a model that was trained on the known heads."""
    from arcspan.training import train
    from arcspan.training.config import config_from_dict
    from arcspan.treebanks import Pair, write_pairs
    from arcspan.trees import DependencyTree

    folder.mkdir(parents=True, exist_ok=True)
    partial = []
    for b, tree in enumerate(gold):
        is_annotated = [(b, m) in annotated for m in range(len(tree.heads))]
        if any(is_annotated):
            heads = [
                h if annotated_word else -1
                for h, annotated_word in zip(tree.heads, is_annotated, strict=True)
            ]
            names = [
                r if annotated_word else "_"
                for r, annotated_word in zip(tree.relations, is_annotated, strict=True)
            ]
            partial.append(
                Pair(None, DependencyTree.loose(heads, names, tree.words, tree.tags, tree.upos))
            )
    write_pairs(partial, None, folder / "train.conllu")
    epochs = 1 if tiny else round(EPOCHS * len(gold) / len(partial))
    config = config_from_dict(
        {
            "output": str(folder / "run"),
            "seed": seed,
            "data": {
                "train": [{"conll": str(folder / "train.conllu"), "partial": "heads"}],
                "dev": [{"conll": str(dev)}],
            },
            **SETTINGS,
            "training": {**SETTINGS["training"], "epochs": epochs},
        }
    )
    result = train(
        config, resume=True, say=lambda line: click.echo(f"{folder}: {line}", err=True), bars=False
    )
    return float(result["dev"]["las"])


@main.command()
@click.option(
    "--results", type=click.Path(path_type=Path), default=RESULTS, help="File of the results."
)
def report(results: Path) -> None:
    """The table, from the results."""
    click.echo(report_text(_read(results)))


def report_text(figures: dict[str, Any]) -> str:
    """LAS by share, means over the seeds, and the share that reaches the goal."""
    from statistics import fmean

    def mean(name: str, share: int) -> float | None:
        rows = [row["las"] for key, row in figures.items() if key.startswith(f"{name}/{share}/")]
        return fmean(rows) if rows else None

    full = mean("all", 100)
    lines = ["| heads | entropy | random |", "|---|---|---|"]
    for share in SHARES:
        cells = [mean(_name(choice, share), share) for choice in CHOICES]
        lines.append(
            f"| {share}% | "
            + " | ".join("" if las is None else f"{las:.2f}" for las in cells)
            + " |"
        )
    for name in CHOICES:
        points = [(share, mean(_name(name, share), share)) for share in SHARES]
        reached = None if full is None else share_of(points, GOAL * full)
        if reached is not None:
            lines.append(f"- {name}: {GOAL:.0%} of the full LAS with {reached:.0f}% of the heads")
    return "\n".join(lines)


def share_of(points: list[tuple[int, float | None]], goal: float) -> float | None:
    """Where the line through the points first reaches the goal.

    >>> share_of([(5, 60.0), (10, 70.0), (20, 80.0)], 75.0)
    15.0
    """
    before: tuple[int, float] | None = None
    for share, las in points:
        if las is None:
            return None
        if las >= goal:
            if before is None:
                return float(share)
            return before[0] + (share - before[0]) * (goal - before[1]) / (las - before[1])
        before = (share, las)
    return None


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


if __name__ == "__main__":
    main()
