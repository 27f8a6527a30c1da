"""Treebank files: brackets and CoNLL-U, paired reading, statistics, checks and importers."""

from arcspan.treebanks.brackets import read_brackets, write_brackets
from arcspan.treebanks.checks import check
from arcspan.treebanks.conll import (
    ConlluSentence,
    ConlluToken,
    read_conll,
    read_conllu,
    write_conllu,
)
from arcspan.treebanks.filtering import DocumentFilter, FilterReport, filter_pairs
from arcspan.treebanks.importers.penn import load_rules
from arcspan.treebanks.pairs import Finding, Pair, ReadingReport, read_pairs, write_pairs
from arcspan.treebanks.rewriting import read_rules, rewrite
from arcspan.treebanks.statistics import Statistics, stats
from arcspan.trees.conllu import format_conllu

__all__ = [
    "ConlluSentence",
    "ConlluToken",
    "DocumentFilter",
    "FilterReport",
    "Finding",
    "Pair",
    "ReadingReport",
    "Statistics",
    "check",
    "filter_pairs",
    "format_conllu",
    "load_rules",
    "read_brackets",
    "read_conll",
    "read_conllu",
    "read_pairs",
    "read_rules",
    "rewrite",
    "stats",
    "write_brackets",
    "write_conllu",
    "write_pairs",
]
