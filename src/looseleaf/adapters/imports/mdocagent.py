"""MDocAgent result files: one JSON array of samples with predictions.

Source: aiming-lab/MDocAgent @ df34e4c. Writers: `agents/multi_agent_system.py` (predict_dataset puts the answer under
`ans_<run-name>`, and under `ans_<run-name>_message` the messages where they are kept), `retrieval/text_retrieval.py`
and `image_retrieval.py` (`text-top-10-question`, `image-top-10-question`, each with `_score`, pages 0-based) and
`agents/base_agent.py` (eval_dataset adds `binary_correctness`). The file is
`results/<dataset>/<run-name>/<date>.json`.

The agents are shown the first `dataset.top_k` pages of each retriever; the file does not hold that number, so it is
an option (`top-k`, 1 by default as in `config/base.yaml`). The five agents' turns and a memory are not recorded. An
answer of null is what a fault leaves (out of memory, or a summary without "Answer"), and is unscored; a sample
without the key was not reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from looseleaf.adapters.imports.fields import (
    as_mapping,
    items,
    number,
    optional_text,
    page_of,
    shown_value,
    text,
)
from looseleaf.adapters.imports.gold import sample_gold
from looseleaf.adapters.imports.json_file import json_records
from looseleaf.adapters.imports.options import whole_option
from looseleaf.adapters.imports.source import Rejected, RowProblem, SourceFormat, SourceRow, converted
from looseleaf.roles import Action, Observation, Returned
from looseleaf.trajectory import Part, Step, StopReason

__all__ = ["MDOCAGENT"]

PAGE_BASE = 0
"""First page of MDocAgent's retrieval results and `page_ids` (aiming-lab/MDocAgent @ df34e4c, base_dataset.py)."""
TOP_K = 1
"""Pages of each retriever that the agents see (aiming-lab/MDocAgent @ df34e4c, config/base.yaml, dataset.top_k)."""
_RETRIEVED = re.compile(r"(text|image)-top-\d+-.+(?<!_score)")
ANSWER_PREFIX = "ans_"
MESSAGE_SUFFIX = "_message"


def _read(path: Path, options: Mapping[str, str]) -> Iterable[SourceRow | Rejected]:
    top_k = whole_option(options, "top-k", TOP_K)
    wanted = options.get("answer-key", "")
    return converted(json_records(path), lambda where, record: _row(where, record, top_k, wanted))


def _row(where: str, record: Any, top_k: int, wanted: str) -> SourceRow:
    row = as_mapping(record, "the row")
    key = _answer_key(row, wanted)
    retrieved = {name: items(row, name) for name in row if _RETRIEVED.fullmatch(name)}
    lacks: list[Part] = ["memory", "steps"] if retrieved else ["memory", "steps", "pages"]
    answer = None if key is None or row[key] is None else optional_text(row, key)
    return SourceRow(
        where=where,
        question=text(row, "question"),
        doc_id=optional_text(row, "doc_id"),
        native_id=optional_text(row, "q_uid", "question_id"),
        steps=_steps(row, retrieved, top_k, answer),
        answer=answer,
        stop_reason=_stop_reason(key, answer),
        undefined=tuple(lacks),
        gold=sample_gold(row),
        raw_pages=retrieved,
        model=(key or "").removeprefix(ANSWER_PREFIX),
        error="the source records no answer" if key is not None and answer is None else None,
    )


def _answer_key(row: Mapping[str, Any], wanted: str) -> str | None:
    keys = [key for key in row if key.startswith(ANSWER_PREFIX) and not key.endswith(MESSAGE_SUFFIX)]
    if wanted:
        keys = [key for key in keys if key in (wanted, f"{ANSWER_PREFIX}{wanted}")]
    if len(keys) > 1:
        raise RowProblem(
            f"it has several answers ({', '.join(map(shown_value, keys))}); choose one by answer-key"
        )
    return keys[0] if keys else None


def _stop_reason(key: str | None, answer: str | None) -> StopReason | None:
    if key is None:
        return None
    return StopReason.PROVIDER_ERROR if answer is None else StopReason.ANSWERED


def _steps(
    row: Mapping[str, Any], retrieved: Mapping[str, list[Any]], top_k: int, answer: str | None
) -> tuple[Step, ...]:
    """The pages that came with the question, and the answer."""
    returned: dict[int, float] = {}
    for name, pages in retrieved.items():
        scores = items(row, f"{name}_score")
        for place, raw in enumerate(pages):
            score = number({"score": scores[place]}, "score") if place < len(scores) else 0.0
            returned.setdefault(page_of(raw, PAGE_BASE), score)
    shown = dict.fromkeys(page_of(raw, PAGE_BASE) for pages in retrieved.values() for raw in pages[:top_k])
    listed = tuple(Returned(page, score) for page, score in returned.items())
    opening = Step(turn=0, observation=Observation(text="", returned=listed, shown=tuple(shown)))
    if answer is None:
        return (opening,)
    return (opening, Step(turn=1, action=Action.answer(answer), observation=Observation(text="")))


MDOCAGENT = SourceFormat(
    name="mdocagent",
    title="MDocAgent result files (a JSON array)",
    upstream="aiming-lab/MDocAgent @ df34e4c",
    pages="0-based",
    read=_read,
    options={
        "top-k": f"pages of each retriever that the agents saw (dataset.top_k): {TOP_K} by default",
        "answer-key": "which prediction, where the file holds several: ans_<run-name>",
    },
)
"""Results of MDocAgent, and of code that writes its shape."""
