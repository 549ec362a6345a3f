"""Scorer drift: the pinned items replayed through a run's extractor or judge, beside the run's scores.

Hosted models change under an unchanged name. Whenever a run is scored, the extractor or the judge also gets 300 items
that it was given before (`looseleaf.scoring.drift`); what it says of them is held against what it said first. Replies
are never taken from the response cache, and what a scorer's rule makes of a reply is computed anew for both, so that a
change of our own rules is no drift.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from looseleaf.errors import AgentError, ConfigError, FaultError, boundary
from looseleaf.models.chat.snapshot import hearing
from looseleaf.models.chat.text_roles import ChatExtractor, ChatJudge
from looseleaf.models.registry import make_extractor, make_judge
from looseleaf.models.role_spec import CHAT_BACKENDS, RoleSpec
from looseleaf.roles import Extraction, Judgement
from looseleaf.runner.checked import role_result
from looseleaf.runner.config import ScoreConfig
from looseleaf.runner.drift_reference import DriftReference, reference_path
from looseleaf.runner.stage import StageProgress, work_off
from looseleaf.runstore import Ledger, Run, config_id
from looseleaf.scoring.drift import (
    DriftItem,
    DriftRow,
    PinnedReply,
    drift_items,
    items_sha256,
    judge_prompt,
    prompts_sha256,
)
from looseleaf.scoring.registry import JudgeScorer, Scorer, default_scorer, get_scorer

__all__ = ["DriftReplay", "drift_replays", "is_model"]

CONCURRENCY = 16
"""Items in flight."""
OUTAGE = 8
"""Faults in a row after which the rest of a replay is left for the next time."""
LEFT = "Not asked: the replies before it failed one after the other."

Ask = Callable[[DriftItem], Awaitable[str]]


class DriftReplay(NamedTuple):
    """One role to be replayed.

    Attributes:
        drift_id: name of its ledger, in the run and in the reference.
        config: what the name stands for.
        spec: who plays the role.
        scorer: a scorer that the role serves; it decides what is asked.
        path: file of the pinned replies.
    """

    drift_id: str
    config: dict[str, Any]
    spec: RoleSpec
    scorer: Scorer | JudgeScorer
    path: Path

    async def run(self, run: Run, progress: StageProgress | None = None, now: datetime | None = None) -> int:
        """Replay what is missing of today's replay and store it beside the run's scores; returns the faults.

        The run must be locked for writing.
        """
        reference = DriftReference(self.path, self.drift_id)
        replay = reference.replay_of(now or datetime.now(UTC))
        await self._ask_missing(reference, replay, progress)
        reference.reload()
        self._store(run, reference, replay)
        return len(reference.missing(replay))

    async def _ask_missing(
        self, reference: DriftReference, replay: str, progress: StageProgress | None
    ) -> None:
        missing = set(reference.missing(replay))
        items = [item for item in drift_items() if item.item_id in missing]
        if not items:
            return
        name = f"drift of the {self.config['role']}"
        async with self._asking() as ask:
            reply = _Replay(self, replay, ask).reply
            try:
                await work_off(
                    name, items, reply, reference.ledger, concurrency=CONCURRENCY, progress=progress
                )
            finally:
                reference.ledger.close()

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[Ask]:
        """Who is asked about an item; connections of its own are closed at the end."""
        scorer, spec = self.scorer, _uncached(self.spec)
        role: Any = make_judge(spec) if isinstance(scorer, JudgeScorer) else make_extractor(spec)

        async def ask(item: DriftItem) -> str:
            given: Judgement | Extraction
            if isinstance(scorer, JudgeScorer):
                given = await role_result(role.judge(judge_prompt(scorer, item)), Judgement, "judge")
            else:
                asked = role.extract(item.question, item.response)
                given = await role_result(asked, Extraction, "extractor")
            return given.text

        try:
            yield ask
        finally:
            if isinstance(role, (ChatExtractor, ChatJudge)):
                await role.aclose()

    def _store(self, run: Run, reference: DriftReference, replay: str) -> None:
        replies, pinned = reference.replies(replay), reference.pinned()
        ledger = Ledger(run.path / "drift" / f"{self.drift_id}.jsonl", DriftRow)
        stored = {row.key: row for row in ledger.read()}
        for item in drift_items():
            row = _row(item.item_id, replay, replies.get(item.item_id), pinned.get(item.item_id))
            if stored.get(row.key) != row:
                ledger.append(row)
        ledger.close()
        then = list(pinned.values())
        about = {
            "replay": replay,
            "models": _models(replies.values()),
            "pinned": min((row.replay for row in then), default=replay),
            "pinned_models": _models(then),
        }
        run.write_sidecar("drift", self.drift_id, self.config | about)

    def is_stored(self, run: Run) -> bool:
        """Whether the run holds a whole replay."""
        replay = run.sidecars("drift").get(self.drift_id, {}).get("replay")
        rows = Ledger(run.path / "drift" / f"{self.drift_id}.jsonl", DriftRow).read()
        return len({row.item_id for row in rows if row.replay == replay and row.text}) == len(drift_items())


def drift_replays(config: ScoreConfig, benchmark: str) -> dict[str, DriftReplay]:
    """What is to be replayed under a configuration, by scorer; scorers that share an extractor share a replay.

    Raises:
        ConfigError: there is nothing to replay, or the reference cannot be written.
    """
    if not config.drift:
        return {}
    found: dict[str, DriftReplay] = {}
    for name in config.scorers:
        scorer = get_scorer(name or default_scorer(benchmark))
        spec = config.judge if isinstance(scorer, JudgeScorer) else config.extractor
        if spec.backend != "none":
            found[scorer.name] = _replay_of(scorer, spec, config.drift_reference)
    if not found:
        raise ConfigError("There is no extractor or judge to replay the drift items through; use --no-drift.")
    return found


def is_model(config: ScoreConfig, benchmark: str) -> bool:
    """Whether a scorer rests on a chat model, which may change under its name; the user's own code may only if it says
    so with --drift.
    """
    scorers = [get_scorer(name or default_scorer(benchmark)) for name in config.scorers]
    specs = [config.judge if isinstance(scorer, JudgeScorer) else config.extractor for scorer in scorers]
    return any(spec.backend in CHAT_BACKENDS for spec in specs)


def _replay_of(scorer: Scorer | JudgeScorer, spec: RoleSpec, named: str) -> DriftReplay:
    is_judge = isinstance(scorer, JudgeScorer)
    config = {
        "role": "judge" if is_judge else "extractor",
        "model": spec.identity(),
        **({"scorer": scorer.name} if is_judge else {}),
        "prompts": prompts_sha256(scorer),
        **_own_prompt(spec),
        "items": items_sha256(),
    }
    drift_id = config_id(f"{config['role']}-{spec.name}", config)
    return DriftReplay(drift_id, config, spec, scorer, reference_path(named, drift_id))


def _own_prompt(spec: RoleSpec) -> dict[str, str]:
    """Hash of the user's own prompt, where the role has one."""
    path = spec.options.get("prompt")
    if not path:
        return {}
    try:
        return {"own_prompt": hashlib.sha256(Path(path).read_bytes()).hexdigest()}
    except OSError as problem:
        raise ConfigError(
            f"The prompt {path} cannot be read ({problem.strerror}); check the path."
        ) from problem


def _uncached(spec: RoleSpec) -> RoleSpec:
    """A replay that is answered from the cache would find that nothing ever changes."""
    if spec.backend not in CHAT_BACKENDS:
        return spec
    return msgspec.structs.replace(spec, options=spec.options | {"cache": False})


class _Replay:
    """Turns items into replies until one fault follows the other."""

    def __init__(self, replay: DriftReplay, began: str, ask: Ask) -> None:
        self._replay = replay
        self._began = began
        self._ask = ask
        self._failed_in_a_row = 0

    async def reply(self, item: DriftItem) -> PinnedReply:
        """The reply on one item; a fault becomes a row without a text."""
        fields = {
            "reference": self._replay.drift_id,
            "item_id": item.item_id,
            "replay": self._began,
        }
        if self._failed_in_a_row >= OUTAGE:
            return PinnedReply(**fields, error=LEFT)
        try:
            with boundary(AgentError, f"The {self._replay.config['role']} failed"), hearing() as models:
                text = await self._ask(item)
        except FaultError as problem:
            self._failed_in_a_row += 1
            return PinnedReply(**fields, error=str(problem))
        self._failed_in_a_row = 0
        return PinnedReply(**fields, model=models[-1] if models else "", text=text)


def _row(item_id: str, replay: str, now: PinnedReply | None, then: PinnedReply | None) -> DriftRow:
    return DriftRow(
        item_id=item_id,
        replay=replay,
        text=now.text if now else None,
        pinned=then.text if then else None,
        error=now.error if now and now.text is None else None,
    )


def _models(replies: Any) -> list[str]:
    """Names of the models that answered."""
    return sorted({row.model for row in replies if row.model and row.text is not None})
