"""Checking every finding of a run against its cited page, with the embedded check or a judge.

The embedded check takes documents one after the other, so that each is opened and indexed once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from looseleaf.document import Document
from looseleaf.errors import DocumentError, FaultError
from looseleaf.lab.grounding import PageIndex, check_finding
from looseleaf.lab.grounding.audit import GroundingRow
from looseleaf.lab.grounding.judge import GroundingJudge
from looseleaf.lab.records import Item
from looseleaf.memory import Finding
from looseleaf.models.registry import make_judge
from looseleaf.models.role_spec import RoleSpec
from looseleaf.roles import Judge
from looseleaf.runner.closing import closing
from looseleaf.runner.lab.documents import RunDocuments
from looseleaf.runner.stage import StageProgress, work_off
from looseleaf.runstore import Ledger, Run, config_id
from looseleaf.score import Unscored

__all__ = ["CHECK_VERSION", "Grounded", "check_groundings"]

CHECK_VERSION = 1
"""Version of the embedded check; raised when a finding may get another verdict."""
CONCURRENCY = 16
"""Judgements in flight."""


Work = Callable[["_Case"], Awaitable[GroundingRow]]


class Grounded(NamedTuple):
    """Where the verdicts are, and how many findings have none because something failed."""

    grounding_id: str
    name: str
    unscored: int


class _Case(NamedTuple):
    item: Item
    number: int
    finding: Finding

    @property
    def key(self) -> str:
        return f"{self.item.key}|{self.number}"


async def check_groundings(
    run: Run,
    checker: RoleSpec,
    items: Iterable[Item],
    documents: RunDocuments,
    progress: StageProgress | None = None,
) -> Grounded:
    """Check the findings that have no verdict yet."""
    config = {"check": checker.identity(), "version": CHECK_VERSION}
    grounding_id = config_id(f"grounding-{checker.name}", config)
    run.write_sidecar("audits", grounding_id, config)
    ledger = Ledger(run.path / "audits" / f"{grounding_id}.jsonl", GroundingRow)
    done = {row.key for row in ledger.read() if row.unscored is None}
    cases = [case for item in items for case in _cases(item) if case.key not in done]
    cases.sort(key=lambda case: case.item.question.doc_id)
    name = "text of the cited page, rules" if checker.backend == "embedded" else _judge_name(checker)
    try:
        if checker.backend == "embedded":
            work: Work = partial(_embedded, documents, _Indexes())
            await work_off("grounding", cases, work, ledger, concurrency=1, progress=progress)
        else:
            async with closing(_made(checker)) as judge:
                work = partial(_judged, GroundingJudge(judge), documents)
                await work_off("grounding", cases, work, ledger, concurrency=CONCURRENCY, progress=progress)
    finally:
        ledger.close()
    rows = {row.key: row for row in ledger.read()}
    return Grounded(grounding_id, name, sum(row.verdict is None for row in rows.values()))


def _made(checker: RoleSpec) -> Judge:
    judge = make_judge(checker)
    assert judge is not None
    return judge


def _cases(item: Item) -> Iterator[_Case]:
    memory = () if item.noted is None else item.noted.memory
    for number, finding in enumerate(memory, start=1):
        yield _Case(item, number, finding)


class _Indexes:
    """The page index of the latest document."""

    def __init__(self) -> None:
        self._latest: tuple[str, PageIndex] | None = None

    def of(self, document: Document) -> PageIndex:
        """The index of a document's texts."""
        if self._latest is None or self._latest[0] != document.sha256:
            self._latest = (document.sha256, PageIndex(document.texts()))
        return self._latest[1]


async def _embedded(documents: RunDocuments, indexes: _Indexes, case: _Case) -> GroundingRow:
    try:
        document = documents.open(case.item.question, case.item.trajectory)
    except DocumentError as problem:
        return _failed(case, Unscored.MISSING_DOCUMENT, str(problem))
    await asyncio.sleep(0)  # interrupts are heard between two findings
    grounding = check_finding(case.finding, indexes.of(document), case.item.question.question)
    return GroundingRow.of(case.item.key, case.number, case.finding.source_page, grounding)


def _failed(case: _Case, unscored: Unscored, error: str) -> GroundingRow:
    return GroundingRow(
        trajectory_id=case.item.key,
        finding=case.number,
        source_page=case.finding.source_page,
        unscored=unscored,
        error=error,
    )


def _judge_name(checker: RoleSpec) -> str:
    return f"judge {checker.name}"


async def _judged(judge: GroundingJudge, documents: RunDocuments, case: _Case) -> GroundingRow:
    """The judge's verdict; a fault or a reply without one is unscored."""
    try:
        document = await asyncio.to_thread(documents.open, case.item.question, case.item.trajectory)
        if not 1 <= case.finding.source_page <= document.page_count:
            return _failed(case, Unscored.MISSING_DOCUMENT, f"there is no page {case.finding.source_page}")
        grounding, reply, usage = await judge.check(case.finding, document)
    except DocumentError as problem:
        return _failed(case, Unscored.MISSING_DOCUMENT, str(problem))
    except FaultError as problem:
        return _failed(case, Unscored.JUDGE_FAULT, str(problem))
    if grounding is None:
        return _failed(case, Unscored.JUDGE_FAULT, f"The judge's reply holds no verdict: {reply[:200]}")
    return GroundingRow.of(case.item.key, case.number, case.finding.source_page, grounding, usage)
