"""What a call of `arcspan parse` does: one text or file into one output; many files into one, or each into its own.

The outputs of many files are in a folder, made by one process or by several with Ray. All inputs go through one stream,
so small files fill batches together. Each output stands in its place when it is complete, with a note
(`arcspan.cli.resuming`); the same command again parses what is not there yet, or has changed.
"""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from arcspan._version import __version__
from arcspan.cli.hints import Hints
from arcspan.cli.progress import complain, note, progress
from arcspan.cli.reading import Item, Reader
from arcspan.cli.resuming import ResumableOutput, identity, is_done, read_note, target
from arcspan.cli.writing import FORMATS, Run, Writing
from arcspan.errors import ArcspanError
from arcspan.files import refuse_to_overwrite
from arcspan.parser import Parser, load
from arcspan.treebanks.streams import name_of

_SUFFIXES = {suffix: form for form, one in FORMATS.items() for suffix in one.suffixes}
_OTHERS = (".text", ".md", ".tok", ".words", ".gz", ".xz", ".bz2", ".zip", ".doc", ".docx")


class Document(NamedTuple):
    """A file to read and its name in the corpus, without suffixes."""

    source: str
    name: str


def find_documents(sources: Iterable[str]) -> list[Document]:
    """The files that are named, that stand in folders (at any depth), or that fit patterns such as "corpus/*.txt".

    Names are relative to the folder, or to where the pattern begins, without suffixes and blanks. Files in folders
    whose names begin with a dot or an underscore are left alone.
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
        if one.is_file()
        and not any(part.startswith(hidden) for part in one.relative_to(root).parts)
    ]


@dataclass(frozen=True)
class Call:
    """The options of a call, as they go to the workers of Ray; `options` are those of `Writing`."""

    form: str = ""  # for that of the output's name
    model: str | None = None
    threads: int | None = None
    memory: int = 2 << 30
    output: str = "-"
    resume: bool = False
    engine: str = "local"
    workers: int | None = None
    reader: Reader = Reader()
    options: dict[str, Any] = field(default_factory=dict)

    def run(self, sources: Sequence[str], is_text: bool) -> int:
        """Parse a text, files, folders or standard input; the exit code."""
        if (
            len(sources) > 1
            or self._to_folder
            or (sources and not is_text and _stands_for_many(sources[0]))
        ):
            if is_text:
                raise click.UsageError(
                    "--text takes one text, in quotes, and no folder for its parses"
                )
            return self._parse_many(sources)
        if self.workers:
            raise click.UsageError("--workers needs --engine ray")
        source = sources[0] if sources else None
        path = _path_of(source, is_text)
        output, form = self._target([path])
        parser = self._load()
        kind, items = self.reader.read(parser, path or "-", text=source if path is None else None)
        if self.reader.kind is None and kind != "text":
            name = name_of(path or "-")
            note(
                f"{name}: looks like {kind}: its words are parsed (--input text takes it as prose)"
            )
        slow = path is not None and not os.path.isfile(path)
        writing = Writing(parser, form, slow=slow, inputs=[path] if path else [], **self.options)
        return self._write(writing, items, output, kind)

    def _parse_many(self, sources: Sequence[str]) -> int:
        if "-" in sources:
            raise click.UsageError("standard input (-) does not go with other files")
        documents, output = find_documents(sources), self.output
        if output != "-" and (
            self._to_folder or not (os.path.exists(output) or Path(output).suffix)
        ):
            has_columns = any(document.source.endswith(".parquet") for document in documents)
            form = self.form or ("parquet" if has_columns else "conllu")
            return replace(self, form=form, output=os.path.abspath(output))._parse_apart(documents)
        if self.engine == "ray":
            raise click.UsageError(
                "--engine ray writes one file for each that it reads: give a folder with -o"
            )
        output, form = self._target([document.source for document in documents])
        parser, errors = self._load(), list[str]()
        items = _joined(parser, self.reader, documents, errors)
        code = self._write(Writing(parser, form, **self.options), items, output, self.reader.kind)
        return 2 if errors else code

    @property
    def _to_folder(self) -> bool:
        """Whether the output is a folder, whatever is parsed."""
        return (
            self.engine == "ray"
            or self.output.endswith((os.sep, "/"))
            or os.path.isdir(self.output)
        )

    def _target(self, inputs: Sequence[str | None]) -> tuple[str, str]:
        """The one output and its format."""
        output = self.output
        packed = output.endswith((".gz", ".xz"))
        form = self.form or _form_of(output[:-3] if packed else output)
        self._check(form)
        if form == "parquet":
            raise click.UsageError("--format parquet is written to a folder: name one with -o OUT/")
        if packed and form in ("png", "pdf"):
            raise click.UsageError(f"{form} is compressed already: leave out {output[-3:]}")
        if self.resume and (output == "-" or packed or not FORMATS[form].streamed):
            names = ", ".join(name for name, one in FORMATS.items() if one.streamed)
            raise click.UsageError(f"--resume needs a plain file: -o OUT in {names}, not gz or xz")
        if output != "-" and not Path(output).parent.is_dir():
            raise ArcspanError(f"{Path(output).parent}: no such folder")
        refuse_to_overwrite(output, *inputs)
        return output, form

    def _check(self, form: str) -> None:
        """UsageError for options that do not go with the format."""
        for option in ("confidence", "syntax", "constituency", "offsets", "table"):
            if self.options[option] not in (False, "words") and option not in FORMATS[form].options:
                names = " or ".join(name for name, one in FORMATS.items() if option in one.options)
                raise click.UsageError(f"--{option} needs --format {names}")

    def _load(self) -> Parser:
        """The parser, checked against what is asked of it."""
        parser = load(self.model, threads=self.threads, memory_limit=self.memory)
        if self.options["k"] and not parser.predictor.joint:
            raise ArcspanError(
                "-k needs a model that finds both trees at once: this one finds each by itself"
            )
        return parser

    def _settings(self, parser: Parser, form: str, kind: str | None) -> dict[str, Any]:
        """What must be the same in a run that continues."""
        made = {"version": __version__, "model": identity(parser), "input": kind, "format": form}
        read = {"clean": list(self.reader.clean), "column": self.reader.column}
        return {**made, "memory": self.memory, **read, **self.options}

    def _write(self, writing: Writing, items: Iterator[Item], output: str, kind: str | None) -> int:
        """Parse into one output; the exit code."""
        hints = Hints(writing.parser)
        items = hints.watch(items)
        plain = output != "-" and (os.path.isfile(output) or not os.path.exists(output))
        if plain:
            target(output)
        if plain and not output.endswith((".gz", ".xz")) and FORMATS[writing.form].streamed:
            settings = self._settings(writing.parser, writing.form, kind)
            _write_resumable(writing, items, ResumableOutput(output, settings, resume=self.resume))
        else:
            writing.colour = (
                output == "-" and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
            )
            writing.write(items, output)
        if not writing.sentences:
            note("no sentence in the input")
        for hint in hints.notes():
            note(hint)
        if writing.approximate:
            note(
                f"sentences not searched exactly, too long for --memory or very repetitive: {writing.approximate}"
            )
        if writing.failures:
            complain(f"{writing.failures} of {writing.sentences} sentences could not be parsed")
        return 1 if writing.failures else 0

    def _parse_apart(self, documents: Sequence[Document]) -> int:
        """Parse all documents that are not done yet, each into its own output in the folder; the exit code."""
        if FORMATS[self.form].picture:
            names = ", ".join(name for name, one in FORMATS.items() if not one.picture)
            raise click.UsageError(f"to a folder, {names} are written, not {self.form}")
        self._check(self.form)
        parser = self._load()  # a bad bundle is reported before anything is written
        if os.path.exists(self.output) and not os.path.isdir(self.output):
            raise ArcspanError(f"{self.output}: is a file; many files are written to a folder")
        settings = self._settings(parser, self.form, self.reader.kind)
        left = [one for one in documents if not is_done(self.place(one), settings, one.source)]
        os.makedirs(self.output, exist_ok=True)
        if len(left) < len(documents):
            note(f"{len(documents) - len(left)} of {len(documents)} files are done already")
        outcomes: Iterable[dict[str, Any]] = (run.outcome() for run in self.parse(parser, left))
        if self.engine == "ray":
            from arcspan.integrations.ray import run_tasks

            model = (
                os.path.abspath(self.model)
                if self.model and os.path.exists(self.model)
                else self.model
            )
            options = {"path": model, "memory_limit": self.memory}
            tasks = [one._asdict() for one in left]
            outcomes = run_tasks(partial(_work, self), tasks, workers=self.workers, **options)
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

    def place(self, document: Document) -> str:
        """The file that is written for a document."""
        return os.path.join(self.output, document.name + FORMATS[self.form].suffixes[0])

    def parse(self, parser: Parser, documents: Iterable[Document]) -> Iterator[Run]:
        """Parse documents into the folder; yields each when it is done, or with the error that ended it."""
        writing = Writing(parser, self.form, **self.options)
        settings = self._settings(parser, self.form, self.reader.kind)
        runs = (self._open(parser, one, settings) for one in documents)
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

    def _open(self, parser: Parser, document: Document, settings: dict[str, Any]) -> Run:
        """The sentences of a document and the output for them; an error where either cannot be."""
        try:
            path = self.place(document)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            before = read_note(target(path))
            again = before is not None and not before.done and FORMATS[self.form].streamed
            output = ResumableOutput(
                path, settings, resume=again, keep=True, source=document.source
            )
            try:
                if again:
                    output.open()
                if self.engine == "ray":  # which replaces a worker that is killed, but not for ever
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
            before = writing.failures
            run.output.open().write(writing.page(run.items).encode("utf-8", "replace"))
            run.failures = writing.failures - before
            return
        from arcspan.integrations.parquet import parse_column, parse_contents

        if run.source.endswith(".parquet"):
            _, run.failures = parse_column(
                parser, run.source, run.output.open(), self.reader.column
            )
        else:
            contents = (item.content for item in run.items)
            _, run.failures = parse_contents(parser, contents, run.output.open())


def _work(call: Call, parser: Parser, document: dict[str, Any]) -> dict[str, Any]:
    """What a worker of Ray does with a document."""
    (run,) = call.parse(parser, [Document(**document)])
    return run.outcome()


def _joined(
    parser: Parser, reader: Reader, documents: Sequence[Document], errors: list[str]
) -> Iterator[Item]:
    """The sentences of all documents, for one output; a document that cannot be read is added to the errors."""
    for document in documents:
        try:
            yield from reader.read(parser, document.source, document=document.name)[1]
        except (ArcspanError, OSError) as error:
            errors.append(Run(iter(()), None, document.source, error).outcome()["error"])
            complain(click.style("error: ", fg="red") + errors[-1])


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
        if (kept := read_note(output.path)) is not None and not kept.done:
            note(f"{kept.items} sentences are kept: --resume continues from there")
        raise
    if output.complete:
        note(f"{output.path} is complete: nothing left to do")


def _stands_for_many(source: str) -> bool:
    """Whether it is a folder, or a pattern that some files fit, for shells that leave patterns alone."""
    if "\x00" in source or len(source) > 4096:
        return False
    if os.path.exists(source):
        return os.path.isdir(source)
    return (
        glob.has_magic(source)
        and not re.search(r"\s", source)
        and bool(glob.glob(source, recursive=True))
    )


def _form_of(output: str) -> str:
    """The format that a name stands for; pretty for standard output, devices, and names without a suffix."""
    suffix = Path(output).suffix.lower()
    if (
        suffix
        and suffix not in _SUFFIXES
        and (os.path.isfile(output) or not os.path.exists(output))
    ):
        known = " ".join(_SUFFIXES)
        raise click.UsageError(
            f"{output}: no format is known by {suffix}: use --format, or one of {known}"
        )
    return _SUFFIXES.get(suffix, "pretty")


def _path_of(source: str | None, is_text: bool) -> str | None:
    """The file that is meant, "-" for standard input; None where the argument is text."""
    if source is None and (is_text or sys.stdin is None or sys.stdin.isatty()):
        raise click.UsageError(
            'give a text, a file, or - for standard input: arcspan parse "Logic plays a role."'
        )
    if source is None:
        return "-"
    if not is_text and (source == "-" or ("\x00" not in source and os.path.exists(source))):
        return source
    if any("\ud800" <= character <= "\udfff" for character in source):
        raise ArcspanError("the text is not UTF-8")
    if is_text:
        return None
    named = source.lower().endswith((*_SUFFIXES, *_OTHERS)) or source.count(os.sep) > 1
    if named and not re.search(r"\s", source):
        raise ArcspanError(
            f"{source}: no such file (for a text that looks like a name, add --text)"
        )
    return None
