"""A toy treebank: a small grammar of English with both trees, for tests that train.

A rule's right side is a list of (symbol, relation); the head child has the relation "head". In "X
and Y" the conjunction attaches to Y, as in UD, so not every word attaches to the head of its
constituent.
"""

from __future__ import annotations

import random
from pathlib import Path

from arcspan.treebanks import Pair, write_pairs
from arcspan.trees import ConstituencyTree, DependencyTree

RULES: dict[str, list[list[tuple[str, str]]]] = {
    "S": [
        [("NP", "nsubj"), ("VP", "head"), (".", "punct")],
        [("PP", "obl"), (",", "punct"), ("NP", "nsubj"), ("VP", "head"), (".", "punct")],
    ],
    "NP": [
        [("DT", "det"), ("NN", "head")],
        [("NNP", "head")],
        [("DT", "det"), ("JJ", "amod"), ("NN", "head")],
        [("NP", "head"), ("PP", "nmod")],
        [("NP", "head"), ("CC", "cc>next"), ("NP", "conj")],
    ],
    "VP": [
        [("VBZ", "head"), ("NP", "obj")],
        [("VBZ", "head"), ("ADVP", "advmod")],
        [("VBZ", "head"), ("NP", "obj"), ("PP", "obl")],
        [("VBZ", "head"), ("NP", "obj"), ("ADVP", "advmod")],
    ],
    "PP": [[("IN", "case"), ("NP", "head")]],
    "ADVP": [[("RB", "head")]],
}
WORDS = {
    "DT": ["the", "a", "every", "this"],
    "NN": ["role", "dog", "tree", "word", "parser", "span"],
    "NNP": ["Logic", "Ada", "Kurt"],
    "JJ": ["maximal", "green", "old"],
    "VBZ": ["plays", "sees", "heads", "spans"],
    "IN": ["in", "with", "of"],
    "RB": ["here", "often"],
    "CC": ["and", "or"],
    ".": ["."],
    ",": [","],
}
UPOS = {
    "DT": "DET",
    "NN": "NOUN",
    "NNP": "PROPN",
    "JJ": "ADJ",
    "VBZ": "VERB",
    "IN": "ADP",
    "RB": "ADV",
    "CC": "CCONJ",
}


def toy_pairs(count: int = 30, seed: int = 1, most: int = 12) -> list[Pair]:
    """Different sentences of at most `most` words, the same for the same seed."""
    draw = random.Random(seed)
    by_words: dict[tuple[str, ...], Pair] = {}
    while len(by_words) < count:
        words: list[str] = []
        tags: list[str] = []
        spans: list[tuple[int, int, str]] = [(0, 0, "TOP")]
        arcs: dict[int, tuple[int, str]] = {}
        root = _grow("S", draw, words, tags, spans, arcs, 0)
        arcs[root] = (0, "root")
        if len(words) <= most:
            spans[0] = (0, len(words), "TOP")
            heads, relations = zip(*(arcs[m] for m in range(1, len(words) + 1)), strict=True)
            upos = [UPOS.get(tag, "PUNCT") for tag in tags]
            by_words[tuple(words)] = Pair(
                ConstituencyTree(words, tags, spans),
                DependencyTree(heads, relations, words=words, tags=tags, upos=upos),
            )
    return list(by_words.values())


def write_toy(folder: Path, name: str, pairs: list[Pair]) -> dict[str, str]:
    """Write pairs as files and give the entry of a training configuration."""
    brackets, conll = folder / f"{name}.ptb", folder / f"{name}.conllu"
    write_pairs(pairs, brackets, conll)
    return {"brackets": str(brackets), "conll": str(conll)}


def _grow(
    symbol: str,
    draw: random.Random,
    words: list[str],
    tags: list[str],
    spans: list[tuple[int, int, str]],
    arcs: dict[int, tuple[int, str]],
    depth: int,
) -> int:
    """Append a constituent's words and spans, attach its children, return its head word."""
    if symbol in WORDS:
        words.append(draw.choice(WORDS[symbol]))
        tags.append(symbol)
        return len(words)
    rules = RULES[symbol][:3] if depth > 3 else RULES[symbol]
    span_index, start = len(spans), len(words)
    spans.append((0, 0, symbol))
    rule = draw.choice(rules)
    heads = [_grow(child, draw, words, tags, spans, arcs, depth + 1) for child, _ in rule]
    spans[span_index] = (start, len(words), symbol)
    top = next(k for k, (_, relation) in enumerate(rule) if relation == "head")
    for k, (_, relation) in enumerate(rule):
        if relation.endswith(">next"):
            arcs[heads[k]] = (heads[k + 1], relation.removesuffix(">next"))
        elif k != top:
            arcs[heads[k]] = (heads[top], relation)
    return heads[top]
