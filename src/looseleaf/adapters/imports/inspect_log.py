"""Inspect AI logs, `.eval` and `.json`.

Source: inspect_ai 0.3.285 (UKGovernmentBEIS/inspect_ai), `inspect_ai/log/_log.py` (EvalLog, EvalSample): a sample has
`id`, `epoch`, `input`, `target`, `messages`, `output`, `metadata`, `store`, `error`, `limit`, `total_time`,
`model_usage`. Logs are read through inspect_ai where it is installed, sample by sample; a `.json` log also without
it.

A sample that looseleaf's own Inspect task or export wrote holds the whole trajectory in its store, and nothing is
lost. Any other sample is read as a conversation (`looseleaf.adapters.imports.conversation`); `doc_id`, `question`,
`question_id` and `evidence_pages` are looked for in its metadata, the gold answer is its target, and an epoch is a
sample number. A sample that ended on an error is unscored; one that ended on a limit and gave no answer is an empty
prediction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from looseleaf.adapters.imports.chat import any_notes, stop_of
from looseleaf.adapters.imports.conversation import read_conversation
from looseleaf.adapters.imports.fields import (
    as_mapping,
    clean,
    items,
    mapping,
    number,
    optional_text,
    shown_value,
    usage_of,
    whole,
)
from looseleaf.adapters.imports.gold import own_gold
from looseleaf.adapters.imports.inspect_bounds import check_log
from looseleaf.adapters.imports.json_file import json_value
from looseleaf.adapters.imports.options import PAGE_BASE_OPTION, page_base
from looseleaf.adapters.imports.source import Rejected, SourceFormat, SourceRow, converted
from looseleaf.adapters.imports.trajectories import row_of, trajectory_of
from looseleaf.benchmarks.rows import readable
from looseleaf.errors import ConfigError, DataError
from looseleaf.question import Question
from looseleaf.roles import Usage
from looseleaf.trajectory import StopReason

__all__ = ["INSPECT", "STORED"]

STORED = "looseleaf_trajectory"
"""Key of a whole trajectory in a sample's store (`looseleaf.adapters.inspect_scorers.TRAJECTORY_KEY`)."""
CONTEXT_LIMITS = frozenset({"context", "token"})
"""Limits of a sample that mean that the conversation outgrew its context or its tokens."""


def _read(path: Path, options: Mapping[str, str]) -> Iterable[SourceRow | Rejected]:
    base = page_base(options)
    check_log(path)

    def convert(where: str, record: Any, kept: bool = False) -> SourceRow:
        return _row(where, as_mapping(record, "the sample"), base, kept)

    kept = any_notes(converted(_samples(path), convert))
    return converted(_samples(path), lambda where, record: convert(where, record, kept))


def _samples(path: Path) -> Iterator[tuple[str, Any]]:
    """Every sample of a log as JSON values.

    Raises:
        ConfigError: the log needs inspect_ai, which is not installed.
        DataError: it cannot be read.
    """
    if find_spec("inspect_ai") is None:
        if path.suffix != ".json":
            raise ConfigError(
                f'{path.name} is read by inspect_ai; install it with: pip install "looseleaf[inspect]".'
            )
        yield from _plain(path)
        return
    try:
        for sample in _inspect_samples(path):
            yield (
                f"{readable(path.name)}, sample {shown_value(sample.id)}",
                clean(sample.model_dump(mode="json", exclude={"events"})),
            )
    except Exception as problem:  # inspect_ai raises whatever zipfile, json and pydantic do
        said = " ".join(str(problem).split())[:200]
        raise DataError(
            f"{readable(path.name)} is no Inspect log that can be read ({said}); check the file."
        ) from problem


def _inspect_samples(path: Path) -> Iterator[Any]:
    """Samples as inspect_ai reads them: one by one where the log lists them, else all at once."""
    from inspect_ai.log import read_eval_log, read_eval_log_samples

    if read_eval_log(path, header_only=True).eval.dataset.sample_ids:
        yield from read_eval_log_samples(path, all_samples_required=False, resolve_attachments=True)
    else:
        yield from read_eval_log(path, resolve_attachments=True).samples or ()


def _plain(path: Path) -> Iterator[tuple[str, Any]]:
    log = json_value(path)
    samples = log.get("samples") if isinstance(log, dict) else None
    if not isinstance(samples, list):
        raise DataError(f"{path.name} holds no samples; give a whole Inspect log.")
    for place, sample in enumerate(samples):
        yield f"{path.name}, sample {place}", sample


def _row(where: str, sample: Mapping[str, Any], base: int, kept: bool) -> SourceRow:
    stored = mapping(sample, "store").get(STORED)
    metadata = mapping(sample, "metadata")
    if stored is not None:
        made = trajectory_of(stored)
        return msgspec.structs.replace(row_of(where, made, _question(metadata)), sample_index=_epoch(sample))
    messages = items(sample, "messages") or _input(sample)
    error = _error(sample)
    if error and not any(isinstance(m, dict) and m.get("role") == "assistant" for m in messages):
        messages = [*messages, {"role": "assistant", "content": ""}]
    read = read_conversation(messages, base=base, notes_kept=kept)
    answer = None if error else read.answer
    limit = mapping(sample, "limit")
    overflow = answer is None and not error and optional_text(limit, "type") in CONTEXT_LIMITS
    return SourceRow(
        where=where,
        question=optional_text(metadata, "question") or read.opening,
        doc_id=optional_text(metadata, "doc_id", "document"),
        native_id=optional_text(metadata, "question_id") or optional_text(sample, "id"),
        steps=read.steps,
        memory=read.memory,
        answer=answer,
        stop_reason=StopReason.CONTEXT_OVERFLOW if overflow else stop_of(answer, error),
        undefined=read.undefined,
        gold=own_gold(_gold_fields(sample, metadata), base),
        raw_pages=read.raw_pages,
        model=optional_text(mapping(sample, "output"), "model"),
        sample_index=_epoch(sample),
        usage=_usage(sample),
        seconds=max(0.0, number(sample, "total_time")),
        error=error or None,
    )


def _question(metadata: Mapping[str, Any]) -> Question | None:
    """The question that looseleaf's own task spreads over a sample's metadata."""
    try:
        return msgspec.convert(metadata, Question)
    except msgspec.ValidationError:
        return None


def _epoch(sample: Mapping[str, Any]) -> int:
    return max(0, (whole(sample, "epoch") or 1) - 1)


def _input(sample: Mapping[str, Any]) -> list[Any]:
    given = sample.get("input")
    return given if isinstance(given, list) else [{"role": "user", "content": given}]


def _error(sample: Mapping[str, Any]) -> str:
    return optional_text(mapping(sample, "error"), "message") or ("error" if sample.get("error") else "")


def _gold_fields(sample: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    target = sample.get("target")
    known = {key: value for key, value in metadata.items() if key not in ("answer", "answers", "references")}
    if target in (None, "", []):
        return {
            **known,
            **{key: metadata[key] for key in ("answer", "answers", "references") if key in metadata},
        }
    return {**known, "references": target if isinstance(target, list) else [target]}


def _usage(sample: Mapping[str, Any]) -> Usage:
    used = mapping(sample, "model_usage")
    return sum((usage_of(as_mapping(each, "a model's usage")) for each in used.values()), Usage())


INSPECT = SourceFormat(
    name="inspect",
    title="Inspect AI logs (.eval or .json)",
    upstream="inspect_ai 0.3.285",
    pages="as --set page-base says; 1-based by default",
    read=_read,
    options=PAGE_BASE_OPTION,
)
"""Logs of Inspect AI."""
