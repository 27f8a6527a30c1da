"""`arcspan parse`: text, words or the sentences of treebank files to both trees."""

from __future__ import annotations

import re
from typing import Any

import click

from arcspan.cli.documents import Call
from arcspan.cli.options import MODEL, STYLE, THREADS
from arcspan.cli.reading import Reader
from arcspan.cli.writing import FORMATS
from arcspan.segmenting.cleaning import RULES

INPUTS = ("text", "lines", "words", "conllu", "brackets")
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)\s*([KMGT]?)i?B?", re.IGNORECASE)


def _bytes(ctx: click.Context, param: click.Parameter, value: str) -> int:
    found = _SIZE.fullmatch(value.strip())
    if found is None:
        raise click.BadParameter(f"{value!r} is not a size such as 2GB or 500MB")
    size = int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))
    if size < 1:
        raise click.BadParameter("charts need some memory: give a size such as 500MB")
    return size


_PARTS = (
    "'span,2,6' (words 3 to 6), 'span,2,6,NP', 'arc,HEAD,WORD', 'arc,HEAD,WORD,nsubj', 'head,2,6,WORD', 'root,WORD' "
    "or 'tag,WORD,NN'"
)
_PART = re.compile(
    r"(span,)?N,N(,[^,]+)?|arc,N,N(,[^,]+)?|head,N,N,N|root,N|tag,N,[^,]+".replace("N", r"\d{1,18}")
)


def _constraints(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> list[list[int | str]]:
    """`span,2,6,NP` as the list that `Parser.parse` takes."""
    parts = [re.sub(r"\s", "", value) for value in values]
    for part in parts:
        if not _PART.fullmatch(part):
            raise click.BadParameter(f"{part!r} is not {_PARTS}")
    return [[int(one) if one.isdecimal() else one for one in part.split(",")] for part in parts]


def _preferences(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> list[tuple[list[int | str], float]]:
    """`span,2,6,NP=1.5` as the pair that `Parser.parse` takes."""
    found = []
    for value in values:
        part, _, weight = value.rpartition("=")
        try:
            number = float(weight if part else "")
        except ValueError:
            raise click.BadParameter(
                f"{value!r} is not PART=WEIGHT, such as 'span,2,6=1.5'"
            ) from None
        found.append((_constraints(ctx, param, (part,))[0], number))
    return found


def _kinds(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    kinds = tuple(value.split(",")) if value else ()
    for kind in kinds:
        if kind not in RULES:
            raise click.BadParameter(f"{kind!r} is not one of {', '.join(RULES)}")
    return kinds


@click.command("parse")
@click.argument("sources", metavar="[TEXT | FILES... | FOLDER | -]", nargs=-1)
@click.option(
    "-i",
    "--input",
    "kind",
    type=click.Choice(INPUTS),
    help="Kind of input. text: split into sentences and words; lines: one sentence per line, split into words; "
    "words: one sentence per line, its words separated by blanks; conllu and brackets: the words of the sentences "
    "of such a file. Default: conllu or brackets for a file that is named or looks like it, otherwise text.",
)
@click.option("--words", is_flag=True, help="The same as --input words.")
@click.option(
    "--clean",
    callback=_kinds,
    metavar="KINDS",
    help="Remove from running text (separated by commas): html (tags, entities), hyphens (of words divided at the end "
    "of a line), subtitles (numbers and times), chat (times and names). Offsets remain those of the original.",
)
@click.option(
    "--text",
    "is_text",
    is_flag=True,
    help="Take the argument as text, even if a file has that name.",
)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(tuple(FORMATS)),
    help="What to write. Default: by the suffix of OUT, conllu for a folder, otherwise pretty.",
)
@click.option(
    "--table",
    type=click.Choice(("words", "constituents", "clauses")),
    default="words",
    help="Rows of csv and tsv.",
)
@click.option("--syntax", is_flag=True, help="json: also clauses, coordinations and phrases.")
@click.option(
    "--constituency", is_flag=True, help="conllu: also the constituency tree, as a comment."
)
@click.option(
    "--offsets",
    is_flag=True,
    help="conllu: also where each token stands in the text, TokenRange=start:end in MISC.",
)
@MODEL
@STYLE
@click.option(
    "-k",
    type=click.IntRange(1),
    metavar="N",
    help="The N best parses of each sentence, best first.",
)
@click.option(
    "--require",
    multiple=True,
    metavar="PART",
    callback=_constraints,
    help=f"A part that both trees of the one sentence must have: {_PARTS}. Repeatable.",
)
@click.option(
    "--forbid",
    multiple=True,
    metavar="PART",
    callback=_constraints,
    help="A part that they must not have.",
)
@click.option(
    "--prefer",
    multiple=True,
    metavar="PART=WEIGHT",
    callback=_preferences,
    help="A part that they should have: such trees are e^WEIGHT times as likely.",
)
@click.option(
    "--confidence",
    is_flag=True,
    help="Also the probability of every constituent and arc (json, html, svg, png, pdf) or of the whole (pretty).",
)
@click.option(
    "--layout",
    type=click.Choice(("auto", "wide", "tall", "indented")),
    default="auto",
    help="How trees are drawn: words side by side, below each other, or as an indented list.",
)
@click.option(
    "--layers",
    type=click.Choice(("constituency", "dependency")),
    help="Draw one of the two trees (pretty, html, svg, tikz, png, pdf).",
)
@click.option(
    "--heads/--no-heads",
    default=True,
    help="Draw the heads of constituents (html, svg, png, pdf), or not.",
)
@click.option(
    "--colours",
    type=click.Choice(("auto", "light", "black")),
    default="auto",
    help="Colours of pictures: auto follows the dark mode of a page, light does not, black is black and white.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="OUT",
    help="Write to this file, which appears when it is complete. Pictures (svg, tikz, png, pdf) of several sentences "
    "go to OUT-1, OUT-2 ..., with -k to OUT-1-1, OUT-1-2 ... With files or a folder: one output per file if "
    "OUT is a folder (out/), otherwise all in one.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Continue an interrupted run that wrote to the file OUT. To a folder, every run continues.",
)
@THREADS
@click.option(
    "--memory",
    default="2GB",
    callback=_bytes,
    help="Memory for charts; sentences that need more are parsed in pieces.",
)
@click.option(
    "--engine",
    type=click.Choice(("local", "ray")),
    default="local",
    help="ray: several processes or machines parse many files into the folder OUT.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Number of workers, with --engine ray. Default: one per processor.",
)
@click.option("--column", default="text", help="The column of Parquet files to parse.")
def command(sources: tuple[str, ...], words: bool, is_text: bool, **given: Any) -> int:
    """Parse text, files, the files of a folder, or standard input (-) into both trees.

    Text is split into sentences and words; a blank line ends a sentence. Formats: pretty (both trees drawn),
    brackets (one tree per line; with -k a blank line after each sentence), conllu, json (one object per line), csv,
    tsv, svg, tikz, png, pdf, html, parquet (to a folder). Files may be compressed (.gz, .xz).
    """
    kind = given.pop("kind")
    if words and kind not in (None, "words"):
        raise click.UsageError(f"--words and --input {kind} contradict each other")
    reader = Reader("words" if words else kind, given.pop("clean"), given.pop("column"))
    own = {name: given.pop(name) for name in Call.__dataclass_fields__ if name in given}
    asked = {name: value for name, value in own.items() if value}
    return Call(**asked, reader=reader, options=given).run(sources, is_text)
