"""ALDEN's turn-level reward, as its code was released and as its paper describes it.

Source: gipplab/ALDEN @ 8a0d3d4, `verl/workers/reward/function.py`, `verl/utils/py_functional.py` (`fetch_reward`,
`ndcg_at_k`) and `examples/score_function/doc_agent.py`; paper arXiv 2510.25668, whose symbols are known but whose
values are not published, so the paper's version takes those of the code. Written anew from the code's behaviour.

Quirks of the released code that are kept: searching for a page again costs nothing while fetching it again does; a
refusal is looked for in the whole answer while F1 looks at the box; with OCR lists on, a search counts *all* returned
pages as obtained though it is rewarded for the top ones only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

import msgspec

from looseleaf.errors import ConfigError, DataError
from looseleaf.question import Question
from looseleaf.reward.alden_text import (
    ALDEN_REFUSAL,
    answer_part,
    boxed,
    is_answer_turn,
    is_refusal,
    tagged_action,
    token_f1,
)
from looseleaf.reward.query_repetition import QUERY_NGRAM, QUERY_WEIGHT, query_penalties
from looseleaf.trajectory import Step, Trajectory

__all__ = ["AldenEpisode", "AldenReward", "AldenTurn", "alden_episode", "fetch_proximity", "ndcg"]

Tokenize = Callable[[str], Sequence[str]]
AldenAction = Literal["search", "fetch", "answer", "note", "malformed"]


class AldenTurn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One generation, reduced to what the reward looks at. Pages are physical and 1-based.

    Attributes:
        action: `search`, `fetch`, `answer`, `note` (which ALDEN does not have and which earns nothing), or
            `malformed`.
        shown: page images that the policy got to see, best first.
        returned: page images that the retriever returned, best first; the ranking of NDCG.
        texts_shown: pages whose OCR text the policy got to see beside or in place of the images.
        texts_returned: pages whose OCR text the retriever returned.
        modality: what a fetch asked for.
        query: tokens of a search query.
        answer: the short answer; `None` where an answer turn holds none (no box).
        said: the whole answer, in which a refusal is looked for.
    """

    action: AldenAction
    shown: tuple[int, ...] = ()
    returned: tuple[int, ...] = ()
    texts_shown: tuple[int, ...] = ()
    texts_returned: tuple[int, ...] = ()
    modality: Literal["image", "text"] = "image"
    query: tuple[str, ...] = ()
    answer: str | None = None
    said: str = ""


class AldenEpisode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One trajectory with its gold.

    Attributes:
        turns: the generations in order; `None` for a trajectory that ended on a fault, which has no reward.
        gold_pages: gold evidence pages.
        references: gold answers, any of which will do.
        unanswerable: whether the gold answer is that the document does not say.
    """

    turns: tuple[AldenTurn, ...] | None
    gold_pages: tuple[int, ...] = ()
    references: tuple[str, ...] = ()
    unanswerable: bool = False


class AldenReward(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="name", tag="alden", forbid_unknown_fields=True
):
    """Sum over turns; every constant is a field.

    Attributes:
        version: `released` rewards a search by the new gold pages in its top pages; `paper` by NDCG@m of the returned
            list, and penalises repeated queries.
        form: `parsed` takes the action that the environment carried out, and an answer with or without a box;
            `tagged` holds the raw text to the released formats, box included.
        ocr: whether searches return a second list of OCR texts (`recall_ocr`).
        top: pages of a search that are rewarded (`usage_top_n`).
        new_page: reward of each gold page in them that was not obtained before.
        ndcg_m: m of NDCG@m (`top_n` of the retrieval server; the paper's value is not known).
        fetch_gold: reward of fetching a gold page.
        fetch_scale: scale of the proximity of other pages.
        fetch_decay: decay of the proximity per page of mean distance to the gold pages.
        fetch_empty: fetching what does not exist.
        fetch_repeat: added for fetching a page that was obtained before in the same modality.
        bad_format: a malformed turn, or a last turn without a valid answer.
        answer_weight: α, times the answer's F1.
        false_refusal: refusing an answerable question.
        missed_refusal: answering an unanswerable one.
        refusal: the refusal, looked for as a substring.
        query_penalty: whether repeated queries are penalised; by default only in the paper's version (the released
            flag is off).
        query_weight: η, times the overlap.
        query_ngram: longest n-gram of the overlap.
    """

    version: Literal["released", "paper"] = "released"
    form: Literal["parsed", "tagged"] = "parsed"
    ocr: bool = False
    top: int = 3
    new_page: float = 1.0
    ndcg_m: int = 5
    fetch_gold: float = 1.0
    fetch_scale: float = 0.3
    fetch_decay: float = 0.5
    fetch_empty: float = -0.5
    fetch_repeat: float = -1.0
    bad_format: float = -1.0
    answer_weight: float = 5.0
    false_refusal: float = -5.0
    missed_refusal: float = -2.0
    refusal: str = ALDEN_REFUSAL
    query_penalty: bool | None = None
    query_weight: float = QUERY_WEIGHT
    query_ngram: int = QUERY_NGRAM

    def __post_init__(self) -> None:
        for field in msgspec.structs.fields(type(self)):
            if field.type is float:  # 5 and 5.0 are one configuration and must have one hash
                msgspec.structs.force_setattr(self, field.name, float(getattr(self, field.name)))
                if not math.isfinite(getattr(self, field.name)):
                    raise ConfigError(f"{field.name} is not finite; give a number.")
        if min(self.top, self.ndcg_m, self.query_ngram) < 1 or not self.refusal.strip():
            raise ConfigError(
                "top, ndcg_m and query_ngram must be at least 1, and refusal must not be empty."
            )

    @property
    def label(self) -> str:
        """Printable name: the version, and every option that is not at its default."""
        changed = [
            f"{field.name}={getattr(self, field.name)}"
            for field in msgspec.structs.fields(type(self))
            if field.name != "version" and getattr(self, field.name) != field.default
        ]
        return f"alden({', '.join([self.version, *changed])})"

    @property
    def problems(self) -> list[str]:
        """Nothing: ALDEN promises no order between outcome cells."""
        return []

    @property
    def penalises_queries(self) -> bool:
        """Whether repeated queries are penalised."""
        return self.version == "paper" if self.query_penalty is None else self.query_penalty

    def value(self, episode: AldenEpisode) -> float | None:
        """The whole reward of one trajectory, or `None` where it ended on a fault."""
        if episode.turns is None:
            return None
        return math.fsum([*self.turn_rewards(episode), *map(math.fsum, self.query_rewards(episode))])

    def turn_rewards(self, episode: AldenEpisode) -> tuple[float, ...]:
        """Reward of each turn; training puts it on the turn's last token."""
        turns = episode.turns or ()
        walk = _Walk(self, episode)
        return (*map(walk.reward, turns[:-1]), *(self._last(turn, episode) for turn in turns[-1:]))

    def query_rewards(self, episode: AldenEpisode) -> tuple[tuple[float, ...], ...]:
        """For each turn, the penalties at the tokens of its query; empty where there is none."""
        turns = episode.turns or ()
        if not self.penalises_queries or episode.unanswerable:
            return tuple(() for _ in turns)
        searches = [turn.query if turn.action == "search" else () for turn in turns[:-1]]
        searches += [() for _ in turns[-1:]]
        return tuple(map(tuple, query_penalties(searches, self.query_weight, self.query_ngram)))

    def _last(self, turn: AldenTurn, episode: AldenEpisode) -> float:
        if turn.action != "answer" or turn.answer is None:
            return self.bad_format
        refused = is_refusal(turn.said, self.refusal)
        if episode.unanswerable and not refused:
            return self.missed_refusal
        if refused and not episode.unanswerable:
            return self.false_refusal
        references = (self.refusal,) if episode.unanswerable else episode.references
        return self.answer_weight * token_f1(turn.answer, references)


class _Walk:
    """Goes through the turns of one episode and remembers which pages were obtained."""

    def __init__(self, reward: AldenReward, episode: AldenEpisode) -> None:
        self._reward = reward
        self._episode = episode
        self._gold = frozenset(episode.gold_pages)
        self._images: set[int] = set()
        self._texts: set[int] = set()

    def reward(self, turn: AldenTurn) -> float:
        """Reward of a turn before the last."""
        if turn.action in ("malformed", "answer"):
            return self._reward.bad_format
        if self._episode.unanswerable or turn.action == "note":
            return 0.0
        return self._search(turn) if turn.action == "search" else self._fetch(turn)

    def _search(self, turn: AldenTurn) -> float:
        images = turn.shown[: self._reward.top]
        texts = turn.texts_shown[: self._reward.top] if self._reward.ocr else ()
        new = self._gold.intersection({*images, *texts}) - self._images - self._texts
        self._images.update(turn.returned if self._reward.ocr else images)
        self._texts.update(turn.texts_returned if self._reward.ocr else ())
        if self._reward.version == "paper":
            return ndcg(turn.returned, self._gold, self._reward.ndcg_m)
        return self._reward.new_page * len(new)

    def _fetch(self, turn: AldenTurn) -> float:
        pages, obtained = (
            (turn.shown, self._images) if turn.modality == "image" else (turn.texts_shown, self._texts)
        )
        if not pages:
            return self._reward.fetch_empty
        repeats = len(obtained.intersection(pages))
        obtained.update(pages)
        return self._proximity(pages[0]) + self._reward.fetch_repeat * repeats

    def _proximity(self, page: int) -> float:
        if page in self._gold:
            return self._reward.fetch_gold
        return fetch_proximity(page, self._gold, self._reward.fetch_scale, self._reward.fetch_decay)


def alden_episode(
    reward: AldenReward, trajectory: Trajectory, question: Question, tokenize: Tokenize = str.split
) -> AldenEpisode:
    """What the reward looks at, from a stored trajectory.

    Args:
        reward: its `form` says how turns are read.
        trajectory: what happened.
        question: the question with its gold.
        tokenize: tokens of a query; training gives the policy's tokenizer, words stand in for it elsewhere.

    Raises:
        DataError: the question is answerable and its data set has no evidence pages.
    """
    if question.evidence_pages is None and not question.unanswerable:
        raise DataError(
            f"{question.question_id} has no evidence pages, which ALDEN's reward needs; use another reward or data set."
        )
    turns = [_turn(reward, step, tokenize) for step in trajectory.steps if step.turn > 0]
    return AldenEpisode(
        turns=None if trajectory.stop_reason.is_fault or not turns else tuple(turns),
        gold_pages=tuple(question.evidence_pages or ()),
        references=tuple(map(_reference, question.references)),
        unanswerable=question.unanswerable,
    )


def _turn(reward: AldenReward, step: Step, tokenize: Tokenize) -> AldenTurn:
    action, said = _action(step, reward.form)
    arguments = step.action.arguments if step.action else {}
    query = str(arguments.get("query", "")) if action == "search" else ""
    return AldenTurn(
        action=action,
        shown=step.observation.shown,
        returned=tuple(returned.page for returned in step.observation.returned),
        query=tuple(tokenize(query)),
        answer=_short_answer(said, reward.form),
        said=said or "",
    )


def _action(step: Step, form: str) -> tuple[AldenAction, str | None]:
    """The turn's action and, for an answer, its whole text."""
    if form == "tagged":
        if is_answer_turn(step.model_text):
            return "answer", answer_part(step.model_text)
        return tagged_action(step.model_text) or "malformed", None
    name = step.action.name if step.action else ""
    if name == "answer" and step.invalid is None:
        return "answer", str(step.action.arguments.get("text", "")) if step.action else ""
    return cast(AldenAction, name) if name in ("search", "fetch", "note") else "malformed", None


def _short_answer(said: str | None, form: str) -> str | None:
    if said is None:
        return None
    box = boxed(said)
    return said if box is None and form == "parsed" else box


def _reference(gold: Any) -> str:
    """A gold answer as text; parts of a list are joined by `;` as the released prompt asks."""
    return "; ".join(map(str, gold)) if isinstance(gold, (list, tuple)) else str(gold)


def fetch_proximity(page: int, gold: frozenset[int], scale: float = 0.3, decay: float = 0.5) -> float:
    """scale · exp(−decay · mean distance to the gold pages); 0 where there are none (upstream divides by zero).

    Args:
        page: the page that was fetched, physical and 1-based.
        gold: gold pages; for one of them the released reward is 1 and not this.
        scale: value at distance 0.
        decay: of one page of distance.

    Source: gipplab/ALDEN @ 8a0d3d4, reward of a fetch (0.3, 0.5).
    """
    if not gold:
        return 0.0
    return scale * math.exp(-decay * sum(abs(page - other) for other in gold) / len(gold))


def ndcg(returned: Sequence[int], gold: frozenset[int], m: int) -> float:
    """NDCG@m with binary relevance: Σ rel_i / log2(i + 1) over the ideal; 0 where there are no gold pages.

    Args:
        returned: pages that the search returned, best first.
        gold: gold pages.
        m: how many of the returned pages count.

    Source: gipplab/ALDEN @ 8a0d3d4, `ndcg_at_k`; the paper's search reward.
    """
    gain = math.fsum(1 / math.log2(rank + 1) for rank, page in enumerate(returned[:m], 1) if page in gold)
    ideal = math.fsum(1 / math.log2(rank + 1) for rank in range(1, min(m, len(gold)) + 1))
    return gain / ideal if ideal else 0.0
