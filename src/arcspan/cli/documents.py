"""`arcspan parse` on many files: one output per input in a folder, by one process or by several with Ray.

All inputs go through one stream, so small files fill batches together. Each output stands in its place when it is
complete, with a note (`arcspan.cli.resuming`); the same command again parses what is not there yet, or has changed.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from arcspan.cli.progress import complain, note, progress
from arcspan.cli.reading import Item, Reader
from arcspan.cli.resuming import ResumableOutput, is_done, read_note, target
from arcspan.cli.writing import FORMATS, Run, Writing
from arcspan.errors import ArcspanError

if TYPE_CHECKING:
    from arcspan.parser import Parser


class Document(NamedTuple):
    """A file to read and its name in the corpus, without suffixes."""

    source: str
    name: str


def find_documents(sources: Iterable[str]) -> list[Document]:
    """The files that are named, that stand in folders (at any depth), or that fit patterns such as "corpus/*.txt".

    Names are relative to the folder, or to where the pattern begins, without suffixes and blanks. Files in folders
    whose names begin with a dot or an underscore are left alone.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("b.txt", "01 prose.txt.gz", "_SUCCESS"):
    ...     (folder / name).touch()
    >>> [document.name for document in find_documents([str(folder)])]
    ['01_prose', 'b']
    """
    found: dict[str, Document] = {}
    for source in sources:
        root, paths = _files(source)
        if not paths:
            raise ArcspanError(f"{source}: no file to parse there")
        for path in sorted(paths):
            name = Path(path.name.removesuffix(".gz").removesuffix(".xz")).stem
            shown = (path.relative_to(root).parent / re.sub(r"\s+", "_", name)).as_posix()
            if shown in found and not os.path.samefile(path, found[shown].source):
                raise ArcspanError(f"{path} and {found[shown].source} would both be called {shown}")
            found[shown] = Document(os.path.abspath(path), shown)
    return list(found.values())


def _files(source: str) -> tuple[Path, list[Path]]:
    """The folder that names are relative to, and the files."""
    path = Path(source)
    if path.is_dir():
        root, found = path, list(path.rglob("*"))
    elif path.exists() or not glob.has_magic(source):
        return path.parent, [path] if path.exists() else []
    else:
        fixed = list(path.parts[:-1])
        while fixed and any(map(glob.has_magic, fixed)):
            fixed.pop()
        root, found = Path(*fixed), [Path(name) for name in glob.glob(source, recursive=True)]
    hidden = (".", "_")
    return root, [
        one
        for one in found
        if one.is_file() and not any(part.startswith(hidden) for part in one.relative_to(root).parts)
    ]


@dataclass(frozen=True)
class Task:
    """What is to be made of every document; it goes to the workers of Ray as it is."""

    form: str
    folder: str
    reader: Reader = Reader()
    settings: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    # Whether a worker that is killed is replaced, and must not be killed by the same file for ever.
    replaced: bool = False

    def output(self, document: Document) -> str:
        """The file that is written for a document."""
        return os.path.join(self.folder, document.name + FORMATS[self.form].suffixes[0])

    def run(self, parser: Parser, documents: Iterable[Document]) -> Iterator[Run]:
        """Parse documents; yields each when it is done, or with the error that ended it."""
        writing = Writing(parser, self.form, **self.options)
        runs = (self._open(parser, one) for one in documents)
        if FORMATS[self.form].streamed:
            yield from writing.write_runs(runs)
            return
        for run in runs:
            try:
                if run.output is not None:
                    self._write_whole(parser, writing, run)
                    run.output.finish()
            except (ArcspanError, OSError) as error:
                run.error = error
                if run.output is not None:
                    run.output.close()
            yield run

    def _open(self, parser: Parser, document: Document) -> Run:
        """The sentences of a document and the output for them; an error where either cannot be."""
        try:
            path = self.output(document)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            before = read_note(target(path))
            again = before is not None and not before.done and FORMATS[self.form].streamed
            output = ResumableOutput(path, self.settings, resume=again, keep=True, source=document.source)
            try:
                if again:
                    output.open()
                if self.replaced:
                    output.count_start()
                _, items = self.reader.read(parser, document.source, document=document.name)
                return Run(items, output, document.source)
            except BaseException:
                output.close()
                raise
        except (ArcspanError, OSError) as error:
            return Run(iter(()), None, document.source, error)

    def _write_whole(self, parser: Parser, writing: Writing, run: Run) -> None:
        """Write an output that cannot grow sentence by sentence."""
        assert run.output is not None
        if self.form == "html":
            run.output.open().write(writing.page(run.items).encode("utf-8", "replace"))
            return
        from arcspan.integrations.parquet import parse_column, parse_contents

        if run.source.endswith(".parquet"):
            found = parse_column(parser, run.source, run.output.open(), self.reader.column)
        else:
            found = parse_contents(parser, (item.content for item in run.items), run.output.open())
        writing.sentences += found[0]
        run.failures = found[1]


def parse_documents(parser: Parser, task: Task, documents: Sequence[Document], **ray: Any) -> int:
    """Parse all documents that are not done yet, with the options of Ray where there are any; the exit code."""
    if os.path.exists(task.folder) and not os.path.isdir(task.folder):
        raise ArcspanError(f"{task.folder}: is a file; many files are written to a folder")
    left = [one for one in documents if not is_done(task.output(one), task.settings, one.source)]
    os.makedirs(task.folder, exist_ok=True)
    if len(left) < len(documents):
        note(f"{len(documents) - len(left)} of {len(documents)} files are done already")
    outcomes: Iterable[dict[str, Any]] = (run.outcome() for run in task.run(parser, left))
    if ray:
        from arcspan.integrations.ray import run_tasks

        outcomes = run_tasks(partial(_work, task), [one._asdict() for one in left], **ray)
    failures = wrong = 0
    with progress(len(left), unit="file") as bar:
        for outcome in outcomes:
            bar.update(1)
            failures += outcome["failures"]
            wrong += bool(outcome["error"])
            if outcome["error"]:
                complain(click.style("error: ", fg="red") + outcome["error"])
    note(f"files: {len(left) - wrong} parsed" + (f", {wrong} not" if wrong else ""))
    if failures:
        note(f"sentences that could not be parsed: {failures}")
    return 2 if wrong else 1 if failures else 0


def _work(task: Task, parser: Parser, document: dict[str, Any]) -> dict[str, Any]:
    """What a worker of Ray does with a document."""
    (run,) = task.run(parser, [Document(**document)])
    return run.outcome()


def joined(
    parser: Parser, reader: Reader, documents: Sequence[Document], errors: list[str]
) -> Iterator[Item]:
    """The sentences of all documents, for one output; a document that cannot be read is added to the errors."""
    for document in documents:
        try:
            yield from reader.read(parser, document.source, document=document.name)[1]
        except (ArcspanError, OSError) as error:
            errors.append(Run(iter(()), None, document.source, error).outcome()["error"])
            complain(click.style("error: ", fg="red") + errors[-1])
