"""PaperTab: 393 questions on the tables of 307 papers, a part of UDA made from QASPER (arXiv 2105.03011)."""

from __future__ import annotations

from looseleaf.benchmarks.uda import uda_benchmark

__all__ = ["BENCHMARK"]

BENCHMARK = uda_benchmark("papertab", "PaperTab", stems=("papertab",), rows=393, text_format="Str")
"""PaperTab: up to three references a question, token F1 over the best of them."""
