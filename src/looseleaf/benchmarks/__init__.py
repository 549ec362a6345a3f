"""Benchmarks: their questions, and where the documents are. Loading opens no document."""

from looseleaf.benchmarks.benchmark import Benchmark
from looseleaf.benchmarks.check import CheckReport, DocumentRecord, check
from looseleaf.benchmarks.faults import Fault, FaultKind
from looseleaf.benchmarks.own import load_questions
from looseleaf.benchmarks.question_set import AppliedOverlay, QuestionSet
from looseleaf.benchmarks.registry import BENCHMARKS, canonical_name, get_benchmark, load_benchmark
from looseleaf.benchmarks.routing import document_hashes, verify_routing

__all__ = [
    "BENCHMARKS",
    "AppliedOverlay",
    "Benchmark",
    "CheckReport",
    "DocumentRecord",
    "Fault",
    "FaultKind",
    "QuestionSet",
    "canonical_name",
    "check",
    "document_hashes",
    "get_benchmark",
    "load_benchmark",
    "load_questions",
    "verify_routing",
]
