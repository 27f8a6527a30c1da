"""What single layers are worth: learning curves of treebanks that lack one of the two trees.

    python studies/one-layer/study.py run --runs RUNS --treebanks TREEBANKS     # stop and start at
                                                                                will
    python studies/one-layer/study.py report                                    # the tables of
                                                                                results.json

Every row is a configuration and is trained with three seeds; a row and seed that is in
`results.json` is not trained again, and one that was stopped goes on from its last checkpoint. Rows
are compared on the sentences of all seeds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
SEEDS = (1, 2, 3)

_TREES, _ROWS = "train.ptb.xz", "train.conllu.xz"
_BOTH = {"brackets": _TREES, "conll": _ROWS}
_HALF = {**_BOTH, "every": 2}
_ARCS = {"conll": _ROWS, "every": 2, "first": 1}
_SPANS = {"brackets": _TREES, "every": 2, "first": 1}


EPOCHS = 15


def _row(train: list[dict[str, Any]], epochs: int = EPOCHS, **data: Any) -> dict[str, Any]:
    return {"epochs": epochs, "data": {"train": train, "incompatible": "separate", **data}}


# By treebank: rows by name, the sources and settings of their training data. Rows have about as
# many updates, so those that see fewer sentences in an epoch have more epochs; "as many passes"
# says that they do not.
ROWS: dict[str, dict[str, dict[str, Any]]] = {
    "sequoia": {
        "all": _row([_BOTH]),
        "half": _row([_HALF], 2 * EPOCHS),
        "half, as many passes": _row([_HALF]),
        "half+dependencies": _row([_HALF, _ARCS]),
        "half+dependencies, separate": _row([_HALF, _ARCS], missing="separate"),
        "half+constituents": _row([_HALF, _SPANS]),
        "half+constituents, separate": _row([_HALF, _SPANS], missing="separate"),
        "half+each": _row([_HALF, _ARCS, _SPANS], EPOCHS * 2 // 3),
        "half+each, as many passes": _row([_HALF, _ARCS, _SPANS]),
        "all, hidden binarization": _row([_BOTH], binarization="hidden"),
    },
    "gum": {
        "drop": _row([{**_BOTH, "every": 4}], EPOCHS * 10 // 7, incompatible="drop"),
        "drop, as many passes": _row([{**_BOTH, "every": 4}], incompatible="drop"),
        "separate": _row([{**_BOTH, "every": 4}]),
        "hidden": _row([{**_BOTH, "every": 4}], EPOCHS * 4 // 5, incompatible="hidden"),
    },
}
# What is tested against what.
COMPARED = {
    "sequoia": [
        ("all", "half"),
        ("half", "half, as many passes"),
        ("half+dependencies", "half"),
        ("half+constituents", "half"),
        ("half+each", "half"),
        ("all", "half+each"),
        ("half+dependencies", "half+dependencies, separate"),
        ("half+constituents", "half+constituents, separate"),
        ("all, hidden binarization", "all"),
    ],
    "gum": [("separate", "drop"), ("hidden", "drop"), ("hidden", "separate")],
}
# A small encoder trained from scratch: what treebanks teach is not hidden by what pretraining
# knows. Trees alone.
SETTINGS: dict[str, Any] = {
    "encoder": {
        "kind": "lstm",
        "hidden_size": 128,
        "depth": 2,
        "character_filters": 50,
        "lstm_dropout": 0.2,
    },
    "model": {
        "system": "joint2o",
        "loss": "margin",
        "labeller": "mlp",
        "span_size": 128,
        "arc_size": 128,
        "headed_size": 64,
        "label_size": 128,
        "relation_size": 128,
        "rows": False,
    },
    "training": {
        "rate": 5e-3,
        "average": 0.99,
        "punctuation": "none",
        "checkpoint_minutes": 2,
    },
}


@click.group(help=__doc__)
def main() -> None:
    """The study."""


@main.command()
@click.option(
    "--treebanks", envvar="ARCSPAN_TREEBANKS", required=True, help="Folder of the treebanks."
)
@click.option(
    "--runs", type=click.Path(path_type=Path), default=HERE.parents[1] / "runs" / "one-layer"
)
@click.option(
    "--results", type=click.Path(path_type=Path), default=RESULTS, help="File of the results."
)
@click.option(
    "--only", multiple=True, metavar="PREFIX", help="Rows whose name TREEBANK/ROW starts so."
)
@click.option("--seeds", default=len(SEEDS), show_default=True, help="How many seeds.")
@click.option("--tiny", is_flag=True, help="A few sentences, one epoch: only to see that it works.")
def run(
    treebanks: str, runs: Path, results: Path, only: tuple[str, ...], seeds: int, tiny: bool
) -> None:
    """Train and score every row that has no result, then compare."""
    results_so_far = _read(results)
    for treebank, rows in ROWS.items():
        for name, row in rows.items():
            for seed in SEEDS[:seeds]:
                key = f"{treebank}/{name}"
                if not key.startswith(only or ("",)) or str(seed) in results_so_far["rows"].get(
                    key, {}
                ):
                    continue
                folder = runs / treebank / name.replace(", ", "-").replace(" ", "-") / str(seed)
                figures = _train(Path(treebanks) / treebank, row, folder, seed, tiny)
                results_so_far["rows"].setdefault(key, {})[str(seed)] = figures
                results_so_far["comparisons"] = _compare(
                    Path(treebanks), runs, results_so_far["rows"]
                )
                _write(results, results_so_far)
    click.echo(report_text(results_so_far))


def _train(
    treebank: Path, row: dict[str, Any], folder: Path, seed: int, tiny: bool
) -> dict[str, float]:
    """Train a row with a seed, keep what it predicts of the held-out sentences, and score that."""
    from arcspan.training import predict_pairs, train
    from arcspan.training.config import config_from_dict
    from arcspan.treebanks import write_pairs

    def absolute(source: dict[str, Any]) -> dict[str, Any]:
        limit = {"limit": 20} if tiny else {}
        return {k: str(treebank / v) if k in _BOTH else v for k, v in {**source, **limit}.items()}

    held_out = {name: path.replace("train", "dev") for name, path in _BOTH.items()}
    data = row["data"]
    config = config_from_dict(
        {
            "output": str(folder / "run"),
            "seed": seed,
            "data": {**data, "train": [absolute(source) for source in data["train"]]}
            | {"dev": [{name: str(treebank / file) for name, file in held_out.items()}]},
            **SETTINGS,
            "training": {**SETTINGS["training"], "epochs": 1 if tiny else row["epochs"]},
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    train(
        config,
        resume=True,
        say=lambda line: click.echo(f"{folder.name}: {line}", err=True),
        bars=False,
    )
    gold = _gold(treebank)
    write_pairs(predict_pairs(folder / "run", gold), folder / "test.ptb", folder / "test.conllu")
    return _report(gold, folder).figures()


def _gold(treebank: Path) -> list[Any]:
    """The held-out sentences: test, or dev where there is no test, which then chose the model too."""
    from arcspan.treebanks import read_pairs

    split = "test" if (treebank / "test.ptb.xz").exists() else "dev"
    return list(read_pairs(treebank / f"{split}.ptb.xz", treebank / f"{split}.conllu.xz"))


def _report(gold: list[Any], *folders: Path) -> Any:
    """The scores of what was predicted in one folder, or in several one after the other."""
    from arcspan.evaluation import evaluate
    from arcspan.treebanks import read_pairs

    predicted = [
        pair
        for folder in folders
        for pair in read_pairs(folder / "test.ptb", folder / "test.conllu")
    ]
    return evaluate(gold * len(folders), predicted, punctuation="none", tags="gold")


def _compare(treebanks: Path, runs: Path, rows: dict[str, Any]) -> dict[str, Any]:
    from arcspan.evaluation import compare

    out = {}
    for treebank, pairs in COMPARED.items():
        for a, b in pairs:
            seeds = [
                seed
                for seed in rows.get(f"{treebank}/{a}", {})
                if seed in rows.get(f"{treebank}/{b}", {})
            ]
            if not seeds:
                continue
            gold = _gold(treebanks / treebank)
            reports = [
                _report(
                    gold,
                    *(
                        runs / treebank / row.replace(", ", "-").replace(" ", "-") / s
                        for s in seeds
                    ),
                )
                for row in (a, b)
            ]
            tested = compare(*reports, samples=2000)
            out[f"{treebank}: {a} against {b}"] = {
                figure: {
                    "difference": tested[figure].difference,
                    "p": tested[figure].p_randomization,
                }
                for figure in ("las", "f1")
            }
    return out


@main.command()
@click.option(
    "--results", type=click.Path(path_type=Path), default=RESULTS, help="File of the results."
)
def report(results: Path) -> None:
    """The tables, from the results."""
    click.echo(report_text(_read(results)))


def report_text(results: dict[str, Any]) -> str:
    """Means over the seeds, the share of the gain of full pairs, and what was compared."""
    from statistics import fmean

    lines = [
        "| row | seeds | LAS | F1 | share of the gain, LAS | F1 |",
        "|---|---|---|---|---|---|",
    ]
    means = {
        key: {
            figure: fmean(seed_figures[figure] for seed_figures in seeds.values())
            for figure in ("las", "f1")
        }
        for treebank, rows in ROWS.items()
        for key in (f"{treebank}/{row}" for row in rows)
        if (seeds := results["rows"].get(key))
    }
    for key, mean in means.items():
        low, high = means.get("sequoia/half"), means.get("sequoia/all")
        shares = ["", ""]
        if key.startswith("sequoia/half+") and low and high and not key.endswith("passes"):
            shares = [
                f"{(mean[f] - low[f]) / (high[f] - low[f]):.0%}" for f in mean if high[f] != low[f]
            ]
        cells = [
            key,
            str(len(results["rows"][key])),
            *(f"{value:.2f}" for value in mean.values()),
            *shares,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    for name, figures in results["comparisons"].items():
        changes = ", ".join(
            f"{f.upper()} {d['difference']:+.2f} (p = {d['p']:.3f})" for f, d in figures.items()
        )
        lines.append(f"- {name}: {changes}")
    return "\n".join(lines)


def _read(path: Path) -> dict[str, Any]:
    empty: dict[str, Any] = {"rows": {}, "comparisons": {}}
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else empty


def _write(path: Path, results: dict[str, Any]) -> None:
    from arcspan.files import atomic_write, dump

    with atomic_write(path) as file:
        file.write(dump(results))


if __name__ == "__main__":
    main()
