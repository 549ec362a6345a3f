"""Rollouts of verifiers: `results.jsonl` of the earlier environments, `traces.jsonl` of version 1.

Source: PrimeIntellect-ai/verifiers @ a60a606. *Results*: `verifiers/legacy/utils/save_utils.py` (state_to_output),
one JSON object a line with `example_id`, `prompt` and `completion` (messages, each tool call as JSON text), `answer`
(the gold), `info`, `reward`, `error`, `is_truncated`, `stop_condition`, `token_usage`. *Traces*:
`verifiers/v1/cli/output.py` (write_episode), one episode a line; each of its `traces` (`v1/trace.py`) has
`task.data`, a graph of `nodes` (message, parent, sampled), `calls` with usage, `stop_condition`, `errors`, `ok`. The
path to the last sampled message is read; other branches are earlier drafts of the context.

What names the document and the question is the environment's own: `doc_id`, `question`, `evidence_pages` and gold
answers are looked for in `info` or in the task's data, and the question else is the first message of the user. Pages
and memory are read from the messages as in chat conversations. FILE is the file, or the folder of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from looseleaf.adapters.imports.chat import any_notes, stop_of
from looseleaf.adapters.imports.conversation import read_conversation
from looseleaf.adapters.imports.fields import as_mapping, items, mapping, optional_text, shown_value, usage_of
from looseleaf.adapters.imports.gold import own_gold
from looseleaf.adapters.imports.json_file import json_records
from looseleaf.adapters.imports.options import PAGE_BASE_OPTION, page_base
from looseleaf.adapters.imports.source import Rejected, RowProblem, SourceFormat, SourceRow, converted
from looseleaf.errors import DataError
from looseleaf.roles import Usage
from looseleaf.trajectory import StopReason

__all__ = ["VERIFIERS"]

FILES = ("traces.jsonl", "results.jsonl")
OVERFLOWS = frozenset(
    {
        *("prompt_too_long", "max_total_completion_tokens_reached"),
        *("context_length", "max_input_tokens", "max_output_tokens", "max_total_tokens"),
    }
)
"""Stop conditions of a conversation that outgrew its context or its tokens, so that its last words are no answer
(PrimeIntellect-ai/verifiers @ a60a606, legacy/envs/multiturn_env.py and v1/trace.py, is_truncated)."""


def _read(path: Path, options: Mapping[str, str]) -> Iterable[SourceRow | Rejected]:
    base = page_base(options)
    file = _file(path)

    def convert(where: str, record: Any, kept: bool = False) -> SourceRow:
        row = as_mapping(record, "the row")
        return _trace(where, row, base, kept) if "nodes" in row else _result(where, row, base, kept)

    kept = any_notes(converted(_rollouts(file), convert))
    return converted(_rollouts(file), lambda where, record: convert(where, record, kept))


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = next((path / name for name in FILES if (path / name).is_file()), None)
    if found is None:
        raise DataError(f"{path} holds neither traces.jsonl nor results.jsonl; give the file.")
    return found


def _rollouts(file: Path) -> Iterator[tuple[str, Any]]:
    """Every rollout; an episode holds the traces of one or several agents, of which the trained one counts."""
    for where, record in json_records(file):
        if not isinstance(record, dict) or "traces" not in record:
            yield where, record
            continue
        traces = record["traces"]
        chosen = (
            [t for t in traces if isinstance(t, dict) and _is_policy(t)] if isinstance(traces, list) else []
        )
        if not chosen:
            yield where, _without_trace(record)
        for number, trace in enumerate(chosen):
            yield (where if number == 0 else f"{where}, trace {number}"), trace


def _is_policy(trace: Mapping[str, Any]) -> bool:
    agent = trace.get("agent")
    return not isinstance(agent, dict) or agent.get("trainable", True) is not False


def _without_trace(episode: Mapping[str, Any]) -> Any:
    """An episode that failed before any trace: its task and errors."""
    if isinstance(episode.get("task"), dict) and episode.get("errors"):
        return {"task": episode["task"], "errors": episode["errors"], "nodes": []}
    return RowProblem("the episode holds no trace")


# -- results.jsonl -----------------------------------------------------------------------------------------------


def _result(where: str, row: Mapping[str, Any], base: int, kept: bool) -> SourceRow:
    about = {**mapping(row, "info"), **{key: row[key] for key in ABOUT if row.get(key) is not None}}
    usage = usage_of(mapping(row, "token_usage"))
    return _row(
        where,
        [*_messages(row.get("prompt"), "user"), *_messages(row.get("completion"), "assistant")],
        about,
        _error(row.get("error")),
        optional_text(row, "stop_condition"),
        base,
        kept,
        native_id=optional_text(about, "question_id") or optional_text(row, "example_id"),
        usage=usage,
        model=optional_text(row, "model"),
    )


ABOUT = ("doc_id", "question", "evidence_pages", "answer", "references")


def _messages(given: Any, role: str) -> list[Any]:
    if given is None:
        return []
    if isinstance(given, str):
        return [{"role": role, "content": given}]
    if not isinstance(given, list):
        raise RowProblem(f"its messages are {shown_value(given)}")
    return given


def _error(given: Any) -> str:
    if isinstance(given, dict):
        return ": ".join(
            filter(None, (optional_text(given, "error", "type"), optional_text(given, "message")))
        )
    return "" if given is None else str(given)


# -- traces.jsonl ------------------------------------------------------------------------------------------------


def _trace(where: str, trace: Mapping[str, Any], base: int, kept: bool) -> SourceRow:
    data = mapping(mapping(trace, "task"), "data")
    errors = [_error(error) for error in items(trace, "errors")]
    failed = trace.get("ok") is False or not trace.get("nodes")
    calls = [as_mapping(call, "a call") for call in items(trace, "calls")]
    model = next((name for call in calls if (name := optional_text(call, "model"))), "")
    prompt = [*_messages(data.get("prompt"), "user")] if not trace.get("nodes") else []
    return _row(
        where,
        [*prompt, *_path(items(trace, "nodes"))],
        {**mapping(trace, "info"), **data},
        errors[-1] if errors and failed else "",
        optional_text(trace, "stop_condition"),
        base,
        kept,
        native_id=optional_text(data, "question_id", "name") or optional_text(data, "idx"),
        usage=sum((usage_of(mapping(call, "usage")) for call in calls), Usage()),
        model=model,
    )


def _path(nodes: list[Any]) -> list[Any]:
    """Messages from the root to the last sampled node."""
    records = [as_mapping(node, "a node") for node in nodes]
    sampled = [place for place, node in enumerate(records) if node.get("sampled")]
    place = sampled[-1] if sampled else len(records) - 1
    path: list[Any] = []
    while 0 <= place < len(records) and len(path) <= len(records):
        path.append(records[place].get("message"))
        parent = records[place].get("parent")
        if parent is None:
            return path[::-1]
        if not isinstance(parent, int) or isinstance(parent, bool) or not 0 <= parent < place:
            raise RowProblem(f"a node has the parent {shown_value(parent)}")
        place = parent
    return path[::-1]


def _row(
    where: str,
    messages: list[Any],
    about: Mapping[str, Any],
    error: str,
    stop: str,
    base: int,
    kept: bool,
    *,
    native_id: str,
    usage: Usage,
    model: str,
) -> SourceRow:
    if error and not any(isinstance(m, dict) and m.get("role") == "assistant" for m in messages):
        messages = [*messages, {"role": "assistant", "content": ""}]
    read = read_conversation(messages, base=base, notes_kept=kept, answers=stop not in OVERFLOWS)
    answer = None if error else read.answer
    reason = stop_of(answer, error)
    overflow = reason is StopReason.TURN_LIMIT and stop in OVERFLOWS
    return SourceRow(
        where=where,
        question=optional_text(about, "question") or read.opening,
        doc_id=optional_text(about, "doc_id", "document"),
        native_id=native_id,
        steps=read.steps,
        memory=read.memory,
        answer=answer,
        stop_reason=StopReason.CONTEXT_OVERFLOW if overflow else reason,
        undefined=read.undefined,
        gold=own_gold(about, base),
        raw_pages=read.raw_pages,
        model=model,
        usage=usage,
        error=error or None,
    )


VERIFIERS = SourceFormat(
    name="verifiers",
    title="verifiers rollouts (results.jsonl, or traces.jsonl of version 1)",
    upstream="PrimeIntellect-ai/verifiers @ a60a606",
    pages="as --set page-base says; 1-based by default",
    read=_read,
    options=PAGE_BASE_OPTION,
)
"""Saved rollouts of verifiers environments."""
