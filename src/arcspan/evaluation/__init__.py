"""Scores of predicted trees: brackets as EVALB counts them, attachment, complete match, significance."""

from arcspan.evaluation.brackets import BracketReport, BracketScores, evaluate_brackets
from arcspan.evaluation.report import METRICS, Report, evaluate
from arcspan.evaluation.rules import COLLINS, BracketRules, read_prm

__all__ = [
    "COLLINS",
    "METRICS",
    "BracketReport",
    "BracketRules",
    "BracketScores",
    "Report",
    "evaluate",
    "evaluate_brackets",
    "read_prm",
]
