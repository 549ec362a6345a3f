"""Writing an answer in the form that the question asks for: plain digits, dates, units, lists."""

from __future__ import annotations

import re
from typing import Final

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.kinds import Kind
from looseleaf.models.extractive.number import parse_number, plain
from looseleaf.models.extractive.query import Query

__all__ = ["formatted_date", "written"]

_VERBATIM: Final = frozenset({Kind.YEAR, Kind.TIME, Kind.PHONE, Kind.IDENTIFIER, Kind.MONTH})
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NUMERIC_DATE: Final = re.compile(r"\b(?P<a>\d{1,4})[/.-](?P<b>\d{1,2})[/.-](?P<c>\d{2,4})\b")


def written(query: Query, found: Candidate) -> str:
    """A candidate's text as the answer to the question."""
    if query.kind is Kind.DATE:
        return formatted_date(found.text, query.form.date) if query.form.date else found.text
    number = parse_number(found.text)
    if number is None or query.kind in _VERBATIM:
        return found.text
    value = abs(number.value) if number.text.startswith("(") else number.value
    scale = number.scale if number.scale != 1.0 else found.scale
    if scale not in {1.0, query.form.scale} and query.form.scale != 1.0:
        value = value * scale / query.form.scale
    if number.scale != 1.0 and query.form.scale == 1.0 and not query.form.integer:
        return found.text
    decimals = 0 if query.form.integer else query.form.decimals
    digits = plain(value, decimals if number.unit != "%" else None)
    return digits + "%" if number.unit == "%" else digits


def formatted_date(text: str, pattern: str) -> str:
    """A date in the question's own pattern (`YYYY-MM-DD`, `DD/MM/YYYY`); unchanged where it does not parse."""
    parts = _date_parts(text)
    if parts is None:
        return text
    year, month, day = parts
    needed = {"Y": year, "M": month, "D": day}
    if any(not needed[letter] for letter in set(pattern) & set("YMD")):
        return text
    values = {"YYYY": f"{year:04d}", "YY": f"{year % 100:02d}", "MM": f"{month:02d}", "DD": f"{day:02d}"}
    return re.sub(r"YYYY|YY|MM|DD", lambda match: values[match[0]], pattern)


def _date_parts(text: str) -> tuple[int, int, int] | None:
    """Year, month and day of a date as printed; a missing day is 0."""
    words = re.findall(r"[A-Za-z]+|\d+", text)
    months = [_MONTHS.index(word[:3].lower()) + 1 for word in words if word[:3].lower() in _MONTHS]
    years = [int(word) for word in words if re.fullmatch(r"(?:1[5-9]|20)\d\d", word)]
    if months and years:
        days = [int(word) for word in words if word.isdigit() and len(word) < 3]
        return years[0], months[0], days[0] if days else 0
    match = _NUMERIC_DATE.search(text)
    if match is None:
        return None
    first, second, third = int(match["a"]), int(match["b"]), int(match["c"])
    if len(match["a"]) == 4:
        return first, second, third
    year = third if third > 99 else 2000 + third
    return (year, first, second) if first <= 12 else (year, second, first)
