"""Make the lexicon of a language (`prediction.lexicon`) of treebanks and word lists.

Treebanks decide where they have a form at least twice, because their conventions are those that a
parser is to follow; a word list has the forms that they lack. Only nouns, verbs, adjectives and adverbs
are listed: the other parts of speech are closed, and names are as various as their conventions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from arcspan.errors import FileError
from arcspan.prediction.lemmas import edit_of, lemma_of
from arcspan.prediction.lexicon import (
    OPEN,
    WHOLE,
    Edits,
    Lexicon,
    LexiconTables,
    longest_ending,
)
from arcspan.prediction.outputs import Inventories
from arcspan.training.instances import TrainingSentence
from arcspan.treebanks.streams import read_lines

OPEN_CLASSES = ("ADJ", "ADV", "NOUN", "VERB")
# Letters of the longest ending that is counted.
_LONGEST = 6
# Words that an ending must have; rarer ones are told by a shorter ending.
_LEAST_WORDS = 2
# An edit that fewer of an ending's words have is an exception, and impossible for other words.
_LEAST_SHARE = 0.05
# Where words have this many different edits in proportion, new words may have still others
# (Witten and Bell's estimate, types / (types + words)): the endings of irregular verbs.
_OPEN_SHARE = 0.34
# Tags of fewer words are left to the model, and so are tags that closed classes have more often.
_LEAST_FORMS = 50
# A treebank's lemma of a form counts if this share of its occurrences has it.
_LEAST_USE = 0.15


class Entry(NamedTuple):
    """A form of a lemma; `tag` is the treebank's own, or the universal one where it has none."""

    lemma: str
    upos: str
    form: str
    tag: str


def read_word_list(path: str | Path) -> Iterator[Entry]:
    """Yield the entries of a tab-separated file: lemma, universal tag, form and, if known, tag."""
    for number, line in enumerate(read_lines(path), 1):
        text = line.rstrip("\n")
        if not text or text.startswith("#"):
            continue
        fields = text.split("\t")
        if len(fields) not in (3, 4) or not all(fields[:3]):
            raise FileError(
                "expected lemma, universal tag, form and, optionally, tag, with tabs between them",
                path=path,
                line=number,
            )
        lemma, upos, form, *tags = fields
        yield Entry(lemma, upos, form, tags[0] if tags and tags[0] else upos)


def count_entries(sentences: Iterable[TrainingSentence]) -> Counter[Entry]:
    """Return how often treebanks have a form with its tags and lemma."""
    counts: Counter[Entry] = Counter()
    # A sentence that is shown several times counts once.
    for sentence in {id(sentence): sentence for sentence in sentences}.values():
        universal, edits = sentence.names["upos"], sentence.names["lemma"]
        tags = sentence.names["tag"] if any(sentence.names["tag"]) else universal
        for word, tag, upos, edit in zip(sentence.words, tags, universal, edits, strict=True):
            if tag and edit:
                counts[Entry(lemma_of(edit, word), upos, word, tag)] += 1
    return counts


def make_lexicon(counts: Mapping[Entry, int], word_list: Collection[Entry] = ()) -> Lexicon | None:
    """Return the lexicon of treebanks and of a word list; None where neither has a word."""
    closed = _closed_tags(counts)
    listed = [entry for entry in word_list if _is_listed(entry) and entry.tag not in closed]
    occurrences: Counter[Entry] = Counter()
    for entry, count in counts.items():
        if _is_listed(entry) and entry.tag not in closed:
            occurrences[entry._replace(form=entry.form.lower())] += count
    lemmas = _known_lemmas(occurrences, listed)
    by_tag: dict[str, dict[str, list[Entry]]] = defaultdict(dict)
    for (tag, form), entries in _lemmas_of_forms(occurrences, listed).items():
        by_tag[tag][form] = entries
    endings = {}
    for tag, forms in by_tag.items():
        if len(forms) >= _LEAST_FORMS:
            endings[tag] = _endings_of(forms, lemmas)
    return Lexicon(LexiconTables(lemmas, endings)) if endings else None


def with_lexicon(
    inventories: Inventories,
    sentences: Iterable[TrainingSentence],
    word_list: Collection[Entry] = (),
) -> Inventories:
    """Return inventories with the lexicon of training sentences and of a word list."""
    counts = count_entries(sentences)
    lexicon = make_lexicon(counts, word_list)
    if lexicon is None:
        return inventories
    seen = without_certain(inventories.seen_lemmas, lexicon, counts)
    return replace(inventories, seen_lemmas=seen, lexicon=lexicon)


def without_certain(
    seen: Mapping[str, Mapping[str, str]], lexicon: Lexicon, counts: Mapping[Entry, int]
) -> dict[str, dict[str, str]]:
    """Return seen lemmas without those that the lexicon knows, which it then decides about."""
    upos_of: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for entry, count in counts.items():
        upos_of[entry.tag, entry.form][entry.upos] += count
    shortened: dict[str, dict[str, str]] = {}
    for tag, edits in seen.items():
        for word, edit in edits.items():
            ((upos, _),) = upos_of[tag, word].most_common(1) or (("", 0),)
            if lexicon.certain_lemma(word, tag, upos) != lemma_of(edit, word):
                shortened.setdefault(tag, {})[word] = edit
    return shortened


def merge_lexicons(old: Lexicon | None, new: Lexicon | None) -> Lexicon | None:
    """Return the lexicon of both: all lemmas, the old one's endings, and the new one's words first."""
    if old is None or new is None:
        return old or new
    lemmas = dict(old.tables.lemmas)
    for upos, words in new.tables.lemmas.items():
        lemmas[upos] = lemmas.get(upos, frozenset()) | words
    endings = dict(old.tables.endings)
    for tag, of_tag in new.tables.endings.items():
        if tag in endings:
            whole = {name: edits for name, edits in of_tag.items() if name.startswith(WHOLE)}
            endings[tag] = {**endings[tag], **whole}
        else:
            endings[tag] = of_tag
    return Lexicon(LexiconTables(lemmas, endings))


def _is_listed(entry: Entry) -> bool:
    is_word = entry.form.replace("-", "").isalpha()
    return is_word and entry.upos in OPEN_CLASSES and entry.lemma not in ("", "_")


def _closed_tags(counts: Mapping[Entry, int]) -> set[str]:
    """Return the tags of which at most half of the occurrences are words of open classes."""
    balance: Counter[str] = Counter()
    for entry, count in counts.items():
        balance[entry.tag] += count if entry.upos in OPEN_CLASSES else -count
    return {tag for tag, difference in balance.items() if difference <= 0}


def _known_lemmas(
    occurrences: Mapping[Entry, int], listed: Sequence[Entry]
) -> dict[str, frozenset[str]]:
    """Return lemmas in lower case, by universal tag: those listed or seen more than once."""
    counts: Counter[tuple[str, str]] = Counter()
    for entry, count in occurrences.items():
        counts[entry.upos, entry.lemma.lower()] += count
    lemmas: dict[str, set[str]] = {upos: set() for upos in OPEN_CLASSES}
    for entry in listed:
        lemmas[entry.upos].add(entry.lemma.lower())
    for (upos, lemma), count in counts.items():
        if count > 1:
            lemmas[upos].add(lemma)
    return {upos: frozenset(words) for upos, words in lemmas.items() if words}


def _lemmas_of_forms(
    occurrences: Mapping[Entry, int], listed: Sequence[Entry]
) -> dict[tuple[str, str], list[Entry]]:
    """Return the entries of each tag and form, one per lemma, the most frequent one first."""
    from_list: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    listed_lemmas = set()
    for entry in dict.fromkeys(listed):
        from_list[entry.tag, entry.form].append(entry)
        listed_lemmas.add((entry.upos, entry.lemma))
    from_treebanks: dict[tuple[str, str], Counter[Entry]] = defaultdict(Counter)
    for entry, count in occurrences.items():
        from_treebanks[entry.tag, entry.form][entry] += count
    # A lemma that no list has may be a mistake ("bre" of "bred") unless it occurs as a word, too.
    attested = {(entry.upos, entry.lemma) for entry in occurrences if entry.lemma == entry.form}
    attested |= listed_lemmas
    chosen: dict[tuple[str, str], list[Entry]] = {}
    for key in {**from_list, **from_treebanks}:
        counts = from_treebanks.get(key, Counter())
        least = max(2, _LEAST_USE * counts.total())
        frequent = [entry for entry, count in counts.most_common() if count >= least]
        if key in from_list:
            frequent = [entry for entry in frequent if (entry.upos, entry.lemma) in attested]
        entries = frequent or from_list.get(key) or [entry for entry, _ in counts.most_common(1)]
        by_lemma: dict[str, Entry] = {}
        for entry in entries:
            by_lemma.setdefault(entry.lemma, entry)
        chosen[key] = list(by_lemma.values())
    return chosen


def _endings_of(
    forms: Mapping[str, list[Entry]], lemmas: Mapping[str, frozenset[str]]
) -> dict[str, Edits]:
    """Return the edits of the endings of one tag's forms, and of the words that they do not tell."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for form, entries in forms.items():
        if len(entries) == 1:
            edit = edit_of(form, entries[0].lemma)
            # A lemma that is spelt out tells nothing about other words.
            if edit.startswith("="):
                continue
            for length in range(min(_LONGEST, len(form)) + 1):
                counts[form[len(form) - length :]][edit] += 1
    endings: dict[str, Edits] = {}
    # Shorter endings first: a longer one is listed where it has other edits.
    for ending in sorted(counts, key=lambda ending: (len(ending), ending)):
        of_ending = counts[ending]
        words = of_ending.total()
        if words < _LEAST_WORDS:
            continue
        usual = [edit for edit, count in _by_frequency(of_ending) if count >= _LEAST_SHARE * words]
        if len(of_ending) / (words + len(of_ending)) > _OPEN_SHARE:
            usual.append(OPEN)
        if longest_ending(endings, ending) != tuple(usual):
            endings[ending] = tuple(usual)
    whole_words = {}
    for form, entries in sorted(forms.items()):
        edits = longest_ending(endings, form) or (OPEN,)
        told = None if OPEN in edits else lemma_of(edits[0], form)
        is_told = told == entries[0].lemma and told.lower() in lemmas.get(entries[0].upos, ())
        if len(entries) > 1 or not is_told:
            edits_of_word = dict.fromkeys(edit_of(form, entry.lemma) for entry in entries)
            whole_words[WHOLE + form] = tuple(edits_of_word)
    return {**endings, **whole_words}


def _by_frequency(counts: Counter[str]) -> list[tuple[str, int]]:
    """Return names and counts in an order that does not depend on that of counting."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
