"""`arcspan search`: find constituents or words in files of trees, count them, export a concordance."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click

from arcspan.cli.progress import note
from arcspan.errors import ArcspanError

HELP = """Find constituents or words in FILES of trees (brackets or CoNLL-U, also .gz and .xz; - is standard input).

    \b
    arcspan search 'NP < PP' news.ptb
    arcspan search '{tag:/VB.*/} >nsubj {lemma:dog}=who' news.conllu --tsv -o dogs.tsv

    A PATTERN that begins with a brace is one of dependencies, in a part of Semgrex, for CoNLL-U; anything else one of
    constituents, in tgrep, for bracket files. Each match is shown in its sentence.
"""


COLUMNS = ("file", "sentence", "left", "match", "right", "label")  # and the named words


class Hit(NamedTuple):
    """A match in its sentence: words [start, end) of it, and the words of named parts."""

    path: str
    sentence: int
    words: tuple[str, ...]
    start: int
    end: int
    label: str
    names: dict[str, str]


@click.command("search", help=HELP)
@click.argument("pattern")
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--count", "counting", is_flag=True, help="Only count: matches, sentences with a match, and the file."
)
@click.option(
    "--tsv", is_flag=True, help="A concordance as a table: file, sentence, left, match, right, label, names."
)
@click.option(
    "--context", type=click.IntRange(0), default=8, show_default=True, help="Words on each side of a match."
)
@click.option("-o", "--output", default="-", help="Write to this file instead of standard output.")
def command(
    pattern: str, files: tuple[str, ...], counting: bool, tsv: bool, context: int, output: str
) -> None:
    """Find constituents or words in files of trees."""
    from arcspan.files import refuse_to_overwrite
    from arcspan.treebanks.streams import open_output

    if counting and tsv:
        raise ArcspanError("choose one of --count and --tsv")
    refuse_to_overwrite(output, *files)
    matches = 0
    with open_output(output) as out:
        for path in files:
            before, sentences = matches, set()
            for hit in find(pattern, path):
                if tsv and not matches:
                    out.write("\t".join([*COLUMNS, *hit.names]) + "\n")
                matches += 1
                sentences.add(hit.sentence)
                if not counting:
                    out.write(_row(hit, context) if tsv else _line(hit, context))
            if counting:
                out.write(f"{matches - before}\t{len(sentences)}\t{path}\n")
        if tsv and not matches:
            out.write("\t".join(COLUMNS) + "\n")
    note(f"{matches} match{'' if matches == 1 else 'es'}")


def find(pattern: str, path: str) -> Iterator[Hit]:
    """The matches of a pattern in a file, in order."""
    from arcspan.evaluation.files import kind_of
    from arcspan.treebanks import read_brackets, read_conll

    wanted = "conll" if pattern.lstrip("(! ").startswith("{") else "brackets"
    if os.path.isfile(path) and kind_of(path) != wanted:  # a pipe can be read only once
        kinds = {
            "conll": "dependencies, which are in CoNLL-U files",
            "brackets": "constituents, which are in bracket files",
        }
        raise ArcspanError(f"{path}: the pattern is one of {kinds[wanted]}")
    if wanted == "brackets":
        for number, tree in enumerate(read_brackets(path), 1):
            for i, j, label in tree.find(pattern):
                yield Hit(path, number, tree.words, i, j, label, {})
        return
    for number, arcs in enumerate(read_conll(path), 1):
        for word, names in arcs.find(pattern):
            named = {name: arcs.words[m - 1] for name, m in names.items()}
            yield Hit(path, number, arcs.words, word - 1, word, arcs.relations[word - 1], named)


def _sides(hit: Hit, context: int) -> tuple[str, str, str]:
    """The words before a match, in it, and after it."""
    before = hit.words[max(0, hit.start - context) : hit.start]
    return _text(before), _text(hit.words[hit.start : hit.end]), _text(hit.words[hit.end : hit.end + context])


def _text(words: Sequence[str]) -> str:
    from arcspan.rendering.layout import visible

    return " ".join(visible(word, longest=len(word)) for word in words)


def _row(hit: Hit, context: int) -> str:
    left, match, right = _sides(hit, context)
    named = [_text([word]) for word in hit.names.values()]
    return "\t".join([hit.path, str(hit.sentence), left, match, right, hit.label, *named]) + "\n"


def _line(hit: Hit, context: int) -> str:
    left, match, right = _sides(hit, context)
    named = "".join(f"  {name}={_text([word])}" for name, word in hit.names.items())
    shown = " ".join(part for part in (left, f"[{match}]", right) if part)
    return f"{hit.path}:{hit.sentence}: {shown}  ({hit.label}){named}\n"
