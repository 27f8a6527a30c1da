"""`arcspan parse`: text or words to both trees."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arcspan.cli.progress import complain, note, progress
from arcspan.errors import ArcspanError
from arcspan.files import refuse_to_overwrite

if TYPE_CHECKING:
    from arcspan.cli.reading import Item
    from arcspan.parser import Parse, Parser

FORMATS = ("pretty", "brackets", "conllu", "json", "svg", "html")
_BY_SUFFIX = {
    ".ptb": "brackets",
    ".mrg": "brackets",
    ".brackets": "brackets",
    ".conllu": "conllu",
    ".conll": "conllu",
    ".json": "json",
    ".jsonl": "json",
    ".svg": "svg",
    ".html": "html",
    ".htm": "html",
}
_NAME = re.compile(r"[^\s]*\.(txt|text|md|tok|words|csv|tsv|gz|xz|bz2|zip|pdf|docx?|html?)", re.IGNORECASE)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", re.IGNORECASE)
READ_AHEAD = 256  # items


def _bytes(ctx: click.Context, param: click.Parameter, value: str) -> int:
    found = _SIZE.fullmatch(value.strip())
    if found is None:
        raise click.BadParameter(f"{value!r} is not a size such as 2GB or 500MB")
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


@click.command("parse")
@click.argument("source", metavar="[TEXT | FILE | -]", required=False)
@click.option(
    "--words", is_flag=True, help="One sentence a line, its words separated by blanks: split nothing."
)
@click.option(
    "--text", "is_text", is_flag=True, help="The argument is text, even where a file has that name."
)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice((*FORMATS, "parquet")),
    help="What to write. Default: as OUT's suffix says, else pretty; parquet with --engine ray only.",
)
@click.option("-m", "--model", type=click.Path(), help="A model bundle. Default: the English model inside.")
@click.option(
    "-k", type=click.IntRange(1), metavar="N", help="The N best parses of each sentence, best first."
)
@click.option(
    "--confidence", is_flag=True, help="With --format json: the probability of every constituent and arc."
)
@click.option(
    "--mbr", is_flag=True, help="The parse with most spans and arcs expected right, not the best one."
)
@click.option(
    "-o", "--output", type=click.Path(), metavar="OUT", help="Write to this file, whole or not at all."
)
@click.option("--resume", is_flag=True, help="Go on with OUT where an interrupted run stopped.")
@click.option("--threads", type=click.IntRange(1), help="How many threads work. Default: one a processor.")
@click.option(
    "--memory",
    default="2GB",
    show_default=True,
    callback=_bytes,
    help="What charts may take; longer sentences are parsed in pieces.",
)
@click.option(
    "--engine",
    type=click.Choice(("local", "ray")),
    default="local",
    show_default=True,
    help="ray: several processes or machines parse a folder of text or Parquet files into the folder OUT.",
)
@click.option(
    "--workers", type=click.IntRange(1), help="How many workers Ray starts. Default: one a processor."
)
@click.option("--column", default="text", show_default=True, help="The column of Parquet files to parse.")
def command(
    source: str | None,
    words: bool,
    is_text: bool,
    form: str | None,
    model: str | None,
    k: int | None,
    confidence: bool,
    mbr: bool,
    output: str | None,
    resume: bool,
    threads: int | None,
    memory: int,
    engine: str,
    workers: int | None,
    column: str,
) -> int:
    """Parse text, a file of text, or standard input (-) into both trees.

    Sentences end where the text says so, and at blank lines. Formats: pretty (both trees drawn), brackets (one
    tree a line), conllu, json (one object a line), svg, html. Files may be compressed (.gz, .xz).
    """
    if engine == "ray":
        from arcspan.cli.shards import parse_shards

        if resume or is_text or threads:
            raise click.UsageError(
                "--engine ray takes no --text, no --threads (say --workers), and no --resume: it always goes on"
            )
        if k or confidence or mbr:
            raise click.UsageError("--engine ray takes no -k, --confidence and --mbr")
        return parse_shards(
            source,
            output,
            form=form,
            words=words,
            column=column,
            workers=workers,
            model=model,
            memory=memory,
        )
    if k and mbr:
        raise click.UsageError("--mbr finds one parse: it takes no -k")
    if form == "parquet":
        raise click.UsageError("--format parquet needs --engine ray")
    form = form or _BY_SUFFIX.get(
        Path((output or "").removesuffix(".gz").removesuffix(".xz")).suffix, "pretty"
    )
    if confidence and form != "json":
        raise click.UsageError("--confidence needs --format json")
    if resume and (output is None or form in ("svg", "html") or output.endswith((".gz", ".xz"))):
        raise click.UsageError(
            "--resume goes on with a plain file: it needs -o OUT, and no svg, html, gz or xz"
        )
    path = _path_of(source, is_text)
    refuse_to_overwrite(output, path)
    if resume and output is not None and Path(output).is_file() and not Path(f"{output}.part").exists():
        note(f"{output} is complete: nothing to go on with")
        return 0
    from arcspan.parser import load

    parser = load(model, threads=threads, memory_limit=memory, decode="mbr" if mbr else "best")
    settings = {"format": form, "words": words, "model": _identity(parser), "memory": memory}
    settings |= {"k": k, "confidence": confidence, "mbr": mbr}
    return _Run(parser, form, path, source or "", words, k, confidence).write(output, settings, resume)


def _identity(parser: Parser) -> list[str]:
    """What tells a model from all others: its name, and a checksum over those of its files."""
    sums = parser.path / "checksums.json"
    digest = hashlib.sha256(sums.read_bytes()).hexdigest() if sums.is_file() else ""
    return [str(parser.config.get("name")), digest]


def _path_of(source: str | None, is_text: bool) -> str | None:
    """The file that is meant, "-" for standard input; None where the argument is text."""
    if source is None:
        if is_text or sys.stdin is None or sys.stdin.isatty():
            raise click.UsageError(
                'name a text, a file, or - for standard input: arcspan parse "Logic plays a role."'
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
            raise ArcspanError(f"{source}: is a folder; name a file")
        if os.path.exists(source):
            return source
    if _NAME.fullmatch(source) or (
        os.sep in source and not re.search(r"\s", source) and source.count(os.sep) > 1
    ):
        raise ArcspanError(f"{source}: no such file (for a text that looks like a name, add --text)")
    return None


class _Run:
    """One call of the command: items in, texts out."""

    def __init__(
        self,
        parser: Parser,
        form: str,
        path: str | None,
        text: str,
        words: bool,
        k: int | None = None,
        confidence: bool = False,
    ) -> None:
        self.parser, self.form, self.path, self.text, self.words = parser, form, path, text, words
        self.k, self.confidence = k, confidence
        self.colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        self.sentences = self.failures = 0

    def write(self, output: str | None, settings: dict[str, Any], resume: bool) -> int:
        """Parse everything; returns the exit code."""
        self.colour = self.colour and output is None
        if self.form == "html":
            self._write_page(output)
        elif self.form == "svg":
            self._write_pictures(output)
        elif output is None or output == "-":
            for _, text, _ in self._texts(self._items()):
                sys.stdout.write(text)
                sys.stdout.flush()
        elif output.endswith((".gz", ".xz")) or (os.path.exists(output) and not os.path.isfile(output)):
            from arcspan.treebanks.streams import open_output

            with open_output(output) as file:
                for _, text, _ in self._texts(self._items(), bar=True):
                    file.write(text)
        else:
            self._write_file(output, settings, resume)
        if not self.sentences:
            note("no sentence in the input")
        if self.failures:
            complain(f"{self.failures} of {self.sentences} sentences could not be parsed")
        return 1 if self.failures else 0

    def _write_file(self, output: str, settings: dict[str, Any], resume: bool) -> None:
        from arcspan.cli.resuming import Resumable

        out = Resumable(output, settings, resume=resume)
        self.sentences = out.sentences
        try:
            with out:
                if out.sentences:
                    note(f"going on after {out.sentences} sentences")
                for _, text, count in self._texts(out.remaining(self._items()), bar=True):
                    out.write(text, count)
        except BaseException:
            note(f"{out.sentences} sentences are kept in {out.part}: --resume goes on from there")
            raise

    def _write_page(self, output: str | None) -> None:
        from arcspan.rendering import to_html

        pairs = [
            (parse.constituency, parse.dependencies)
            for _, parses in self._parses(self._items(), bar=output is not None)
            for parse in parses
        ]
        _put(to_html(pairs), output)

    def _write_pictures(self, output: str | None) -> None:
        """One picture a file: OUT for a single sentence, OUT-1, OUT-2 ... for several."""
        output = None if output == "-" else output
        first: str | None = None
        number = 0
        for _, parses in self._parses(self._items(), bar=output is not None):
            for parse in parses:
                number += 1
                picture = parse.to_svg()
                if output is None:
                    _put(picture, None)
                elif number == 1:
                    first = picture
                else:
                    if number == 2:
                        _put(first or "", _numbered(output, 1))
                    _put(picture, _numbered(output, number))
        if output is not None and number == 1:
            _put(first or "", output)

    def _items(self) -> Iterator[Item]:
        from arcspan.cli.reading import items_of, lines_of

        lines: Iterable[str] = (
            lines_of(self.path) if self.path is not None else self.text.splitlines(keepends=True)
        )
        return items_of(lines, self.words)

    def _texts(self, items: Iterator[Item], bar: bool = False) -> Iterator[tuple[Item, str, int]]:
        """What is to be written for each item, and how many sentences that is."""
        write = self._writer()
        for item, parses in self._parses(items, bar):
            yield item, "".join(write(item, parse) for parse in parses), _sentences(parses)

    def _parses(self, items: Iterator[Item], bar: bool = False) -> Iterator[tuple[Item, list[Parse]]]:
        shown: Any = progress(unit="sentence") if bar else contextlib.nullcontext()
        with shown as display:
            for item, parses in self._stream(items):
                for parse in parses:
                    self.sentences += _sentences([parse])
                    if parse.error is not None:
                        self.failures += 1
                        complain(f"sentence {self.sentences}: {parse.error}")
                if bar:
                    display.update(_sentences(parses))
                yield item, parses

    def _stream(self, items: Iterator[Item]) -> Iterator[tuple[Item, list[Parse]]]:
        if self.path == "-":
            # Standard input may be slow: parse what is there.
            from arcspan.cli.reading import as_they_come

            for arrived in as_they_come(items, READ_AHEAD):
                found = self.parser.stream([item.content for item in arrived], READ_AHEAD, k=self.k)
                yield from zip(arrived, found, strict=True)
            return
        under_way: list[Item] = []

        def contents() -> Iterator[str | list[str]]:
            for item in items:
                under_way.append(item)
                yield item.content

        for parses in self.parser.stream(contents(), READ_AHEAD, k=self.k):
            yield under_way.pop(0), parses

    def _writer(self) -> Callable[[Item, Parse], str]:
        if self.form == "brackets":
            return lambda item, parse: parse.brackets() + "\n"
        if self.form == "conllu":
            return lambda item, parse: parse.conllu()
        if self.form == "json":
            return self._json
        return self._drawn

    def _drawn(self, item: Item, parse: Parse) -> str:
        rank = "" if parse.rank is None else f"{parse.rank}. score {parse.score:.4f}\n"
        return rank + parse.draw(colour=self.colour) + "\n\n"

    def _json(self, item: Item, parse: Parse) -> str:
        found = parse.to_dict()
        if self.confidence:
            sure = parse.confidence
            found["confidence"] = None if sure is None else sure.to_dict()
        if found["offsets"] is not None:
            # Offsets count from the beginning of the input, not of the paragraph.
            found["offsets"] = [[start + item.start, end + item.start] for start, end in found["offsets"]]
        return json.dumps(found, ensure_ascii=False) + "\n"


def _sentences(parses: Iterable[Parse]) -> int:
    """How many sentences these parses are of."""
    return sum(parse.rank in (None, 1) for parse in parses)


def write_items(parser: Parser, items: Iterator[Item], form: str, output: str) -> tuple[int, int]:
    """Parse items into a file, whole or not at all; returns how many sentences, and how many of them failed."""
    from arcspan.treebanks.streams import open_output

    run = _Run(parser, form, None, "", False)
    with open_output(output) as file:
        for _, text, _ in run._texts(items):
            file.write(text)
    return run.sentences, run.failures


def _put(text: str, output: str | None) -> None:
    if output is None or output == "-":
        click.echo(text)
        return
    from arcspan.treebanks.streams import open_output

    with open_output(output) as file:
        file.write(text)


def _numbered(output: str, number: int) -> str:
    """The name of one picture of several.

    >>> _numbered("a/b.svg", 2), _numbered("b.svg.gz", 1)
    ('a/b-2.svg', 'b-1.svg.gz')
    """
    path = Path(output)
    suffixes = "".join(path.suffixes[-2:]) if path.suffix in (".gz", ".xz") else path.suffix
    return str(path.with_name(f"{path.name.removesuffix(suffixes)}-{number}{suffixes}"))
