from __future__ import annotations

from pathlib import Path

from arcspan.treebanks import Pair, read_pairs, stats
from arcspan.trees import ConstituencyTree, DependencyTree
from tests.treebanks.samples import write


def pair(brackets: str, heads: list[int]) -> Pair:
    tree = ConstituencyTree.from_brackets(brackets)
    return Pair(tree, DependencyTree(heads, ["dep"] * len(heads), tree.words))


FITTING = pair("(TOP (S (NP (DT the) (NN dog)) (VBZ barks)))", [2, 3, 0])
TWO_HEADS = pair("(TOP (S (NP (DT the) (NN dog)) (VBZ barks)))", [3, 3, 0])
PAST_THE_HEAD = pair("(TOP (S (NP (NNS dogs) (RB there)) (VBP bark)))", [0, 1, 2])
CROSSING = pair("(TOP (S (A a) (B b) (C c) (D d)))", [3, 4, 0, 3])


def test_sizes_and_inventories_are_counted(tmp_path: Path) -> None:
    statistics = stats(read_pairs(*write(tmp_path)))
    assert (statistics.sentences, statistics.words, statistics.longest, statistics.compatible) == (
        3,
        10,
        6,
        3,
    )
    assert statistics.labels == {"S": 2, "NP": 3, "VP": 2, "ADVP": 1, "FRAG": 1}
    assert statistics.relations["root"] == 3
    assert statistics.tags["-LRB-"] == 1
    assert statistics.unary == 1  # S over VP in "Go"; the wrapper does not count


def test_causes_of_incompatibility_are_told_apart_and_placed() -> None:
    statistics = stats([FITTING, TWO_HEADS, TWO_HEADS, PAST_THE_HEAD, CROSSING])
    assert statistics.causes == {"heads": 2, "attachment": 1, "crossing": 1}
    assert statistics.places == {("heads", "NP"): 2, ("attachment", "NP"): 1}
    assert (statistics.compatible_percent, statistics.projective_percent) == (20.0, 80.0)


def test_nothing_gives_zeros_and_not_an_error() -> None:
    assert stats([]).to_dict()["compatible_percent"] == 0.0
