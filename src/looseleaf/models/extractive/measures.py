"""`Measure`: textbook measures of financial statements, and the labels that annual reports give to their lines.

The definitions are those of any accounting textbook (margins, returns, turnover, coverage); the labels are the usual
ones of annual reports.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from looseleaf.models.extractive.query import Query
from looseleaf.models.extractive.words import stem_set

__all__ = ["LABELS", "MEASURE_WORDS", "STATEMENT_SEARCHES", "Measure", "measure_of"]

STATEMENT_SEARCHES: Final = (
    "consolidated balance sheets total assets total current liabilities accounts payable stockholders equity",
    "consolidated statements of income operations net sales cost of sales operating income provision taxes net income",
    "consolidated statements of cash flows depreciation amortization net cash provided by operating activities",
)
"""Searches that find the three statements of an annual report."""
DAYS: Final = 365.0
MEASURE_WORDS: Final = stem_set(
    "ebitda dpo dso dio roa roe margin return returns ratio turnover outstanding days payable coverage quick common"
)
"""Words of measures: a document need not hold them for its statements to give the measure."""

LABELS: Final[dict[str, tuple[str, ...]]] = {
    "revenue": (
        "total net sales",
        "total net revenue",
        "total revenue",
        "total revenues",
        "net revenue",
        "net sales",
        "revenue",
        "revenues",
        "sales",
    ),
    "cost of sales": (
        "cost of sales",
        "total cost of revenue",
        "cost of revenue",
        "total cost of sales",
        "cost of goods sold",
        "merchandise costs",
        "cost of products sold",
    ),
    "gross profit": ("gross profit", "gross margin"),
    "operating income": (
        "operating income",
        "income from operations",
        "operating profit",
        "total operating income",
        "operating income loss",
    ),
    "depreciation": (
        "depreciation and amortization",
        "depreciation amortization and accretion",
        "depreciation",
    ),
    "interest expense": ("interest expense", "net interest expense"),
    "pretax income": (
        "income before income taxes",
        "income before provision for income taxes",
        "earnings before income taxes",
        "profit before tax",
    ),
    "income tax": ("provision for income taxes", "income tax expense", "income taxes"),
    "net income": ("net income", "net profit", "net earnings", "profit for the year"),
    "cash": ("cash and cash equivalents",),
    "receivables": ("accounts receivable", "trade receivables", "receivables"),
    "inventory": ("inventories", "inventory", "merchandise inventories"),
    "current assets": ("total current assets",),
    "total assets": ("total assets",),
    "payables": ("accounts payable", "trade payables"),
    "current liabilities": ("total current liabilities",),
    "total liabilities": ("total liabilities",),
    "liabilities and equity": (
        "total liabilities and stockholders equity",
        "total liabilities and equity",
        "total liabilities and shareholders equity",
    ),
    "equity": ("total equity", "total stockholders equity", "total shareholders equity"),
    "long-term debt": ("long-term debt", "debt and capital lease obligations", "long-term borrowings"),
    "current debt": ("current portion of long-term debt", "short-term debt", "short-term borrowings"),
    "operating cash flow": (
        "net cash provided by operating activities",
        "net cash provided by used in operating activities",
        "cash flow from operating activities",
    ),
    "capital expenditure": (
        "purchases of property and equipment",
        "additions to property and equipment",
        "capital expenditures",
    ),
}
"""Lines of the statements with the labels that annual reports give them, the commonest first."""

NAMES: Final[dict[str, str]] = {
    "operating cash flow": "operating cash flow",
    "cash flow from operations": "operating cash flow",
    "cash flow": "operating cash flow",
    "total debt": "total debt",
    "debt": "total debt",
    "long term debt": "long-term debt",
    "interest expense": "interest expense",
    "total liabilities": "total liabilities",
    "total liability": "total liabilities",
    "current liabilities": "current liabilities",
    "current assets": "current assets",
    "total assets": "total assets",
    "assets": "total assets",
    "total equity": "equity",
    "equity": "equity",
    "ebitda": "ebitda",
    "cash": "cash",
    "cash balance": "cash",
    "cash and cash equivalents": "cash",
    "net income": "net income",
    "revenue": "revenue",
    "net sales": "revenue",
    "gross profit": "gross profit",
    "operating income": "operating income",
}
"""What questions call the lines and sums of lines."""

SUMS: Final[dict[str, tuple[str, ...]]] = {
    "ebitda": ("operating income", "depreciation"),
    "total debt": ("long-term debt", "current debt?"),
}
"""Sums of lines; a line with a question mark may be missing."""


class Measure(msgspec.Struct, frozen=True):
    """`factor × (Σ top − Σ minus) ÷ Σ bottom`.

    Attributes:
        name: what the measure is called.
        top: lines that are added up.
        bottom: lines whose sum divides; nothing divides where there are none.
        minus: lines that are taken off.
        averaged: lines that are means of this year's and last year's value.
        factor: constant factor.
    """

    name: str
    top: tuple[str, ...]
    bottom: tuple[str, ...] = ()
    minus: tuple[str, ...] = ()
    averaged: tuple[str, ...] = ()
    factor: float = 1.0


MEASURES: Final[tuple[tuple[str, Measure], ...]] = (
    (
        r"operating (?:profit )?margin before depreciation|ebitda margin",
        Measure("EBITDA margin", ("operating income", "depreciation"), ("revenue",)),
    ),
    (
        r"days? payables? outstanding|\bdpo\b",
        Measure(
            "days payable outstanding", ("payables",), ("cost of sales",), averaged=("payables",), factor=DAYS
        ),
    ),
    (
        r"days? sales? outstanding|\bdso\b",
        Measure(
            "days sales outstanding", ("receivables",), ("revenue",), averaged=("receivables",), factor=DAYS
        ),
    ),
    (
        r"days? (?:of )?inventory(?: outstanding)?|\bdio\b",
        Measure("days inventory", ("inventory",), ("cost of sales",), averaged=("inventory",), factor=DAYS),
    ),
    (
        r"inventory turnover",
        Measure("inventory turnover", ("cost of sales",), ("inventory",), averaged=("inventory",)),
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
    (r"interest coverage", Measure("interest coverage", ("operating income",), ("interest expense",))),
    (r"free cash flow", Measure("free cash flow", ("operating cash flow",), minus=("capital expenditure",))),
    (
        r"(?:net )?working capital",
        Measure("working capital", ("current assets",), minus=("current liabilities",)),
    ),
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
