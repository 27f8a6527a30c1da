"""How many gold trees analyse a copular question in a way that Universal Dependencies exclude.

    python studies/english/copular_questions.py TREEBANKS

In "Where are you?" Penn treebanks have (SBARQ (WHADVP Where) (SQ are you)); in Universal Dependencies "Where" is the
predicate, so that both "are" and "you" depend on a word outside SQ. TREEBANKS is a folder with the folders masc and
gum. Counted are trees of train and dev

SBARQ     with a node SBARQ
copular   with an SQ under SBARQ whose children are a form of "be", one NP, and nothing else but words, INTJ and PRN
excluded  with such an SQ in which more than one word, punctuation aside, has its head outside; only where there are
          dependencies (gum)
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from arcspan.treebanks import Pair, read_pairs
from arcspan.trees.constituency import units

BE = frozenset({"am", "are", "is", "was", "were", "ai", "'m", "'re", "'s", "’m", "’re", "’s"})


def kinds(pair: Pair) -> set[str]:
    """Which of the counts a sentence belongs to.

    >>> from arcspan.trees import ConstituencyTree, DependencyTree
    >>> c = ConstituencyTree.from_brackets("(SBARQ (WHADVP (WRB Where)) (SQ (VBP are) (NP (PRP you))) (. ?))")
    >>> sorted(kinds(Pair(c, DependencyTree([0, 1, 1, 1], ["root", "cop", "nsubj", "punct"], c.words))))
    ['SBARQ', 'copular', 'excluded']
    >>> sorted(kinds(Pair(c, DependencyTree([2, 0, 2, 2], ["advmod", "root", "nsubj", "punct"], c.words))))
    ['SBARQ', 'copular']
    """
    tree, arcs = pair.constituency, pair.dependencies
    nodes, parents, children = units(tree)
    labels = {"SBARQ" for node in nodes if "SBARQ" in node[2]}
    for (i, j, chain), parent, below in zip(nodes, parents, children, strict=True):
        if chain != ("SQ",) or parent < 0 or nodes[parent][2][-1:] != ("SBARQ",):
            continue
        phrases = [nodes[child][2][0] for child in below if nodes[child][2]]
        loose = [tree.words[nodes[child][0]].lower() for child in below if not nodes[child][2]]
        if (
            phrases.count("NP") != 1
            or set(phrases) - {"NP", "INTJ", "PRN"}
            or not BE.intersection(loose)
        ):
            continue
        labels.add("copular")
        if arcs is not None:
            arcs_of_question = zip(arcs.heads[i:j], arcs.relations[i:j], strict=True)
            if (
                sum(
                    not i < head <= j and relation != "punct" for head, relation in arcs_of_question
                )
                > 1
            ):
                labels.add("excluded")
    return labels


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name in ("masc", "gum"):
        counts: Counter[str] = Counter()
        trees = 0
        for split in ("train", "dev"):
            words = Path(sys.argv[1]) / name / f"{split}.conllu.xz"
            for pair in read_pairs(
                words.with_name(f"{split}.ptb.xz"), words if words.exists() else None
            ):
                trees += 1
                counts.update(kinds(pair))
        shares = ", ".join(
            f"{question} {count} ({count / trees:.2%})"
            for question, count in sorted(counts.items())
        )
        print(f"{name}: {trees} trees, {shares}")


if __name__ == "__main__":
    main()
