"""The manifest of a run: hashes, versions and counts, and what must not change when a run is continued."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any, NamedTuple

from looseleaf import __version__
from looseleaf.benchmarks import QuestionSet
from looseleaf.document import PageStore
from looseleaf.document.facts import DEFAULT_DPI, JPEG_QUALITY
from looseleaf.models.prompts import prompt_hashes
from looseleaf.models.role_spec import CHAT_BACKENDS, RoleSpec
from looseleaf.question import Question
from looseleaf.runner.config import RunConfig, check_same_config
from looseleaf.runner.library import Library
from looseleaf.runner.selection import has_gold_pages
from looseleaf.runstore import Run, config_id

__all__ = ["StoreCounts", "freeze", "record_session"]


PROMPTED = CHAT_BACKENDS | {"hf"}
"""Backends that read the shipped prompts: chat models, and checkpoints in this process (`looseleaf.training`)."""


def freeze(
    run: Run, config: RunConfig, question_set: QuestionSet, selected: list[Question], library: Library
) -> None:
    """Save the configuration of a new run, or check that an old one is continued under the same.

    Raises:
        RunError: a setting, the data or a prompt differs; it is named.
    """
    stored = run.config
    tables = config.as_tables()
    if stored:
        check_same_config(stored, tables, str(run.path))
        was = run.manifest.get("data", {}).get("sha256", question_set.sha256)
        if was != question_set.sha256:
            check_same_config(
                {"data": {"sha256": was}}, {"data": {"sha256": question_set.sha256}}, str(run.path)
            )
        prompts = _prompts(config.policy)
        check_same_config(
            {"prompts": run.manifest.get("prompts", prompts)}, {"prompts": prompts}, str(run.path)
        )
        return
    run.write_questions(selected)
    run.write_manifest(_manifest(config, question_set, selected, library))
    run.write_config(tables)


def _manifest(
    config: RunConfig, question_set: QuestionSet, selected: list[Question], library: Library
) -> dict[str, Any]:
    return {
        "run_id": config_id("run", config.as_tables()),
        "versions": _versions(),
        "data": question_set.describe(),
        "counts": {
            "n_set": len(question_set.questions),
            "n_selected": len(selected),
            "n_without_document": len(question_set.questions) - len(question_set.runnable),
            **_without_gold_pages(config, question_set),
        },
        "retriever": {
            "name": config.retriever_name,
            "family": str(library.family),
            **({"encoders": list(library.encoders)} if library.encoders else {}),
        },
        "protocol": config.protocol.name,
        "page_images": {
            "dpi": DEFAULT_DPI,
            "max_pixels": config.protocol.max_pixels,
            "format": f"JPEG, quality {JPEG_QUALITY}",
        },
        "prompts": _prompts(config.policy),
    }


def _prompts(policy: RoleSpec) -> dict[str, str]:
    """Hashes of the prompts that the policy may be given; none where it reads no prompts."""
    if policy.backend not in PROMPTED:
        return {}
    return prompt_hashes(policy.options.get("prompt", ""))


def _versions() -> dict[str, str]:
    packages = ("pypdfium2", "bm25s", "numpy", "pillow", "openai")
    return {"looseleaf": __version__, "python": platform.python_version()} | {
        package: metadata.version(package) for package in packages
    }


def _without_gold_pages(config: RunConfig, question_set: QuestionSet) -> dict[str, int]:
    if not config.is_ep_given:
        return {}
    return {"n_without_gold_pages": sum(not has_gold_pages(question) for question in question_set.runnable)}


class StoreCounts(NamedTuple):
    """What a page store has done so far."""

    documents_opened: int
    pages_extracted: int
    pages_rendered: int
    pages_recognized: int

    @classmethod
    def of(cls, store: PageStore) -> StoreCounts:
        """The counters of a store."""
        return cls(
            store.documents_opened, store.pages_extracted, store.pages_rendered, store.pages_recognized
        )


def record_session(run: Run, finished: tuple[int, int, int], counts: dict[str, Any]) -> None:
    """Add what this session did to the manifest.

    Args:
        run: the run.
        finished: trajectories finished before, finished now, and ended on a fault.
        counts: pages read and, of a chat policy, model calls, all processes together.
    """
    manifest = run.manifest
    names = ("finished_before", "finished_now", "faults")
    manifest["last_session"] = {**dict(zip(names, finished, strict=True)), **counts}
    run.write_manifest(manifest)
