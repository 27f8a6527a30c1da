"""The counts of Lu's analyzer by our queries and by pytregex, an implementation of Tregex in
Python.

    pip install pytregex==0.0.2
    python studies/syntax/compare_tregex.py [SENTENCES]

Trees are those of GUM's training part. pytregex writes || between relations, and of `NP $++ NP !$+
CC` it finds "a" in "a and b", which `NP !$+ CC $++ NP` does not find; relations of one node have no
order, so the second form is used.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

from pytregex.tregex import TregexPattern

from arcspan.syntax import TreeQuery
from arcspan.syntax.measures import PATTERNS
from arcspan.treebanks import read_brackets
from arcspan.trees import HeadRules


def main() -> None:
    """Print both counts of every structure."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    path = Path(os.environ.get("ARCSPAN_TREEBANKS", "../shared/treebanks")) / "gum" / "train.ptb.xz"
    trees = [tree.with_wrapper("ROOT") for tree in islice(read_brackets(path), 0, 10 * count, 10)]
    texts = [tree.brackets() for tree in trees]
    print(f"{len(trees)} trees\n{'':4} {'arcspan':>8} {'pytregex':>8} {'trees that differ':>18}")
    for name, patterns in PATTERNS.items():
        counts: Counter[str] = Counter()
        for pattern in patterns:
            ours = TreeQuery(pattern, heads=HeadRules.load("ptb"))
            theirs = TregexPattern(
                pattern.replace("NP $++ NP !$+ CC", "NP !$+ CC $++ NP").replace(" | ", " || ")
            )
            for tree, text in zip(trees, texts, strict=True):
                one, other = ours.count(tree), len({id(node) for node in theirs.findall(text)})
                counts.update(ours=one, theirs=other, differ=int(one != other))
        print(f"{name:4} {counts['ours']:8} {counts['theirs']:8} {counts['differ']:18}")


if __name__ == "__main__":
    main()
