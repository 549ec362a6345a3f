"""VAGEN rollouts: the folders of its evaluation, or the `<step>.jsonl` files of its training.

Source: mll-lab-nu/VAGEN @ 2936322. *Evaluation*: `vagen/evaluate/vision_workflow.py` (_dump) writes one folder a
rollout with `messages.json` (images as the placeholder "<data_url>"), `assistant_texts.json`, `metrics.json`
(`rollout_id`, `seed`, `finish_reason` done, max_turns, model_error, env_error or error, `infos`, `env_config`) and
`images/`. *Training*: `vagen/ray_trainer.py` (_dump_generations) writes one JSON object a line with `input` and
`output` (decoded with special tokens), `gts`, `score` and `step`; turns are told apart by the chat markers of Qwen's
template.

VAGEN's environments know no documents: the question, `doc_id`, `question_id` and gold answers are looked for in
`infos` and `env_config`, the question else is the first message of the user. An image is a page where the text before
it names one. FILE is a rollout's folder, a folder of such folders, or a `.jsonl` file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from looseleaf.adapters.imports.chat import any_notes
from looseleaf.adapters.imports.conversation import read_conversation
from looseleaf.adapters.imports.fields import as_mapping, items, mapping, optional_text, whole
from looseleaf.adapters.imports.gold import own_gold
from looseleaf.adapters.imports.json_file import json_records, json_value
from looseleaf.adapters.imports.options import PAGE_BASE_OPTION, page_base
from looseleaf.adapters.imports.source import Rejected, RowProblem, SourceFormat, SourceRow, converted
from looseleaf.benchmarks.rows import readable
from looseleaf.errors import DataError
from looseleaf.trajectory import StopReason

__all__ = ["VAGEN"]

FAULTS = frozenset({"model_error", "env_error", "error"})
"""Finish reasons that say nothing about the agent (mll-lab-nu/VAGEN @ 2936322, vision_workflow.py)."""
ABOUT = ("doc_id", "document", "question", "question_id", "evidence_pages", "answer", "answers", "references")
_MARKED = re.compile(r"<\|im_start\|>(\w+)\n?(.*?)(?:<\|im_end\|>|(?=<\|im_start\|>)|\Z)", re.DOTALL)
_IMAGE = re.compile(r"<\|vision_start\|>.*?<\|vision_end\|>|<image>|(?:<\|image_pad\|>)+", re.DOTALL)


def _read(path: Path, options: Mapping[str, str]) -> Iterable[SourceRow | Rejected]:
    base = page_base(options)

    def convert(where: str, record: Any, kept: bool = False) -> SourceRow:
        row = as_mapping(record, "the row")
        return _rollout(where, row, base, kept) if "messages" in row else _generation(where, row, base, kept)

    kept = any_notes(converted(_records(path), convert))
    return converted(_records(path), lambda where, record: convert(where, record, kept))


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    if not path.is_dir():
        yield from json_records(path)
        return
    found = [path] if (path / "messages.json").is_file() else _rollout_folders(path)
    for folder in found:
        yield readable(folder.name), _of_folder(folder)
    if not found:
        raise DataError(
            f"{path} holds no messages.json in it or below; give the folder that VAGEN's dump_dir names."
        )


def _rollout_folders(path: Path) -> list[Path]:
    """Folders below that hold a rollout; links are not followed."""
    return [
        place.parent
        for place in sorted(path.rglob("messages.json"))
        if place.is_file() and not place.is_symlink()
    ]


def _of_folder(folder: Path) -> Any:
    try:
        metrics = folder / "metrics.json"
        return {
            "messages": json_value(folder / "messages.json"),
            "metrics": json_value(metrics) if metrics.is_file() else {},
        }
    except DataError as problem:
        return RowProblem(str(problem).rstrip("."))


def _rollout(where: str, row: Mapping[str, Any], base: int, kept: bool) -> SourceRow:
    metrics = mapping(row, "metrics")
    reason, error = optional_text(metrics, "finish_reason"), _error(metrics)
    messages = items(row, "messages")
    if reason in FAULTS and not any(isinstance(m, dict) and m.get("role") == "assistant" for m in messages):
        messages = [*messages, {"role": "assistant", "content": ""}]
    read = read_conversation(messages, base=base, notes_kept=kept, answers=reason != "max_turns")
    about = _about(metrics)
    answer = None if reason in FAULTS else read.answer
    stop = StopReason.ANSWERED if answer is not None else StopReason.TURN_LIMIT
    return SourceRow(
        where=where,
        question=optional_text(about, "question") or read.opening,
        doc_id=optional_text(about, "doc_id", "document"),
        native_id=optional_text(about, "question_id"),
        steps=read.steps,
        memory=read.memory,
        answer=answer,
        stop_reason=StopReason.PROVIDER_ERROR if reason in FAULTS else stop,
        undefined=read.undefined,
        gold=own_gold(about, base),
        raw_pages=read.raw_pages,
        model=optional_text(metrics, "model", "env_name"),
        seed=whole(metrics, "seed"),
        error=(error or reason) if reason in FAULTS else None,
    )


def _error(metrics: Mapping[str, Any]) -> str:
    details = mapping(metrics, "error_details")
    return ": ".join(filter(None, (optional_text(details, "error_type"), optional_text(details, "message"))))


def _about(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """What the environment says of its question, in its configuration or in what it told at each step."""
    found: dict[str, Any] = {}
    for source in (mapping(metrics, "env_config"), *items(metrics, "infos"), metrics):
        if isinstance(source, dict):
            found |= {key: source[key] for key in ABOUT if source.get(key) is not None}
    return found


def _generation(where: str, row: Mapping[str, Any], base: int, kept: bool) -> SourceRow:
    said = row.get("output")
    if not isinstance(said, str):
        raise RowProblem('it has neither "messages" nor the text of an "output"')
    prompt = optional_text(row, "input")
    # The output starts within the assistant's turn that the prompt opened.
    messages = [*_messages(prompt), *_messages(f"<|im_start|>assistant\n{said}")]
    read = read_conversation([m for m in messages if m["content"]], base=base, notes_kept=kept)
    gold = row.get("gts")
    about = {key: row[key] for key in ABOUT if row.get(key) is not None}
    if gold is not None and "answer" not in about:
        about["references" if isinstance(gold, list) else "answer"] = gold
    return SourceRow(
        where=where,
        question=optional_text(about, "question") or read.opening,
        doc_id=optional_text(about, "doc_id", "document"),
        native_id=optional_text(about, "question_id"),
        steps=read.steps,
        memory=read.memory,
        answer=read.answer,
        stop_reason=StopReason.ANSWERED if read.answer is not None else StopReason.TURN_LIMIT,
        undefined=read.undefined,
        gold=own_gold(about, base),
        raw_pages=read.raw_pages,
    )


def _messages(text: str) -> list[dict[str, Any]]:
    """Messages of a decoded conversation; one without markers is the user's."""
    found = [{"role": match[1], "content": _parts(match[2])} for match in _MARKED.finditer(text)]
    if not found and text.strip():
        return [{"role": "user", "content": _parts(text)}]
    return found


def _parts(text: str) -> list[dict[str, Any]]:
    """Words and images in order."""
    parts: list[dict[str, Any]] = []
    position = 0
    for image in _IMAGE.finditer(text):
        parts += [{"type": "text", "text": text[position : image.start()]}, {"type": "image"}]
        position = image.end()
    rest = text[position:].strip()
    return [*parts, *([{"type": "text", "text": rest}] if rest else [])]


VAGEN = SourceFormat(
    name="vagen",
    title="VAGEN rollouts (evaluation folders, or <step>.jsonl of training)",
    upstream="mll-lab-nu/VAGEN @ 2936322",
    pages="as --set page-base says; 1-based by default",
    read=_read,
    options=PAGE_BASE_OPTION,
)
"""Rollouts of VAGEN."""
