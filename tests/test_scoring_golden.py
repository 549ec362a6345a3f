"""Every golden vector of the official scorers, compared exactly (see golden/README.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from looseleaf.scoring import dude, longdocurl, mmlongbench, qasper

GOLDEN = Path(__file__).parent / "golden"
SCRIPTS = ("run_lvlm", "run_api")


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLDEN / name).read_text("utf-8").splitlines()]


def tables(name: str) -> list[dict[str, Any]]:
    return json.loads((GOLDEN / name).read_text("utf-8"))


def decoded(value: Any) -> Any:
    """JSON with `{"__tuple__": […]}` for a tuple."""
    if isinstance(value, dict):
        if set(value) == {"__tuple__"}:
            return tuple(decoded(item) for item in value["__tuple__"])
        return {key: decoded(item) for key, item in value.items()}
    return [decoded(item) for item in value] if isinstance(value, list) else value


def expected(row: dict[str, Any]) -> tuple[float, str | None]:
    return row.get("score", 0.0), row.get("raises")


@pytest.mark.parametrize(
    ("name", "scorer", "count"),
    [("mmlongbench", mmlongbench.score, 788), ("longdocurl", longdocurl.score, 766)],
)
def test_pairs_score_as_the_official_function(name, scorer, count):
    vectors = rows(f"{name}_scores.jsonl")
    assert len(vectors) == count
    for row in vectors:
        scored = scorer(decoded(row["gt"]), decoded(row["pred"]), row["answer_format"])
        assert (scored.value, scored.upstream_raises) == expected(row), row
        assert type(scored.value) is float
        assert scored.unscored is None


def test_mmlongbench_pipelines_record_what_the_scripts_record():
    vectors = rows("mmlongbench_pipeline.jsonl")
    assert len(vectors) == 41
    for row in vectors:
        for script in SCRIPTS:
            recorded = mmlongbench.official_pipeline(
                row["extractor_output"], row["gt"], row["answer_format"], script
            )
            wanted = row[script]
            assert recorded == (wanted.get("pred"), wanted.get("score"), wanted.get("raises")), row


def test_longdocurl_pipelines_record_what_the_script_records():
    vectors = rows("longdocurl_pipeline.jsonl")
    assert len(vectors) == 97
    for row in vectors:
        recorded = longdocurl.official_pipeline(
            row["extractor_output"],
            decoded(row["gt"]),
            row["answer_format"],
            # the values that the vectors were made with
            question="Which one?",
            response="RESP",
        )
        prediction = decoded(row.get("pred"))
        assert (recorded.value, recorded.upstream_raises) == (row.get("score"), row.get("raises")), row
        assert recorded.written is row.get("written", False), row
        assert recorded.prediction == prediction, row
        assert type(recorded.prediction) is type(prediction), row
        assert recorded.prediction_type == row.get("pred_type", recorded.prediction_type), row


def test_accuracy_and_f1_of_both_benchmarks():
    sets = tables("mmlongbench_acc_f1.json")
    assert len(sets) == 35
    for one in sets:
        found = mmlongbench.acc_and_f1(one["samples"])
        assert (found.acc, found.f1) == (one["acc"], one["f1"]), one["name"]
        renamed = [
            {"score_v3" if key == "score" else key: value for key, value in sample.items()}
            for sample in one["samples"]
        ]
        other = one["longdocurl_calculate_acc_and_f1"]
        found = longdocurl.acc_and_f1(renamed, key="score_v3")
        assert (found.acc, found.f1) == (other["acc"], other["f1"]), one["name"]


def test_official_breakdown_in_official_order():
    sets = tables("mmlongbench_breakdown.json")
    assert len(sets) == 4
    for one in sets:
        wanted = [(line["label"], line["value"], line["count"]) for line in one["results_in_official_order"]]
        assert [tuple(line) for line in mmlongbench.breakdown(one["samples"])] == wanted, one["name"]


def test_generalised_accuracy_and_fine_grained_sums():
    sets = tables("longdocurl_gacc.json")
    assert len(sets) == 3
    for one in sets:
        found = longdocurl.gacc(one["samples"])
        assert found.value == one["generalized_accuracy"]
        assert found.rectified == one["rectified_generalized_accuracy"]
        assert (found.n, found.raising) == (len(one["samples"]), 0)
        sums = longdocurl.fine_grained(one["samples"])
        assert (sums.sums, sums.fatal) == (one["fine_grained_score_sums"], 0)


def test_dude_anls():
    vectors = rows("dude_anls.jsonl")
    assert len(vectors) == 65
    for row in vectors:
        scored = dude.score(row["gt"], row["pred"], row["answer_type"])
        assert (scored.value, scored.upstream_raises) == expected(row), row


def test_qasper_token_f1():
    vectors = rows("qasper_token_f1.jsonl")
    assert len(vectors) == 29
    for row in vectors:
        assert qasper.score(row.get("refs", row.get("gt")), row["pred"], "").value == row["score"], row
