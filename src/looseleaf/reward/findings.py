"""Checks of single findings that need no model, for the penalties that AWM names as rejected variants."""

from __future__ import annotations

import re
from collections.abc import Iterable

from looseleaf.memory import Finding
from looseleaf.trajectory import Trajectory

__all__ = ["cites_shown_page", "echoes_answer"]

WORD = re.compile(r"\d+(?:[.,]\d+)*|\w+")
"""Numbers keep their inner points and commas, so that 4.7 is not 4 and 7; all other punctuation is dropped."""

ECHO_FILLER = frozenset(
    WORD.findall(
        "a an the answer answers is are was were be it its this that final correct result so therefore thus "
        "question to of for here and we i have has found please note which according document page"
    )
)
"""Words that a finding may hold beside the answer and still say nothing else."""


def cites_shown_page(trajectory: Trajectory) -> tuple[bool, ...]:
    """For each finding, whether the page it cites had been shown to the policy.

    This is provenance, weaker than support: a finding can cite a page that it saw and misquote it. A claim-level
    check gives verdicts of the same shape.
    """
    shown = frozenset(trajectory.shown_pages)
    return tuple(finding.source_page in shown for finding in trajectory.memory)


def echoes_answer(findings: Iterable[Finding], answer: str | None) -> tuple[bool, ...]:
    """For each finding, whether it says nothing but the answer ("The answer is 4.7 %.").

    A finding echoes if it holds all words of the answer in order and nothing beside them but `ECHO_FILLER`; "The 2020
    rate is 4.7 %" does not. An empty answer is echoed by nothing.
    """
    wanted = _words(answer or "")
    return tuple(_echoes(_words(finding.text), wanted) for finding in findings)


def _words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


def _echoes(words: list[str], answer: list[str]) -> bool:
    if not answer:
        return False
    width = len(answer)
    for start in range(len(words) - width + 1):
        if words[start : start + width] == answer:
            return ECHO_FILLER.issuperset(words[:start] + words[start + width :])
    return False
