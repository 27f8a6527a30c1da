"""Spoken treebanks in the conventions of GUM and EWT, and the split of CHILDES.

    python studies/english/speech.py TREEBANKS FOLDER

CHILDES has one file: its last tenth is dev, which nothing is trained on. FOLDER gets childes-train.conllu and
childes-dev.conllu in the treebank's own conventions, and childes-ud.conllu and eslspok-ud.conllu, the training
sentences as GUM and EWT would have them: "when", "how", "where" and "why" are adverbs and advmod, never mark, and
obl and nmod without a preposition are :unmarked.
"""

from __future__ import annotations

from pathlib import Path

import click

from arcspan.treebanks import Pair, read_pairs, write_pairs
from arcspan.trees import DependencyTree

ADVERBS = frozenset({"when", "how", "where", "why", "whenever", "wherever"})
RENAMED = {
    "obl:tmod": "obl:unmarked",
    "obl:npmod": "obl:unmarked",
    "nmod:tmod": "nmod:unmarked",
    "nmod:npmod": "nmod:unmarked",
    "flat:foreign": "flat",
}
TAGS = {"?": ".", "!": ".", '"': "", "X": "", "VV": "VB", "TP": ""}


def cleaned(pair: Pair) -> Pair:
    """Return the sentence with the tags of other treebanks; words that are tagged as a full stop have no tag."""
    tree = pair.dependencies
    tags = [TAGS.get(tag, tag) for tag in tree.tags]
    for k, word in enumerate(tree.words):
        if tags[k] == "." and word.isalpha():
            tags[k] = ""
    return _with_columns(tree, tree.relations, tags, tree.upos)


def as_in_gum(pair: Pair) -> Pair:
    """Return the sentence with the relations of GUM and EWT."""
    tree = pair.dependencies
    relations = [RENAMED.get(relation, relation) for relation in tree.relations]
    upos = list(tree.upos)
    for k, word in enumerate(tree.words):
        if word.lower() in ADVERBS and upos[k] in ("SCONJ", "ADV"):
            upos[k] = "ADV"
            if relations[k] == "mark":
                relations[k] = "advmod"
    return _with_columns(tree, relations, tree.tags, upos)


def _with_columns(tree: DependencyTree, relations: object, tags: object, upos: object) -> Pair:
    changed = DependencyTree(
        tree.heads, relations, tree.words, tags, upos, tree.lemmas, tree.features
    )
    return Pair(None, changed)  # type: ignore[arg-type]


@click.command(help=__doc__)
@click.argument("treebanks", type=click.Path(path_type=Path, exists=True))
@click.argument("folder", type=click.Path(path_type=Path))
def main(treebanks: Path, folder: Path) -> None:
    """Write the four files."""
    folder.mkdir(parents=True, exist_ok=True)
    sentences = [cleaned(pair) for pair in read_pairs(None, treebanks / "childes/train.conllu.xz")]
    train = sentences[: len(sentences) * 9 // 10]
    write_pairs(iter(train), folder / "childes-train.conllu")
    write_pairs(iter(sentences[len(train) :]), folder / "childes-dev.conllu")
    write_pairs(map(as_in_gum, train), folder / "childes-ud.conllu")
    learners = read_pairs(None, treebanks / "eslspok/train.conllu.xz")
    write_pairs((as_in_gum(cleaned(pair)) for pair in learners), folder / "eslspok-ud.conllu")
    click.echo(f"childes: {len(train)} train, {len(sentences) - len(train)} dev", err=True)


if __name__ == "__main__":
    main()
