"""`arcspan search`: find constituents or words in files of trees, count them, export a concordance."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click

from arcspan.cli.corpora import Corpus, corpora
from arcspan.cli.progress import note
from arcspan.errors import ArcspanError

if TYPE_CHECKING:
    from arcspan.syntax import Match, Query

HELP = """Find constituents or words in FILES of trees (brackets or CoNLL-U, also .gz and .xz; - is standard input).

    \b
    arcspan search 'NP < PP' news.ptb
    arcspan search '{tag:/VB.*/} >nsubj {lemma:dog}=who' news.conllu --csv -o dogs.csv
    arcspan search 'NP <# ({} <obj {lemma:see})' news.ptb news.conllu

    A QUERY is made of constituents, as in tgrep, and of words in braces, as in Semgrex. A bracket file and a CoNLL-U
    file of the same name are searched together. Each match is shown in its sentence. Of files with several parses
    of each sentence (arcspan parse -k), counts are expected ones.
"""

COLUMNS = ("file", "sentence", "left", "match", "right", "label", "probability")  # and the named nodes
COUNTS = ("matches", "sentences", "words", "per_1000_words", "file")


class Hit(NamedTuple):
    """A match in its sentence, and the share of the sentence's parses that have it."""

    sentence: int
    words: tuple[str, ...]
    match: Match
    probability: float


class Tally:
    """What was found in a file, or in all."""

    def __init__(self) -> None:
        self.matches = self.sentences = 0.0
        self.words = 0

    def add(self, hits: list[Hit], words: int) -> None:
        """Count a sentence."""
        self.matches += sum(hit.probability for hit in hits)
        self.sentences += max((hit.probability for hit in hits), default=0.0)
        self.words += words

    def row(self, name: str) -> list[str]:
        """The values of `COUNTS`."""
        rate = 1000 * self.matches / self.words if self.words else 0.0
        return [f"{self.matches:.6g}", f"{self.sentences:.6g}", str(self.words), f"{rate:.2f}", name]


@click.command("search", help=HELP)
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
@click.option(
    "--context", type=click.IntRange(0), default=8, show_default=True, help="Words on each side of a match."
)
@click.option("-o", "--output", default="-", help="Write to this file instead of standard output.")
def command(query: str, files: tuple[str, ...], layout: str | None, context: int, output: str) -> None:
    """Find constituents or words in files of trees."""
    from arcspan.files import refuse_to_overwrite
    from arcspan.syntax import Query
    from arcspan.treebanks.streams import open_output

    asked = Query(query)
    refuse_to_overwrite(output, *files)
    found = corpora(files, standard_input="conll" if query.lstrip("(! ").startswith("{") else "brackets")
    total = Tally()
    with open_output(output) as out:
        write = _Writer(out, layout, context)
        for corpus in found:
            own = Tally()
            for words, hits in _hits(asked, corpus):
                for tally in (own, total):
                    tally.add(hits, len(words))
                write.hits(corpus.name, hits)
            if layout == "count":
                write.row(own.row(corpus.name))
        if layout == "count" and len(found) > 1:
            write.row(total.row("total"))
        write.end()
    matches, sentences, length, rate, _ = total.row("")
    counted = (
        f"{matches} match{'es'[: 2 * (matches != '1')]} in {sentences} sentence{'s'[: sentences != '1']}"
    )
    note(f"{counted}; {rate} per 1,000 of {length} words")
    if not total.matches:
        for hint in _hints(asked, found):
            note(hint)


def _hits(query: Query, corpus: Corpus) -> Iterator[tuple[tuple[str, ...], list[Hit]]]:
    """Every sentence with its matches; the same match in several parses is one."""
    for number, parses in enumerate(corpus.sentences(), 1):
        merged: dict[Any, tuple[Match, float]] = {}
        for weight, c, d in parses:
            try:
                query.check(c, d)
            except ArcspanError as error:
                raise ArcspanError(f"{corpus.name}: sentence {number}: {error}") from None
            for match in query.find(c, d):
                key = (
                    match.span,
                    match.word,
                    match.label,
                    *((n, m.span, m.label) for n, m in match.names.items()),
                )
                merged[key] = match, weight + merged.get(key, (match, 0.0))[1]
        words = parses[0].words
        yield words, [Hit(number, words, match, weight) for match, weight in merged.values()]


class _Writer:
    """Writes matches or counts in the layout that was asked for."""

    def __init__(self, out: IO[str], layout: str | None, context: int) -> None:
        self.out, self.layout, self.context = out, layout, context
        self.table = csv.writer(out, delimiter="," if layout == "csv" else "\t", lineterminator="\n")
        self.names: list[str] | None = None
        if layout == "count":
            self.row(COUNTS)

    def row(self, values: Sequence[object]) -> None:
        """A row of a table."""
        self.table.writerow(values)

    def hits(self, name: str, hits: list[Hit]) -> None:
        """The matches of a sentence."""
        for hit in hits if self.layout != "count" else ():
            left, match, right = self._sides(hit)
            if self.layout is not None:
                self._head(list(hit.match.names))
                values = name, hit.sentence, left, match, right, hit.match.label, f"{hit.probability:.4g}"
                named = [_text([named.text]) for named in hit.match.names.values()]
                self.row([*values, *named])
                continue
            named_text = "".join(f"  {key}={_text([m.text])}" for key, m in hit.match.names.items())
            share = "" if hit.probability > 1 - 1e-9 else f"  p={hit.probability:.2f}"
            shown = " ".join(part for part in (left, f"[{match}]", right) if part)
            self.out.write(f"{name}:{hit.sentence}: {shown}  ({hit.match.label}){share}{named_text}\n")

    def _head(self, names: list[str]) -> None:
        if self.names is None:
            self.names = names
            self.row([*COLUMNS, *names])

    def end(self) -> None:
        """A table without rows has its head still."""
        if self.layout in ("csv", "tsv"):
            self._head([])

    def _sides(self, hit: Hit) -> tuple[str, str, str]:
        """The words before a match, in it, and after it."""
        i, j = hit.match.span
        before = hit.words[max(0, i - self.context) : i]
        return _text(before), _text(hit.words[i:j]), _text(hit.words[j : j + self.context])


def _text(words: Sequence[str]) -> str:
    from arcspan.rendering.layout import visible

    return " ".join(visible(word, longest=len(word)) for word in words)


def _hints(query: Query, found: list[Corpus]) -> Iterator[str]:
    """Why nothing may have been found: values that the files do not have, and similar ones that they have."""
    from arcspan.syntax.pattern import ATTRIBUTES

    known: dict[str, set[str]] = defaultdict(set)
    for corpus in found:
        for trees, *_ in islice(corpus.sentences(), 20_000):
            if trees.constituency is not None:
                known["label"].update(label for _, _, label in trees.constituency.spans)
                known["label"].update(trees.constituency.tags, trees.words)
            for name, column in ATTRIBUTES.items() if trees.dependencies is not None else ():
                known[name].update(getattr(trees.dependencies, column))
    for name, values in query.literals.items():
        for value in sorted(values - known[name]) if known[name] else ():
            near = get_close_matches(value, known[name], n=3, cutoff=0.5)
            similar = f"; similar: {', '.join(near)}" if near else ""
            note_ = "constituent, tag or word" if name == "label" else name
            yield f"hint: no {note_} {value!r} in these files{similar}"
