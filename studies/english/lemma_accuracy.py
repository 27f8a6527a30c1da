"""Count wrong lemmas: of the forms in lemma_frames.tsv, and of the dev parts of GUM and EWT.

    ARCSPAN_TREEBANKS=FOLDER python studies/english/lemma_accuracy.py [BUNDLE] [--errors FILE]

Words are the treebanks' own, each parsed in its own style. "inflected" are the nouns, verbs, auxiliaries,
adjectives and adverbs whose lemma is not the word (capitals aside). Of these, "spelt and tagged right"
are those that EWT does not mark as typos or abbreviations and whose tags the model predicts as they are
annotated: the rest of the errors is beyond a lemmatizer. In the frames, "held" forms are those that
`lexicon.py --without` leaves out.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lemma_frames import FRAMES_FILE

import arcspan
from arcspan.parser import Parser
from arcspan.treebanks import read_conllu

INFLECTED = ("ADJ", "ADV", "AUX", "NOUN", "VERB")


class Outcome(NamedTuple):
    """A word with its right and its predicted lemma, and the groups that it counts in."""

    word: str
    tag: str
    right: str
    predicted: str
    groups: tuple[str, ...]


def main() -> None:
    """Parse, count and print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("bundle", nargs="?")
    options.add_argument("--treebanks", type=Path, default=os.environ.get("ARCSPAN_TREEBANKS"))
    options.add_argument("--only-frames", action="store_true")
    options.add_argument("--errors", type=Path, help="write the wrong words to a file")
    arguments = options.parse_args()
    parser = arcspan.load(arguments.bundle)
    outcomes = list(frame_outcomes(parser))
    if not arguments.only_frames:
        for treebank in ("gum", "ewt"):
            conllu = arguments.treebanks / treebank / "dev.conllu.xz"
            outcomes += treebank_outcomes(parser, treebank, conllu)
    for line in table(outcomes):
        print(line)
    if arguments.errors:
        wrong = [outcome for outcome in outcomes if outcome.predicted != outcome.right]
        lines = ["\t".join((*outcome[:4], "; ".join(outcome.groups))) for outcome in wrong]
        arguments.errors.write_text("\n".join(lines) + "\n", encoding="utf-8")


def frame_outcomes(parser: Parser) -> Iterator[Outcome]:
    """Yield the forms in frames."""
    rows = [line.split("\t") for line in FRAMES_FILE.read_text(encoding="utf-8").splitlines()[1:]]
    parses = parser.pipe([row[-1].split() for row in rows])
    for (held, group, form, lemma, _, position, _), parse in zip(rows, parses, strict=True):
        word = int(position) - 1
        half = "frames, held" if held == "yes" else "frames, not held"
        groups = ("frames", half, f"frames, {group}")
        yield Outcome(form, parse.tags[word], lemma, parse.lemmas[word], groups)


def treebank_outcomes(parser: Parser, treebank: str, conllu: Path) -> Iterator[Outcome]:
    """Yield the words of a treebank, parsed in its own style."""
    trees = [sentence.tree for sentence in read_conllu(conllu)]
    parses = parser.pipe([list(tree.words) for tree in trees], style=treebank)
    for tree, parse in zip(trees, parses, strict=True):
        for index, (word, right) in enumerate(zip(tree.words, tree.lemmas, strict=True)):
            groups = [treebank]
            if tree.upos[index] in INFLECTED and right.lower() != word.lower():
                groups.append(f"{treebank}, inflected")
                features = tree.features[index]
                is_spelt = "Typo=" not in features and "Abbr=" not in features
                tags = (tree.tags[index], tree.upos[index])
                if is_spelt and tags == (parse.tags[index], parse.upos[index]):
                    groups.append(f"{treebank}, inflected, spelt and tagged right")
            predicted = parse.lemmas[index]
            yield Outcome(word, parse.tags[index], right, predicted, tuple(groups))


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the lines of a table: wrong, all and percent of each group."""
    counts: dict[str, Counter[bool]] = defaultdict(Counter)
    for outcome in outcomes:
        for group in outcome.groups:
            counts[group][outcome.predicted != outcome.right] += 1
    for group, of_group in counts.items():
        wrong, words = of_group[True], of_group.total()
        yield f"{group}: {wrong:,} of {words:,} wrong, {wrong / words:.2%}"


if __name__ == "__main__":
    main()
