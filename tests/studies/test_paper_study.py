"""The study of the paper's experiments, from plan to page, on a toy treebank."""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from arcspan.errors import ArcspanError, ConfigError
from arcspan.evaluation import evaluate
from arcspan.training.instances import read_training
from arcspan.treebanks import read_pairs
from arcspan.treebanks.importers import import_ctb, import_ptb, import_spmrl
from arcspan.trees import LexicalTree
from studies.paper.conversion import converted
from studies.paper.findings import Claim
from studies.paper.plan import Plan, is_same, resolved
from studies.paper.results import Results  # type: ignore[attr-defined]
from studies.paper.seeds import compare_seeds
from studies.paper.status import status_text
from studies.paper.steps import Study, training_pairs
from studies.paper.study import do, finish, main
from studies.paper.tables import PAPER, SYSTEMS, with_paper
from studies.paper.write import write_report
from tests.toy import toy_pairs, write_toy
from tests.treebanks.importers import test_ctb, test_ptb, test_spmrl

ROOT = Path(__file__).resolve().parents[2]
ALL = ("train", "predict", "evaluate")

RECIPE = """
output = "unused"
[data]
train = [{ brackets = "train.ptb", conll = "train.conllu" }]
dev = [{ brackets = "dev.ptb", conll = "dev.conllu" }]
test = [{ brackets = "test.ptb", conll = "test.conllu" }]
[encoder]
kind = "lstm"
word_size = 8
character_size = 4
character_filters = 4
hidden_size = 12
depth = 1
least_count = 1
[model]
span_size = 8
arc_size = 8
headed_size = 8
label_size = 8
relation_size = 8
tag_size = 8
labeller = "mlp"
[training]
epochs = 1
batch_pieces = 100
rate = 5e-3
"""

PLAN = """
title = "A toy study"
results = "results"
page = "docs/study.md"
samples = 99
[treebanks.toy]
title = "toy (English)"
recipe = "toy.toml"
settings = ["data.max_words=11"]
paper = "English"
minutes = 1
[[rows]]
treebanks = ["toy"]
systems = ["sep", "mtl", "joint1o", "joint2o"]
seeds = [1]
[[rows]]
treebanks = ["toy"]
systems = ["mtl"]
seeds = [2]
[[derived]]
name = "mtl-apart"
title = "MTL, CKY + Eisner"
kind = "apart"
from = "mtl"
[[derived]]
name = "joint2o-labelled"
title = "Joint2o, labelled search"
kind = "labelled"
from = "joint2o"
treebanks = ["toy"]
[[derived]]
name = "pipeline"
title = "Pipeline"
kind = "convert"
from = "sep"
[comparisons]
pairs = [["mtl", "sep"], ["joint2o", "joint1o"], ["joint2o", "sep"], ["mtl", "mtl-apart"], ["joint2o", "pipeline"]]
[figure]
rows = ["sep", "joint2o"]
[speed]
sentences = 4
batch = 4
seconds = 0.001
treebank = "toy"
parsed = 5
rounds = 1
"""


class Interrupted(Exception):
    """In the place of a kill."""


def write_plan(folder: Path, plan: str = PLAN) -> Path:
    folder.mkdir(exist_ok=True)
    for seed, part in enumerate(("train", "dev", "test"), 1):
        write_toy(folder, part, toy_pairs(25, seed=seed))
    (folder / "toy.toml").write_text(RECIPE, encoding="utf-8")
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    return folder / "plan.toml"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A study that was stopped in its third model, and run again to the end; what the second run
    said.
    """
    folder = tmp_path_factory.mktemp("study")
    plan = Plan.read(write_plan(folder))

    def stop(line: str) -> None:
        if (
            line.startswith("  epoch 1: dev")
            and (folder / "runs/toy/joint1o-1/config.json").is_file()
        ):
            raise Interrupted

    with pytest.raises(Interrupted):
        do(Study(plan, folder / "runs", say=stop), ALL, ())
    messages: list[str] = []
    study = Study(plan, folder / "runs", say=messages.append)
    do(study, ALL, ())
    finish(study)
    study.measure_speed()
    write_report(study.results)
    return folder, messages


def test_what_was_complete_is_not_done_again_after_a_stop(done: tuple[Path, list[str]]) -> None:
    _, messages = done
    steps = [line for line in messages if not line.startswith(" ")]
    assert steps[:4] == [
        "train toy/joint1o-1",
        "predict toy/joint1o-1",
        "evaluate toy/joint1o-1",
        "train toy/joint2o-1",
    ]


def test_every_row_has_results_and_nothing_is_left(done: tuple[Path, list[str]]) -> None:
    folder, _ = done
    messages: list[str] = []
    study = Study(Plan.read(folder / "plan.toml"), folder / "runs", say=messages.append)
    assert all(study.is_evaluated(row) for row in study.plan.rows)
    assert "nothing is left to run" in status_text(study)
    do(study, ALL, ())
    finish(study)
    study.measure_speed()
    assert messages == []


def test_the_figures_are_those_of_the_trees_that_are_kept(done: tuple[Path, list[str]]) -> None:
    folder, _ = done
    row = json.loads((folder / "results/rows/toy/joint2o-1.json").read_text())
    run = folder / "runs/toy/joint2o-1"
    gold = read_pairs(folder / "test.ptb", folder / "test.conllu")
    report = evaluate(
        gold,
        read_pairs(run / "test.ptb.xz", run / "test.conllu.xz"),
        punctuation="ptb",
        tags="gold",
    )
    assert row["figures"]["las"] == report.las
    assert row["figures"]["f1"] == report.f1
    assert row["signatures"]["las"] == report.signature("las")


def test_joint_rows_and_the_pipeline_are_compatible_throughout(
    done: tuple[Path, list[str]],
) -> None:
    folder, _ = done
    for name in ("mtl-1", "joint2o-1", "pipeline-1"):
        run = folder / "runs/toy" / name
        pairs = list(read_pairs(run / "test.ptb.xz", run / "test.conllu.xz"))
        assert len(pairs) == 25
        assert all(LexicalTree.compatible(*pair) for pair in pairs)


def test_the_pipeline_keeps_the_constituents_of_sep(done: tuple[Path, list[str]]) -> None:
    folder, _ = done
    files = [folder / "runs/toy" / name / "test.ptb.xz" for name in ("sep-1", "pipeline-1")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_seeds_are_tested_together(done: tuple[Path, list[str]]) -> None:
    folder, _ = done
    results = Results(Plan.read(folder / "plan.toml"))
    mtl = results.summary("toy", "mtl")
    assert mtl is not None and mtl.seeds == [1, 2]
    assert "±" in mtl.shown("las")
    tests = results.significance("toy", "mtl", "mtl-apart")
    assert tests is not None and tests["seeds"] == [[1, 2], [1, 2]]
    assert tests["figures"]["las"]["a"] == pytest.approx(mtl.mean("las"))
    alone = results.significance("toy", "mtl", "sep")
    assert alone is not None and alone["seeds"] == [[1, 2], [1]]
    sep = results.summary("toy", "sep")
    assert sep is not None
    # One figure per difference: that of the means, in tables, tests and text.
    assert alone["figures"]["las"]["difference"] == pytest.approx(mtl.mean("las") - sep.mean("las"))


def test_the_report_has_our_figures_beside_the_papers(done: tuple[Path, list[str]]) -> None:
    folder, _ = done
    results = Results(Plan.read(folder / "plan.toml"))
    page = (folder / "docs/study.md").read_text()
    joint = results.summary("toy", "joint2o")
    assert joint is not None
    assert (
        f"| toy (English) | Joint2o | {joint.shown('las')} | {joint.shown('f1')} | PTB English | 95.64 | 95.80 |"
        in page
    )
    for heading in (
        "Table 2",
        "Table 6",
        "Table 7",
        "Table 8",
        "Figure 4",
        "What agrees with the paper",
    ):
        assert re.search(f"^## .*{heading}", page, re.MULTILINE), heading
    for heading in ("Gold tags", "Max-margin"):
        assert f"## {heading}" not in page, "a row that was not run"
    assert (folder / "docs/pictures/study-figure4-toy.svg").read_text().lstrip().startswith("<?xml")
    assert "\n\n\n" not in page


def test_the_report_is_the_same_without_the_runs(
    done: tuple[Path, list[str]], tmp_path: Path
) -> None:
    folder, _ = done
    shutil.copytree(
        folder, tmp_path / "copy", ignore=shutil.ignore_patterns("runs", "docs", "tables")
    )
    outcome = CliRunner().invoke(
        main, ["report", "--plan", str(tmp_path / "copy/plan.toml"), "--runs", "none"]
    )
    assert outcome.exit_code == 0, outcome.output
    assert (tmp_path / "copy/docs/study.md").read_text() == (folder / "docs/study.md").read_text()


def test_the_plans_own_words_are_filled_with_figures_or_left_out(
    done: tuple[Path, list[str]],
) -> None:
    plan = Plan.read(done[0] / "plan.toml")
    results = Results(plan)
    las = {name: results.summary("toy", name).mean("las") for name in ("mtl", "sep")}
    words = "LAS {{ mean('toy', 'mtl', 'las') }}, {{ gain('toy', 'mtl', 'sep', 'las') }}."
    page = plan.page.with_name("words.md")
    write_report(Results(replace(plan, reading=words, page=page)))
    gain = f"{las['mtl'] - las['sep']:+.1f}".replace("-", "−")
    assert f"LAS {las['mtl']:.1f}, {gain}." in page.read_text(encoding="utf-8")
    write_report(Results(replace(plan, reading=words.replace("'sep'", "'absent'"), page=page)))
    assert "LAS {" not in page.read_text(encoding="utf-8") and "## Why" not in page.read_text(
        encoding="utf-8"
    )


def test_a_changed_plan_makes_its_rows_outdated(
    done: tuple[Path, list[str]], tmp_path: Path
) -> None:
    folder, _ = done
    shutil.copytree(folder, tmp_path / "copy", ignore=shutil.ignore_patterns("docs"))
    changed = PLAN.replace("data.max_words=11", "data.max_words=10")
    (tmp_path / "copy/plan.toml").write_text(changed, encoding="utf-8")
    study = Study(
        Plan.read(tmp_path / "copy/plan.toml"), tmp_path / "copy/runs", say=lambda line: None
    )
    assert not any(study.is_evaluated(row) for row in study.plan.rows)
    assert "0 of 9 rows have results" in status_text(study)
    failures = do(study, ("train",), ())
    assert len(failures) == 5, "one for each model, and none kept the others from being tried"
    assert "cannot resume with another configuration; changed:" in failures[0]
    assert "data.max_words" in failures[0]


def test_lost_or_damaged_trees_are_parsed_again_when_they_are_needed(
    done: tuple[Path, list[str]], tmp_path: Path
) -> None:
    folder, _ = done
    shutil.copytree(folder, tmp_path / "copy")
    messages: list[str] = []
    study = Study(
        Plan.read(tmp_path / "copy/plan.toml"), tmp_path / "copy/runs", say=messages.append
    )
    (tmp_path / "copy/runs/toy/sep-1/test.ptb.xz").write_bytes(b"half")
    (tmp_path / "copy/results/rows/toy/pipeline-1.json").unlink()
    shutil.rmtree(tmp_path / "copy/runs/toy/pipeline-1")
    do(study, ALL, ())
    assert messages == ["predict toy/sep-1", "predict toy/pipeline-1", "evaluate toy/pipeline-1"]


def test_rules_are_learnt_from_the_sentences_that_models_are_trained_on(tmp_path: Path) -> None:
    plan = Plan.read(write_plan(tmp_path / "study"))
    data = replace(plan.config(plan.rows[0], tmp_path).data, every=2, max_words=9, limit=4)
    sentences, _ = read_training(data)
    assert [pair.dependencies.words for pair in training_pairs(data)] == [
        sentence.words for sentence in sentences
    ]
    assert len(sentences) == 4


def test_with_no_result_the_page_says_so_and_status_guesses(tmp_path: Path) -> None:
    plan = write_plan(tmp_path / "study")
    outcome = CliRunner().invoke(
        main, ["status", "--plan", str(plan), "--runs", str(tmp_path / "runs")]
    )
    assert outcome.exit_code == 0, outcome.output
    assert "0 of 9 rows have results" in outcome.output
    write_report(Results(Plan.read(plan)))
    page = (tmp_path / "study/docs/study.md").read_text()
    assert "No row has been run yet." in page
    assert "##" not in page


@pytest.mark.parametrize("name", ["plan.toml", "full.toml"])
def test_the_plans_of_the_study_can_be_read_and_every_name_in_them_is_known(name: str) -> None:
    plan = Plan.read(ROOT / "studies/paper" / name)
    names = {row.name for row in plan.rows}
    assert {name for pair in plan.comparisons for name in pair} | set(plan.figure) <= names
    assert set(SYSTEMS) <= {
        row.name for row in plan.rows if row.treebank.name == plan.speed["treebank"]
    }
    assert all(treebank.paper in ("", *PAPER["table2"]) for treebank in plan.treebanks.values())
    meanings = {
        json.dumps([plan.recipe(row), row.name, plan.settings(row)], sort_keys=True)
        for row in plan.rows
    }
    assert len(meanings) == len(plan.rows)


def test_commands_give_every_row_the_settings_that_it_was_run_with() -> None:
    """Commands that left a setting to its default no longer gave their rows when the default had
    changed.
    """
    plan = Plan.read(ROOT / "studies/paper/plan.toml")
    run = [row for row in plan.rows if Results(plan).row_path(row).is_file()]
    assert run
    for row in run:
        stored = json.loads(Results(plan).row_path(row).read_text())
        command = plan.command(row)
        assert stored["train_command"] == command
        recipe, *sets = command.removeprefix("arcspan train ").split(" --set ")
        settings = resolved(recipe, tuple(sets))
        assert is_same(
            {name: value for name, value in stored["settings"].items() if name != "kind"}, settings
        ), row.id
        set_names = {assignment.partition("=")[0] for assignment in sets}
        assert {"model.loss", "model.rows", "model.search", "data.incompatible"} <= set_names


TINY = [
    "encoder.kind=lstm",
    *(
        f"encoder.{name}=4"
        for name in ("word_size", "character_size", "character_filters", "hidden_size")
    ),
    "encoder.depth=1",
    *(f"model.{name}_size=4" for name in ("span", "arc", "headed", "label", "relation")),
    "training.epochs=1",
]


def licensed(folder: Path) -> Path:
    """Tiny files in the layouts of the licensed treebanks, imported to where the recipes look for
    them.
    """
    for section in ("02", "22", "23"):
        path = folder / "wsj" / section / f"wsj_{section}00.mrg"
        path.parent.mkdir(parents=True)
        path.write_text(test_ptb.MERGED)
    (folder / "ctb").mkdir()
    for number in ("001", "816", "886"):
        text = test_ctb.FILE.replace("NUMBER", number)
        (folder / "ctb" / f"chtb_{number}.fid").write_bytes(text.encode("gb18030"))
    target = folder / "treebanks"
    import_ptb(folder / "wsj", target / "ptb")
    import_ctb(folder / "ctb", target / "ctb")
    for language in ("French", "Hebrew", "Korean", "Polish", "Swedish"):
        source = test_spmrl.lay_out(folder / language, language, ("train", "dev", "test"))
        import_spmrl(source, target / "spmrl" / language.lower())
    return target


def test_the_papers_own_plan_goes_through_every_step_of_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARCSPAN_TREEBANKS", str(licensed(tmp_path)))
    convert = f"{sys.executable} -m arcspan treebank convert {{brackets}} {{conll}} --rules ctb"
    monkeypatch.setenv("ARCSPAN_CONVERTER_CTB", convert)
    text = (ROOT / "studies/paper/full.toml").read_text(encoding="utf-8")
    small = {
        "sentences": 4,
        "batch": 4,
        "seconds": 0.001,
        "parsed": 2,
        "parsed_batch": 2,
        "rounds": 1,
    }
    for name, value in {
        "samples": 99,
        "seeds": [1],
        **small,
    }.items():  # other seeds have the same steps
        text, times = re.subn(rf"^{name} = \S.*$", f"{name} = {value}", text, flags=re.MULTILINE)
        assert times, name
    text = re.sub(
        r"^recipe = .*$", rf"\g<0>\nsettings = {json.dumps(TINY)}", text, flags=re.MULTILINE
    )
    (tmp_path / "full.toml").write_text(text, encoding="utf-8")
    arguments = ["run", "--plan", str(tmp_path / "full.toml"), "--runs", str(tmp_path / "runs")]
    outcome = CliRunner().invoke(main, arguments)
    assert outcome.exit_code == 0, outcome.output
    assert "nothing is left to run" in outcome.output
    page = (tmp_path / "results-full/study.md").read_text(encoding="utf-8")
    for heading in (
        "Table 2",
        "Tables 3, 4 and 5",
        "Table 6",
        "Table 7",
        "Table 8",
        "Figure 4",
        "Gold tags",
    ):
        assert re.search(f"^## {heading}", page, re.MULTILINE), heading
    for line in (
        r"\| PTB \(English\) \| 2 \(100.0\) .* \| PTB English \| 39.8K \(99.8\) \| 1.7K",  # Table 1
        # Table 2
        r"\| average \| Joint2o \| [\d.]+ \| [\d.]+ \| average of these \| 90.19 \| 91.75 \|",
        r"\| M&H21 † \| 96.66 \| 95.01 \| – \| – \| – \|",  # Table 3
        r"\| MTL, gold tags, in the paper \| 93.16 \|.*\n\| MTL, gold tags, here \| \d",  # Table 4
        r"\| Joint2o, in the paper .* \| 88.94 \| 91.14 \|\n\| Joint2o, here \|",  # Table 5
        # 6
        r"\| CTB \(Chinese\) \| Pipeline, converter, gold tags \| [\d.]+ \| [\d.]+ \| CTB Chinese \| 92.72",
        "batches of 2, the mean of 1 turns",  # Table 7
    ):
        assert re.search(line, page), line
    row = json.loads(
        (tmp_path / "results-full/rows/ptb/joint2o-1.json").read_text(encoding="utf-8")
    )
    assert list(row["f1_by_width"]) == ["0–9"], "the paper's width is one less than the words"
    assert not list((tmp_path / "runs").glob("**/steps")), (
        "the optimizer's state of a finished model is not kept"
    )


def test_a_converter_that_fails_is_named_with_what_it_said() -> None:
    trees = [pair.constituency for pair in toy_pairs(2)]
    with pytest.raises(ArcspanError, match=r"ended with 3: .*: no such head"):
        converted(
            trees,
            f"{sys.executable} -c 'import sys; print(\"no such head\", file=sys.stderr); sys.exit(3)' {{brackets}}",
        )


def test_the_page_in_the_documentation_is_made_from_the_results_in_the_repository(
    tmp_path: Path,
) -> None:
    plan = Plan.read(ROOT / "studies/paper/plan.toml")
    shutil.copytree(plan.results, tmp_path / "results")
    copy = replace(plan, results=tmp_path / "results", page=tmp_path / "docs/study.md")
    write_report(Results(copy))
    assert copy.page.read_text(encoding="utf-8") == plan.page.read_text(encoding="utf-8")
    for table in (plan.results / "tables").iterdir():
        assert (tmp_path / "results/tables" / table.name).read_text() == table.read_text(), (
            table.name
        )


@pytest.mark.parametrize("name", ["plan.toml"])
def test_the_plan_fits_the_shared_treebanks(
    treebanks: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("ARCSPAN_TREEBANKS", str(treebanks))
    plan = Plan.read(ROOT / "studies/paper" / name)
    for row in plan.rows:
        if row.kind == "train":
            try:
                config = plan.config(row, Path("nowhere"))
            except ConfigError as error:
                assert "is not installed" in str(error), "an encoder in a package"
                continue
            assert config.model.system == row.system
            assert config.data.test


def outcome(gain: float, p: float, spread: float = 0.1) -> dict[str, object]:
    interval = [gain - spread, gain + spread]
    return {"difference": gain, "interval": interval, "p": p}


def test_verdicts_follow_the_rule() -> None:
    better = Claim("", "mtl", "sep", "las", "table2")
    assert better.verdict(outcome(0.3, 0.01), 3) == "confirmed"
    assert better.verdict(outcome(0.3, 0.2), 3) == "same direction, not significant"
    assert better.verdict(outcome(-0.3, 0.2), 3) == "not confirmed"
    assert better.verdict(outcome(-0.3, 0.01), 3) == "refuted"
    same = Claim("", "mtl", "sep", "f1", "table2", none=True)
    assert same.verdict(outcome(0.1, 0.5), 3) == "confirmed"
    assert same.verdict(outcome(0.1, 0.5, spread=2), 3) == "undecided"
    assert same.verdict(outcome(0.9, 0.001), 3) == "refuted"
    for gain, p, verdict in (
        (0.3, 0.01, "holds on one seed"),
        (-0.3, 0.01, "does not hold on one seed"),
    ):
        assert better.verdict(outcome(gain, p)) == verdict
    assert better.verdict(outcome(0.3, 0.2)) == "same direction, not significant (one seed)"
    assert better.in_paper("English") == pytest.approx(0.04)
    assert better.in_paper("Icelandic") is None


def test_seeds_that_disagree_widen_the_interval() -> None:
    """One seed is 5 points better, one 5 points worse: sentences alone would call either certain."""
    arcs = {"arcs": np.full(400, 20)}
    base = {**arcs, "right_arcs": np.tile([15, 16, 17, 18], 100)}
    better, worse = ({**arcs, "right_arcs": base["right_arcs"] + change} for change in (1, -1))
    for alone in (better, worse):
        assert compare_seeds([alone], [base], ["las"], 500)["las"]["p"] < 0.01
    of_both_seeds = compare_seeds([better, worse], [base, base], ["las"], 500)["las"]
    assert of_both_seeds["difference"] == pytest.approx(0) and of_both_seeds["p"] > 0.5
    assert of_both_seeds["interval"][0] < -4 and of_both_seeds["interval"][1] > 4


def test_a_table_without_rows_is_empty(tmp_path: Path) -> None:
    results = Results(Plan.read(write_plan(tmp_path / "study")))
    assert with_paper(results, "table2", SYSTEMS, ("las", "f1")) == ""


@pytest.mark.parametrize("command", ["significance", "speed", "report", "status"])
def test_a_command_that_knows_no_rows_refuses_only(command: str) -> None:
    outcome = CliRunner().invoke(main, [command, "--only", "craft/"])
    assert outcome.exit_code == 2
    assert "No such option" in outcome.output
