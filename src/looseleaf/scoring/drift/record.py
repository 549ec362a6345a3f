"""What is stored of the items: replies in the user's reference, and a run's replies beside the pinned ones."""

from __future__ import annotations

import msgspec

__all__ = ["DriftRow", "PinnedReply"]


class PinnedReply(msgspec.Struct, frozen=True, kw_only=True):
    """One reply of an extractor or judge on one item, in a reference that outlives runs.

    The first reply with a text is the pinned one; later ones stay beside it.

    Attributes:
        reference: whose replies these are: role, model, its options, prompts and items, as an id.
        item_id: which item.
        replay: when the replay began, ISO 8601 with microseconds; it tells replays apart.
        model: the model that answered, as its server named it; empty where it did not say.
        text: the raw reply, or `None` where there was none.
        error: the sentence of the fault.
    """

    reference: str
    item_id: str
    replay: str
    model: str = ""
    text: str | None = None
    error: str | None = None


class DriftRow(msgspec.Struct, frozen=True, kw_only=True):
    """One item of the replay that stands beside a run's scores.

    Attributes:
        item_id: which item.
        replay: when the replay began.
        text: the raw reply now, or `None` where there was none.
        pinned: the raw reply then, or `None` likewise.
        error: the sentence of the fault.
    """

    item_id: str
    replay: str
    text: str | None = None
    pinned: str | None = None
    error: str | None = None

    @property
    def key(self) -> str:
        """Identity of the row inside its ledger."""
        return f"{self.replay}|{self.item_id}"
