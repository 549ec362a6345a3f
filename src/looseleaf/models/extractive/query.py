"""`Query`: what a question asks for, read from its wording alone."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final

import msgspec

from looseleaf.models.extractive.words import STOPWORDS, number_word, ordinal_word, roman, stem, tokens

__all__ = ["DATE_WEIGHT", "Form", "Kind", "Operation", "Query", "analyse"]


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


class Form(msgspec.Struct, frozen=True):
    """How the answer is to be written.

    Attributes:
        decimals: digits after the point that the question asks for.
        scale: divisor for "in millions" and the like (1 where the question names none).
        listed: whether a list is asked for.
        order: `"ascending"`, `"descending"` or `"alphabetical"`, or empty.
        date: date pattern in the question's own letters (`YYYY-MM`), or empty.
        integer: whether a whole number is asked for.
    """

    decimals: int | None = None
    scale: float = 1.0
    listed: bool = False
    order: str = ""
    date: str = ""
    integer: bool = False


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A question, taken apart.

    Attributes:
        raw: the question as asked.
        text: the question without its instructions on how to write the answer.
        kind: the sort of answer.
        operation: what to do with the values found.
        form: how to write the answer.
        terms: content stems with their weights, in order of appearance.
        focus: stems of the noun phrase right after the question word ("which *officer* …", "how many *steps* …").
        focus_is_name: whether that noun phrase starts with a capital letter.
        names: capitalised words and quoted phrases, as written.
        quotes: quoted phrases.
        years: four-digit years.
        numbers: other digit strings.
        pages: physical pages that the question names.
        labels: `("figure", 3)`-like references.
        options: the alternatives of an either-or question.
        from_end: whether the items asked for are the last ones of their list.
        ordinal: place in a list that the question names ("the *second* objective"), -1 for the last, or 0.
        wanted: number of items asked for ("the *three* reasons"), or 0.
    """

    raw: str
    text: str
    kind: Kind
    operation: Operation
    form: Form
    terms: dict[str, float]
    focus: tuple[str, ...]
    focus_is_name: bool
    names: tuple[str, ...]
    quotes: tuple[str, ...]
    years: tuple[int, ...]
    numbers: tuple[str, ...]
    pages: tuple[int, ...]
    labels: tuple[tuple[str, int], ...]
    options: tuple[str, ...]
    wanted: int
    ordinal: int = 0
    from_end: bool = False


_INSTRUCTION: Final = re.compile(
    r"(?:please\b|write\b|wri\w+ (?:down )?the answer|an[sw]{1,2}[eo]?r\b|round\b|give\b|return\b|directly\b|enumerate (?:each|all)\b"
    r"|format\b|your answer\b|the answer\b|list (?:the|all the|them) (?:\w+ )?(?:in|with|like)\b|use\b|for example\b|e\.g\.|save\b"
    r"|represent\b|express\b|note that\b|list them\b|the result\b)",
    re.IGNORECASE,
)
_SCALES: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_PAGE: Final = re.compile(
    r"\b(pages?|slides?)\s*(?:numbers?\s*|no\.?\s*)?((?:\d+|[a-z]+)(?:(?:\s*(?:,|and|to|through|&|-|–)\s*)+(?:pages?\s*|slides?\s*)?\d+)*)",
    re.I,
)
_ORDINAL_PAGE: Final = re.compile(r"\b(\w+)\s+(?:cover\s+)?(?:page|slide)\b", re.IGNORECASE)
_LABEL: Final = re.compile(
    r"\b(figure|fig|table|section|appendix|chapter|unit|step|question|part|exhibit|quarter|chart)s?\.?[\s-]*"
    r"(\d+|[IVX]+)\b(?!\.\d)",
    re.IGNORECASE,
)
_QUOTE: Final = re.compile(r"[\"“]([^\"”]{2,120})[\"”]|(?<!\w)['‘]([^'’]{2,80})['’](?!\w)")
_FISCAL: Final = re.compile(r"\b(?:FY|fiscal year|fiscal)\s*(?=(?:19|20)\d\d)", re.IGNORECASE)
_YEAR: Final = re.compile(r"(?<![\d.,])((?:1[6-9]|20)\d\d)(?!\d|,\d{3}|\.\d)")
_NUMBER: Final = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
_GENERIC: Final = frozenset(
    stem(word)
    for word in """document documents paper report slide slides page pages text file book brochure manual guide handbook
    presentation write answer format show shows shown mention mentioned appear appears include included provide list name
    names call called total number many type types kind kinds give state stated describe described use used refer according
    figure table chart section end ended survey people percentage percent proportion value amount""".split()
)
_GENERIC_WEIGHT: Final = 0.35
_NAME_WEIGHT: Final = 1.3
DATE_WEIGHT: Final = 0.4
COMPANY_WEIGHT: Final = 0.2
"""Weight of the words of a company's full name: the document is about it, its tables do not repeat it."""
_NUMBER_WEIGHT: Final = 1.5


def _split_instructions(question: str) -> tuple[str, str]:
    """The question proper and the instructions on how to write the answer."""
    asked, told = [], []
    for sentence in re.split(r"(?<=[?.!])\s*(?=[A-Z\[(])|(?<=\?)\s*|\n+", question.strip()):
        if not sentence.strip():
            continue
        (told if asked and _INSTRUCTION.match(sentence.strip()) else asked).append(sentence.strip())
    return " ".join(asked), " ".join(told)


def _form(question: str, told: str) -> Form:
    whole = question.lower()
    decimals = None
    match = re.search(r"(\w+)[ -]decimals?\b", whole)
    if match:
        decimals = int(match[1]) if match[1].isdigit() else number_word(match[1])
    scale = re.search(
        r"\bin (?:us |usd |eur |gbp |u\.s\. )?(?:dollars? |\$ ?)?(thousand|million|billion|trillion)s?\b",
        whole,
    )
    order = re.search(r"\b(ascending|descending|alphabetical)", whole)
    date = re.search(r"\b[YMD]{2,4}(?:[-/.][YMD]{2,4})+\b", question)
    return Form(
        decimals=decimals,
        scale=_SCALES[scale[1]] if scale else 1.0,
        listed=bool(re.search(r"\blists?\b|\benumerate|\[", told.lower() or whole))
        or whole.startswith("list"),
        order=order[1] if order else "",
        date=date[0] if date else "",
        integer=bool(re.search(r"\bint(?:eger)?\b", whole)),
    )


def _pages(text: str) -> tuple[int, ...]:
    found: list[int] = []
    for match in _PAGE.finditer(text):
        numbers = [int(n) for n in re.findall(r"\d+", match[2])]
        if not numbers:
            value = number_word(match[2])
            numbers = [value] if value else []
        if (
            len(numbers) == 2
            and re.search(r"to|through|-|–", match[2])
            and numbers[0] < numbers[1] <= numbers[0] + 50
        ):
            numbers = list(range(numbers[0], numbers[1] + 1))
        found += numbers
    for match in _ORDINAL_PAGE.finditer(text):
        value = ordinal_word(match[1])
        found += [value] if value else []
    if re.search(r"\b(?:on|of) the (?:front )?cover\b", text.lower()):
        found.append(1)
    return tuple(dict.fromkeys(found))


def _labels(text: str) -> tuple[tuple[str, int], ...]:
    found = []
    for match in _LABEL.finditer(text):
        value = int(match[2]) if match[2].isdigit() else roman(match[2])
        if value is not None:
            found.append(("figure" if match[1].lower() == "fig" else match[1].lower(), value))
    return tuple(dict.fromkeys(found))


def _quotes(text: str) -> tuple[str, ...]:
    return tuple((match[1] or match[2]).strip() for match in _QUOTE.finditer(text))


def _names(text: str) -> tuple[str, ...]:
    """Capitalised or mixed-case words that do not merely start a sentence."""
    found = []
    for match in re.finditer(r"[^\W\d_][\w&'’-]*", text):
        word = match[0]
        starts = not text[: match.start()].rstrip() or text[: match.start()].rstrip()[-1] in ".?!:"
        if word.lower() in STOPWORDS:
            continue
        if word[0].isupper() and (not starts or not word[1:].islower() or not _is_question_word(word)):
            found.append(word)
    return tuple(dict.fromkeys(found))


_QUESTION_WORDS: Final = frozenset(
    "what which who whom whose when where why how name list tell find identify state enumerate compare compared "
    "provide calculate determine".split()
)


def _is_question_word(word: str) -> bool:
    return word.lower() in _QUESTION_WORDS or word.lower() in STOPWORDS


def _terms(text: str, names: tuple[str, ...]) -> dict[str, float]:
    name_stems = {stem(name) for name in names}
    placing = {"first", "last", "top", "second", "third"}
    placing |= {
        match[1].lower()
        for match in re.finditer(
            r"\b(?:the|first|last|top) (\d{1,2}|two|three|four|five|six|seven|eight|nine|ten)\b", text, re.I
        )
    }
    labelled = {match[2] for match in _LABEL.finditer(text)}
    days = {day for match in _DAY.finditer(text) for day in match.groups() if day}
    companies = {stem(token) for match in _COMPANY.finditer(text) for token in tokens(match[0])}
    weights: dict[str, float] = {}
    for token in tokens(_UNIT.sub("", text)):
        lowered = token.lower()
        if lowered in STOPWORDS or lowered in _QUESTION_WORDS:
            continue
        root = stem(token)
        weight = 1.0
        if root in _GENERIC:
            weight = _GENERIC_WEIGHT
        elif token in days or token.lower().startswith(_MONTH_NAMES):
            weight = DATE_WEIGHT
        elif lowered in placing:
            weight = _GENERIC_WEIGHT
        elif token in labelled:
            weight = _GENERIC_WEIGHT
        elif any(c.isdigit() for c in token):
            weight = _NUMBER_WEIGHT
        elif root in companies:
            weight = COMPANY_WEIGHT
        elif root in name_stems:
            weight = _NAME_WEIGHT
        weights[root] = max(weight, weights.get(root, 0.0))
    return weights


_MONTH_NAMES: Final = (
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_DAY: Final = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\s+(\d{1,2})\b"
    r"|\b(\d{1,2})(?:st|nd|rd|th)?\s+(?:january|february|march|april|may|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
_COMPANY: Final = re.compile(
    r"(?:[A-Z][\w&'’-]*,? )+(?:Inc|Corp|Corporation|Ltd|LLC|plc|PLC|AG|SE|Co|Company)\b\.?"
)
_UNIT: Final = re.compile(
    r",?\s*\(?\bin (?:us |usd |eur |gbp |u\.s\. )?(?:dollars? |\$ ?)?(?:thousand|million|billion)s?\)?(?=[\s?.,)]|$)"
    r"|,?\s+in (?:usd|eur|gbp|dollars|percent|%)(?=[\s?.,)]|$)",
    re.IGNORECASE,
)
"""The unit that an answer is asked in; it says nothing about where the answer stands."""
_FOCUS: Final = re.compile(
    r"\b(?:which|what|whose|how many|how much|number of|amount of|list(?: all)?(?: the)?|name(?: of)?(?: the)?|total)\s+"
    r"(?:(?:is|are|was|were|of|the|a|an|all)\s+)*([^?,.;:]+)",
    re.IGNORECASE,
)
_FOCUS_END: Final = frozenset(
    """is are was were do does did has have had can could will would should in on at of for from to by with that which who
    when where as between according mentioned listed shown included there be being and or per during under used uses""".split()
)


def _focus(text: str) -> tuple[str, ...]:
    match = _FOCUS.search(text)
    if not match:
        return ()
    words = []
    for token in tokens(match[1]):
        if token.lower() in _FOCUS_END and words:
            break
        if token.lower() not in STOPWORDS:
            words.append(stem(token))
    return tuple(words[:5])


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
        (Kind.YEAR, r"\b(?:what|which) (?:fiscal |calendar )?year\b|\bin which year\b"),
        (Kind.MONTH, r"\b(?:what|which) month\b|\bmonths? (?:of|is|was)\b"),
        (
            Kind.DATE,
            r"\b(?:what|which)(?: is| was)?(?: the)? (?:\w+ )?date\b|\bdates?\b|^when\b|\bdeadline\b|\bwhen (?:was|is|were|did|does|will)\b",
        ),
        (Kind.TIME, r"\bwhat time\b|\bat which time\b"),
        (Kind.COUNT, r"\bhow many\b|\b(?:the|total) number of\b|\bhow \w+ (?:are|is) needed\b"),
        (
            Kind.MONEY,
            r"\bhow much (?:money|does|did|do|will|is|was|were)\b|\b(?:price|cost|fee|salary|budget|revenue)s?\b",
        ),
        (
            Kind.NUMBER,
            r"\bhow (?:much|long|old|far|large|big|tall|high|wide|deep|heavy)\b|\b(?:ratio|average|total|maximum|minimum|amount|sum|rate|score|population|temperature)\b",
        ),
        (Kind.IDENTIFIER, r"\b(?:number|no|id|code|model)\b\.?"),
        (
            Kind.PERSON,
            r"^who\b|\bwho (?:is|was|are|were|did|wrote|signed)\b|\bwhose\b|\bauthors?\b|\b(?:which|what) (?:\w+ )?(?:officer|person|author|president|judge|director|manager|professor|artist|player)s?\b",
        ),
        (
            Kind.PLACE,
            r"^where\b|\b(?:which|what) (?:\w+ )?(?:city|country|state|county|place|location|region|province|town)\b",
        ),
        (Kind.TITLE, r"\btitle\b|\bheading\b|\bname of (?:the )?(?:section|chapter|unit)\b"),
    )
)
_YES_NO: Final = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b", re.IGNORECASE
)


def _kind(text: str, options: tuple[str, ...]) -> Kind:
    if {option.lower() for option in options} == {"yes", "no"} or _YES_NO.match(text):
        return Kind.YES_NO
    if options:
        return Kind.CHOICE
    for kind, pattern in _KINDS:
        if pattern.search(text):
            return kind
    return Kind.TEXT


_OPERATIONS: Final[tuple[tuple[Operation, re.Pattern[str]], ...]] = tuple(
    (operation, re.compile(pattern, re.IGNORECASE))
    for operation, pattern in (
        (
            Operation.CHANGE,
            r"\b(?:percent(?:age)?|relative) (?:change|increase|decrease|growth)\b|\bgrowth rate\b",
        ),
        (
            Operation.DIFFERENCE,
            r"\bdifferences?\b|\bhow (?:many|much) (?:more|less|fewer|higher|lower|larger|greater|longer)\b|\bgap\b|\bdiffer\b"
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


def _operation(text: str) -> Operation:
    for operation, pattern in _OPERATIONS:
        if pattern.search(text):
            return operation
    return Operation.LOOKUP


def _options(text: str, told: str, quotes: tuple[str, ...]) -> tuple[str, ...]:
    directed = _quotes(told) if re.search(r"directly|either|answer ['\"‘“]", told, re.IGNORECASE) else ()
    if re.search(r"answer ['\"‘“]?y[es]{2}['\"’”]? or ['\"‘“]?no", f"{text} {told}", re.IGNORECASE):
        return ("yes", "no")
    if len(directed) >= 2:
        return directed
    match = re.search(
        r"(?:,|:|\bis it|\bmore|\bbetween)\s+(?:the\s+)?([^,:?]{1,40}?),?\s+or\s+(?:the\s+)?([^,?]{1,40})\?",
        text,
    )
    return (match[1].strip(), match[2].strip()) if match else ()


def _wanted(text: str) -> int:
    match = re.search(
        r"\b(?:what|which|list|name|are) (?:are )?(?:the )?(?:(?:first|top|last|main|key) )?(\w+(?:-\w+)?) \w+",
        text,
        re.I,
    )
    if not match:
        return 0
    value = int(match[1]) if match[1].isdigit() and len(match[1]) < 3 else number_word(match[1])
    return value if value and value > 1 else 0


_PLACE: Final = re.compile(
    r"\bthe (\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|final)\s+"
    r"(?!page|slide|figure|fig|table|chart|column|row|half|quarter|time|largest|highest|smallest|lowest|most|cover|two|three|four|\d)[a-z]",
    re.IGNORECASE,
)


def _ordinal(text: str) -> int:
    match = _PLACE.search(text)
    if match is None:
        return 0
    return -1 if match[1].lower() in {"last", "final"} else ordinal_word(match[1]) or 0


def _is_listed(text: str, form: Form, wanted: int) -> bool:
    return form.listed or wanted > 1 or bool(_PLURAL.search(text))


_PLURAL: Final = re.compile(
    r"\b(?:what|which|who) are\b|\b(?:what|which) (?:(?!is|was|does|did|do|has|the|of|in)[\w-]+ ){0,2}"
    r"(?!(?:this|was|is|does|has)\b)\w{2,}(?<![sui])s\b(?! (?:is|was|does|has)\b)|^list\b|^enumerate\b"
    r"|\btell me all\b|\bsub-?sections? .*\binclude\b",
    re.IGNORECASE,
)
"""Wordings that ask for several things."""


@lru_cache(maxsize=512)
def analyse(question: str) -> Query:
    """Take a question apart; depends on the wording only."""
    text, told = _split_instructions(_FISCAL.sub("", question))
    form = _form(question, told)
    quotes, names = _quotes(text), _names(text)
    years = tuple(dict.fromkeys(int(year) for year in _YEAR.findall(text)))
    options = _options(text, told, quotes)
    wanted = _wanted(text)
    return Query(
        raw=question,
        text=text,
        kind=_kind(text, options),
        operation=_operation(text),
        form=msgspec.structs.replace(form, listed=_is_listed(text, form, wanted)),
        terms=_terms(text, names),
        focus=_focus(text),
        focus_is_name=bool(re.search(r"[Hh]ow many [A-Z]", text)),
        names=names,
        quotes=quotes,
        years=years,
        numbers=tuple(n for n in _NUMBER.findall(text) if not _YEAR.fullmatch(n)),
        pages=_pages(text),
        labels=_labels(text),
        options=options,
        wanted=wanted,
        ordinal=_ordinal(text),
        from_end=bool(re.search(r"\blast (?:\d+|two|three|four|five)\b", text, re.IGNORECASE)),
    )
