"""What a grounding check says about a finding."""

from __future__ import annotations

from enum import StrEnum

import msgspec

__all__ = ["ClaimKind", "ClaimVerdict", "Grounding", "Verdict"]


class Verdict(StrEnum):
    """How a finding stands to the page that it cites."""

    GROUNDED = "grounded"
    """Everything in it that can be checked is on the page, in the context that the finding gives it."""
    CONTRADICTED = "contradicted"
    """The page says something else where the finding points: another row, year, column or unit."""
    NOT_FOUND = "not found"
    """The page does not say it."""
    UNCHECKED = "unchecked"
    """Nothing to check: the page has no text, or the finding holds no claim."""


class ClaimKind(StrEnum):
    """What kind of thing a finding claims."""

    NUMBER = "number"
    UNIT = "unit"
    NAME = "name"
    CODE = "code"
    CELL = "cell"
    """A text cell of a table in the row that the finding names."""
    WORDS = "words"
    PAGE = "page"
    """That the cited page is the one where this stands."""


class ClaimVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """One claim of a finding.

    Attributes:
        kind: what it is.
        text: the claim as the finding words it.
        verdict: what the page says.
        found: what the page says instead, or where it stands, in words.
    """

    kind: ClaimKind
    text: str
    verdict: Verdict
    found: str = ""


class Grounding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The verdict on one finding.

    Attributes:
        verdict: the finding's.
        claims: the claims that were checked.
        elsewhere: physical page of the document that says it, where the cited one does not.
        reason: why nothing was checked, or what the judge wrote.
    """

    verdict: Verdict
    claims: tuple[ClaimVerdict, ...] = ()
    elsewhere: int | None = None
    reason: str = ""
