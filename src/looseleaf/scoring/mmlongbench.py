"""MMLongBench-Doc: the official rule, behaviour for behaviour.

Source: mayubo2333/MMLongBench-Doc @ d73f0dc, `eval/eval_score.py` (scorer, accuracy and F1, breakdown),
`run_lvlm.py` and `run_api.py` (what surrounds it). Written anew from its behaviour.

Quirks, all reproduced:

1. Cleaning lower-cases, strips, deletes every "(…)" up to the first ")", one quotation mark at either end, leading
   "$" and trailing "%". Commas, units, articles, punctuation and inner whitespace stay.
2. `Int` takes `int(float(prediction))`: "3.9" and "3.0" are 3, "1_000" is 1000, full-width digits count; "3%", "$3"
   and "1,000" are no numbers. A prediction or gold that is no number becomes "" on the prediction's side, so a gold
   of "" is matched by anything that is no number.
3. `Float` equals gold, gold / 100 or gold × 100 within 1 % of the larger, or after rounding to the fewer decimals of
   the two (at least 2): 1 = 100 = 0.01, 2018 = 2000. A gold that is no number raises `ValueError`.
4. `Str` and `None` use ANLS, where exactly 0.5 is 0; the length is that of the upper-cased text. Gold answers that
   look like a URL, code file, "page…", number, time, date or e-mail address must be equal.
5. Every other label is a list, "Integer" and "String" included. Text that starts with "[" (no space before it) goes
   through `eval`, so arithmetic in it is worked out and malformed text raises; anything else is a list of one.
6. Lists of different lengths score 0. Both are cleaned and sorted as text before they are paired, so one wrong first
   letter misaligns every pair; the score is the *lowest* ANLS, or equality if the first gold element is a number or
   needs an exact match ("nan" and "infinity" are numbers). Two empty lists raise `IndexError`.
7. F1 counts "Not answerable" as a refusal only in exactly this spelling; unanswerable rows add nothing to it; it can
   exceed 1 when a refusal earns partial credit; a zero denominator makes it 0.
8. The breakdown's slices overlap: "Single-page" has the unanswerable rows with one evidence page (7 of 1,082) and
   "Cross-page" the answerable ones without any (12), so the slices sum to 1,089 of 1,082.

9. Extraction takes the text before the first "Answer format:" and of it the piece after the first "Extracted
   answer:", up to a second one; case matters and markdown stays in ("** 12"). Under `run_lvlm.py` any failure, the
   scorer's own included, is the prediction "Failed to extract" with 0; under `run_api.py` it ends the whole run.

Where the official function raises, `score` gives 0 and names the exception in `upstream_raises`. Text that `eval`
would have to *run* (calls, comprehensions, its own variables by name) is never run: it scores 0, see `flags`.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

from looseleaf.score import Score
from looseleaf.scoring.aggregates import AccF1, Slice, acc_and_f1
from looseleaf.scoring.breakdowns import breakdown, partition
from looseleaf.scoring.literals import UnevaluatedError, UpstreamError, evaluate, flags_of
from looseleaf.scoring.matching import (
    anls,
    drop_parentheses,
    drop_quotes,
    floats_equal,
    is_float,
    needs_exact_match,
)
from looseleaf.scoring.safe import safe
from looseleaf.scoring.scopes import MMLONGBENCH_SCORER

__all__ = [
    "FAILED_TO_EXTRACT",
    "AccF1",
    "PipelineResult",
    "Slice",
    "acc_and_f1",
    "breakdown",
    "clean",
    "flags",
    "official_pipeline",
    "parse_extraction",
    "partition",
    "safe",
    "score",
]

FAILED_TO_EXTRACT: Final = "Failed to extract"
"""Prediction that `run_lvlm.py` records when extraction or scoring fails."""

EXTRACTOR_FAILED: Final = "Failed"
"""What `eval/extract_answer.py` returns when the model server fails."""


def score(gold: Any, prediction: Any, answer_format: str) -> Score:
    """Score one prediction.

    Args:
        gold: the gold answer as in the data file (text; other JSON values are taken as upstream takes them).
        prediction: the extracted short answer.
        answer_format: `Int`, `Float`, `Str` or `None`; anything else means a list.

    Returns:
        A value from 0 to 1, and the exception that escapes the official function, if one does.
    """
    try:
        return Score(value=float(_score(gold, prediction, answer_format)))
    except UpstreamError as raised:
        return Score(value=0.0, upstream_raises=raised.name)
    except UnevaluatedError:
        return Score(value=0.0)
    except Exception as error:
        # What the built-ins raise here, they raise in the official function: both make the same conversions.
        return Score(value=0.0, upstream_raises=type(error).__name__)


def clean(value: object) -> str:
    """The official cleaning of an answer (quirk 1)."""
    text = drop_parentheses(str(value).lower().strip()).strip()
    text = drop_quotes(text).strip()
    return text.lstrip("$").strip().rstrip("%").strip()


def _score(gold: Any, prediction: Any, answer_format: str) -> float:
    if answer_format == "Int":
        return _score_int(gold, prediction)
    if answer_format == "Float":
        return _score_float(gold, prediction)
    if answer_format in ("Str", "None"):
        return _score_text(clean(gold), clean(prediction))
    return _score_list(_as_list(gold), _as_list(prediction))


def _score_int(gold: Any, prediction: Any) -> bool:
    try:
        return int(gold) == int(float(prediction))
    except Exception:
        return bool(gold == "")


def _score_float(gold: Any, prediction: Any) -> bool:
    try:
        number = float(clean(gold))
    except Exception:
        return floats_equal(gold, "")
    try:
        return floats_equal(number, float(clean(prediction)))
    except Exception:
        return False


def _score_text(gold: str, prediction: str) -> float:
    return gold == prediction if needs_exact_match(gold) else anls(gold, prediction)


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, str) and value.startswith("["):
        value = evaluate(value, MMLONGBENCH_SCORER)
    return value if isinstance(value, list) else [value]


def _score_list(gold: list[Any], prediction: list[Any]) -> float:
    if len(gold) != len(prediction):
        return 0.0
    golds = sorted(map(clean, gold))
    predictions = sorted(map(clean, prediction))
    if is_float(golds[0]) or needs_exact_match(golds[0]):
        return "-".join(golds) == "-".join(predictions)
    return min(map(anls, golds, predictions))


def flags(gold: Any, prediction: Any, answer_format: str) -> tuple[str, ...]:
    """What in a list row upstream's `eval` would look up or run, so that the score here is not certain to be its own.

    Args:
        gold: the gold answer.
        prediction: the short answer.
        answer_format: the source's label; only lists are evaluated.

    Returns:
        One word for each such thing; empty for every row that consists of literals and arithmetic, and for rows on
        which `eval` raises.
    """
    if answer_format in ("Int", "Float", "Str", "None"):
        return ()
    texts = [value for value in (gold, prediction) if isinstance(value, str) and value.startswith("[")]
    return tuple(flag for text in texts for flag in flags_of(text, MMLONGBENCH_SCORER))


class PipelineResult(NamedTuple):
    """What an official script records for one row.

    Attributes:
        prediction: the recorded prediction; `None` where the script ends with an exception.
        value: the recorded score; `None` likewise.
        upstream_raises: the exception that ends the script.
    """

    prediction: str | None
    value: float | None
    upstream_raises: str | None = None


def parse_extraction(text: str) -> str:
    """The short answer in an extractor's output (quirk 9).

    Raises:
        ValueError: the output has no "Extracted answer:" before its first "Answer format:".
    """
    _, mark, answer = text.partition("Answer format:")[0].partition("Extracted answer:")
    if not mark:
        raise ValueError('the extractor wrote no "Extracted answer:" before "Answer format:"')
    return answer.partition("Extracted answer:")[0].strip()


def official_pipeline(
    extractor_text: str | None,
    gold: Any,
    answer_format: str,
    script: Literal["run_lvlm", "run_api"] = "run_lvlm",
) -> PipelineResult:
    """What the official script records for an extractor's output.

    Args:
        extractor_text: the extractor's raw output; `None` = the extractor could not be reached.
        gold: the gold answer.
        answer_format: the row's answer format.
        script: `run_lvlm` records failures as wrong; `run_api` ends on the first one.
    """
    text = EXTRACTOR_FAILED if extractor_text is None else extractor_text
    try:
        prediction = parse_extraction(text)
    except ValueError:
        return _failed("IndexError", script)
    scored = score(gold, prediction, answer_format)
    if scored.upstream_raises:
        return _failed(scored.upstream_raises, script)
    return PipelineResult(prediction, scored.value)


def _failed(error: str, script: str) -> PipelineResult:
    if script == "run_api":
        return PipelineResult(None, None, error)
    return PipelineResult(FAILED_TO_EXTRACT, 0.0)
