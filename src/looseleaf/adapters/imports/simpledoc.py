"""SimpleDoc result files, in the three shapes that its repository has written.

Source: ag2ai/SimpleDoc. *Chat*: `pipeline/run_simpledoc_chat.py` @ d31a960, a JSON array of `input` (the sample),
`final_answer`, `relevant_pages`, `document_summary`. *Pipeline*: `pipeline/run_simpledoc_pipeline.py` @ 05d71fa (read
by `evaluation/evaluate_pipeline.py`), a JSON array of `doc_id`, `original_question`, `iterations` (each with `query`,
`pages`, `answer`, `response_type`, `notes`, `qa_response`), `final_answer`, `final_response_type`. *Page QA*:
`modules/step03_target_page_qa.py` @ d31a960, JSON lines of `processed_response`, `response_type`, `doc_id`,
`question`, `evidence_pages` (the pages shown, despite the name), `ori_response`, `error`. Pages are 1-based
(`agent/retriever_agent.py`).

A chat result holds the pages of the last round only, and no rounds: steps and pages are undefined. The notes that
rounds pass on cite no page and replace each other, so they are kept as thoughts and are no working memory. An answer
is "Not answerable" where the response type says so. A last round that only asks for other pages gave no answer; the
repository's own evaluation takes it for a refusal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from looseleaf.adapters.imports.fields import as_mapping, items, optional_text, page_of, pages_of, text
from looseleaf.adapters.imports.gold import sample_gold
from looseleaf.adapters.imports.json_file import json_records
from looseleaf.adapters.imports.source import Rejected, RowProblem, SourceFormat, SourceRow, converted
from looseleaf.question import NOT_ANSWERABLE
from looseleaf.roles import Action, Observation
from looseleaf.trajectory import Step, StopReason

__all__ = ["SIMPLEDOC"]

PAGE_BASE = 1
"""First page of SimpleDoc (ag2ai/SimpleDoc @ d31a960, agent/retriever_agent.py, page_keys)."""
ANSWER = "answer"
QUERY_UPDATE = "query_update"
"""Response types of SimpleDoc; the third is `not_answerable`."""
LAST_ROUND = "Only the pages of the last round are recorded; they can be looked at and are not counted."


def _read(path: Path, options: Mapping[str, str]) -> Iterable[SourceRow | Rejected]:
    return converted(json_records(path), _row)


def _row(where: str, record: Any) -> SourceRow:
    row = as_mapping(record, "the row")
    if "iterations" in row:
        return _pipeline(where, row)
    if "processed_response" in row or "ori_response" in row or ("error" in row and "input" not in row):
        return _page_qa(where, row)
    if "input" in row:
        return _chat(where, row)
    raise RowProblem("it is in none of the three shapes that SimpleDoc writes")


def _chat(where: str, row: Mapping[str, Any]) -> SourceRow:
    sample = as_mapping(row["input"], '"input"')
    raw = items(row, "relevant_pages")
    answer = None if row.get("final_answer") is None else optional_text(row, "final_answer")
    shown = Observation(text=optional_text(row, "document_summary"), shown=pages_of(raw, PAGE_BASE))
    return SourceRow(
        where=where,
        question=text(sample, "question"),
        doc_id=optional_text(sample, "doc_id"),
        steps=(Step(turn=0, observation=shown), *_answered(1, answer)),
        answer=answer,
        stop_reason=_stopped(answer, ""),
        undefined=("memory", "pages", "steps"),
        gold=sample_gold(sample),
        raw_pages=raw,
        notes=(LAST_ROUND,),
        error=None if answer is not None else "the source records no answer",
    )


def _pipeline(where: str, row: Mapping[str, Any]) -> SourceRow:
    rounds = [as_mapping(entry, "an iteration") for entry in items(row, "iterations")]
    kind = optional_text(row, "final_response_type")
    answer = _answer(row.get("final_answer"), kind)
    return SourceRow(
        where=where,
        question=text(row, "original_question", "question"),
        doc_id=optional_text(row, "doc_id"),
        steps=tuple(step for number, entry in enumerate(rounds, 1) for step in (_round(number, entry),)),
        answer=answer,
        stop_reason=_stopped(answer, kind) if rounds else None,
        undefined=("memory",),
        gold=sample_gold(row),
        raw_pages=[entry.get("pages") for entry in rounds],
    )


def _round(number: int, entry: Mapping[str, Any]) -> Step:
    """One round is one turn: pages for a query, then an answer or a better query."""
    kind = optional_text(entry, "response_type")
    ends = kind != QUERY_UPDATE
    answer = _answer(entry.get("answer"), kind)
    action = Action.answer(answer or "") if ends else Action.search(optional_text(entry, "query"))
    return Step(
        turn=number,
        thought=optional_text(entry, "notes"),
        action=action,
        observation=Observation(
            text=optional_text(entry, "document_summary"), shown=pages_of(items(entry, "pages"), PAGE_BASE)
        ),
        model_text=optional_text(entry, "qa_response"),
    )


def _page_qa(where: str, row: Mapping[str, Any]) -> SourceRow:
    raw = items(row, "evidence_pages")
    kind, error = optional_text(row, "response_type"), optional_text(row, "error")
    answer = _answer(row.get("processed_response"), kind)
    shown = Observation(text="", shown=tuple(page_of(page, PAGE_BASE) for page in raw))
    fault = bool(error) and answer is None
    return SourceRow(
        where=where,
        question=text(row, "question"),
        doc_id=optional_text(row, "doc_id"),
        steps=(Step(turn=0, observation=shown), *_answered(1, answer, optional_text(row, "ori_response"))),
        answer=answer,
        stop_reason=StopReason.PROVIDER_ERROR if fault else _stopped(answer, kind),
        undefined=("memory",),
        raw_pages=raw,
        error=error or None,
    )


def _answered(turn: int, answer: str | None, said: str = "") -> tuple[Step, ...]:
    if answer is None:
        return ()
    return (Step(turn=turn, action=Action.answer(answer), observation=Observation(text=""), model_text=said),)


def _answer(given: Any, kind: str) -> str | None:
    """The final answer; `None` where the last round only asked for other pages."""
    if kind == QUERY_UPDATE or (given is None and kind in ("", ANSWER)):
        return None
    if kind and kind != ANSWER:
        return NOT_ANSWERABLE
    if isinstance(given, list):  # the parser of the source keeps a pair in some versions
        given = given[0] if given else ""
    return given if isinstance(given, str) else str(given)


def _stopped(answer: str | None, kind: str) -> StopReason:
    if answer is not None:
        return StopReason.ANSWERED
    return StopReason.TURN_LIMIT if kind == QUERY_UPDATE else StopReason.PROVIDER_ERROR


SIMPLEDOC = SourceFormat(
    name="simpledoc",
    title="SimpleDoc result files (chat, pipeline and page-QA shapes)",
    upstream="ag2ai/SimpleDoc @ d31a960 and @ 05d71fa",
    pages="1-based",
    read=_read,
)
"""What SimpleDoc's scripts write."""
