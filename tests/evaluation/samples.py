"""A small treebank and wrong predictions for it, with figures that can be counted by hand."""

from __future__ import annotations

import random
from pathlib import Path

from arcspan.treebanks import Pair, write_pairs
from arcspan.trees import ConstituencyTree, DependencyTree


def pair(brackets: str, heads: list[int], relations: str, upos: str = "") -> Pair:
    c = ConstituencyTree.from_brackets(brackets)
    return Pair(c, DependencyTree(heads, relations.split(), c.words, c.tags, upos.split() or None))


# Two sentences, six words that count under the rule ptb, one comma and two full stops.
DOGS = pair(
    "(TOP (S (NP (NNS Dogs)) (VP (VBP bark)) (. .)))",
    [2, 0, 2],
    "nsubj root punct",
    "NOUN VERB PUNCT",
)
CATS = pair(
    "(TOP (S (ADVP (RB Often)) (, ,) (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .)))",
    [5, 5, 4, 5, 0, 5],
    "advmod punct det nsubj:outer root punct",
    "ADV PUNCT DET NOUN VERB PUNCT",
)
GOLD = [DOGS, CATS]

# The cat's noun phrase is lost, the adverb is a particle (the same to COLLINS), "the" hangs on the
# verb, the comma on the adverb, and the subject has lost its subtype.
WRONG_CATS = pair(
    "(TOP (S (PRT (RB Often)) (, ,) (DT the) (NN cat) (VP (VBP sleeps)) (. .)))",
    [5, 1, 5, 5, 0, 5],
    "advmod punct det nsubj root punct",
    "ADV PUNCT DET NOUN VERB PUNCT",
)
PREDICTED = [DOGS, WRONG_CATS]


def write(folder: Path, name: str, pairs: list[Pair]) -> list[str]:
    """Write pairs to NAME.ptb and NAME.conllu; their paths."""
    paths = [folder / f"{name}.ptb", folder / f"{name}.conllu"]
    write_pairs(pairs, *paths)
    return [str(path) for path in paths]


def with_errors(pairs: list[Pair], rate: float, seed: int) -> list[Pair]:
    """Pairs with constituents dropped and relabelled, and leaves attached to the root."""
    draw = random.Random(seed)
    result = []
    for c, d in pairs:
        spans = [
            (i, j, "X" if fate < rate / 2 else label)
            for i, j, label in c.spans[1:]
            if (fate := draw.random()) > rate / 4
        ]
        heads = list(d.heads)
        for m in set(range(1, len(heads) + 1)) - set(heads) - {d.root}:
            if draw.random() < rate:
                heads[m - 1] = d.root
        tree = ConstituencyTree(c.words, c.tags, [c.spans[0], *spans])
        result.append(Pair(tree, DependencyTree(heads, d.relations, d.words, d.tags, d.upos)))
    return result
