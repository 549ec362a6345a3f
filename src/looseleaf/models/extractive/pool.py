"""`Pool`: the passages of one question, with the weight that each question term has among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import JaroWinkler

from looseleaf.models.extractive.candidate import Passage
from looseleaf.models.extractive.page import PageModel, read_page
from looseleaf.models.extractive.query import Query
from looseleaf.models.extractive.words import stem

__all__ = ["Pool"]

SUBJECT_SHARE: Final = 0.6
"""Share of passages from which on a name that they hold is taken for the document's subject."""
SUBJECT_WEIGHT: Final = 0.15
"""Part of its weight that the subject's name keeps."""
SMALL_POOL: Final = 4
"""With fewer passages, frequency says nothing and no weight is changed."""
CONTEXT_SHARE: Final = 0.5
"""What a term counts that stands in the context (heading, caption) and not in the evidence itself."""
MISSPELLING: Final = 0.93
"""Least Jaro-Winkler similarity at which a question term is taken for a misspelt word of the passages."""
SHORTEST_MISSPELT: Final = 6
CAPTIONED: Final = frozenset(["figure", "table", "chart", "exhibit"])
OTHER_CAPTION: Final = 0.7
"""Factor for evidence on a page without the caption of the figure or table that the question names."""
OTHER_PAGE: Final = 0.5
"""Factor for evidence that is not on a page that the question names."""


class Pool:
    """Passages taken apart, and how well a piece of them covers the question."""

    def __init__(self, query: Query, passages: Sequence[Passage]) -> None:
        self.query = query
        self.passages = tuple(passages)
        self.models = tuple(read_page(passage.text) for passage in passages)
        self.vocabulary: frozenset[str] = frozenset().union(*(model.stems for model in self.models))
        self._aliases = self._misspellings()
        self.weights = self._weights()
        self._asked = frozenset(query.pages) & {passage.page for passage in passages}
        self._captioned = self._caption_pages()
        self.total = sum(self.weights.values()) or 1.0

    def _misspellings(self) -> dict[str, str]:
        aliases = {}
        for term in self.query.terms:
            if term in self.vocabulary or len(term) < SHORTEST_MISSPELT or not term.isalpha():
                continue
            near = process.extractOne(
                term, self.vocabulary, scorer=JaroWinkler.similarity, score_cutoff=MISSPELLING
            )
            if near is not None and near[0].isalpha():
                aliases[term] = near[0]
        return aliases

    def _weights(self) -> dict[str, float]:
        """Weights of the question's terms; the name of what the whole document is about tells little."""
        weights: dict[str, float] = {}
        count = len(self.models)
        for term, weight in self.query.terms.items():
            root = self._aliases.get(term, term)
            if count >= SMALL_POOL and root.isalpha() and self._is_name(root):
                share = sum(root in model.stems for model in self.models) / count
                weight *= SUBJECT_WEIGHT if share >= SUBJECT_SHARE else 1.0
            weights[root] = max(weight, weights.get(root, 0.0))
        return weights

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

    def coverage(self, stems: Iterable[str], context: Iterable[str] = ()) -> float:
        """Share of the question's weight that is in the evidence (full) or its context (half)."""
        here = set(stems)
        near = set(context) - here
        covered = sum(weight for root, weight in self.weights.items() if root in here)
        covered += CONTEXT_SHARE * sum(weight for root, weight in self.weights.items() if root in near)
        return covered / self.total

    def page_factor(self, page: int) -> float:
        """Less than 1 for pages other than those that the question names."""
        factor = 1.0 if not self._asked or page in self._asked else OTHER_PAGE
        return factor if not self._captioned or page in self._captioned else factor * OTHER_CAPTION

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

    def missing_names(self) -> list[str]:
        """Names and numbers of the question that no passage holds."""
        roots = [stem(part) for name in self.query.names for part in name.replace("-", " ").split()]
        roots += [number.replace(",", "") for number in self.query.numbers]
        roots += [str(year) for year in self.query.years]
        return [
            root
            for root in dict.fromkeys(roots)
            if root in self.query.terms and self.term(root) not in self.vocabulary
        ]

    def pages(self) -> Iterator[tuple[int, PageModel]]:
        """Page numbers with their models, in the order of the passages."""
        for passage, model in zip(self.passages, self.models, strict=True):
            yield passage.page, model
