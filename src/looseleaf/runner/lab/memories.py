"""Memories that need the documents: text of the gold pages, and memories that a stronger model writes from them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from looseleaf.agent import run_agent
from looseleaf.document import MIN_TEXT_CHARACTERS
from looseleaf.environment import Environment
from looseleaf.errors import DocumentError
from looseleaf.memory import Finding, WorkingMemory
from looseleaf.models.prompts import prompt_hashes
from looseleaf.models.registry import make_policy
from looseleaf.models.role_spec import CHAT_BACKENDS, RoleSpec
from looseleaf.protocol import PROTOCOLS
from looseleaf.question import Question
from looseleaf.retrieval import GoldPagesRetriever
from looseleaf.roles import Policy, Usage
from looseleaf.runner.closing import closing
from looseleaf.runner.lab.documents import RunDocuments
from looseleaf.runner.stage import StageProgress, work_off
from looseleaf.runstore import Ledger, Run, config_id
from looseleaf.score import Unscored
from looseleaf.trajectory import StopReason

__all__ = ["MemoryRow", "gold_texts", "write_improved"]

CONCURRENCY = 8
"""Memories being written at once."""


class MemoryRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A memory that was written for a question.

    Attributes:
        question_id: the question.
        memory: the findings.
        stop_reason: how the writing ended.
        unscored: why there is no memory.
        error: the sentence of the fault.
        usage: what it took.
    """

    question_id: str
    memory: tuple[Finding, ...] = ()
    stop_reason: StopReason
    unscored: Unscored | None = None
    error: str | None = None
    usage: Usage = Usage()

    @property
    def key(self) -> str:
        """Identity of the row inside its ledger."""
        return self.question_id


def gold_texts(
    questions: Iterable[Question], documents: RunDocuments, words: int = 0
) -> dict[str, WorkingMemory]:
    """Text of the gold pages by question id, one entry a page.

    Questions without gold pages, or whose gold pages have no text (charts, scans), have none.

    Args:
        questions: whose pages.
        documents: where they are.
        words: most words of all pages together; 0 = all.
    """
    found: dict[str, WorkingMemory] = {}
    for question in sorted(questions, key=lambda q: q.doc_id):
        try:
            pages = [(page, _page_text(question, page, documents)) for page in question.evidence_pages or ()]
        except DocumentError:
            continue
        entries = _cut([(page, text) for page, text in pages if len(text) >= MIN_TEXT_CHARACTERS], words)
        if entries:
            found[question.question_id] = WorkingMemory(Finding(text, page) for page, text in entries)
    return found


def _page_text(question: Question, page: int, documents: RunDocuments) -> str:
    document = documents.open(question)
    return document.text(page).strip() if 1 <= page <= document.page_count else ""


def _cut(pages: Sequence[tuple[int, str]], words: int) -> list[tuple[int, str]]:
    """The pages with equal shares of a number of words; line breaks inside a page become spaces where it is cut."""
    if not words or not pages:
        return list(pages)
    share = max(1, words // len(pages))
    return [
        (page, text if len(text.split()) <= share else " ".join(text.split()[:share])) for page, text in pages
    ]


async def write_improved(
    run: Run,
    writer: RoleSpec,
    questions: Iterable[Question],
    documents: RunDocuments,
    progress: StageProgress | None = None,
) -> tuple[str, dict[str, MemoryRow]]:
    """Let a policy write a memory for every question with gold pages, seeing only those (AWM: GPT-4o, EP-given).

    Returns:
        The ledger's id and its rows by question id; a memory that failed is unscored and tried again next time.
    """
    config = _config(writer)
    ledger_id = config_id(writer.name, config)
    run.write_sidecar("memories", ledger_id, config)
    ledger = Ledger(run.path / "memories" / f"{ledger_id}.jsonl", MemoryRow)
    done = {row.key for row in ledger.read() if row.unscored is None}
    work = [q for q in questions if q.evidence_pages and q.question_id not in done]
    try:
        async with closing(make_policy(writer)) as policy:

            async def write(question: Question) -> MemoryRow:
                return await _written(policy, question, documents)

            name = f"writer {writer.name}"
            await work_off(name, work, write, ledger, concurrency=CONCURRENCY, progress=progress)
    finally:
        ledger.close()
    return ledger_id, {row.key: row for row in ledger.read()}


def _config(writer: RoleSpec) -> dict[str, Any]:
    prompts: Mapping[str, str] = {}
    if writer.backend in CHAT_BACKENDS:
        prompts = prompt_hashes(writer.options.get("prompt", ""))
    return {"writer": writer.identity(), "protocol": "ep-given", "prompts": dict(prompts)}


async def _written(policy: Policy, question: Question, documents: RunDocuments) -> MemoryRow:
    try:
        document = await asyncio.to_thread(documents.open, question)
    except DocumentError as problem:
        return _failed(question, StopReason.DOCUMENT_ERROR, str(problem))
    retriever = GoldPagesRetriever(question.evidence_pages or ())
    retriever.index(document)
    environment = Environment(question, document, retriever, PROTOCOLS["ep-given"])
    trajectory = await run_agent(policy, environment)
    if trajectory.stop_reason.is_fault:
        return _failed(question, trajectory.stop_reason, trajectory.error or "")
    return MemoryRow(
        question_id=question.question_id,
        memory=trajectory.memory,
        stop_reason=trajectory.stop_reason,
        usage=trajectory.usage,
    )


def _failed(question: Question, reason: StopReason, error: str) -> MemoryRow:
    return MemoryRow(
        question_id=question.question_id, stop_reason=reason, unscored=Unscored.AGENT_FAULT, error=error
    )
