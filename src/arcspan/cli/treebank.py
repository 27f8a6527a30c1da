"""`arcspan treebank`: statistics, checks, conversion and import of treebanks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from arcspan.cli.progress import note, progress
from arcspan.files import refuse_to_overwrite

if TYPE_CHECKING:
    from arcspan.treebanks.importers import Imported
    from arcspan.treebanks.statistics import Statistics

Item = TypeVar("Item")

_MISMATCH = click.option(
    "--mismatch",
    type=click.Choice(["strict", "skip"]),
    default="strict",
    show_default=True,
    help="What to do where the two files differ: stop, or leave the sentence out and count it.",
)
_STRIP = click.option(
    "--strip", is_flag=True, help="Strip function tags and empty elements from the trees first."
)


@click.group()
def command() -> None:
    """Statistics, checks, conversion and import of treebanks.

    Files may be plain, .gz or .xz, and "-" is standard input or output. A pair is a bracket file and a CoNLL
    file with the same sentences in the same order.
    """


@command.command(short_help="Sizes, projectivity, compatibility, inventories.")
@click.argument("files", nargs=-1, required=True, metavar="[BRACKETS CONLL | FOLDER]...")
@_MISMATCH
@_STRIP
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option(
    "--top", default=5, show_default=True, help="How many causes and places of incompatibility to show."
)
def stats(files: tuple[str, ...], mismatch: str, strip: bool, as_json: bool, top: int) -> None:
    """Sizes, projectivity, compatibility and its causes, and label inventories of one or more pairs.

    A FOLDER stands for the pairs train, dev and test (.ptb and .conllu) in it.
    """
    from arcspan.treebanks import ReadingReport, read_pairs
    from arcspan.treebanks.statistics import stats as count

    rows: list[tuple[str, Statistics, ReadingReport]] = []
    for name, brackets, conll in _pairs_of(files):
        report = ReadingReport()
        pairs = read_pairs(brackets, conll, mismatch=_choice(mismatch), report=report, **_options(strip))
        rows.append((name, count(_watched(pairs, name)), report))
    if as_json:
        found = {
            name: {**statistics.to_dict(), "skipped": report.skipped} for name, statistics, report in rows
        }
        click.echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    _print_table([(name, statistics) for name, statistics, _ in rows])
    for name, statistics, report in rows:
        _print_details(name, statistics, top)
        _tell_skipped(report.skipped, report.problems)


@command.command(short_help="Lint a pair: every problem with its place.")
@click.argument("brackets")
@click.argument("conll")
@_STRIP
@click.option(
    "--ignore", multiple=True, metavar="KIND", help="Leave out a kind of problem; repeat for several."
)
@click.option(
    "--kinds",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda *a: _show_kinds(*a),
    help="List the kinds of problems and exit.",
)
def check(brackets: str, conll: str, strip: bool, ignore: tuple[str, ...]) -> int:
    """Lint a pair: print each problem as `file:line: what`; exit code 2 if there is any.

    `--kinds` lists what is looked for.
    """
    from collections import Counter

    from arcspan.treebanks.checks import KINDS
    from arcspan.treebanks.checks import check as find

    unknown = [kind for kind in ignore if kind not in KINDS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(KINDS)}", param_hint="--ignore")
    kinds: Counter[str] = Counter()
    for finding in find(brackets, conll, ignore=ignore, watch=_watched, **_options(strip)):
        kinds[finding.kind] += 1
        click.echo(str(finding))
    if kinds:
        note("problems: " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
    return 2 if kinds else 0


def _show_kinds(context: click.Context, _: click.Parameter, asked: bool) -> None:
    from arcspan.treebanks.checks import KINDS

    if asked:
        for kind, what in KINDS.items():
            click.echo(f"{kind:13} {what}")
        context.exit()


@command.command("filter", short_help="Write the compatible sentences of a pair.")
@click.argument("brackets")
@click.argument("conll")
@click.argument("brackets_out")
@click.argument("conll_out")
@_MISMATCH
@click.option("--max-length", type=click.IntRange(min=1), help="Leave out longer sentences too.")
@click.option("--min-length", type=click.IntRange(min=1), default=1, help="Leave out shorter sentences too.")
def filter_(
    brackets: str,
    conll: str,
    brackets_out: str,
    conll_out: str,
    mismatch: str,
    max_length: int | None,
    min_length: int,
) -> None:
    """Write the compatible sentences of a pair, comments and all columns included, to another pair."""
    from arcspan.treebanks.filtering import filter_pairs

    for output in (brackets_out, conll_out):
        refuse_to_overwrite(output, brackets, conll)
    report = filter_pairs(
        brackets,
        conll,
        brackets_out,
        conll_out,
        mismatch=_choice(mismatch),
        lengths=(min_length, max_length),
        watch=_watched,
    )
    note(
        f"{report.written} of {report.read} sentences written; left out: {report.incompatible} incompatible, "
        f"{report.wrong_length} by length"
    )
    _tell_skipped(report.skipped, report.problems)


@command.command(short_help="Dependencies from constituents by head rules.")
@click.argument("brackets")
@click.argument("conll_out", default="-")
@click.option(
    "--rules", required=True, metavar="ptb|ctb|FILE", help="Head table, or rules learnt by learn-rules."
)
@click.option("--to", "kind", type=click.Choice(["conllu", "conllx"]), default="conllu", show_default=True)
def convert(brackets: str, conll_out: str, rules: str, kind: str) -> None:
    """Make dependency trees from constituency trees by head rules.

    Function tags and empty elements are stripped first. CONLL_OUT is standard output by default.
    """
    from arcspan.errors import FileError, TreeError
    from arcspan.treebanks import read_brackets, write_conllu, write_conllx
    from arcspan.trees import DependencyTree, load_rules
    from arcspan.trees import convert as convert_tree

    refuse_to_overwrite(conll_out, brackets)
    loaded = load_rules(rules)

    def converted() -> Iterator[DependencyTree]:
        for number, tree in enumerate(read_brackets(brackets, **_options(strip=True)), 1):
            try:
                yield convert_tree(tree, loaded)
            except TreeError as error:
                raise FileError(f"tree {number}: {error}", path=brackets) from None

    write = write_conllu if kind == "conllu" else write_conllx
    note(f"{write(_watched(converted(), brackets), conll_out)} sentences converted")


@command.command("learn-rules", short_help="Learn head rules and relations from a pair.")
@click.argument("brackets")
@click.argument("conll")
@click.argument("rules_out")
@_MISMATCH
@_STRIP
def learn_rules(brackets: str, conll: str, rules_out: str, mismatch: str, strip: bool) -> None:
    """Learn from a pair how its constituents become dependencies; RULES_OUT is readable JSON.

    `arcspan treebank convert --rules RULES_OUT` applies them.
    """
    from arcspan.treebanks import ReadingReport, read_pairs
    from arcspan.trees import learn_rules as learn

    if not rules_out.endswith(".json"):
        raise click.BadParameter(
            "the name must end in .json, by which `convert` knows learnt rules", param_hint="RULES_OUT"
        )
    report = ReadingReport()
    pairs = read_pairs(brackets, conll, mismatch=_choice(mismatch), report=report, **_options(strip))
    learn(_watched(pairs, brackets)).save(rules_out)
    note(f"rules learnt from {report.read} sentences")
    _tell_skipped(report.skipped, report.problems)


@command.group("import", short_help="PTB, CTB and SPMRL as distributed to paired files.")
def import_() -> None:
    """From licensed treebanks as they are distributed to paired files in the standard splits.

    TARGET becomes a folder with train, dev and test as .ptb and .conllu.
    """


_RULES = click.option("--rules", metavar="ptb|ctb|FILE", help="Head rules that make the dependencies.")
_DEPENDENCIES = click.option(
    "--dependencies",
    metavar="FOLDER",
    help="Take them from train|dev|test.conllu here, made of the same trees by another converter.",
)


@import_.command()
@click.argument("source")
@click.argument("target")
@_RULES
@_DEPENDENCIES
def ptb(source: str, target: str, rules: str | None, dependencies: str | None) -> None:
    """Penn Treebank: sections 02-21, 22 and 23 of the WSJ's .mrg files below SOURCE."""
    from arcspan.treebanks.importers import import_ptb

    _tell_imported(import_ptb(source, target, rules=rules or "ptb", dependencies=dependencies))


@import_.command()
@click.argument("source")
@click.argument("target")
@_RULES
@_DEPENDENCIES
def ctb(source: str, target: str, rules: str | None, dependencies: str | None) -> None:
    """Chinese Treebank 5.1: the .fid files below SOURCE, split as in Zhang & Clark (2008)."""
    from arcspan.treebanks.importers import import_ctb

    _tell_imported(import_ctb(source, target, rules=rules or "ctb", dependencies=dependencies))


@import_.command()
@click.argument("source")
@click.argument("target")
@click.option("--language", help="Which one, where SOURCE holds several.")
@click.option(
    "--size", type=click.Choice(["full", "5k"]), default="full", show_default=True, help="Of train."
)
def spmrl(source: str, target: str, language: str | None, size: Any) -> None:
    """SPMRL 2013/2014: one language's gold .ptb and .conll files below SOURCE."""
    from arcspan.treebanks.importers import import_spmrl

    _tell_imported(import_spmrl(source, target, language=language, size=size))


def _tell_imported(imported: Imported) -> None:
    for message in imported.left_out:
        note(f"left out: {message}")
    for split, count in imported.sentences.items():
        click.echo(f"{split:6}{count:8,} sentences")


def _pairs_of(files: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """(name, bracket file, CoNLL file) of every pair on the command line; a folder holds up to three."""
    waiting: str | None = None
    for file in files:
        if waiting is not None:
            yield _name_of(waiting), waiting, file
            waiting = None
        elif Path(file).is_dir():
            yield from _pairs_in(Path(file))
        else:
            waiting = file
    if waiting is not None:
        raise click.UsageError(f"{waiting} has no CoNLL file beside it: files come in pairs, BRACKETS CONLL.")


def _pairs_in(folder: Path) -> Iterator[tuple[str, str, str]]:
    found = False
    for split in ("train", "dev", "test"):
        for packed in ("", ".xz", ".gz"):
            brackets, conll = folder / f"{split}.ptb{packed}", folder / f"{split}.conllu{packed}"
            if brackets.is_file() and conll.is_file():
                found = True
                yield f"{folder.resolve().name}/{split}", str(brackets), str(conll)
                break
    if not found:
        raise click.UsageError(f"{folder}: no train, dev or test with .ptb and .conllu in this folder.")


def _name_of(path: str) -> str:
    """craft/train for any/where/craft/train.ptb.xz."""
    where = Path(path)
    stem = where.name.split(".")[0] or where.name
    return f"{where.parent.name}/{stem}" if where.parent.name else stem


def _choice(mismatch: str) -> Any:
    return mismatch


def _options(strip: bool) -> dict[str, Any]:
    return {"functions": "strip", "empties": "strip"} if strip else {}


def _watched(items: Iterable[Item], label: str) -> Iterator[Item]:
    """The same items, with a progress bar."""
    with progress(unit="sentence", label=label) as bar:
        for item in items:
            bar.update()
            yield item


def _tell_skipped(skipped: int, problems: list[str]) -> None:
    if skipped:
        note(f"{skipped} sentences skipped:")
        for problem in problems[:10]:
            note(f"  {problem}")
        if len(problems) > 10:
            note("  ...")


_COLUMNS = (
    "sentences",
    "words",
    "mean",
    "longest",
    "projective %",
    "compatible %",
    "labels",
    "relations",
    "tags",
)


def _print_table(rows: list[tuple[str, Statistics]]) -> None:
    width = max(len("treebank"), *(len(name) for name, _ in rows))
    click.echo(
        click.style("  ".join(["treebank".ljust(width), *(f"{column:>9}" for column in _COLUMNS)]), bold=True)
    )
    for name, s in rows:
        cells = [
            f"{s.sentences:,}",
            f"{s.words:,}",
            f"{s.mean_length:.1f}",
            str(s.longest),
            f"{s.projective_percent:.1f}",
            f"{s.compatible_percent:.1f}",
            *(str(len(inventory)) for inventory in (s.labels, s.relations, s.tags)),
        ]
        shown = [f"{cell:>{max(9, len(column))}}" for cell, column in zip(cells, _COLUMNS, strict=True)]
        click.echo("  ".join([name.ljust(width), *shown]))


def _print_details(name: str, statistics: Statistics, top: int) -> None:
    from arcspan.treebanks.statistics import CAUSES

    click.echo()
    click.echo(click.style(name, bold=True))
    incompatible = statistics.sentences - statistics.compatible
    click.echo(f"  incompatible: {incompatible:,} of {statistics.sentences:,} sentences")
    for kind, count in statistics.causes.most_common(top):
        click.echo(f"    {count:7,}  {CAUSES.get(kind, kind)}")
        places = [(label, n) for (cause, label), n in statistics.places.most_common() if cause == kind][:top]
        if places:
            click.echo("             in " + ", ".join(f"{label} {n:,}" for label, n in places))
    for title, inventory in (
        ("labels", statistics.labels),
        ("relations", statistics.relations),
        ("tags", statistics.tags),
    ):
        shown = " ".join(f"{item or '(none)'}:{count}" for item, count in inventory.most_common())
        click.echo(f"  {title} ({len(inventory)}): {shown}")
