"""`Draft`: a question that could be asked of a document, before it is known on which pages it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from looseleaf.procedural.programs import Program

__all__ = ["CHART", "FIGURE", "LAYOUT", "TABLE", "TEXT", "Draft", "Source"]

Source = Literal["Pure-text (Plain-text)", "Table", "Chart", "Figure", "Generalized-text (Layout)"]
"""The five evidence sources of MMLongBench-Doc (data/samples.json @ a5cf967)."""
TEXT: Source = "Pure-text (Plain-text)"
TABLE: Source = "Table"
CHART: Source = "Chart"
FIGURE: Source = "Figure"
LAYOUT: Source = "Generalized-text (Layout)"


@dataclass(frozen=True)
class Draft:
    """A question with its answer as a program.

    Attributes:
        template: name of the wording; never shared between splits.
        text: the question.
        program: how the answer follows.
        evidence: slots whose pages are the evidence pages; empty for unanswerable questions.
        sources: evidence sources.
        siblings: the same question about look-alike places; none may have the same answer, of counts few.
        common: whether the answer (a count, a row's name) may stand on other pages too.
    """

    template: str
    text: str
    program: Program
    evidence: tuple[str, ...]
    sources: tuple[Source, ...]
    siblings: tuple[Program, ...] = ()
    common: bool = False
