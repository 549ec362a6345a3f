"""The demonstration's parts: pages that must be read, readers that see only notes, and what is made of the numbers."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from looseleaf.document import PageStore
from looseleaf.memory import Finding, WorkingMemory
from looseleaf.models.embedded import EmbeddedReader
from looseleaf.question import NOT_ANSWERABLE
from looseleaf.runner.config import DataConfig
from looseleaf.runner.selection import load_data
from looseleaf.training.demo.arm import ArmResult
from looseleaf.training.demo.measure import Measured, _is_grounded, measure
from looseleaf.training.demo.readers import CountReader
from looseleaf.training.demo.run import run_demo
from looseleaf.training.demo.summary import lines_of, summarise
from looseleaf.training.demo.warm_start import PROTOCOL, make_demonstrations, make_model
from looseleaf.training.demo.world import DemoQuestion, draw_page, read_world, write_world
from looseleaf.training.processing import load_processor
from reward_runs import make_trajectory

ASKED = DemoQuestion("doc", "How many boats are on page 3?", 47, (3,), "boats")


def test_pages_hold_their_numbers_only_as_pixels(tmp_path: Path) -> None:
    written = write_world(tmp_path, "sft", 2, seed=3)
    assert read_world(tmp_path, "sft") == written
    assert write_world(tmp_path / "again", "sft", 2, seed=3) == written
    held = load_data(DataConfig(benchmark=str(tmp_path / "sft.jsonl"), path=str(tmp_path / "documents")))
    document = held.open(held.questions[0], PageStore(tmp_path / "cache"))
    assert document.page_count == 4
    assert not document.has_text
    assert [question.references for question in held.questions] == [(asked.answer,) for asked in written]


def test_the_same_number_is_never_drawn_twice_alike() -> None:
    generator = np.random.default_rng(0)
    one, other = (np.asarray(draw_page(47, generator), dtype=float) for _ in range(2))
    assert one.shape == (32, 64, 3)
    assert np.abs(one - other).mean() > 3


@pytest.mark.parametrize("reader", [CountReader(), EmbeddedReader()])
def test_both_readers_tell_the_two_kinds_of_notes_apart(reader: CountReader | EmbeddedReader) -> None:
    specific = reader.read(ASKED.question, WorkingMemory([Finding(ASKED.specific_note(), 3)]))
    generic = reader.read(ASKED.question, WorkingMemory([Finding(ASKED.generic_note(), 3)]))
    assert specific.text == "47"
    assert generic.text == NOT_ANSWERABLE
    assert reader.read(ASKED.question, WorkingMemory()).text == NOT_ANSWERABLE


def test_grounded_means_that_every_number_is_on_its_page() -> None:
    numbers = {("doc", 3): 47, ("doc", 2): 12}
    for text, page, grounded in (
        ("page 3 has 47 boats", 3, True),
        ("page 3 has 12 boats", 3, False),
        ("page 3 counts boats", 3, True),
        ("page 3 has 47 boats", 2, False),
    ):
        noted = make_trajectory("mini:0#0", doc_id="doc", memory=(Finding(text, page),))
        assert _is_grounded(noted, numbers) is grounded, text


def test_the_system_message_is_one_token(tmp_path: Path) -> None:
    from looseleaf.training.conversation import Conversation

    conversation = Conversation(load_processor(make_model(tmp_path / "model", 0)), PROTOCOL)
    assert len(conversation.tokenizer(conversation.system_text())["input_ids"]) == 1


def _measured(**changes: float) -> Measured:
    even = dict.fromkeys(Measured.__struct_fields__, 0.5)
    return msgspec.convert(even | {"n": 100} | changes, Measured)


def _result(arm: str, seed: int, **after: float) -> ArmResult:
    return ArmResult(
        arm=arm,
        seed=seed,
        steps=10,
        before=_measured(),
        after=_measured(**after),
        cpu_seconds=60.0,
        calls={"answer_scoring": 320}
        | ({"reading": 320, "memory_scoring": 320} if arm != "answer-only" else {}),
        curve=[],
    )


def test_promises_are_differences_over_paired_seeds() -> None:
    results = [
        result
        for seed in range(3)
        for result in (
            _result("answer-only", seed, s_mem=0.3 + seed / 10, p_mmc=0.6, grounded=0.3),
            _result("awm", seed, s_mem=0.8 + seed / 10, s_mem_unseen=0.7, p_mmc=0.2, grounded=0.8, s_ans=0.4),
            _result("placebo", seed, s_mem=0.4 + seed / 10),
        )
    ]
    summary = summarise(results, reading=0.9, start_cpu_seconds=120.0)
    assert [promise.holds for promise in summary.promises] == [True, True, False, False, True, True]
    gain = summary.promises[0].measured
    assert gain.mean == pytest.approx(0.5)
    assert gain.high - gain.low == pytest.approx(0.0, abs=1e-9)  # paired: what a seed shifts alike cancels
    spread = summary.rates["awm"]["s_mem"]
    assert spread.high - spread.low == pytest.approx(2 * 4.3027 * 0.1 / 3**0.5, rel=1e-3)
    assert summary.cpu_minutes == pytest.approx(11.0)
    assert summary.calls == {
        "answer-only": {"answer_scoring": 1.0},
        "awm": {"answer_scoring": 1.0, "memory_scoring": 1.0, "reading": 1.0},
        "placebo": {"answer_scoring": 1.0, "memory_scoring": 1.0, "reading": 1.0},
    }
    assert sum("FALLS SHORT" in line for line in lines_of(summary)) == 2


def test_an_untrained_model_is_measured_by_the_ordinary_bench(tmp_path: Path) -> None:
    write_world(tmp_path, "held_out", 1, seed=5)
    found = measure(make_model(tmp_path / "model", 0), tmp_path, "held_out", tmp_path / "run", seed=0, step=0)
    assert found.n == 4
    assert found.s_ans == found.s_mem == 0
    assert found.invalid == 1


def test_demonstrations_are_trajectories_of_the_environment(tmp_path: Path) -> None:
    from looseleaf.runstore import Ledger
    from looseleaf.trajectory import StopReason, Trajectory

    asked = write_world(tmp_path, "sft", 3, seed=5)
    path = make_demonstrations(tmp_path / "demonstrations.jsonl", tmp_path, asked, seed=0)
    made = list(Ledger(path, Trajectory).read())
    assert len(made) == 12
    assert all(found.stop_reason is StopReason.ANSWERED and not found.invalid_turns for found in made)
    assert 0 < sum(" has " in found.memory[0].text for found in made) < 12


@pytest.mark.slow
def test_the_demonstration_runs_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from looseleaf.training.demo import run

    monkeypatch.setattr(run, "READING_STEPS", 4)
    monkeypatch.setattr(run, "SFT_STEPS", 2)
    for name in ("SFT_DOCUMENTS", "TRAIN_DOCUMENTS", "HELD_OUT_DOCUMENTS"):
        monkeypatch.setattr(run, name, 8)
    said: list[str] = []
    summary = run_demo(tmp_path, 1, steps=1, say=said.append)
    assert len(summary.promises) == 6
    assert (tmp_path / "summary.json").exists()
    again = run_demo(tmp_path, 1, steps=1, say=said.append)
    assert again == summary
    assert "3 of 3 arms are finished; 2 run side by side" in said
