"""`Measure`: textbook measures of financial statements.

The definitions are those of any accounting textbook: margins, returns, turnover, coverage, days outstanding.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from looseleaf.models.extractive.query import Query
from looseleaf.models.extractive.statement_lines import NAMES, SUMS
from looseleaf.models.extractive.words import stem_set

__all__ = ["MEASURE_WORDS", "Measure", "measure_of"]

DAYS: Final = 365.0
MEASURE_WORDS: Final = stem_set(
    "ebitda dpo dso dio roa roe margin return returns ratio turnover outstanding days payable coverage quick common"
)
"""Words of measures: a document need not hold them for its statements to give the measure."""


class Measure(msgspec.Struct, frozen=True):
    """`factor × (Σ top − Σ minus) ÷ Σ bottom`, or a sum of such measures.

    Attributes:
        name: what the measure is called.
        top: lines that are added up.
        bottom: lines whose sum divides; nothing divides where there are none.
        minus: lines that are taken off.
        averaged: lines that are means of this year's and last year's value.
        factor: constant factor.
        plus: measures that are added up instead.
        less: measures that are then taken off.
    """

    name: str
    top: tuple[str, ...]
    bottom: tuple[str, ...] = ()
    minus: tuple[str, ...] = ()
    averaged: tuple[str, ...] = ()
    factor: float = 1.0
    plus: tuple[Measure, ...] = ()
    less: tuple[Measure, ...] = ()


_PAYABLE_DAYS: Final = Measure(
    "days payable outstanding", ("payables",), ("cost of sales",), averaged=("payables",), factor=DAYS
)
_SALES_DAYS: Final = Measure(
    "days sales outstanding", ("receivables",), ("revenue",), averaged=("receivables",), factor=DAYS
)
_STOCK_DAYS: Final = Measure(
    "days inventory", ("inventory",), ("cost of sales",), averaged=("inventory",), factor=DAYS
)
MEASURES: Final[tuple[tuple[str, Measure], ...]] = (
    (
        r"cash conversion cycle",
        Measure("cash conversion cycle", (), plus=(_STOCK_DAYS, _SALES_DAYS), less=(_PAYABLE_DAYS,)),
    ),
    (
        r"operating (?:profit )?margin before depreciation|ebitda margin",
        Measure("EBITDA margin", ("operating income", "depreciation"), ("revenue",)),
    ),
    (r"days? payables? outstanding|\bdpo\b", _PAYABLE_DAYS),
    (r"days? sales? outstanding|\bdso\b", _SALES_DAYS),
    (r"days? (?:of )?(?:sales (?:of|in) )?inventory(?: outstanding)?|\bdio\b|\bdsi\b", _STOCK_DAYS),
    (
        r"inventory turnover",
        Measure("inventory turnover", ("cost of sales",), ("inventory",), averaged=("inventory",)),
    ),
    (
        r"receivables? turnover",
        Measure("receivables turnover", ("revenue",), ("receivables",), averaged=("receivables",)),
    ),
    (
        r"payables? turnover",
        Measure("payables turnover", ("cost of sales",), ("payables",), averaged=("payables",)),
    ),
    (
        r"fixed assets? turnover",
        Measure("fixed asset turnover", ("revenue",), ("fixed assets",), averaged=("fixed assets",)),
    ),
    (
        r"(?:total )?assets? turnover",
        Measure("asset turnover", ("revenue",), ("total assets",), averaged=("total assets",)),
    ),
    (
        r"gross (?:profit )?margin",
        Measure("gross margin", ("revenue",), ("revenue",), minus=("cost of sales",)),
    ),
    (
        r"operating (?:profit |income )?margin",
        Measure("operating margin", ("operating income",), ("revenue",)),
    ),
    (
        r"net (?:profit |income )?margin|(?<!gross )(?<!operating )profit margin",
        Measure("net margin", ("net income",), ("revenue",)),
    ),
    (
        r"returns? on (?:total )?assets?|\broa\b",
        Measure("return on assets", ("net income",), ("total assets",)),
    ),
    (
        r"returns? on (?:common |shareholders'? |stockholders'? )?equity|\broe\b",
        Measure("return on equity", ("net income",), ("equity",)),
    ),
    (r"effective (?:income )?tax rate", Measure("effective tax rate", ("income tax",), ("pretax income",))),
    (
        r"(?:operating )?cash flow ratio",
        Measure("operating cash flow ratio", ("operating cash flow",), ("current liabilities",)),
    ),
    (r"current ratio", Measure("current ratio", ("current assets",), ("current liabilities",))),
    (
        r"quick ratio|acid[- ]test",
        Measure("quick ratio", ("current assets",), ("current liabilities",), minus=("inventory",)),
    ),
    (r"cash ratio", Measure("cash ratio", ("cash",), ("current liabilities",))),
    (
        r"interest coverage|times interest earned",
        Measure("interest coverage", ("operating income",), ("interest expense",)),
    ),
    (r"free cash flow", Measure("free cash flow", ("operating cash flow",), minus=("capital expenditure",))),
    (
        r"(?:net )?working capital",
        Measure("working capital", ("current assets",), minus=("current liabilities",)),
    ),
    (r"(?:dividend )?payout ratio", Measure("payout ratio", ("dividends",), ("net income",))),
    (
        r"retention ratio",
        Measure("retention ratio", ("net income",), ("net income",), minus=("dividends",)),
    ),
    (r"equity multiplier|financial leverage", Measure("equity multiplier", ("total assets",), ("equity",))),
    (
        r"(?:total )?(?:long[- ]term|non[- ]?current) liabilities",
        Measure("long-term liabilities", ("total liabilities",), minus=("current liabilities",)),
    ),
    (r"net debt", Measure("net debt", SUMS["total debt"], minus=("cash",))),
    (r"debt ratio", Measure("debt ratio", ("total liabilities",), ("total assets",))),
)
"""Named measures; the first pattern that matches the question counts."""
_TO: Final = re.compile(
    r"^(?:what (?:is|was) )?(?:the )?(?P<top>.+?)[ -]to[ -](?P<bottom>.+?)(?: ratio)?(?: (?:for|of|in)\b.*)?$",
    re.IGNORECASE,
)
_PLAIN: Final = re.compile(
    r"^(?:what (?:is|was) )?(?:the )?(?:[\w.']+ )?(?P<name>ebitda|total debt|common equity)\b(?! margin)",
    re.IGNORECASE,
)
_SUMS_BY_NAME: Final = {
    "ebitda": Measure("EBITDA", SUMS["ebitda"]),
    "total debt": Measure("total debt", SUMS["total debt"]),
    "common equity": Measure("equity", ("equity",)),
}


def measure_of(query: Query) -> Measure | None:
    """The measure that a question asks for, or `None`; without a year there is none."""
    text = " ".join(query.text.rstrip(" ?").replace("-", " ").split())
    if not query.years:
        return None
    one_to_other = _of_two_names(text)
    if one_to_other is not None:
        return one_to_other
    for pattern, measure in MEASURES:
        if re.search(pattern, text, re.IGNORECASE):
            return measure
    match = _PLAIN.match(text)
    return _SUMS_BY_NAME[match["name"].lower()] if match else None


def _of_two_names(text: str) -> Measure | None:
    """The measure "A to B", if both sides name lines of the statements."""
    match = _TO.match(text)
    top, bottom = (_named(match["top"]), _named(match["bottom"])) if match else (None, None)
    if match is None or top is None or bottom is None:
        return None
    averaged = (bottom,) if "average" in match["bottom"].lower() else ()
    return Measure(
        f"{top} to {bottom}", SUMS.get(top, (top,)), SUMS.get(bottom, (bottom,)), averaged=averaged
    )


def _named(text: str) -> str | None:
    """The line or sum that a piece of a question names: the longest name that it holds."""
    words = f" {text.lower().replace('average ', '')} "
    names = sorted(NAMES, key=len, reverse=True)
    return next(
        (NAMES[name] for name in names if f" {name}" in words or f" {name.rstrip('s')} " in words), None
    )
