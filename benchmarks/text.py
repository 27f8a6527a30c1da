"""Words and sentences from raw text, measured against treebanks: word F1, sentence F1, speed.

    python benchmarks/text.py ../shared/treebanks/gum/dev.conllu.xz ../shared/treebanks/craft-ud/dev.conllu.xz

The raw text of a document is its `# text` lines joined by a space, or by a blank line where the treebank
marks a paragraph. Treebanks lose most headings' line breaks that way, and no rule can find "Introduction
Research on ..." again, so sentences are scored twice: on that text, and on the text with a blank line after
every sentence without a closing mark (as headings and list items have in real documents).

pysbd and syntok take part where they are installed (pip install pysbd syntok): sentences only.
"""

from __future__ import annotations

import argparse
import lzma
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from arcspan.runtime.text import split_text, split_words

Spans = set[tuple[int, int]]
CLOSED = re.compile(r"[.?!…]['\"”’)\]]*(?: ?\[[\d, –-]+\])*$")


class Gold(NamedTuple):
    paragraph: bool
    text: str
    words: list[tuple[int, int]]


def documents(path: Path) -> Iterator[list[Gold]]:
    """The documents of a CoNLL-U file, each a list of sentences with the place of every word in its text."""
    content = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    blocks = [block for block in content.decode("utf-8").split("\n\n") if block.strip()]
    document: list[Gold] = []
    for block in blocks:
        lines = block.split("\n")
        if document and any(line.startswith("# newdoc") for line in lines):
            yield document
            document = []
        text = next(line[len("# text = ") :] for line in lines if line.startswith("# text = ")).strip()
        words, place = [], 0
        for line in lines:
            columns = line.split("\t")
            if columns[0].isdigit():
                start = text.index(columns[1], place)
                place = start + len(columns[1])
                words.append((start, place))
        document.append(Gold(any(line.startswith("# newpar") for line in lines), text, words))
    yield document


def raw_text(document: list[Gold], headings_apart: bool) -> tuple[str, Spans, Spans]:
    """The text of a document with the offsets of its words and sentences."""
    text, words, sentences = "", set(), set()
    for sentence in document:
        if text:
            apart = sentence.paragraph or (headings_apart and not CLOSED.search(text))
            text += "\n\n" if apart else " "
        start = len(text)
        text += sentence.text
        words |= {(start + i, start + j) for i, j in sentence.words}
        sentences.add((start + sentence.words[0][0], start + sentence.words[-1][1]))
    return text, words, sentences


class Count:
    """Matches of predicted and gold spans over documents."""

    def __init__(self) -> None:
        self.gold = self.predicted = self.both = 0

    def add(self, gold: Spans, predicted: Spans) -> None:
        self.gold += len(gold)
        self.predicted += len(predicted)
        self.both += len(gold & predicted)

    @property
    def f1(self) -> float:
        return 200 * self.both / (self.gold + self.predicted)


def own(text: str) -> Spans:
    return {(sentence.start, sentence.end) for sentence in split_text(text)}


def others() -> dict[str, Callable[[str], Spans]]:
    """The other splitters that are installed, by name."""
    found: dict[str, Callable[[str], Spans]] = {}
    try:
        import pysbd

        def by_pysbd(text: str) -> Spans:
            segmenter = pysbd.Segmenter(language="en", clean=False, char_span=True)
            stripped = (
                (span.start, span.start + len(span.sent.rstrip())) for span in segmenter.segment(text)
            )
            return {(start, end) for start, end in stripped if end > start}

        found["pysbd"] = by_pysbd
    except ImportError:
        pass
    try:
        import syntok.segmenter

        def by_syntok(text: str) -> Spans:
            sentences = (sentence for part in syntok.segmenter.analyze(text) for sentence in part)
            return {(s[0].offset, s[-1].offset + len(s[-1].value)) for s in map(list, sentences) if s}

        found["syntok"] = by_syntok
    except ImportError:
        pass
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("treebank", nargs="+", type=Path)
    for path in arguments.parse_args().treebank:
        words, given = Count(), Count()
        splitters = {"arcspan": own, **others()}
        joined = {name: Count() for name in splitters}
        apart = {name: Count() for name in splitters}
        seconds = dict.fromkeys(splitters, 0.0)
        characters = 0
        for document in documents(path):
            text, gold_words, gold_sentences = raw_text(document, headings_apart=False)
            characters += len(text)
            words.add(gold_words, {word for sentence in split_text(text) for word in sentence.offsets})
            for sentence in document:
                given.add(set(sentence.words), set(split_words(sentence.text).offsets))
            for name, splitter in splitters.items():
                begun = time.perf_counter()
                joined[name].add(gold_sentences, splitter(text))
                seconds[name] += time.perf_counter() - begun
            text, _, gold_sentences = raw_text(document, headings_apart=True)
            for name, splitter in splitters.items():
                apart[name].add(gold_sentences, splitter(text))
        print(f"{path.parent.name}/{path.name}: {words.gold} words, {joined['arcspan'].gold} sentences")
        print(f"  words        F1 {words.f1:.2f} from raw text, {given.f1:.2f} from gold sentences")
        for name in splitters:
            speed = f"{characters / 1000 / seconds[name]:.0f} thousand characters a second"
            both = f"{joined[name].f1:.2f} joined by spaces, {apart[name].f1:.2f} with headings apart"
            print(f"  {name:8} sentences F1 {both}; {speed}{' (words too)' if name == 'arcspan' else ''}")


if __name__ == "__main__":
    main()
