"""Does a finding say anything? "The 2020 rate is 4.7 %" does, "the chart shows trends" does not (AWM)."""

from __future__ import annotations

import re

from looseleaf.models.extractive.words import STOPWORDS, stem, stems, tokens

__all__ = ["GENERIC_WORDS", "is_generic", "says_nothing_found", "without_references"]

GENERIC_WORDS = frozenset(
    map(
        stem,
        (
            *(
                "page",
                "document",
                "section",
                "chart",
                "table",
                "figure",
                "graph",
                "text",
                "image",
                "picture",
                "report",
            ),
            *(
                "slide",
                "paper",
                "appendix",
                "list",
                "diagram",
                "map",
                "content",
                "title",
                "show",
                "shown",
                "display",
            ),
            *(
                "present",
                "provide",
                "contain",
                "include",
                "describe",
                "discuss",
                "mention",
                "cover",
                "give",
                "given",
            ),
            *(
                "illustrate",
                "depict",
                "relate",
                "relevant",
                "regard",
                "concern",
                "refer",
                "detail",
                "information",
            ),
            *(
                "data",
                "trend",
                "overview",
                "summary",
                "topic",
                "subject",
                "value",
                "number",
                "result",
                "various",
            ),
            *(
                "several",
                "different",
                "multiple",
                "certain",
                "specific",
                "general",
                "important",
                "key",
                "main",
            ),
            *(
                "overall",
                "other",
                "further",
                "increase",
                "decrease",
                "change",
                "over",
                "time",
                "year",
                "comparison",
            ),
            *(
                "compare",
                "across",
                "category",
                "type",
                "question",
                "answer",
                "evidence",
                "note",
                "see",
                "seen",
                "look",
            ),
            *(
                "found",
                "find",
                "useful",
                "helpful",
                "interesting",
                "clear",
                "available",
                "related",
                "relates",
            ),
        ),
    )
)
"""Words that say of a page what it is or is about, and not what stands on it."""
LEAST_SPECIFIC = 1
"""Content words beyond the question's and the generic ones that a finding needs to say something."""

_NEGATED = r"(?:answer|mention|contain|show|include|give|state|found|find|present|relevant|provide|list|say)"
_NOTHING = re.compile(
    r"\b(?:nothing|irrelevant"
    r"|no (?:relevant |useful |specific )?(?:information|answer|evidence|mention|data|details?|results?)"
    rf"|(?:does|do|did|is|are|was|were|has|have) ?n[o'’]t\b.{{0,40}}\b{_NEGATED}\w*"
    r"|not (?:found|mentioned|relevant|answerable|present|shown|stated))\b",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"\b(?:page|pages|p\.|pp\.|table|figure|fig\.|chart|section|slide|appendix|chapter|exhibit|note)\s*"
    r"#?\d+(?:[.–-]\d+)*(?:\s*(?:,|and|to|–|-)\s*\d+)*",
    re.IGNORECASE,
)


def without_references(text: str) -> str:
    """The text without the numbers of pages, tables, figures and sections that it refers to."""
    return _REFERENCE.sub(lambda match: " " * len(match.group()), text)


def says_nothing_found(text: str) -> bool:
    """Whether a finding only says that nothing was found: a negative phrase and no number."""
    return bool(_NOTHING.search(text)) and not any(c.isdigit() for c in without_references(text))


def is_generic(text: str, question: str) -> bool:
    """Whether a finding says what a page is about ("the chart shows trends") and nothing that could answer.

    It says something if it holds a number that the question does not, or at least one content word that is neither in
    the question nor one of `GENERIC_WORDS`. A finding that nothing was found is not generic but negative.
    """
    if says_nothing_found(text):
        return False
    asked = frozenset(stems(question))
    said = (token for token in tokens(without_references(text)) if token.lower() not in STOPWORDS)
    new = [token for token in said if stem(token) not in asked and any(c.isalnum() for c in token)]
    specific = [token for token in new if token[0].isdigit() or stem(token) not in GENERIC_WORDS]
    return len(specific) < LEAST_SPECIFIC
