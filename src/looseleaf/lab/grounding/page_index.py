"""`PageIndex`: what each page of a document holds, to tell which page a finding comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import fsum, log

from looseleaf.lab.grounding.mentions import Mention, any_same, mentions_in
from looseleaf.models.extractive.words import stem, stems, tokens

__all__ = ["PageIndex"]


LEAST_PAGES = 5
"""Pages that a document must have before a word can be common in it."""
MOST_PAGES = 0.6
"""Share of pages from which a word is common in a document."""


class PageIndex:
    """The texts of a document's pages, with how rare each word is in it.

    Args:
        texts: text of each page, first page first; the text layer or recognised text.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = tuple(texts)
        self._stems = [frozenset(stems(text)) for text in self._texts]
        self._pages_with = Counter(word for page in self._stems for word in page)
        self._small: frozenset[str] | None = None

    @classmethod
    def of(cls, page_count: int, text: Callable[[int], str]) -> PageIndex:
        """Index a document by a function from a physical 1-based page to its text."""
        return cls([text(page) for page in range(1, page_count + 1)])

    @property
    def page_count(self) -> int:
        """Number of pages."""
        return len(self._texts)

    def text(self, page: int) -> str:
        """Text of a physical 1-based page."""
        return self._texts[page - 1]

    def stems(self, page: int) -> frozenset[str]:
        """Content stems of a page."""
        return self._stems[page - 1]

    def mentions(self, page: int) -> tuple[Mention, ...]:
        """Numbers of a page."""
        return mentions_in(self._texts[page - 1])

    def pages_with(self, word: str) -> int:
        """On how many pages a stem stands."""
        return self._pages_with[word]

    @cached_property
    def common(self) -> frozenset[str]:
        """Names on most pages of a document of some length, such as its company's: they point at nothing on a page."""
        if self.page_count < LEAST_PAGES:
            return frozenset()
        least = MOST_PAGES * self.page_count
        often = (word for word, pages in self._pages_with.items() if pages >= least and word.isalpha())
        return frozenset(word for word in often if not self.lower_case(word))

    def rarity(self, word: str) -> float:
        """How telling a stem is of a page: 1 on one page, near 0 on every page; 0 if the document lacks it."""
        count = self._pages_with[word]
        if not count:
            return 0.0
        if self.page_count == 1:
            return 1.0
        return log((self.page_count + 1) / count) / log(self.page_count + 1)

    def lower_case(self, word: str) -> bool:
        """Whether the document ever writes a stem with a small letter: if not, it is a name."""
        if self._small is None:
            self._small = frozenset(
                stem(token) for text in self._texts for token in set(tokens(text)) if token[0].islower()
            )
        return word in self._small

    def support(self, page: int, words: Iterable[str]) -> float:
        """Share of some stems that a page holds, the telling ones weighing more; 0 where the document has none."""
        weights = {word: self.rarity(word) for word in words}
        total = fsum(weights.values())
        return (
            fsum(weight for word, weight in weights.items() if word in self.stems(page)) / total
            if total
            else 0.0
        )

    def pages_by_support(self, words: Iterable[str]) -> list[tuple[float, int]]:
        """Every page with its support, best first."""
        wanted = frozenset(words)
        found = [(self.support(page, wanted), page) for page in range(1, self.page_count + 1)]
        return sorted(found, key=lambda pair: (-pair[0], pair[1]))

    def holds(self, page: int, numbers: Iterable[Mention]) -> bool:
        """Whether a page holds all of some numbers."""
        return all(any_same(number, self.mentions(page)) for number in numbers)
