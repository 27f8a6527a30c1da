"""Give the shipped models their lexicon of English lemmas (`lexicon.json.xz` in each bundle).

    pip install --target LEXICA --no-deps lemminflect==0.2.3
    python studies/english/lexicon.py --lexica LEXICA --treebanks FOLDER

Only config.json, checksums.json and the lexicon of a bundle change; its graphs do not. With --without
FILE the forms that a file of `lemma_frames.py` marks as held are left out of every source, to measure
how forms are lemmatized that the lexicon does not list; --lemmas leaves out all forms of their lemmas.
Both need --output FOLDER, where bundles are copied to.

Sources: the training parts of GUM (without the genres whose texts are not free), EWT and CHILDES;
AMALGUM for words that the others lack; lemminflect's table of inflected forms.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lemma_frames import FRAMES_FILE, lemminflect_rows

from arcspan.prediction.lemmas import lemma_of
from arcspan.prediction.lexicon import Lexicon, lexicon_to_json
from arcspan.prediction.outputs import Inventories, words_to_edits
from arcspan.runtime.bundle import MODELS, read_bundle, read_lexicon, update_bundle
from arcspan.training.lexicons import Entry, make_lexicon

NOT_FREE = ("essay", "fiction", "letter", "podcast", "whow", "conversation")
TREEBANKS = ("gum", "ewt", "childes")
SILVER = "amalgum"
# Only tells which of the words that a model has seen are right.
CHECKED_BY = "craft-ud"
SOURCES = (
    ("GUM, without its genres " + ", ".join(NOT_FREE), "CC BY 4.0"),
    ("UD English EWT", "CC BY-SA 4.0"),
    ("UD English CHILDES", "CC BY-SA 4.0"),
    ("AMALGUM", "CC BY 4.0"),
    ("lemminflect 0.2.3, from the NIH SPECIALIST lexicon", "MIT"),
)
# Tags of forms that are their lemmas.
BASE_TAGS = {"VERB": ("VB", "VBP"), "NOUN": ("NN",), "ADJ": ("JJ",), "ADV": ("RB",)}
# AMALGUM's lemmas are automatic: rarer ones are left out, and doubtful ones.
LEAST_SILVER = 3
LEAST_SILVER_SHARE = 0.8


def main() -> None:
    """Make the lexicon and write it into the bundles."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "bundles", nargs="*", type=Path, default=[MODELS / "en", MODELS / "en-fast"]
    )
    options.add_argument("--lexica", type=Path, required=True)
    options.add_argument("--treebanks", type=Path, default=os.environ.get("ARCSPAN_TREEBANKS"))
    options.add_argument("--without", type=Path, const=FRAMES_FILE, nargs="?", metavar="FILE")
    options.add_argument("--lemmas", action="store_true")
    options.add_argument("--output", type=Path, metavar="FOLDER")
    arguments = options.parse_args()
    if arguments.without and not arguments.output:
        options.error("--without is for measurements: name a folder for the bundles with --output")
    held = read_held(arguments.without) if arguments.without else []
    held_forms = {entry.form for entry in held}
    held_lemmas = {entry.lemma for entry in held} if arguments.lemmas else set()

    def is_held(form: str, lemma: str) -> bool:
        return form.lower() in held_forms or lemma.lower() in held_lemmas

    counts = {}
    for treebank in (*TREEBANKS, SILVER, CHECKED_BY):
        conllu = arguments.treebanks / treebank / "train.conllu.xz"
        rows = Counter(read_rows(conllu, NOT_FREE if treebank == "gum" else ()))
        counts[treebank] = Counter(
            {entry: count for entry, count in rows.items() if not is_held(entry.form, entry.lemma)}
        )
    gold = sum((counts[treebank] for treebank in TREEBANKS), Counter())
    listed = [
        entry for entry in listed_forms(arguments.lexica) if not is_held(entry.form, entry.lemma)
    ]
    lexicon = make_lexicon(gold, [*listed, *silver_forms(counts[SILVER], listed)])
    assert lexicon is not None
    for bundle in arguments.bundles:
        folder = bundle
        if arguments.output:
            folder = arguments.output / bundle.name
            shutil.copytree(bundle, folder)
        checked = gold + counts[CHECKED_BY]
        seen = seen_lemmas(folder)
        kept = right_lemmas(seen, lexicon, checked, checked + counts[SILVER])
        for of_tag in kept.values():
            for word in [
                word for word, edit in of_tag.items() if is_held(word, lemma_of(edit, word))
            ]:
                del of_tag[word]
        write_lexicon(folder, lexicon, kept)
        words = sum(map(len, lexicon.tables.lemmas.values()))
        size = (folder / "lexicon.json.xz").stat().st_size
        count = sum(map(len, kept.values()))
        print(f"{folder}: {words:,} lemmas, {count:,} seen words, {size:,} bytes")


def read_held(frames: Path) -> list[Entry]:
    """Return the forms that a file of frames marks as held out."""
    entries = []
    for line in frames.read_text(encoding="utf-8").splitlines()[1:]:
        held, _, form, lemma, upos, _, _ = line.split("\t")
        if held == "yes":
            entries.append(Entry(lemma, upos, form, ""))
    return entries


def read_rows(conllu: Path, without_genres: Collection[str]) -> Iterator[Entry]:
    """Yield the words of a treebank that have a tag and a lemma."""
    genre = ""
    with lzma.open(conllu, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("# genre ="):
                genre = line.partition("=")[2].strip()
            if genre not in without_genres and line[:1].isdigit():
                number, form, lemma, upos, tag, _ = line.split("\t", 5)
                # Ranges such as 1-2 are multiword tokens.
                if number.isdigit() and tag != "_" and lemma != "_":
                    yield Entry(lemma, upos, form, tag)


def listed_forms(lexica: Path) -> Iterator[Entry]:
    """Yield lemminflect's forms, and its lemmas as forms of themselves."""
    for lemma, upos, tag, forms in lemminflect_rows(lexica):
        # Its names would make nouns of "may" and "rose".
        if lemma.isalpha() and lemma.islower():
            for form in forms:
                yield Entry(lemma, upos, form, tag)
            for base_tag in BASE_TAGS[upos]:
                yield Entry(lemma, upos, lemma, base_tag)


def silver_forms(counts: Mapping[Entry, int], listed: Iterable[Entry]) -> list[Entry]:
    """Return the forms of AMALGUM that a word list does not have."""
    listed_forms_of_tags = set()
    upos_of_lemmas = defaultdict(set)
    for entry in listed:
        listed_forms_of_tags.add((entry.tag, entry.form))
        upos_of_lemmas[entry.lemma].add(entry.upos)
    by_form: dict[tuple[str, str], Counter[Entry]] = defaultdict(Counter)
    for entry, count in counts.items():
        lowered = entry._replace(form=entry.form.lower())
        by_form[entry.tag, lowered.form][lowered] += count
    chosen = []
    for key, entries in by_form.items():
        ((entry, count),) = entries.most_common(1)
        # A verb "car" is a mistake of its tagger.
        is_odd = entry.upos not in upos_of_lemmas.get(entry.lemma, {entry.upos})
        is_frequent = count >= max(LEAST_SILVER, LEAST_SILVER_SHARE * entries.total())
        if key not in listed_forms_of_tags and is_frequent and not is_odd:
            chosen.append(entry)
    return chosen


def seen_lemmas(bundle: Path) -> dict[str, dict[str, str]]:
    """Return the words that a bundle's training saw, and their edits, by tag."""
    config = read_bundle(bundle)
    if "lexicon" in config:
        return words_to_edits(read_lexicon(bundle / config["lexicon"]).seen_lemmas)
    return words_to_edits(json_of(bundle / config["seen_lemmas"]))


def json_of(path: Path) -> Any:
    """Return the content of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def right_lemmas(
    seen: Mapping[str, Mapping[str, str]],
    lexicon: Lexicon,
    checked: Mapping[Entry, int],
    counts: Mapping[Entry, int],
) -> dict[str, dict[str, str]]:
    """Return the seen words that the lexicon does not tell and that a treebank confirms.

    The models have also seen silver trees, whose lemmas were another model's.
    """
    upos_of = {(entry.tag, entry.form): entry.upos for entry in counts}
    confirmed = {(entry.tag, entry.form, entry.lemma) for entry in checked}
    kept: dict[str, dict[str, str]] = {}
    for tag, edits in seen.items():
        for word, edit in edits.items():
            if lexicon.certain_lemma(word, tag, upos_of.get((tag, word), "")) is not None:
                continue
            is_checked = tag not in lexicon.tables.endings or not word.isalpha()
            if is_checked or (tag, word, lemma_of(edit, word)) in confirmed:
                kept.setdefault(tag, {})[word] = edit
    return kept


def write_lexicon(bundle: Path, lexicon: Lexicon, seen: Mapping[str, Mapping[str, str]]) -> None:
    """Put a lexicon and the seen words into a bundle."""
    config = read_bundle(bundle)
    names = {name: value for name, value in config["inventories"].items() if name != "lexicon"}
    inventories = Inventories(((),), (), (), (), seen_lemmas=seen, lexicon=lexicon).to_json()
    names["seen_lemmas"] = inventories["seen_lemmas"]
    names["lexicon"] = lexicon_to_json(lexicon)
    sources = [{"name": name, "licence": licence} for name, licence in SOURCES]
    update_bundle(bundle, {"inventories": names, "lexicon_sources": sources})


if __name__ == "__main__":
    main()
