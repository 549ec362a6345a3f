"""`LabConfig`: what the lab reads, who reads it, and what else it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from looseleaf.errors import ConfigError
from looseleaf.lab.variants import VariantKind
from looseleaf.models.chat.options import OPENAI_URL
from looseleaf.models.role_spec import CHAT_BACKENDS, RoleSpec
from looseleaf.runner.config import ScoreConfig
from looseleaf.runstore import Run

__all__ = [
    "DEFAULT_BUDGETS",
    "DETERMINISTIC",
    "Answerer",
    "LabConfig",
    "answerer_named",
    "last_score_config",
    "stored_role",
]

Answerer = Literal["none", "replay", "memory-only"]
ANSWERERS: tuple[Answerer, ...] = ("none", "replay", "memory-only")
DEFAULT_BUDGETS = (10, 20, 40, 80, 160)
"""Word budgets: from a quarter of one finding of 40 words to four of them."""
SAMPLED_TEMPERATURE = 0.7
"""Temperature of repeated samples, the one of the first author's precursor."""
DETERMINISTIC = frozenset({"embedded", "constant"})
"""Readers that give the same answer every time, so that samples of theirs say nothing."""
EMBEDDED = RoleSpec(backend="embedded")
HARMLESS = frozenset({"embedded", "constant", "none"})
"""Backends that run no code but looseleaf's, read no file and send nothing, whoever named them."""
CHOOSES = frozenset({"key_env", "prompt", "prices", "extra"})
"""Options with which the writer of a run could choose a secret, a file or a request of the reader's machine."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
EVERYONE_READS = (VariantKind.OWN, VariantKind.EMPTY, VariantKind.QUESTION_ONLY)


def answerer_named(name: str) -> Answerer:
    """The answerer of that name.

    Raises:
        ConfigError: there is none.
    """
    for known in ANSWERERS:
        if name == known:
            return known
    raise ConfigError(f"There is no answerer {name!r}; use one of {', '.join(ANSWERERS)}.")


def last_score_config(run: Run, given: Mapping[str, Any] = {}) -> ScoreConfig:
    """How a run was scored last, except for what is given; the defaults for one that never was, or does not say.

    Args:
        run: the run, perhaps another person's.
        given: fields of the result that the user chose, in place of the stored ones.

    Raises:
        ConfigError: a stored role that is wanted is one that a stored run may not choose (`stored_role`).
    """
    roles = run.config.get("roles", {})
    found: dict[str, Any] = {
        name: stored_role(roles[name], name)
        for name in ("extractor", "judge")
        if roles.get(name) and name not in given
    }
    if roles.get("reader") and "readers" not in given:
        readers = roles["reader"] if isinstance(roles["reader"], list) else [roles["reader"]]
        found["readers"] = tuple(stored_role(reader, "reader") for reader in readers)
    found["scorer"] = str(run.config.get("score", {}).get("scorer", ""))
    return ScoreConfig(**{**found, **given})


def stored_role(table: Any, option: str) -> RoleSpec:
    """A role as a RUN folder names it, if it is harmless whoever wrote that folder.

    A stored run says who read and judged. Such a role may not import code, open model files, or send memories and a
    key to a server that its writer chose: it must be embedded, or a model of OpenAI's or on this machine with the
    usual key.

    Args:
        table: the stored table.
        option: command-line option with which the user can name the role.

    Raises:
        ConfigError: it is something else, and the user has to name it.
    """
    try:
        spec = msgspec.convert(table, RoleSpec)
    except msgspec.ValidationError as problem:
        raise ConfigError(
            f"The run's configuration names no {option} that can be used ({problem}); add --{option}."
        ) from problem
    if spec.backend in HARMLESS or (spec.backend == "openai" and _is_usual_server(spec.options)):
        return spec
    raise ConfigError(
        f"The run names {spec.name} as its {option}, and nothing that a stored run names is loaded or sent to by "
        f"itself; if you trust it, name it with --{option}."
    )


def _is_usual_server(options: Mapping[str, Any]) -> bool:
    several = options.get("base_urls", [])
    addresses = [
        options.get("base_url", OPENAI_URL),
        *(several if isinstance(several, (list, tuple)) else [several]),
    ]
    return not set(options) & CHOOSES and all(
        address == OPENAI_URL or _host(address) in LOOPBACK for address in addresses
    )


def _host(address: object) -> str:
    try:
        return urlsplit(str(address)).hostname or ""
    except ValueError:
        return ""


class LabConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a stored run is examined.

    Attributes:
        score: scorer, extractor, judge, threshold, and the readers; the first reader is the headline.
        kinds: memory variants that the headline reader reads; `None` = all for which there is material.
        all_readers: whether the other readers read these variants too, and not only own, empty and question-only.
        samples: readings of the own memory by each sampled reader; 1 = no sampling.
        temperature: of the sampled readers.
        budgets: word budgets of the anytime curve.
        writer: policy that writes improved memories from the gold pages, or `None`.
        answerer: where final answers under swapped memories come from.
        answer_model: reader that answers for `memory-only`; by default the policy's own model. For `replay`, the
            policy, where the stored one is not one that a stored run may choose (`stored_role`).
        grounding: `embedded`, a judge, or `none`.
        gold_words: most words of gold-page text that a reader is given, for readers with a short context; 0 = all.
        data: data folder in place of the one that the run was made from.
    """

    score: ScoreConfig = ScoreConfig()
    kinds: tuple[VariantKind, ...] | None = None
    all_readers: bool = False
    samples: int = 1
    temperature: float = SAMPLED_TEMPERATURE
    budgets: tuple[int, ...] = DEFAULT_BUDGETS
    writer: RoleSpec | None = None
    answerer: Answerer = "none"
    answer_model: RoleSpec | None = None
    grounding: RoleSpec = EMBEDDED
    gold_words: int = 0
    data: str = ""

    def __post_init__(self) -> None:
        if not self.score.readers:
            raise ConfigError("The lab needs a reader; give one with --reader.")
        if self.samples < 1 or any(budget < 1 for budget in self.budgets):
            raise ConfigError("Samples and word budgets must be 1 or more.")

    def kinds_of(self, reader: int) -> tuple[VariantKind, ...]:
        """Variants that the reader with this number reads; the own memory always."""
        wanted = tuple(VariantKind) if self.kinds is None else self.kinds
        if reader and not self.all_readers:
            wanted = tuple(kind for kind in wanted if kind in EVERYONE_READS)
        return tuple(dict.fromkeys((VariantKind.OWN, *wanted)))

    def wants(self, kind: VariantKind) -> bool:
        """Whether a variant was asked for by name."""
        return self.kinds is not None and kind in self.kinds

    def sampled(self, reader: RoleSpec) -> RoleSpec | None:
        """The reader at the sampling temperature, or `None` where samples would be all the same."""
        if self.samples < 2 or reader.backend in DETERMINISTIC:
            return None
        if reader.backend not in CHAT_BACKENDS:
            return reader
        options: dict[str, Any] = {**reader.options, "temperature": self.temperature}
        return msgspec.structs.replace(reader, options=options)
