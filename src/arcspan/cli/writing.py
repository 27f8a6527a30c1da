"""What `arcspan parse` writes: texts of every format, tables, pictures, pages."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from arcspan.cli.progress import complain, note, progress
from arcspan.cli.reading import Item, as_they_come
from arcspan.cli.resuming import ResumableOutput
from arcspan.errors import ArcspanError
from arcspan.files import atomic_write, refuse_to_overwrite
from arcspan.integrations.rows import rows_of
from arcspan.parser import Parse, Parser
from arcspan.treebanks import ConlluSentence
from arcspan.treebanks.streams import open_output


class Format(NamedTuple):
    """What can be written: the endings of its files, the usual one first, and the options that it takes."""

    suffixes: tuple[str, ...]
    options: tuple[str, ...] = ()
    streamed: bool = False  # sentence by sentence, so that a run can be resumed
    picture: bool = False  # one file per sentence


FORMATS = {
    "pretty": Format((".txt",), ("confidence",), streamed=True),
    "brackets": Format((".ptb", ".mrg", ".brackets"), streamed=True),
    "conllu": Format((".conllu", ".conll"), ("constituency", "offsets"), streamed=True),
    "json": Format((".jsonl", ".json"), ("confidence", "syntax"), streamed=True),
    "csv": Format((".csv",), ("table",), streamed=True),
    "tsv": Format((".tsv",), ("table",), streamed=True),
    "svg": Format((".svg",), ("confidence",), picture=True),
    "tikz": Format((".tex", ".tikz"), picture=True),
    "png": Format((".png",), ("confidence",), picture=True),
    "pdf": Format((".pdf",), ("confidence",), picture=True),
    "html": Format((".html", ".htm"), ("confidence",)),
    "parquet": Format((".parquet",)),
}
READ_AHEAD = 256  # sentences
_DELIMITERS = {"csv": ",", "tsv": "\t"}
# Comments of an earlier parse.
_OF_A_PARSE = re.compile(r"#\s*(rank|score|approximate|error|constituency)\s*=")


@dataclass(eq=False)
class Run:
    """The sentences of one input on their way to one output; `error` says why there are no more."""

    items: Iterator[Item]
    output: ResumableOutput | None
    source: str = ""
    error: Exception | None = None
    failures: int = 0

    def outcome(self) -> dict[str, Any]:
        """How it went, in plain values; "error" says why the output is not there."""
        message = "" if self.error is None else str(self.error)
        if isinstance(self.error, OSError):
            message = f"{self.error.filename or self.source}: {self.error.strerror}"
        return {"source": self.source, "failures": self.failures, "error": message}

    def opened(self) -> ResumableOutput | None:
        """The output, open; None, and an error of the run, where it cannot be written to."""
        try:
            if self.output is not None:
                self.output.open()
        except ArcspanError as error:
            self.error, self.output = error, None
        return self.output


class Writing:
    """One call of the command: sentences in, files out.

    slow          parse what has arrived, without waiting for more
    layout, layers, heads, colours  of pictures, as `rendering.to_svg` takes them
    table         of csv and tsv: "words", "constituents" or "clauses"
    syntax        whether JSON has clauses, coordinations and phrases
    constituency  whether CoNLL-U has the constituency tree too, as a comment
    offsets       whether CoNLL-U says where each token stands in the text
    inputs        files that no picture may replace

    All other options are those of `parser.stream`.
    """

    def __init__(
        self,
        parser: Parser,
        form: str,
        *,
        slow: bool = False,
        inputs: Sequence[str] = (),
        **options: Any,
    ) -> None:
        def take(*names: str) -> dict[str, Any]:
            return {name: options.pop(name) for name in names if name in options}

        self.parser, self.form, self.slow, self.inputs = parser, form, slow, inputs
        self.table, self.syntax = options.pop("table", "words"), options.pop("syntax", False)
        self.trees, self.look = take("layout", "layers"), take("heads", "colours")
        self.columns = take("constituency", "offsets")
        self._options, self.query = options, parser.query(**options)
        self.colour = False
        self.sentences = self.failures = self.approximate = 0

    def write(self, items: Iterator[Item], output: str) -> None:
        """Parse everything into a file, whole or not at all; "-" is standard output."""
        if self.form == "html":
            self._put(self.page(items, bar=output != "-"), output)
        elif FORMATS[self.form].picture:
            self._write_pictures(items, output)
        else:
            with open_output(output) as file:
                file.write(self._header())
                for item, parses in self._parses(items, bar=output != "-"):
                    file.write(self._text(item, parses))
                    if output == "-":
                        file.flush()

    def write_runs(self, runs: Iterable[Run], *, bar: bool = False) -> Iterator[Run]:
        """Parse the sentences of several inputs in one stream, each into its own output; yields runs that ended.

        An input that cannot be read ends its own run alone.
        """
        opened: deque[Run] = deque()
        owners: deque[Run] = deque()  # of the sentences under way
        try:
            for item, parses in self._parses(_items_of(runs, opened, owners), bar):
                run = owners.popleft()
                while opened[0] is not run:
                    yield self._end(opened.popleft())
                if output := run.opened():
                    run.failures += parses[0].error is not None
                    output.write(
                        ("" if output.items else self._header()) + self._text(item, parses)
                    )
            while opened:
                yield self._end(opened.popleft())
        finally:
            for run in opened:
                if run.output is not None:
                    run.output.close()

    def _end(self, run: Run) -> Run:
        if run.output is not None and run.error is not None:
            run.output.close()
        elif output := run.opened():
            if not output.items:
                output.open().write(self._header().encode())
            output.finish()
        return run

    def page(self, items: Iterator[Item], bar: bool = False) -> str:
        """A page with all parses."""
        from arcspan.rendering import to_html

        parses = [parse for _, found in self._parses(items, bar) for parse in found]
        return to_html(
            [parse.trees for parse in parses],
            texts=[parse.text for parse in parses],
            notes=[self._title(parse) for parse in parses],
            confidence=[parse.confidence if self.query.confidence else None for parse in parses],
            **self.trees,
            **self.look,
        )

    def _write_pictures(self, items: Iterator[Item], output: str) -> None:
        """One picture per file: OUT for a single sentence, OUT-1, OUT-2 ... for several, OUT-1-2 with -k."""
        found = (parses for _, parses in self._parses(items, bar=output != "-"))
        numbered = ((number, parse) for number, parses in enumerate(found, 1) for parse in parses)
        ahead = list(itertools.islice(numbered, 2))
        if output == "-" and len(ahead) > 1 and self.form in ("png", "pdf"):
            raise ArcspanError(
                f"several pictures do not fit into one {self.form}: name a file with -o, or use html"
            )
        names = []
        for number, parse in itertools.chain(ahead, numbered):
            name = output
            if output != "-" and len(ahead) > 1:
                name = _numbered(
                    output, f"{number}" if parse.rank is None else f"{number}-{parse.rank}"
                )
                refuse_to_overwrite(name, *self.inputs)
            self._put(self._picture(parse), name)
            names.append(name)
        if output != "-" and len(ahead) > 1:
            what = "parse" if self.query.k else "sentence"
            note(f"{len(names)} pictures, one per {what}: {names[0]} to {names[-1]}")

    def _picture(self, parse: Parse) -> str | bytes:
        from arcspan import rendering

        if self.form == "tikz":
            return rendering.to_tikz(*parse.trees, layers=self.trees.get("layers"))
        sure = parse.confidence if self.query.confidence else None
        picture = parse.to_svg(confidence=sure, **self.trees, **self.look)
        if self.form == "png":
            return rendering.to_png(picture)
        return rendering.to_pdf(picture) if self.form == "pdf" else picture

    def _parses(
        self, items: Iterator[Item], bar: bool = False
    ) -> Iterator[tuple[Item, list[Parse]]]:
        """The sentences with their parses: one, or the k best."""
        shown: Any = progress(unit="sentence") if bar else contextlib.nullcontext()
        with shown as display:
            # Another thread waits for the parser, so that this one can be interrupted at any moment.
            for item, parses in itertools.chain.from_iterable(
                as_they_come(self._stream(items), READ_AHEAD)
            ):
                self.sentences += 1
                self.approximate += parses[0].approximate
                if parses[0].error is not None:
                    self.failures += 1
                    where = "" if item.document is None else f"{item.document}: "
                    complain(f"{where}sentence {item.number}: {parses[0].error}")
                if bar:
                    display.update()
                yield item, parses

    def _stream(self, items: Iterator[Item]) -> Iterator[tuple[Item, list[Parse]]]:
        if self.query.constrained:
            single = list(items)
            if len(single) != 1:
                raise ArcspanError(
                    f"--require, --forbid and --prefer are about one sentence, but here are {len(single)}"
                )
            items = iter(single)
        under_way: deque[Item] = deque()

        def contents(of: Iterable[Item]) -> Iterator[Any]:
            for item in of:
                under_way.append(item)
                yield item.content

        for arrived in as_they_come(items, READ_AHEAD) if self.slow else (items,):
            for parses in self.parser.stream(
                contents(arrived), READ_AHEAD, errors="keep", **self._options
            ):
                if self.query.constrained and parses[0].error is not None:
                    raise ArcspanError(parses[0].error)
                yield under_way.popleft(), parses

    def _title(self, parse: Parse) -> str:
        """The rank and the probability of a parse, where they were asked for."""
        rank = "" if parse.rank is None else f"{parse.rank}. score {parse.score:.4f}"
        if not self.query.confidence:
            return rank
        sure = parse.confidence
        return f"{rank} probability {'unknown' if sure is None else f'{sure.sentence:.1%}'}".strip()

    def _header(self) -> str:
        """What stands before everything else: the names of columns."""
        if self.form not in _DELIMITERS:
            return ""
        rank = ("rank",) if self.query.k else ()
        return self._line(("document", "sentence", *rank, *rows_of(self.table)[0]))

    def _text(self, item: Item, parses: list[Parse]) -> str:
        """What is to be written for a sentence."""
        write: Callable[[Item, Parse], str] = getattr(self, f"_{self.form}", self._rows)
        end = "\n" if self.form == "brackets" and self.query.k else ""
        return "".join(write(item, parse) for parse in parses) + end

    def _pretty(self, item: Item, parse: Parse) -> str:
        title = self._title(parse)
        return (title and f"{title}\n") + parse.draw(colour=self.colour, **self.trees) + "\n\n"

    def _brackets(self, item: Item, parse: Parse) -> str:
        return parse.brackets() + "\n"

    def _conllu(self, item: Item, parse: Parse) -> str:
        text = parse.conllu(**self.columns)
        if item.lines:
            text = _with_given_lines(item.lines, text)
        else:
            first = "" if item.document is None else f" id = {item.document}"
            place = f"{item.number}" if item.document is None else f"{item.document}-{item.number}"
            text = (
                (f"# newdoc{first}\n" if item.number == 1 else "") + f"# sent_id = {place}\n" + text
            )
        return _ranked(text, parse.rank or 1)

    def _json(self, item: Item, parse: Parse) -> str:
        sure = parse.confidence if self.query.confidence else None
        found = parse.to_dict(syntax=self.syntax)
        if self.query.confidence:
            found["confidence"] = None if sure is None else sure.to_dict()
        if item.document is not None:
            found["document"] = item.document
        return json.dumps(found, ensure_ascii=False) + "\n"

    def _rows(self, item: Item, parse: Parse) -> str:
        begin = (item.document or "", item.number, *(() if parse.rank is None else (parse.rank,)))
        return "".join(self._line((*begin, *row)) for row in rows_of(self.table)[1](parse))

    def _line(self, cells: tuple[Any, ...]) -> str:
        file = io.StringIO()
        csv.writer(file, delimiter=_DELIMITERS[self.form], lineterminator="\n").writerow(cells)
        return file.getvalue()

    def _put(self, content: str | bytes, output: str) -> None:
        if isinstance(content, str):
            with open_output(output) as text:
                text.write(content + "\n" * (output == "-"))
        elif output == "-":
            sys.stdout.buffer.write(content)
        else:
            with atomic_write(output, "wb") as file:
                file.write(content)


def _items_of(runs: Iterable[Run], opened: deque[Run], owners: deque[Run]) -> Iterator[Item]:
    """The sentences of all runs that no earlier call has covered; the runs, and whose each sentence is, are noted."""
    for run in runs:
        opened.append(run)
        try:
            for item in run.output.remaining(run.items) if run.output else ():
                owners.append(run)
                yield item
        except (ArcspanError, OSError) as error:
            run.error = error


def _ranked(text: str, rank: int) -> str:
    r"""A parse in CoNLL-U by its rank: after the best, none begins a document or paragraph, and ids are their own.

    >>> _ranked("# newdoc id = a\n# sent_id = a-1\n# newpar\n", 2)
    '# sent_id = a-1-2\n'
    """
    if rank == 1:
        return text
    text = re.sub(r"^#\s*(newdoc|newpar)\b.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^#\s*sent_id\s*=.*\S", rf"\g<0>-{rank}", text, flags=re.MULTILINE)


def _with_given_lines(given: tuple[str, ...], text: str) -> str:
    """A parse in CoNLL-U with the comments, multiword tokens and SpaceAfter of the sentence that was read."""
    sentence = ConlluSentence(given)
    own = text.rstrip("\n").split("\n")
    found = [line for line in sentence.comments if not _OF_A_PARSE.match(line)]
    if sentence.comment("text") is None:
        found.append(f"# text = {sentence.spell()}")
    found += [line for line in own if line.startswith("#") and not line.startswith("# text =")]
    rows = iter(line for line in own if not line.startswith("#"))
    lines = (line for line in given if not line.startswith("#"))
    for token, line in zip(sentence.tokens, lines, strict=True):
        if "-" in token.id:
            found.append(line)
        elif token.is_word:
            name, _, *row, misc = next(rows).split("\t")
            found.append(
                "\t".join([name, token.form, *row, misc if token.space_after else "SpaceAfter=No"])
            )
    return "\n".join(found) + "\n\n"


def _numbered(output: str, number: str) -> str:
    """The name of one picture of several.

    >>> _numbered("a/b.svg", "2"), _numbered("b.svg.gz", "1-3")
    ('a/b-2.svg', 'b-1-3.svg.gz')
    """
    path = Path(output)
    suffixes = "".join(path.suffixes[-2:]) if path.suffix in (".gz", ".xz") else path.suffix
    return str(path.with_name(f"{path.name.removesuffix(suffixes)}-{number}{suffixes}"))
