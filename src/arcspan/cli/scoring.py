"""What the commands that score share: their files and how they are scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arcspan.errors import ArcspanError

if TYPE_CHECKING:
    from arcspan.evaluation.scoring import Scoring
    from arcspan.treebanks.tree_files import TreeFiles

FILES_HELP = """
    Files are bracket files, CoNLL files (CoNLL-U or CoNLL-X), or both: then each bracket file comes with its CoNLL
    file; a CoNLL-U file with comments "# constituency = (TOP ...)" has both trees. They
    may be compressed (.gz, .xz). Predictions may come from any parser.
"""


def scoring_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments FILES and the options that `make_scoring` takes."""
    options = [
        click.argument(
            "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False)
        ),
        click.option(
            "--punctuation",
            type=click.Choice(["auto", "ptb", "ctb", "unicode", "upos", "none"]),
            default="auto",
            help="Which words do not count for UAS and LAS: those with a Penn or Chinese Treebank punctuation tag, of "
            "Unicode punctuation only, with the universal tag PUNCT, or none. auto: upos where gold trees have "
            "universal tags, otherwise ptb.",
        ),
        click.option(
            "--prm",
            type=click.Path(exists=True, dir_okay=False),
            help="EVALB parameter file for constituents. [default: the rules of COLLINS.prm]",
        ),
        click.option("--no-subtypes", is_flag=True, help="Take nsubj:pass for nsubj."),
        click.option(
            "--tags",
            type=click.Choice(["predicted", "gold"]),
            default="predicted",
            help="Tags that decide which words EVALB deletes from predicted trees. With predicted ones, as in "
            "EVALB, a sentence whose words then differ is left out.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def make_scoring(prm: str | None, no_subtypes: bool, **options: Any) -> Scoring:
    """How to score, from the options."""
    from arcspan.evaluation.rules import as_rules
    from arcspan.evaluation.scoring import Scoring

    return Scoring(rules=as_rules(prm), subtypes=not no_subtypes, **options)


def gold_and_systems(
    files: Sequence[str], *, exactly: int | None = None
) -> tuple[TreeFiles, list[TreeFiles]]:
    """Gold files and those of each system: of one at least, or of exactly so many."""
    from arcspan.treebanks.tree_files import group_files

    gold, *systems = group_files(files)
    if not systems or exactly not in (None, len(systems)):
        wanted = f"{exactly} sets" if exactly else "at least 1 set"
        raise ArcspanError(
            f"gold files and {wanted} of predicted files are needed, "
            f"but after the gold {gold} came {len(systems)}"
        )
    return gold, systems


def system_names(given: Sequence[str], systems: Sequence[TreeFiles]) -> list[str]:
    """Names of systems: as given, else by their files, else by their folders, else by number."""
    if given:
        if len(given) != len(systems):
            raise ArcspanError(
                f"{len(given)} names for {len(systems)} systems: give --name once for each"
            )
        if len(set(given)) != len(given):
            raise ArcspanError(f"two systems have the same name: {', '.join(given)}")
        return list(given)
    paths = [Path(files.brackets or files.conll or "") for files in systems]
    for names in (
        [path.name.split(".")[0] for path in paths],
        [path.resolve().parent.name for path in paths],
    ):
        if len(set(names)) == len(names) and all(names):
            return names
    return [f"system {k}" for k in range(1, len(systems) + 1)]
