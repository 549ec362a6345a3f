"""`Rivals`: evidence that names another thing of the kind that the question is about."""

from __future__ import annotations

import re
from typing import Final

from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.words import STOPWORDS, stem, tokens

__all__ = ["Rivals"]

BEFORE_VERBS: Final = frozenset(
    ["who", "that", "to", "not", "did", "does", "do", "can", "must", "will", "should"]
)
_OBJECT: Final = re.compile(
    r"\b(?:of|at|on|for|with|without|by|in|must|is|was|are|were|does|did|do) the ([a-z]+) ([a-z]+)\b"
)
_DEFINITE: Final = re.compile(r"\bthe (?:[a-z]+ )?([a-z]+)", re.IGNORECASE)


class Rivals:
    """The things of a question that evidence can mistake for others ("left plunger" for "right plunger")."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._modified = self._modifiers()
        self._objects = self._object_phrases()

    def named_in(self, text: str) -> int:
        """How many things of the question the text names with another word before them ("left" for "right plunger")."""
        if not self._modified:
            return 0
        roots = [stem(token) if token.lower() not in STOPWORDS else "" for token in tokens(text)]
        here = self._pool.roots(roots)
        count = 0
        for modifier, head in self._modified:
            if modifier not in here and head in here:
                before = {
                    roots[i - 1] for i in range(1, len(roots)) if self._pool.canon.get(roots[i]) == head
                }
                count += bool(before) and all(
                    root.isalpha() and not self._pool.knows(root) for root in before
                )
            elif head not in here and (modifier, head) in self._objects:
                count += any(not self._pool.knows(stem(match[1])) for match in _DEFINITE.finditer(text))
        return count

    def _modifiers(self) -> tuple[tuple[str, str], ...]:
        """Pairs of neighbouring content words of the question: the first tells the second apart."""
        found = []
        words = tokens(self._pool.query.text)
        for before, left, right in zip(["", *words], words, words[1:], strict=False):
            pair = self._pool.term(stem(left)), self._pool.term(stem(right))
            plain = (
                before.lower() not in BEFORE_VERBS
                and left.islower()
                and right.islower()
                and not {left, right} & STOPWORDS
            )
            if (
                plain
                and all(self._pool.weights.get(root, 0.0) >= 1.0 for root in pair)
                and pair[1] in self._pool.vocabulary
            ):
                found.append(pair)
        return tuple(found)

    def _object_phrases(self) -> frozenset[tuple[str, str]]:
        """Modifier and head of the things that the question is about and that no passage names: pairs behind "the"."""
        texts = [" ".join(passage.text.lower().split()) for passage in self._pool.passages]
        pairs = [
            match.groups()
            for match in _OBJECT.finditer(self._pool.query.text.lower())
            if not any(" ".join(match.groups()) in text for text in texts)
        ]
        stemmed = ((self._pool.term(stem(left)), self._pool.term(stem(right))) for left, right in pairs)
        return frozenset(pair for pair in stemmed if pair[1] not in self._pool.focus)
