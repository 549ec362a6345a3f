"""Made-up results of two runs whose true rates are known exactly.

A document has its own chance of a right answer and of a memory that misses it, Beta distributed around the true rates
with a given intra-document correlation. The two runs' chances are tied together by a Gaussian copula: at `shared` = 1
a document is as hard for one policy as for the other; below, policies have documents of their own that they are good
at. Outcomes of one question are tied together likewise, since both runs answer the same question.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

PARTIAL = 0.4
"""Share of right answers with a graded score of ½ in place of 1."""
SAME_QUESTION = 0.5
"""Copula correlation of the two runs' outcomes on one question."""
HARDER = 0.4
"""Copula correlation of a document's chance of a right answer with its chance of a memory that has it."""
NODES = 60
"""Quadrature nodes a dimension for the true conditional rate."""


class Truth(NamedTuple):
    """True rates of one run."""

    right: float = 0.43
    missed: float = 0.19


class World(NamedTuple):
    """A design: documents, correlation, and the two runs."""

    sizes: list[tuple[int, int]]
    correlation: float
    first: Truth = Truth()
    second: Truth = Truth()
    shared: float = 1.0

    @property
    def documents(self) -> NDArray[np.intp]:
        """Document of each question."""
        return np.repeat(np.arange(len(self.sizes)), [questions for questions, _ in self.sizes])

    @property
    def answerable(self) -> NDArray[np.bool_]:
        """Whether each question has an answer."""
        return np.concatenate([np.arange(questions) < answers for questions, answers in self.sizes])

    def accuracy(self, truth: Truth) -> float:
        """True mean graded score."""
        return truth.right * (1 - PARTIAL / 2)

    def missing(self, truth: Truth) -> float:
        """True P_mmc: E[right · missed] / E[right] over documents, by Gauss–Hermite quadrature."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        u, v = np.meshgrid(nodes, nodes)
        mass = np.outer(weights, weights) / weights.sum() ** 2
        right = _chance(u, truth.right, self.correlation)
        missed = _chance(-HARDER * u + np.sqrt(1 - HARDER**2) * v, truth.missed, self.correlation)
        return float(np.sum(mass * right * missed) / np.sum(mass * right))


class Outcome(NamedTuple):
    """One run: graded score, s_ans and s_mem of each question."""

    score: Floats
    right: Floats
    memory: Floats


def draw(world: World, generator: np.random.Generator) -> tuple[Outcome, Outcome]:
    """Both runs once."""
    count = len(world.sizes)
    hard = _tied(generator, world.shared, count)
    notes = _tied(generator, world.shared, count)
    asked = _tied(generator, SAME_QUESTION, len(world.documents))
    noted = _tied(generator, SAME_QUESTION, len(world.documents))
    first, second = (
        _outcome(world, truth, hard[run], notes[run], asked[run], noted[run], generator)
        for run, truth in enumerate((world.first, world.second))
    )
    return first, second


def _outcome(
    world: World,
    truth: Truth,
    hard: Floats,
    notes: Floats,
    asked: Floats,
    noted: Floats,
    generator: np.random.Generator,
) -> Outcome:
    rows = world.documents
    missed_by = -HARDER * hard + np.sqrt(1 - HARDER**2) * notes
    right = special.ndtr(asked) < _chance(hard, truth.right, world.correlation)[rows]
    missed = special.ndtr(noted) < _chance(missed_by, truth.missed, world.correlation)[rows]
    graded = np.where(generator.random(len(rows)) < PARTIAL, 0.5, 1.0)
    wrong_but_noted = generator.random(len(rows)) < WRONG_BUT_NOTED
    memory = np.where(right, ~missed, wrong_but_noted)
    return Outcome(right * graded, right.astype(float), memory.astype(float))


WRONG_BUT_NOTED = 0.1
"""Chance that the memory answers although the final answer is wrong."""


def _tied(generator: np.random.Generator, correlation: float, count: int) -> Floats:
    """Two rows of standard normals with a correlation."""
    common, *own = generator.standard_normal((3, count))
    return np.sqrt(correlation) * common + np.sqrt(1 - correlation) * np.array(own)


def _chance(normal: Floats, rate: float, correlation: float) -> Floats:
    """Beta distributed chances with mean `rate` and intra-document correlation, from standard normals."""
    if correlation == 0:
        return np.full(normal.shape, rate)
    strength = (1 - correlation) / correlation
    return np.asarray(
        special.betaincinv(rate * strength, (1 - rate) * strength, special.ndtr(normal)), dtype=np.float64
    )
