"""LongDocURL: the official rule, behaviour for behaviour.

Source: dengc2023/LongDocURL @ 3807c0e, `utils/utils_score_v3.py` (scorer, accuracy and F1),
`utils/calculate_metrics.py` (generalised accuracy), `utils/calculate_metrics_fine_grained.py`,
`eval/api_models/eval_api_models.py` (what surrounds the scorer). Written anew from its behaviour.

Quirks, all reproduced:

1. Cleaning lower-cases, strips and removes all commas; then each of kg, mm, m, meters, acres, minutes, mile, miles,
   million, thousand, billion, if the text ends in it, strips that *set of characters* from the end: "program" →
   "progra", "smiles" and "minutes" → "", "10 am" → "10 a", 3.5 million = 3.5 billion = 3.5. Then as in
   MMLongBench-Doc, with "£" after "$".
2. `Integer` takes no decimals: "8.0" and 8.0 fail, "8%", "$8", "8 kg" and "96,395" pass, "96, 395" fails. A gold that
   is no number stays text, a prediction that is none becomes "", so a gold of "" is matched by anything that is no
   number.
3. `Float` as in MMLongBench-Doc after this cleaning; a gold that is no number scores 0.
4. `String` and `None` use ANLS or equality as in MMLongBench-Doc.
5. Every other label is a list. Text that starts with "[" goes through `eval`; what `eval` refuses stays text. Lists of
   records become their values joined with "-". Nothing is sorted: if the first gold element is a number or needs an
   exact match, the joined lists must be equal in order ("1", "2-3" = "1-2", "3"); else the score is the mean over the
   gold elements of the best ANLS with any predicted one, times √(gold / predicted) if there are more predicted.
   An empty list on either side raises `IndexError`; a first record and a later non-record raise `AttributeError`.
6. Before scoring, the pipeline hands the extracted text to `eval`: "96,395" → (96, 395) → 0 though "96,035" stays
   text → 1; "2015-2016" → -1; "12/25/2020" → 0.00024; "time", "max", "list" → objects, and the record is not
   written because JSON cannot hold them; "question", "result" → the pipeline's own variables.
7. Extraction needs both tags, `<concise_answer>` and `<answer_format>`, in this spelling; the first of each counts.
   Any failure is the prediction "Fail to extract" with 0.
8. Generalised accuracy is the mean over the records that were written; "rectified" divides by 2,325 instead. The
   fine-grained table divides by fixed counts of the full set, and a record without evidence pages is added to the
   bucket of the record before it.

Where the official function raises, `score` gives 0 and names the exception in `upstream_raises`. Text that `eval`
would have to *run* is never run, see `flags`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from looseleaf.errors import DataError
from looseleaf.score import Score
from looseleaf.scoring.aggregates import AccF1, Sample, Slice, acc_and_f1, added_up
from looseleaf.scoring.breakdowns import by_label, page_class, source_class
from looseleaf.scoring.fine_grained import Table, score_sums
from looseleaf.scoring.literals import (
    NamedObject,
    UnevaluatedError,
    UnorderedSet,
    UpstreamError,
    evaluate,
    flags_of,
)
from looseleaf.scoring.matching import (
    anls,
    drop_parentheses,
    drop_quotes,
    floats_equal,
    is_float,
    needs_exact_match,
)
from looseleaf.scoring.safe import safe
from looseleaf.scoring.scopes import LONGDOCURL_PIPELINE, LONGDOCURL_SCORER

__all__ = [
    "FAIL_TO_EXTRACT",
    "OFFICIAL_ROWS",
    "UNIT_SUFFIXES",
    "AccF1",
    "FineGrained",
    "GeneralizedAccuracy",
    "PipelineResult",
    "Slice",
    "acc_and_f1",
    "clean",
    "fine_grained",
    "flags",
    "gacc",
    "official_pipeline",
    "official_prediction",
    "parse_extraction",
    "partition",
    "safe",
    "score",
]

FAIL_TO_EXTRACT: Final = "Fail to extract"
"""Prediction that the pipeline records when extraction fails; generalised accuracy counts it as 0."""

OFFICIAL_ROWS: Final = 2_325
"""Questions of the full set, the denominator of rectified generalised accuracy (`calculate_metrics.py`)."""

UNIT_SUFFIXES: Final = (
    "kg",
    "mm",
    "m",
    "meters",
    "acres",
    "minutes",
    "mile",
    "miles",
    "million",
    "thousand",
    "billion",
)
"""Endings that cleaning removes as sets of characters, in this order (`get_clean_string`)."""


def score(gold: Any, prediction: Any, answer_format: str) -> Score:
    """Score one prediction.

    Args:
        gold: the gold answer, a JSON value.
        prediction: what the pipeline passes on: the value of `official_prediction`, or text as it is.
        answer_format: `Integer`, `Float`, `String` or `None`; anything else means a list.

    Returns:
        A value from 0 to 1, and the exception that escapes the official function, if one does.
    """
    try:
        return Score(value=float(_score(gold, prediction, answer_format)))
    except UnevaluatedError:
        return Score(value=0.0)
    except Exception as error:
        # What the built-ins raise here, they raise in the official function: both make the same conversions.
        return Score(value=0.0, upstream_raises=type(error).__name__)


def clean(value: object) -> str:
    """The official cleaning of an answer (quirk 1)."""
    text = str(value).lower().strip().replace(",", "")
    for suffix in UNIT_SUFFIXES:
        if text.endswith(suffix):
            text = text.rstrip(suffix).strip()
    text = drop_quotes(drop_parentheses(text).strip()).strip()
    return text.lstrip("$").strip().lstrip("£").strip().rstrip("%").strip()


def _score(gold: Any, prediction: Any, answer_format: str) -> float:
    if answer_format == "Integer":
        return _score_integer(gold, prediction)
    if answer_format == "Float":
        return _score_float(clean(gold), clean(prediction))
    if answer_format in ("String", "None"):
        return _score_text(clean(gold), clean(prediction))
    return _score_list(_as_list(gold), _as_list(prediction))


def _score_integer(gold: Any, prediction: Any) -> bool:
    try:
        gold = clean(gold)
        gold = int(gold)
    except Exception:
        gold = gold if isinstance(gold, str) else None  # text, which only "" can equal
    try:
        return bool(gold == int(clean(prediction)))
    except Exception:
        return bool(gold == "")


def _score_float(gold: str, prediction: str) -> bool:
    try:
        return floats_equal(gold, prediction)
    except ValueError:
        return False


def _score_text(gold: str, prediction: str) -> float:
    return gold == prediction if needs_exact_match(gold) else anls(gold, prediction)


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, str) and value.startswith("["):
        with contextlib.suppress(UpstreamError, UnevaluatedError):
            value = evaluate(value, LONGDOCURL_SCORER)
    return value if isinstance(value, list) else [value]


def _score_list(gold: list[Any], prediction: list[Any]) -> float:
    gold, prediction = _joined_records(gold), _joined_records(prediction)
    golds, predictions = list(map(clean, gold)), list(map(clean, prediction))
    if is_float(golds[0]) or needs_exact_match(golds[0]):
        return "-".join(golds) == "-".join(predictions)
    different = set(predictions)
    best = [max(anls(wanted, given) for given in different) for wanted in golds]
    return float(added_up(best) / len(golds) * min(1, len(golds) / len(predictions)) ** 0.5)


def _joined_records(items: list[Any]) -> list[Any]:
    if not isinstance(items[0], dict):
        return items
    return ["-".join(map(str, item.values())) for item in items]


class PipelineResult(NamedTuple):
    """What the official pipeline records for one row.

    Attributes:
        prediction: the recorded prediction; `None` where the record is not written, or holds a value unknown here.
        prediction_type: name of the type that the prediction has upstream.
        value: the score; `None` where the scorer raises and the record is lost.
        written: whether the record reaches the results file (JSON cannot hold every value).
        upstream_raises: the exception that escapes the scorer.
        flags: names that were found, and what was not evaluated; upstream's result may then differ.
    """

    prediction: Any
    prediction_type: str
    value: float | None
    written: bool
    upstream_raises: str | None = None
    flags: tuple[str, ...] = ()


def parse_extraction(text: str) -> str:
    """The concise answer in an extractor's output (quirk 7), not yet evaluated.

    Raises:
        ValueError: one of the two tags is missing.
    """
    answer = _tagged(text, "concise_answer")
    _tagged(text, "answer_format")
    return answer


def _tagged(text: str, tag: str) -> str:
    opening, closing = f"<{tag}>", f"</{tag}>"
    start = text.find(opening)
    end = text.find(closing, start + len(opening))
    if start < 0 or end < 0:
        raise ValueError(f"the extractor wrote no {opening}…{closing}")
    return text[start + len(opening) : end]


def official_prediction(
    answer: str, variables: Mapping[str, str] | None = None, flags: list[str] | None = None
) -> Any:
    """The value that the pipeline's `eval` makes of an extracted answer (quirk 6); what it refuses stays text.

    Args:
        answer: the concise answer.
        variables: values of the pipeline's own variables, by name, as far as they are known.
        flags: takes up the names that were found and what was not evaluated.
    """
    flags = [] if flags is None else flags
    try:
        value = evaluate(answer, {**LONGDOCURL_PIPELINE, **(variables or {})}, flags)
    except UpstreamError:
        flags.clear()
        return answer
    except UnevaluatedError as problem:
        flags.append(problem.reason)
        return answer
    if isinstance(value, UnorderedSet):
        return value.items
    return list(value) if isinstance(value, set) else value


def official_pipeline(
    extractor_text: str | None,
    gold: Any,
    answer_format: str,
    *,
    question: str | None = None,
    response: str | None = None,
) -> PipelineResult:
    """What the official pipeline records for an extractor's output.

    Args:
        extractor_text: the extractor's raw output; `None` = the extractor could not be reached.
        gold: the gold answer, a JSON value.
        answer_format: the row's answer format.
        question: the question; an answer that spells `question` becomes it.
        response: the model's response; an answer that spells `result` becomes it.
    """
    flags: list[str] = []
    prediction: Any
    try:
        answer = parse_extraction(extractor_text or "")
        variables = _variables(extractor_text or "", question, response)
        prediction = official_prediction(answer, variables, flags)
    except ValueError:
        prediction = FAIL_TO_EXTRACT
    scored = Score(value=0.0) if prediction == FAIL_TO_EXTRACT else score(gold, prediction, answer_format)
    written = scored.upstream_raises is None and _is_written(prediction)
    return PipelineResult(
        prediction=prediction if written and not isinstance(prediction, NamedObject) else None,
        prediction_type=prediction.type_name
        if isinstance(prediction, NamedObject)
        else type(prediction).__name__,
        value=None if scored.upstream_raises else scored.value,
        written=written,
        upstream_raises=scored.upstream_raises,
        flags=tuple(flags),
    )


def _variables(extractor_text: str, question: str | None, response: str | None) -> dict[str, str]:
    known = {
        "answer_format": _tagged(extractor_text, "answer_format"),
        "concise_answer": _tagged(extractor_text, "concise_answer"),
        "extractor_result": extractor_text,
        "question": question,
        "result": response,
    }
    return {name: value for name, value in known.items() if value is not None}


def _is_written(prediction: Any) -> bool:
    if isinstance(prediction, NamedObject):
        return prediction.type_name == "str"
    try:
        json.dumps(prediction, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def flags(gold: Any, prediction: Any, answer_format: str) -> tuple[str, ...]:
    """What in a list row upstream's `eval` would look up or run, so that its score is not certain to be this one.

    Args:
        gold: the gold answer.
        prediction: the short answer, as `score` takes it.
        answer_format: the source's label; only lists are evaluated by the scoring function.

    Returns:
        One word for each such thing; empty where there is none.
    """
    if answer_format in ("Integer", "Float", "String", "None"):
        return ()
    texts = [value for value in (gold, prediction) if isinstance(value, str) and value.startswith("[")]
    return tuple(flag for text in texts for flag in flags_of(text, LONGDOCURL_SCORER))


class GeneralizedAccuracy(NamedTuple):
    """LongDocURL's headline number.

    Attributes:
        value: mean score of the samples.
        rectified: sum of the scores over `OFFICIAL_ROWS`, by upstream's order of operations.
        n: number of samples.
        raising: samples on which the official function raises; each counts 0 here and ends upstream's script.
    """

    value: float
    rectified: float
    n: int
    raising: int


def gacc(samples: Iterable[Sample]) -> GeneralizedAccuracy:
    """Generalised accuracy over samples with `answer`, `pred` and `answer_format`.

    Raises:
        DataError: there is no sample.
    """
    scores = [_metric_score(sample) for sample in samples]
    if not scores:
        raise DataError("There is no sample to average; give at least one.")
    total = 0.0
    for scored in scores:
        total += scored.value or 0.0
    value = total / len(scores)
    raising = sum(scored.upstream_raises is not None for scored in scores)
    return GeneralizedAccuracy(value, value * len(scores) / OFFICIAL_ROWS, len(scores), raising)


def _metric_score(sample: Sample) -> Score:
    if sample["pred"] == FAIL_TO_EXTRACT:
        return Score(value=0.0)
    return score(sample["answer"], sample["pred"], sample["answer_format"])


class FineGrained(NamedTuple):
    """The official table of score sums.

    Attributes:
        sums: nested sums, keyed as upstream keys them; `fine_grained.divided` makes accuracies of them.
        fatal: samples that end upstream's script; they are left out of `Fine_Grained`.
    """

    sums: Table
    fatal: int


def fine_grained(samples: Iterable[Sample]) -> FineGrained:
    """Sums of scores by task, element and pages, over samples with the fields of the data file and `pred`.

    An element column counts a question once for each of its sources, so the columns overlap; `partition` does not.
    """
    return FineGrained(*score_sums((sample, _metric_score(sample).value or 0.0) for sample in samples))


def partition(samples: Iterable[Sample]) -> list[Slice]:
    """A breakdown in which every question is in exactly one slice of each group: task, question type, pages, source.

    Args:
        samples: rows with `answer`, `pred`, `evidence_pages`, `evidence_sources`, the two labels where the file has
            them, and `score` where there is one.
    """
    rows = list(samples)
    return [
        *by_label("Task", rows, lambda row: [row.get("task_tag", "none given")]),
        *by_label("Question Type", rows, lambda row: [row.get("question_type", "none given")]),
        *by_label("Pages", rows, lambda row: [page_class(row)]),
        *by_label("Source", rows, lambda row: [source_class(row)]),
    ]
