"""`arcspan parse`: text, words or the sentences of treebank files to both trees."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arcspan._version import __version__
from arcspan.cli.hints import Hints
from arcspan.cli.options import MODEL, STYLE, THREADS
from arcspan.cli.progress import complain, note
from arcspan.cli.reading import Item, Reader
from arcspan.cli.resuming import ResumableOutput, identity, target
from arcspan.cli.writing import FORMATS, Run, Writing
from arcspan.errors import ArcspanError
from arcspan.files import refuse_to_overwrite
from arcspan.treebanks.streams import name_of

if TYPE_CHECKING:
    from arcspan.parser import Parser

INPUTS = ("text", "lines", "words", "conllu", "brackets")
_SUFFIXES = {suffix: form for form, one in FORMATS.items() for suffix in one.suffixes}
_OTHERS = (".text", ".md", ".tok", ".words", ".gz", ".xz", ".bz2", ".zip", ".doc", ".docx")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", re.IGNORECASE)


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
_PART = re.compile(r"(span,)?\d+,\d+(,[^,]+)?|arc,\d+,\d+(,[^,]+)?|head,\d+,\d+,\d+|root,\d+|tag,\d+,[^,]+")


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
            raise click.BadParameter(f"{value!r} is not PART=WEIGHT, such as 'span,2,6=1.5'") from None
        found.append((_constraints(ctx, param, (part,))[0], number))
    return found


def _kinds(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    if not value:
        return ()
    from arcspan.segmenting.cleaning import RULES

    kinds = tuple(value.split(","))
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
    "--text", "is_text", is_flag=True, help="Take the argument as text, even if a file has that name."
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
@click.option("--constituency", is_flag=True, help="conllu: also the constituency tree, as a comment.")
@click.option(
    "--offsets",
    is_flag=True,
    help="conllu: also where each token stands in the text, TokenRange=start:end in MISC.",
)
@MODEL
@STYLE
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
    "--heads/--no-heads", default=True, help="Draw the heads of constituents (html, svg, png, pdf), or not."
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
    "go to OUT-1, OUT-2 ..., with -k to OUT-1-1, OUT-1-2 ... With several files or a folder: one output per file if "
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
    call = Call(**own, reader=reader, options=given)
    to_folder = call.engine == "ray" or os.path.isdir(call.output or "-")
    if len(sources) > 1 or to_folder or (sources and not is_text and _stands_for_many(sources[0])):
        if is_text:
            raise click.UsageError("--text takes one text, in quotes, and no folder for its parses")
        return call.parse_many(sources)
    return call.parse_one(sources[0] if sources else None, is_text)


def _stands_for_many(source: str) -> bool:
    """Whether it is a folder, or a pattern that some files fit, for shells that leave patterns alone."""
    if "\x00" in source or len(source) > 4096:
        return False
    if os.path.exists(source):
        return os.path.isdir(source)
    return glob.has_magic(source) and not re.search(r"\s", source) and bool(glob.glob(source, recursive=True))


@dataclass(frozen=True)
class Call:
    """A call of the command: how to read, what to write, and with which model; `options` are those of `Writing`."""

    form: str | None
    model: str | None
    threads: int | None
    memory: int
    output: str | None
    resume: bool
    engine: str
    workers: int | None
    reader: Reader
    options: dict[str, Any]

    def load(self) -> Parser:
        """The parser, checked against what is asked of it."""
        from arcspan.parser import load

        parser = load(self.model, threads=self.threads, memory_limit=self.memory)
        if self.options["k"] and not parser.predictor.joint:
            raise ArcspanError(
                "-k needs a model that finds both trees at once: this one finds each by itself"
            )
        return parser

    def settings(self, parser: Parser, form: str, kind: str | None) -> dict[str, Any]:
        """What must be the same in a run that continues."""
        made = {"version": __version__, "model": identity(parser), "input": kind, "format": form}
        return {**made, "memory": self.memory, "clean": list(self.reader.clean), **self.options}

    def parse_one(self, source: str | None, is_text: bool) -> int:
        """Parse a text, a file or standard input; the exit code."""
        if self.workers:
            raise click.UsageError("--workers needs --engine ray")
        path = _path_of(source, is_text)
        output, form = self._target()
        refuse_to_overwrite(output, path)
        parser = self.load()
        kind, items = self.reader.read(parser, path or "-", text=source if path is None else None)
        if self.reader.kind is None and kind != "text":
            name = name_of(path or "-")
            note(f"{name}: looks like {kind}: its words are parsed (--input text takes it as prose)")
        slow = path is not None and not os.path.isfile(path)
        writing = Writing(parser, form, slow=slow, inputs=[path] if path else [], **self.options)
        return self._write(writing, items, output, kind)

    def parse_many(self, sources: tuple[str, ...]) -> int:
        """Parse several files, each into a file of its own or all into one; the exit code."""
        from arcspan.cli import documents

        if "-" in sources:
            raise click.UsageError("standard input (-) does not go with other files")
        found = documents.find_documents(sources)
        folder = self._folder()
        if folder is None:
            if self.engine == "ray":
                raise click.UsageError(
                    "--engine ray writes one file for each that it reads: give a folder with -o"
                )
            output, form = self._target()
            refuse_to_overwrite(output, *(document.source for document in found))
            parser, errors = self.load(), list[str]()
            items = documents.joined(parser, self.reader, found, errors)
            code = self._write(Writing(parser, form, **self.options), items, output, self.reader.kind)
            return 2 if errors else code
        has_columns = any(document.source.endswith(".parquet") for document in found)
        form = self.form or ("parquet" if has_columns else "conllu")
        if FORMATS[form].picture:
            names = ", ".join(name for name, one in FORMATS.items() if not one.picture)
            raise click.UsageError(f"to a folder, {names} are written, not {form}")
        self._check(form)
        parser = self.load()  # a bad bundle is reported before anything is written
        settings = {**self.settings(parser, form, self.reader.kind), "column": self.reader.column}
        ray: dict[str, Any] = {}
        if self.engine == "ray":
            is_path = self.model and os.path.exists(self.model)
            model = os.path.abspath(self.model or "") if is_path else self.model
            ray = {"workers": self.workers, "path": model, "memory_limit": self.memory}
        task = documents.Task(
            form, os.path.abspath(folder), self.reader, settings, self.options, replaced=bool(ray)
        )
        return documents.parse_documents(parser, task, found, **ray)

    def _folder(self) -> str | None:
        """The folder that outputs are written to; None for one output."""
        output = self.output
        if output is None or output == "-":
            return None
        if output.endswith((os.sep, "/")) or os.path.isdir(output) or self.engine == "ray":
            return output
        return None if os.path.exists(output) or Path(output).suffix else output

    def _target(self) -> tuple[str, str]:
        """The one output and its format."""
        output = self.output or "-"
        packed = output.endswith((".gz", ".xz"))
        form = self.form or _form_of(output[:-3] if packed else output)
        self._check(form)
        if form == "parquet":
            raise click.UsageError(
                "--format parquet is written to a folder: several files, or a folder, with -o OUT/"
            )
        if packed and form in ("png", "pdf"):
            raise click.UsageError(f"{form} is compressed already: leave out {output[-3:]}")
        if self.resume and (output == "-" or packed or not FORMATS[form].streamed):
            names = ", ".join(name for name, one in FORMATS.items() if one.streamed)
            raise click.UsageError(f"--resume needs a plain file: -o OUT in {names}, not gz or xz")
        if output != "-" and not Path(output).parent.is_dir():
            raise ArcspanError(f"{Path(output).parent}: no such folder")
        return output, form

    def _check(self, form: str) -> None:
        """UsageError for options that do not go with the format."""
        for option in ("confidence", "syntax", "constituency", "offsets", "table"):
            if self.options[option] not in (False, "words") and option not in FORMATS[form].options:
                names = " or ".join(name for name, one in FORMATS.items() if option in one.options)
                raise click.UsageError(f"--{option} needs --format {names}")

    def _write(self, writing: Writing, items: Iterator[Item], output: str, kind: str | None) -> int:
        """Parse into one output; the exit code."""
        hints = Hints(writing.parser)
        items = hints.watch(items)
        plain = output != "-" and (os.path.isfile(output) or not os.path.exists(output))
        if plain:
            target(output)
        if plain and not output.endswith((".gz", ".xz")) and FORMATS[writing.form].streamed:
            settings = self.settings(writing.parser, writing.form, kind)
            _write_resumable(writing, items, ResumableOutput(output, settings, resume=self.resume))
        else:
            writing.colour = output == "-" and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
            writing.write(items, output)
        if not writing.sentences:
            note("no sentence in the input")
        for hint in hints.notes():
            note(hint)
        if writing.approximate:
            note(
                f"sentences parsed in pieces, since their charts need more than --memory: {writing.approximate}"
            )
        if writing.failures:
            complain(f"{writing.failures} of {writing.sentences} sentences could not be parsed")
        return 1 if writing.failures else 0


def _write_resumable(writing: Writing, items: Iterator[Item], output: ResumableOutput) -> None:
    """Parse into a file what no earlier run has."""
    output.open()
    writing.sentences = output.items
    if output.items and not output.complete:
        note(f"continuing after {output.items} sentences")
    try:
        for run in writing.write_runs([Run(items, output)], bar=True):
            if run.error is not None:
                raise run.error
    except BaseException:
        if not output.complete and output.items:
            note(f"{output.items} sentences are kept: --resume continues from there")
        raise
    if output.complete:
        note(f"{output.path} is complete: nothing left to do")


def _form_of(output: str) -> str:
    """The format that a name stands for; pretty for standard output, devices, and names without a suffix."""
    suffix = Path(output).suffix.lower()
    if suffix and suffix not in _SUFFIXES and (os.path.isfile(output) or not os.path.exists(output)):
        known = " ".join(_SUFFIXES)
        raise click.UsageError(f"{output}: no format is known by {suffix}: use --format, or one of {known}")
    return _SUFFIXES.get(suffix, "pretty")


def _path_of(source: str | None, is_text: bool) -> str | None:
    """The file that is meant, "-" for standard input; None where the argument is text."""
    if source is None and (is_text or sys.stdin is None or sys.stdin.isatty()):
        raise click.UsageError(
            'give a text, a file, or - for standard input: arcspan parse "Logic plays a role."'
        )
    if source is None:
        return "-"
    if any("\ud800" <= character <= "\udfff" for character in source):
        raise ArcspanError("the text is not UTF-8")
    if is_text:
        return None
    if source == "-" or ("\x00" not in source and os.path.exists(source)):
        return source
    named = source.lower().endswith((*_SUFFIXES, *_OTHERS)) or source.count(os.sep) > 1
    if named and not re.search(r"\s", source):
        raise ArcspanError(f"{source}: no such file (for a text that looks like a name, add --text)")
    return None
