"""Files and trees: bracket files, CoNLL-U and CoNLL-X, paired reading, statistics, checks and importers."""

from arcspan.treebanks.brackets import read_brackets, write_brackets
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
from arcspan.treebanks.pairs import Pair, ReadingReport, read_pairs, write_pairs

__all__ = [
    "ConlluSentence",
    "Pair",
    "ReadingReport",
    "Token",
    "format_conllu",
    "format_conllx",
    "read_brackets",
    "read_conll",
    "read_conllu",
    "read_pairs",
    "write_brackets",
    "write_conllu",
    "write_conllx",
    "write_pairs",
]
