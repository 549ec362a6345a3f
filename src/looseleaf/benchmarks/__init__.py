"""Benchmarks: their questions, and where the documents are. Loading opens no document."""

from looseleaf.benchmarks.benchmark import Benchmark
from looseleaf.benchmarks.own import load_questions
from looseleaf.benchmarks.question_set import AppliedOverlay, QuestionSet
from looseleaf.benchmarks.registry import BENCHMARKS, canonical_name, get_benchmark, load_benchmark

__all__ = [
    "BENCHMARKS",
    "AppliedOverlay",
    "Benchmark",
    "QuestionSet",
    "canonical_name",
    "get_benchmark",
    "load_benchmark",
    "load_questions",
]
