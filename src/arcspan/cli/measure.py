"""`arcspan measure`: how complex sentences, texts and corpora are."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple

import click

from arcspan.cli.corpora import Alternative, corpora, parsed
from arcspan.cli.options import MODEL
from arcspan.cli.progress import note, progress
from arcspan.errors import ArcspanError
from arcspan.files import refuse_to_overwrite
from arcspan.syntax.measures import MEASURES, Sums, measures, standard_errors, sums, total
from arcspan.treebanks.streams import open_output


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
    help="A table for reading, CSV with a row for each text, or JSON. [default: by the output's name, or table]",
)
@click.option("--only", default="", help="Only these measures (names separated by commas).")
@MODEL
@click.option(
    "-k", type=click.IntRange(1, 100), default=1, help="Measure the K best parses of texts."
)
@click.option("-o", "--output", default="-", help="Write to this file instead of standard output.")
def command(
    files: tuple[str, ...],
    per: str,
    layout: str | None,
    only: str,
    model: str | None,
    k: int,
    output: str,
) -> None:
    """Measure the syntax of FILES: texts (.txt), which are parsed, or trees (brackets or CoNLL-U).

    \b
    arcspan measure essays/*.txt -o essays.csv
    arcspan measure essay.txt --per sentence --format json
    arcspan measure essay.txt -k 10          expected values, with standard errors

    The 14 indices of Lu's L2SCA, dependency distance, Yngve's and Frazier's depth, branching, clauses and coordinations
    by kind, words and characters. A bracket file and a CoNLL-U file of the same name are one text.
    """
    refuse_to_overwrite(output, *files)
    wanted = [name.strip() for name in only.split(",") if name.strip()] or list(MEASURES)
    if unknown := [name for name in wanted if name not in MEASURES]:
        raise ArcspanError(f"no measure {unknown[0]!r}; there are {', '.join(MEASURES)}")
    layout = layout or next(
        (kind for kind in ("csv", "json") if output.endswith(f".{kind}")), "table"
    )
    rows = list(_rows(files, per, wanted, model, k))
    with open_output(output) as out:
        {"table": _table, "csv": _csv, "json": _json}[layout](out, rows)
    if absent := [name for name in wanted if not any(name in row.measures for row in rows)]:
        note(
            f"hint: not measured, since there are no sentences or only one kind of trees: {', '.join(absent)}"
        )


def _rows(
    files: tuple[str, ...], per: str, wanted: Sequence[str], model: str | None, k: int
) -> Iterator[Row]:
    everything: list[list[tuple[float, Sums]]] = []
    texts = 0
    with progress(unit="sentence") as bar:
        for name, sentences in _texts(files, model, k):
            own: list[list[tuple[float, Sums]]] = []
            for number, parses in enumerate(sentences, 1):
                own.append([(weight, sums(*pair)) for weight, pair in parses])
                bar.update()
                if per == "sentence":
                    yield _row(name, number, own[-1:], wanted)
            if per == "text":
                yield _row(name, 0, own, wanted)
            everything += own
            texts += 1
    if per == "corpus" or (per == "text" and texts > 1):
        yield _row("total", 0, everything, wanted)


def _texts(
    files: tuple[str, ...], model: str | None, k: int
) -> Iterator[tuple[str, Iterator[list[Alternative]]]]:
    import arcspan

    trees = [path for path in files if not path.endswith(".txt")]
    found = {corpus.name: corpus for corpus in corpora(trees)}
    parser = arcspan.load(model) if len(trees) < len(files) else None
    for path in files:
        if path in found:
            yield path, found[path].sentences()
        elif parser is not None and path.endswith(".txt"):
            yield path, parsed(path, parser, k if k > 1 else None)


def _row(
    file: str, number: int, sentences: list[list[tuple[float, Sums]]], wanted: Sequence[str]
) -> Row:
    known = measures({"sentences": 0, "words": 0} | total(sentences))
    found = {name: known[name] for name in wanted if name in known}
    uncertain = any(len(parses) > 1 for parses in sentences)
    errors = standard_errors(sentences) if uncertain else {}
    return Row(file, number, found, {name: errors.get(name, 0.0) for name in found if errors})


def _cell(values: dict[str, float], name: str, mark: str = "") -> str:
    return mark + f"{values[name]:.4f}".rstrip("0").rstrip(".") if name in values else ""


def _table(out: IO[str], rows: list[Row]) -> None:
    """A line for each measure, a column for each text."""
    from arcspan.evaluation.tables import columns

    names = list(dict.fromkeys(name for row in rows for name in row.measures))
    heads = [f"{row.file}:{row.sentence}" if row.sentence else row.file for row in rows]
    cells = [
        [name, *(_cell(row.measures, name) + _cell(row.errors, name, " ±") for row in rows)]
        for name in names
    ]
    out.write(columns([["", *heads], *cells]) + "\n")


def _csv(out: IO[str], rows: list[Row]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row.measures))
    uncertain = names if any(row.errors for row in rows) else []
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["file", "sentence", *names, *(f"{name}_error" for name in uncertain)])
    for row in rows:
        values = [_cell(row.measures, name) for name in names]
        errors = [_cell({name: 0.0} | row.errors, name) for name in uncertain]
        table.writerow([row.file, row.sentence or "", *values, *errors])


def _json(out: IO[str], rows: list[Row]) -> None:
    for row in rows:
        data = {"file": row.file, "sentence": row.sentence or None, "measures": row.measures}
        data |= {"errors": row.errors} if row.errors else {}
        out.write(json.dumps(data, ensure_ascii=False) + "\n")
