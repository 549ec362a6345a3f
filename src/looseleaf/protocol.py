"""`Protocol`: the frozen rules of one way to run an agent, and the named ones."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from looseleaf.errors import ConfigError

__all__ = ["PROTOCOLS", "Protocol", "named_protocol"]

AWM_MAX_TURNS = 15
"""Step budget (AWM, arXiv 2608.25618, agent loop)."""
AWM_PAGES = 3
"""Page images a query returns (AWM, retrieval: top 3 inside the question's document)."""
ALDEN_MAX_TURNS = 6
"""`MAX_TURN_NUM` (ALDEN, gipplab/ALDEN @ 8a0d3d4): at most five tool calls and one answer."""
ALDEN_RETURNED = 5
"""`top_n` of the retrieval server (ALDEN @ 8a0d3d4)."""
ALDEN_SHOWN = 3
"""`usage_top_n`, the images that are put in the context (ALDEN @ 8a0d3d4)."""
ALDEN_IMAGE_CAP = 15
"""`limit_images` = 5 × 3 (ALDEN @ 8a0d3d4)."""
ALDEN_MAX_PIXELS = 862_400
"""1,100 visual tokens of 28 × 28 pixels (ALDEN @ 8a0d3d4)."""


class Protocol(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent may do, see and spend on one question.

    Attributes:
        name: printable name that goes into every result.
        max_turns: the one budget, in generations of the policy.
        returned_k: pages a search returns.
        shown_k: how many of them the policy gets to see.
        memory: `mandatory` (after pages are shown, a note must come first), `optional` or `none`.
        note_turn: whether a note is an action of its `own` or rides `inside` the turn of another action.
        image_cap: most page images in one trajectory, repeats counted; `None` = no cap.
        max_pixels: cap of one page image; `None` = none beyond the renderer's.
        validation: `reject` an over-long or unsupported finding, or keep and flag it (`record`).
        malformed: whether a turn without an action that parses costs its turn or ends the trajectory.
        retrieval: what a search reaches: the run's retriever, or the annotated gold pages (`gold-pages`, an oracle).
        opening: pages shown before the first turn: `nothing`, `all-pages` or the pages of a `search` for the question.
    """

    name: str
    max_turns: int
    returned_k: int
    shown_k: int
    memory: Literal["mandatory", "optional", "none"] = "mandatory"
    note_turn: Literal["own", "inside"] = "own"
    image_cap: int | None = None
    max_pixels: int | None = None
    validation: Literal["reject", "record"] = "reject"
    malformed: Literal["costs-turn", "ends"] = "costs-turn"
    retrieval: Literal["retriever", "gold-pages"] = "retriever"
    opening: Literal["nothing", "all-pages", "search"] = "nothing"

    def __post_init__(self) -> None:
        if self.max_turns < 1:
            raise ConfigError(f"max_turns is {self.max_turns}; a trajectory needs at least 1 turn.")
        if not 0 < self.shown_k <= self.returned_k:
            raise ConfigError(
                f"shown_k is {self.shown_k} and returned_k is {self.returned_k}; use 1 ≤ shown_k ≤ returned_k."
            )

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the actions that the protocol has."""
        if self.opening != "nothing" and self.max_turns == 1:
            return ("answer",)
        note = ("note",) if self.memory != "none" and self.note_turn == "own" else ()
        return ("search", "fetch", *note, "answer")

    @property
    def demands_notes(self) -> bool:
        """Whether a note must follow pages; never where the only turn there is must answer."""
        return self.memory == "mandatory" and self.actions != ("answer",)


PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol(name="awm", max_turns=AWM_MAX_TURNS, returned_k=AWM_PAGES, shown_k=AWM_PAGES),
        Protocol(
            name="alden",
            max_turns=ALDEN_MAX_TURNS,
            returned_k=ALDEN_RETURNED,
            shown_k=ALDEN_SHOWN,
            memory="none",
            note_turn="inside",
            image_cap=ALDEN_IMAGE_CAP,
            max_pixels=ALDEN_MAX_PIXELS,
            malformed="ends",
        ),
        Protocol(name="direct", max_turns=1, returned_k=1, shown_k=1, memory="none", opening="all-pages"),
        Protocol(
            name="rag", max_turns=1, returned_k=AWM_PAGES, shown_k=AWM_PAGES, memory="none", opening="search"
        ),
        Protocol(
            name="ep-given",
            max_turns=AWM_MAX_TURNS,
            returned_k=AWM_PAGES,
            shown_k=AWM_PAGES,
            retrieval="gold-pages",
        ),
    )
}
"""The named protocols. `ep-given` is `awm` with the retriever replaced by the gold pages (an oracle setting)."""


def named_protocol(name: str, **changes: Any) -> Protocol:
    """A named protocol, with single rules changed; a changed one says so in its name.

    Raises:
        ConfigError: no protocol or rule has that name.
    """
    if name not in PROTOCOLS:
        raise ConfigError(f"There is no protocol {name!r}; use one of {', '.join(PROTOCOLS)}.")
    changes = {rule: value for rule, value in changes.items() if value is not None}
    unknown = set(changes) - set(Protocol.__struct_fields__)
    if unknown:
        raise ConfigError(
            f"A protocol has no rule {sorted(unknown)[0]!r}; it has {', '.join(Protocol.__struct_fields__)}."
        )
    base = PROTOCOLS[name]
    differing = {rule: value for rule, value in changes.items() if getattr(base, rule) != value}
    if not differing:
        return base
    suffix = ",".join(f"{rule}={value}" for rule, value in sorted(differing.items()))
    return msgspec.structs.replace(base, **differing, name=f"{name}[{suffix}]")
