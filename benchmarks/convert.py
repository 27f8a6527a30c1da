"""How well rules learnt on a treebank's train files turn its gold dev constituents into its dependencies.

Usage: python benchmarks/convert.py TREEBANKS [NAME ...]

TREEBANKS is a folder with one folder a treebank (train and dev, .ptb.xz and .conllu.xz); the names are those of
craft, sequoia and icepahc unless others are given. Words that consist of punctuation alone (Unicode category P)
are left out of the scores. All dev sentences count, also those whose two trees do not fit each other.
"""

from __future__ import annotations

import argparse
import time
import unicodedata
from pathlib import Path

from arcspan.treebanks import read_pairs
from arcspan.trees import convert, learn_rules


def is_punctuation(word: str) -> bool:
    return all(unicodedata.category(letter).startswith("P") for letter in word)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("treebanks", type=Path)
    options.add_argument("names", nargs="*", default=["craft", "sequoia", "icepahc"])
    given = options.parse_args()
    folder, names = given.treebanks, given.names
    print("treebank   sentences  words    UAS    LAS  contexts  learning (s)  converting (ms a sentence)")
    for name in names:
        train, dev = (
            list(read_pairs(folder / name / f"{part}.ptb.xz", folder / name / f"{part}.conllu.xz"))
            for part in ("train", "dev")
        )
        start = time.perf_counter()
        rules = learn_rules(train)
        learnt = time.perf_counter()
        converted = [convert(pair.constituency, rules) for pair in dev]
        done = time.perf_counter()
        words = attached = labelled = 0
        for (_, gold), made in zip(dev, converted, strict=True):
            for m, word in enumerate(gold.words):
                if not is_punctuation(word):
                    right = made.heads[m] == gold.heads[m]
                    words += 1
                    attached += right
                    labelled += right and made.relations[m] == gold.relations[m]
        contexts = sum(
            len(counts)
            for table in (
                rules.heads,
                rules.head_productions,
                rules.attachments,
                rules.attachment_productions,
                rules.relations,
            )
            for counts in table.counts
        )
        print(
            f"{name:10} {len(dev):9} {words:6} {100 * attached / words:6.2f} {100 * labelled / words:6.2f} "
            f"{contexts:9} {learnt - start:13.1f} {1000 * (done - learnt) / len(dev):12.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
