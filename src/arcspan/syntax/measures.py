"""Measures of syntactic complexity: sums over a sentence, and ratios of sums over a text or corpus.

Every measure is a sum or a ratio of two sums, so that those of a text are computed from the sums of
its sentences and not from their ratios. `docs/measures.md` has the definition and the source of
each.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from arcspan.syntax import Syntax, TreeQuery
from arcspan.syntax.clauses import KINDS
from arcspan.syntax.nodes import NodeTable
from arcspan.trees import ConstituencyTree, DependencyTree, HeadRules
from arcspan.trees.immutable import empty_column

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
# The numerator and the denominator of every ratio; indices such as C/S are named after theirs.
_INDICES = ("C/S", "VP/T", "C/T", "DC/C", "DC/T", "T/S", "CT/T", "CP/T", "CP/C", "CN/T", "CN/C")
RATIOS: dict[str, tuple[str, str]] = {
    "MLS": ("W", "S"),
    "MLT": ("W", "T"),
    "MLC": ("W", "C"),
    **{name: (name.split("/")[0], name.split("/")[1]) for name in _INDICES},
    "yngve": ("yngve_sum", "c_words"),
    "frazier": ("frazier_sum", "c_words"),
    "left_branching": ("left_heavy", "branching"),
    "right_branching": ("right_heavy", "branching"),
    "dependency_distance": ("distance_sum", "arcs"),
    "normalised_distance": ("ndd_sum", "ndd_sentences"),
    "head_final": ("leftward", "arcs"),
    "characters_per_word": ("characters", "words"),
}
_COORDINATED = ("NP", "VP", "S", "other")
_SYNTAX_SUMS = [f"clauses_{name}" for name in (*KINDS, "finite", "nonfinite")]
_SYNTAX_SUMS += [f"coordinations_{category}" for category in _COORDINATED]
SUMS = ("sentences", "words", "characters", "W", "S", *PATTERNS, *_SYNTAX_SUMS)
MEASURES = (*SUMS, *RATIOS)
_WORD_TAG = re.compile(r"[A-Z]+\$?")


def sums(
    constituency: ConstituencyTree | None,
    dependencies: DependencyTree | None,
    *,
    split_compounds: bool = False,
) -> Sums:
    """Return the sums of one sentence; those of a missing tree are missing.

    In Lu's W a compound with hyphens is one word, unless `split_compounds`.

    >>> tree = ConstituencyTree.from_brackets("(TOP (S (NP (PRP She)) (VP (VBD left)) (. .)))")
    >>> counts = sums(tree, None)
    >>> counts["W"], counts["C"], counts["T"], counts["DC"]
    (2, 1, 1, 0)
    """
    tree = constituency if constituency is not None else dependencies
    if tree is None or not len(tree):
        return {"sentences": 1}
    # Indices of words, from 0, without punctuation.
    upos = empty_column(len(tree)) if dependencies is None else dependencies.upos
    rows = enumerate(zip(tree.words, tree.tags, upos, strict=True))
    counted = [k for k, row in rows if _is_word(*row)]
    characters = sum(len(tree.words[k]) for k in counted)
    counts: Sums = {"sentences": 1, "words": len(counted), "characters": characters}
    if constituency is not None:
        counts |= _of_constituents(constituency, counted)
        if not split_compounds:
            counts["W"] -= _hyphens(constituency.tags, counted)
    if dependencies is not None:
        counts |= _of_dependencies(dependencies, counted)
        counts |= _of_syntax(Syntax(constituency, dependencies))
    return counts


def total(sentences: Iterable[Iterable[tuple[float, Sums]]]) -> Sums:
    """Return the expected sums of sentences, each a list of (weight, sums) of its parses."""
    expected: Sums = {}
    for parses in sentences:
        for weight, counts in parses:
            for name, count in counts.items():
                expected[name] = expected.get(name, 0) + weight * count
    return expected


def measures(counts: Sums) -> dict[str, float]:
    """Return all measures of these sums, in the order of `MEASURES`.

    A ratio with a denominator of 0 is 0, as in Lu's analyzer; measures of a missing tree are
    missing.
    """
    values = {name: counts[name] for name in SUMS if name in counts}
    for name, (numerator, denominator) in RATIOS.items():
        if divisor := counts.get(denominator):
            values[name] = counts.get(numerator, 0) / divisor
        elif denominator in counts:
            values[name] = 0.0
    return values


def standard_errors(sentences: Sequence[Sequence[tuple[float, Sums]]]) -> dict[str, float]:
    """Return one standard deviation of every measure, from the uncertainty of the parses.

    Sentences are as in `total`. They are taken as independent, and ratios as linear around their
    expected values (the delta method).
    """
    expected = total(sentences)
    errors = {}
    for name, expected_value in measures(expected).items():
        numerator, denominator = RATIOS.get(name, (name, ""))
        rate = expected_value if denominator else 0.0
        scale = expected[denominator] if denominator else 1.0
        variance = 0.0
        for parses in sentences:
            deviations = [
                (weight, counts.get(numerator, 0) - rate * counts.get(denominator, 0))
                for weight, counts in parses
            ]
            mean = sum(weight * deviation for weight, deviation in deviations)
            variance += sum(weight * (deviation - mean) ** 2 for weight, deviation in deviations)
        errors[name] = math.sqrt(variance) / scale if scale else 0.0
    return errors


def _is_word(word: str, tag: str, upos: str) -> bool:
    """Return True for a word: punctuation and currency signs are none.

    Lu takes tags of capital letters, which those of hyphens and of emoticons are, too. Without a
    tag, any letter or digit makes a word.
    """
    if upos == "PUNCT" or tag in ("HYPH", "NFP"):
        return False
    if tag:
        return _WORD_TAG.fullmatch(tag) is not None and word != "—"
    return any(letter.isalnum() for letter in word)


def _hyphens(tags: Sequence[str], counted: Sequence[int]) -> int:
    """Return how many hyphens stand between two words."""
    words = set(counted)
    return sum(tag == "HYPH" and k - 1 in words and k + 1 in words for k, tag in enumerate(tags))


@cache
def _queries() -> list[tuple[str, TreeQuery]]:
    """Compile Lu's patterns at first use; his heads are those of the rules, whatever the arcs."""
    rules = HeadRules.load("ptb")
    return [
        (name, TreeQuery(pattern, heads=rules))
        for name, patterns in PATTERNS.items()
        for pattern in patterns
    ]


def _of_constituents(tree: ConstituencyTree, counted: list[int]) -> Sums:
    counts: Sums = {"W": len(counted), "S": 1, **dict.fromkeys(PATTERNS, 0)}
    rooted = tree.with_wrapper("ROOT")
    for name, query in _queries():
        counts[name] += query.count(rooted)
    return counts | _shape(tree.without_wrapper()._keep(counted))


def _shape(tree: ConstituencyTree) -> Sums:
    """Return the depths and the branching of a tree without punctuation."""
    nodes = NodeTable(tree, None)
    names = ("yngve_sum", "frazier_sum", "left_heavy", "right_heavy", "branching")
    counts: Sums = {"c_words": len(tree), **dict.fromkeys(names, 0)}
    # By node, of itself and the nodes above it: the sisters to their right; for Frazier, the
    # weights of those above that begin with it.
    depths = [0] * len(nodes.labels)
    weights = [0.0] * len(nodes.labels)
    for k, label in enumerate(nodes.labels):
        children = nodes.children(k)
        if nodes.words[k]:
            is_constituent = False
        else:
            is_tag = nodes.words[children[0]] > 0 and label == tree.tags[nodes.left[k]]
            is_constituent = not is_tag
        if is_constituent:
            weights[k] = 1.5 if label.startswith("S") else 1.0
        if k and nodes.parents[k] == k - 1:
            weights[k] += weights[k - 1]
        for distance, child in enumerate(reversed(children)):
            depths[child] = depths[k] + distance
        if nodes.words[k]:
            counts["yngve_sum"] += depths[k]
            counts["frazier_sum"] += weights[k]
        if len(children) > 1:
            first_length = nodes.right[children[0]] - nodes.left[children[0]]
            last_length = nodes.right[children[-1]] - nodes.left[children[-1]]
            counts["branching"] += 1
            counts["left_heavy"] += first_length > last_length
            counts["right_heavy"] += first_length < last_length
    return counts


def _of_dependencies(tree: DependencyTree, counted: list[int]) -> Sums:
    """Return distances in words: punctuation is not counted."""
    positions = {k + 1: position for position, k in enumerate(counted, 1)}
    arcs = [
        (positions[m], positions[head])
        for m, head in enumerate(tree.heads, 1)
        if m in positions and head in positions
    ]
    distance = sum(abs(m - h) for m, h in arcs)
    counts: Sums = {
        "distance_sum": distance,
        "arcs": len(arcs),
        "leftward": sum(m < h for m, h in arcs),
        "ndd_sum": 0.0,
        "ndd_sentences": 0,
    }
    root = positions.get(tree.root)
    if arcs and root:
        mean = distance / len(arcs)
        counts["ndd_sum"] = abs(math.log(mean / math.sqrt(root * len(counted))))
        counts["ndd_sentences"] = 1
    return counts


def _of_syntax(syntax: Syntax) -> Sums:
    names: Counter[str] = Counter()
    for clause in syntax.clauses:
        names[f"clauses_{clause.kind}"] += 1
        names["clauses_finite" if clause.finite else "clauses_nonfinite"] += 1
    for coordination in syntax.coordinations:
        category = coordination.kind if coordination.kind in _COORDINATED else "other"
        names[f"coordinations_{category}"] += 1
    return {name: names[name] for name in _SYNTAX_SUMS}
