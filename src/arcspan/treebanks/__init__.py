"""Files and trees: bracket files, CoNLL-U and CoNLL-X, paired reading, statistics, checks and importers."""

from arcspan.treebanks.brackets import read_brackets, write_brackets
from arcspan.treebanks.checks import Finding, check
from arcspan.treebanks.conll import (
    ConlluSentence,
    Token,
    format_conllu,
    format_conllx,
    read_conll,
    read_conllu,
    write_conllu,
    write_conllx,
)
from arcspan.treebanks.filtering import FilterReport, filter_pairs
from arcspan.treebanks.pairs import Pair, ReadingReport, read_pairs, write_pairs
from arcspan.treebanks.statistics import Statistics, stats

__all__ = [
    "ConlluSentence",
    "FilterReport",
    "Finding",
    "Pair",
    "ReadingReport",
    "Statistics",
    "Token",
    "check",
    "filter_pairs",
    "format_conllu",
    "format_conllx",
    "read_brackets",
    "read_conll",
    "read_conllu",
    "read_pairs",
    "stats",
    "write_brackets",
    "write_conllu",
    "write_conllx",
    "write_pairs",
]
