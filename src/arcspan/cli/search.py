"""`arcspan search`: find constituents or words in files of trees, count them, list them."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any, NamedTuple

import click

from arcspan.cli.corpora import Corpus, corpora
from arcspan.cli.options import OUTPUT, safe_cells_option
from arcspan.cli.progress import note
from arcspan.errors import ArcspanError
from arcspan.files import printable_name, refuse_to_overwrite
from arcspan.formats import safe_cell
from arcspan.syntax import Match, TreeQuery
from arcspan.syntax.pattern import ATTRIBUTES
from arcspan.treebanks.streams import open_output

# The named nodes of the query follow, one column each.
COLUMNS = ("file", "sentence", "left", "match", "right", "label", "probability")
COUNTS = ("matches", "sentences", "words", "per_1000_words", "file")
HINT_SENTENCES = 20_000  # of each file, that are read for hints


class SentenceMatches(NamedTuple):
    """The matches in a sentence, each with the share of the sentence's parses that have it."""

    sentence: int
    words: tuple[str, ...]
    matches: list[tuple[Match, float]]
    share: float  # of the parses, with any match


class MatchCounts:
    """The number of matches in a file, or in all files."""

    def __init__(self) -> None:
        # Shares of parses are added, so counts over k best parses are expected ones.
        self.matches = 0.0
        self.sentences = 0.0
        self.words = 0

    def add(self, sentence: SentenceMatches) -> None:
        """Count a sentence."""
        self.matches += sum(share for _, share in sentence.matches)
        self.sentences += sentence.share
        self.words += len(sentence.words)

    def row(self, name: str) -> list[str]:
        """Return the values of `COUNTS`."""
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
    help="Only count: matches, sentences with one, words, matches per 1,000 words, file; "
    "and the total.",
)
@click.option("--tsv", "layout", flag_value="tsv", help="A concordance as a table with tabs.")
@click.option("--csv", "layout", flag_value="csv", help="A concordance as a table with commas.")
@click.option("--context", type=click.IntRange(0), default=8, help="Words on each side of a match.")
@safe_cells_option("with --csv or --tsv")
@OUTPUT
def command(
    query: str,
    files: tuple[str, ...],
    layout: str | None,
    context: int,
    safe_cells: bool,
    output: str,
) -> None:
    """Find constituents or words in FILES of trees (brackets or CoNLL-U; - is standard input).

    \b
    arcspan search 'NP < PP' news.ptb
    arcspan search '{tag:/VB.*/} >nsubj {lemma:dog}=who' news.conllu --csv -o dogs.csv
    arcspan search 'NP <# ({} <obj {lemma:see})' news.ptb news.conllu

    A QUERY is made of constituents, as in tgrep, and of words in braces, as in Semgrex. Files may be
    compressed (.gz, .xz). A bracket file and a CoNLL-U file of the same name are searched together.
    Each match is shown in its sentence. Of files with several parses of each sentence
    (arcspan parse -k), counts are expected ones.
    """
    tree_query = TreeQuery(query)
    refuse_to_overwrite(output, *files)
    # Standard input has no name that says what it holds, but the query does.
    asks_for_words = query.lstrip("(! ").startswith("{")
    inputs = corpora(files, standard_input="conll" if asks_for_words else "brackets")
    total = MatchCounts()
    with open_output(output) as out:
        table = csv.writer(out, delimiter="," if layout == "csv" else "\t", lineterminator="\n")
        if layout == "count":
            table.writerow(COUNTS)
        elif layout is not None:
            table.writerow([*COLUMNS, *tree_query.names])
        for corpus in inputs:
            counts = MatchCounts()
            for sentence in _search(tree_query, corpus):
                counts.add(sentence)
                total.add(sentence)
                if layout == "count":
                    continue
                for match, share in sentence.matches:
                    row = _row(printable_name(corpus.name), sentence, match, share, context)
                    if layout is None:
                        out.write(_line(row, match))
                    else:
                        cells = [*row, *_named_texts(match, tree_query)]
                        if safe_cells:
                            cells = [safe_cell(cell) for cell in cells]
                        table.writerow(cells)
            if layout == "count":
                table.writerow(counts.row(printable_name(corpus.name)))
        if layout == "count" and len(inputs) > 1:
            table.writerow(total.row("total"))
    matches, sentences, words, rate, _ = total.row("")
    plural = "" if matches == "1" else "es"
    note(
        f"{matches} match{plural}, sentences with one: {sentences}; {rate} per 1,000 of {words} "
        f"words"
    )
    if not total.matches:
        for hint in _hints(tree_query, inputs):
            note(hint)


def _search(query: TreeQuery, corpus: Corpus) -> Iterator[SentenceMatches]:
    """Yield the matches of each sentence; the same match in several parses is one."""
    for number, parses in enumerate(corpus.sentences(), 1):
        merged: dict[Any, tuple[Match, float]] = {}
        sentence_share = 0.0
        for weight, (c, d) in parses:
            try:
                matches = query.find(c, d)
            except ArcspanError as error:
                raise ArcspanError(f"{corpus.name}: sentence {number}: {error}") from None
            if matches:
                sentence_share += weight
            for match in matches:
                # Matches are the same if they have the same node and the same named nodes.
                nodes = tuple((name, node.span, node.label) for name, node in match.names.items())
                key = (match.span, match.word, match.label, nodes)
                _, share = merged.get(key, (match, 0.0))
                merged[key] = match, weight + share
        _, first_pair = parses[0]
        yield SentenceMatches(number, first_pair.words, list(merged.values()), sentence_share)


def _row(
    name: str, sentence: SentenceMatches, match: Match, share: float, context: int
) -> tuple[Any, ...]:
    """Return the values of `COLUMNS`."""
    i, j = match.span
    words = sentence.words
    before = _text(words[max(0, i - context) : i])
    after = _text(words[j : j + context])
    return name, sentence.sentence, before, _text(words[i:j]), after, match.label, f"{share:.4g}"


def _named_texts(match: Match, query: TreeQuery) -> Iterator[str]:
    """Yield the text of each named node of the query; "" for one that the match does not have."""
    for name in query.names:
        node = match.names.get(name)
        yield "" if node is None else _text([node.text])


def _line(row: tuple[Any, ...], match: Match) -> str:
    file, number, before, middle, after, label, share = row
    text = " ".join(part for part in (before, f"[{middle}]", after) if part)
    # A probability of 1 is that of the only parse.
    probability = "" if share == "1" else f"  p={float(share):.2f}"
    nodes = "".join(f"  {name}={_text([node.text])}" for name, node in match.names.items())
    return f"{file}:{number}: {text}  ({label}){probability}{nodes}\n"


def _text(words: Sequence[str]) -> str:
    from arcspan.rendering.layout import visible

    return " ".join(visible(word, longest=len(word)) for word in words)


def _hints(query: TreeQuery, inputs: list[Corpus]) -> Iterator[str]:
    """Yield why nothing may match: values that the files do not have, with similar ones."""
    values_in_files = _attribute_values(inputs)
    for name, values in query.literals.items():
        in_files = values_in_files[name]
        if not in_files:
            continue
        subject = "constituent, tag or word" if name == "label" else name
        for value in sorted(values - in_files):
            similar = get_close_matches(value, in_files, n=3, cutoff=0.5)
            suggestion = f"; similar: {', '.join(similar)}" if similar else ""
            yield f"hint: no {subject} {value!r} in these files{suggestion}"


def _attribute_values(inputs: list[Corpus]) -> defaultdict[str, set[str]]:
    """Return the values of each attribute of queries; labels, tags and words under "label"."""
    values: defaultdict[str, set[str]] = defaultdict(set)
    for corpus in inputs:
        for parses in islice(corpus.sentences(), HINT_SENTENCES):
            _, (c, d) = parses[0]
            if c is not None:
                values["label"].update((label for _, _, label in c.spans), c.tags, c.words)
            if d is not None:
                for name, column in ATTRIBUTES.items():
                    values[name].update(getattr(d, column))
    return values
