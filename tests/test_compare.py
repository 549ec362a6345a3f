"""Comparing stored runs: what is paired, what is refused, and that the numbers are those of the statistics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from conftest import Cli
from fakes import make_question
from looseleaf.errors import RunError
from looseleaf.lab.compare import COMPARED, FAMILY, compare_runs
from looseleaf.lab.compare_settings import FAIRNESS
from looseleaf.report.blocks import blocks_as_markdown
from looseleaf.report.comparison import comparison_blocks
from looseleaf.runner.bootstrapping import fanned_ratios
from looseleaf.runner.executor import LocalExecutor
from looseleaf.runstore import Run
from looseleaf.statistics import mcnemar_test, obuchowski_test, sign_flip_test
from looseleaf.statistics.clusters import Floats
from reward_runs import SCORE_ID, make_trajectory, score_row

DOCUMENTS = 20
PER_DOCUMENT = 4
N = DOCUMENTS * PER_DOCUMENT
READING_ID = "reader-00000000"
ROLE = {"backend": "openai", "argument": "small"}

Pair = tuple[float | None, float | None]


def make_run(
    path: Path,
    pairs: Sequence[Sequence[Pair]],
    *,
    protocol: Mapping[str, Any] | None = None,
    family: str = "lexical",
    reader: Mapping[str, Any] | None = None,
    extractor: Mapping[str, Any] | None = None,
    judge: str = "none",
    oracle: Mapping[str, Any] | None = None,
    dpi: int = 144,
    ocr: str = "none",
    sha256: str = "a" * 64,
    question: Mapping[str, Any] | None = None,
    unanswerable: Sequence[int] = (),
    first_index: int = 0,
    recorded: bool = True,
) -> Run:
    """A scored run; `pairs[question][sample]` = (answer score, memory score), four questions a document."""
    run = Run.create(path)
    fields = {"sources": ("Table", "Chart"), "doc_type": "Report", **(question or {})}
    questions = [
        make_question(
            index, doc_id=f"{index // PER_DOCUMENT}.pdf", unanswerable=index in unanswerable, **fields
        )
        for index in range(first_index, first_index + len(pairs))
    ]
    run.write_questions(questions)
    rules = {"name": "awm", "max_turns": 15, **(protocol or {})}
    config: dict[str, Any] = {"run": {"samples": max(map(len, pairs))}, "roles": {"policy": ROLE}}
    run.write_config(config | ({"protocol": rules, "pages": {"ocr": ocr}} if recorded else {}))
    if recorded:
        run.write_manifest(
            {
                "data": {"name": "mini", "version": "v1", "sha256": sha256},
                "retriever": {"name": "any", "family": family},
                "page_images": {"dpi": dpi, "max_pixels": rules.get("max_pixels")},
            }
        )
    run.write_sidecar("extractions", "extractor-1", {"extractor": extractor or ROLE})
    run.write_sidecar("readings", READING_ID, {"reader": reader or ROLE})
    run.write_sidecar(
        "scores", SCORE_ID, {"scorer": "exact", "extraction_id": "extractor-1", "judge": {"backend": judge}}
    )
    trajectories = []
    with run.writing():
        for each, samples in zip(questions, pairs, strict=True):
            for sample, (answer, memory) in enumerate(samples):
                key = f"{each.question_id}#{sample}"
                trajectories.append(
                    make_trajectory(
                        key, doc_id=each.doc_id, question=each.question, oracle=dict(oracle or {})
                    )
                )
                run.scores(SCORE_ID).append(score_row(key, "answer", answer))
                run.scores(SCORE_ID).append(score_row(key, "memory", memory))
    lines = b"".join(msgspec.json.encode(trajectory) + b"\n" for trajectory in trajectories)
    (path / "trajectories.jsonl").write_bytes(lines)  # one by one, each would wait for the disk
    return run


def random_pairs(seed: int, right: float = 0.6, kept: float = 0.8) -> list[list[Pair]]:
    generator = np.random.default_rng(seed)
    answers = generator.random(N) < right
    memories = np.where(answers, generator.random(N) < kept, generator.random(N) < 0.1)
    return [[(float(a), float(m))] for a, m in zip(answers, memories, strict=True)]


def columns(pairs: Sequence[Sequence[Pair]]) -> tuple[np.ndarray, np.ndarray]:
    answers, memories = zip(*(samples[0] for samples in pairs), strict=True)
    return np.array(answers), np.array(memories)


# -- numbers ---------------------------------------------------------------------------------------------------------


def test_the_numbers_are_those_of_the_statistics(tmp_path: Path) -> None:
    a, b = random_pairs(1, 0.7), random_pairs(2, 0.5)
    found = compare_runs(make_run(tmp_path / "a", a), make_run(tmp_path / "b", b))
    (ans_a, mem_a), (ans_b, mem_b) = columns(a), columns(b)
    by_document = (ans_a - ans_b).reshape(DOCUMENTS, PER_DOCUMENT).sum(axis=1)
    accuracy = found.metric("Acc")
    assert (accuracy.first, accuracy.second) == (ans_a.mean(), ans_b.mean())
    assert accuracy.difference.value == pytest.approx(ans_a.mean() - ans_b.mean())
    assert accuracy.test == obuchowski_test(by_document)
    assert accuracy.sign_flip == sign_flip_test(by_document)
    assert accuracy.p_value == obuchowski_test(by_document).p_value
    assert (accuracy.n, accuracy.n_applies, accuracy.documents) == (N, N, DOCUMENTS)
    missing = found.metric("P_mmc")
    assert missing.first == pytest.approx(np.mean(1 - mem_a[ans_a == 1]))
    assert missing.second == pytest.approx(np.mean(1 - mem_b[ans_b == 1]))
    assert missing.test is None  # each run conditions on its own correct answers, so rows do not pair
    assert missing.p_value == missing.difference.p_value
    assert missing.sign_flip is not None
    assert missing.sign_flip.method.endswith("linearised")
    assert missing.sign_flip.statistic == pytest.approx(missing.difference.value)
    independent = mcnemar_test(int(np.sum(ans_a > ans_b)), int(np.sum(ans_a < ans_b)))
    assert found.independent["s_ans"] == independent
    assert "assumes independent questions" in found.independent["s_mem"].method


def test_every_interval_and_bootstrap_is_there_and_holds_the_difference(tmp_path: Path) -> None:
    found = compare_runs(make_run(tmp_path / "a", random_pairs(1)), make_run(tmp_path / "b", random_pairs(2)))
    assert [line.name for line in found.metrics] == [metric.name for metric in COMPARED]
    for name in (
        "Acc",
        "s_ans",
        "MemAcc",
        "s_mem",
        "P_mmc",
        "P_mmc[answerable]",
        "Gap",
        "Cell10",
        "GradedLoss",
    ):
        line = found.metric(name)
        value = line.difference.value
        assert value is not None
        assert line.difference.interval is not None
        assert line.difference.interval.low < value < line.difference.interval.high
        assert line.bootstrap is not None
        assert line.bootstrap.low < value < line.bootstrap.high
        assert (line.bootstrap.resamples, line.bootstrap.undefined) == (10_000, 0)
        assert line.first_interval is not None
        assert line.sample_size is not None
        assert "to see 2 points" in line.sample_size.text()


def test_the_family_is_fixed_and_adjusted_together(tmp_path: Path) -> None:
    found = compare_runs(make_run(tmp_path / "a", random_pairs(1)), make_run(tmp_path / "b", random_pairs(2)))
    assert FAMILY == found.family == ("Acc", "MemAcc", "P_mmc[answerable]")
    adjusted = {line.name: line.adjusted for line in found.metrics if line.adjusted is not None}
    assert set(adjusted) == set(FAMILY)
    plain = sorted((found.metric(name).p_value or 1.0) for name in FAMILY)
    assert min(adjusted.values()) == pytest.approx(min(1.0, 3 * plain[0]))
    assert all(adjusted[name] >= (found.metric(name).p_value or 0.0) for name in FAMILY)


def test_p_mmc_is_split_into_the_same_questions_and_other_questions(tmp_path: Path) -> None:
    """B answers twice as many questions as A, and loses only the new ones: nothing within, all composition."""
    a = [[(float(i % 4 == 0), 1.0)] for i in range(N)]
    b = [[(float(i % 2 == 0), float(i % 4 == 0))] for i in range(N)]
    split = compare_runs(make_run(tmp_path / "a", a), make_run(tmp_path / "b", b)).split
    assert split is not None
    assert (split.first, split.second, split.n_first, split.n_second) == (0, 0.5, N // 4, N // 2)
    assert (split.first_common, split.second_common, split.n_common) == (0, 0, N // 4)
    assert (split.total.value, split.within.value, split.composition.value) == (-0.5, 0, -0.5)


def test_unanswerable_questions_are_not_in_the_headline_p_mmc(tmp_path: Path) -> None:
    pairs: list[list[Pair]] = [[(1.0, float(i % 2))] for i in range(N)]
    even = range(0, N, 2)
    found = compare_runs(
        make_run(tmp_path / "a", pairs, unanswerable=even), make_run(tmp_path / "b", pairs, unanswerable=even)
    )
    assert (found.metric("P_mmc[answerable]").first, found.metric("P_mmc").first) == (0, 0.5)
    assert found.split is not None
    assert found.split.n_first == N // 2


def test_a_run_compared_with_itself_differs_by_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", random_pairs(1))
    found = compare_runs(run, run)
    for name in ("Acc", "MemAcc", "P_mmc"):
        line = found.metric(name)
        assert (line.difference.value, line.difference.p_value) == (0, 1)
        assert line.difference.interval is not None
        assert line.difference.interval.low < 0 < line.difference.interval.high
    assert "Both sides are the same scores of the same run." in found.notices
    assert found.metric("Turns").difference.interval is None  # the bound speaks of rates only


def test_few_documents_have_exact_tests_and_no_intervals(tmp_path: Path) -> None:
    a: list[list[Pair]] = [[(1.0, 1.0)]] * 24
    b: list[list[Pair]] = [[(0.0, 0.0)]] * 24
    line = compare_runs(make_run(tmp_path / "a", a), make_run(tmp_path / "b", b)).metric("Acc")
    assert (line.difference.interval, line.bootstrap, line.test) == (None, None, None)
    assert line.sign_flip is not None
    assert line.p_value == line.sign_flip.p_value == 2 / 2**6


def test_samples_are_averaged_and_summarised(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    a: list[list[Pair]] = [[(float(x), float(x)) for x in generator.random(3) < 0.5] for _ in range(N)]
    found = compare_runs(make_run(tmp_path / "a", a), make_run(tmp_path / "b", random_pairs(2)))
    answers = np.array([[answer for answer, _ in samples] for samples in a], dtype=float)
    assert found.metric("Acc").first == pytest.approx(answers.mean())
    assert found.metric("Acc").n == N
    seeds = found.first.seeds["Acc"]
    assert seeds.values == pytest.approx(tuple(answers.mean(axis=0)))
    assert seeds.sd == pytest.approx(answers.mean(axis=0).std(ddof=1))
    assert seeds.question_variance == pytest.approx(answers.var(axis=1, ddof=1).mean())
    assert found.second.seeds == {}


def test_runs_without_memory_or_without_any_score(tmp_path: Path) -> None:
    """What cannot be computed is absent, stays in the family, and breaks nothing."""
    a = make_run(tmp_path / "a", random_pairs(1))
    bare = make_run(tmp_path / "b", random_pairs(2))
    for path in (bare.path / "readings").iterdir():
        path.unlink()
    found = compare_runs(a, bare)
    assert (found.second.reading_id, found.split) == (None, None)
    memory = found.metric("MemAcc")
    assert (memory.first is None, memory.second, memory.p_value, memory.adjusted) == (False, None, None, 1.0)
    assert "reader" in [each.name for each in found.differing]
    lost: list[list[Pair]] = [[(None, None)] for _ in range(N)]
    nothing = compare_runs(a, make_run(tmp_path / "c", lost)).metric("Acc")
    assert (nothing.first, nothing.n, nothing.n_applies, nothing.p_value) == (None, 0, N, None)
    assert (nothing.lowest, nothing.highest) != (None, None)
    blocks_as_markdown("", comparison_blocks(compare_runs(bare, bare)))


# -- what is paired --------------------------------------------------------------------------------------------------


def test_unscored_questions_are_left_out_of_both_and_bounded(tmp_path: Path) -> None:
    a, b = random_pairs(1), random_pairs(2)
    for index in range(0, 40, 4):
        a[index] = [(None, None)]
    found = compare_runs(make_run(tmp_path / "a", a), make_run(tmp_path / "b", b))
    line = found.metric("Acc")
    kept = [i for i in range(N) if a[i][0][0] is not None]
    assert (line.n, line.n_applies) == (len(kept), N)
    assert line.second == pytest.approx(np.mean([b[i][0][0] for i in kept]))
    known = sum(answer for (answer, _), *_ in a if answer is not None)
    whole_b = np.mean([answer for (answer, _), *_ in b])
    assert line.lowest == pytest.approx(known / N - whole_b)
    assert line.highest == pytest.approx((known + 10) / N - whole_b)
    text = blocks_as_markdown("", comparison_blocks(found))
    assert f"{len(kept)} / {N}" in text
    assert "Unscored questions are left out of both runs" in text


def test_only_questions_that_are_the_same_are_paired(tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", random_pairs(1))
    shifted = make_run(tmp_path / "b", random_pairs(2), first_index=8)
    with pytest.raises(RunError, match="share no question"):
        compare_runs(a, make_run(tmp_path / "c", random_pairs(2), first_index=N))
    found = compare_runs(a, shifted)
    assert found.counts["only in the first run"] == found.counts["only in the second run"] == 8
    assert (found.counts["paired questions"], found.counts["their documents"]) == (N - 8, DOCUMENTS - 2)
    assert found.metric("Acc").n == N - 8
    assert any("16 questions are in one run only" in notice for notice in found.notices)


def test_a_repaired_gold_answer_is_not_compared_with_the_old_one(tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", random_pairs(1))
    b = make_run(tmp_path / "b", random_pairs(2))
    questions = b.questions()
    b.write_questions([make_question(0, doc_id="0.pdf", references=("other",)), *questions[1:]])
    found = compare_runs(a, b)
    assert found.counts["paired questions"] == N - 1
    assert any("differ in text, document or gold answer" in notice for notice in found.notices)


def test_slices_that_overlap_say_so_and_have_no_total(tmp_path: Path) -> None:
    """Each question has two sources: the label slices hold every question twice, the exclusive ones once."""
    found = compare_runs(make_run(tmp_path / "a", random_pairs(1)), make_run(tmp_path / "b", random_pairs(2)))
    slices = {table.name: table for table in found.slices}
    labels = slices["evidence source, every label"]
    assert labels.overlapping
    assert set(labels.lines) == {"table", "chart"}
    assert [lines[0].n for lines in labels.lines.values()] == [N, N]
    exclusive = slices["evidence source, the paper's exclusive categories"]
    assert not exclusive.overlapping
    assert {label: lines[0].n for label, lines in exclusive.lines.items()} == {"mixed": N}
    assert all(
        line.adjusted is None for table in found.slices for lines in table.lines.values() for line in lines
    )
    assert "the lines do not add up" in blocks_as_markdown("", comparison_blocks(found))


# -- fairness --------------------------------------------------------------------------------------------------------

UNFAIR: dict[str, dict[str, Any]] = {
    "data": {"sha256": "b" * 64},
    "retriever family": {"family": "dense"},
    "page resolution": {"dpi": 72},
    "page text": {"ocr": "rapidocr 3.10.0"},
    "protocol": {"protocol": {"max_turns": 6}},
    "scorer": {"judge": "openai"},
    "extractor": {"extractor": {"backend": "embedded"}},
    "reader": {"reader": {"backend": "openai", "argument": "large"}},
    "page window": {"question": {"window": (1, 30)}},
    "oracle settings": {"oracle": {"gold_pages": True}},
}


def test_every_fairness_setting_is_tried() -> None:
    assert tuple(UNFAIR) == FAIRNESS


@pytest.mark.parametrize("name", UNFAIR)
def test_an_unfair_comparison_warns_or_is_refused(tmp_path: Path, name: str) -> None:
    a = make_run(tmp_path / "a", random_pairs(1))
    b = make_run(tmp_path / "b", random_pairs(2), **UNFAIR[name])
    found = compare_runs(a, b)
    assert [each.name for each in found.differing] == [name]
    assert found.differing[0].first != found.differing[0].second
    assert f"The runs differ in {name}" in blocks_as_markdown("", comparison_blocks(found))
    with pytest.raises(RunError, match=f"differ in {name}.*--strict"):
        compare_runs(a, b, strict=True)


def test_a_fair_comparison_is_not_refused(tmp_path: Path) -> None:
    found = compare_runs(
        make_run(tmp_path / "a", random_pairs(1)), make_run(tmp_path / "b", random_pairs(2)), strict=True
    )
    assert (found.differing, found.notices) == ([], [])


def test_a_page_cap_is_page_resolution_and_not_a_rule(tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", random_pairs(1))
    b = make_run(tmp_path / "b", random_pairs(2), protocol={"max_pixels": 862_400})
    assert [each.name for each in compare_runs(a, b).differing] == ["page resolution"]


def test_settings_that_are_not_recorded_are_said_to_be_unknown(tmp_path: Path) -> None:
    bare = make_run(tmp_path / "a", random_pairs(1), recorded=False)
    other = make_run(tmp_path / "b", random_pairs(2), recorded=False)
    found = compare_runs(bare, other)
    assert found.differing == []
    assert "Neither run records protocol, so it may differ." in found.notices
    known = compare_runs(bare, make_run(tmp_path / "c", random_pairs(2)))
    assert "protocol" in [each.name for each in known.differing]
    assert known.differing[0].text().startswith("The runs differ in data: not recorded against mini v1")


def test_an_oracle_on_some_rows_only_is_named(tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", random_pairs(1))
    b = make_run(tmp_path / "b", random_pairs(2), oracle={"gold_pages": True})
    with b.writing():
        b.trajectory_ledger.append(make_trajectory("mini:0#0"))
    shown = compare_runs(a, b).second.settings["oracle settings"].shown
    assert shown == f"gold_pages = True in {N - 1} of {N}"


# -- the command -----------------------------------------------------------------------------------------------------


def test_the_command_prints_and_writes(cli: Cli, tmp_path: Path) -> None:
    make_run(tmp_path / "a", random_pairs(1, 0.7))
    make_run(tmp_path / "b", random_pairs(2, 0.5), family="dense")
    outcome = cli("compare", tmp_path / "a", tmp_path / "b")
    assert outcome.code == 0, outcome.err
    for words in (
        "The runs differ in retriever family: lexical against dense.",
        "P_mmc[answerable]",
        "both correct (within)",
        "to see 2 points with 80 % power you need",
        "p (Holm) adjusts over Acc, MemAcc, P_mmc[answerable]",
    ):
        assert words in " ".join(outcome.out.split())
    stored = json.loads((tmp_path / "a" / "report" / "compare-a-b.json").read_text(encoding="utf-8"))
    assert stored["metrics"][0]["name"] == "Acc"
    assert stored["split"]["n_common"] > 0
    markdown = (tmp_path / "a" / "report" / "compare-a-b.md").read_text(encoding="utf-8")
    assert "assumes independent questions" in markdown
    assert "undefined resamples" in markdown


def test_the_command_refuses_in_one_sentence(cli: Cli, tmp_path: Path) -> None:
    make_run(tmp_path / "a", random_pairs(1))
    make_run(tmp_path / "b", random_pairs(2), family="dense")
    for arguments, words in (
        (("a", "b", "--strict"), "retriever family (lexical against dense)"),
        (("a", "nowhere"), "There is no run in"),
        (("a", "b", "--reading-a", "other-1"), "has no readings 'other-1'"),
        (("a", "b", "--score-b", "other-1"), "has no scores 'other-1'"),
        (("a", "b", "--threshold", "most"), "no threshold"),
    ):
        paths = [
            str(tmp_path / word) if not word.startswith("-") and i < 2 else word
            for i, word in enumerate(arguments)
        ]
        outcome = cli("compare", *paths)
        assert (outcome.code, outcome.out) == (2, ""), outcome
        assert words in outcome.err
        assert len(outcome.err.splitlines()) == 1


def test_foreign_text_stays_text(cli: Cli, tmp_path: Path) -> None:
    evil = {"doc_type": "[red]<b>|x|\x1b[31m"}
    make_run(tmp_path / "a", random_pairs(1), question=evil)
    make_run(
        tmp_path / "b", random_pairs(2), question=evil, reader={"backend": "x", "argument": "[bold]\x1b[2J"}
    )
    outcome = cli("compare", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "out")
    assert outcome.code == 0
    assert "\x1b[2J" not in outcome.out
    assert "[bold]" in outcome.out
    markdown = (tmp_path / "out" / "compare-a-b.md").read_text(encoding="utf-8")
    assert "<b>" not in markdown
    assert "\x1b" not in markdown


def test_one_run_under_two_readers(cli: Cli, tmp_path: Path) -> None:
    """The same run with two readings compares readers; the warning says so."""
    run = make_run(tmp_path / "a", random_pairs(1))
    run.write_sidecar("readings", "second-1", {"reader": {"backend": "openai", "argument": "large"}})
    with run.writing():
        for index in range(N):
            row = score_row(f"mini:{index}#0", "memory", 1.0)
            run.scores(SCORE_ID).append(type(row)(**{**_fields(row), "reading_id": "second-1"}))
    outcome = cli(
        "compare", tmp_path / "a", tmp_path / "a", "--reading-a", READING_ID, "--reading-b", "second-1"
    )
    assert outcome.code == 0, outcome.err
    assert "The runs differ in reader: openai:small against openai:large." in " ".join(outcome.out.split())
    stored = json.loads((tmp_path / "a" / "report" / "compare-a-a.json").read_text(encoding="utf-8"))
    assert stored["metrics"][[m["name"] for m in stored["metrics"]].index("MemAcc")]["second"] == 1.0


def _fields(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__struct_fields__}


def test_a_difference_that_few_documents_carry_is_doubted_aloud(tmp_path: Path) -> None:
    found = compare_runs(make_run(tmp_path / "a", random_pairs(1)), make_run(tmp_path / "b", random_pairs(2)))
    line = found.metric("P_mmc[answerable]")
    assert line.sign_flip is not None
    doubt = "P_mmc[answerable]: few documents carry this difference; flipping their signs gives p = 0.210."
    for p_value, said in ((0.04, True), (0.045, False), (0.06, False)):
        flip = msgspec.structs.replace(line.sign_flip, p_value=0.21)
        changed = msgspec.structs.replace(line, p_value=p_value, sign_flip=flip)
        metrics = [changed if each is line else each for each in found.metrics]
        blocks = comparison_blocks(msgspec.structs.replace(found, metrics=metrics))
        assert any(doubt in block.sentences for block in blocks) is said


def test_the_bootstrap_may_be_computed_elsewhere(tmp_path: Path) -> None:
    """Whatever computes the resamples draws the same documents."""
    dice = np.random.default_rng(4)
    runs = [
        make_run(tmp_path / name, [[(float(a), float(m))] for a, m in dice.integers(0, 2, (N, 2))])
        for name in "ab"
    ]
    asked: list[tuple[int, ...]] = []

    def elsewhere(x: Floats, y: Floats) -> Floats:
        asked.append(x.shape)
        return fanned_ratios(LocalExecutor(), x, y)

    here, there = compare_runs(*runs), compare_runs(*runs, resample=elsewhere)
    assert asked == [(2 * len(COMPARED), DOCUMENTS)]
    assert any(line.bootstrap is not None for line in here.metrics)
    assert there == here
