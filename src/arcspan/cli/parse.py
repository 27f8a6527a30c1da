"""`arcspan parse`: text, words or the sentences of treebank files to both trees."""

from __future__ import annotations

import re
from typing import get_args

import click

from arcspan.cli.documents import ParseCommand
from arcspan.cli.options import MODEL, STYLE, THREADS, safe_cells_option
from arcspan.cli.reading import Reader
from arcspan.errors import ArcspanError
from arcspan.formats import FORMATS, OutputOptions, Table, formats_with
from arcspan.parser import Query
from arcspan.prediction.constraints import list_forms, read_text
from arcspan.rendering import Colours, Layer, Layout
from arcspan.segmenting.cleaning import RULES

INPUTS = ("text", "lines", "words", "conllu", "brackets")
_SIZE = re.compile(r"(?P<number>\d{1,18}(?:\.\d{1,18})?)\s*(?P<unit>[KMGT]?)i?B?", re.IGNORECASE)


def _bytes(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """Return the bytes of a size such as 500MB, of which the units are powers of 1,024."""
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        raise click.BadParameter(f"{value!r} is not a size such as 2GB or 500MB")
    # The position of a unit is its power; no unit, a blank, is the first.
    power = " KMGT".index(match["unit"].upper() or " ")
    size = int(float(match["number"]) * 1024**power)
    if size < 1:
        raise click.BadParameter("charts need some memory: give a size such as 500MB")
    return size


def _constraints(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> list[list[int | str]]:
    """Return constraints such as `span,2,6,NP` as the lists that `Parser.parse` takes."""
    try:
        return [read_text(value) for value in values]
    except ArcspanError as error:
        raise click.BadParameter(str(error)) from None


def _preferences(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> list[tuple[list[int | str], float]]:
    """Return preferences such as `span,2,6,NP=1.5` as the pairs that `Parser.parse` takes."""
    preferences = []
    for value in values:
        constraint, _, number = value.rpartition("=")
        try:
            weight = float(number if constraint else "")
        except ValueError:
            raise click.BadParameter(
                f"{value!r} is not PART=WEIGHT, such as 'span,2,6=1.5'"
            ) from None
        preferences.append((_constraints(ctx, param, (constraint,))[0], weight))
    return preferences


def _rule_names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Return the names of rules of cleaning, which commas separate."""
    names = tuple(value.split(",")) if value else ()
    for name in names:
        if name not in RULES:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(RULES)}")
    return names


def _takers(option: str) -> str:
    """Return the names of the formats that take an option, for its help."""
    return ", ".join(format.name for format in formats_with(option))


@click.command("parse")
@click.argument("sources", metavar="[TEXT | FILES... | FOLDER | -]", nargs=-1)
@click.option(
    "-i",
    "--input",
    "input_kind",
    type=click.Choice(INPUTS),
    help="Kind of input. text: split into sentences and words; lines: one sentence per line, "
    "split into words; "
    "words: one sentence per line, its words separated by blanks; conllu and brackets: the words "
    "of the sentences "
    "of such a file. Default: conllu or brackets for a file that is named or looks like it, "
    "otherwise text.",
)
@click.option("--words", is_flag=True, help="The same as --input words.")
@click.option(
    "--clean",
    callback=_rule_names,
    metavar="KINDS",
    help="Remove from running text (separated by commas): html (tags, entities), hyphens (of "
    "words divided at the end "
    "of a line), subtitles (numbers and times), chat (times and names). Offsets remain those of "
    "the original.",
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
    type=click.Choice(tuple(FORMATS)),
    help="What to write. Default: by the suffix of OUT, conllu for a folder, otherwise pretty.",
)
@click.option(
    "--table",
    type=click.Choice(get_args(Table)),
    default="words",
    help=f"Rows ({_takers('table')}).",
)
@safe_cells_option(_takers("safe_cells"))
@click.option(
    "--syntax",
    is_flag=True,
    help=f"Also clauses, coordinations and phrases ({_takers('syntax')}).",
)
@click.option(
    "--constituency",
    is_flag=True,
    help=f"Also the constituency tree, as a comment ({_takers('constituency')}).",
)
@click.option(
    "--offsets",
    is_flag=True,
    help=f"Also where each token stands in the text, TokenRange=start:end in MISC "
    f"({_takers('offsets')}).",
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
    help=f"A part that both trees of the one sentence must have: {list_forms('text')}; "
    "span,2,6 are words 3 to 6. Repeatable.",
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
    help=f"Also the probability of every constituent and arc, or, in text, of the whole "
    f"({_takers('confidence')}).",
)
@click.option(
    "--layout",
    type=click.Choice(get_args(Layout)),
    default="auto",
    help="How trees are drawn: words side by side, below each other, or as an indented list "
    f"({_takers('layout')}).",
)
@click.option(
    "--layers",
    type=click.Choice(get_args(Layer)),
    help=f"Draw one of the two trees ({_takers('layers')}).",
)
@click.option(
    "--heads/--no-heads",
    default=True,
    help=f"Draw the heads of constituents ({_takers('heads')}), or not.",
)
@click.option(
    "--colours",
    type=click.Choice(get_args(Colours)),
    default="auto",
    help="Colours of pictures: auto follows the dark mode of a page, light does not, black is "
    "black and white "
    f"({_takers('colours')}).",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="OUT",
    default="-",
    show_default=False,
    help="Write to this file, which appears when it is complete. Pictures (svg, tikz, png, pdf) "
    "of several sentences "
    "go to OUT-1, OUT-2 ..., with -k to OUT-1-1, OUT-1-2 ... With files or a folder: one output "
    "per file if "
    "OUT is a folder (out/), otherwise all in one.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Continue an interrupted run that wrote to the file OUT. To a folder, every run "
    "continues.",
)
@THREADS
@click.option(
    "--memory",
    default="2GB",
    callback=_bytes,
    help="Memory for charts and their scores, all threads together; the process takes about 300 MB "
    "more for Python, the model and the network. Sentences that need more are parsed in pieces.",
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
def command(
    sources: tuple[str, ...],
    input_kind: str | None,
    words: bool,
    clean: tuple[str, ...],
    is_text: bool,
    format: str | None,
    table: Table,
    safe_cells: bool,
    syntax: bool,
    constituency: bool,
    offsets: bool,
    model: str | None,
    style: str | None,
    k: int | None,
    require: list[list[int | str]],
    forbid: list[list[int | str]],
    prefer: list[tuple[list[int | str], float]],
    confidence: bool,
    layout: Layout,
    layers: Layer | None,
    heads: bool,
    colours: Colours,
    output: str,
    resume: bool,
    threads: int | None,
    memory: int,
    engine: str,
    workers: int | None,
    column: str,
) -> int:
    """Parse text, files, the files of a folder, or standard input (-) into both trees.

    Text is split into sentences and words; a blank line ends a sentence. Formats: pretty (both
    trees drawn), brackets (one tree per line; with -k a blank line after each sentence), conllu,
    json (one object per line), csv, tsv, svg, tikz, png, pdf, html, parquet (to a folder). Files
    may be compressed (.gz, .xz).
    """
    if words and input_kind not in (None, "words"):
        raise click.UsageError(f"--words and --input {input_kind} contradict each other")
    query = {
        "k": k,
        "require": require,
        "forbid": forbid,
        "prefer": prefer,
        "confidence": confidence,
        "style": style,
    }
    call = ParseCommand(
        format=format,
        model=model,
        threads=threads,
        memory=memory,
        # An empty name is that of standard output, too.
        output=output or "-",
        resume=resume,
        engine=engine,
        workers=workers,
        reader=Reader("words" if words else input_kind, clean, column),
        query=Query.of(query),
        options=OutputOptions(
            table=table,
            safe_cells=safe_cells,
            syntax=syntax,
            constituency=constituency,
            offsets=offsets,
            confidence=confidence,
            layout=layout,
            layers=layers,
            heads=heads,
            colours=colours,
        ),
    )
    return call.run(sources, is_text)
