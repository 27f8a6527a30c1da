"""Scores of predicted trees: EVALB's brackets, attachment, complete match, significance."""

from arcspan.evaluation.attachment import PUNCTUATION_RULES
from arcspan.evaluation.bracket_rules import COLLINS, BracketRules, read_prm
from arcspan.evaluation.breakdown import Breakdown, breakdown
from arcspan.evaluation.evalb import BracketReport, BracketScores, evaluate_brackets
from arcspan.evaluation.metrics import METRICS, Tally
from arcspan.evaluation.raw_text import RawReport, RawScore, evaluate_raw
from arcspan.evaluation.report import Report, evaluate, evaluate_files
from arcspan.evaluation.runs import Runs
from arcspan.evaluation.sentence_scoring import Scoring
from arcspan.evaluation.significance import Comparison, compare

__all__ = [
    "COLLINS",
    "METRICS",
    "PUNCTUATION_RULES",
    "BracketReport",
    "BracketRules",
    "BracketScores",
    "Breakdown",
    "Comparison",
    "RawReport",
    "RawScore",
    "Report",
    "Runs",
    "Scoring",
    "Tally",
    "breakdown",
    "compare",
    "evaluate",
    "evaluate_brackets",
    "evaluate_files",
    "evaluate_raw",
    "read_prm",
]
