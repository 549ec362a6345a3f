"""FetaTab: 1,016 questions on tables of 871 Wikipedia pages, a part of UDA made from FeTaQA (arXiv 2104.00369)."""

from __future__ import annotations

from looseleaf.benchmarks.uda import uda_benchmark

__all__ = ["BENCHMARK"]

BENCHMARK = uda_benchmark("fetatab", "FetaTab", stems=("fetatab", "fetaqa"), rows=1016, text_format="Str")
"""FetaTab: one full sentence as reference; UDA's csv has 1,023 rows."""
