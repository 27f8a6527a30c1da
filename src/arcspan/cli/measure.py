"""`arcspan measure`: the complexity of sentences, texts and corpora."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, NamedTuple

import click

from arcspan.cli.corpora import Alternative, corpora, parsed
from arcspan.cli.options import MODEL, OUTPUT, safe_cells_option
from arcspan.cli.progress import note, progress
from arcspan.errors import ArcspanError
from arcspan.files import printable_name, refuse_to_overwrite
from arcspan.formats import safe_cell
from arcspan.syntax.measures import MEASURES, Sums, measures, standard_errors, sums, total
from arcspan.treebanks.streams import open_output

SentenceSums = list[tuple[float, Sums]]
"""The sums of each parse of a sentence, with its weight."""


class Row(NamedTuple):
    """The measures of a sentence, a text or all; sentence 0 is the whole text."""

    file: str
    sentence: int
    measures: dict[str, float]
    errors: dict[str, float]


@click.command("measure")
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--per",
    type=click.Choice(["sentence", "text", "corpus"]),
    default="text",
    help="What is measured: each sentence, each file, or all files together.",
)
@click.option(
    "--format",
    "-f",
    "layout",
    type=click.Choice(["table", "csv", "json"]),
    help="A table for reading, CSV with a row for each text, or JSON. "
    "[default: by the output's name, or table]",
)
@click.option("--only", default="", help="Only these measures (names separated by commas).")
@MODEL
@click.option(
    "-k", type=click.IntRange(1, 100), default=1, help="Measure the K best parses of texts."
)
@click.option(
    "--split-compounds",
    is_flag=True,
    help="Count every part of a compound with hyphens for Lu's W and its ratios, not one word.",
)
@safe_cells_option("csv")
@OUTPUT
def command(
    files: tuple[str, ...],
    per: str,
    layout: str | None,
    only: str,
    model: str | None,
    k: int,
    split_compounds: bool,
    safe_cells: bool,
    output: str,
) -> None:
    """Measure the syntax of FILES: texts (.txt), which are parsed, or trees (brackets or CoNLL-U).

    \b
    arcspan measure essays/*.txt -o essays.csv
    arcspan measure essay.txt --per sentence --format json
    arcspan measure essay.txt -k 10          expected values, with standard errors

    The 14 indices of Lu's L2SCA, dependency distance, Yngve's and Frazier's depth, branching,
    clauses and coordinations by kind, words and characters. A bracket file and a CoNLL-U file of
    the same name are one text.
    """
    refuse_to_overwrite(output, *files)
    names = [name.strip() for name in only.split(",") if name.strip()] or list(MEASURES)
    for name in names:
        if name not in MEASURES:
            raise ArcspanError(f"no measure {name!r}; there are {', '.join(MEASURES)}")
    rows = list(_rows(_texts(files, model, k), per, names, split_compounds))
    with open_output(output) as out:
        if layout == "csv" or (layout is None and output.endswith(".csv")):
            _write_csv(out, rows, safe_cells)
        elif layout == "json" or (layout is None and output.endswith(".json")):
            _write_json(out, rows)
        else:
            _write_table(out, rows)
    # A file of one layer has no measures of the other.
    measured = {name for row in rows for name in row.measures}
    if absent := [name for name in names if name not in measured]:
        note(
            "hint: not measured, since there are no sentences or only one kind of trees: "
            f"{', '.join(absent)}"
        )


def _rows(
    files: Iterable[tuple[str, Iterator[list[Alternative]]]],
    per: str,
    names: Sequence[str],
    split_compounds: bool,
) -> Iterator[Row]:
    """Yield the measures of each sentence or text, and of all of them."""
    corpus_sums: list[SentenceSums] = []
    texts = 0
    with progress(unit="sentence") as bar:
        for file, sentences in files:
            text_sums: list[SentenceSums] = []
            name = printable_name(file)
            for number, parses in enumerate(sentences, 1):
                text_sums.append(
                    [(w, sums(*pair, split_compounds=split_compounds)) for w, pair in parses]
                )
                bar.update()
                if per == "sentence":
                    yield _row(name, number, text_sums[-1:], names)
            if per == "text":
                yield _row(name, 0, text_sums, names)
            corpus_sums += text_sums
            texts += 1
    # One text needs no total.
    if per == "corpus" or (per == "text" and texts > 1):
        yield _row("total", 0, corpus_sums, names)


def _texts(
    files: tuple[str, ...], model: str | None, k: int
) -> Iterator[tuple[str, Iterator[list[Alternative]]]]:
    """Yield the name and the sentences of each file, or pair of files, in order."""
    import arcspan

    # Trees are grouped first: a bracket file and a CoNLL-U file may be one text.
    trees = [path for path in files if not path.endswith(".txt")]
    corpus_of = {corpus.name: corpus for corpus in corpora(trees)}
    # No model is loaded for trees alone.
    parser = arcspan.load(model) if len(trees) < len(files) else None
    for path in files:
        if path in corpus_of:
            yield path, corpus_of[path].sentences()
        elif parser is not None and path.endswith(".txt"):
            yield path, parsed(path, parser, k if k > 1 else None)


def _row(file: str, number: int, sentences: list[SentenceSums], names: Sequence[str]) -> Row:
    # A text of no sentences has a length, too.
    all_values = measures({"sentences": 0, "words": 0} | total(sentences))
    values = {name: all_values[name] for name in names if name in all_values}
    # A single parse per sentence leaves no uncertainty.
    if all(len(parses) <= 1 for parses in sentences):
        return Row(file, number, values, {})
    all_errors = standard_errors(sentences)
    errors = {name: all_errors.get(name, 0.0) for name in values} if all_errors else {}
    return Row(file, number, values, errors)


def _cell(number: float | None, mark: str = "") -> str:
    return "" if number is None else mark + f"{number:.4f}".rstrip("0").rstrip(".")


def _names(rows: list[Row]) -> list[str]:
    """Return the measures that any row has, in order."""
    return list(dict.fromkeys(name for row in rows for name in row.measures))


def _write_table(out: IO[str], rows: list[Row]) -> None:
    """Write a line for each measure, a column for each text."""
    from arcspan.evaluation.tables import columns

    titles = [f"{row.file}:{row.sentence}" if row.sentence else row.file for row in rows]
    lines = [["", *titles]]
    for name in _names(rows):
        cells = []
        for row in rows:
            error = _cell(row.errors.get(name), mark=" ±")
            cells.append(_cell(row.measures.get(name)) + error)
        lines.append([name, *cells])
    out.write(columns(lines) + "\n")


def _write_csv(out: IO[str], rows: list[Row], safe_cells: bool) -> None:
    names = _names(rows)
    has_errors = any(row.errors for row in rows)
    table = csv.writer(out, lineterminator="\n")
    header = ["file", "sentence", *names]
    if has_errors:
        header += [f"{name}_error" for name in names]
    table.writerow(header)
    for row in rows:
        file = safe_cell(row.file) if safe_cells else row.file
        cells = [file, row.sentence or "", *(_cell(row.measures.get(name)) for name in names)]
        if has_errors:
            cells += [_cell(row.errors.get(name, 0.0)) for name in names]
        table.writerow(cells)


def _write_json(out: IO[str], rows: list[Row]) -> None:
    for row in rows:
        fields = {"file": row.file, "sentence": row.sentence or None, "measures": row.measures}
        if row.errors:
            fields["errors"] = row.errors
        out.write(json.dumps(fields, ensure_ascii=False) + "\n")
