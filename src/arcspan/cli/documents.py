"""Inputs and outputs of `arcspan parse`: a text, a file, or many files, to a file or a folder.

The outputs of a folder are made by one process, or by several with Ray. All inputs go through one
stream, so small files fill batches together. Each output appears when it is complete, with a note
(`arcspan.cli.resuming`); the same command again parses what is not there yet, or has changed.
"""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from arcspan._version import __version__
from arcspan.cli.hints import Hints
from arcspan.cli.progress import complain, note, progress
from arcspan.cli.reading import Item, Reader
from arcspan.cli.resuming import ResumableOutput, identity, is_done, read_note, target
from arcspan.cli.terminal import complain_error
from arcspan.cli.writing import Run, Writer
from arcspan.errors import ArcspanError
from arcspan.files import printable_name, refuse_to_overwrite, short_name
from arcspan.formats import (
    FORMATS,
    Format,
    OutputOptions,
    format_named,
    formats_by_suffix,
    formats_with,
)
from arcspan.parser import Parser, Query, load
from arcspan.treebanks.streams import name_of

# Suffixes, besides those of formats, by which an argument is a file's name and not a text.
_TEXT_SUFFIXES = (".text", ".md", ".tok", ".words", ".gz", ".xz", ".bz2", ".zip", ".doc", ".docx")
_COMPRESSED = (".gz", ".xz")


class Document(NamedTuple):
    """A file to read and its name in the corpus, without suffixes."""

    source: str
    name: str


def find_documents(sources: Iterable[str], output: str | None = None) -> list[Document]:
    """Return the files of folders (at any depth), of patterns such as "*.txt", and single ones.

    Names are relative to the folder, or to where the pattern begins, without suffixes and blanks;
    of files that differ in their suffix alone, the later ones keep it. Files in folders whose names
    begin with a dot or an underscore are left out, and so are links that lead out of the folder,
    and the folder `output`, which may be inside one that is read: the next call would parse its own
    results.
    """
    documents: dict[str, Document] = {}
    for source in sources:
        root, paths = _files(source)
        if output is not None:
            output_folder = Path(output).resolve()
            paths = [path for path in paths if output_folder not in path.resolve().parents]
        if not paths:
            raise ArcspanError(f"{printable_name(source)}: no file to parse there")
        for path in sorted(paths):
            name = _document_name(path, root, documents)
            documents[name] = Document(os.path.abspath(path), name)
    return list(documents.values())


def _document_name(path: Path, root: Path, documents: Mapping[str, Document]) -> str:
    """Return the name of a document that no other file has."""
    full_name = path.name.removesuffix(".gz").removesuffix(".xz")
    folder = path.relative_to(root).parent
    # A name is written into files of lines and columns, and becomes the name of the output.
    candidates = [
        printable_name(re.sub(r"\s+", "_", (folder / file_name).as_posix()))
        for file_name in (Path(full_name).stem, full_name, path.name)
    ]
    for name in candidates:
        # The same file may be named twice, for example by a pattern and by its name.
        if name not in documents or os.path.samefile(path, documents[name].source):
            return name
    other = printable_name(documents[candidates[0]].source)
    raise ArcspanError(
        f"{printable_name(str(path))} and {other} would both be called {candidates[0]}"
    )


def _files(source: str) -> tuple[Path, list[Path]]:
    """Return the folder that names are relative to, and the files."""
    path = Path(source)
    if path.is_dir():
        root, paths = path, list(path.rglob("*"))
    elif path.exists() or not glob.has_magic(source):
        return path.parent, [path] if path.exists() else []
    else:
        fixed_parts = list(path.parts[:-1])
        # The folder above the first part that is a pattern.
        while fixed_parts and any(map(glob.has_magic, fixed_parts)):
            fixed_parts.pop()
        root = Path(*fixed_parts)
        paths = [Path(name) for name in glob.glob(source, recursive=True)]
    files = [path for path in paths if path.is_file() and not _is_hidden(path, root)]
    inside = [path for path in files if not _leads_out(path, root)]
    if len(inside) < len(files):
        note(
            f"{printable_name(source)}: links that lead out of the folder are not followed: "
            f"{len(files) - len(inside)}"
        )
    return root, inside


def _leads_out(path: Path, root: Path) -> bool:
    """Return whether links lead from a folder to a file elsewhere: a folder from others could make
    a copy of any file that its reader may read.
    """
    return not path.resolve().is_relative_to(root.resolve())


def _is_hidden(path: Path, root: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(root).parts)


@dataclass(frozen=True)
class ParseCommand:
    """One call of `arcspan parse`, as it goes to the workers of Ray.

    format   the name of the output format; None: by the name of the output
    query    what is asked about each sentence
    options  what is written of each parse
    """

    format: str | None = None
    model: str | None = None
    threads: int | None = None
    memory: int = 2 << 30
    output: str = "-"
    resume: bool = False
    engine: str = "local"
    workers: int | None = None
    reader: Reader = Reader()
    query: Query = Query()
    options: OutputOptions = OutputOptions()

    def run(self, sources: Sequence[str], is_text: bool) -> int:
        """Parse a text, files, folders or standard input; return the exit code."""
        stands_for_many = bool(sources) and not is_text and _stands_for_many(sources[0])
        if len(sources) > 1 or self._writes_folder or stands_for_many:
            if is_text:
                raise click.UsageError(
                    "--text takes one text, in quotes, and no folder for its parses"
                )
            return self._parse_many(sources)
        if self.workers:
            raise click.UsageError("--workers needs --engine ray")
        source = sources[0] if sources else None
        path = _path_of(source, is_text)
        output, format = self._one_output([path])
        parser = self._load()
        text = source if path is None else None
        input_kind, items = self.reader.read(parser, path or "-", text=text)
        if self.reader.input_kind is None and input_kind != "text":
            note(
                f"{name_of(path or '-')}: looks like {input_kind}: its words are parsed "
                "(--input text takes it as prose)"
            )
        writer = Writer(
            parser,
            format,
            self.options,
            self.query,
            # A pipe may be written to slowly, by a person or a program.
            interactive=path is not None and not os.path.isfile(path),
            inputs=[path] if path else [],
        )
        return self._write(writer, items, output, input_kind)

    def _parse_many(self, sources: Sequence[str]) -> int:
        if "-" in sources:
            raise click.UsageError("standard input (-) cannot be combined with other files")
        output = self.output
        # A name without a suffix, of which there is no file, is that of a new folder.
        is_new_folder = not (os.path.exists(output) or Path(output).suffix)
        to_folder = output != "-" and (self._writes_folder or is_new_folder)
        if to_folder:
            for source in sources:
                if os.path.isdir(source) and Path(source).resolve() == Path(output).resolve():
                    raise ArcspanError(
                        f"{output}: the results would be read by the next call; "
                        "choose a folder that is not also the input"
                    )
        documents = find_documents(sources, output if to_folder else None)
        if to_folder:
            has_columns = any(document.source.endswith(".parquet") for document in documents)
            format = self.format or ("parquet" if has_columns else "conllu")
            call = replace(self, format=format, output=os.path.abspath(output))
            return call._write_folder(documents)
        if self.engine == "ray":
            raise click.UsageError(
                "--engine ray writes one file for each that it reads: give a folder with -o"
            )
        output, output_format = self._one_output([document.source for document in documents])
        parser = self._load()
        errors: list[str] = []
        items = _joined(parser, self.reader, documents, errors)
        writer = Writer(parser, output_format, self.options, self.query)
        code = self._write(writer, items, output, self.reader.input_kind)
        return 2 if errors else code

    @property
    def _writes_folder(self) -> bool:
        """Return whether the output is a folder, whatever is parsed."""
        return (
            self.engine == "ray"
            or self.output.endswith((os.sep, "/"))
            or os.path.isdir(self.output)
        )

    def _one_output(self, inputs: Sequence[str | None]) -> tuple[str, Format]:
        """Return the one output and its format, checked."""
        output = self.output
        is_compressed = output.endswith(_COMPRESSED)
        if self.format is not None:
            format = format_named(self.format)
        else:
            format = _format_of(output[:-3] if is_compressed else output)
        self._check_options(format)
        if format.to_folder:
            raise click.UsageError(
                f"--format {format.name} is written to a folder: name one with -o OUT/"
            )
        if is_compressed and format.is_binary:
            raise click.UsageError(f"{format.name} is compressed already: leave out {output[-3:]}")
        if self.resume and (output == "-" or is_compressed or not format.is_streamed):
            names = ", ".join(name for name, other in FORMATS.items() if other.is_streamed)
            raise click.UsageError(f"--resume needs a plain file: -o OUT in {names}, not gz or xz")
        if output != "-" and not Path(output).parent.is_dir():
            raise ArcspanError(f"{Path(output).parent}: no such folder")
        refuse_to_overwrite(output, *inputs)
        return output, format

    def _check_options(self, format: Format) -> None:
        """Raise UsageError for an option that the format does not take."""
        if self.query.k is not None and not format.has_ranks:
            raise click.UsageError(f"-k cannot be used with --format {format.name}")
        option = format.unused_option(self.options)
        if option is not None:
            # The only options that are on by default are switched off by --no-NAME.
            prefix = "--no-" if getattr(self.options, option) is False else "--"
            switch = prefix + option.replace("_", "-")
            names = " or ".join(other.name for other in formats_with(option))
            raise click.UsageError(f"{switch} needs --format {names}, not {format.name}")

    def _load(self) -> Parser:
        """Return the parser, checked against the query."""
        parser = load(self.model, threads=self.threads, memory_limit=self.memory)
        if self.query.k is not None and not parser.predictor.model.joint:
            raise ArcspanError(
                "-k needs a model that finds both trees at once: this one finds each by itself"
            )
        return parser

    def _settings(self, parser: Parser, format: Format, input_kind: str | None) -> dict[str, Any]:
        """Return everything that must be the same in a run that continues, ready for JSON."""
        return {
            "version": __version__,
            "model": identity(parser),
            "input": input_kind,
            "format": format.name,
            "memory": self.memory,
            "clean": list(self.reader.clean),
            "column": self.reader.column,
            **asdict(self.options),
            **{name: repr(option) for name, option in vars(self.query).items()},
        }

    def _write(
        self, writer: Writer, items: Iterator[Item], output: str, input_kind: str | None
    ) -> int:
        """Parse into one output; return the exit code."""
        hints = Hints(writer.parser)
        items = hints.watch(items)
        # Standard output, devices and pipes are not replaced and cannot be resumed.
        is_file = output != "-" and (os.path.isfile(output) or not os.path.exists(output))
        if is_file:
            target(output)
        if is_file and not output.endswith(_COMPRESSED) and writer.format.is_streamed:
            settings = self._settings(writer.parser, writer.format, input_kind)
            _write_resumable(writer, items, ResumableOutput(output, settings, resume=self.resume))
        else:
            to_terminal = output == "-" and sys.stdout.isatty()
            if to_terminal and not os.environ.get("NO_COLOR"):
                writer.options = replace(writer.options, ansi=True)
            writer.write(items, output)
        if not writer.sentences:
            note("no sentence in the input")
        for hint in hints.notes():
            note(hint)
        if writer.approximate:
            note(
                "sentences not searched exactly, too long for --memory or very repetitive: "
                f"{writer.approximate}"
            )
        if writer.failures:
            complain(f"{writer.failures} of {writer.sentences} sentences could not be parsed")
        return 1 if writer.failures else 0

    def _write_folder(self, documents: Sequence[Document]) -> int:
        """Parse all documents that are not done yet into the folder; return the exit code."""
        format = self._folder_format
        if format.is_picture:
            names = ", ".join(name for name, other in FORMATS.items() if not other.is_picture)
            raise click.UsageError(f"to a folder, {names} are written, not {format.name}")
        self._check_options(format)
        # A bad bundle is reported before anything is written.
        parser = self._load()
        if os.path.exists(self.output) and not os.path.isdir(self.output):
            raise ArcspanError(f"{self.output}: is a file; many files are written to a folder")
        # An output that was made with other settings is an error, not a file to parse again.
        settings = self._settings(parser, format, self.reader.input_kind)
        remaining = []
        for document in documents:
            if not is_done(self.output_path(document), settings, document.source):
                remaining.append(document)
        os.makedirs(self.output, exist_ok=True)
        if len(remaining) < len(documents):
            done_count = len(documents) - len(remaining)
            note(f"{done_count} of {len(documents)} files are done already")
        outcomes: Iterable[dict[str, Any]]
        if self.engine == "ray":
            outcomes = self._parse_with_ray(remaining)
        else:
            outcomes = (run.outcome() for run in self.parse(parser, remaining))
        return _report(outcomes, len(remaining))

    def _parse_with_ray(self, documents: Sequence[Document]) -> Iterator[dict[str, Any]]:
        from arcspan.integrations.ray import run_tasks

        # Workers may run in other folders.
        model = self.model
        if model and os.path.exists(model):
            model = os.path.abspath(model)
        return run_tasks(
            partial(_parse_document, self),
            [document._asdict() for document in documents],
            workers=self.workers,
            path=model,
            memory_limit=self.memory,
        )

    @property
    def _folder_format(self) -> Format:
        return format_named(self.format or "conllu")

    def output_path(self, document: Document) -> str:
        """Return the name of the file that is written for a document."""
        folder, name = os.path.split(document.name)
        return os.path.join(self.output, folder, short_name(name, self._folder_format.suffixes[0]))

    def parse(self, parser: Parser, documents: Iterable[Document]) -> Iterator[Run]:
        """Parse documents into the folder; yield each at its end, with the error if it failed."""
        format = self._folder_format
        writer = Writer(parser, format, self.options, self.query)
        settings = self._settings(parser, format, self.reader.input_kind)
        # Files are opened when the stream comes to them.
        runs = (self._open(parser, document, settings) for document in documents)
        if format.is_streamed:
            yield from writer.write_runs(runs)
            return
        for run in runs:
            try:
                if run.output is not None:
                    self._write_whole(writer, run, run.output)
                    run.output.finish()
            except (ArcspanError, OSError) as error:
                run.error = error
                if run.output is not None:
                    run.output.close()
            yield run

    def _open(self, parser: Parser, document: Document, settings: dict[str, Any]) -> Run:
        """Return the sentences of a document with their output, or the error of either."""
        try:
            path = self.output_path(document)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            earlier = read_note(target(path))
            resume = earlier is not None and not earlier.done and self._folder_format.is_streamed
            output = ResumableOutput(
                path, settings, resume=resume, keep=True, source=document.source
            )
            try:
                if resume:
                    output.open()
                # Ray replaces a worker that is killed, but not for ever.
                if self.engine == "ray":
                    output.count_start()
                _, items = self.reader.read(parser, document.source, document=document.name)
                return Run(items, output, document.source)
            except BaseException:
                output.close()
                raise
        except (ArcspanError, OSError) as error:
            return Run(iter(()), None, document.source, error)

    def _write_whole(self, writer: Writer, run: Run, output: ResumableOutput) -> None:
        """Write an output that cannot grow sentence by sentence."""
        if writer.format.name == "parquet" and run.source.endswith(".parquet"):
            # The other columns of the input are kept, which no other format does.
            from arcspan.integrations.parquet import parse_column

            column = self.reader.column
            query = vars(self.query)
            _, run.failures = parse_column(
                writer.parser, run.source, output.open(), column, **query
            )
            return
        failures_before = writer.failures
        writer.write_file(run.items, output.open())
        # The writer counts for all documents.
        run.failures = writer.failures - failures_before


def _report(outcomes: Iterable[dict[str, Any]], count: int) -> int:
    """Report the outcomes of documents as they come; return the exit code."""
    failures = 0
    errors = 0
    with progress(count, unit="file") as bar:
        for outcome in outcomes:
            bar.update(1)
            failures += outcome["failures"]
            if outcome["error"]:
                errors += 1
                complain_error(outcome["error"])
    note(f"files: {count - errors} parsed" + (f", {errors} not" if errors else ""))
    if failures:
        note(f"sentences that could not be parsed: {failures}")
    if errors:
        return 2
    return 1 if failures else 0


def _parse_document(
    command: ParseCommand, parser: Parser, document: dict[str, Any]
) -> dict[str, Any]:
    """Parse one document in a worker of Ray."""
    (run,) = command.parse(parser, [Document(**document)])
    return run.outcome()


def _joined(
    parser: Parser, reader: Reader, documents: Sequence[Document], errors: list[str]
) -> Iterator[Item]:
    """Yield the sentences of all documents; collect the errors of those that cannot be read."""
    for document in documents:
        try:
            yield from reader.read(parser, document.source, document=document.name)[1]
        except (ArcspanError, OSError) as error:
            errors.append(Run(iter(()), None, document.source, error).outcome()["error"])
            complain_error(errors[-1])


def _write_resumable(writer: Writer, items: Iterator[Item], output: ResumableOutput) -> None:
    """Parse into a file what no earlier run has."""
    output.open()
    writer.sentences = output.items
    if output.items and not output.complete:
        note(f"continuing after {output.items} sentences")
    try:
        for run in writer.write_runs([Run(items, output)], bar=True):
            if run.error is not None:
                raise run.error
    except BaseException:
        progress_note = read_note(output.path)
        if progress_note is not None and not progress_note.done:
            note(f"{progress_note.items} sentences are kept: --resume continues from there")
        raise
    if output.complete:
        note(f"{output.path} is complete: nothing left to do")


def _stands_for_many(source: str) -> bool:
    """Return whether it is a folder, or a pattern of files that the shell has left alone."""
    # No file has such a name, and a text may be long.
    if "\x00" in source or len(source) > 4096:
        return False
    if os.path.exists(source):
        return os.path.isdir(source)
    if not glob.has_magic(source) or re.search(r"\s", source):
        return False
    return bool(glob.glob(source, recursive=True))


def _format_of(output: str) -> Format:
    """Return the format of an output by its name; pretty if the name has no suffix."""
    suffix = Path(output).suffix.lower()
    formats = formats_by_suffix()
    is_file = os.path.isfile(output) or not os.path.exists(output)
    if suffix and suffix not in formats and is_file:
        raise click.UsageError(
            f"{output}: no format is known by {suffix}: use --format, or one of {' '.join(formats)}"
        )
    return formats.get(suffix, FORMATS["pretty"])


def _path_of(source: str | None, is_text: bool) -> str | None:
    """Return the file that is meant, "-" for standard input; None where the argument is text."""
    if source is None:
        if is_text or sys.stdin is None or sys.stdin.isatty():
            raise click.UsageError(
                'give a text, a file, or - for standard input: arcspan parse "Logic plays a role."'
            )
        return "-"
    if not is_text and (source == "-" or ("\x00" not in source and os.path.exists(source))):
        return source
    # Bytes that are not UTF-8 reach Python as these.
    if any("\ud800" <= character <= "\udfff" for character in source):
        raise ArcspanError("the text is not UTF-8")
    if is_text:
        return None
    suffixes = (*formats_by_suffix(), *_TEXT_SUFFIXES)
    looks_like_path = source.lower().endswith(suffixes) or source.count(os.sep) > 1
    if looks_like_path and not re.search(r"\s", source):
        raise ArcspanError(
            f"{source}: no such file (for a text that looks like a name, add --text)"
        )
    return None
