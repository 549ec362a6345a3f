"""What the numbers of a stored run depend on besides the policy, and where two runs differ in it.

Policies are often compared across runs that also differ in retriever, page images, rules, scorer or reader; the
difference then is not the policy's alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from looseleaf.question import Question
from looseleaf.runstore import Run

__all__ = ["FAIRNESS", "Setting", "SettingDifference", "setting_differences", "settings_of", "unrecorded"]

FAIRNESS = (
    *(
        "data",
        "retriever family",
        "page resolution",
        "page text",
        "protocol",
        "scorer",
        "extractor",
        "reader",
    ),
    *("page window", "oracle settings"),
)
"""Settings that must be equal for a difference to be the policy's."""
UNKNOWN = "not recorded"
NONE = "none"
RESOLUTION_FIELD = "max_pixels"
"""Rule of a protocol that is compared as page resolution."""


class Setting(msgspec.Struct, frozen=True):
    """One setting of one run.

    Attributes:
        shown: as it is printed.
        identity: what is compared; canonical JSON.
    """

    shown: str
    identity: str

    @property
    def known(self) -> bool:
        """Whether the run says what it was."""
        return self.shown != UNKNOWN


class SettingDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One setting in which two runs differ."""

    name: str
    first: str
    second: str

    def text(self) -> str:
        """One sentence."""
        return f"The runs differ in {self.name}: {self.first} against {self.second}."


def settings_of(
    run: Run,
    score_id: str,
    reading_id: str | None,
    questions: Iterable[Question],
    oracles: Sequence[Mapping[str, Any]],
) -> dict[str, Setting]:
    """The settings of `FAIRNESS` for one run under one scorer and one reader.

    Args:
        run: the run.
        score_id: ledger of the scores.
        reading_id: ledger of the readings, or `None` where no memory is read.
        questions: the questions that are compared.
        oracles: oracle settings in force in each trajectory.
    """
    scores = run.sidecars("scores").get(score_id)
    reading = run.sidecars("readings").get(reading_id or "")
    return {
        "data": _data(run.manifest.get("data", {})),
        "retriever family": _text(run.manifest.get("retriever", {}).get("family")),
        "page resolution": _resolution(run.manifest.get("page_images"), run.config.get("protocol")),
        "page text": _text(run.config.get("pages", {}).get("ocr")),
        "protocol": _protocol(run.config.get("protocol")),
        "scorer": _scorer(scores),
        "extractor": _extractor(run, scores),
        "reader": _role(reading.get("reader")) if reading else _absent(reading_id is None),
        "page window": _window(questions),
        "oracle settings": _oracle(oracles),
    }


def setting_differences(
    first: Mapping[str, Setting], second: Mapping[str, Setting]
) -> list[SettingDifference]:
    """Where two runs differ; a setting that only one of them records counts as a difference."""
    return [
        SettingDifference(
            name=name, first=_apart(first[name], second[name]), second=_apart(second[name], first[name])
        )
        for name in FAIRNESS
        if first[name].identity != second[name].identity
    ]


def unrecorded(first: Mapping[str, Setting], second: Mapping[str, Setting]) -> list[str]:
    """Names of settings that neither run records, so that nobody can say whether they are equal."""
    return [name for name in FAIRNESS if not first[name].known and not second[name].known]


def _apart(setting: Setting, other: Setting) -> str:
    """The printed form, with everything that is compared where the short forms do not tell the two apart."""
    return setting.shown if setting.shown != other.shown else f"{setting.shown} {setting.identity}"


def _text(value: Any) -> Setting:
    return Setting(str(value), str(value)) if value else Setting(UNKNOWN, UNKNOWN)


def _of(shown: str, identity: Any) -> Setting:
    return Setting(shown, json.dumps(identity, sort_keys=True, ensure_ascii=False, default=str))


def _absent(none: bool) -> Setting:
    return Setting(NONE, NONE) if none else Setting(UNKNOWN, UNKNOWN)


def _data(data: Mapping[str, Any]) -> Setting:
    if not data:
        return _absent(False)
    return _of(f"{data.get('name', '?')} {data.get('version', '')}".strip(), data.get("sha256", data))


def _resolution(images: Mapping[str, Any] | None, protocol: Mapping[str, Any] | None) -> Setting:
    """As the run recorded its page images; only the protocol's cap for a run that recorded none."""
    images = images or ({RESOLUTION_FIELD: protocol.get(RESOLUTION_FIELD)} if protocol else None)
    if not images:
        return _absent(False)
    dpi, cap = images.get("dpi"), images.get(RESOLUTION_FIELD)
    shown = f"{dpi} dpi" if dpi else "resolution not recorded"
    return _of(f"{shown}, at most {cap:,} pixels" if cap else shown, images)


def _protocol(protocol: Mapping[str, Any] | None) -> Setting:
    if not protocol:
        return _absent(False)
    rules = {rule: value for rule, value in protocol.items() if rule not in {RESOLUTION_FIELD, "name"}}
    return _of(str(protocol.get("name", "?")), rules)


def _role(spec: Mapping[str, Any] | None) -> Setting:
    if not spec:
        return _absent(False)
    backend, argument = spec.get("backend", "?"), spec.get("argument")
    return _of(f"{backend}:{argument}" if argument else str(backend), spec)


def _scorer(scores: Mapping[str, Any] | None) -> Setting:
    if not scores:
        return _absent(False)
    rules = {name: value for name, value in scores.items() if name != "extraction_id"}
    judge = _role(scores.get("judge")).shown
    name = str(scores.get("scorer", "?"))
    return _of(name if judge in (NONE, UNKNOWN) else f"{name}, judge {judge}", rules)


def _extractor(run: Run, scores: Mapping[str, Any] | None) -> Setting:
    if not scores:
        return _absent(False)
    extraction_id = scores.get("extraction_id")
    if not extraction_id:
        return _absent(True)
    return _role(run.sidecars("extractions").get(str(extraction_id), {}).get("extractor"))


def _window(questions: Iterable[Question]) -> Setting:
    windows = {question.question_id: question.window for question in questions if question.window}
    return _of(f"{len(windows)} questions with a page window", windows) if windows else _absent(True)


def _oracle(oracles: Sequence[Mapping[str, Any]]) -> Setting:
    told = Counter(f"{name} = {value}" for oracle in oracles for name, value in oracle.items() if value)
    if not told:
        return _absent(True)
    total = len(oracles)
    shown = [
        name if count == total else f"{name} in {count} of {total}" for name, count in sorted(told.items())
    ]
    return _of("; ".join(shown), sorted(told))
