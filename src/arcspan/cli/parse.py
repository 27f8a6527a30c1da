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
from arcspan.cli.progress import complain, note
from arcspan.errors import ArcspanError
from arcspan.files import refuse_to_overwrite

if TYPE_CHECKING:
    from arcspan.cli.reading import Item
    from arcspan.cli.resuming import ResumableOutput
    from arcspan.cli.writing import Writing
    from arcspan.parser import Parser

INPUTS = ("text", "lines", "words", "conllu", "brackets")
# A format and the endings of files that have it, the usual one first.
FORMATS = {
    "pretty": (".txt",),
    "brackets": (".ptb", ".mrg", ".brackets"),
    "conllu": (".conllu", ".conll"),
    "json": (".jsonl", ".json"),
    "csv": (".csv",),
    "tsv": (".tsv",),
    "svg": (".svg",),
    "tikz": (".tex", ".tikz"),
    "png": (".png",),
    "pdf": (".pdf",),
    "html": (".html", ".htm"),
    "parquet": (".parquet",),
}
STREAMED = ("pretty", "brackets", "conllu", "json", "csv", "tsv")  # written sentence by sentence
_WITHOUT_CONFIDENCE = ("brackets", "conllu", "tikz", "csv", "tsv", "parquet")
_SUFFIXES = [suffix[1:] for suffixes in FORMATS.values() for suffix in suffixes]
_NAME = re.compile(rf"[^\s]*\.({'|'.join(_SUFFIXES)}|text|md|tok|words|gz|xz|bz2|zip|docx?)", re.IGNORECASE)
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
    help="What the input is. text: split into sentences and words; lines: one sentence per line, split into words; "
    "words: one sentence per line, its words separated by blanks; conllu and brackets: the words of the sentences "
    "of such a file. Default: conllu or brackets for a file that is named or looks like it, otherwise text.",
)
@click.option("--words", is_flag=True, help="The same as --input words.")
@click.option(
    "--clean",
    callback=_kinds,
    metavar="KINDS",
    help="Take out of running text, by commas: html (tags, entities), hyphens (of words divided at the end of a line), "
    "subtitles (numbers and times), chat (times and names). Offsets stay those of the original.",
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
    show_default=True,
    help="What the rows of csv and tsv are.",
)
@click.option("--syntax", is_flag=True, help="json: also clauses, coordinations and phrases.")
@click.option("--constituency", is_flag=True, help="conllu: also the constituency tree, as a comment.")
@click.option(
    "--offsets",
    is_flag=True,
    help="conllu: also where each token stands in the text, TokenRange=start:end in MISC.",
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
    show_default=True,
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
    show_default=True,
    help="Of pictures: auto follows the dark mode of a page, light does not, black is black and white.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="OUT",
    help="Write to this file, which appears when it is complete. Pictures (svg, tikz, png, pdf) of several sentences "
    "go to OUT-1, OUT-2 ..., with -k to OUT-1-1, OUT-1-2 ... Of several files or a folder: one output for each, if OUT "
    "is a folder (out/), otherwise all in one.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Continue an interrupted run that wrote to the file OUT. To a folder, every run continues.",
)
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
    help="ray: several processes or machines parse many files into the folder OUT.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Number of workers, with --engine ray. Default: one per processor.",
)
@click.option("--column", default="text", show_default=True, help="The column of Parquet files to parse.")
def command(sources: tuple[str, ...], words: bool, is_text: bool, **given: Any) -> int:
    """Parse text, files, the files of a folder, or standard input (-) into both trees.

    Text is split into sentences and words; a blank line ends a sentence. Formats: pretty (both trees drawn),
    brackets (one tree per line; with -k a blank line after each sentence), conllu, json (one object per line), csv,
    tsv, svg, tikz, png, pdf, html, parquet (to a folder). Files may be compressed (.gz, .xz).
    """
    if words and given["kind"] not in (None, "words"):
        raise click.UsageError(f"--words and --input {given['kind']} contradict each other")
    given["kind"] = "words" if words else given["kind"]
    call = Call(
        **{name: given.pop(name) for name in Call.__dataclass_fields__ if name in given}, options=given
    )
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

    kind: str | None
    form: str | None
    model: str | None
    threads: int | None
    memory: int
    output: str | None
    resume: bool
    engine: str
    workers: int | None
    column: str
    clean: tuple[str, ...]
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
        from arcspan.cli.resuming import identity

        made = {"version": __version__, "model": identity(parser), "input": kind, "format": form}
        return {**made, "memory": self.memory, "clean": list(self.clean), **self.options}

    def parse_one(self, source: str | None, is_text: bool) -> int:
        """Parse a text, a file or standard input; the exit code."""
        if self.workers:
            raise click.UsageError("--workers needs --engine ray")
        path = _path_of(source, is_text)
        output, form = self._target()
        refuse_to_overwrite(output, path)
        parser = self.load()
        from arcspan.cli.reading import read_items
        from arcspan.treebanks.streams import name_of

        text = source if path is None else None
        kind, items = read_items(
            path or "-", self.kind, lambda: parser.segmenter, text=text, clean=self.clean
        )
        if self.kind is None and kind != "text":
            note(
                f"{name_of(path or '-')}: looks like {kind}: its words are parsed (--input text takes it as prose)"
            )
        slow = path is not None and not os.path.isfile(path)
        return self._write(parser, items, output, form, kind, source=path, slow=slow)

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
            items = documents.joined(found, self.kind, parser, errors, self.clean)
            code = self._write(parser, items, output, form, self.kind, source=None, slow=False)
            return 2 if errors else code
        has_columns = any(document.source.endswith(".parquet") for document in found)
        form = self.form or ("parquet" if has_columns else "conllu")
        if form not in documents.SUFFIXES:
            raise click.UsageError(f"to a folder, {', '.join(documents.SUFFIXES)} are written, not {form}")
        self._check(form, folder)
        parser = self.load()  # a bad bundle is reported before anything is written
        settings = {**self.settings(parser, form, self.kind), "column": self.column}
        ray: dict[str, Any] = {}
        if self.engine == "ray":
            model = self.model
            if model and os.path.exists(model):
                model = os.path.abspath(model)
            ray = {"workers": self.workers, "path": model, "memory_limit": self.memory}
        task = documents.Task(
            form,
            self.kind,
            self.column,
            os.path.abspath(folder),
            settings,
            self.clean,
            self.options,
            bool(ray),
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
        self._check(form, output)
        if form == "parquet":
            raise click.UsageError(
                "--format parquet is written to a folder: several files, or a folder, with -o OUT/"
            )
        if packed and form in ("png", "pdf"):
            raise click.UsageError(f"{form} is compressed already: leave out {output[-3:]}")
        if self.resume and (output == "-" or packed or form not in STREAMED):
            names = ", ".join(STREAMED)
            raise click.UsageError(f"--resume needs a plain file: -o OUT in {names}, not gz or xz")
        if output != "-" and not Path(output).parent.is_dir():
            raise ArcspanError(f"{Path(output).parent}: no such folder")
        return output, form

    def _check(self, form: str, output: str) -> None:
        """UsageError for options that do not go with the format."""
        if self.options["confidence"] and form in _WITHOUT_CONFIDENCE:
            raise click.UsageError("--confidence needs --format json, html, svg, png, pdf or pretty")
        if form != "json" and self.options["syntax"]:
            raise click.UsageError("--syntax needs --format json")
        if form != "conllu" and (self.options["constituency"] or self.options["offsets"]):
            raise click.UsageError("--constituency and --offsets need --format conllu")
        if self.options["table"] != "words" and form not in ("csv", "tsv"):
            raise click.UsageError("--table needs --format csv or tsv")

    def _write(
        self,
        parser: Parser,
        items: Iterator[Item],
        output: str,
        form: str,
        kind: str | None,
        *,
        source: str | None,
        slow: bool,
    ) -> int:
        """Parse into one output; the exit code."""
        from arcspan.cli.hints import Hints
        from arcspan.cli.resuming import ResumableOutput, target
        from arcspan.cli.writing import Writing

        hints = Hints(parser)
        items = hints.watch(items)
        inputs = [] if source is None else [source]
        writing = Writing(parser, form, slow=slow, inputs=inputs, **self.options)
        plain = output != "-" and (os.path.isfile(output) or not os.path.exists(output))
        if plain:
            target(output)
        if plain and not output.endswith((".gz", ".xz")) and form in STREAMED:
            settings = self.settings(parser, form, kind)
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
    from arcspan.cli.writing import Run

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
    for form, suffixes in FORMATS.items():
        if suffix in suffixes:
            return form
    if suffix and (os.path.isfile(output) or not os.path.exists(output)):
        known = " ".join(suffix for suffixes in FORMATS.values() for suffix in suffixes)
        raise click.UsageError(f"{output}: no format is known by {suffix}: use --format, or one of {known}")
    return "pretty"


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
    if "\x00" not in source and os.path.exists(source):
        return source
    if _NAME.fullmatch(source) or (
        os.sep in source and not re.search(r"\s", source) and source.count(os.sep) > 1
    ):
        raise ArcspanError(f"{source}: no such file (for a text that looks like a name, add --text)")
    return None
