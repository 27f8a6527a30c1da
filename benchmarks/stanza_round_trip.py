"""Does Stanza read the CoNLL-U files with both trees that arcspan writes, and arcspan those that
Stanza writes?

Usage: python benchmarks/stanza_round_trip.py BRACKETS CONLL [--limit N]

Needs stanza, in an environment of its own where that is easier (its reader needs torch, no model).
Every sentence goes from arcspan's file into Stanza's document, is written by Stanza, and read by
arcspan again: words, heads, relations and constituents must be the same. Prints how many are, and
exits with 1 where one is not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from arcspan.treebanks import Pair, read_pairs, write_pairs


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("brackets", type=Path)
    options.add_argument("conll", type=Path)
    options.add_argument("--limit", type=int)
    arguments = options.parse_args()
    from stanza.utils.conll import CoNLL

    pairs = list(read_pairs(arguments.brackets, arguments.conll, limit=arguments.limit))
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder, "arcspan.conllu"), Path(folder, "stanza.conllu")
        write_pairs(pairs, ours)
        document = CoNLL.conll2doc(str(ours))
        trees = sum(sentence.constituency is not None for sentence in document.sentences)
        CoNLL.write_doc2conll(document, str(theirs))
        read_back = list(read_pairs(theirs))
    same = sum(
        _content(pair) == _content(other) for pair, other in zip(pairs, read_back, strict=True)
    )
    print(
        f"{len(pairs)} sentences, {trees} with a tree in Stanza, {same} the same after the round trip"
    )
    return 0 if same == trees == len(pairs) else 1


def _content(pair: Pair) -> tuple[object, ...]:
    c, d = pair
    return c.words, c.tags, c.spans, d.words, d.heads, d.relations


if __name__ == "__main__":
    sys.exit(main())
