"""Clauses, coordinations, noun phrases and verb groups against answers that were read by hand.

    python studies/syntax/check.py              from gold trees
    python studies/syntax/check.py --parsed     from trees that the English model finds

`own.txt` has the answers for the trees in own.ptb and own.conllu. `gum.txt` has answers for
sentences of GUM's development part, by sent_id and word numbers; they are read from
$ARCSPAN_TREEBANKS/gum and left out without it. One line per answer:

    c KIND+ WORDS | SUBJECT | OBJECTS      a clause, finite (+) or not (-); objects between slashes
    & KIND CONJUNCT + CONJUNCT | COORDINATORS | SHARED
    v WORDS | FORM TENSE ASPECT VOICE POLARITY MODAL     a verb group; compared where there is such
                                                         a line
    b PHRASES, m PHRASES                   base and maximal noun phrases
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import arcspan
from arcspan.syntax import Clause, Coordination, Phrase, Syntax, VerbGroup
from arcspan.treebanks import read_conllu, read_pairs
from arcspan.trees import ConstituencyTree, DependencyTree

HERE = Path(__file__).parent
NAMES = {
    "c": "clauses",
    "&": "coordinations",
    "v": "verb groups",
    "b": "base noun phrases",
    "m": "maximal noun phrases",
}
Answers = dict[str, list[str]]


def answers(path: Path) -> dict[str, Answers]:
    """Return the answers of a file by the first line of each block."""
    answers_by_name = {}
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        name, *lines = block.splitlines()
        sentence_answers: Answers = {letter: [] for letter in NAMES}
        for line in lines:
            letter, _, text = line.partition(" ")
            if letter in "bm":
                phrases = [phrase.strip() for phrase in text.split(" / ")]
                sentence_answers[letter] += filter(None, phrases)
            else:
                parts = [part.strip() for part in text.split("|")]
                sentence_answers[letter].append(" | ".join(parts))
        answers_by_name[name.removeprefix("> ")] = sentence_answers
    return answers_by_name


class Writer:
    """Phrases of a sentence in the form of the answers: words, or their numbers."""

    def __init__(self, syntax: Syntax, numbers: bool) -> None:
        self.syntax = syntax
        self.numbers = numbers

    def phrase(self, phrase: Phrase | None) -> str:
        """Return a phrase, or nothing for None."""
        return "" if phrase is None else self._words(phrase.span[0] + 1, phrase.span[1])

    def phrases(self, phrases: list[Phrase], separator: str = " / ") -> str:
        """Return phrases with a separator between them."""
        return separator.join(map(self.phrase, phrases))

    def _words(self, first: int, last: int) -> str:
        if self.numbers:
            return f"{first}-{last}"
        return " ".join(self.syntax.words[first : last + 1])

    def clause(self, clause: Clause) -> str:
        """Return a line for a clause."""
        sign = "+" if clause.finite else "-"
        objects = self.phrases(clause.objects)
        return (
            f"{clause.kind}{sign} {self.phrase(clause)} | {self.phrase(clause.subject)} | {objects}"
        )

    def coordination(self, coordination: Coordination) -> str:
        """Return a line for a coordination."""
        conjuncts = self.phrases(coordination.conjuncts, " + ")
        markers = [token.position for token in coordination.coordinators]
        coordinators = " / ".join(self._words(m, m) for m in markers)
        return f"{coordination.kind} {conjuncts} | {coordinators} | {self.phrases(coordination.shared)}"

    def verb(self, verb: VerbGroup) -> str:
        """Return a line for a verb group."""
        properties = (verb.form, verb.tense, verb.aspect, verb.voice, verb.polarity, verb.modal)
        return f"{verb.text} | {' '.join(value or '-' for value in properties)}"


def analyses(syntax: Syntax, numbers: bool) -> Answers:
    """Return what the trees give, in the form of the answers."""
    writer = Writer(syntax, numbers)
    return {
        "c": [writer.clause(clause) for clause in syntax.clauses],
        "&": [writer.coordination(coordination) for coordination in syntax.coordinations],
        "v": [writer.verb(verb) for verb in syntax.verb_groups],
        "b": [writer.phrase(phrase) for phrase in syntax.noun_phrases("base")],
        "m": [writer.phrase(phrase) for phrase in syntax.noun_phrases("maximal")],
    }


def sentences() -> Iterator[tuple[str, bool, ConstituencyTree, DependencyTree, Answers]]:
    """Yield name, True for answers with word numbers, gold trees, and answers of each sentence."""
    own_answers = answers(HERE / "own.txt")
    for c, d in read_pairs(HERE / "own.ptb", HERE / "own.conllu"):
        text = " ".join(c.words)
        yield text, False, c, d, own_answers[text]
    gum = Path(os.environ.get("ARCSPAN_TREEBANKS", "../shared/treebanks")) / "gum"
    if not gum.is_dir():
        print(f"{gum} is not there: GUM's sentences are left out", file=sys.stderr)
        return
    gum_answers = answers(HERE / "gum.txt")
    pairs = read_pairs(gum / "dev.ptb.xz", gum / "dev.conllu.xz")
    for (c, d), sentence in zip(pairs, read_conllu(gum / "dev.conllu.xz"), strict=True):
        name = sentence.comment("sent_id")
        if name in gum_answers:
            yield name, True, c, d, gum_answers[name]


def main() -> None:
    """Print how many answers are right, by kind, and every difference."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--parsed", action="store_true", help="trees of the English model")
    options.add_argument("--quiet", action="store_true", help="only the figures")
    arguments = options.parse_args()
    parser = arcspan.load() if arguments.parsed else None
    right, expected, predicted = Counter[str](), Counter[str](), Counter[str]()
    count = 0
    for name, numbers, c, d, gold_answers in sentences():
        if parser is not None:
            parse = parser.parse(list(d.words))
            c, d = parse.constituency, parse.dependencies
        count += 1
        predicted_answers = analyses(Syntax(c, d), numbers)
        for letter in NAMES:
            if letter == "v" and not gold_answers["v"]:
                continue
            gold, answered = Counter(gold_answers[letter]), Counter(predicted_answers[letter])
            right[letter] += (gold & answered).total()
            expected[letter] += gold.total()
            predicted[letter] += answered.total()
            if gold != answered and not arguments.quiet:
                print(f"{name}\n  missing {letter}: {list((gold - answered).elements())}")
                print(f"  wrong   {letter}: {list((answered - gold).elements())}")
    trees = "parsed" if parser else "gold"
    print(f"{count} sentences, {trees} trees: right / expected / predicted, F1")
    for letter, title in [*NAMES.items(), ("", "all")]:
        letters = letter or NAMES
        r, e, g = (sum(counts[k] for k in letters) for counts in (right, expected, predicted))
        print(f"{title:22} {r:5} {e:5} {g:5}  {200 * r / (e + g):.1f}")


if __name__ == "__main__":
    main()
