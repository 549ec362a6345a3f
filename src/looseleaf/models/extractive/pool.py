"""`Pool`: the passages of one question, with the weight that each question term has among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from math import fsum
from typing import Final

from looseleaf.models.extractive.candidate import Passage
from looseleaf.models.extractive.page import PageModel, read_page
from looseleaf.models.extractive.query import Query
from looseleaf.models.extractive.spelling import SHORTEST_ABBREVIATION, SHORTEST_MISSPELT, misspellings
from looseleaf.models.extractive.words import stem, tokens

__all__ = ["Pool"]

SUBJECT_SHARE: Final = 0.65
"""Share of passages from which on a name that they hold is taken for the document's subject."""
SUBJECT_WEIGHT: Final = 0.3
"""Part of its weight that the subject's name keeps."""
SMALL_POOL: Final = 4
"""With fewer passages, frequency says nothing and no weight is changed."""
CONTEXT_SHARE: Final = 0.6
"""What a term counts that stands in the context (heading, caption) and not in the evidence itself."""
TITLE_SHARE: Final = 0.85
"""What a term counts that stands in the caption of the evidence's own table."""
LONGEST_ABBREVIATION: Final = 5
PAGE_SHARE: Final = 0.25
"""Part of a score that depends on how much of the question its whole page holds."""
NEGATIONS: Final = frozenset(["no", "not", "never", "without"])
HEADER_BONUS: Final = 0.1
NO_FOCUS: Final = 0.65
NO_ENTITY: Final = 0.65
IMPLIED: Final = 0.85
"""Factor for evidence that leaves a name or year of the question unsaid."""
LEAST_LEFT: Final = 0.9
"""Weight of the rest of a question below which nothing of it may be left out: one word."""
ENTITY: Final = 1.2
"""Weight from which on a name is one that evidence has to be about."""
CAPTIONED: Final = frozenset(["figure", "table", "chart", "exhibit"])
OTHER_CAPTION: Final = 0.7
"""Factor for evidence on a page without the caption of the figure or table that the question names."""
OTHER_PAGE: Final = 0.5
"""Factor for evidence that is not on a page that the question names."""
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_SPEAKER: Final = re.compile(r"\b(?:we|our|us)\b", re.IGNORECASE)


class Pool:
    """Passages taken apart, and how well a piece of them covers the question."""

    def __init__(self, query: Query, passages: Sequence[Passage]) -> None:
        self.query = query
        self.passages = tuple(passages)
        self.models = tuple(read_page(passage.text) for passage in passages)
        self.vocabulary: frozenset[str] = frozenset().union(*(model.stems for model in self.models))
        self._aliases = misspellings(query.terms, self.vocabulary)
        self.weights = self._weights()
        self._asked = frozenset(query.pages) & {passage.page for passage in passages}
        self.canon = {root: root for root in self.weights} | self._abbreviations()
        self._known = frozenset(self.canon)
        self.total = sum(self.weights.values()) or 1.0
        self._asked_words = {token.lower() for token in tokens(query.text)}
        self.asked = " ".join(query.text.lower().split())
        self._page_coverage: dict[int, float] = {}
        for passage, model in zip(passages, self.models, strict=True):
            covered = max(self.coverage(model.stems), self._page_coverage.get(passage.page, 0.0))
            self._page_coverage[passage.page] = covered
        self._entities = self._named_entities()
        self._captioned = self._caption_pages()

    def _weights(self) -> dict[str, float]:
        """Weights of the question's terms; the name of what the whole document is about tells little."""
        weights: dict[str, float] = {}
        count = len(self.models)
        named = {stem(token) for name in self.query.names for token in tokens(name)}
        for term, weight in self.query.terms.items():
            root = self._aliases.get(term, term)
            if count >= SMALL_POOL and root.isalpha() and term in named and self._is_name(root):
                share = sum(root in model.stems for model in self.models) / count
                weight *= SUBJECT_WEIGHT if share >= SUBJECT_SHARE else 1.0
            weights[root] = max(weight, weights.get(root, 0.0))
        return weights

    def _abbreviations(self) -> dict[str, str]:
        """Short words of the passages, never in small letters, that begin a word of the question ("Rep", "Jul")."""
        wanted = [root for root in self.weights if len(root) > SHORTEST_MISSPELT and root.isalpha()]
        found = {}
        for root in wanted:
            for size in range(SHORTEST_ABBREVIATION, LONGEST_ABBREVIATION + 1):
                short = root[:size]
                if (
                    short != root
                    and short in self.vocabulary
                    and short not in self.weights
                    and self._is_name(short)
                ):
                    found[short] = root
        return found

    def _is_name(self, root: str) -> bool:
        """Whether the passages hold a word, and never in small letters."""
        return root in self.vocabulary and not any(root in model.lowercase for model in self.models)

    def term(self, root: str) -> str:
        """The pool's spelling of a question term."""
        return self._aliases.get(root, root)

    @property
    def focus(self) -> tuple[str, ...]:
        """The focus stems of the question in the pool's spelling."""
        return tuple(self.term(root) for root in self.query.focus)

    def coverage(self, stems: Iterable[str], context: Iterable[str] = (), title: Iterable[str] = ()) -> float:
        """Share of the question's weight that is in the evidence, and, for less, in its title or its context."""
        here = self.roots(stems)
        titled = self.roots(title) - here
        near = self.roots(context) - here - titled
        shares = ((here, 1.0), (titled, TITLE_SHARE), (near, CONTEXT_SHARE))
        return sum(share * self.weight(some) for some, share in shares) / self.total

    def weight(self, roots: Iterable[str]) -> float:
        """Weight of some question terms together; exactly rounded, since sets have another order in each process."""
        return fsum(self.weights.get(root, 0.0) for root in roots)

    def roots(self, stems: Iterable[str]) -> set[str]:
        """The question terms among some stems, abbreviations and misspellings included."""
        return {self.canon[one] for one in self._known.intersection(stems)}

    def quotes_whole(self, text: str) -> bool:
        """Whether the question holds every word of a text that is not just a year, function words included."""
        words = {token.lower() for token in tokens(text)}
        return bool(words) and not text.isdigit() and words <= self._asked_words

    def quoted_in(self, text: str) -> bool:
        """Whether a text holds a phrase that the question quotes."""
        lowered = text.lower()
        return any(quote.lower() in lowered for quote in self.query.quotes)

    def header_bonus(self, header: str) -> float:
        """More for a header that the question quotes in full, less for one that negates what the question does not."""
        words = {token.lower() for token in tokens(header)}
        if words & NEGATIONS and not words & NEGATIONS & self._asked_words:
            return -HEADER_BONUS
        return HEADER_BONUS if self.quotes_whole(header) else 0.0

    def knows(self, root: str) -> bool:
        """Whether a stem is one of the question's."""
        return root in self._known

    def knows_all(self, stems: Iterable[str]) -> bool:
        """Whether the question holds all of some stems: such a text answers nothing."""
        return self._known.issuperset(stems)

    def page_factor(self, page: int) -> float:
        """How well a page suits the question as a whole: 1 where it holds all terms and is not another than named."""
        factor = 1.0 if not self._asked or page in self._asked else OTHER_PAGE
        if self._captioned and page not in self._captioned:
            factor *= OTHER_CAPTION
        return factor * (1.0 - PAGE_SHARE + PAGE_SHARE * self._page_coverage[page])

    def in_scope(self, page: int) -> bool:
        """Whether a page is one that the question names, or the question names none of these."""
        return not self._asked or page in self._asked

    def _caption_pages(self) -> frozenset[int]:
        """Pages with the caption of a figure or table that the question names."""
        wanted = [
            rf"^\s*{name[:3]}\w*\.?\s*{number}\b" for name, number in self.query.labels if name in CAPTIONED
        ]
        if not wanted:
            return frozenset()
        pattern = re.compile("|".join(wanted), re.IGNORECASE | re.MULTILINE)
        return frozenset(passage.page for passage in self.passages if pattern.search(passage.text))

    def missing_focus(self) -> list[str]:
        """Words for the thing asked for that no passage holds."""
        return [
            root
            for root in self.query.focus
            if self.query.terms.get(root, 0.0) >= 1.0
            and root.isalpha()
            and self.term(root) not in self.vocabulary
        ]

    def focus_factor(self, *stems: Iterable[str]) -> float:
        """Less than 1 where evidence and context lack the thing asked for, or a name that the question is about."""
        here = set().union(*(self.roots(some) for some in stems))
        wanted = {root for root in self.focus if self.weights.get(root, 0.0) >= 1.0}
        share = len(wanted & here) / len(wanted) if wanted else 1.0
        factor = NO_FOCUS + (1.0 - NO_FOCUS) * share
        return factor if self._entities <= here else factor * NO_ENTITY

    def entity_factor(self, stems: Iterable[str]) -> float:
        """Less than 1 where evidence lacks a name that the question is about."""
        return 1.0 if self._entities <= self.roots(stems) else NO_ENTITY

    def _named_entities(self) -> frozenset[str]:
        """Names of the question that the passages hold, the document's own subject left out."""
        roots = {self.term(stem(token)) for name in self.query.names for token in tokens(name)}
        return frozenset(
            root for root in roots if self.weights.get(root, 0.0) >= ENTITY and root in self.vocabulary
        )

    def implied(self, text: str) -> frozenset[str]:
        """What a text need not repeat: the names that "we" stands for, and the document's year where it names none."""
        found: set[str] = set()
        if _SPEAKER.search(text):
            found |= {self.term(stem(token)) for name in self.query.names for token in tokens(name)}
        if not _YEAR.search(text):
            found |= {str(year) for year in self.query.years}
        return frozenset(found & self.vocabulary)

    def coverage_without(
        self, implied: frozenset[str], stems: Iterable[str], context: Iterable[str] = ()
    ) -> float:
        """Share of the question's weight in some evidence, what it need not repeat left out of the question."""
        here = set(stems)
        unsaid = self.weight(implied - self.roots(here))
        if not unsaid or self.total - unsaid < LEAST_LEFT:
            return self.coverage(here, context)
        return min(IMPLIED * self.coverage(here, context) * self.total / (self.total - unsaid), 1.0)

    def missing_names(self) -> list[str]:
        """Names and numbers of the question that no passage holds; "Section" in "Section 3" is no name."""
        labels = {stem(name) for name, _ in self.query.labels}
        roots = [stem(part) for name in self.query.names for part in name.replace("-", " ").split()]
        roots += [number.replace(",", "") for number in self.query.numbers]
        roots += [str(year) for year in self.query.years]
        return [
            root
            for root in dict.fromkeys(roots)
            if root in self.query.terms and root not in labels and self.term(root) not in self.vocabulary
        ]

    def pages(self) -> Iterator[tuple[int, PageModel]]:
        """Page numbers with their models, in the order of the passages."""
        for passage, model in zip(self.passages, self.models, strict=True):
            yield passage.page, model
