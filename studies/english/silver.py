"""AMALGUM parsed by a model that prefers its dependencies: both trees and all columns, in one CoNLL-U file.

    python studies/english/silver.py amalgum/train.conllu.xz silver.conllu -m BUNDLE [--every 2] [--weight 2]

AMALGUM's heads were found by other parsers. Each of its arcs makes a parse that has it e^weight times as likely as the
model finds it: it wins where the model doubts and loses where it is sure of another. The rest (constituents,
relations, tags, lemmas, features) is the model's, in the style asked for. Sentences are left out whose parse has less
than --least probability per word (the geometric mean), and those in which a word has no universal tag. The work can be
stopped and started again: OUTPUT.parts holds what is done with these options.
"""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

import arcspan
from arcspan.files import atomic_write
from arcspan.parser import Arc, Parse, Parser
from arcspan.treebanks import ConlluSentence, read_conllu
from arcspan.trees.conllu import constituency_comment, format_conllu

UPOS = frozenset(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()  # noqa: SIM905
)
PART = 2000  # sentences in a file of OUTPUT.parts
LONGEST = 90  # words: training leaves longer sentences out


def parsed(
    parser: Parser, some: list[ConlluSentence], weight: float, style: str | None, confident: bool
) -> Iterator[Parse]:
    """The sentences' parses; weight 0 asks for the model's own."""
    options = {"style": style, "confidence": confident}
    items = (
        (
            one.tree.words,
            {**options, "prefer": [(Arc(h, m), weight) for m, h in enumerate(one.tree.heads, 1)]},
        )
        if weight
        else (one.tree.words, options)
        for one in some
    )
    return parser.pipe(items)


def why_not(parse: Parse, least: float) -> str:
    """Why a parse is left out; empty where it is kept."""
    if parse.error is not None:
        return "not parsed"
    if not UPOS.issuperset(parse.upos):
        return "not a universal tag"
    if least and parse.confidence.sentence ** (1 / len(parse.words)) < least:
        return f"below {least:g}"
    return ""


@click.command(help=__doc__)
@click.argument("source", type=click.Path(path_type=Path, exists=True))
@click.argument("output", type=click.Path(path_type=Path))
@click.option(
    "-m", "--model", default="en", show_default=True, help="The model: a name or a bundle."
)
@click.option("--style", help="Style of the trees; default: the model's own.")
@click.option(
    "--weight", default=2.0, show_default=True, help="Of AMALGUM's arcs, in log-probability."
)
@click.option(
    "--least",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Probability per word.",
)
@click.option(
    "--every", type=click.IntRange(1), default=1, show_default=True, help="Every k-th sentence."
)
@click.option(
    "--first", type=click.IntRange(0), default=0, show_default=True, help="Sentences to leave out."
)
@click.option("--limit", type=click.IntRange(1), help="At most so many sentences.")
@click.option("--threads", type=click.IntRange(1), help="Default: one per processor.")
def main(
    source: Path,
    output: Path,
    model: str,
    style: str | None,
    weight: float,
    least: float,
    every: int,
    first: int,
    limit: int | None,
    threads: int | None,
) -> None:
    """Parse, part by part."""
    parser = arcspan.load(model, threads=threads)
    parts = output.with_name(output.name + ".parts")
    parts.mkdir(parents=True, exist_ok=True)
    sentences = itertools.islice(read_conllu(source), first, None, every)
    counts: Counter[str] = Counter()
    for number in itertools.count():
        some = list(
            itertools.islice(sentences, PART if limit is None else min(PART, limit - number * PART))
        )
        if not some:
            break
        part = parts / f"{number:04d}.conllu"
        if part.exists():
            continue
        some = [one for one in some if len(one.tree.words) <= LONGEST]
        with atomic_write(part) as file:
            parses = parsed(parser, some, weight, style, bool(least))
            for sentence, parse in zip(some, parses, strict=True):
                why = why_not(parse, least)
                counts[why or "written"] += 1
                if not why:
                    comments = [
                        f"# sent_id = {sentence.sent_id}",
                        constituency_comment(parse.constituency),
                    ]
                    same = sum(map(int.__eq__, parse.heads, sentence.tree.heads))
                    counts["heads"], counts["AMALGUM's"] = (
                        counts["heads"] + len(parse),
                        counts["AMALGUM's"] + same,
                    )
                    file.write(format_conllu(parse.dependencies, comments))
        click.echo(f"{(number + 1) * PART:,} sentences: {dict(counts)}", err=True)
    with atomic_write(output) as file:
        for part in sorted(parts.glob("*.conllu")):
            with part.open(encoding="utf-8") as own:
                shutil.copyfileobj(own, file)


if __name__ == "__main__":
    main()
