"""Trees made ready for training: what is read, what is hidden, what is learnt in which style."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arcspan.errors import ConfigError, FileError
from arcspan.evaluation import evaluate
from arcspan.neural.losses import IGNORE
from arcspan.training.config import DataSettings, Source
from arcspan.training.instances import (
    Indexer,
    Intake,
    TrainingSentence,
    make_sentence,
    read_gold,
    read_source,
    read_training,
    style_names,
    style_number,
    take_inventories,
)
from arcspan.treebanks import Pair, write_pairs
from arcspan.trees import ConstituencyTree, DependencyTree, LexicalTree
from tests.toy import toy_pairs, write_toy

NOTHING: Any = None


def of_source(**source: Any) -> tuple[list[str], Intake]:
    sentences, intake = read_training(DataSettings(train=[Source(**source)]))
    return [" ".join(sentence.words) for sentence in sentences], intake


def test_a_compatible_pair_is_one_tree() -> None:
    (pair,) = toy_pairs(1)
    sentence, why = make_sentence("x", pair)
    assert why is None
    assert sentence.joint
    assert not sentence.hidden
    assert sentence.nodes is not None
    assert len(sentence.nodes) == 2 * len(pair.words) - 1
    assert make_sentence("x", pair, data=DataSettings(binarization="hidden"))[0].hidden


@pytest.mark.parametrize(("missing", "hidden"), [("hidden", True), ("separate", False)])
def test_a_layer_that_is_not_there_is_hidden_or_left_alone(missing: str, hidden: bool) -> None:
    (pair,) = toy_pairs(1)
    trees, _ = make_sentence(
        "x", Pair(pair.constituency, NOTHING), data=DataSettings(missing=missing)
    )
    arcs, _ = make_sentence(
        "x", Pair(NOTHING, pair.dependencies), data=DataSettings(missing=missing)
    )
    assert (trees.hidden, arcs.hidden) == (hidden, hidden)
    assert (trees.joint, arcs.joint) == (False, False)
    assert trees.heads is None
    assert arcs.chains is None
    assert arcs.nodes is None
    assert (trees.nodes is None) == hidden
    assert set(trees.names["relation"]) == {""}
    np.testing.assert_array_equal(arcs.heads, pair.dependencies.heads)


def test_incompatible_trees_have_a_reason_and_no_heads() -> None:
    words, tags = ("the", "dog", "barks"), ("DT", "NN", "VBZ")
    constituency = ConstituencyTree(words, tags, [(0, 3, "S"), (0, 2, "NP"), (2, 3, "VP")])
    dependencies = DependencyTree([3, 3, 0], ["det", "nsubj", "root"], words=words, tags=tags)
    sentence, why = make_sentence("x", Pair(constituency, dependencies))
    assert why is not None
    assert not sentence.joint
    assert sentence.nodes is not None
    assert not sentence.nodes[:, 2].any()
    assert (
        make_sentence(
            "x", Pair(constituency, dependencies), data=DataSettings(incompatible="hidden")
        )[0].nodes
        is None
    )


def test_what_a_partial_tree_does_not_say_is_hidden() -> None:
    words, tags = ("the", "dog", "barks", "here"), ("DT", "NN", "VBZ", "RB")
    spans = ConstituencyTree(words, tags, [(0, 4, "S"), (0, 2, "NP")])
    heads = DependencyTree.loose([2, -1, 0, -1], ["det", "", "_", ""], words)
    sentence, why = make_sentence("x", Pair(spans, heads))
    assert why is None and sentence.joint and sentence.hidden and sentence.projective
    assert sentence.nodes is None and sentence.chains is not None and len(sentence.chains) == 6
    assert sentence.heads is not None and sentence.heads.tolist() == [2, -1, 0, -1]
    some, _ = make_sentence("x", Pair(spans, heads), Source(partial="spans"))
    assert some.chains == {(0, 4): ("S",), (0, 2): ("NP",)} and some.unlabelled == IGNORE
    inventories = take_inventories([sentence])
    assert inventories.relations == ("det",), "an arc without a relation teaches none"
    assert Indexer(inventories)(sentence)["relations"].tolist() == [0, IGNORE, IGNORE, IGNORE]
    # Both words of the noun phrase have their heads outside it.
    outside = DependencyTree.loose([3, 4, 0, -1], [""] * 4, words)
    sentence, why = make_sentence(
        "x", Pair(spans, outside), data=DataSettings(incompatible="separate")
    )
    assert (why, sentence.joint, sentence.hidden, sentence.projective) == (
        "partial",
        False,
        True,
        False,
    )
    crossing = DependencyTree.loose([3, 4, -1, 0], [""] * 4, words)
    assert not make_sentence("x", Pair(NOTHING, crossing))[0].projective


def test_a_source_is_taken_in_part_and_repeated(tmp_path: Path) -> None:
    pairs = toy_pairs(6)
    source = write_toy(tmp_path, "toy", pairs)
    texts = [" ".join(pair.words) for pair in pairs]
    assert of_source(**source, every=2)[0] == texts[::2]
    assert of_source(**source, every=2, first=1)[0] == texts[1::2]
    assert of_source(**source, first=4)[0] == texts[4:]
    assert of_source(**source, limit=2, repeat=2)[0] == [texts[0], texts[0], texts[1], texts[1]]
    found, intake = of_source(conll=source["conll"])
    assert found == texts
    assert "6 with one layer" in intake.summary()


def test_documents_are_left_out_and_trees_rewritten(tmp_path: Path) -> None:
    source = write_toy(tmp_path, "toy", toy_pairs(4))
    path = Path(source["conll"])
    blocks = path.read_text().rstrip("\n").split("\n\n")
    blocks[0] = "# newdoc id = a\n# genre = essay\n" + blocks[0]
    blocks[2] = "# newdoc id = b\n# genre = news\n" + blocks[2]
    path.write_text("\n\n".join(blocks) + "\n\n")
    texts = [" ".join(pair.words) for pair in toy_pairs(4)]
    assert of_source(**source, without={"genre": ["essay"]})[0] == texts[2:]
    assert of_source(**source, only={"genre": ["essay"]})[0] == texts[:2]
    with pytest.raises(ConfigError, match="no document has"):
        of_source(**source, without={"genre": ["poem"]})
    (tmp_path / "rules.toml").write_text('[[relations]]\nrelation = "nsubj"\nto = "subj"\n')
    rewritten = Source(**source, rewrite=str(tmp_path / "rules.toml"))
    relations = {
        r
        for _, pair in read_source(rewritten, "strict", Intake())
        for r in pair.dependencies.relations
    }
    assert "subj" in relations
    assert "nsubj" not in relations


def test_a_style_does_not_use_the_names_that_only_others_have() -> None:
    first, second = toy_pairs(2)
    renamed = ConstituencyTree(
        second.constituency.words,
        second.constituency.tags,
        [(i, j, {"S": "CLAUSE"}.get(label, label)) for i, j, label in second.constituency.spans],
    )
    sentences = [
        make_sentence("1", first, Source(style="a"))[0],
        make_sentence(
            "2",
            Pair(renamed, second.dependencies),
            Source(constituency_style="b", dependency_style="a"),
        )[0],
    ]
    known = take_inventories(sentences)
    assert known.styles == ("a", "b")
    labels = {name: known.labels.index((name,)) for name in ("S", "CLAUSE")}
    assert labels["CLAUSE"] in known.unused["label"][0]
    assert labels["S"] in known.unused["label"][1]
    assert known.unused["relation"] == (
        (),
        (),
    )  # no dependencies are in the style b: there all are free
    assert style_number(("b", "a"), known) == (1, 0)
    assert style_names({"new": ["b", "a"]}, known) == {"new": [1, 0]}
    assert style_names({}, known) == {"a": [0, 0], "b": [1, 1]}
    with pytest.raises(
        ConfigError, match=r"styles\.new: no training source has the style 'c'; known: a, b"
    ):
        style_names({"new": "c"}, known)


def test_lemmas_are_kept_of_words_that_were_seen_twice_with_their_tag() -> None:
    def sentence(words: str, tags: str, lemmas: str) -> TrainingSentence:
        n = len(words.split())
        heads, relations = [0, *[1] * (n - 1)], ["root", *["dep"] * (n - 1)]
        tree = DependencyTree(heads, relations, words.split(), tags.split(), lemmas=lemmas.split())
        return make_sentence("1", Pair(None, tree))[0]

    twice = [sentence("saws saw", "NNS VBD", "saw see"), sentence("saws saw", "NNS NN", "saw saw")]
    assert take_inventories(twice).seen_lemmas == {"NNS": {"saws": "l|0+|1+"}}
    assert (
        take_inventories([twice[0]] * 2).seen_lemmas == {}
    )  # a sentence that is repeated was seen once
    doubtful = [sentence("saw", "VBD", lemma) for lemma in ("see", "see", "saw")]
    assert take_inventories(doubtful).seen_lemmas == {}


def test_addresses_and_telephone_numbers_are_not_listed_among_the_words_that_were_seen() -> None:
    words = "me@example.org www.example.org notes.doc online?u=me&t=1 chat:me 555-0199-1 @me U.S. 1990s e.g."
    n = len(words.split())
    tree = DependencyTree(
        [0, *[1] * (n - 1)],
        ["root", *["dep"] * (n - 1)],
        words.split(),
        ["NN"] * n,
        lemmas=words.split(),
    )
    sentences = [make_sentence(str(k), Pair(None, tree))[0] for k in range(2)]
    assert set(take_inventories(sentences).seen_lemmas["NN"]) == {"U.S.", "1990s", "e.g."}


def test_what_the_inventories_lack_is_ignored() -> None:
    first, second = toy_pairs(2)
    known = take_inventories([make_sentence("1", first)[0]])
    found = Indexer(known)(make_sentence("2", second)[0])
    names = set(first.dependencies.relations)
    expected = [relation in names for relation in second.dependencies.relations]
    assert (found["relations"] >= 0).tolist() == expected


def test_gold_heads_with_several_roots_are_scored_and_not_learnt_from(tmp_path: Path) -> None:
    """The importer of SPMRL kept such sentences in dev and test, and reading dev then failed."""
    (tmp_path / "a.ptb").write_text("(TOP (S (NP (NN two)) (NP (NN roots))))\n")
    (tmp_path / "a.conllu").write_text(
        "1\ttwo\t_\t_\tNN\t_\t0\troot\t_\t_\n2\troots\t_\t_\tNN\t_\t0\troot\t_\t_\n\n"
    )
    source = Source(brackets=str(tmp_path / "a.ptb"), conll=str(tmp_path / "a.conllu"))
    (gold,) = (one.pair for one in read_gold([source]))
    assert gold.dependencies.heads == (0, 0)
    assert not LexicalTree.compatible(*gold)
    guess = DependencyTree([0, 1], ["root", "dep"], gold.words)
    assert evaluate([gold], [Pair(gold.constituency, guess)], punctuation="none").uas == 50
    with pytest.raises(FileError, match="2 roots"):
        read_training(DataSettings(train=[source]))


def test_a_part_of_a_treebank_can_be_scored(tmp_path: Path) -> None:
    """`every`, `first` and `limit` of a treebank under dev or test were read and then ignored."""
    write_toy(tmp_path, "a", toy_pairs(9))
    paths: dict[str, Any] = {
        "brackets": str(tmp_path / "a.ptb"),
        "conll": str(tmp_path / "a.conllu"),
    }
    whole = [one.pair.words for one in read_gold([Source(**paths)])]
    some = [one.pair.words for one in read_gold([Source(**paths, first=2, every=3)])]
    assert some == whole[2::3]
    assert [one.pair.words for one in read_gold([Source(**paths, limit=4)])] == whole[:4]


def test_one_file_with_both_trees_is_learnt_as_the_pair_of_files_is(tmp_path: Path) -> None:
    pairs = toy_pairs(5)
    both, *files = (tmp_path / name for name in ("both.conllu", "a.ptb", "a.conllu"))
    write_pairs(pairs, both)
    write_pairs(pairs, *files)
    brackets, conll = map(str, files)
    one, _ = read_training(DataSettings(train=[Source(conll=str(both))]))
    two, _ = read_training(DataSettings(train=[Source(brackets=brackets, conll=conll)]))
    assert [(a.words, a.labels, a.names, a.joint) for a in one] == [
        (b.words, b.labels, b.names, b.joint) for b in two
    ]
    assert all(sentence.joint for sentence in one)
