"""The drift ledger: what a changed judge or extractor looks like, and that an unchanged one is left alone."""

from __future__ import annotations

import importlib
import importlib.util
import json
import random
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from conftest import Cli, OwnSet
from drift_trials import FIVE_PERCENT, JUDGE_SCORER, TRIALS, flagged, verdict
from looseleaf.document.cache_folder import KINDS, CacheFolder
from looseleaf.errors import ConfigError
from looseleaf.lab.compare import compare_runs
from looseleaf.lab.drift import Drift, drift_of, drift_warning
from looseleaf.models.role_spec import RoleSpec
from looseleaf.report import build_report
from looseleaf.report.markdown import as_markdown
from looseleaf.runner.config import DataConfig, RunConfig, ScoreConfig
from looseleaf.runner.drift import OUTAGE
from looseleaf.runner.execute import execute
from looseleaf.runner.score import score_run
from looseleaf.runstore import Ledger, Run
from looseleaf.scoring import SCORERS, JudgeScorer, RuleExtractor, Scorer
from looseleaf.scoring.drift import (
    DriftItem,
    DriftRow,
    PairedChange,
    PinnedReply,
    drift_items,
    item_value,
    items_sha256,
    paired_change,
)
from looseleaf.scoring.extraction import render
from stub_server import Request, Response, StubServer

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "make_drift_items.py"
SHA256 = "d75f07929ee039c9c0b89bac0185ca012bbc75158c7cbad8ff3d220138d97eae"
N = 300
EXTRACTOR_LABELS = {"Int": "Integer", "Str": "String"}

# -- the items -----------------------------------------------------------------------------------------------------


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_drift_items", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_shipped_items_are_the_ones_that_our_own_code_makes() -> None:
    shipped = Path(importlib.import_module("looseleaf.scoring.drift").__path__[0]) / "items.jsonl"
    assert script().text() == shipped.read_text(encoding="utf-8")


def test_the_items_never_change() -> None:
    """Replies that somebody has pinned would be worth nothing."""
    assert items_sha256() == SHA256


def test_three_hundred_questions_half_of_them_answered_rightly_in_every_format() -> None:
    items = drift_items()
    assert [item.item_id for item in items] == [f"{number:03}" for number in range(N)]
    assert len({item.question for item in items}) == N
    assert sum(item.right for item in items) == N // 2
    counts = {
        label: sum(item.answer_format == label for item in items)
        for label in ("Int", "Float", "Str", "List", "None")
    }
    assert counts == {"Int": 75, "Float": 45, "Str": 90, "List": 45, "None": 45}


RULES = [name for name, scorer in SCORERS.items() if isinstance(scorer, Scorer)]


@pytest.mark.parametrize("name", RULES)
def test_every_rule_gives_the_gold_answer_full_marks(name: str) -> None:
    values = [item_value(SCORERS[name], item, gold_reply(item)) for item in drift_items()]
    assert values == [1.0] * N


def gold_reply(item: DriftItem) -> str:
    answer = repr(item.gold) if isinstance(item.gold, list) else str(item.gold)
    return render(answer, EXTRACTOR_LABELS.get(item.answer_format, item.answer_format))


def test_a_reply_without_an_answer_or_verdict_has_no_value() -> None:
    item = drift_items()[0]
    assert item_value(SCORERS["mmlongbench"], item, "No idea.") is None
    assert item_value(JUDGE_SCORER, item, "It is right.") is None
    assert item_value(JUDGE_SCORER, item, None) is None


# -- the test and its interval -------------------------------------------------------------------------------------


def moved(up: int, down: int, n: int = N) -> PairedChange:
    """Values 0 and 1 of which so many rise and fall."""
    still = n - up - down
    return paired_change([0.0] * up + [1.0] * (down + still), [1.0] * up + [0.0] * down + [1.0] * still)


@pytest.mark.parametrize("changes", [(0, 1), (0, 5), (0, 6), (3, 9), (7, 7), (40, 11), (0, 15), (300, 0)])
def test_for_right_and_wrong_it_is_mcnemars_exact_test(changes: tuple[int, int]) -> None:
    up, down = changes
    found = moved(up, down)
    expected = stats.binomtest(up, up + down)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.mean == pytest.approx((up - down) / N)
    rises = expected.proportion_ci(method="exact")
    share = stats.binomtest(up + down, N).proportion_ci(method="exact")
    low, high = 2 * rises.low - 1, 2 * rises.high - 1
    assert found.low == pytest.approx(low * (share.high if low < 0 else share.low), abs=1e-9)
    assert found.high == pytest.approx(high * (share.high if high > 0 else share.low), abs=1e-9)


def test_numbers_by_hand() -> None:
    """Six falls in 300: p = 2 · ½⁶ = .03125; five are one too few."""
    six, five = moved(0, 6), moved(0, 5)
    assert (six.p_value, six.excludes_zero) == (pytest.approx(0.03125), True)
    assert (five.p_value, five.excludes_zero) == (pytest.approx(0.0625), False)
    assert six.mean == pytest.approx(-0.02)
    assert (six.items, six.n, six.up, six.down) == (300, 300, 0, 6)


def test_no_change_is_not_certain_for_other_items() -> None:
    found = moved(0, 0)
    assert (found.mean, found.p_value, found.excludes_zero) == (0.0, 1.0, False)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / N))
    assert found.low == pytest.approx(-(1 - 0.025 ** (1 / N)))


def test_items_without_a_value_at_either_time_are_left_out_of_both() -> None:
    found = paired_change([1.0, None, 0.0, 1.0], [1.0, 1.0, None, 0.0])
    assert (found.items, found.n, found.up, found.down, found.mean) == (4, 2, 0, 1, -0.5)
    nothing = paired_change([None], [1.0])
    assert (nothing.n, nothing.mean, nothing.low, nothing.excludes_zero) == (0, None, None, False)


def test_graded_changes_by_hand() -> None:
    """−.5, −.5, +.25: of the eight sign patterns four have a sum at least as far out on the low side or the other."""
    found = paired_change([1.0, 1.0, 0.5], [0.5, 0.5, 0.75])
    assert found.mean == pytest.approx(-0.25)
    # sums of (±2, ±2, ±1): 5, 3, 1, 1, −1, −1, −3, −5; observed −3: two of eight at or below it, so p = 2 · 2/8
    assert found.p_value == pytest.approx(0.5)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=40))
def test_the_interval_holds_the_mean_and_leaves_zero_out_exactly_where_the_test_does(
    pairs: list[tuple[int, int]],
) -> None:
    found = paired_change([a / 20 for a, _ in pairs], [b / 20 for _, b in pairs])
    assert found.low is not None
    assert found.high is not None
    assert found.mean is not None
    assert found.low - 1e-9 <= found.mean <= found.high + 1e-9
    assert found.excludes_zero == (found.p_value < 0.05)


@pytest.mark.parametrize(("up", "down"), [(0.0, 0.05), (0.02, 0.03), (0.1, 0.1), (0.001, 0.002)])
def test_the_interval_covers(up: float, down: float) -> None:
    """Exact in both of its parts, so it covers at least as often as it says."""
    chance = random.Random(5)
    hits = 0
    for _ in range(TRIALS):
        drawn = [chance.random() for _ in range(N)]
        found = moved(sum(x < up for x in drawn), sum(up <= x < up + down for x in drawn))
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= up - down <= found.high
    assert hits / TRIALS >= 0.95


# -- how much it catches -------------------------------------------------------------------------------------------


def test_five_percent_one_way_flips_are_caught_in_every_trial() -> None:
    assert flagged("15 of 300 verdicts, one way") == TRIALS


def test_flips_that_come_at_random_are_caught_in_99_of_100_trials() -> None:
    """5 % of all verdicts on average."""
    assert flagged("every verdict of one kind with 10 %") >= 0.99 * TRIALS


def test_an_unchanged_judge_is_never_flagged() -> None:
    assert flagged("nothing, deterministic judge") == 0


@pytest.mark.parametrize("noise", ["1%", "2%", "5%"])
def test_a_noisy_but_unchanged_judge_is_flagged_in_fewer_than_5_of_100_trials(noise: str) -> None:
    """Every verdict flips with this chance, each time anew; the exact test keeps its level."""
    assert flagged(f"nothing, noise of {noise}") <= 0.05 * TRIALS


# -- replays through a run's own judge and extractor ---------------------------------------------------------------

JUDGE = """
import json
from looseleaf.roles import Judgement

asked = []
flip = set()
fail_from = None

class Judge:
    def judge(self, prompt):
        case = json.loads(prompt[prompt.index("\\n{\\n"):])
        if fail_from is not None and len(asked) >= fail_from:
            raise ConnectionError("the judge is away")
        asked.append(case["question"])
        right = str(case["reference"]).casefold() in case["answer"].casefold()
        return Judgement(text=json.dumps({"binary_correctness": int(right != (case["question"] in flip))}))

def make():
    return Judge()
"""

AGENT = """
from looseleaf import Action

class Agent:
    def act(self, view):
        if not view.shown_pages:
            return Action.search(view.question)
        page = view.shown_pages[0]
        if not view.memory.findings:
            return Action.note(view.page_text(page), page)
        return Action.answer(view.page_text(page).split(" has ")[-1].split()[0])

def make():
    return Agent()
"""

MakeModule = Callable[[str], str]


class World:
    """A judge that a test can change, runs to be scored by it, and days that pass."""

    def __init__(
        self, own_set: OwnSet, make_module: MakeModule, tmp_path: Path, patch: pytest.MonkeyPatch
    ) -> None:
        self.judge_name = make_module(JUDGE)
        self.agent_name = make_module(AGENT)
        self.judge = importlib.import_module(self.judge_name)
        self.reference = tmp_path / "reference.jsonl"
        self._own_set = own_set
        self._folder = tmp_path
        self._patch = patch

    def run(self, name: str = "run") -> Run:
        data = DataConfig(benchmark=str(self._own_set.questions), path=str(self._own_set.docs))
        policy = RoleSpec(backend="python", argument=f"{self.agent_name}:make")
        return execute(RunConfig(data=data, policy=policy), self._folder / name).run

    @property
    def config(self) -> ScoreConfig:
        return ScoreConfig(
            scorer="judge.binary",
            judge=RoleSpec(backend="python", argument=f"{self.judge_name}:make"),
            readers=(),
            drift=True,
            drift_reference=str(self.reference),
        )

    def scored(self, name: str) -> Run:
        run = self.run(name)
        score_run(run, self.config)
        return run

    def next_day(self) -> None:
        """Replays that were made so far are no longer fresh."""
        self._patch.setattr("looseleaf.runner.drift_reference.FRESH", timedelta(0))

    def pinned(self) -> list[PinnedReply]:
        return list(Ledger(self.reference, PinnedReply).read())


@pytest.fixture
def world(
    own_set: OwnSet, agent_module: MakeModule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> World:
    return World(own_set, agent_module, tmp_path, monkeypatch)


def drift(run: Run) -> Drift:
    found = drift_of(run, run.manifest["score"]["score_id"])
    assert found is not None
    return found


def test_the_first_replay_pins_what_the_judge_says(world: World) -> None:
    run = world.scored("one")
    assert len(world.judge.asked) == 7 + N
    assert world.judge.asked[:7] == [row["question"] for row in world._own_set.rows], "the rows come first"
    found = drift(run)
    assert found.is_reference
    assert (found.replied, found.same, found.change.mean, found.warning()) == (N, N, 0.0, None)
    [path] = (run.path / "drift").glob("*.jsonl")
    assert path.with_suffix(".json").exists()
    rows = list(Ledger(path, DriftRow).read())
    assert [row.item_id for row in rows] == [item.item_id for item in drift_items()]
    assert [row.text for row in world.pinned()] == [row.pinned for row in rows]
    assert "was pinned by this run" in as_markdown(build_report(run))


def test_runs_of_one_day_share_a_replay(world: World) -> None:
    world.scored("one")
    world.judge.asked.clear()
    other = world.scored("two")
    assert len(world.judge.asked) == 7
    assert drift(other).replied == N


def test_scoring_again_without_anything_to_ask_replays_nothing(world: World) -> None:
    run = world.scored("one")
    world.next_day()
    world.judge.asked.clear()
    before = {path: path.read_bytes() for path in (run.path / "drift").iterdir()}
    score_run(run, world.config)
    assert world.judge.asked == []
    assert {path: path.read_bytes() for path in (run.path / "drift").iterdir()} == before


def test_an_unchanged_judge_raises_no_warning_in_a_comparison(world: World) -> None:
    first = world.scored("one")
    world.next_day()
    second = world.scored("two")
    found = drift(second)
    assert not found.is_reference
    assert (found.change.mean, found.change.n, found.same) == (0.0, N, N)
    assert drift_warning(first) == drift_warning(second) == []
    assert not any("drift" in notice for notice in compare_runs(first, second).notices)


def test_a_judge_that_changed_is_named_in_the_report_and_in_the_comparison(world: World, cli: Cli) -> None:
    first = world.scored("one")
    world.next_day()
    right = [
        item.question
        for item, row in zip(drift_items(), world.pinned(), strict=True)
        if row.text == verdict(1)
    ]
    world.judge.flip.update(random.Random(6).sample(right, FIVE_PERCENT))
    second = world.scored("two")
    found = drift(second)
    assert (found.change.up, found.change.down) == (0, FIVE_PERCENT)
    assert found.change.mean == pytest.approx(-0.05)
    warning = "Scorer drift, so scores of different days may not compare."
    [said] = drift_warning(second)
    assert said.startswith(f"two: {warning}")
    assert "-5.0 points" in said
    assert drift_warning(first) == []
    assert said in compare_runs(first, second).notices
    report = build_report(second)
    assert report.notices[0].startswith(warning)
    outcome = cli("compare", first.path, second.path)
    assert outcome.code == 0, outcome.err
    assert "Scorer drift" in outcome.out
    assert "Scorer drift" not in cli("compare", first.path, first.path).out


def test_a_change_of_our_own_rules_is_no_drift(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are made of the stored replies when they are looked at, the pinned ones too."""
    world.scored("one")
    world.next_day()
    run = world.scored("two")
    old = SCORERS["judge.binary"]
    assert isinstance(old, JudgeScorer)
    monkeypatch.setattr(
        "looseleaf.lab.drift.get_scorer",
        lambda name: JudgeScorer(
            name="judge.binary",
            title="",
            prompt=old.prompt,
            parse=lambda reply: old.parse(reply.replace("0", "1")),
            upstream=old.upstream,
        ),
    )
    assert drift(run).change.mean == 0.0


def test_an_outage_ends_the_replay_and_the_same_command_finishes_it(world: World, cli: Cli) -> None:
    run = world.run()
    command = (
        *("score", run.path, "--scorer", "judge.binary", "--judge", f"python:{world.judge_name}:make"),
        *("--reader", "constant:7", "--drift", "--drift-reference", world.reference),
    )
    world.judge.fail_from = 14 + 100
    outcome = cli(*command)
    assert outcome.code == 1
    assert "200 drift items got no reply; the same command asks again" in outcome.err
    failed = [row for row in world.pinned() if row.text is None]
    assert len(failed) == 200
    assert sum("the judge is away" in (row.error or "") for row in failed) < OUTAGE + 16
    assert drift(run).change.n == 100
    world.judge.fail_from = None
    world.judge.asked.clear()
    outcome = cli(*command)
    assert outcome.code == 0, outcome.err
    assert len(world.judge.asked) == 200
    assert (drift(run).replied, drift(run).change.n) == (N, N)


def test_the_extractor_is_replayed_once_for_all_rules_that_read_it(world: World) -> None:
    run = world.run()
    config = ScoreConfig(
        scorer="mmlongbench",
        also=("mmlongbench.safe", "longdocurl"),
        readers=(),
        drift=True,
        drift_reference=str(world.reference),
    )
    scored = score_run(run, config)
    assert len(world.pinned()) == N
    found = [drift_of(run, score_id) for score_id in (scored.score_id, *scored.also)]
    assert [each.scorer for each in found if each] == ["mmlongbench", "mmlongbench.safe", "longdocurl"]
    extractor = RuleExtractor()
    item = drift_items()[3]
    assert world.pinned()[3].text == extractor.extract(item.question, item.response).text


def test_a_reference_of_one_judge_is_not_held_against_another(world: World, agent_module: MakeModule) -> None:
    world.scored("one")
    world.next_day()
    other = world.run("two")
    name = agent_module(JUDGE)
    spec = RoleSpec(backend="python", argument=f"{name}:make")
    score_run(other, msgspec.structs.replace(world.config, judge=spec))
    assert drift(other).is_reference
    assert len({row.reference for row in world.pinned()}) == 2


def test_without_drift_nothing_is_replayed(world: World, cli: Cli) -> None:
    run = world.run()
    assert cli("score", run.path, "--reader", "constant:7").code == 0
    assert not (run.path / "drift").exists()
    assert drift_of(run, run.manifest["score"]["score_id"]) is None
    assert drift_warning(run) == []
    judged = cli(
        *("score", run.path, "--reader", "constant:7", "--scorer", "judge.binary"),
        *("--judge", f"python:{world.judge_name}:make"),
    )
    assert judged.code == 0, judged.err
    assert not (run.path / "drift").exists(), "the user's own code only on request"


def test_mistakes_are_found_before_anything_is_asked(world: World, cli: Cli, tmp_path: Path) -> None:
    run = world.run()
    with pytest.raises(ConfigError, match="no extractor or judge to replay"):
        score_run(run, ScoreConfig(extractor=RoleSpec(backend="none"), readers=(), drift=True))
    blocked = tmp_path / "blocked"
    blocked.write_text("", encoding="utf-8")
    outcome = cli("score", run.path, "--drift", "--drift-reference", blocked / "reference.jsonl")
    assert outcome.code == 2
    assert "name another file with --drift-reference, or use --no-drift" in " ".join(outcome.err.split())
    assert not (run.path / "scores").exists()


def test_pinned_replies_outlive_an_emptied_cache(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path / "cache"))
    score_run(world.run(), msgspec.structs.replace(world.config, drift_reference=""))
    [path] = (tmp_path / "cache" / "drift").iterdir()
    before = path.read_bytes()
    CacheFolder(tmp_path / "cache").clear(KINDS)
    assert path.read_bytes() == before


# -- chat models ---------------------------------------------------------------------------------------------------


class Hosted:
    """An extractor on a server whose model changes under its name."""

    def __init__(self) -> None:
        self.snapshot = "extractor-2026-01-15"
        self.worse = 0

    def __call__(self, request: Request) -> Response:
        [message] = request.json["messages"]
        text = message["content"] if isinstance(message["content"], str) else message["content"][0]["text"]
        case = json.loads(text[text.rindex("\n{\n") :])
        known = {item.question: item for item in drift_items()}
        item = known.get(case["question"])
        worse = item is not None and int(item.item_id) < self.worse
        reply = (
            "Extracted answer: nothing\nAnswer format: String" if worse or item is None else gold_reply(item)
        )
        body: dict[str, Any] = {
            "model": self.snapshot,
            "system_fingerprint": "fp_1",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": reply}}
            ],
        }
        return Response(200, json.dumps(body).encode())


def test_a_hosted_extractor_is_asked_anew_and_its_snapshots_are_recorded(
    world: World, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path / "cache"))
    hosted = Hosted()
    first, second = world.run("one"), world.run("two")
    with StubServer(hosted) as stub:
        roles = ("--extractor", "openai:extractor", "--base-url", stub.base_url, "--reader", "constant:7")
        assert cli("score", first.path, *roles, "--scorer", "mmlongbench").code == 0
        asked = len(stub.log.chats)
        assert asked == N + 14, "on by default for a model on a server: 7 answers, 7 readings, 300 items"
        world.next_day()
        hosted.snapshot, hosted.worse = "extractor-2026-06-01", FIVE_PERCENT
        assert cli("score", second.path, *roles, "--scorer", "mmlongbench").code == 0
        assert len(stub.log.chats) == asked + N, "rows come from the cache, items never do"
        assert cli("score", second.path, *roles, "--scorer", "mmlongbench", "--no-drift").code == 0
    found = drift(second)
    assert found.models == ("extractor-2026-06-01 fp_1",)
    assert found.pinned_models == ("extractor-2026-01-15 fp_1",)
    assert (found.change.down, found.change.mean) == (FIVE_PERCENT, pytest.approx(-0.05))
    [warning] = drift_warning(second)
    assert "extractor-2026-06-01 fp_1" in warning
    assert "extractor-2026-01-15 fp_1" in warning
    assert "exact p = 6.1e-05" in warning
