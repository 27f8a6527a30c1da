"""`arcspan search`: find constituents or words in files of trees, count them, export a concordance."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any, NamedTuple

import click

from arcspan.cli.corpora import Corpus, corpora
from arcspan.cli.progress import note
from arcspan.errors import ArcspanError
from arcspan.files import refuse_to_overwrite
from arcspan.syntax import Match, TreeQuery
from arcspan.syntax.pattern import ATTRIBUTES
from arcspan.treebanks.streams import open_output

COLUMNS = (
    "file",
    "sentence",
    "left",
    "match",
    "right",
    "label",
    "probability",
)  # and the named nodes
COUNTS = ("matches", "sentences", "words", "per_1000_words", "file")


class Found(NamedTuple):
    """The matches in a sentence, each with the share of the sentence's parses that have it."""

    sentence: int
    words: tuple[str, ...]
    matches: list[tuple[Match, float]]
    share: float  # of parses with a match


class Tally:
    """What was found in a file, or in all."""

    def __init__(self) -> None:
        self.matches = self.sentences = 0.0
        self.words = 0

    def add(self, found: Found) -> None:
        """Count a sentence."""
        self.matches += sum(share for _, share in found.matches)
        self.sentences += found.share
        self.words += len(found.words)

    def row(self, name: str) -> list[str]:
        """The values of `COUNTS`."""
        rate = 1000 * self.matches / self.words if self.words else 0.0
        return [
            f"{self.matches:.6g}",
            f"{self.sentences:.6g}",
            str(self.words),
            f"{rate:.2f}",
            name,
        ]


@click.command("search")
@click.argument("query")
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--count",
    "layout",
    flag_value="count",
    help="Only count: matches, sentences with one, words, matches per 1,000 words, file; and the total.",
)
@click.option("--tsv", "layout", flag_value="tsv", help="A concordance as a table with tabs.")
@click.option("--csv", "layout", flag_value="csv", help="A concordance as a table with commas.")
@click.option("--context", type=click.IntRange(0), default=8, help="Words on each side of a match.")
@click.option("-o", "--output", default="-", help="Write to this file instead of standard output.")
def command(
    query: str, files: tuple[str, ...], layout: str | None, context: int, output: str
) -> None:
    """Find constituents or words in FILES of trees (brackets or CoNLL-U, also .gz and .xz; - is standard input).

    \b
    arcspan search 'NP < PP' news.ptb
    arcspan search '{tag:/VB.*/} >nsubj {lemma:dog}=who' news.conllu --csv -o dogs.csv
    arcspan search 'NP <# ({} <obj {lemma:see})' news.ptb news.conllu

    A QUERY is made of constituents, as in tgrep, and of words in braces, as in Semgrex. A bracket file and a CoNLL-U
    file of the same name are searched together. Each match is shown in its sentence. Of files with several parses
    of each sentence (arcspan parse -k), counts are expected ones.
    """
    asked = TreeQuery(query)
    refuse_to_overwrite(output, *files)
    found = corpora(
        files, standard_input="conll" if query.lstrip("(! ").startswith("{") else "brackets"
    )
    total = Tally()
    with open_output(output) as out:
        table = csv.writer(out, delimiter="," if layout == "csv" else "\t", lineterminator="\n")
        if layout is not None:
            table.writerow(COUNTS if layout == "count" else [*COLUMNS, *asked.names])
        for corpus in found:
            own = Tally()
            for one in _search(asked, corpus):
                own.add(one)
                total.add(one)
                for match, share in one.matches if layout != "count" else ():
                    row = _row(corpus.name, one, match, share, context)
                    if layout is None:
                        out.write(_line(row, match))
                    else:
                        named = (match.names.get(name) for name in asked.names)
                        cells = ("" if node is None else _text([node.text]) for node in named)
                        table.writerow([*row, *cells])
            if layout == "count":
                table.writerow(own.row(corpus.name))
        if layout == "count" and len(found) > 1:
            table.writerow(total.row("total"))
    matches, sentences, length, rate, _ = total.row("")
    counted = f"{matches} match{'' if matches == '1' else 'es'}, sentences with one: {sentences}"
    note(f"{counted}; {rate} per 1,000 of {length} words")
    if not total.matches:
        for hint in _hints(asked, found):
            note(hint)


def _search(query: TreeQuery, corpus: Corpus) -> Iterator[Found]:
    """What is found in each sentence; the same match in several parses is one."""
    for number, parses in enumerate(corpus.sentences(), 1):
        merged: dict[Any, tuple[Match, float]] = {}
        share = 0.0
        for weight, (c, d) in parses:
            try:
                matches = query.find(c, d)
            except ArcspanError as error:
                raise ArcspanError(f"{corpus.name}: sentence {number}: {error}") from None
            share += weight * bool(matches)
            for match in matches:
                named = ((name, node.span, node.label) for name, node in match.names.items())
                key = match.span, match.word, match.label, *named
                merged[key] = match, weight + merged.get(key, (match, 0.0))[1]
        yield Found(number, parses[0][1].words, list(merged.values()), share)


def _row(name: str, found: Found, match: Match, share: float, context: int) -> tuple[Any, ...]:
    """The values of `COLUMNS`."""
    (i, j), words = match.span, found.words
    sides = words[max(0, i - context) : i], words[i:j], words[j : j + context]
    return name, found.sentence, *map(_text, sides), match.label, f"{share:.4g}"


def _line(row: tuple[Any, ...], match: Match) -> str:
    name, number, left, middle, right, label, share = row
    shown = " ".join(part for part in (left, f"[{middle}]", right) if part)
    named = "".join(f"  {key}={_text([node.text])}" for key, node in match.names.items())
    return f"{name}:{number}: {shown}  ({label}){'' if share == '1' else f'  p={float(share):.2f}'}{named}\n"


def _text(words: Sequence[str]) -> str:
    from arcspan.rendering.layout import visible

    return " ".join(visible(word, longest=len(word)) for word in words)


def _hints(query: TreeQuery, found: list[Corpus]) -> Iterator[str]:
    """Why nothing may have been found: values that the files do not have, and similar ones that they have."""
    known: dict[str, set[str]] = defaultdict(set)
    for corpus in found:
        for (_, (c, d)), *_ in islice(corpus.sentences(), 20_000):
            if c is not None:
                known["label"].update((label for _, _, label in c.spans), c.tags, c.words)
            for name, column in ATTRIBUTES.items() if d is not None else ():
                known[name].update(getattr(d, column))
    for name, values in query.literals.items():
        for value in sorted(values - known[name]) if known[name] else ():
            near = get_close_matches(value, known[name], n=3, cutoff=0.5)
            similar = f"; similar: {', '.join(near)}" if near else ""
            kind = "constituent, tag or word" if name == "label" else name
            yield f"hint: no {kind} {value!r} in these files{similar}"
