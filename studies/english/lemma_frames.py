"""Write lemma_frames.tsv: 1,000 inflected forms of everyday English words, each in a sentence.

    pip install --target LEXICA --no-deps lemminflect==0.2.3
    python studies/english/lemma_frames.py --lexica LEXICA --treebanks FOLDER

Forms and lemmas come from lemminflect's table (MIT, from the NIH SPECIALIST lexicon); a word is everyday
where AMALGUM has its lemma at least five times. Forms that two lemmas share are left out, and so are
irregular forms that the table has beside regular ones. Every second lemma of a group is marked "held": a
lexicon that is to be measured is built without it (`lexicon.py --without`).
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FRAMES_FILE = Path(__file__).resolve().parent / "lemma_frames.tsv"
SEED = 42
LEAST_COUNT = 5
FRAMES = {
    "VBD": "She {} it yesterday .",
    "VBG": "She is {} it now .",
    "NNS": "They talked about the {} .",
    "JJR": "This is {} than that .",
    "JJS": "This is the {} of all .",
}
# How many forms the file has of each group; they are 1,000.
GROUP_SIZES = {
    "verb, e": 225,
    "verb, y": 60,
    "verb, doubling": 110,
    "verb, other": 190,
    "verb, irregular": 115,
    "noun, s": 60,
    "noun, es": 70,
    "noun, ies": 50,
    "noun, irregular": 20,
    "comparison": 100,
}
_VOWELS = "aeiou"


class Inflected(NamedTuple):
    """A form of a lemma, and the group that it is sampled from."""

    group: str
    form: str
    lemma: str
    upos: str
    tag: str


def main() -> None:
    """Sample the forms and write the file."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lexica", type=Path, required=True)
    options.add_argument("--treebanks", type=Path, default=os.environ.get("ARCSPAN_TREEBANKS"))
    arguments = options.parse_args()
    counts = count_lemmas(arguments.treebanks / "amalgum" / "train.conllu.xz")
    rows = sample(list(inflected_forms(arguments.lexica)), counts)
    lines = ["held\tgroup\tform\tlemma\tupos\tposition\tsentence"]
    for row, is_held in rows:
        words = FRAMES[row.tag].format(row.form).split()
        position = words.index(row.form) + 1
        held = "yes" if is_held else "no"
        fields = [held, row.group, row.form, row.lemma, row.upos, str(position), " ".join(words)]
        lines.append("\t".join(fields))
    FRAMES_FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"wrote {len(rows):,} forms to {FRAMES_FILE}")


def count_lemmas(conllu: Path) -> Counter[tuple[str, str]]:
    """Return how often a treebank has each pair of lemma and universal tag."""
    counts: Counter[tuple[str, str]] = Counter()
    with lzma.open(conllu, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line[:1].isdigit():
                _, _, lemma, upos, _ = line.split("\t", 4)
                counts[lemma, upos] += 1
    return counts


def lemminflect_rows(lexica: Path) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield lemma, universal tag, Penn tag and forms of lemminflect's table."""
    slots = {"verb": ("VBD", "VBN", "VBG", "VBZ"), "noun": ("NNS",), "adj": ("JJR", "JJS")}
    slots["adv"] = ("RBR", "RBS")
    table = lexica / "lemminflect" / "resources" / "infl_lu.csv.gz"
    with gzip.open(table, "rt", encoding="utf-8") as lines:
        for line in lines:
            lemma, upos, *forms = line.rstrip("\n").split(",")
            columns = dict(zip(slots[upos], forms, strict=False))
            # The table leaves the participle out where it is the past tense.
            if upos == "verb" and not columns["VBN"]:
                columns["VBN"] = columns["VBD"]
            for tag, column in columns.items():
                yield lemma, upos.upper(), tag, column.split("/") if column else []


def inflected_forms(lexica: Path) -> Iterator[Inflected]:
    """Yield the forms of the table that a frame suits and that one lemma has."""
    lemmas_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    rows = [row for row in lemminflect_rows(lexica) if row[2] in FRAMES]
    for lemma, _, tag, forms in rows:
        for form in forms:
            lemmas_of[form, tag].add(lemma)
    for lemma, upos, tag, forms in rows:
        if not (lemma.isascii() and lemma.isalpha() and lemma.islower()) or len(forms) != 1:
            continue
        (form,) = forms
        if form != lemma and len(lemmas_of[form, tag]) == 1:
            yield Inflected(group_of(lemma, form, tag), form, lemma, upos, tag)


def group_of(lemma: str, form: str, tag: str) -> str:
    """Return the group of a form, by how it is spelt."""
    if tag in ("JJR", "JJS"):
        return "comparison"
    if tag == "NNS":
        if form == lemma + "s":
            return "noun, s"
        if form == lemma + "es":
            return "noun, es"
        return "noun, ies" if form == lemma[:-1] + "ies" else "noun, irregular"
    ending = {"VBD": "ed", "VBG": "ing"}[tag]
    if form == lemma + lemma[-1] + ending:
        return "verb, doubling"
    if lemma[-1] == "y" and lemma[-2:-1] not in _VOWELS and form == lemma[:-1] + "ied":
        return "verb, y"
    if lemma[-1] == "e" and form in (lemma[:-1] + ending, lemma[:-2] + "ying"):
        return "verb, e"
    return "verb, other" if form == lemma + ending else "verb, irregular"


def sample(
    forms: list[Inflected], counts: Counter[tuple[str, str]]
) -> list[tuple[Inflected, bool]]:
    """Return the forms of the file in the order of their groups, and whether each is held out."""
    generator = random.Random(SEED)
    rows: list[tuple[Inflected, bool]] = []
    for group, size in GROUP_SIZES.items():
        everyday = [
            form
            for form in forms
            if form.group == group and counts[form.lemma, form.upos] >= LEAST_COUNT
        ]
        generator.shuffle(everyday)
        chosen = sorted(everyday[:size], key=lambda form: (form.lemma, form.form))
        held: dict[str, bool] = {}
        for form in chosen:
            held.setdefault(form.lemma, len(held) % 2 == 1)
            rows.append((form, held[form.lemma]))
    return rows


if __name__ == "__main__":
    main()
