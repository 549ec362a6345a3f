"""An extractor made of rules, for runs without a model: the short answer of a free-form response.

Not official: both benchmarks extract with a language model. Its numbers carry `NOT_OFFICIAL` wherever they appear.
"""

from __future__ import annotations

import re
from typing import Final

from looseleaf.question import NOT_ANSWERABLE
from looseleaf.roles import Extraction
from looseleaf.scoring import longdocurl, mmlongbench
from looseleaf.scoring.notation import FAIL_TO_ANSWER, label_of, render
from looseleaf.scoring.short_answers import is_refusal, listed_items

__all__ = ["NOT_OFFICIAL", "RuleExtractor", "short_answer_of"]

NOT_OFFICIAL: Final = "not official: rule extractor"
"""The mark on every number that rests on this extractor."""

FIRST_CHARACTERS: Final = 2_000
"""Numbers are looked for in this many characters of what a response commits to."""

SHORT_WORDS: Final = 25
"""A longer response is prose: its first sentence is taken, or the number that the question asks for."""

LONGEST: Final = 20_000
"""Of longer responses only the end is read, in characters: that is where answers are concluded."""


class RuleExtractor:
    """Finds the answer that a response commits to and writes it in both official notations."""

    mark = NOT_OFFICIAL

    def extract(self, question: str, response: str) -> Extraction:
        """The short answer of `response` in the official output format; the same for the same input."""
        answer = short_answer_of(question, response)
        refuses = answer in (NOT_ANSWERABLE, FAIL_TO_ANSWER)
        return Extraction(text=render(answer, "None" if refuses else label_of(answer)))


def short_answer_of(question: str, response: str) -> str:
    """The short answer that a response gives.

    A short response stays as it is, but for markdown, quotation marks and a final full stop around it. Of a longer one
    the part counts that it marks as its answer (a box, a tag, "the answer is"), else its first sentence. Whole numbers
    lose their separators, and where the question asks for a number the words around it.
    """
    text = _committed(response[-LONGEST:])
    if items := listed_items(text) or _enumerated(question, text):
        return "[" + ", ".join(_spelled(_number(item) or item) for item in items) + "]"
    statement = text if len(text.split()) <= SHORT_WORDS else _first_sentence(text)
    if is_refusal(statement) or _REFUSES.search(statement):
        return NOT_ANSWERABLE
    if statement.casefold() == FAIL_TO_ANSWER.casefold() or _CANNOT_READ.search(statement):
        return FAIL_TO_ANSWER
    asked = _ASKS_NUMBER.search(question)
    number = _only_number(text, "percent" in asked.group().casefold()) if asked else ""
    return number or _number(statement) or statement


_REFUSES: Final = re.compile(
    r"\b(?:not answerable|unanswerable|(?:can ?not|can't|could not) be (?:answered|determined|found)"
    r"|(?:does not|doesn't|do not|don't) (?:contain|provide|mention|specify|state|include|say|give|hold)"
    r"|not (?:mentioned|provided|specified|stated|given|available) in the"
    r"|(?:not enough|insufficient|no) information)\b",
    re.IGNORECASE,
)
_CANNOT_READ: Final = re.compile(
    r"\b(?:unable to|not able to|can ?not|can't|could not|couldn't) (?:read|see|view|open|access|load|process)\b",
    re.IGNORECASE,
)
_ASKS_NUMBER: Final = re.compile(
    r"\bhow (?:many|much)\b|\bnumber of\b"
    r"|\b(?:what|which) (?:is the )?(?:year|percentage|number|total|sum|difference)\b",
    re.IGNORECASE,
)
_ASKS_SEVERAL: Final = re.compile(
    r"\blist\b|\b(?:what|which|who) are\b|\bname (?:the|all)\b"
    r"|\bwhich (?:\w+ ){0,2}(?!does\b|this\b)\w{3,}s\b",
    re.IGNORECASE,
)


def _committed(response: str) -> str:
    """The part of a response that it marks as its answer, without what is wrapped around it."""
    for parse in (mmlongbench.parse_extraction, longdocurl.parse_extraction):
        try:
            return _unwrapped(parse(response))
        except ValueError:
            continue
    for marked in (_boxed(response), _tagged(response), _announced(response)):
        if marked:
            return _unwrapped(marked)
    return _unwrapped(response)


def _boxed(text: str) -> str:
    r"""What the last \boxed{…} holds."""
    start = text.rfind("\\boxed{")
    if start < 0:
        return ""
    start += len("\\boxed{")
    depth = 1
    for brace in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return _LATEX_TEXT.sub(r"\1", text[start : brace.start()]).replace("\\", "")
    return ""


_LATEX_TEXT: Final = re.compile(r"\\(?:text|mathrm|textbf|mathbf)\{([^{}]*)\}")


def _tagged(text: str) -> str:
    """What the last <answer>…</answer> holds."""
    end = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, max(end, 0))
    return text[start + len("<answer>") : end] if 0 <= start < end else ""


_ANNOUNCEMENT: Final = re.compile(
    r"\banswer(?: to the question)?\W{0,3}(?: is\b|:|=)(?: that\b)?:?\W{0,3}", re.IGNORECASE
)


def _announced(text: str) -> str:
    """What follows the last "the answer is", up to the end of its sentence."""
    found = list(_ANNOUNCEMENT.finditer(text))
    if not found:
        return ""
    line = text[_start_of_content(text, found[-1]) :].partition("\n")[0]
    return _first_sentence(line)


def _start_of_content(text: str, announcement: re.Match[str]) -> int:
    """Where the answer starts: behind the announcement, but at a bracket, quote, sign or currency of its own."""
    start = announcement.end()
    while start > announcement.start() and text[start - 1] in "[('\"-+$£€~\\":
        start -= 1
    return start


_SENTENCE_END: Final = re.compile(r"(?<=[^\s.][^\s.][^\s.])[.!?](?=\s+[A-Z\"'(])")


def _first_sentence(text: str) -> str:
    text = text.strip().partition("\n")[0]
    end = _SENTENCE_END.search(text)
    return _unwrapped(text[: end.start()] if end else text)


_ABBREVIATION: Final = re.compile(
    r"\.[^\s.]*\.$|\b(?:inc|co|ltd|corp|jr|sr|dr|etc|no|st|vs)\.$", re.IGNORECASE
)


def _unwrapped(text: str) -> str:
    """The text without code fences, markdown emphasis, one pair of quotation marks, and a final full stop."""
    text = text.strip().strip("`").strip()
    text = text.replace("**", "").removeprefix("#").strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    return text if _ABBREVIATION.search(text[-40:]) else text.removesuffix(".").rstrip()


def _enumerated(question: str, text: str) -> list[str]:
    """The items of a plain enumeration where the question asks for several; else none."""
    bullets = [line.strip() for line in text.splitlines() if _BULLET.match(line)]
    if len(bullets) > 1:
        return [_unwrapped(_BULLET.sub("", bullet)) for bullet in bullets]
    if len(text.split()) > SHORT_WORDS or "," not in text or not _ASKS_SEVERAL.search(question):
        return []
    return [item for item in map(_unwrapped, _SEPARATOR.split(text)) if item]


_BULLET: Final = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+")
_SEPARATOR: Final = re.compile(r";|,(?!\d{3}\b)(?:\s+and\s)?|\s+and\s+|\n")
_NUMBER: Final = re.compile(r"(?<![\w.,/:-])[-+]?[$£€]?\d+(?:,\d{3})*(?:\.\d+)?%?(?![\w/:-]|[.,]\d)")
_NUMBER_WORDS: Final = {
    word: str(value)
    for value, word in enumerate(
        (
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
        )
    )
}


def _only_number(text: str, percent: bool) -> str:
    """The number of a text that holds exactly one, or starts with one; a number word if the text is nothing else.

    Args:
        text: what the response commits to.
        percent: whether a percentage is asked for; then other numbers do not count where there is one.
    """
    if text.casefold() in _NUMBER_WORDS:
        return _NUMBER_WORDS[text.casefold()]
    numbers = [match.group() for match in _NUMBER.finditer(text[:FIRST_CHARACTERS])]
    if percent:
        numbers = [number for number in numbers if number.endswith("%")] or numbers
    if len(numbers) == 1 or (numbers and text.startswith(numbers[0])):
        return numbers[0].replace(",", "")
    return ""


def _number(text: str) -> str:
    """A text that is one number, without separators; else empty."""
    return text.replace(",", "") if len(text) < 40 and _NUMBER.fullmatch(text) else ""


def _spelled(item: str) -> str:
    return item if re.fullmatch(r"-?(?:0|[1-9]\d*)(?:\.\d+)?", item) else repr(item)
