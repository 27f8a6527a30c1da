"""The steps of the study. Each looks first whether its product is there, made from the present
inputs.

A run's folder is RUNS/TREEBANK/ROW-SEED: what training leaves there, the predicted trees of the
test set (test.ptb.xz, test.conllu.xz), and two marks: study.json after the last epoch,
predicted.json after the trees.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arcspan.evaluation import COLLINS, METRICS, Breakdown, Scoring, breakdown
from arcspan.evaluation.breakdown import bin_names
from arcspan.files import atomic_write
from arcspan.prediction.outputs import LAYERS
from arcspan.training import predict_pairs, train
from arcspan.training.config import Config, DataSettings
from arcspan.training.instances import read_gold, read_training
from arcspan.treebanks import Pair, read_pairs, stats, write_pairs
from arcspan.trees import ConstituencyTree, DependencyTree, LexicalTree
from studies.paper import conversion, speed
from studies.paper.learnt_rules import learn_rules
from studies.paper.plan import Plan, Row, is_same
from studies.paper.results import Results, checksum, machine, read_json, write_json
from studies.paper.seeds import compare_seeds

PREDICTED = ("test.ptb.xz", "test.conllu.xz")
Say = Callable[[str], None]


class Study:
    """A plan, the folder of its runs and that of its results."""

    def __init__(self, plan: Plan, runs: Path, say: Say = print) -> None:
        self.plan, self.runs, self.results, self.say = plan, runs.absolute(), Results(plan), say
        # The test set of the treebank at hand; plans go treebank by treebank, more or less.
        self.gold = functools.lru_cache(maxsize=1)(self._gold)

    def folder(self, row: Row) -> Path:
        """A row's own folder."""
        return self.runs / row.id

    def config(self, row: Row) -> Config:
        """The configuration of the row's model."""
        return self.plan.config(row, self.folder(row.trained))

    def _gold(self, treebank: str) -> list[Pair]:
        row = next(row for row in self.plan.rows if row.treebank.name == treebank)
        return [sentence.pair for sentence in read_gold(self.config(row).data.test)]

    # ---- what is done

    def is_trained(self, row: Row) -> bool:
        """Whether the row's model is complete, and trained as the plan now says."""
        done = read_json(self.folder(row.trained) / "study.json")
        return done is not None and is_same(done.get("settings"), self.plan.settings(row.trained))

    def is_wanted(self, row: Row) -> bool:
        """Whether the row, or one that is made from it, is still to be scored."""
        return any(
            not self.is_evaluated(other)
            for other in self.plan.rows
            if row in (other, other.trained)
        )

    def is_predicted(self, row: Row) -> bool:
        """Whether the row's trees are there, whole, from the present model."""
        prediction = read_json(self.folder(row) / "predicted.json")
        if prediction is None:
            return False
        files = {name: self.folder(row) / name for name in PREDICTED}
        return (
            is_same(prediction.get("settings"), self.plan.settings(row))
            and all(path.is_file() for path in files.values())
            and prediction["files"] == {name: checksum(path) for name, path in files.items()}
        )

    def is_evaluated(self, row: Row) -> bool:
        """Whether the row has results, and its present trees, if they are there, are those that
        were scored.
        """
        data = self.results.row(row)
        if data is None:
            return False
        prediction = read_json(self.folder(row) / "predicted.json")
        return prediction is None or prediction["files"] == data["predicted"]

    # ---- one row

    def train(self, row: Row) -> None:
        """Train the row's model, or go on where it was left."""
        if row.kind != "train":
            return
        if self.is_trained(row):
            self._drop_state(row)
            return
        if not self.is_wanted(row):
            return
        self.say(f"train {row.id}")
        config = self.config(row)
        # The test set is parsed once, by the next step, which keeps the trees.
        config = dataclasses.replace(config, data=dataclasses.replace(config.data, test=[]))
        # A run that was begun with other settings is refused here; one that needs no more epochs
        # returns at once.
        train(config, resume=True, say=lambda line: self.say(f"  {line}"))
        write_json(self.folder(row) / "study.json", {"settings": self.plan.settings(row)})
        self._drop_state(row)

    def _drop_state(self, row: Row) -> None:
        """A finished model needs its last state no more: with its optimizer it is three times as
        large as the model.
        """
        for part in ("", *LAYERS):
            shutil.rmtree(self.folder(row) / part / "steps", ignore_errors=True)

    def predict(self, row: Row) -> None:
        """Parse the test set and keep the trees."""
        if not self.is_trained(row) or self.is_predicted(row) or not self.is_wanted(row):
            return
        if row.kind in ("convert", "converter") and not self.is_predicted(row.trained):
            return
        self.say(f"predict {row.id}")
        begin = time.perf_counter()
        pairs = self._converted(row) if row.kind in ("convert", "converter") else self._parsed(row)
        seconds = time.perf_counter() - begin
        folder = self.folder(row)
        folder.mkdir(parents=True, exist_ok=True)
        write_pairs(pairs, *(folder / name for name in PREDICTED))
        prediction = {
            "settings": self.plan.settings(row),
            "files": {name: checksum(folder / name) for name in PREDICTED},
            "seconds": round(seconds, 2),
        }
        with atomic_write(folder / "predicted.json") as file:
            json.dump(prediction, file)

    def _parsed(self, row: Row) -> list[Pair]:
        gold = self.gold(row.treebank.name)
        search = "labelled" if row.kind == "labelled" else None
        return predict_pairs(
            self.folder(row.trained), gold, apart=row.kind == "apart", search=search
        )

    def _converted(self, row: Row) -> list[Pair]:
        """The constituents of another row, their dependencies by rules learnt from what it was
        trained on, or by the converter that made the treebank's. Where the model predicts no tags,
        the gold ones are read.
        """
        pairs = list(read_pairs(*(self.folder(row.trained) / name for name in PREDICTED)))
        gold = (pair.constituency.tags for pair in self.gold(row.treebank.name))
        trees = [
            tree if any(tree.tags) else ConstituencyTree(tree.words, tags, tree.spans)
            for (tree, _), tags in zip(pairs, gold, strict=True)
        ]
        if row.kind == "converter":
            trees_by_rules = conversion.converted(trees, row.treebank.converter)
        else:
            rules = learn_rules(training_pairs(self.config(row).data))
            trees_by_rules = [rules.convert(tree) for tree in trees]
        return [
            Pair(tree, DependencyTree(new.heads, new.relations, old.words, old.tags, old.upos))
            for tree, (_, old), new in zip(trees, pairs, trees_by_rules, strict=True)
        ]

    def evaluate(self, row: Row) -> None:
        """Score the row's trees: every figure, its curves, and the counts of every sentence."""
        if self.is_evaluated(row) or not self.is_predicted(row):
            return
        self.say(f"evaluate {row.id}")
        config, folder = self.config(row), self.folder(row)
        scoring = Scoring(config.training.punctuation, COLLINS, config.training.subtypes, "gold")  # type: ignore[arg-type]
        predicted = read_pairs(*(folder / name for name in PREDICTED))
        figures = by_width(self.gold(row.treebank.name), predicted, scoring, self.plan.widths)
        prediction = read_json(folder / "predicted.json")
        assert prediction is not None
        provenance: dict[str, Any] = {
            "predicted": prediction["files"],
            "gold": {
                Path(path).name: checksum(Path(path))
                for source in config.data.test
                for path in (source.brackets, source.conll)
            },
            "predict_seconds": prediction["seconds"],
            "machine": machine(),
        }
        if row.kind == "train":
            provenance["training"] = training_record(folder)
            provenance["dev"] = (read_json(folder / "result.json") or {})["dev"]
        self.results.save_row(row, figures, provenance)

    # ---- across rows

    def describe_treebanks(self) -> None:
        """Sizes of the training subset as used, of dev and of test."""
        for name in self.plan.treebanks:
            path = self.results.folder / "treebanks" / f"{name}.json"
            row = next((row for row in self.plan.rows if row.treebank.name == name), None)
            if row is None or not any(self.results.summaries(name)):
                continue
            inputs = {
                name: value
                for name, value in self.plan.settings(row).items()
                if name.startswith("data.")
            }
            if is_same((read_json(path) or {}).get("inputs"), inputs):
                continue
            self.say(f"count {name}")
            data = self.config(row).data
            _, intake = read_training(data)
            parts: dict[str, Any] = {
                "train": _size(training_pairs(data)) | {"used": intake.sentences}
            }
            for part in ("dev", "test"):
                parts[part] = _size([sentence.pair for sentence in read_gold(getattr(data, part))])
            write_json(path, {"inputs": inputs, **parts})

    def compare(self) -> None:
        """Significance tests between the rows that the plan pairs up."""
        for name in self.plan.treebanks:
            for a, b in self.plan.comparisons:
                rows = [self.results.rows(name, row) for row in (a, b)]
                if not all(rows) or self.results.significance(name, a, b) is not None:
                    continue
                self.say(f"compare {name}: {a} with {b}")
                summaries = [self.results.summary(name, row) for row in (a, b)]
                metrics = [
                    metric
                    for metric in METRICS
                    if all(row and len(row.values(metric)) == len(row.files) for row in summaries)
                ]
                counts = [[self.results.counts(row) for row in seed_rows] for seed_rows in rows]
                figures = compare_seeds(counts[0], counts[1], metrics, self.plan.samples)
                head = {
                    "inputs": self.results.significance_inputs([*rows[0], *rows[1]]),
                    "treebank": name,
                    "seeds": [[row.seed for row in seed_rows] for seed_rows in rows],
                }
                write_json(self.results.significance_path(name, a, b), {**head, "figures": figures})

    def measure_speed(self) -> None:
        """Table 7: the searches alone, and models from words to trees."""
        settings = self.plan.speed
        path = self.results.folder / "speed-decoding.json"
        if (read_json(path) or {}).get("settings") != settings:
            self.say("speed of decoding alone")
            alone = speed.decoding_rates(
                settings["sentences"], settings["batch"], settings["seconds"]
            )
            write_json(
                path, {"settings": settings, "machine": machine(), "sentences_per_second": alone}
            )
        path = self.results.folder / "speed-parsing.json"
        rows = {
            row.name: row for row in self.plan.rows if row.treebank.name == settings["treebank"]
        }
        rows = {
            name: rows[name]
            for name in ("mtl", "joint2o")
            if name in rows and self.is_trained(rows[name])
        }
        folders = {name: self.folder(row) for name, row in rows.items()}
        inputs = {"settings": settings, "models": sorted(folders)}
        done = read_json(path) or {}
        if len(folders) < 2 or all(done.get(name) == value for name, value in inputs.items()):
            return
        self.say("speed of parsing")
        gold = self.gold(settings["treebank"])[: settings["parsed"]]
        words = [pair.dependencies.words for pair in gold]
        rates = speed.parsing_rates(
            folders, words, settings["rounds"], settings.get("parsed_batch")
        )
        measured = {"device": speed.device_name(), "sentences_per_second": rates}
        write_json(path, {**inputs, "machine": machine(), **measured})


def by_width(
    gold: Any, predicted: Any, scoring: Scoring, ends: tuple[int, ...] | None
) -> Breakdown:
    """Figures and curves. With `ends`, the width of a constituent from w_i to w_j is j - i, as in
    the paper: one less than its words, which are its width otherwise.
    """
    if ends is None:
        return breakdown(gold, predicted, scoring)
    by_bin = breakdown(gold, predicted, scoring, widths=[end + 1 for end in ends])
    tallies = by_bin.curves["f1_by_width"]
    names = dict(zip(bin_names([end + 1 for end in ends]), bin_names(ends, first=0), strict=True))
    by_bin.curves["f1_by_width"] = {names[name]: tally for name, tally in tallies.items()}
    return by_bin


def training_pairs(data: DataSettings) -> list[Pair]:
    """The gold trees of the training sentences that the settings choose, incompatible ones
    included.
    """
    out: list[Pair] = []
    used = 0
    for source in data.train:
        for number, pair in enumerate(
            read_pairs(source.brackets, source.conll, mismatch=data.mismatch)
        ):  # type: ignore[arg-type]
            n = len(pair.constituency.words)
            if number % data.every == 0 and n and not (data.max_words and n > data.max_words):
                out.append(pair)
                if data.limit:
                    used += data.incompatible != "drop" or LexicalTree.compatible(*pair)
                    if used >= data.limit:
                        return out
    return out


def training_record(folder: Path) -> dict[str, Any]:
    """What the logs of a run say: time, share of structure in it, and the epoch that was best on
    dev.
    """
    parts = (
        [folder]
        if (folder / "log.jsonl").is_file()
        else [folder / "constituency", folder / "dependency"]
    )
    epochs = [
        record
        for part in parts
        for line in (part / "log.jsonl").read_text(encoding="utf-8").splitlines()
        if (record := json.loads(line))["kind"] == "epoch"
    ]
    seconds = sum(record["seconds"] for record in epochs)
    structure = sum(record["seconds"] * record["structure_share"] for record in epochs)
    best = [(read_json(part / "best.json") or {})["state"]["epoch"] for part in parts]
    return {
        "minutes": seconds / 60,
        "structure_share": structure / max(seconds, 1e-9),
        "best_epoch": best,
    }


def epochs_done(folder: Path) -> int:
    """How many epochs a run, of one model or two, has finished so far."""
    parts = (folder, folder / "constituency", folder / "dependency")
    return sum(
        (read_json(part / "last.json") or {"state": {"epoch": 0}})["state"]["epoch"]
        for part in parts
    )


def _size(pairs: list[Pair]) -> dict[str, Any]:
    statistics = stats(pairs)
    return {
        "sentences": statistics.sentences,
        "words": statistics.words,
        "compatible": round(statistics.compatible_percent, 1),
        "labels": len(statistics.labels),
        "relations": len(statistics.relations),
    }
