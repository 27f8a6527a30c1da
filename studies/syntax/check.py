"""Clauses, coordinations and noun phrases against answers written by hand.

    python studies/syntax/check.py              from gold trees
    python studies/syntax/check.py --parsed     from trees that the English model finds

`own.txt` has the answers for the trees in own.ptb and own.conllu. `gum.txt` has answers for sentences of GUM's
development part, by sent_id and word numbers; they are read from $ARCSPAN_TREEBANKS/gum and left out without it.
One line per answer:

    c KIND+ WORDS | SUBJECT | OBJECTS      a clause, finite (+) or not (-); objects between slashes
    & KIND CONJUNCT + CONJUNCT | COORDINATORS | SHARED
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
from arcspan.syntax import Syntax
from arcspan.treebanks import read_conllu, read_pairs
from arcspan.trees import ConstituencyTree, DependencyTree

HERE = Path(__file__).parent
NAMES = {
    "c": "clauses",
    "&": "coordinations",
    "b": "base noun phrases",
    "m": "maximal noun phrases",
}
Answers = dict[str, list[str]]


def answers(path: Path) -> dict[str, Answers]:
    """The answers of a file by the first line of each block."""
    found = {}
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        name, *lines = block.splitlines()
        own: Answers = {kind: [] for kind in NAMES}
        for line in lines:
            kind, _, rest = line.partition(" ")
            if kind in "bm":
                own[kind] += [phrase.strip() for phrase in rest.split(" / ") if phrase.strip()]
            else:
                own[kind].append(" | ".join(part.strip() for part in rest.split("|")))
        found[name.removeprefix("> ")] = own
    return found


def found_in(syntax: Syntax, numbers: bool) -> Answers:
    """What the trees give, in the form of the answers."""

    def show(phrase: object) -> str:
        if phrase is None:
            return ""
        i, j = phrase.span  # type: ignore[attr-defined]
        return f"{i + 1}-{j}" if numbers else " ".join(syntax.words[i + 1 : j + 1])

    def word(token: object) -> str:
        position = token.position  # type: ignore[attr-defined]
        return f"{position}-{position}" if numbers else syntax.words[position]

    return {
        "c": [
            f"{c.kind}{'+' if c.finite else '-'} {show(c)} | {show(c.subject)} | {' / '.join(map(show, c.objects))}"
            for c in syntax.clauses
        ],
        "&": [
            f"{c.kind} {' + '.join(map(show, c.conjuncts))} | {' / '.join(map(word, c.coordinators))} | "
            f"{' / '.join(map(show, c.shared))}"
            for c in syntax.coordinations
        ],
        "b": [show(phrase) for phrase in syntax.noun_phrases("base")],
        "m": [show(phrase) for phrase in syntax.noun_phrases("maximal")],
    }


def sentences() -> Iterator[tuple[str, bool, ConstituencyTree, DependencyTree, Answers]]:
    """Name, whether answers are word numbers, gold trees, and answers of each sentence."""
    own = answers(HERE / "own.txt")
    for c, d in read_pairs(HERE / "own.ptb", HERE / "own.conllu"):
        yield " ".join(c.words), False, c, d, own[" ".join(c.words)]
    gum = Path(os.environ.get("ARCSPAN_TREEBANKS", "../shared/treebanks")) / "gum"
    if not gum.is_dir():
        print(f"{gum} is not there: GUM's sentences are left out", file=sys.stderr)
        return
    wanted = answers(HERE / "gum.txt")
    pairs = read_pairs(gum / "dev.ptb.xz", gum / "dev.conllu.xz")
    for (c, d), sentence in zip(pairs, read_conllu(gum / "dev.conllu.xz"), strict=True):
        name = sentence.comment("sent_id")
        if name in wanted:
            yield name, True, c, d, wanted[name]


def main() -> None:
    """Print how many answers are right, by kind, and every difference."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--parsed", action="store_true", help="trees of the English model")
    options.add_argument("--quiet", action="store_true", help="only the figures")
    chosen = options.parse_args()
    parser = arcspan.load() if chosen.parsed else None
    right, expected, given = Counter[str](), Counter[str](), Counter[str]()
    count = 0
    for name, numbers, c, d, wanted in sentences():
        if parser is not None:
            parse = parser.parse(list(d.words))
            c, d = parse.constituency, parse.dependencies
        count += 1
        got = found_in(Syntax(c, d), numbers)
        for kind in NAMES:
            gold, have = Counter(wanted[kind]), Counter(got[kind])
            right[kind] += (gold & have).total()
            expected[kind] += gold.total()
            given[kind] += have.total()
            if gold != have and not chosen.quiet:
                print(f"{name}\n  missing {kind}: {list((gold - have).elements())}")
                print(f"  wrong   {kind}: {list((have - gold).elements())}")
    print(
        f"{count} sentences, {'parsed' if parser else 'gold'} trees: right / expected / given, F1"
    )
    for kind, title in [*NAMES.items(), ("", "all")]:
        r, e, g = (sum(n[k] for k in (kind or NAMES)) for n in (right, expected, given))
        print(f"{title:22} {r:5} {e:5} {g:5}  {200 * r / (e + g):.1f}")


if __name__ == "__main__":
    main()
