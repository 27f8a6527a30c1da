"""Sentences with constructions that are rare in treebanks, so that training can show them more often.

    python studies/english/rare.py TREEBANKS FOLDER [SILVER.conllu]

TREEBANKS has gum/, ewt/, masc/ and eslspok/. FOLDER gets a file for each, and silver.conllu: questions, inversions,
subjects after the verb, expletives, gapping, fragments and parentheses, found in whichever trees there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from arcspan.syntax import TreeQuery
from arcspan.treebanks import DocumentFilter, Pair, read_pairs, write_pairs

PATTERNS = {
    "question": "SQ|SBARQ",
    "inversion": "SINV",
    "subject after the verb": "{upos:/VERB|AUX/}=verb >/nsubj.*/ ({} -- =verb)",
    "subject after the auxiliary": "{} >/aux.*|cop/ {}=aux >/nsubj.*/ ({} -- =aux)",
    "expletive": "{} >expl {} >/csubj.*|ccomp|xcomp/ {}",
    "gapping": "{} >orphan {}",
    "fragment": "FRAG",
    "parenthesis": "PRN",
}
QUERIES = {name: TreeQuery(pattern) for name, pattern in PATTERNS.items()}
NOT_FREE = ("essay", "fiction", "letter", "podcast", "whow", "conversation")  # genres of GUM


def kinds(pair: Pair) -> list[str]:
    """Which of the constructions a sentence has, as far as its trees tell.

    >>> from arcspan.trees import ConstituencyTree, DependencyTree
    >>> words, upos = ["Down", "came", "rain"], ["ADV", "VERB", "NOUN"]
    >>> d = DependencyTree([2, 0, 2], ["advmod", "root", "nsubj"], words, upos=upos)
    >>> kinds(Pair(None, d))
    ['subject after the verb']
    >>> kinds(Pair(ConstituencyTree.from_brackets("(SQ (VBZ Is) (NP (PRP it)))"), None))
    ['question']
    """
    layers = {
        name
        for name, tree in zip(("constituency", "dependency"), pair, strict=True)
        if tree is not None
    }
    return [
        name
        for name, query in QUERIES.items()
        if layers.issuperset(query.layers) and query.count(*pair)
    ]


def rare(pairs: Iterator[Pair], counts: Counter[str]) -> Iterator[Pair]:
    """Those that have any, counted by kind."""
    for pair in pairs:
        counts["sentences"] += 1
        if found := kinds(pair):
            counts["rare"] += 1
            counts.update(found)
            yield pair


@click.command(help=__doc__)
@click.argument("treebanks", type=click.Path(path_type=Path, exists=True))
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("silver", type=click.Path(path_type=Path, exists=True), required=False)
def main(treebanks: Path, folder: Path, silver: Path | None) -> None:
    """Write every file that is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    sources: dict[str, tuple[Path | None, Path | None]] = {
        "gum.conllu": (treebanks / "gum/train.ptb.xz", treebanks / "gum/train.conllu.xz"),
        "ewt.conllu": (None, treebanks / "ewt/train.conllu.xz"),
        "masc.ptb": (treebanks / "masc/train.ptb.xz", None),
        "eslspok.conllu": (None, treebanks / "eslspok/train.conllu.xz"),
    }
    if silver is not None:
        sources["silver.conllu"] = None, silver
    for name, files in sources.items():
        if not (folder / name).exists():
            keep = DocumentFilter({"genre": set(NOT_FREE)}) if name.startswith("gum") else None
            counts: Counter[str] = Counter()
            write_pairs(rare(read_pairs(*files, keep=keep), counts), folder / name)
            click.echo(f"{name}: {dict(counts)}", err=True)


if __name__ == "__main__":
    main()
