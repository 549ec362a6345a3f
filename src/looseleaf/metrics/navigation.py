"""Navigation: pages shown against gold pages, over whole trajectories (ALDEN, arXiv 2510.25668).

Two conventions stand side by side. *Recipe*: the published formula on all rows, empty denominators giving 0, so
recall cannot reach 1 on a set with unanswerable rows. *Defined*: rows with gold pages only; the others are undefined
and counted. Under both, an imported trajectory whose source does not say which pages were shown is undefined. Corpus
values are means of per-question values, F1 included.
"""

from __future__ import annotations

from collections.abc import Callable

from looseleaf.metrics.answers import COUNT
from looseleaf.metrics.metric import UNDEFINED, UNSCORED, Metric, Missing, Ratio
from looseleaf.metrics.row import Row

__all__ = ["NAVIGATION_METRICS", "page_f1", "page_precision", "page_recall"]

Pages = frozenset[int]


def page_recall(shown: Pages, gold: Pages) -> float:
    """|R ∩ G| / |G|, 0 where G is empty."""
    return len(shown & gold) / len(gold) if gold else 0.0


def page_precision(shown: Pages, gold: Pages) -> float:
    """|R ∩ G| / |R|, 0 where R is empty."""
    return len(shown & gold) / len(shown) if shown else 0.0


def page_f1(shown: Pages, gold: Pages) -> float:
    """Harmonic mean of the two, 0 where both are 0."""
    recall, precision = page_recall(shown, gold), page_precision(shown, gold)
    return 2 * recall * precision / (recall + precision) if recall + precision else 0.0


def _navigation(name: str, doc: str, value: Callable[[Pages, Pages], float], *, recipe: bool) -> Metric:
    def of(row: Row) -> Ratio | Missing:
        gold = row.gold_pages
        if gold is None or (not gold and not recipe) or row.lacks("pages"):
            return UNDEFINED
        return UNSCORED if row.ran is None else Ratio(value(row.shown_pages, gold))

    return Metric(name=f"{name}(recipe)" if recipe else name, doc=doc, of=of)


def _unique_pages(row: Row) -> Ratio | Missing:
    if row.lacks("pages"):
        return UNDEFINED
    return UNSCORED if row.ran is None else Ratio(len(row.shown_pages))


def _hit(shown: Pages, gold: Pages) -> float:
    return float(bool(shown & gold))


NAVIGATION_METRICS = (
    _navigation("Rec", "recall of gold pages, rows with gold pages", page_recall, recipe=False),
    _navigation("Pre", "precision of shown pages, rows with gold pages", page_precision, recipe=False),
    _navigation("PageF1", "F1 of shown pages, rows with gold pages", page_f1, recipe=False),
    _navigation("Hit", "share of rows with gold pages where at least one was shown", _hit, recipe=False),
    _navigation("Rec", "recall of gold pages, published formula on all rows", page_recall, recipe=True),
    _navigation(
        "Pre", "precision of shown pages, published formula on all rows", page_precision, recipe=True
    ),
    _navigation("PageF1", "F1 of shown pages, published formula on all rows", page_f1, recipe=True),
    Metric(name="#UP", doc="mean unique pages shown", of=_unique_pages, **COUNT),
)
