"""`arcspan treebank`: statistics, checks, conversion and import of treebanks."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from arcspan.cli.options import MODEL, STYLE, THREADS
from arcspan.cli.progress import note, progress
from arcspan.cli.terminal import own_colours
from arcspan.errors import FileError, TreeError
from arcspan.files import printable_name, refuse_to_overwrite
from arcspan.treebanks import (
    ReadingReport,
    importers,
    load_rules,
    read_brackets,
    read_pairs,
    write_conllu,
)
from arcspan.treebanks import check as find_problems
from arcspan.treebanks import stats as count_sentences
from arcspan.treebanks.checks import KINDS
from arcspan.treebanks.filtering import DocumentFilter, filter_pairs, read_values
from arcspan.treebanks.pairs import Files
from arcspan.treebanks.rewriting import read_rules, rewrite_files
from arcspan.treebanks.statistics import CAUSES, Statistics
from arcspan.treebanks.streams import peek_input
from arcspan.treebanks.tree_files import kind_of, named_kind
from arcspan.trees import DependencyTree
from arcspan.trees import convert as convert_tree

T = TypeVar("T")
SplitFiles = tuple[str, str | None, str | None]
"""The name of a treebank, or a part of one, its bracket file and its CoNLL file."""

_MISMATCH = click.option(
    "--mismatch",
    type=click.Choice(["strict", "skip"]),
    default="strict",
    help="What to do where the two files differ: stop, or leave the sentence out and count it.",
)
_IN_AND_OUT = "BRACKETS CONLL BRACKETS_OUT CONLL_OUT | FILE OUT"
_STRIP = click.option(
    "--strip", is_flag=True, help="Strip function tags and empty elements from the trees first."
)


@click.group()
def command() -> None:
    """Statistics, checks, conversion and import of treebanks.

    Files may be plain, .gz or .xz, and "-" is standard input or output. A pair is a bracket file
    and a CoNLL file with the same sentences in the same order. Where one layer is enough, one file
    will do.
    """


@command.command(short_help="Sizes, projectivity, compatibility, inventories.")
@click.argument("files", nargs=-1, required=True, metavar="[BRACKETS CONLL | FILE | FOLDER]...")
@_MISMATCH
@_STRIP
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def stats(files: tuple[str, ...], mismatch: Any, strip: bool, as_json: bool) -> None:
    """Show sizes, projectivity, compatibility and label inventories of pairs or single files.

    A bracket file with a CoNLL file after it is a pair. A FOLDER stands for train, dev and test in
    it, as .ptb, .conllu or both.
    """
    results: list[tuple[str, Statistics, ReadingReport]] = []
    for name, brackets, conll in _files_of(files):
        report = ReadingReport()
        pairs = read_pairs(brackets, conll, mismatch=mismatch, report=report, **_options(strip))
        results.append((name, count_sentences(_watched(pairs, name)), report))
    # JSON is for programs: everything at once.
    if as_json:
        figures = {}
        for name, statistics, report in results:
            figures[name] = {**statistics.to_dict(), "skipped": report.skipped}
        click.echo(json.dumps(figures, ensure_ascii=False, indent=2))
        return
    _print_table([(name, statistics) for name, statistics, _ in results])
    for name, statistics, report in results:
        _print_details(name, statistics)
        _tell_skipped(report)


_KINDS = "\n".join(f"    {name:13} {meaning}" for name, meaning in KINDS.items())
_CHECK = f"""Lint a pair or a file: print problems as `file:line: what`, with exit code 2. Kinds:

    \b
{_KINDS}
"""


@command.command(help=_CHECK, short_help="Lint a pair or a file: every problem with its place.")
@click.argument("files", nargs=-1, required=True, metavar="[BRACKETS CONLL | FILE]")
@_STRIP
@click.option(
    "--ignore", multiple=True, type=click.Choice(list(KINDS)), help="Leave out a kind. Repeatable."
)
def check(files: tuple[str, ...], strip: bool, ignore: tuple[str, ...]) -> int:
    """Print each problem as `file:line: what`; exit code 2 if there is any."""
    brackets, conll = _one_treebank(files)
    counts: Counter[str] = Counter()
    for problem in find_problems(brackets, conll, ignore=ignore, watch=_watched, **_options(strip)):
        counts[problem.kind] += 1
        click.echo(str(problem))
    if counts:
        note("problems: " + ", ".join(f"{count} {name}" for name, count in counts.most_common()))
    return 2 if counts else 0


@command.command("filter", short_help="Write the sentences that pass.")
@click.argument("files", nargs=-1, required=True, metavar=_IN_AND_OUT)
@_MISMATCH
@click.option("--max-length", type=click.IntRange(min=1), help="Leave out longer sentences too.")
@click.option(
    "--min-length", type=click.IntRange(min=1), default=1, help="Leave out shorter sentences too."
)
@click.option("--incompatible", is_flag=True, help="Keep incompatible sentences too.")
@click.option(
    "--without",
    multiple=True,
    metavar="NAME=VALUE,...",
    help="Leave out documents with this comment beside their `# newdoc`, such as "
    "genre=essay,letter; "
    "'newdoc id=@FILE' takes the values from a file, one per line. Repeat for several.",
)
@click.option("--only", multiple=True, metavar="NAME=VALUE,...", help="Keep only such documents.")
def filter_(
    files: tuple[str, ...],
    mismatch: Any,
    min_length: int,
    max_length: int | None,
    incompatible: bool,
    without: tuple[str, ...],
    only: tuple[str, ...],
) -> None:
    """Write the compatible sentences of a pair, comments and all columns included, to another pair.

    Of a single file, every sentence is written that the other options do not leave out.
    """
    # The values of 'newdoc id=@FILE' are in a file, which is an input, too.
    value_files = [value.partition("=@")[2] for value in (*without, *only)]
    inputs, outputs = _in_and_out(files, *value_files)
    documents = DocumentFilter(dict(map(read_values, without)), dict(map(read_values, only)))
    # A filter of nothing would still need comments.
    has_filter = bool(without or only)
    if has_filter and inputs[1] is None:
        raise click.UsageError(
            "--without and --only need a CoNLL-U file: its comments identify documents."
        )
    report = filter_pairs(
        inputs,
        outputs,
        mismatch=mismatch,
        lengths=(min_length, max_length),
        incompatible=incompatible,
        keep=documents if has_filter else None,
        watch=_watched,
    )
    _tell_written(report.written, report.left_out)
    for value in documents.unused():
        note(f"no document has {value}")
    _tell_skipped(report)


@command.command(short_help="Rename or remove constituents, tags and relations by rules.")
@click.argument("rules")
@click.argument("files", nargs=-1, required=True, metavar=_IN_AND_OUT)
def rewrite(rules: str, files: tuple[str, ...]) -> None:
    """Rewrite a pair or a file by a file of RULES (TOML), to follow other conventions."""
    inputs, outputs = _in_and_out(files, rules)
    changes = rewrite_files(read_rules(rules), inputs, outputs, watch=_watched)
    for change, count in changes.most_common():
        note(f"{count:8,}  {change}")


@command.command(short_help="Give sentences with one layer the other, by a parser.")
@click.argument("file")
@click.argument("brackets_out")
@click.argument("conll_out")
@MODEL
@STYLE
@click.option(
    "--least",
    type=click.FloatRange(0, 1),
    default=0.0,
    help="Leave out sentences whose new tree is less probable, given the other one.",
)
@THREADS
def complete(
    file: str,
    brackets_out: str,
    conll_out: str,
    model: str | None,
    threads: int | None,
    **options: Any,
) -> None:
    """Make pairs of a FILE of constituents or dependencies: a parser finds the other tree.

    Every arc, or every constituent, of FILE is kept; sentences that no pair of trees fits are
    counted and left out.
    """
    _refuse_other_kind(brackets_out, conll_out)
    from arcspan.cli.completing import complete_files
    from arcspan.parser import load

    parser = load(model, threads=threads)
    outputs = (brackets_out, conll_out)
    counts = complete_files(parser, _one_treebank((file,)), outputs, watch=_watched, **options)
    _tell_written(counts.pop("written", 0), counts)


@command.command(short_help="Dependencies from constituents by head rules.")
@click.argument("brackets")
@click.argument("conll_out", default="-")
@click.option("--rules", required=True, metavar="ptb|ctb|FILE", help="Head table, by name or file.")
def convert(brackets: str, conll_out: str, rules: str) -> None:
    """Make dependency trees from constituency trees by head rules.

    Function tags, where there are any, decide on relations; empty elements are left out. CONLL_OUT
    is standard output by default.
    """
    _refuse_other_kind(None, conll_out)
    refuse_to_overwrite(conll_out, brackets, rules)
    loaded = load_rules(rules)

    def converted() -> Iterator[DependencyTree]:
        for number, tree in enumerate(read_brackets(brackets, empties="strip"), 1):
            try:
                yield convert_tree(tree, loaded)
            except TreeError as error:
                raise FileError(f"tree {number}: {error}", path=brackets) from None

    note(f"{write_conllu(_watched(converted(), brackets), conll_out)} sentences converted")


@command.group("import", short_help="PTB, CTB and SPMRL as distributed to paired files.")
def import_() -> None:
    """Convert licensed treebanks as they are distributed to paired files in the standard splits.

    TARGET becomes a folder with train, dev and test as .ptb and .conllu.
    """


def _import_penn(name: str, help_text: str) -> None:
    """Add a command for a treebank of constituents, with converted dependencies."""

    @import_.command(name, help=help_text)
    @click.argument("source")
    @click.argument("target")
    @click.option("--rules", metavar="ptb|ctb|FILE", default=name, help="Head rules.")
    @click.option(
        "--dependencies",
        metavar="FOLDER",
        help="Take them from train|dev|test.conllu here, made of the same trees by another "
        "converter.",
    )
    def run(source: str, target: str, **options: str | None) -> None:
        _tell_imported(getattr(importers, f"import_{name}")(source, target, **options))


_import_penn(
    "ptb", "Penn Treebank: sections 02-21, 22 and 23 of the WSJ's .mrg files below SOURCE."
)
_import_penn(
    "ctb", "Chinese Treebank 5.1: .fid files below SOURCE, split as in Zhang & Clark (2008)."
)


@import_.command()
@click.argument("source")
@click.argument("target")
@click.option("--language", help="Language to import, if SOURCE holds several.")
@click.option(
    "--size", type=click.Choice(["full", "5k"]), default="full", help="Size of the training part."
)
def spmrl(source: str, target: str, language: str | None, size: Any) -> None:
    """Import SPMRL 2013/2014: one language's gold .ptb and .conll files below SOURCE."""
    _tell_imported(importers.import_spmrl(source, target, language=language, size=size))


def _tell_imported(imported: importers.ImportReport) -> None:
    for message in imported.left_out:
        note(f"left out: {message}")
    for split, count in imported.sentences.items():
        click.echo(f"{split:6}{count:8,} sentences")


def _files_of(files: tuple[str, ...]) -> Iterator[SplitFiles]:
    """Yield the treebanks of the command line; a folder holds up to three."""
    remaining = list(files)
    while remaining:
        file = remaining.pop(0)
        if Path(file).is_dir():
            yield from _files_in(Path(file))
        elif _is_conll(file):
            yield _name_of(file), None, file
        elif remaining and not Path(remaining[0]).is_dir() and _is_conll(remaining[0]):
            yield _name_of(file), file, remaining.pop(0)
        else:
            yield _name_of(file), file, None


def _one_treebank(files: tuple[str, ...]) -> tuple[str | None, str | None]:
    """Return the bracket file and the CoNLL file, one of which may be missing."""
    if len(files) > 2:
        raise click.UsageError("One file is needed, or two: BRACKETS CONLL.")
    if len(files) == 1:
        return (None, files[0]) if _is_conll(files[0]) else (files[0], None)
    if _is_conll(files[0]) and not _is_conll(files[1]):
        raise click.UsageError(f"The bracket file comes first: {files[0]} has columns.")
    return files[0], files[1]


def _in_and_out(files: tuple[str, ...], *others: str) -> tuple[Files, Files]:
    """Return the files to read and to write, bracket file first; `others` are read, too."""
    if len(files) not in (2, 4):
        raise click.UsageError(f"Two files are needed, or four: {_IN_AND_OUT}.")
    half = len(files) // 2
    brackets, conll = _one_treebank(files[:half])
    # The last output is that of the CoNLL file, the first that of the bracket file.
    outputs = (files[half] if brackets else None, files[-1] if conll else None)
    _refuse_other_kind(*outputs)
    for output in files[half:]:
        refuse_to_overwrite(output, brackets, conll, *others)
    return (brackets, conll), outputs


def _refuse_other_kind(brackets_out: str | None, conll_out: str | None) -> None:
    """Raise UsageError for an output that is named as a file of the other kind.

    It may be an input, at the wrong place of the command line.
    """
    if brackets_out and named_kind(brackets_out) == "conll":
        raise click.UsageError(
            f"{brackets_out}: the name says columns, but brackets would be written to it."
        )
    if conll_out and named_kind(conll_out) == "brackets":
        raise click.UsageError(
            f"{conll_out}: the name says brackets, but columns would be written to it."
        )


def _is_conll(file: str) -> bool:
    """Return whether a file holds columns; a stream other than standard input has brackets."""
    if file == "-":
        # After a byte order mark and white space.
        return peek_input().lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"#", b"1\t", b"1-"))
    is_stream = os.path.exists(file) and not os.path.isfile(file)
    return not is_stream and kind_of(file) == "conll"


def _files_in(folder: Path) -> list[SplitFiles]:
    """Return the files of train, dev and test in a folder."""
    name = folder.resolve().name
    splits = []
    for split in ("train", "dev", "test"):
        brackets = _find_file(folder, f"{split}.ptb")
        conll = _find_file(folder, f"{split}.conllu")
        if brackets or conll:
            splits.append((f"{name}/{split}", brackets, conll))
    if not splits:
        raise click.UsageError(
            f"{folder}: no train, dev or test as .ptb or .conllu in this folder."
        )
    return splits


def _find_file(folder: Path, name: str) -> str | None:
    """Return the file of that name, plain or compressed."""
    for suffix in ("", ".xz", ".gz"):
        path = folder / (name + suffix)
        if path.is_file():
            return str(path)
    return None


def _name_of(path: str) -> str:
    """Return the name of a treebank file: craft/train for any/where/craft/train.ptb.xz."""
    file = Path(path)
    stem = file.name.split(".")[0] or file.name
    return f"{file.parent.name}/{stem}" if file.parent.name else stem


def _options(strip: bool) -> dict[str, Any]:
    return {"functions": "strip", "empties": "strip"} if strip else {}


def _watched(items: Iterable[T], label: str) -> Iterator[T]:
    """Yield the same items, with a progress bar."""
    with progress(unit="sentence", label=label) as bar:
        for item in items:
            bar.update()
            yield item


def _tell_written(written: int, left_out: Counter[str]) -> None:
    note(f"{written} of {written + left_out.total()} sentences written")
    for reason, count in left_out.most_common():
        note(f"{count:8,}  left out: {reason}")


def _tell_skipped(report: ReadingReport) -> None:
    if report.skipped:
        note(f"{report.skipped} sentences skipped:")
        # Thousands may have the same cause.
        for problem in report.problems[:10]:
            note(f"  {problem}")
        if len(report.problems) > 10:
            note("  ...")


def _print_table(rows: list[tuple[str, Statistics]]) -> None:
    from arcspan.evaluation.tables import columns

    sizes_and_shares = ["sentences", "words", "mean", "longest", "projective %", "compatible %"]
    titles = [*sizes_and_shares, "labels", "relations", "tags"]
    table = [["treebank", *(f"{title:>9}" for title in titles)]]
    for name, s in rows:
        projective = f"{s.projective_percent:.1f}" if s.relations else "-"
        compatible = f"{s.compatible_percent:.1f}" if s.relations and s.labels else "-"
        sizes = [f"{s.sentences:,}", f"{s.words:,}", f"{s.mean_length:.1f}", str(s.longest)]
        inventories = [str(len(inventory)) for inventory in (s.labels, s.relations, s.tags)]
        table.append([printable_name(name), *sizes, projective, compatible, *inventories])
    # Only the line of titles is bold.
    header, lines = columns(table).split("\n", 1)
    _print_heading(header)
    click.echo(lines)


def _print_heading(text: str) -> None:
    """Print a line that stands out on a terminal; it has nothing of a file that is not escaped."""
    with own_colours():
        click.secho(text, bold=True)


def _print_details(name: str, statistics: Statistics, top: int = 5) -> None:
    """Print inventories, and the most frequent causes and labels of incompatibility."""
    click.echo()
    _print_heading(printable_name(name))
    if statistics.labels and statistics.relations:
        incompatible = statistics.sentences - statistics.compatible
        click.echo(f"  incompatible: {incompatible:,} of {statistics.sentences:,} sentences")
    for cause, count in statistics.causes.most_common(top):
        click.echo(f"    {count:7,}  {CAUSES.get(cause, cause)}")
        labels = []
        for (label_cause, label), times in statistics.places.most_common():
            if label_cause == cause:
                labels.append(f"{label} {times:,}")
        if labels:
            click.echo("             in " + ", ".join(labels[:top]))
    for title in ("labels", "relations", "tags"):
        inventory = getattr(statistics, title)
        if inventory:
            names = [f"{name or '(none)'}:{count}" for name, count in inventory.most_common()]
            click.echo(f"  {title} ({len(inventory)}): {' '.join(names)}")
