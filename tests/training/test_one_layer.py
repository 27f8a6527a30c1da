"""Training on treebanks of one layer, and on several treebanks with conventions of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import arcspan
from arcspan.cli import run
from arcspan.errors import ArcspanError, ConfigError
from arcspan.evaluation import evaluate
from arcspan.training import predict_pairs, read_config, train
from arcspan.training.checkpoint import load_parts
from arcspan.training.export import export
from arcspan.training.run import read_data
from arcspan.treebanks import Pair, read_pairs
from arcspan.trees import ConstituencyTree, DependencyTree
from tests.toy import toy_pairs, write_toy
from tests.training.test_training import configure

WORDS = ("the", "dog", "sees", "a", "tree", ".")


def only(source: dict[str, str], layer: str) -> dict[str, str]:
    """The source with one of its two files."""
    return {layer: source[layer]}


def learn(
    folder: Path, train_on: list[dict[str, Any]], dev: list[dict[str, Any]], **changes: Any
) -> Any:
    """The result of a small run on these sources."""
    config = read_config(
        configure(folder, toy_pairs(4), data__train=train_on, data__dev=dev, **changes)
    )
    return train(config, say=lambda line: None, bars=False)


def test_some_heads_relations_and_constituents_teach_whole_trees(
    tmp_path: Path,
) -> None:
    full, partial = toy_pairs(24), []
    for number, (c, d) in enumerate(full):
        heads = [h if (m + number) % 2 else -1 for m, h in enumerate(d.heads)]
        relations = [
            r if (m + number) % 4 == 1 or m % 3 == 0 else "_" for m, r in enumerate(d.relations)
        ]
        spans = [
            span
            for span in c.spans
            if span[:2] == (0, len(c.words)) or sum(span[:2]) % 2 == number % 2
        ]
        partial.append(
            Pair(
                ConstituencyTree(c.words, c.tags, spans),
                DependencyTree.loose(heads, relations, d.words, d.tags, d.upos),
            )
        )
    source = write_toy(tmp_path, "partial", partial)
    assert "\t_\t_\t_\t_\n" in Path(source["conll"]).read_text(encoding="utf-8")
    dev = write_toy(tmp_path, "dev", full[:12])
    few = write_toy(
        tmp_path, "few", toy_pairs(4, seed=7)
    )  # complete: from these it learns what is no constituent
    with pytest.raises(ArcspanError, match="the HEAD"):
        learn(tmp_path, [source], [dev])
    alone = learn(tmp_path, [few], [dev], training__epochs=20)["dev"]
    (tmp_path / "more").mkdir()
    both = learn(
        tmp_path / "more", [few, {**source, "partial": "both"}], [dev], training__epochs=20
    )["dev"]
    assert both["las"] > max(80, alone["las"] + 5)
    assert both["f1"] > max(80, alone["f1"] + 5)


@pytest.mark.parametrize("system", ["joint2o", "sep"])
def test_dependencies_alone_give_a_dependency_parser(
    tmp_path: Path, system: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = only(write_toy(tmp_path, "one", toy_pairs(12)), "conll")
    result = learn(tmp_path, [source], [source], model__system=system, training__epochs=15)
    assert result["dev"]["las"] > 90
    assert "f1" not in result["dev"]
    ((model, *_),) = load_parts(tmp_path / "run").values()
    assert {"arc", "relation"} <= set(model.outputs) and not {"span", "label"} & set(model.outputs)
    if system == "sep":
        return  # the same one model: its bundle, which takes seconds to make, would be the same
    bundle = export(tmp_path / "run", tmp_path / "bundle")
    parse = arcspan.load(bundle).parse(WORDS)
    assert parse.layers == ("dependency",)
    assert len(parse.heads) == len(WORDS)
    with pytest.raises(ArcspanError, match="no constituents: the model or the file"):
        _ = parse.constituency
    assert parse.lexical is None
    assert parse.conllu().count("\n") >= len(WORDS)
    assert parse.to_dict()["heads"] == list(parse.heads)
    assert parse.confidence is not None
    assert len(parse.confidence.arcs) == len(WORDS)
    for form, code in (("conllu", 0), ("json", 0), ("pretty", 0), ("svg", 0), ("brackets", 2)):
        assert (
            run(["parse", "--model", str(bundle), "--words", "--format", form, " ".join(WORDS)])
            == code
        )
        shown = capsys.readouterr()
        assert shown.out if not code else "no constituents" in shown.err


@pytest.mark.parametrize("system", ["mtl"])
def test_constituents_alone_give_a_constituency_parser(
    tmp_path: Path, system: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = only(write_toy(tmp_path, "one", toy_pairs(12)), "brackets")
    result = learn(tmp_path, [source], [source], model__system=system, training__epochs=15)
    assert result["dev"]["f1"] > 90
    assert "las" not in result["dev"]
    bundle = export(tmp_path / "run", tmp_path / "bundle")
    parse = arcspan.load(bundle).parse(WORDS)
    assert parse.layers == ("constituency",)
    assert parse.brackets().startswith("(TOP ")
    assert [node.label for node in parse.nodes()]
    with pytest.raises(ArcspanError, match="no dependencies: the model or the file"):
        _ = parse.dependencies
    for form, code in (("brackets", 0), ("json", 0), ("pretty", 0), ("svg", 0), ("conllu", 2)):
        assert (
            run(["parse", "--model", str(bundle), "--words", "--format", form, " ".join(WORDS)])
            == code
        )
        shown = capsys.readouterr()
        assert shown.out if not code else "no dependencies" in shown.err


@pytest.mark.parametrize(
    ("system", "missing"),
    [
        ("sep", "hidden"),
        ("mtl", "hidden"),
        ("joint1o", "hidden"),
        ("joint2o", "hidden"),
        ("joint2o", "separate"),
    ],
)
def test_two_treebanks_of_one_layer_each_give_a_parser_of_both(
    tmp_path: Path, system: str, missing: str
) -> None:
    trees = write_toy(tmp_path, "trees", toy_pairs(15, seed=1))
    arcs = write_toy(tmp_path, "arcs", toy_pairs(15, seed=2))
    held_out = toy_pairs(10, seed=3)
    result = learn(
        tmp_path,
        [only(trees, "brackets"), only(arcs, "conll")],
        [write_toy(tmp_path, "dev", held_out)],
        data__missing=missing,
        model__system=system,
        training__epochs=12,
    )
    # No sentence had both trees. A model that has learnt nothing is below 20 in both.
    assert result["dev"]["las"] > 60
    assert result["dev"]["f1"] > 60


def test_styles_say_whose_conventions_are_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = toy_pairs(12)
    renamed = [
        Pair(
            ConstituencyTree(
                c.words, c.tags, [(i, j, {"NP": "NX"}.get(label, label)) for i, j, label in c.spans]
            ),
            d,
        )
        for c, d in pairs
    ]
    plain = {**write_toy(tmp_path, "plain", pairs), "style": "plain"}
    other = {
        **write_toy(tmp_path, "other", renamed),
        "constituency_style": "other",
        "dependency_style": "plain",
    }
    result = learn(
        tmp_path,
        [plain, other],
        [plain, other],
        styles={"new": ["other", "plain"], "old": "plain"},
        training__epochs=15,
    )
    assert result["dev"]["f1"] > 90
    bundle = export(tmp_path / "run", tmp_path / "bundle")
    parser = arcspan.load(bundle)
    assert parser.styles[:2] == ("new", "old")
    labels = {
        style: {node.label for node in parser.parse(WORDS, style=style).nodes()}
        for style in ("new", "old")
    }
    assert "NX" in labels["new"]
    assert "NP" not in labels["new"]
    assert "NP" in labels["old"]
    assert "NX" not in labels["old"]
    assert parser.parse(WORDS) == parser.parse(WORDS, style="new")
    (piped,) = parser.pipe([WORDS], style="old")
    assert piped == parser.parse(WORDS, style="old")
    with pytest.raises(ArcspanError, match="no style 'german': it has new, old"):
        parser.parse(WORDS, style="german")
    for style in ("new", "old"):
        command = [
            "parse",
            "--model",
            str(bundle),
            "--words",
            "--format",
            "brackets",
            "--style",
            style,
        ]
        assert run([*command, " ".join(WORDS)]) == 0
        assert (
            capsys.readouterr().out.strip() == parser.parse(WORDS, style=style).brackets().strip()
        )
    assert run([*command[:-1], "german", " ".join(WORDS)]) == 2
    assert "no style 'german'" in capsys.readouterr().err


def test_an_unknown_style_in_the_names_for_parsing_is_refused_before_training(
    tmp_path: Path,
) -> None:
    source = {**write_toy(tmp_path, "one", toy_pairs(4)), "style": "plain"}
    with pytest.raises(ConfigError, match="no training source has the style 'plane'"):
        learn(tmp_path, [source], [source], styles={"new": "plane"}, training__epochs=1)


def test_a_style_of_dev_that_is_not_learnt_is_reported(tmp_path: Path) -> None:
    """A misspelt style was parsed in the first one, and nobody was told."""
    source = {**write_toy(tmp_path, "one", toy_pairs(4)), "style": "plain"}
    dev = {**source, "style": "plane"}
    said: list[str] = []
    read_data(
        read_config(configure(tmp_path, toy_pairs(4), data__train=[source], data__dev=[dev])),
        said.append,
    )
    note = (
        "data.dev[0]: no training source has the style 'plane' (known: plain); the first is taken"
    )
    assert note in said


def test_dev_must_have_a_layer_that_is_learnt(tmp_path: Path) -> None:
    """Such a run trained to the end without a single score."""
    source = write_toy(tmp_path, "one", toy_pairs(4))
    for learnt, scored in (("conll", "brackets"), ("brackets", "conll")):
        with pytest.raises(ConfigError, match="dev cannot choose the model"):
            learn(tmp_path, [only(source, learnt)], [only(source, scored)], training__epochs=1)


def test_trees_are_rewritten_on_reading(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text('[[constituents]]\nlabel = "ADVP"\nremove = true\n')
    source = {**write_toy(tmp_path, "one", toy_pairs(10)), "rewrite": str(tmp_path / "rules.toml")}
    learn(tmp_path, [source], [source], training__epochs=3)
    found = predict_pairs(tmp_path / "run", toy_pairs(10))
    assert not any(label == "ADVP" for pair in found for _, _, label in pair.constituency.spans)


def test_a_sentence_with_one_layer_is_parsed_into_both(tmp_path: Path) -> None:
    source = write_toy(tmp_path, "one", toy_pairs(8))
    learn(tmp_path, [source], [source], training__epochs=2)
    gold = list(read_pairs(None, source["conll"]))
    assert evaluate(gold, predict_pairs(tmp_path / "run", gold)).las is not None
