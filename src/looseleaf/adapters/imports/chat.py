"""Plain OpenAI chat conversations: JSON lines or a JSON array, each row an object with `messages`, or the bare list.

Source: the message format of OpenAI's Chat Completions API (`role`, `content` as text or as `text` and `image_url`
parts, `tool_calls`, `tool_call_id`), as its clients write it. The rest of a row is ours: `question` (else the words
of the user before the first turn), `question_id` or `id`, `doc_id` or `document`, the gold answer as in one's own
question files (`answer`, or `answers` or `references`), `prediction` (else the answer that the conversation gives),
`tools`, `seed`, `sample_index`, `seconds`, `model`, `usage`, and `error` for a conversation that a fault ended.

Actions are tool calls, tags or JSON; images are pages where they name one (`looseleaf.adapters.imports.page_names`),
a part may say so itself (`"page": 7`), and a message may list what it showed (`"shown": [7, 8]`). The agent has a
memory if any conversation of the file writes a note, or offers a tool that does; else memory is undefined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from looseleaf.adapters.imports.conversation import Conversation, read_conversation
from looseleaf.adapters.imports.fields import (
    as_mapping,
    items,
    mapping,
    number,
    optional_text,
    usage_of,
    whole,
)
from looseleaf.adapters.imports.gold import own_gold
from looseleaf.adapters.imports.json_file import json_records
from looseleaf.adapters.imports.options import PAGE_BASE_OPTION, page_base
from looseleaf.adapters.imports.source import Rejected, RowProblem, SourceFormat, SourceRow, converted
from looseleaf.adapters.imports.turns import NOTE_NAMES
from looseleaf.roles import Usage
from looseleaf.trajectory import StopReason

__all__ = ["CHAT", "any_notes", "stop_of"]


def _read(path: Path, options: Mapping[str, str]) -> Iterable[SourceRow | Rejected]:
    base = page_base(options)

    def convert(where: str, record: Any, notes_kept: bool = False) -> SourceRow:
        return _row(where, record, base, notes_kept)

    kept = any_notes(converted(json_records(path), convert))
    return converted(json_records(path), lambda where, record: convert(where, record, kept))


def any_notes(rows: Iterable[SourceRow | Rejected]) -> bool:
    """Whether some row has a memory, so that the others' memories are empty and not undefined."""
    return any(isinstance(row, SourceRow) and "memory" not in row.undefined for row in rows)


def _row(where: str, record: Any, base: int, notes_kept: bool) -> SourceRow:
    row = {"messages": record} if isinstance(record, list) else as_mapping(record, "the row")
    if not isinstance(row.get("messages"), list):
        raise RowProblem('it has no list of "messages"')
    read = read_conversation(row["messages"], base=base, notes_kept=notes_kept or _offers_notes(row))
    answer = optional_text(row, "prediction") or read.answer
    error = optional_text(row, "error")
    usage = usage_of(mapping(row, "usage"))
    return SourceRow(
        where=where,
        question=optional_text(row, "question") or read.opening,
        doc_id=optional_text(row, "doc_id", "document"),
        native_id=optional_text(row, "question_id", "id"),
        steps=read.steps,
        memory=read.memory,
        answer=answer,
        stop_reason=stop_of(answer, error),
        undefined=read.undefined,
        gold=own_gold(row, base),
        raw_pages=read.raw_pages,
        model=optional_text(row, "model"),
        sample_index=_sample(row),
        seed=whole(row, "seed"),
        usage=usage if usage.calls else _spent(read),
        seconds=max(0.0, number(row, "seconds")),
        error=error or None,
    )


def stop_of(answer: str | None, error: str) -> StopReason:
    """Why a conversation ended: a fault, without an answer, or with one."""
    if error:
        return StopReason.PROVIDER_ERROR
    return StopReason.TURN_LIMIT if answer is None else StopReason.ANSWERED


def _spent(read: Conversation) -> Usage:
    return sum((step.usage for step in read.steps), Usage())


def _sample(row: Mapping[str, Any]) -> int | None:
    sample = whole(row, "sample_index")
    return sample if sample is not None and 0 <= sample < MAX_SAMPLES else None


MAX_SAMPLES = 100_000
"""Most samples of one question that a file's own numbering is followed for."""


def _offers_notes(row: Mapping[str, Any]) -> bool:
    for given in items(row, "tools"):
        tool = as_mapping(given, "a tool")
        inner = tool.get("function")
        if optional_text(inner if isinstance(inner, dict) else tool, "name").lower() in NOTE_NAMES:
            return True
    return False


CHAT = SourceFormat(
    name="chat",
    title="OpenAI chat conversations (JSON lines or an array)",
    upstream="OpenAI Chat Completions message format",
    pages="as --set page-base says; 1-based by default",
    read=_read,
    options=PAGE_BASE_OPTION,
)
"""Conversations in OpenAI's message format."""
