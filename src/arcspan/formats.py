"""Output formats: one table of names, file suffixes, media types, options and writers.

The command line, the HTTP server and Python programs all read `FORMATS`; none of them branches on
the name of a format. A new format is one more entry. This module turns parses into text or bytes:
it opens no files and runs no parser.

>>> from arcspan.parse import Parse
>>> parse = Parse.from_brackets("(TOP (S (NP (NNP Ada)) (VP (VBZ plays))))")
>>> write(parse, "brackets")
'(TOP (S (NP (NNP Ada)) (VP (VBZ plays))))\\n'
>>> write(parse, "brackets", layout="tall")  # doctest: +ELLIPSIS
Traceback (most recent call last):
arcspan.errors.ArcspanError: layout is not an option of the format brackets, only of pretty, ...
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

from arcspan.errors import ArcspanError
from arcspan.parse import Confidence, Parse
from arcspan.rendering.elements import Colours
from arcspan.rendering.layout import Layer, Layout
from arcspan.treebanks.conll import ConlluSentence

Table = Literal["words", "constituents", "clauses"]


@dataclass(frozen=True)
class OutputOptions:
    """The options of output; each format takes some of them (`Format.options`).

    table         rows of csv and tsv
    safe_cells    keep spreadsheets from taking words for formulas (`safe_cell`)
    syntax        add clauses, coordinations and phrases
    constituency  add the constituency tree to CoNLL-U, as a comment
    offsets       add the position of each token in the text to CoNLL-U
    confidence    show probabilities
    layout, layers, heads, colours, width  of drawings, as in `arcspan.rendering.to_svg`
    ansi          draw in the colours of a terminal
    """

    table: Table = "words"
    safe_cells: bool = False
    syntax: bool = False
    constituency: bool = False
    offsets: bool = False
    confidence: bool = False
    layout: Layout = "auto"
    layers: Layer | None = None
    heads: bool = True
    colours: Colours = "auto"
    width: float = 1200.0
    ansi: bool = False

    def changed(self) -> list[str]:
        """Return the names of the options that differ from their defaults.

        >>> OutputOptions(syntax=True, heads=False).changed()
        ['syntax', 'heads']
        """
        return [field.name for field in fields(self) if getattr(self, field.name) != field.default]


@dataclass(frozen=True)
class Entry:
    """A parse to write, with its position in the input.

    document         the name of the document that it belongs to, if it has one
    number           the number of the sentence in its document, from 1; None where sentences have
    no ids starts_document  the sentence is the first of its document
    source           the sentence of CoNLL-U that was parsed, whose comments and multiword tokens
    are kept
    """

    parse: Parse
    document: str | None = None
    number: int | None = None
    starts_document: bool = False
    source: ConlluSentence | None = None


@dataclass(frozen=True)
class Format:
    """A format, and the only description of it.

    name        on the command line
    suffixes    of its files, the usual one first
    write       makes text or bytes of one entry; a file is the sequence of its entries
    write_file  makes a whole file of all entries, for a format that is not such a sequence; instead
    of `write` options     the names of the `OutputOptions` that it takes
    media_type  under which HTTP serves it; None: it does not
    is_picture  a file shows one parse alone
    header      makes what stands before all entries; it gets the options, and whether parses have
    ranks group_end   stands after the k best parses of each sentence
    has_ranks   the k best parses of a sentence can be told apart
    is_binary   files are not text, and compressed already
    to_folder   the command line writes it to a folder of files only
    requires    the module of another package that it needs
    """

    name: str
    suffixes: tuple[str, ...]
    write: Callable[[Entry, OutputOptions], str | bytes] | None = None
    write_file: Callable[[Iterable[Entry], OutputOptions, IO[bytes]], None] | None = None
    options: tuple[str, ...] = ()
    media_type: str | None = None
    is_picture: bool = False
    header: Callable[[OutputOptions, bool], str] | None = None
    group_end: str = ""
    has_ranks: bool = True
    is_binary: bool = False
    to_folder: bool = False
    requires: str | None = None

    @property
    def is_streamed(self) -> bool:
        """Return whether a file grows sentence by sentence, so that a run can be resumed."""
        return self.write is not None and not self.is_picture

    def unused_option(self, options: OutputOptions) -> str | None:
        """Return the name of an option that is set although the format does not take it."""
        for name in options.changed():
            if name not in self.options:
                return name
        return None


def format_named(name: str) -> Format:
    """Return the format of that name."""
    if name not in FORMATS:
        raise ArcspanError(f"no format {name!r}; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def formats_with(option: str) -> list[Format]:
    """Return the formats that take an option.

    >>> [format.name for format in formats_with("syntax")]
    ['json']
    """
    return [format for format in FORMATS.values() if option in format.options]


def formats_by_suffix() -> dict[str, Format]:
    """Return the formats by the suffixes of their files."""
    return {suffix: format for format in FORMATS.values() for suffix in format.suffixes}


def formats_by_media_type() -> dict[str, Format]:
    """Return the formats that HTTP serves, by media type."""
    return {format.media_type: format for format in FORMATS.values() if format.media_type}


def write(parse: Parse, name: str, **options: Any) -> str | bytes:
    """Return a parse in the format of that name; the options are those of `OutputOptions`."""
    format = format_named(name)
    output_options = OutputOptions(**options)
    if option := format.unused_option(output_options):
        names = ", ".join(other.name for other in formats_with(option))
        raise ArcspanError(f"{option} is not an option of the format {name}, only of {names}")
    entry = Entry(parse)
    if format.write is not None:
        return format.write(entry, output_options)
    assert format.write_file is not None
    file = io.BytesIO()
    format.write_file([entry], output_options, file)
    return file.getvalue()


# ---- text


def _title(parse: Parse, options: OutputOptions) -> str:
    """Return the rank and the probability of a parse, where it has them."""
    parts = []
    if parse.rank is not None:
        parts.append(f"{parse.rank}. score {parse.score:.4f}")
    if options.confidence:
        confidence = parse.confidence
        probability = "unknown" if confidence is None else f"{confidence.sentence:.1%}"
        parts.append(f"probability {probability}")
    return " ".join(parts)


def _write_drawing(entry: Entry, options: OutputOptions) -> str:
    title = _title(entry.parse, options)
    drawing = entry.parse.draw(colour=options.ansi, layout=options.layout, layers=options.layers)
    return (title + "\n" if title else "") + drawing + "\n\n"


def _write_brackets(entry: Entry, options: OutputOptions) -> str:
    return entry.parse.brackets() + "\n"


def _write_conllu(entry: Entry, options: OutputOptions) -> str:
    return entry.parse.conllu(
        constituency=options.constituency,
        offsets=options.offsets,
        comments=_document_comments(entry) if entry.source is None else (),
        source=entry.source,
    )


def _document_comments(entry: Entry) -> list[str]:
    """Return the comments that begin a document and name a sentence."""
    comments = []
    # Of the k best parses, only the first begins the document; ids of the others end in their rank.
    rank = entry.parse.rank or 1
    if entry.starts_document and rank == 1:
        comments.append(
            "# newdoc" + (f" id = {entry.document}" if entry.document is not None else "")
        )
    if entry.number is not None:
        document = f"{entry.document}-" if entry.document is not None else ""
        suffix = f"-{rank}" if rank > 1 else ""
        comments.append(f"# sent_id = {document}{entry.number}{suffix}")
    return comments


def _write_json(entry: Entry, options: OutputOptions) -> str:
    # Computed before `to_dict`, which adds probabilities of clauses only if they are known.
    confidence = entry.parse.confidence if options.confidence else None
    fields = entry.parse.to_dict(syntax=options.syntax)
    if options.confidence:
        fields["confidence"] = None if confidence is None else confidence.to_dict()
    if entry.document is not None:
        fields["document"] = entry.document
    return json.dumps(fields, ensure_ascii=False) + "\n"


# ---- tables


# A spreadsheet takes a cell that begins with one of these for a formula, which may run programs.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(cell: object) -> object:
    """Return a cell of a table with an apostrophe before text that a spreadsheet would compute.

    >>> safe_cell("=1+1"), safe_cell("word"), safe_cell(-1)
    ("'=1+1", 'word', -1)
    """
    is_formula = isinstance(cell, str) and cell.startswith(_FORMULA_STARTS)
    return f"'{cell}" if is_formula else cell


def _csv_line(cells: Iterable[object], delimiter: str) -> str:
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(cells)
    return line.getvalue()


def _write_rows(entry: Entry, options: OutputOptions, delimiter: str) -> str:
    from arcspan.integrations.rows import rows_of

    _, make_rows = rows_of(options.table)
    parse = entry.parse
    position = [entry.document or "", entry.number]
    if parse.rank is not None:
        position.append(parse.rank)
    lines = []
    for row in make_rows(parse):
        cells = [*position, *row]
        if options.safe_cells:
            cells = [safe_cell(cell) for cell in cells]
        lines.append(_csv_line(cells, delimiter))
    return "".join(lines)


def _write_column_names(options: OutputOptions, has_ranks: bool, delimiter: str) -> str:
    from arcspan.integrations.rows import rows_of

    names, _ = rows_of(options.table)
    rank = ["rank"] if has_ranks else []
    return _csv_line(["document", "sentence", *rank, *names], delimiter)


def _table_format(name: str, delimiter: str) -> Format:
    """Return the format of a table whose cells the delimiter separates."""
    return Format(
        name,
        (f".{name}",),
        partial(_write_rows, delimiter=delimiter),
        options=("table", "safe_cells"),
        header=partial(_write_column_names, delimiter=delimiter),
    )


def _write_parquet(entries: Iterable[Entry], options: OutputOptions, file: IO[bytes]) -> None:
    from arcspan.integrations.parquet import write_parses

    write_parses(([entry.parse] for entry in entries), file)


# ---- pictures


def _confidence_of(parse: Parse, options: OutputOptions) -> Confidence | None:
    return parse.confidence if options.confidence else None


def _write_svg(entry: Entry, options: OutputOptions) -> str:
    return entry.parse.to_svg(
        layout=options.layout,
        layers=options.layers,
        heads=options.heads,
        colours=options.colours,
        width=options.width,
        confidence=_confidence_of(entry.parse, options),
    )


def _write_png(entry: Entry, options: OutputOptions) -> bytes:
    from arcspan.rendering import to_png

    return to_png(_write_svg(entry, options))


def _write_pdf(entry: Entry, options: OutputOptions) -> bytes:
    from arcspan.rendering import to_pdf

    return to_pdf(_write_svg(entry, options))


def _write_tikz(entry: Entry, options: OutputOptions) -> str:
    return entry.parse.to_tikz(layers=options.layers)


def _write_page(entries: Iterable[Entry], options: OutputOptions, file: IO[bytes]) -> None:
    from arcspan.rendering import to_html

    parses = [entry.parse for entry in entries]
    page = to_html(
        [parse.trees for parse in parses],
        texts=[parse.text for parse in parses],
        notes=[_title(parse, options) for parse in parses],
        confidence=[_confidence_of(parse, options) for parse in parses],
        layout=options.layout,
        layers=options.layers,
        heads=options.heads,
        colours=options.colours,
    )
    file.write(page.encode("utf-8", "replace"))


_DRAWING = ("confidence", "layout", "layers", "heads", "colours")
_PICTURE = (*_DRAWING, "width")

FORMATS = {
    format.name: format
    for format in (
        Format(
            "pretty",
            (".txt",),
            _write_drawing,
            options=("confidence", "layout", "layers", "ansi"),
        ),
        Format(
            "brackets",
            (".ptb", ".mrg", ".brackets"),
            _write_brackets,
            media_type="text/x-brackets",
            group_end="\n",
        ),
        Format(
            "conllu",
            (".conllu", ".conll"),
            _write_conllu,
            options=("constituency", "offsets"),
            media_type="text/x-conllu",
        ),
        Format("json", (".jsonl", ".json"), _write_json, options=("confidence", "syntax")),
        _table_format("csv", ","),
        _table_format("tsv", "\t"),
        Format(
            "svg",
            (".svg",),
            _write_svg,
            options=_PICTURE,
            media_type="image/svg+xml",
            is_picture=True,
        ),
        Format(
            "tikz",
            (".tex", ".tikz"),
            _write_tikz,
            options=("layers",),
            media_type="application/x-tex",
            is_picture=True,
        ),
        Format(
            "png",
            (".png",),
            _write_png,
            options=_PICTURE,
            media_type="image/png",
            is_picture=True,
            is_binary=True,
            requires="vl_convert",
        ),
        Format(
            "pdf",
            (".pdf",),
            _write_pdf,
            options=_PICTURE,
            media_type="application/pdf",
            is_picture=True,
            is_binary=True,
            requires="vl_convert",
        ),
        Format("html", (".html", ".htm"), write_file=_write_page, options=_DRAWING),
        Format(
            "parquet",
            (".parquet",),
            write_file=_write_parquet,
            has_ranks=False,
            is_binary=True,
            to_folder=True,
        ),
    )
}
"""All formats by name. A program may add its own: `FORMATS["mine"] = Format("mine", ...)`."""


def format_of_file(path: str) -> Format | None:
    """Return the format that the suffix of a file's name stands for.

    >>> format_of_file("trees.conllu").name, format_of_file("trees")
    ('conllu', None)
    """
    return formats_by_suffix().get(Path(path).suffix.lower())
