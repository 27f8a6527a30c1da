"""`arcspan parse --engine ray`: a folder of files to a folder of parses, by several processes or machines."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import click

from arcspan.cli.progress import complain, note, progress

if TYPE_CHECKING:
    from arcspan.integrations.shards import Done, Shard
    from arcspan.parser import Parser

SUFFIXES = {"brackets": ".ptb", "conllu": ".conllu", "json": ".jsonl", "parquet": ".parquet"}


def parse_shards(
    source: str | None,
    output: str | None,
    *,
    form: str | None,
    kind: str | None,
    column: str,
    workers: int | None,
    model: str | None,
    memory: int,
) -> int:
    """Parse every shard of `source` that has no parse in the folder `output` yet; returns the exit code."""
    if source is None or source == "-":
        raise click.UsageError(
            "--engine ray reads files: give one, a folder, or a pattern such as 'in/*.txt'"
        )
    if output is None or output == "-":
        raise click.UsageError("--engine ray writes one file for each that it reads: give a folder with -o")
    from arcspan.cli.resuming import identity
    from arcspan.integrations.ray import run_shards
    from arcspan.integrations.shards import find_shards, prepare, remaining, sweep
    from arcspan.parser import load

    form = form or ("parquet" if _holds_parquet(source) else "conllu")
    if form not in SUFFIXES:
        raise click.UsageError(f"--engine ray writes {', '.join(SUFFIXES)}, not {form}")
    shards = find_shards(source, output, SUFFIXES[form])
    parser = load(model, threads=1, memory_limit=memory)  # a bad bundle is reported before any worker starts
    settings = {"format": form, "input": kind, "column": column, "memory": memory}
    prepare(shards, output, settings | {"model": identity(parser)})
    sweep(shards)
    left = remaining(shards)
    if len(left) < len(shards):
        note(f"{len(shards) - len(left)} of {len(shards)} shards are done already")
    work = partial(parse_shard, form=form, kind=kind, column=column)
    path = model and os.path.abspath(model)  # workers run in another folder
    sentences = failures = wrong = 0
    with progress(len(left), unit="shard") as bar:
        for done in run_shards(work, left, workers=workers, path=path, memory_limit=memory):
            bar.update(1)
            sentences, failures = sentences + done.sentences, failures + done.failures
            if done.error is not None:
                wrong += 1
                complain(click.style("error: ", fg="red") + done.error)
    sweep(left)
    note(f"parsed: {sentences} sentences, shards: {len(left) - wrong}")
    if failures:
        note(f"{failures} of {sentences} sentences could not be parsed")
    return 2 if wrong else 1 if failures else 0


def parse_shard(parser: Parser, shard: Shard, *, form: str, kind: str | None, column: str) -> Done:
    """Parse one file into another, as `arcspan parse` without an engine does."""
    from arcspan.cli.reading import Item, items_of, recognised
    from arcspan.cli.writing import write_items
    from arcspan.integrations.shards import Done
    from arcspan.treebanks.streams import read_text

    source, target = shard
    if not source.endswith(".parquet"):
        found, pieces = (kind, read_text(source)) if kind else recognised(read_text(source))
        items = items_of(pieces, found, lambda: parser.segmenter, source)
        if form != "parquet":
            return Done(shard, *write_items(parser, items, form, target))
        from arcspan.integrations.parquet import parse_contents

        return Done(shard, *parse_contents(parser, (item.content for item in items), target))
    from arcspan.integrations.parquet import parse_column, read_column

    if form == "parquet":
        return Done(shard, *parse_column(parser, source, target, column))
    rows = (
        Item(one)
        for contents, _ in read_column(source, column)
        for content in contents
        for one in (parser.split(content) if isinstance(content, str) else [content])
    )
    return Done(shard, *write_items(parser, rows, form, target))


def _holds_parquet(source: str) -> bool:
    if os.path.isdir(source):
        return any(name.endswith(".parquet") for _, _, names in os.walk(source) for name in names)
    return source.endswith(".parquet")
