"""How complex sentences are: sums over a sentence, and measures made of sums over sentences, texts or corpora.

Every measure is a sum or a ratio of two sums, so that a text's is made of its sentences' sums and not of their ratios.
`docs/measures.md` gives the definition and the source of each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache

from arcspan.syntax import Syntax
from arcspan.syntax.clauses import KINDS
from arcspan.syntax.nodes import NodeTable
from arcspan.syntax.query import Query
from arcspan.trees import ConstituencyTree, DependencyTree, HeadRules

Sums = dict[str, float]

# Lu (2010), as his L2 Syntactic Complexity Analyzer has them; ROOT is the wrapper around the tree.
_FINITE = (
    "S|SINV|SQ [> ROOT <, (VP <# VB) | <# MD|VBZ|VBP|VBD | < "
    "(VP [<# MD|VBP|VBZ|VBD | < CC < (VP <# MD|VBP|VBZ|VBD)])]"
)
_UNIT = "> ROOT | [$-- S|SBARQ|SINV|SQ !>> SBAR|VP]"
PATTERNS: dict[str, tuple[str, ...]] = {
    "VP": ("VP > S|SINV|SQ", "MD|VBZ|VBP|VBD > (SQ !< VP)"),
    "C": (_FINITE, f"FRAG > ROOT !<< ({_FINITE})"),
    "T": (f"S|SBARQ|SINV|SQ {_UNIT}", f"FRAG > ROOT !<< (S|SBARQ|SINV|SQ {_UNIT})"),
    "DC": (f"SBAR < ({_FINITE})",),
    "CT": (f"S|SBARQ|SINV|SQ [{_UNIT}] << (SBAR < ({_FINITE}))",),
    "CP": ("ADJP|ADVP|NP|VP < CC",),
    "CN": (
        "NP !> NP [<< JJ|POS|PP|S|VBG | << (NP $++ NP !$+ CC)]",
        "SBAR [<# WHNP | <# (IN < That|that|For|for) | <, S] & [$+ VP | > VP]",
        "S < (VP <# VBG|TO) $+ VP",
    ),
}
# Ratios of sums: name -> numerator, denominator.
RATIOS: dict[str, tuple[str, str]] = {
    **{
        "MLS": ("W", "S"),
        "MLT": ("W", "T"),
        "MLC": ("W", "C"),
        "C/S": ("C", "S"),
        "VP/T": ("VP", "T"),
    },
    **{
        "C/T": ("C", "T"),
        "DC/C": ("DC", "C"),
        "DC/T": ("DC", "T"),
        "T/S": ("T", "S"),
        "CT/T": ("CT", "T"),
    },
    **{"CP/T": ("CP", "T"), "CP/C": ("CP", "C"), "CN/T": ("CN", "T"), "CN/C": ("CN", "C")},
    "yngve": ("yngve_sum", "c_words"),
    "frazier": ("frazier_sum", "c_words"),
    "left_branching": ("left_heavy", "branching"),
    "right_branching": ("right_heavy", "branching"),
    "dependency_distance": ("distance_sum", "arcs"),
    "normalised_distance": ("ndd_sum", "ndd_sentences"),
    "head_final": ("leftward", "arcs"),
    "characters_per_word": ("characters", "words"),
}
SUMS = (
    *("sentences", "words", "characters", "W", "S", *PATTERNS),
    *(f"clauses_{kind}" for kind in KINDS),
    *("clauses_finite", "clauses_nonfinite"),
    *(f"coordinations_{kind}" for kind in ("NP", "VP", "S", "other")),
)
MEASURES = (*SUMS, *RATIOS)
_WORD_TAG = re.compile(r"[A-Z]+\$?")


def sums(constituency: ConstituencyTree | None, dependencies: DependencyTree | None) -> Sums:
    """The sums of one sentence; those of a tree that is not there are missing.

    >>> tree = ConstituencyTree.from_brackets("(TOP (S (NP (PRP She)) (VP (VBD left)) (. .)))")
    >>> found = sums(tree, None)
    >>> found["W"], found["C"], found["T"], found["DC"]
    (2, 1, 1, 0)
    """
    found: Sums = {"sentences": 1}
    tree = constituency if constituency is not None else dependencies
    if tree is None or not len(tree):
        return found
    kept = [k for k, word in enumerate(tree.words) if _is_word(tree.tags[k], word)]
    found |= {"words": len(kept), "characters": sum(len(tree.words[k]) for k in kept)}
    if constituency is not None:
        found |= _of_constituents(constituency, kept)
    if dependencies is not None:
        found |= _of_dependencies(dependencies, kept)
        found |= _of_syntax(Syntax(constituency, dependencies))
    return found


def total(sentences: Iterable[Iterable[tuple[float, Sums]]]) -> Sums:
    """The expected sums of sentences, each a list of (weight, sums), one for each of its parses."""
    found: Sums = {}
    for parses in sentences:
        for weight, own in parses:
            for name, value in own.items():
                found[name] = found.get(name, 0) + weight * value
    return found


def measures(found: Sums) -> dict[str, float]:
    """All measures of these sums, in the order of `MEASURES`.

    A ratio of nothing is 0, as in Lu's analyzer; what a missing tree would tell is missing.
    """
    result = {name: found[name] for name in SUMS if name in found}
    for name, (above, below) in RATIOS.items():
        if below in found:
            result[name] = found.get(above, 0) / found[below] if found[below] else 0.0
    return result


def standard_errors(sentences: Sequence[Sequence[tuple[float, Sums]]]) -> dict[str, float]:
    """How far measures may be off because parses are uncertain: one standard deviation.

    Sentences are as in `total`. They are taken as independent, and ratios as linear around their expected values (the
    delta method).
    """
    expected = total(sentences)
    result = {}
    for name, value in measures(expected).items():
        above, below = RATIOS.get(name, (name, ""))
        rate, scale = (value, expected[below]) if below else (0.0, 1.0)
        variance = 0.0
        for parses in sentences:
            values = [
                (weight, own.get(above, 0) - rate * own.get(below, 0)) for weight, own in parses
            ]
            mean = sum(weight * value for weight, value in values)
            variance += sum(weight * (value - mean) ** 2 for weight, value in values)
        result[name] = math.sqrt(variance) / scale if scale else 0.0
    return result


def _is_word(tag: str, word: str) -> bool:
    """Lu's definition: a tag of capital letters, so that punctuation and currency signs are not words."""
    if tag:
        return _WORD_TAG.fullmatch(tag) is not None and word != "—"
    return any(letter.isalnum() for letter in word)


@cache
def _queries() -> list[tuple[str, Query]]:
    rules = HeadRules.load("ptb")
    pairs = ((name, pattern) for name, patterns in PATTERNS.items() for pattern in patterns)
    return [(name, Query(pattern, heads=rules)) for name, pattern in pairs]


def _of_constituents(tree: ConstituencyTree, kept: list[int]) -> Sums:
    found: Sums = {"W": len(kept), "S": 1, **dict.fromkeys(PATTERNS, 0)}
    rooted = tree.with_wrapper("ROOT")
    for name, query in _queries():
        found[name] += query.count(rooted)
    return found | _shape(tree.without_wrapper()._keep(kept))


def _shape(tree: ConstituencyTree) -> Sums:
    """Depths and branching of a tree without punctuation."""
    nodes = NodeTable(tree, None)
    found: Sums = dict.fromkeys(
        ("yngve_sum", "frazier_sum", "left_heavy", "right_heavy", "branching"), 0
    )
    found["c_words"] = len(tree)
    depths = [0] * len(
        nodes.labels
    )  # how many sisters stand to the right of a node and of those above it
    paths = [0.0] * len(
        nodes.labels
    )  # what a node weighs with those above that it is at the very left of
    for k, label in enumerate(nodes.labels):
        children = nodes.children(k)
        is_tag = bool(children and nodes.words[children[0]]) and label == tree.tags[nodes.left[k]]
        own = 0.0 if is_tag or not children else 1.5 if label.startswith("S") else 1.0
        paths[k] = own + (paths[k - 1] if k and nodes.parents[k] == k - 1 else 0.0)
        for place, child in enumerate(reversed(children)):
            depths[child] = depths[k] + place
        if nodes.words[k]:
            found["yngve_sum"] += depths[k]
            found["frazier_sum"] += paths[k]
        if len(children) > 1:
            first, last = (
                nodes.right[child] - nodes.left[child] for child in (children[0], children[-1])
            )
            found["branching"] += 1
            found["left_heavy"] += first > last
            found["right_heavy"] += first < last
    return found


def _of_dependencies(tree: DependencyTree, kept: list[int]) -> Sums:
    """Distances count words alone: punctuation has no place."""
    place = {k + 1: at for at, k in enumerate(kept, 1)}
    arcs = [(place[m], place[tree.heads[m - 1]]) for m in place if tree.heads[m - 1] in place]
    distance = sum(abs(m - h) for m, h in arcs)
    found: Sums = {
        "distance_sum": distance,
        "arcs": len(arcs),
        "leftward": sum(m < h for m, h in arcs),
    }
    root = place.get(tree.root)
    if not arcs or not root:
        return found | {"ndd_sum": 0.0, "ndd_sentences": 0}
    normalised = abs(math.log(distance / len(arcs) / math.sqrt(root * len(kept))))
    return found | {"ndd_sum": normalised, "ndd_sentences": 1}


def _of_syntax(syntax: Syntax) -> Sums:
    found: Sums = {name: 0 for name in SUMS if name.startswith(("clauses", "coordinations"))}
    for clause in syntax.clauses:
        found[f"clauses_{clause.kind}"] += 1
        found["clauses_finite" if clause.finite else "clauses_nonfinite"] += 1
    for joined in syntax.coordinations:
        found[f"coordinations_{joined.kind if joined.kind in ('NP', 'VP', 'S') else 'other'}"] += 1
    return found
