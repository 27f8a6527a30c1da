"""Output of `arcspan parse`: parse a stream of sentences and write the parses to files.

What a parse looks like in each format is in `arcspan.formats`; this module decides which file gets
it, and when.
"""

from __future__ import annotations

import contextlib
import io
import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from arcspan.cli.progress import complain, note, progress
from arcspan.cli.reading import Item, as_they_come
from arcspan.cli.resuming import ResumableOutput
from arcspan.cli.terminal import own_colours
from arcspan.errors import ArcspanError
from arcspan.files import printable_name, refuse_to_overwrite
from arcspan.formats import Entry, Format, OutputOptions
from arcspan.parser import Parse, Parser, Query
from arcspan.treebanks import ConlluSentence
from arcspan.treebanks.streams import open_output

READ_AHEAD = 256  # sentences


@dataclass(eq=False)
class Run:
    """The sentences of one input on their way to one output; `error` says why there are no more."""

    items: Iterator[Item]
    output: ResumableOutput | None
    source: str = ""
    error: Exception | None = None
    failures: int = 0

    def outcome(self) -> dict[str, Any]:
        """Return the outcome in plain values; "error" says why the output is not there."""
        message = "" if self.error is None else str(self.error)
        if isinstance(self.error, OSError):
            message = f"{self.error.filename or self.source}: {self.error.strerror}"
        error = printable_name(message)  # it may have the name of a file from others
        return {"source": self.source, "failures": self.failures, "error": error}

    def opened(self) -> ResumableOutput | None:
        """Return the open output; None, with an error of the run, if it cannot be written to."""
        try:
            if self.output is not None:
                self.output.open()
        except ArcspanError as error:
            self.error = error
            self.output = None
        return self.output


class Writer:
    """Parses sentences and writes the parses in one format.

    interactive  parse what has arrived, without waiting for more
    inputs       files that no picture may replace
    """

    def __init__(
        self,
        parser: Parser,
        format: Format,
        options: OutputOptions,
        query: Query,
        *,
        interactive: bool = False,
        inputs: Sequence[str] = (),
    ) -> None:
        # An unknown style is an error before anything is read.
        parser.query(style=query.style)
        self.parser = parser
        self.format = format
        self.options = options
        self.query = query
        self.interactive = interactive
        self.inputs = inputs
        self.sentences = 0
        self.failures = 0
        self.approximate = 0

    def write(self, items: Iterator[Item], output: str) -> None:
        """Parse everything into a file, whole or not at all; "-" is standard output."""
        to_stdout = output == "-"
        if self.format.is_picture:
            self._write_pictures(items, output)
        elif self.format.write_file is not None:
            file = io.BytesIO()
            self.write_file(items, file, bar=not to_stdout)
            content = file.getvalue()
            _put(content if self.format.is_binary else content.decode(), output)
        else:
            with open_output(output) as text:
                text.write(self._header())
                for item, parses in self._parse(items, bar=not to_stdout):
                    # Words in drawings are escaped already.
                    with own_colours(self.options.ansi):
                        text.write(self._text(item, parses))
                    # A reader at the other end of a pipe sees each sentence at once.
                    if to_stdout:
                        text.flush()

    def write_file(self, items: Iterator[Item], file: Any, *, bar: bool = False) -> None:
        """Parse everything into an open file, in a format that is written as a whole."""
        assert self.format.write_file is not None
        self.format.write_file(self._entries(items, bar), self.options, file)

    def write_runs(self, runs: Iterable[Run], *, bar: bool = False) -> Iterator[Run]:
        """Parse several inputs in one stream, each into its own output; yield each run at its end.

        An input that cannot be read ends its own run alone.
        """
        open_runs: deque[Run] = deque()
        # The run of each sentence that is being parsed.
        owners: deque[Run] = deque()
        try:
            for item, parses in self._parse(_items_of(runs, open_runs, owners), bar):
                run = owners.popleft()
                while open_runs[0] is not run:
                    yield self._end(open_runs.popleft())
                if output := run.opened():
                    run.failures += parses[0].error is not None
                    header = "" if output.items else self._header()
                    output.write(header + self._text(item, parses))
            while open_runs:
                yield self._end(open_runs.popleft())
        finally:
            for run in open_runs:
                if run.output is not None:
                    run.output.close()

    def _end(self, run: Run) -> Run:
        if run.output is not None and run.error is not None:
            run.output.close()
        elif output := run.opened():
            # An input without sentences has an output with a header.
            if not output.items:
                output.open().write(self._header().encode())
            output.finish()
        return run

    def _write_pictures(self, items: Iterator[Item], output: str) -> None:
        """Write one picture per file: OUT, or of several OUT-1, OUT-2 ..., with -k OUT-1-2."""
        entries = self._entries(items, bar=output != "-")
        # Whether there are several decides on the name of the first.
        first_two = list(itertools.islice(entries, 2))
        all_entries = itertools.chain(first_two, entries)
        if len(first_two) < 2:
            for entry in all_entries:
                _put(self._write_one(entry), output)
            return
        if output == "-":
            if self.format.is_binary:
                raise ArcspanError(
                    f"several pictures do not fit into one {self.format.name}: "
                    "name a file with -o, or use html"
                )
            for entry in all_entries:
                _put(self._write_one(entry), output)
            return
        names = []
        number = 0
        for entry in all_entries:
            rank = entry.parse.rank
            # Sentences are numbered through all documents.
            if rank in (None, 1):
                number += 1
            name = _numbered(output, f"{number}" if rank is None else f"{number}-{rank}")
            refuse_to_overwrite(name, *self.inputs)
            _put(self._write_one(entry), name)
            names.append(name)
        unit = "parse" if self.query.k else "sentence"
        note(f"{len(names)} pictures, one per {unit}: {names[0]} to {names[-1]}")

    def _write_one(self, entry: Entry) -> str | bytes:
        assert self.format.write is not None
        return self.format.write(entry, self.options)

    def _entries(self, items: Iterator[Item], bar: bool) -> Iterator[Entry]:
        for item, parses in self._parse(items, bar):
            yield from _entries_of(item, parses)

    def _parse(
        self, items: Iterator[Item], bar: bool = False
    ) -> Iterator[tuple[Item, list[Parse]]]:
        """Yield the sentences with their parses: one, or the k best."""
        context: Any = progress(unit="sentence") if bar else contextlib.nullcontext()
        with context as display:
            # Another thread waits for the parser: this one can be interrupted at any moment.
            batches = as_they_come(self._stream(items), READ_AHEAD)
            for item, parses in itertools.chain.from_iterable(batches):
                self.sentences += 1
                self.approximate += parses[0].approximate
                if parses[0].error is not None:
                    self.failures += 1
                    document = "" if item.document is None else f"{item.document}: "
                    complain(f"{document}sentence {item.number}: {parses[0].error}")
                if bar:
                    display.update()
                yield item, parses

    def _stream(self, items: Iterator[Item]) -> Iterator[tuple[Item, list[Parse]]]:
        if self.query.constrained:
            all_items = list(items)
            if len(all_items) != 1:
                raise ArcspanError(
                    "--require, --forbid and --prefer are about one sentence, "
                    f"but here are {len(all_items)}"
                )
            items = iter(all_items)
        # The parser reads ahead: these are the items whose parses have not come yet.
        pending: deque[Item] = deque()

        def contents(batch: Iterable[Item]) -> Iterator[Any]:
            for item in batch:
                pending.append(item)
                yield item.content

        batches: Iterable[Iterable[Item]] = [items]
        if self.interactive:
            batches = as_they_come(items, READ_AHEAD)
        for batch in batches:
            for parses in self.parser.stream(
                contents(batch), READ_AHEAD, errors="keep", **vars(self.query)
            ):
                if self.query.constrained and parses[0].error is not None:
                    raise ArcspanError(parses[0].error)
                yield pending.popleft(), parses

    def _header(self) -> str:
        """Return what stands before all sentences."""
        header = self.format.header
        return "" if header is None else header(self.options, self.query.k is not None)

    def _text(self, item: Item, parses: list[Parse]) -> str:
        """Return what is written of a sentence."""
        parts = [cast(str, self._write_one(entry)) for entry in _entries_of(item, parses)]
        if self.query.k is not None:
            parts.append(self.format.group_end)
        return "".join(parts)


def _entries_of(item: Item, parses: Iterable[Parse]) -> Iterator[Entry]:
    source = ConlluSentence(item.lines) if item.lines else None
    for parse in parses:
        yield Entry(parse, item.document, item.number, item.number == 1, source)


def _put(content: str | bytes, output: str) -> None:
    with open_output(output) as file:
        if isinstance(content, str):
            file.write(content + "\n" if output == "-" else content)
        else:
            # The same file without its encoding, compressed if its name says so.
            cast(io.TextIOWrapper, file).buffer.write(content)


def _items_of(runs: Iterable[Run], open_runs: deque[Run], owners: deque[Run]) -> Iterator[Item]:
    """Yield the sentences of all runs that no earlier call has covered, and their owners."""
    for run in runs:
        open_runs.append(run)
        try:
            for item in run.output.remaining(run.items) if run.output else ():
                owners.append(run)
                yield item
        except (ArcspanError, OSError) as error:
            run.error = error


def _numbered(output: str, number: str) -> str:
    """Return the name of one picture of several.

    >>> _numbered("a/b.svg", "2"), _numbered("b.svg.gz", "1-3")
    ('a/b-2.svg', 'b-1-3.svg.gz')
    """
    path = Path(output)
    suffixes = "".join(path.suffixes[-2:]) if path.suffix in (".gz", ".xz") else path.suffix
    return str(path.with_name(f"{path.name.removesuffix(suffixes)}-{number}{suffixes}"))
