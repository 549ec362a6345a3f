"""Answers computed from financial statements by textbook definitions (margins, returns, turnover, coverage).

The definitions are those of any accounting textbook; the labels are the usual ones of annual reports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from looseleaf.models.extractive.candidate import Candidate, Passage
from looseleaf.models.extractive.fact import Fact, page_facts
from looseleaf.models.extractive.number import plain
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.query import Query
from looseleaf.models.extractive.words import stem_set

__all__ = ["MEASURE_WORDS", "STATEMENT_SEARCHES", "Measure", "finance_candidates", "measure_of"]

STATEMENT_SEARCHES: Final = (
    "consolidated balance sheets total assets total current liabilities accounts payable stockholders equity",
    "consolidated statements of income operations net sales cost of sales operating income provision taxes net income",
    "consolidated statements of cash flows depreciation amortization net cash provided by operating activities",
)
"""Searches that find the three statements of an annual report."""
ALL_FOUND: Final = 1.2
"""Score of a measure with all its lines: more than any one of them can reach as an answer."""
DAYS: Final = 365.0
DECIMALS: Final = 2
SMALL: Final = 0.05
"""Below this a ratio is written with twice as many decimals."""
QUALIFIERS: Final = frozenset(stem_set("current long term deferred other per share tax comprehensive gross"))
"""Words that make a label another line ("total current liabilities" is not "total liabilities")."""
MEASURE_WORDS: Final = stem_set(
    "ebitda dpo dso dio roa roe margin return returns ratio turnover outstanding days payable coverage quick common"
)
"""Words of measures: a document need not hold them for its statements to give the measure."""
MOST_OTHER_WORDS: Final = 6
"""Words that a label may have beyond the usual ones ("Net income attributable to …")."""

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
    """`factor × Σ top ÷ Σ bottom`; an empty bottom is 1. Lines in `averaged` are means of this and last year's value."""

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
_EBITDA: Final = re.compile(r"^(?:what (?:is|was) )?(?:the )?(?:[\w.']+ )?ebitda\b(?! margin)", re.IGNORECASE)
_PLAIN: Final = re.compile(
    r"^(?:what (?:is|was) )?(?:the )?(?P<name>total debt|common equity)\b", re.IGNORECASE
)


def finance_candidates(pool: Pool) -> Iterator[Candidate]:
    """The measure that the question asks for, if all its lines are found for its year."""
    measure = measure_of(pool.query)
    year = max(pool.query.years, default=None)
    if measure is None or year is None:
        return
    lines = _Lines(pool, year)
    value = _evaluate(lines, measure)
    if value is None or not lines.used:
        return
    evidence = "; ".join(fact.evidence for _, fact in lines.used)
    parts = tuple(Passage(page, fact.evidence) for page, fact in lines.used)
    decimals = pool.query.form.decimals
    text = (
        plain(value, decimals)
        if decimals is not None
        else plain(round(value, DECIMALS if abs(value) >= SMALL else 2 * DECIMALS))
    )
    yield Candidate(text, lines.used[0][0], evidence, ALL_FOUND, "finance", computed=True, parts=parts)


def measure_of(query: Query) -> Measure | None:
    """The measure that a question asks for, or `None`."""
    text = " ".join(query.text.rstrip(" ?").replace("-", " ").split())
    if not query.years:
        return None
    for pattern, measure in MEASURES:
        if re.search(pattern, text, re.IGNORECASE):
            return measure
    match = _TO.match(text)
    if match is not None:
        top, bottom = _named(match["top"]), _named(match["bottom"])
        if top and bottom:
            averaged = (bottom,) if "average" in match["bottom"].lower() else ()
            return Measure(
                f"{top} to {bottom}", SUMS.get(top, (top,)), SUMS.get(bottom, (bottom,)), averaged=averaged
            )
    if _EBITDA.match(text):
        return Measure("EBITDA", SUMS["ebitda"])
    plain_match = _PLAIN.match(text)
    if plain_match is not None:
        return (
            Measure("total debt", SUMS["total debt"])
            if "debt" in plain_match["name"].lower()
            else Measure("equity", ("equity",))
        )
    return None


def _named(text: str) -> str | None:
    """The line or sum that a piece of a question names: the longest name that it holds."""
    words = f" {text.lower().replace('average ', '')} "
    names = sorted(NAMES, key=len, reverse=True)
    return next(
        (NAMES[name] for name in names if f" {name}" in words or f" {name.rstrip('s')} " in words), None
    )


class _Lines:
    """Looks up lines of the statements for one year and remembers which facts were used."""

    def __init__(self, pool: Pool, year: int) -> None:
        self._pool = pool
        self._year = year
        self.used: list[tuple[int, Fact]] = []

    def value(self, name: str, averaged: bool) -> float | None:
        """The line's value, without its sign: statements print expenses in brackets or not as they like."""
        optional = name.endswith("?")
        now = self._find(name.rstrip("?"), self._year, known_pages=optional)
        if now is None or not averaged:
            return 0.0 if now is None and optional else now
        before = self._find(name, self._year - 1)
        return now if before is None else (now + before) / 2.0

    def _find(self, name: str, year: int, *, known_pages: bool = False) -> float | None:
        """The line's value in a year; `known_pages` restricts the search to pages that other lines came from."""
        for label in LABELS[name]:
            found = self._best(stem_set(label), label, year, known_pages)
            if found is not None:
                if found not in self.used:
                    self.used.append(found)
                return abs(found[1].number.value)
        return self._by_difference(year) if name == "total liabilities" else None

    def _by_difference(self, year: int) -> float | None:
        """Total liabilities of a balance sheet that does not print them."""
        whole, equity = self._find("liabilities and equity", year), self._find("equity", year)
        return None if whole is None or equity is None else whole - equity

    def _best(
        self, stems: frozenset[str], label: str, year: int, known_pages: bool
    ) -> tuple[int, Fact] | None:
        """The fact whose label is nearest to a usual one: the fewest other words, on a page already used, the first."""
        pages = {page for page, _ in self.used}
        found: list[tuple[int, bool, int, Fact]] = []
        for passage in self._pool.passages:
            if known_pages and passage.page not in pages:
                continue
            for fact in page_facts(passage.text):
                others = fact.label_stems - stems
                if fact.year != year or fact.prose or not stems <= fact.label_stems or others & QUALIFIERS:
                    continue
                if (
                    not others
                    or fact.label.lower().startswith(label.split()[0])
                    and len(others) <= MOST_OTHER_WORDS
                ):
                    found.append((len(others), passage.page not in pages, passage.page, fact))
        best = min(found, key=lambda one: one[:2], default=None)
        return None if best is None else best[2:]


def _evaluate(lines: _Lines, measure: Measure) -> float | None:
    top = _sum(lines, measure.top, measure.averaged)
    minus = _sum(lines, measure.minus, measure.averaged) if measure.minus else 0.0
    bottom = _sum(lines, measure.bottom, measure.averaged) if measure.bottom else 1.0
    if top is None or minus is None or not bottom:
        return None
    return measure.factor * (top - minus) / bottom


def _sum(lines: _Lines, names: tuple[str, ...], averaged: tuple[str, ...]) -> float | None:
    total = 0.0
    for name in names:
        value = lines.value(name, name in averaged)
        if value is None:
            return None
        total += value
    return total
