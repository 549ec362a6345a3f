"""`Kind` and `Operation`: the sort of answer a question asks for, and what has to be done with what is found."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from looseleaf.models.extractive.words import stem_set

__all__ = ["AUTHOR", "KIND_WORDS", "NUMERIC", "Kind", "Operation", "kind_of", "operation_of"]


class Kind(StrEnum):
    """The sort of answer that a question asks for."""

    COUNT = "count"
    PERCENT = "percent"
    MONEY = "money"
    NUMBER = "number"
    YEAR = "year"
    DATE = "date"
    MONTH = "month"
    TIME = "time"
    PERSON = "person"
    PLACE = "place"
    DURATION = "duration"
    COLOR = "color"
    EMAIL = "email"
    URL = "url"
    PHONE = "phone"
    IDENTIFIER = "identifier"
    PAGE = "page"
    TITLE = "title"
    YES_NO = "yes_no"
    CHOICE = "choice"
    TEXT = "text"


class Operation(StrEnum):
    """What has to be done with the values that are found."""

    LOOKUP = "lookup"
    DIFFERENCE = "difference"
    CHANGE = "change"
    SUM = "sum"
    RATIO = "ratio"
    AVERAGE = "average"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"


AUTHOR: Final = (
    r"(?<!\bdo the )(?<!\bdid the )(?<!\bdoes the )(?<!\bhave the )(?<!\bby the )(?<!\bthat the )(?<!\bwhich the )"
    r"\bauthors?\b(?!['’])"
)
"""Authors that are asked for, not those who do what is asked about ("how do the authors …", "the author's model")."""
NUMERIC: Final = frozenset({Kind.COUNT, Kind.NUMBER, Kind.PERCENT, Kind.MONEY})
"""Kinds whose answer is a number."""

_KINDS: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (Kind.COUNT, r"^(?:[^?]*, )?how many (?!percent)"),
        (Kind.EMAIL, r"\be-?mail\b"),
        (Kind.URL, r"\b(?:url|website|web site|web address|web page|link)\b"),
        (Kind.PHONE, r"\b(?:phone|telephone|fax|hotline)\b(?: no\b| number)?"),
        (Kind.PAGE, r"\b(?:which|what) (?:pages?|slides?)\b|\bpage numbers?\b"),
        (Kind.COLOR, r"\b(?:what|which)(?: is| are)?(?: the)? colou?rs?\b|\bcolou?r of\b"),
        (Kind.PERCENT, r"\bpercent(?:age)?\b|\bproportion\b|\bwhat share\b|\bhow many percent"),
        (
            Kind.YEAR,
            r"\b(?:what|which) (?:fiscal |calendar )?year\b|\bin which year\b|\bwhich (?:\w+ )?years\b",
        ),
        (Kind.MONTH, r"\b(?:what|which) month\b|\bmonths? (?:of|is|was)\b"),
        (
            Kind.DATE,
            r"\b(?:what|which)(?: is| was)?(?: the)? (?:\w+ )?date\b|\bdates?\b|^when\b|\bdeadline\b|\bby when\b"
            r"|\bwhen (?:was|is|were|did|does|will)\b",
        ),
        (Kind.DATE, r"\b(?:which|what) day\b(?! of the week)"),
        (Kind.TIME, r"\bwhat time\b|\bat which time\b"),
        (
            Kind.IDENTIFIER,
            r"\b(?:the|which|what) number (?:of|on) (?:the|this|that) [\w-]+(?<!s)(?= |\?|$)|\bwhich number\b",
        ),
        (Kind.COUNT, r"^(?:[^?]*, )?(?:what|which) number of\b"),
        (Kind.COUNT, r"\bhow much [a-z]{3,}s (?:did|do|does|has|have|are|were)\b"),
        (Kind.COUNT, r"\bhow many\b|(?<!by )\b(?:the|total) number of\b|\bhow \w+ (?:are|is) needed\b"),
        (
            Kind.MONEY,
            r"\bhow much (?:money|does|did|do|will|is|was|were)\b|\b(?:price|cost|fee|salary|budget|revenue)s?\b",
        ),
        (Kind.DURATION, r"\bhow long (?:does|do|did|is|was|are|will|can|has|have|should|must)\b"),
        (
            Kind.NUMBER,
            r"\bhow (?:much|long|old|far|large|big|tall|high|wide|deep|heavy)\b"
            r"|\b(?:ratio|average|total|maximum|minimum|amount|sum|rate|score|population|temperature"
            r"|improvement|accuracy|recall|precision|speed|weight|height|width|length|capacity|frequency|distance|area|depth"
            r"|voltage|power|range|f1)\b",
        ),
        (Kind.IDENTIFIER, r"\b(?:number(?! of\b)|no|id|code|model)\b\.?"),
        (
            Kind.PERSON,
            r"^who\b|\bwhom\b|\bwho (?:is|was|are|were|did|wrote|signed)\b|\bwhose\b"
            rf"|{AUTHOR}"
            r"|\b(?:which|what) (?:\w+ )?"
            r"(?:officer|person|author|president|judge|director|manager|professor|artist|player)s?\b",
        ),
        (
            Kind.PLACE,
            r"^where\b|\b(?:which|what) (?:\w+ )?(?:city|country|state|county|place|location|region|province|town)\b",
        ),
        (Kind.TITLE, r"\btitle\b|\bheading\b|\bname of (?:the )?(?:section|chapter|unit)\b"),
    )
)
"""Wordings of each kind; the first that matches counts."""
KIND_WORDS: Final = {
    Kind.EMAIL: stem_set("e mail email address"),
    Kind.URL: stem_set("url web website site address page link"),
    Kind.PHONE: stem_set("phone telephone fax number hotline contact"),
    Kind.COLOR: stem_set("color colour"),
    Kind.PERCENT: stem_set("percent percentage proportion share"),
    Kind.DATE: stem_set("date day deadline"),
    Kind.YEAR: stem_set("year"),
    Kind.MONTH: stem_set("month"),
    Kind.TIME: stem_set("time"),
    Kind.PAGE: stem_set("page slide number"),
    Kind.TITLE: stem_set("title heading name"),
    Kind.MONEY: stem_set("money"),
}
"""Words that only name the kind of answer: what answers need not hold them."""
_YES_NO: Final = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b", re.IGNORECASE
)


_PARTS: Final = re.compile(
    r"^(?:\w+ to [^,]+, )?(?:(?:what|which) (?:are|were)|list|name|give)(?: all)?(?: (?:the|of))*(?: [\w-]+){0,3}? "
    r"(?:components|parts|elements|types|kinds|items|factors|reasons|examples|categories|names|features|steps|ways|methods"
    r"|advantages|benefits|goals|objectives|rules|modules|sections|segments|tasks|stages|phases|requirements|challenges"
    r"|limitations|sources|tools|services|products|functions|criteria|courses)\b",
    re.IGNORECASE,
)
"""Questions for the parts of a thing, whatever kind the words behind them suggest ("the components of the cost")."""


def kind_of(text: str, options: tuple[str, ...]) -> Kind:
    """The kind that a question's wording shows; `options` are its alternatives, if it gives any."""
    given = {option.lower() for option in options}
    if given and not given & {"yes", "no", "not"}:
        return Kind.CHOICE
    if given or _YES_NO.match(text):
        return Kind.YES_NO
    found = next((kind for kind, pattern in _KINDS if pattern.search(text)), Kind.TEXT)
    return Kind.TEXT if found in NUMERIC and _PARTS.match(text) else found


_OPERATIONS: Final[tuple[tuple[Operation, re.Pattern[str]], ...]] = tuple(
    (operation, re.compile(pattern, re.IGNORECASE))
    for operation, pattern in (
        (
            Operation.CHANGE,
            r"\b(?:percent(?:age)?|relative) (?:change|increase|decrease|growth)\b|\bgrowth rate\b"
            r"|\bby what percent(?:age)?\b|\bhow many percent (?:did|has|have)\b",
        ),
        (
            Operation.DIFFERENCE,
            r"\bdifferences?\b|\bgap\b|\bdiffer\b"
            r"|\bhow (?:many|much) (?:more|less|fewer|higher|lower|larger|greater|longer)\b"
            r"|\bhow much (?:\w+ )?(?:increase|decrease|grow|rise|drop|change)|\bhigher (?:percentage|proportion)\b"
            r"|\b(?:more|less|higher|lower) \w+ .*\b(?:than|compar(?:ed|ing) (?:to|with))\b",
        ),
        (Operation.RATIO, r"\bratio\b|\bwhat multiple\b|\bhow many times (?:more|larger|as|higher)\b"),
        (
            Operation.SUM,
            r"\b(?:combined|altogether|in total|sum of|added together|total (?:number|amount) of .* and)\b",
        ),
        (Operation.AVERAGE, r"\b(?:average|mean) of\b"),
        (
            Operation.MAXIMUM,
            r"\b(?:highest|largest|most|biggest|greatest|maximum|longest|top|best|latest|slowest|oldest)\b",
        ),
        (
            Operation.MINIMUM,
            r"\b(?:lowest|smallest|least|fewest|minimum|shortest|worst|earliest|fastest|youngest)\b",
        ),
    )
)


def operation_of(text: str) -> Operation:
    """The operation that a question's wording shows."""
    return next((operation for operation, pattern in _OPERATIONS if pattern.search(text)), Operation.LOOKUP)
