"""ALDEN's generations: the answers file, with `retrieved_page_lst.json` beside it.

Source: gipplab/ALDEN @ 8a0d3d4. Writer: `verl/trainer/main_generation.py`, which writes into one folder the test set
as `<set>.json` (a list of its rows with `responses` and `extracted_answer`, a list over samples each, and the first
sample's answer as `ans_ravqa_<set>`), `retrieved_page_lst.json` (for each row and sample `{"N.O": {turn: [page,
…]}}`) and `token_consumption.json` (for each row and sample the tokens of all turns). FILE is that folder, or one of
the files.

From `verl/workers/rollout/vllm_rollout_spmd.py`: pages are 0-based texts and are shown as page + 1; a turn counts
from 0; of a search all returned pages are logged and the first `usage_top_n` = 3 are shown (option `shown`); a
trajectory without any page is padded with a white image that is logged as page 0 of turn -1, which is no page. Pages
read as OCR text are not logged. An answer that was not found is the text NULL. No memory is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from looseleaf.adapters.imports.fields import as_mapping, items, optional_text, page_of, pages_of, text
from looseleaf.adapters.imports.json_file import json_value
from looseleaf.adapters.imports.options import whole_option
from looseleaf.adapters.imports.source import Gold, Rejected, RowProblem, SourceFormat, SourceRow, converted
from looseleaf.adapters.imports.turns import foreign_turn
from looseleaf.errors import DataError
from looseleaf.models.chat.parsing import unboxed
from looseleaf.protocol import ALDEN_SHOWN
from looseleaf.roles import Observation, Returned, Usage
from looseleaf.trajectory import Part, Step, StopReason

__all__ = ["ALDEN"]

PAGE_BASE = 0
"""First page of ALDEN's page ids (gipplab/ALDEN @ 8a0d3d4, vllm_rollout_spmd.py)."""
PAGES_FILE = "retrieved_page_lst.json"
TOKENS_FILE = "token_consumption.json"
PADDING_TURN = "-1"
"""Turn under which the padding image of a trajectory without pages is logged."""
NO_ANSWER = "NULL"
"""What stands for an answer that was not found (gipplab/ALDEN @ 8a0d3d4, main_generation.py)."""
REFUSAL = "The problem is not answerable"
"""ALDEN's refusal string (gipplab/ALDEN @ 8a0d3d4, examples/score_function/doc_agent.py)."""
_RESULT = re.compile(r"(?:\s*\buser\s*)?<result>(.*?)</result>(?:\s*assistant\b)?", re.DOTALL)


def _read(path: Path, options: Mapping[str, str]) -> Iterable[SourceRow | Rejected]:
    shown = whole_option(options, "shown", ALDEN_SHOWN)
    return converted(_records(path), lambda where, record: _row(where, record, shown))


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    """One record a row and sample, the files put together.

    Raises:
        DataError: a file is missing, or they are not of one generation.
    """
    folder = path if path.is_dir() else path.parent
    answers_file = _answers_file(path, folder)
    answers = _listed(answers_file)
    pages = _listed(folder / PAGES_FILE) if (folder / PAGES_FILE).is_file() else None
    tokens = _listed(folder / TOKENS_FILE) if (folder / TOKENS_FILE).is_file() else None
    for name, given in ((PAGES_FILE, pages), (TOKENS_FILE, tokens)):
        if given is not None and len(given) != len(answers):
            raise DataError(
                f"{name} holds {len(given)} rows and {answers_file.name} {len(answers)}; give files of one generation."
            )
    for index, row in enumerate(answers):
        where = f"{answers_file.name}, row {index}"
        responses = row.get("responses") if isinstance(row, dict) else None
        for sample in range(max(1, len(responses)) if isinstance(responses, list) else 1):
            place = where if sample == 0 else f"{where}, sample {sample}"
            record = {
                "row": row,
                "sample": sample,
                "pages": None if pages is None else pages[index],
                "tokens": None if tokens is None else tokens[index],
            }
            yield place, record


def _answers_file(path: Path, folder: Path) -> Path:
    if path.is_file() and path.name not in (PAGES_FILE, TOKENS_FILE):
        return path
    found = sorted(p for p in folder.glob("*.json") if p.name not in (PAGES_FILE, TOKENS_FILE))
    if len(found) != 1:
        names = ", ".join(p.name for p in found) or "none"
        raise DataError(
            f"{folder} should hold one answers file beside {PAGES_FILE}, not {names}; give the file itself."
        )
    return found[0]


def _listed(path: Path) -> list[Any]:
    value = json_value(path)
    if not isinstance(value, list):
        raise DataError(f"{path.name} holds no list of rows; give a file that ALDEN's generation wrote.")
    return value


def _row(where: str, record: Mapping[str, Any], shown: int) -> SourceRow:
    row = as_mapping(record["row"], "the row")
    sample = record["sample"]
    response = _of_sample(row, "responses", sample)
    pages = _page_log(record["pages"], sample)
    steps = _steps(response if isinstance(response, str) else "", pages or {}, shown)
    answer = _answer(row, sample)
    lacks: list[Part] = ["memory"]
    lacks += ["pages"] if pages is None else []
    lacks += [] if isinstance(response, str) else ["steps"]
    tokens = (
        _of_sample({"tokens": record["tokens"]}, "tokens", sample) if record["tokens"] is not None else None
    )
    spent = tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and 0 < tokens < 2**53 else 0
    return SourceRow(
        where=where,
        question=text(row, "question", "problem", "prompt"),
        doc_id=optional_text(row, "doc_id"),
        native_id=optional_text(row, "question_id", "id"),
        steps=steps,
        answer=answer,
        stop_reason=_stop_reason(answer, steps),
        undefined=tuple(lacks),
        gold=_gold(row),
        raw_pages=pages,
        sample_index=sample,
        usage=Usage(completion_tokens=spent, calls=len(steps)),
    )


def _of_sample(row: Mapping[str, Any], key: str, sample: int) -> Any:
    value = row.get(key)
    if isinstance(value, list):
        return value[sample] if sample < len(value) else None
    return value if sample == 0 else None


def _page_log(given: Any, sample: int) -> dict[str, list[Any]] | None:
    """Page ids by turn; `None` where nothing was logged."""
    if given is None:
        return None
    entry = given[sample] if isinstance(given, list) and sample < len(given) else given
    log = as_mapping(entry, f"its entry in {PAGES_FILE}")
    turns = as_mapping(log.get("N.O", log), f"its entry in {PAGES_FILE}")
    return {turn: items(turns, turn) for turn in turns}


def _answer(row: Mapping[str, Any], sample: int) -> str | None:
    answer = _of_sample(row, "extracted_answer", sample)
    if answer is None and sample == 0:
        keys = [key for key in row if key.startswith("ans_ravqa_")]
        answer = row[keys[0]] if len(keys) == 1 else None
    if answer is None:
        return None
    if not isinstance(answer, str):
        raise RowProblem("its extracted answer is no text")
    return None if answer == NO_ANSWER else unboxed(answer)


def _steps(response: str, pages: Mapping[str, list[Any]], shown: int) -> tuple[Step, ...]:
    """The generations between the results; turns that only the page log knows follow."""
    logged = {
        int(turn): ids for turn, ids in pages.items() if turn.isascii() and turn.isdigit() and len(turn) < 6
    }
    spoken = _RESULT.split(response)
    generations, results = spoken[0::2], spoken[1::2]
    if not generations[-1].strip() and len(generations) > 1:
        generations.pop()
    count = max(len(generations) if response else 0, 1 + max(logged, default=-1))
    return tuple(
        _step(
            turn,
            generations[turn] if response and turn < len(generations) else "",
            results[turn] if turn < len(results) else "",
            logged.get(turn, []),
            shown,
        )
        for turn in range(count)
    )


def _step(turn: int, said: str, result: str, ids: list[Any], shown: int) -> Step:
    made = foreign_turn(said, "", (), final=False)
    pages = pages_of(ids, PAGE_BASE)
    fetched = made.action is not None and made.action.name == "fetch"
    return Step(
        turn=turn + 1,
        thought=made.thought,
        action=made.action,
        observation=Observation(
            text=result.strip(),
            returned=() if fetched else tuple(Returned(page_of(raw, PAGE_BASE), 0.0) for raw in ids),
            shown=pages if fetched else pages[:shown],
        ),
        model_text=said.strip(),
        invalid=(made.problem or None)
        if said
        else None,  # a turn that only the page log knows did fetch pages
    )


def _stop_reason(answer: str | None, steps: tuple[Step, ...]) -> StopReason:
    if answer is not None:
        return StopReason.ANSWERED
    return StopReason.MALFORMED if steps and steps[-1].invalid else StopReason.TURN_LIMIT


def _gold(row: Mapping[str, Any]) -> Gold:
    answer = row.get("answer")
    references = tuple(answer) if isinstance(answer, list) else () if answer is None else (answer,)
    raw = row.get("answer_page_idx")
    pages = pages_of(raw, PAGE_BASE) if isinstance(raw, list) else None
    first = references[0] if references else None
    return Gold(
        references=references,
        evidence_pages=pages,
        raw_evidence=raw,
        unanswerable=True if isinstance(first, str) and REFUSAL.lower() in first.lower() else None,
    )


ALDEN = SourceFormat(
    name="alden",
    title="ALDEN's answers with retrieved_page_lst.json (a folder or one of its files)",
    upstream="gipplab/ALDEN @ 8a0d3d4",
    pages="0-based",
    read=_read,
    options={"shown": f"pages of a search that the policy sees (usage_top_n): {ALDEN_SHOWN} by default"},
)
"""What ALDEN's generation script writes."""
