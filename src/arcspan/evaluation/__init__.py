"""Scores of predicted trees: brackets as EVALB counts them, attachment, complete match, significance."""

from arcspan.evaluation.attachment import PUNCTUATION_RULES
from arcspan.evaluation.brackets import BracketReport, BracketScores, evaluate_brackets
from arcspan.evaluation.breakdown import Breakdown, breakdown
from arcspan.evaluation.files import evaluate_files
from arcspan.evaluation.report import METRICS, Report, Scoring, Tally, evaluate
from arcspan.evaluation.rules import COLLINS, BracketRules, read_prm
from arcspan.evaluation.runs import Runs
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
    "Report",
    "Runs",
    "Scoring",
    "Tally",
    "breakdown",
    "compare",
    "evaluate",
    "evaluate_brackets",
    "evaluate_files",
    "read_prm",
]
