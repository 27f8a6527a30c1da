"""Files and options of the commands that score: evaluate, compare and breakdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arcspan.errors import ArcspanError
from arcspan.files import printable_name

if TYPE_CHECKING:
    from arcspan.evaluation.sentence_scoring import Scoring
    from arcspan.treebanks.tree_files import TreeFiles

FILES_HELP = """
    Files are bracket files, CoNLL files (CoNLL-U or CoNLL-X), or both: then each bracket file comes
    with its CoNLL file; a CoNLL-U file with comments "# constituency = (TOP ...)" has both trees.
    They may be compressed (.gz, .xz). Predictions may come from any parser.
"""
_EXISTING_FILE = click.Path(exists=True, dir_okay=False)


def scoring_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the arguments FILES and the options that `make_scoring` takes to a command."""
    options = [
        click.argument("files", nargs=-1, required=True, type=_EXISTING_FILE),
        click.option(
            "--punctuation",
            type=click.Choice(["auto", "ptb", "ctb", "unicode", "upos", "none"]),
            default="auto",
            help="Which words do not count for UAS and LAS: those with a Penn or Chinese "
            "Treebank punctuation tag, of "
            "Unicode punctuation only, with the universal tag PUNCT, or none. auto: upos where "
            "gold trees have "
            "universal tags, otherwise ptb.",
        ),
        click.option(
            "--prm",
            type=_EXISTING_FILE,
            help="EVALB parameter file for constituents. [default: the rules of COLLINS.prm]",
        ),
        click.option("--no-subtypes", is_flag=True, help="Take nsubj:pass for nsubj."),
        click.option(
            "--tags",
            type=click.Choice(["predicted", "gold"]),
            default="predicted",
            help="Tags that decide which words EVALB deletes from predicted trees. With "
            "predicted ones, as in "
            "EVALB, a sentence whose words then differ is left out.",
        ),
    ]
    # Decorators are applied from the last to the first.
    for option in reversed(options):
        command = option(command)
    return command


def make_scoring(prm: str | None, no_subtypes: bool, **options: Any) -> Scoring:
    """Return the rules of scoring from the options of a command."""
    from arcspan.evaluation.bracket_rules import as_rules
    from arcspan.evaluation.sentence_scoring import Scoring

    return Scoring(rules=as_rules(prm), subtypes=not no_subtypes, **options)


def gold_and_systems(
    files: Sequence[str], *, exactly: int | None = None
) -> tuple[TreeFiles, list[TreeFiles]]:
    """Return the gold files and those of each system: of one at least, or of exactly so many."""
    from arcspan.treebanks.tree_files import group_files

    gold, *systems = group_files(files)
    if not systems or exactly not in (None, len(systems)):
        count = f"{exactly} sets" if exactly else "at least 1 set"
        raise ArcspanError(
            f"gold files and {count} of predicted files are needed, "
            f"but after the gold {gold} came {len(systems)}"
        )
    return gold, systems


def system_names(names: Sequence[str], systems: Sequence[TreeFiles]) -> list[str]:
    """Return the names of systems: from --name, else by their files, folders or numbers."""
    if names:
        if len(names) != len(systems):
            raise ArcspanError(
                f"{len(names)} names for {len(systems)} systems: give --name once for each"
            )
        if len(set(names)) != len(names):
            raise ArcspanError(f"two systems have the same name: {', '.join(names)}")
        return list(names)
    paths = [Path(files.brackets or files.conll or "") for files in systems]
    for candidates in (
        [printable_name(path.name.split(".")[0]) for path in paths],
        [printable_name(path.resolve().parent.name) for path in paths],
    ):
        if len(set(candidates)) == len(candidates) and all(candidates):
            return candidates
    return [f"system {number}" for number in range(1, len(systems) + 1)]
