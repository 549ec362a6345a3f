"""`Slot`: one value that a document shows, and `Mint`, which draws fresh ones."""

from __future__ import annotations

from random import Random
from typing import Literal, cast

import msgspec
from rapidfuzz.distance import Levenshtein

from looseleaf.procedural.names import Pool, draw
from looseleaf.procedural.splits import Split, belongs, years

__all__ = ["Kind", "Mint", "Slot", "Values"]

Kind = Literal["number", "percent", "name", "date", "code", "category", "year", "count"]
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
NUMBER_TRIES = 25
"""The same for numbers, of which a crowded range may have none left."""
SERIES = ("II", "I")
"""A name whose pool has run dry is followed by `II`, `III` and so on."""
CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
FRESH_TRIES = 200
"""Draws before a value that another part of the document already shows is accepted."""


class Slot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One value shown in a document.

    Attributes:
        slot_id: name of the slot, unique within the document.
        kind: what it is; decides how it is printed and which answer format it has.
        value: a number in units of `10**-decimals`, or text.
        decimals: digits after the decimal point of a number.
        pool: where a fresh value of a name comes from.
        low, high, step: range and grid of fresh numbers, in units.
        choices: the closed list of a category.
        grouped: whether thousands are printed with commas.
    """

    slot_id: str
    kind: Kind
    value: int | str
    decimals: int = 0
    pool: str = ""
    low: int = 0
    high: int = 0
    step: int = 1
    choices: tuple[str, ...] = ()
    grouped: bool = True

    @property
    def units(self) -> int:
        """The number in units of `10**-decimals`."""
        return cast(int, self.value)

    @property
    def is_number(self) -> bool:
        """Whether the value is a number that can be reckoned with."""
        return self.kind in ("number", "percent", "count")

    @property
    def shown(self) -> str:
        """The value as the page prints it."""
        if not self.is_number:
            return str(self.value)
        return number_text(self.units, self.decimals, self.grouped) + ("%" if self.kind == "percent" else "")

    @property
    def gold(self) -> str:
        """The value as a gold answer: no thousands commas."""
        return self.shown.replace(",", "") if self.is_number else self.shown

    @property
    def answer_format(self) -> str:
        """The MMLongBench-Doc format of an answer that is this value."""
        if not self.is_number:
            return "Str"
        return "Float" if self.decimals or self.kind == "percent" else "Int"


Values = dict[str, Slot]
"""Every slot of a document by its name."""


def number_text(units: int, decimals: int, grouped: bool) -> str:
    """Units of `10**-decimals` as decimal text, exact."""
    sign, digits = ("-" if units < 0 else ""), str(abs(units)).rjust(decimals + 1, "0")
    whole = digits[: len(digits) - decimals]
    whole = f"{int(whole):,}" if grouped else whole
    return f"{sign}{whole}.{digits[-decimals:]}" if decimals else f"{sign}{whole}"


class Mint:
    """Draws values of one split that the document has not used yet."""

    def __init__(self, rng: Random, split: Split, used: set[str] | None = None) -> None:
        self.rng = rng
        self.split = split
        self.used = set() if used is None else set(used)
        self.values: Values = {}

    def number(self, low: int, high: int, step: int = 1) -> int:
        """A number of the split, its digits new to the document where the range allows.

        Numbers on a coarser grid (`step` > 1, read off an axis) are too few to be divided among splits.
        """
        if step > 1:
            return low + step * self.rng.randrange((high - low) // step + 1)
        value = low
        for tried in range(FRESH_TRIES):
            value = self.rng.randrange(low, high + 1)
            if belongs(value, self.split) and (
                tried >= NUMBER_TRIES or str(value).rstrip("0") not in self.used
            ):
                break
        self.used.add(str(value).rstrip("0"))
        return value

    def name(self, pool: Pool) -> str:
        """A name of the split that is new to the document."""
        name = self._unused(pool)
        self.used.add(name)
        return name

    def _unused(self, pool: Pool) -> str:
        """A name that the document does not have; numbered like a second work where a pool runs dry."""
        for _ in range(FRESH_TRIES):
            name = draw(pool, self.rng)
            if belongs(name, self.split) and name not in self.used:
                return name
        plain = draw(pool, self.rng)
        numbered = (f"{plain} {SERIES[0]}{SERIES[1] * i}" for i in range(FRESH_TRIES))
        return next(name for name in numbered if belongs(name, self.split) and name not in self.used)

    def near(self, pool: Pool, name: str, draws: int) -> str:
        """A name that the document does not have, the one among so many draws that is most like `name`."""
        found = max(
            (self._unused(pool) for _ in range(draws)),
            key=lambda other: Levenshtein.normalized_similarity(other, name),
        )
        self.used.add(found)
        return found

    def date(self) -> str:
        """A day of the split's years, written out."""
        for _ in range(FRESH_TRIES):
            day, month = self.rng.randrange(1, 29), self.rng.choice(MONTHS)
            date = f"{day} {month} {self.rng.choice(years(self.split))}"
            if date not in self.used:
                break
        self.used.add(date)
        return date

    def code(self) -> str:
        """An identifier such as `QTR-5810`; letters differ as well, so that two codes are never alike."""
        while True:
            code = "".join(self.rng.choices(CODE_LETTERS, k=3)) + f"-{self.rng.randrange(1000, 9999)}"
            if code not in self.used and belongs(code, self.split):
                self.used.add(code)
                return code

    def fresh(self, slot: Slot) -> Slot:
        """The same slot with another value of the same sort."""
        value: int | str = slot.value
        match slot.kind:
            case "number" | "percent":
                while value == slot.value:
                    value = self.number(slot.low, slot.high, slot.step)
            case "date":
                value = self.date()
            case "code":
                value = self.code()
            case "category":
                value = self.rng.choice([choice for choice in slot.choices if choice != slot.value])
            case "count":
                value = slot.units + (1 if slot.units < slot.high else -1)
            case "year":
                pass  # years are few; a document holds its unused ones back by itself
            case "name":
                value = self.name(cast(Pool, slot.pool))
        return msgspec.structs.replace(slot, value=value)

    def keep(self, **fields: object) -> str:
        """Add a slot with the given fields to the document; returns its name."""
        slot = msgspec.convert({"slot_id": f"s{len(self.values):05d}", **fields}, Slot)
        self.values[slot.slot_id] = slot
        return slot.slot_id

    def keep_number(
        self,
        low: int,
        high: int,
        *,
        decimals: int = 0,
        step: int = 1,
        kind: Kind = "number",
        grouped: bool = True,
    ) -> str:
        """A new number slot."""
        value = self.number(low, high, step)
        return self.keep(
            kind=kind, value=value, decimals=decimals, low=low, high=high, step=step, grouped=grouped
        )

    def keep_name(self, pool: Pool) -> str:
        """A new name slot."""
        return self.keep(kind="name", value=self.name(pool), pool=pool)

    def keep_text(self, kind: Kind) -> str:
        """A new date or code slot."""
        return self.keep(kind=kind, value=self.date() if kind == "date" else self.code())

    def keep_category(self, choices: tuple[str, ...]) -> str:
        """A new slot with one of a closed list of words."""
        return self.keep(kind="category", value=self.rng.choice(choices), choices=choices)

    def keep_copy(self, slot_id: str) -> str:
        """A new slot with the value of another: the same name printed in a second place."""
        return self.keep(
            **{**msgspec.structs.asdict(self.values[slot_id]), "slot_id": f"s{len(self.values):05d}"}
        )
