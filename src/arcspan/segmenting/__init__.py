"""Splitting raw text into sentences, words and multiword tokens, with offsets in the original."""

from arcspan.segmenting.base import BaseSegmenter
from arcspan.segmenting.cleaning import clean_sentences
from arcspan.segmenting.learnt import Segmenter, segmenter_for
from arcspan.segmenting.rules import RuleSegmenter
from arcspan.segmenting.sentence import Sentence

__all__ = [
    "BaseSegmenter",
    "RuleSegmenter",
    "Segmenter",
    "Sentence",
    "clean_sentences",
    "segmenter_for",
]
