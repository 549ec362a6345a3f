"""MADQA result files: one JSON object a line.

Source: OxRML/MADQA @ 978fa76 (Borchmann et al., arXiv 2603.12180). Writers: `process_dataset.py` in
`baselines/bm25-mllm-agent`, with `openai_agent.py`, `anthropic_agent.py`, `gemini_agent.py` and `vllm_agent.py`; the
reader of record is `eval/evaluate.py`. A line holds `question`, `id`, `answer` (a list of values), `citations`
(`file` or `document`, and `page`), `iterations`, `search_history` and `trajectory`, a list of assistant steps with
`tool_calls` (name, arguments), `tool_results` (each with the `results` that were returned as page images),
`thinking`, `content` and `usage`. A question that failed has `error` in place of an answer. Pages are 1-based
(`utils.py`, get_pdf_page_as_png).

The benchmark asks about a collection, a trajectory here is about one document: that of the gold evidence where the
file says it, else that of the first citation. Where pages of other documents were shown as well, the pages shown are
not all pages of this document, and the metrics of navigation are undefined. The format records no working memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from looseleaf.adapters.imports.fields import as_mapping, items, optional_text, page_of, text, usage_of, whole
from looseleaf.adapters.imports.json_file import json_records
from looseleaf.adapters.imports.source import Gold, Rejected, RowProblem, SourceFormat, SourceRow, converted
from looseleaf.roles import Action, Observation, Returned, Usage
from looseleaf.trajectory import Part, Step, StopReason

__all__ = ["MADQA"]

PAGE_BASE = 1
"""First page of MADQA (OxRML/MADQA @ 978fa76, baselines/bm25-mllm-agent/utils.py)."""
NO_RESPONSE = "No response received"
"""What stands for an answer that a server did not give (openai-file-search/openai_file_search_agent.py); other faults
come with an `error`, whatever text stands under `answer`."""
OTHER_DOCUMENTS = "Pages of other documents were shown too: navigation within the one document is undefined."

Place = tuple[str, int]


def _read(path: Path, options: Mapping[str, str]) -> Iterable[SourceRow | Rejected]:
    return converted(json_records(path), _row)


def _row(where: str, record: Any) -> SourceRow:
    row = as_mapping(record, "the row")
    document = _document(row)
    given = [as_mapping(step, "a step") for step in items(row, "trajectory")]
    shown = [_places(step) for step in given]
    answer = _answer(row.get("answer"))
    error = optional_text(row, "error") or (answer if answer == NO_RESPONSE else "")
    answer = None if error else answer
    strangers = any(name != document for places in shown for name, _ in places)
    lacks: list[Part] = ["memory"]
    if strangers or not given:
        lacks.append("pages")
    if not given and whole(row, "iterations") is None:
        lacks.append("steps")
    steps = tuple(
        _step(number, step, places, document)
        for number, (step, places) in enumerate(zip(given, shown, strict=True), 1)
    )
    return SourceRow(
        where=where,
        question=text(row, "question"),
        doc_id=document,
        native_id=optional_text(row, "id"),
        steps=steps or _counted(whole(row, "iterations")),
        answer=answer,
        stop_reason=_stop_reason(answer, error),
        undefined=tuple(lacks),
        gold=_gold(row, document),
        raw_pages=[step.get("tool_results") for step in given] or row.get("citations"),
        notes=(OTHER_DOCUMENTS,) if strangers else (),
        model=optional_text(row, "model"),
        usage=sum((step.usage for step in steps), Usage()),
        error=error or None,
    )


def _document(row: Mapping[str, Any]) -> str:
    """The document that the question is about, as far as the file says it."""
    for key in ("ground_truth_locations", "evidence", "citations"):
        names = [
            _file(as_mapping(entry, f'an entry of "{key}"'))
            for entry in items(row, key)
            if isinstance(entry, dict)
        ]
        if any(names):
            return next(filter(None, names))
    return next((name for name in items(row, "documents") if isinstance(name, str)), "")


def _file(entry: Mapping[str, Any]) -> str:
    return optional_text(entry, "document", "file")


def _places(step: Mapping[str, Any]) -> list[Place]:
    """(file, page) of every page image that followed a step."""
    found = []
    for given in items(step, "tool_results"):
        for entry in items(as_mapping(given, "a tool result"), "results"):
            result = as_mapping(entry, "a search result")
            found.append((_file(result), page_of(result.get("page", result.get("page_number")), PAGE_BASE)))
    return found


def _step(number: int, step: Mapping[str, Any], places: list[Place], document: str) -> Step:
    own = tuple(dict.fromkeys(page for name, page in places if name == document))
    return Step(
        turn=number,
        thought=optional_text(step, "thinking"),
        action=_action(step),
        observation=Observation(
            text="\n".join(f"{name}, page {page}" for name, page in places),
            returned=tuple(Returned(page, 0.0) for page in own),
            shown=own,
        ),
        model_text=optional_text(step, "content", "raw_response"),
        usage=usage_of(step["usage"]) if isinstance(step.get("usage"), dict) else Usage(),
        invalid=optional_text(step, "error") or _refused(step) or None,
    )


def _refused(step: Mapping[str, Any]) -> str:
    """What the environment said of a call that it could not carry out, where it carried out none."""
    results = [as_mapping(result, "a tool result") for result in items(step, "tool_results")]
    if any("results" in result for result in results):
        return ""
    return next((said for result in results if (said := optional_text(result, "error"))), "")


def _action(step: Mapping[str, Any]) -> Action | None:
    """The first search, further ones of the same turn beside it; else the answer."""
    calls = [as_mapping(call, "a tool call") for call in items(step, "tool_calls")]
    queries = [query for call in calls if (query := _query(call))]
    if queries:
        return Action("search", {"query": queries[0], **({"also": queries[1:]} if queries[1:] else {})})
    parsed = step.get("parsed_answer")
    answer = _answer(parsed.get("answer")) if isinstance(parsed, dict) else None
    return None if answer is None else Action.answer(answer)


def _query(call: Mapping[str, Any]) -> str:
    arguments = call.get("arguments", call.get("input", call.get("args")))
    return optional_text(arguments, "query") if isinstance(arguments, dict) else ""


def _answer(given: Any) -> str | None:
    """The predicted answer as text; a list of several values in the notation that list scorers read."""
    values = given if isinstance(given, list) else [given]
    words = [str(value) for value in values if value is not None]
    if len(words) > 1:
        return repr(words)
    return words[0] if words else None


def _stop_reason(answer: str | None, error: str) -> StopReason:
    if error:
        return StopReason.PROVIDER_ERROR
    return StopReason.TURN_LIMIT if answer is None else StopReason.ANSWERED


def _counted(iterations: int | None) -> tuple[Step, ...]:
    """Empty turns, where the file tells only how many there were."""
    count = min(max(iterations or 0, 0), MAX_TURNS)
    return tuple(Step(turn=number, observation=Observation(text="")) for number in range(1, count + 1))


MAX_TURNS = 1000
"""Most turns that a mere count is believed."""


def _gold(row: Mapping[str, Any], document: str) -> Gold:
    answers = row.get("ground_truth_answers")
    if answers is not None and not isinstance(answers, list):
        raise RowProblem('"ground_truth_answers" is no list')
    places = list(_gold_places(row))
    pages = tuple(dict.fromkeys(page for name, page in places if name == document))
    whole_gold = all(name == document for name, _ in places)
    category = optional_text(row, "category")
    return Gold(
        references=tuple(_reference(answer) for answer in answers or ()),
        evidence_pages=pages if places and whole_gold else None,
        raw_evidence=row.get("ground_truth_locations"),
        tags={"category": category} if category else {},
    )


def _gold_places(row: Mapping[str, Any]) -> Iterator[Place]:
    for entry in items(row, "ground_truth_locations"):
        if isinstance(entry, dict) and entry.get("page") is not None:
            yield _file(entry), page_of(entry["page"], PAGE_BASE)


def _reference(variant: Any) -> Any:
    """A variant of the answer is a list of values; a single value stands for itself."""
    return variant[0] if isinstance(variant, list) and len(variant) == 1 else variant


MADQA = SourceFormat(
    name="madqa",
    title="MADQA result files (JSON lines)",
    upstream="OxRML/MADQA @ 978fa76",
    pages="1-based",
    read=_read,
)
"""Results of MADQA's baselines, and of any agent that writes its evaluator's input format."""
