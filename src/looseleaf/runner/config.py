"""`RunConfig` and `ScoreConfig`: one frozen configuration a run, saved beside its trajectories."""

from __future__ import annotations

from typing import Any

import msgspec

from looseleaf.document import ocr_engine
from looseleaf.errors import RunError
from looseleaf.models.role_spec import FREE_OPTIONS, RoleSpec
from looseleaf.protocol import PROTOCOLS, Protocol
from looseleaf.retrieval import GoldPagesRetriever, RetrieverSpec

__all__ = ["DataConfig", "RunConfig", "ScoreConfig", "check_same_config"]

EMBEDDED = RoleSpec(backend="embedded")
NONE = RoleSpec(backend="none")
DEFAULT_CONCURRENCY = 8
"""Questions in flight at once; the embedded model gains nothing from it, a model server does."""


class DataConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Which questions over which documents.

    Attributes:
        benchmark: canonical benchmark name, or the path of one's own question file.
        path: data folder, or the documents folder of one's own questions.
        options: loader options, e.g. an overlay.
    """

    benchmark: str
    path: str
    options: dict[str, Any] = {}


class RunConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides what a run does.

    Attributes:
        data: questions and documents.
        policy: who acts.
        protocol: the rules.
        retriever: spec of the retriever (`looseleaf.retrieval.spec`).
        ocr: read pages and pictures without text by OCR.
        limit: at most so many questions, in order; `None` = all.
        ids: only these question ids; empty = all.
        samples: trajectories a question.
        seed: base seed; sample i of a question gets `seed + i`.
        strict: questions without their document count as unscored instead of being left out and counted.
        concurrency: questions in flight; does not change results.
        step_of_training: optimiser step of the policy, for runs made in training.
    """

    data: DataConfig
    policy: RoleSpec = EMBEDDED
    protocol: Protocol = PROTOCOLS["awm"]
    retriever: str = "bm25"
    ocr: bool = False
    limit: int | None = None
    ids: tuple[str, ...] = ()
    samples: int = 1
    seed: int = 0
    strict: bool = False
    concurrency: int = DEFAULT_CONCURRENCY
    step_of_training: int | None = None

    @property
    def retriever_in_force(self) -> str:
        """Name of the retriever that the protocol lets searches reach."""
        return GoldPagesRetriever.name if self.protocol.retrieval == "gold-pages" else self.retriever

    @property
    def retriever_name(self) -> str:
        """What results depend on of the retriever in force: not where its encoder runs or its vectors are kept.

        Raises:
            ConfigError: the spec is not well formed.
        """
        return RetrieverSpec.parse(self.retriever_in_force).name

    @property
    def is_ep_given(self) -> bool:
        """Whether searches return the gold pages, so that only answerable questions with gold pages can be run."""
        return self.retriever_in_force == GoldPagesRetriever.name

    def as_tables(self) -> dict[str, Any]:
        """The configuration as the tables of `config.toml`."""
        return {
            "data": msgspec.to_builtins(self.data),
            "protocol": msgspec.to_builtins(self.protocol),
            "retriever": {"name": self.retriever_name, "spec": self.retriever_in_force},
            "pages": {"ocr": (ocr_engine() or "not installed") if self.ocr else "none"},
            "roles": {"policy": self.policy.as_config()},
            "run": {
                "limit": self.limit,
                "ids": list(self.ids),
                "samples": self.samples,
                "seed": self.seed,
                "strict": self.strict,
                "concurrency": self.concurrency,
                "step_of_training": self.step_of_training,
            },
        }


class ScoreConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How stored trajectories are read and scored; none of it runs the agent.

    Attributes:
        scorer: canonical scorer name, or empty for the benchmark's official one.
        extractor: who turns responses into short answers; `none` takes them as they are.
        readers: who answers from memory alone; the first is the headline reader.
        judge: who judges, for judge scorers.
        threshold: above what a graded score counts as correct in the cells.
        also: further scorers of the same responses, to stand beside the first one.
        drift: whether the pinned items are replayed through the extractor or judge (`looseleaf.runner.drift`).
        drift_reference: file of the pinned replies; empty for the one in the user's cache folder.
    """

    scorer: str = ""
    extractor: RoleSpec = EMBEDDED
    readers: tuple[RoleSpec, ...] = (EMBEDDED,)
    judge: RoleSpec = NONE
    threshold: str = ">0"
    also: tuple[str, ...] = ()
    drift: bool = False
    drift_reference: str = ""

    @property
    def scorers(self) -> tuple[str, ...]:
        """All scorers, the first one first."""
        return tuple(dict.fromkeys([self.scorer, *self.also]))

    def as_tables(self) -> dict[str, Any]:
        """The configuration as the `[score]` table of `config.toml` and its roles."""
        return {
            "scorer": self.scorer,
            **({"also": list(self.also)} if self.also else {}),
            "threshold": self.threshold,
            "extractor": self.extractor.as_config(),
            "readers": [reader.as_config() for reader in self.readers],
            "judge": self.judge.as_config(),
        }


FREE_KEYS = {("run", "concurrency"), ("retriever", "spec")}
"""Settings that may change between sessions of one run because no result depends on them."""


def check_same_config(stored: dict[str, Any], wanted: dict[str, Any], where: str) -> None:
    """Refuse to continue a run under other settings.

    Raises:
        RunError: a setting differs; it is named.
    """
    before, now = _flat(stored), _flat(wanted)
    for key in sorted(before.keys() | now.keys()):
        if not _is_free(key) and before.get(key) != now.get(key):
            name = ".".join(key)
            raise RunError(
                f"{where} was made with {name} = {before.get(key)!r} and not {now.get(key)!r}; "
                "choose another --out or go back to the old setting."
            )


def _is_free(key: tuple[str, ...]) -> bool:
    """Whether a setting may change: how a role's model is reached, all of scoring, and where a checkpoint came from.

    None of them changes a trajectory. `[train]` and `[reward]` say how the policy was made, which its checkpoint fixes.
    """
    of_training = key[0] in ("train", "reward")
    of_role = len(key) > 3 and key[0] == "roles" and key[2] == "options"
    of_scoring = key[0] == "score" or (key[0] == "roles" and key[1] != "policy")
    return key in FREE_KEYS or of_scoring or of_training or (of_role and key[3] in FREE_OPTIONS)


def _flat(tables: dict[str, Any], prefix: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    flat: dict[tuple[str, ...], Any] = {}
    for key, value in tables.items():
        if isinstance(value, dict):
            flat.update(_flat(value, (*prefix, key)))
        elif value is not None:
            flat[(*prefix, key)] = value
    return flat
