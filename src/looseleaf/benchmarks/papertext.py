"""PaperText: 2,804 questions on the text of 1,087 papers, a part of UDA made from QASPER (arXiv 2105.03011)."""

from __future__ import annotations

from looseleaf.benchmarks.uda import uda_benchmark

__all__ = ["BENCHMARK"]

BENCHMARK = uda_benchmark("papertext", "PaperText", stems=("papertext",), rows=2804, text_format="Str")
"""PaperText: up to three references a question, token F1 over the best of them."""
