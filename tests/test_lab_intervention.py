"""The controlled intervention: the published tables from the published counts, and swapped memories in a run."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from conftest import OwnSet
from fakes import pdf_bytes
from lab_runs import LAST_VALUE, NO_EXTRACTOR, Case, config_for, examined, write_run
from looseleaf.errors import ConfigError
from looseleaf.lab.intervention import Intervention, Outcome, intervene, intervention
from looseleaf.lab.variants import VariantKind
from looseleaf.models.role_spec import RoleSpec
from looseleaf.runner.config import DataConfig, RunConfig, ScoreConfig
from looseleaf.runner.execute import execute
from looseleaf.runner.lab import LabConfig
from looseleaf.statistics import Interval

MakeModule = Callable[[str], str]

# AWM, arXiv 2608.25618, Table 9: rows of each original cell (s_ans, s_mem), and how many the improved memory answers.
CELLS = {"11": (104, 88), "10": (77, 48), "01": (47, 29), "00": (272, 59)}
FINAL = {"empty": 14, "own": 181, "improved": 222}
"""Final answers that are correct, of 500 (Table 8)."""
EMPTY_MEMORY = 13
"""Memory-only correct under the empty memory: 2.6 % of 500; the count is inferred."""


def published() -> Intervention:
    stored, own, improved = [], [], []
    for cell, (rows, better) in CELLS.items():
        stored += [cell[0] == "1"] * rows
        own += [cell[1] == "1"] * rows
        improved += [index < better for index in range(rows)]
    memories = {"empty": first(EMPTY_MEMORY), "own": own, "improved": improved}
    outcomes = {
        name: [Outcome(f, m) for f, m in zip(first(FINAL[name]), memories[name], strict=True)]
        for name in memories
    }
    return intervene(outcomes, stored, [str(i) for i in range(500)], answerer="published")


def first(count: int) -> list[bool]:
    return [index < count for index in range(500)]


def percent(interval: Interval) -> tuple[str, str]:
    return f"{100 * interval.low:.1f}", f"{100 * interval.high:.1f}"


def test_table_8_to_the_printed_digit() -> None:
    found = published()
    printed = {
        name: (f"{100 * rate.hits / rate.n:.1f}", *percent(rate.independent))
        for name, rate in found.final.items()
    }
    assert printed == {
        "empty": ("2.8", "1.7", "4.6"),
        "own": ("36.2", "32.1", "40.5"),
        "improved": ("44.4", "40.1", "48.8"),
    }
    assert "assumes independent questions" in found.final["own"].independent.method


def test_table_3_to_the_printed_digit() -> None:
    found = published()
    printed = {name: f"{100 * rate.hits / rate.n:.1f}" for name, rate in found.memory.items()}
    assert printed == {"empty": "2.6", "own": "30.2", "improved": "44.8"}


def test_table_9_to_the_row() -> None:
    found = {t.cell: (t.n, t.before, t.after) for t in published().transitions["improved"]}
    assert found == {
        "11": (104, 104, 88),
        "10": (77, 0, 48),
        "01": (47, 47, 29),
        "00": (272, 0, 59),
        "total": (500, 151, 224),
    }


def test_rows_that_are_not_scored_under_every_memory_are_left_out_and_counted() -> None:
    outcomes = {
        "own": [Outcome(None, True), Outcome(None, None), Outcome(None, False)],
        "improved": [Outcome(None, True), Outcome(None, True), Outcome(None, True)],
    }
    found = intervene(outcomes, [True, True, None], ["a", "b", "c"])
    assert (found.n_rows, found.n) == (3, 1)
    assert found.final == {}
    assert found.same_final is None


# -- in a run -----------------------------------------------------------------------------------------------------


def test_memory_only_answers_follow_the_memory(tmp_path: Path, agent_module: MakeModule) -> None:
    """Two rows right from memory, one whose memory lacks it, and one unanswerable that is not asked."""
    cases = [
        Case("7 m", "7 m", [(2, "The oak is 7 m.")]),
        Case("8 m", "8 m", [(2, "The ash is 8 m.")]),
        Case("9 m", "9 m", [(2, "A page about trees.")]),
        Case("Not answerable", "Not answerable", fields={"unanswerable": True}),
    ]
    name = agent_module(LAST_VALUE)
    reader = RoleSpec(backend="python", argument=f"{name}:make")
    config = config_for(name, answerer="memory-only", answer_model=reader)
    scored, outcome = examined(write_run(tmp_path / "run", cases), config)
    found = intervention(scored, outcome.reading_ids[0], ">0", outcome.answer_id, outcome.answerer)
    assert found is not None
    assert {name: (rate.hits, rate.n) for name, rate in found.final.items()} == {
        "empty": (0, 3),
        "own": (2, 3),
    }
    assert {name: rate.hits for name, rate in found.memory.items()} == {"empty": 0, "own": 2}
    assert found.same_final == 2
    assert "memory-only" in found.answerer


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"answerer": "memory-only"}, "cannot answer from a memory alone"),
        (
            {
                "answerer": "replay",
                "answer_model": RoleSpec(backend="python", argument="nobody:here"),
            },
            "needs the documents of the run",
        ),
        ({"kinds": (VariantKind.IMPROVED,)}, "add --writer"),
        ({"kinds": (VariantKind.GOLD_TEXT,)}, "needs the documents of the run"),
        ({"writer": RoleSpec(backend="embedded")}, "needs the documents of the run"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_starts(
    tmp_path: Path, agent_module: MakeModule, config: dict[str, object], message: str
) -> None:
    run = write_run(tmp_path / "run", [Case("7 m", "7 m", [(2, "The oak is 7 m.")])])
    with pytest.raises(ConfigError, match=message):
        examined(run, config_for(agent_module(LAST_VALUE), **config))
    assert not (run.path / "readings").exists()


MEMORY_POLICY = """
from looseleaf.roles import Action

views = []

class FromMemory:
    '''Looks once, notes the page's sentence, and answers with the number of its memory.'''
    def act(self, view):
        views.append((view.turns_left, [t.action.name for t, _ in view.history], view.protocol.memory))
        if not view.history:
            return Action.search(view.question)
        if len(view.memory) == 0 and view.turns_left > 1:
            page = view.shown_pages[0]
            return Action.note(view.page_text(page).strip(), page)
        words = " ".join(f.text for f in view.memory).split()
        numbers = [w.strip(".") for w in words if w.strip(".").isdigit()]
        return Action.answer(numbers[-1] if numbers else "Not answerable")

def make():
    return FromMemory()
"""


def test_replay_asks_the_policy_again_with_its_looks_and_another_memory(
    own_set: OwnSet, tmp_path: Path, agent_module: MakeModule
) -> None:
    name = agent_module(MEMORY_POLICY)
    policy = RoleSpec(backend="python", argument=f"{name}:make")
    data = DataConfig(benchmark=str(own_set.questions), path=str(own_set.docs))
    run = execute(RunConfig(data=data, policy=policy), tmp_path / "run").run
    config = LabConfig(
        score=ScoreConfig(extractor=NO_EXTRACTOR),
        grounding=RoleSpec(backend="none"),
        answerer="replay",
        answer_model=policy,
        writer=RoleSpec(backend="embedded"),
    )
    module = importlib.import_module(name)
    module.views.clear()
    scored, outcome = examined(run, config)
    found = intervention(scored, outcome.reading_ids[0], ">0", outcome.answer_id, "replay")
    assert found is not None
    improved = next(memory for memory in found.memory if memory.startswith("improved:"))
    assert found.final["empty"].hits == 0
    assert found.final["own"].hits == found.same_final == 6
    assert found.final[improved].hits == found.memory[improved].hits == 6
    looks = {tuple(actions) for _, actions, _ in module.views}
    assert looks == {("search",), ("search", "note")}, "the empty memory has no note, the others one"
    assert {(left, memory) for left, _, memory in module.views} == {(1, "optional")}


def test_improved_memories_cite_gold_pages_and_are_stored(own_set: OwnSet, tmp_path: Path) -> None:
    """AWM audits the same: every improved memory cites a page in the gold set."""
    data = DataConfig(benchmark=str(own_set.questions), path=str(own_set.docs))
    run = execute(
        RunConfig(data=data, policy=RoleSpec(backend="embedded", argument="generic")), tmp_path / "run"
    ).run
    config = LabConfig(score=ScoreConfig(extractor=NO_EXTRACTOR), writer=RoleSpec(backend="embedded"))
    scored, outcome = examined(run, config)
    path = next((run.path / "memories").glob("*.jsonl"))
    rows = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    gold = {question.question_id: question.evidence_pages for question in run.questions()}
    assert len(rows) == 6
    for row in rows:
        assert {finding["source_page"] for finding in row["memory"]} <= set(gold[row["question_id"]] or ())
    reader = outcome.reading_ids[0]
    name = next(variant for variant in scored.variants(reader) if variant.startswith("improved:"))
    right = [scored.memory_score(item, reader, name) for item in scored.items[:6]]
    assert [score.value if score else None for score in right] == [1.0] * 6
    gold_text = [scored.memory_score(item, reader, "gold-text") for item in scored.items]
    assert [score.value if score else None for score in gold_text] == [1.0] * 6 + [None]


def test_other_documents_than_those_that_were_read_are_refused(own_set: OwnSet, tmp_path: Path) -> None:
    data = DataConfig(benchmark=str(own_set.questions), path=str(own_set.docs))
    run = execute(RunConfig(data=data), tmp_path / "run").run
    other: Sequence[str] = ["Another document.", "It has other pages.", "Three.", "Four."]
    (own_set.docs / "report_0.pdf").write_bytes(pdf_bytes(*other))
    _, outcome = examined(run, LabConfig(score=ScoreConfig(extractor=NO_EXTRACTOR)))
    assert "report_0.pdf is not the document that the run read." in outcome.notices
    assert outcome.unscored > 0
