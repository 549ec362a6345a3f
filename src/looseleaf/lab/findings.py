"""Audits of findings that need no document: cited pages, length, and whether a finding says anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from looseleaf.lab.history import turns_written
from looseleaf.lab.measure import measured
from looseleaf.lab.records import Item, ScoredRun
from looseleaf.lab.specificity import is_generic, says_nothing_found
from looseleaf.memory import MAX_FINDING_WORDS, Finding
from looseleaf.metrics import UNDEFINED, MetricValue, Ratio
from looseleaf.trajectory import Trajectory

__all__ = ["FindingAudit", "audit_findings", "was_shown"]


class FindingAudit(msgspec.Struct, frozen=True, kw_only=True):
    """Findings of a run, checked without its documents.

    Attributes:
        findings: how many there are.
        memories: trajectories with at least one.
        empty: trajectories with none.
        shown: share that cites a page that the policy had been shown by then.
        shown_cannot_fail: why that share could not be below 1, or empty.
        gold: share that cites a gold page, where the set annotates them.
        gold_cannot_fail: why that share could not be below 1, or empty.
        all_gold: share of memories whose every finding cites a gold page.
        over_length: share with more than `MAX_FINDING_WORDS` words.
        over_length_cannot_fail: why no finding could be longer, or empty.
        words: mean words of a finding; `longest` the most.
        generic: share that says what a page is about and nothing that could answer.
        nothing_found: share that only says that nothing was found.
    """

    findings: int
    memories: int
    empty: int
    shown: MetricValue
    shown_cannot_fail: str
    gold: MetricValue
    gold_cannot_fail: str
    all_gold: MetricValue
    over_length: MetricValue
    over_length_cannot_fail: str
    words: MetricValue
    longest: int
    generic: MetricValue
    nothing_found: MetricValue


class _Case(NamedTuple):
    """One finding with what it is judged by."""

    finding: Finding
    item: Item
    shown: bool | None


def audit_findings(scored: ScoredRun) -> FindingAudit:
    """Check every finding of every trajectory that no fault ended."""
    items = [item for item in scored.items if item.noted is not None]
    cases = [case for item in items for case in _cases(item)]
    rejects = scored.protocol.get("validation") == "reject" and scored.protocol.get("memory") != "none"
    return FindingAudit(
        findings=len(cases),
        memories=sum(bool(item.noted and item.noted.memory) for item in items),
        empty=sum(not (item.noted and item.noted.memory) for item in items),
        shown=_share("cites a page that was shown", cases, lambda case: case.shown),
        shown_cannot_fail=REJECTED if rejects else "",
        gold=_share("cites a gold page", cases, _cites_gold),
        gold_cannot_fail=_gold_only(items) if rejects else "",
        all_gold=_all_gold(items),
        over_length=_share("over the word limit", cases, lambda c: c.finding.words > MAX_FINDING_WORDS),
        over_length_cannot_fail=REJECTED if rejects else "",
        words=measured(
            "words of a finding",
            [(Ratio(c.finding.words), c.item.question.doc_id) for c in cases],
            rate=False,
        ),
        longest=max((case.finding.words for case in cases), default=0),
        generic=_share("generic", cases, lambda c: is_generic(c.finding.text, c.item.question.question)),
        nothing_found=_share("nothing found", cases, lambda c: says_nothing_found(c.finding.text)),
    )


REJECTED = "the protocol rejects such findings when they are written"
ONLY_GOLD = "only gold pages were shown (an oracle setting), and the protocol rejects other pages"


def _cases(item: Item) -> Iterator[_Case]:
    trajectory = item.noted
    if trajectory is not None:
        known = "pages" not in trajectory.undefined
        for finding, shown in zip(trajectory.memory, was_shown(trajectory), strict=True):
            yield _Case(finding, item, shown if known else None)


def was_shown(trajectory: Trajectory) -> tuple[bool, ...]:
    """For each finding, whether the page it cites had been shown when it was written."""
    first: dict[int, int] = {}
    for step in trajectory.steps:
        for page in step.observation.shown:
            first.setdefault(page, step.turn)
    turns = turns_written(trajectory)
    return tuple(
        finding.source_page in first and first[finding.source_page] <= turn
        for finding, turn in zip(trajectory.memory, turns, strict=True)
    )


def _share(name: str, cases: Sequence[_Case], hit: Callable[[_Case], bool | None]) -> MetricValue:
    def outcome(case: _Case) -> tuple[Ratio, str] | None:
        found = hit(case)
        return None if found is None else (Ratio(float(found)), case.item.question.doc_id)

    return measured(name, [outcome(case) or (UNDEFINED, case.item.question.doc_id) for case in cases])


def _cites_gold(case: _Case) -> bool | None:
    gold = case.item.question.evidence_pages
    return case.finding.source_page in gold if gold else None


def _all_gold(items: Iterable[Item]) -> MetricValue:
    outcomes = []
    for item in items:
        gold, memory = item.question.evidence_pages, item.noted.memory if item.noted else ()
        if gold and memory:
            hit = all(finding.source_page in gold for finding in memory)
            outcomes.append((Ratio(float(hit)), item.question.doc_id))
    return measured("all findings cite gold pages", outcomes)


def _gold_only(items: Sequence[Item]) -> str:
    """Whether gold pages were all that the policy could see on the rows that have them."""
    found = [item.noted for item in items if item.noted is not None and item.question.evidence_pages]
    return ONLY_GOLD if found and all(ran.oracle.get("gold_pages") for ran in found) else ""
