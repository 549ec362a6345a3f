"""Scorers: one file each, each the rule of one benchmark or judge.

`SCORERS` has them by canonical name. The rules of the benchmarks are their official ones, behaviour for behaviour,
without running anything that a model wrote; the `safe` rules and the judges' prompts are our own.
"""

from looseleaf.scoring import (
    binary_judge,
    dude,
    equivalence_judge,
    extraction,
    longdocurl,
    mmlongbench,
    qasper,
)
from looseleaf.scoring.comparison import Difference, differences
from looseleaf.scoring.registry import SCORERS, JudgeScorer, References, Scorer, default_scorer, get_scorer
from looseleaf.scoring.rule_extractor import NOT_OFFICIAL, RuleExtractor
from looseleaf.scoring.thresholds import DEFAULT_THRESHOLD, THRESHOLDS, binarise

__all__ = [
    "DEFAULT_THRESHOLD",
    "NOT_OFFICIAL",
    "SCORERS",
    "THRESHOLDS",
    "Difference",
    "JudgeScorer",
    "References",
    "RuleExtractor",
    "Scorer",
    "binarise",
    "binary_judge",
    "default_scorer",
    "differences",
    "dude",
    "equivalence_judge",
    "extraction",
    "get_scorer",
    "longdocurl",
    "mmlongbench",
    "qasper",
]
