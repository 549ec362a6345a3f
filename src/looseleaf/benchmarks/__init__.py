"""Benchmarks: their questions, and where the documents are. Loading opens no document."""

from looseleaf.benchmarks.benchmark import Benchmark
from looseleaf.benchmarks.check import CheckReport, DocumentRecord, check
from looseleaf.benchmarks.contamination import ContaminationReport, Overlap, OverlapKind, contamination
from looseleaf.benchmarks.faults import Fault, FaultKind
from looseleaf.benchmarks.fetching import FetchReport, fetch
from looseleaf.benchmarks.leak import ConstantScores, constant_scores
from looseleaf.benchmarks.overlay_build import overlay_between
from looseleaf.benchmarks.own import load_questions
from looseleaf.benchmarks.question_set import AppliedOverlay, QuestionSet
from looseleaf.benchmarks.registry import BENCHMARKS, canonical_name, get_benchmark, load_benchmark
from looseleaf.benchmarks.routing import document_hashes, verify_routing

__all__ = [
    "BENCHMARKS",
    "AppliedOverlay",
    "Benchmark",
    "CheckReport",
    "ConstantScores",
    "ContaminationReport",
    "DocumentRecord",
    "Fault",
    "FaultKind",
    "FetchReport",
    "Overlap",
    "OverlapKind",
    "QuestionSet",
    "canonical_name",
    "check",
    "constant_scores",
    "contamination",
    "document_hashes",
    "fetch",
    "get_benchmark",
    "load_benchmark",
    "load_questions",
    "overlay_between",
    "verify_routing",
]
