"""`arcspan parse`: text, words or the sentences of treebank files to both trees."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arcspan._version import __version__
from arcspan.cli.progress import complain, note
from arcspan.errors import ArcspanError
from arcspan.files import refuse_to_overwrite

if TYPE_CHECKING:
    from arcspan.cli.reading import Item
    from arcspan.parser import Parser

INPUTS = ("text", "lines", "words", "conllu", "brackets")
FORMATS = {
    "pretty": (".txt",),
    "brackets": (".ptb", ".mrg", ".brackets"),
    "conllu": (".conllu", ".conll"),
    "json": (".json", ".jsonl"),
    "svg": (".svg",),
    "tikz": (".tex", ".tikz"),
    "png": (".png",),
    "pdf": (".pdf",),
    "html": (".html", ".htm"),
}
_STREAMED = ("pretty", "brackets", "conllu", "json")
_SUFFIXES = [suffix[1:] for suffixes in FORMATS.values() for suffix in suffixes]
_NAME = re.compile(
    rf"[^\s]*\.({'|'.join(_SUFFIXES)}|text|md|tok|words|csv|tsv|gz|xz|bz2|zip|docx?|parquet)", re.IGNORECASE
)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", re.IGNORECASE)


def _bytes(ctx: click.Context, param: click.Parameter, value: str) -> int:
    found = _SIZE.fullmatch(value.strip())
    if found is None:
        raise click.BadParameter(f"{value!r} is not a size such as 2GB or 500MB")
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


_PARTS = "'span,2,6' (words 3 to 6), 'span,2,6,NP', 'arc,HEAD,WORD', 'head,2,6,WORD' or 'root,WORD'"
_PART = re.compile(r"(span,)?\d+,\d+(,[^,]+)?|arc,\d+,\d+|head,\d+,\d+,\d+|root,\d+")


def _constraints(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> list[list[int | str]]:
    """`span,2,6,NP` as the list that `Parser.parse` takes."""
    parts = [re.sub(r"\s", "", value) for value in values]
    for part in parts:
        if not _PART.fullmatch(part):
            raise click.BadParameter(f"{part!r} is not {_PARTS}")
    return [[int(one) if one.isdecimal() else one for one in part.split(",")] for part in parts]


@click.command("parse")
@click.argument("source", metavar="[TEXT | FILE | -]", required=False)
@click.option(
    "-i",
    "--input",
    "kind",
    type=click.Choice(INPUTS),
    help="What the input is. text: split into sentences and words; lines: one sentence per line, split into words; "
    "words: one sentence per line, its words separated by blanks; conllu and brackets: the words of the sentences "
    "of such a file. Default: conllu or brackets for a file that is named or looks like it, otherwise text.",
)
@click.option("--words", is_flag=True, help="The same as --input words.")
@click.option(
    "--text", "is_text", is_flag=True, help="Take the argument as text, even if a file has that name."
)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice((*FORMATS, "parquet")),
    help="What to write. Default: by the suffix of OUT, otherwise pretty; parquet needs --engine ray.",
)
@click.option(
    "-m",
    "--model",
    type=click.Path(),
    help="A model: its name, or a bundle's folder. Default: en, inside the package.",
)
@click.option(
    "--style", metavar="NAME", help="Of a model of several treebanks: the one whose conventions are followed."
)
@click.option(
    "-k", type=click.IntRange(1), metavar="N", help="The N best parses of each sentence, best first."
)
@click.option(
    "--require",
    multiple=True,
    metavar="PART",
    callback=_constraints,
    help=f"A part that both trees of the one sentence must have: {_PARTS}. Repeatable.",
)
@click.option(
    "--forbid", multiple=True, metavar="PART", callback=_constraints, help="A part that they must not have."
)
@click.option(
    "--confidence",
    is_flag=True,
    help="Also the probability of every constituent and arc (json, html, svg, png, pdf) or of the whole (pretty).",
)
@click.option("--constituency", is_flag=True, help="conllu: also the constituency tree, as a comment.")
@click.option(
    "--offsets",
    is_flag=True,
    help="conllu: also where each token stands in the text, TokenRange=start:end in MISC.",
)
@click.option(
    "--layout",
    type=click.Choice(("auto", "wide", "tall", "indented")),
    default="auto",
    show_default=True,
    help="How trees are drawn: words side by side, below each other, or as an indented list.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="OUT",
    help="Write to this file, which appears when it is complete. Pictures (svg, tikz, png, pdf) of several sentences "
    "go to OUT-1, OUT-2 ..., with -k to OUT-1-1, OUT-1-2 ...",
)
@click.option("--resume", is_flag=True, help="Continue an interrupted run that wrote to OUT.")
@click.option("--threads", type=click.IntRange(1), help="Number of threads. Default: one per processor.")
@click.option(
    "--memory",
    default="2GB",
    show_default=True,
    callback=_bytes,
    help="Memory for charts; sentences that need more are parsed in pieces.",
)
@click.option(
    "--engine",
    type=click.Choice(("local", "ray")),
    default="local",
    show_default=True,
    help="ray: several processes or machines parse a folder of text or Parquet files into the folder OUT.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Number of workers, with --engine ray. Default: one per processor.",
)
@click.option("--column", help="The column of Parquet files to parse, with --engine ray. Default: text.")
def command(
    source: str | None,
    kind: str | None,
    words: bool,
    is_text: bool,
    form: str | None,
    model: str | None,
    threads: int | None,
    memory: int,
    output: str | None,
    resume: bool,
    engine: str,
    workers: int | None,
    column: str | None,
    **asked: Any,
) -> int:
    """Parse text, a file, or standard input (-) into both trees.

    Text is split into sentences and words; a blank line ends a sentence. Formats: pretty (both trees drawn),
    brackets (one tree per line; with -k a blank line after each sentence), conllu, json (one object per line), svg,
    tikz, png, pdf, html. Files may be compressed (.gz, .xz).
    """
    if words and kind not in (None, "words"):
        raise click.UsageError(f"--words and --input {kind} contradict each other")
    kind = "words" if words else kind
    if engine == "ray":
        from arcspan.cli.shards import parse_shards

        if resume or is_text or threads:
            raise click.UsageError(
                "--engine ray does not take --text, --threads (use --workers) or --resume (it always continues)"
            )
        if unfit := [name for name, value in asked.items() if value and name != "layout"]:
            option = "-k" if unfit[0] == "k" else f"--{unfit[0]}"
            raise click.UsageError(f"--engine ray does not take {option}")
        return parse_shards(
            source,
            output,
            form=form,
            kind=kind,
            column=column or "text",
            workers=workers,
            model=model,
            memory=memory,
        )
    if workers or column is not None:
        raise click.UsageError("--workers and --column need --engine ray")
    output = output or "-"
    packed = output.endswith((".gz", ".xz"))
    form = form or _form_of(output[:-3] if packed else output)
    _check(form, output, packed, resume, asked["confidence"])
    if form != "conllu" and (asked["constituency"] or asked["offsets"]):
        raise click.UsageError("--constituency and --offsets need --format conllu")
    path = _path_of(source, is_text)
    from arcspan.cli.resuming import SUFFIXES, Resumable, identity

    for suffix in ("", *SUFFIXES):
        refuse_to_overwrite(output + suffix, path)
    from arcspan.cli.writing import Writing
    from arcspan.parser import load

    parser = load(model, threads=threads, memory_limit=memory)
    if asked["k"] and not parser.predictor.joint:
        raise ArcspanError("-k needs a model that finds both trees at once: this one finds each by itself")
    kind, items = _items(parser, source or "", path, kind)
    slow = path is not None and (path == "-" or not os.path.isfile(path))
    writing = Writing(parser, form, slow=slow, **asked)
    is_plain = output != "-" and (os.path.isfile(output) or not os.path.exists(output))
    if is_plain and not packed and form in _STREAMED:
        made = {"version": __version__, "model": identity(parser), "input": kind, "format": form}
        settings = {**made, "memory": memory, **asked}
        writing.write_resumable(items, Resumable(output, settings, resume=resume))
    else:
        writing.colour = output == "-" and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        writing.write(items, output)
    if not writing.sentences:
        note("no sentence in the input")
    if writing.approximate:
        note(f"sentences parsed in pieces, since their charts need more than --memory: {writing.approximate}")
    if writing.failures:
        complain(f"{writing.failures} of {writing.sentences} sentences could not be parsed")
    return 1 if writing.failures else 0


def _form_of(output: str) -> str:
    """The format that a name stands for; pretty for standard output, devices, and names without a suffix."""
    suffix = Path(output).suffix.lower()
    for form, suffixes in FORMATS.items():
        if suffix in suffixes:
            return form
    if suffix and (os.path.isfile(output) or not os.path.exists(output)):
        known = " ".join(suffix for suffixes in FORMATS.values() for suffix in suffixes)
        raise click.UsageError(f"{output}: no format is known by {suffix}: use --format, or one of {known}")
    return "pretty"


def _check(form: str, output: str, packed: bool, resume: bool, confidence: bool) -> None:
    """UsageError for an output that cannot be."""
    if form == "parquet":
        raise click.UsageError("--format parquet needs --engine ray")
    if confidence and form in ("brackets", "conllu", "tikz"):
        raise click.UsageError("--confidence needs --format json, html, svg, png, pdf or pretty")
    if packed and form in ("png", "pdf"):
        raise click.UsageError(f"{form} is compressed already: leave out {output[-3:]}")
    if resume and (output == "-" or packed or form not in _STREAMED):
        raise click.UsageError(f"--resume needs a plain file: -o OUT in {', '.join(_STREAMED)}, not gz or xz")
    if output != "-" and not Path(output).parent.is_dir():
        raise ArcspanError(f"{Path(output).parent}: no such folder")


def _items(parser: Parser, text: str, path: str | None, kind: str | None) -> tuple[str, Iterator[Item]]:
    """The kind of the input, as given or recognised, and the sentences in it."""
    from arcspan.cli.reading import items_of, recognised
    from arcspan.treebanks.streams import name_of, read_text

    pieces = iter((text,)) if path is None else read_text(path)
    if kind is None and path is not None:
        kind, pieces = recognised(pieces)
        kind = _named_kind(path) or kind
        if kind != "text":
            note(f"{name_of(path)}: looks like {kind}: its words are parsed (--input text takes it as prose)")
    return kind or "text", items_of(pieces, kind or "text", lambda: parser.segmenter, path or "-")


def _named_kind(path: str) -> str | None:
    """The kind of treebank file that a name stands for: a damaged one must not be parsed as prose.

    >>> _named_kind("a/dev.conllu.xz"), _named_kind("dev.ptb"), _named_kind("dev.txt")
    ('conllu', 'brackets', None)
    """
    suffix = Path(path.removesuffix(".gz").removesuffix(".xz")).suffix.lower()
    return next((kind for kind in ("conllu", "brackets") if suffix in FORMATS[kind]), None)


def _path_of(source: str | None, is_text: bool) -> str | None:
    """The file that is meant, "-" for standard input; None where the argument is text."""
    if source is None:
        if is_text or sys.stdin is None or sys.stdin.isatty():
            raise click.UsageError(
                'give a text, a file, or - for standard input: arcspan parse "Logic plays a role."'
            )
        return "-"
    if any("\ud800" <= character <= "\udfff" for character in source):
        raise ArcspanError("the text is not UTF-8")
    if is_text:
        return None
    if source == "-":
        return "-"
    if "\x00" not in source:
        if os.path.isdir(source):
            raise ArcspanError(f"{source}: is a folder, not a file")
        if os.path.exists(source):
            return source
    if _NAME.fullmatch(source) or (
        os.sep in source and not re.search(r"\s", source) and source.count(os.sep) > 1
    ):
        raise ArcspanError(f"{source}: no such file (for a text that looks like a name, add --text)")
    return None
