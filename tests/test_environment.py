"""What the environment does, in numbered rules; each rule has a test that fails without it.

The budget
 1. `max_turns` counts generations of the policy; every turn costs one, valid, refused or malformed.
 2. The budget ends without an answer: stop reason `turn_limit`, no answer, and the memory is kept.
 3. An answer on the last turn is an answer.
 4. A trajectory that has ended takes no further turn. In the last turn pages are not looked up: nobody would see them.

Pages
 5. `search` returns `returned_k` pages and shows the first `shown_k`; only shown pages can be looked at.
 6. `fetch` shows one page by its physical 1-based number; a page that does not exist is refused.
 7. A search that finds nothing shows nothing, demands no note, and says why.
 8. Pages that were not shown raise `LookupError` for text, label and image.
 9. Page images come under the protocol's pixel cap.
10. The image cap counts repeats; the turn that would pass it ends the trajectory with `image_cap` and shows nothing.
11. A window hides the pages outside it from search and fetch, and is named as an oracle setting.

Memory
12. `mandatory`: after pages are shown, anything but a note is refused, does nothing and costs its turn.
13. A finding has at most 40 words and cites a shown page; `reject` refuses others and the memory is unchanged.
14. `record` keeps such findings and flags them.
15. The memory only grows; what a policy holds is a copy.
16. `none`: there is no note. `inside`: notes ride in the turn of another action and cost no turn.

The named protocols
17. `awm`: 15 turns, 3 returned = 3 shown, mandatory memory, malformed turns cost their turn.
18. `alden`: 6 turns, 5 returned, 3 shown, 15 images, 862,400 pixels, no memory, a malformed turn ends.
19. `direct`: all pages at once, one turn, only `answer`. `rag`: the top 3 pages for the question, likewise.
20. `ep-given`: any query gives all gold pages that exist; the oracle is named.

Misuse
21. Wrong arguments are an observation, never an exception, whatever they hold; and the record can be stored.
22. A document that fails ends the trajectory with `document_error`.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes import FakeDocument, FakeRetriever, make_question
from looseleaf import Action, Environment, Finding, PolicyTurn, Protocol, StopReason, Trajectory
from looseleaf.errors import ConfigError, DocumentError
from looseleaf.protocol import PROTOCOLS, named_protocol
from looseleaf.retrieval import GoldPagesRetriever, RetrieverFamily
from looseleaf.roles import NoteWriting, Usage

TEXTS = [f"Text of page {page}, which is long enough to count." for page in range(1, 11)]
AWM, ALDEN = PROTOCOLS["awm"], PROTOCOLS["alden"]


def environment(
    protocol: Protocol = AWM, pages: tuple[int, ...] = (4, 2, 7, 9, 1, 3), **more: Any
) -> Environment:
    document = more.pop("document", None) or FakeDocument(TEXTS)
    retriever = more.pop("retriever", None) or FakeRetriever(pages)
    return Environment(more.pop("question", make_question()), document, retriever, protocol, **more)


SEARCH = Action.search("rates")
NOTE = Action.note("The rate is 4.7 %.", 4)


# -- 1–4: the budget -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "turn",
    [
        Action.fetch(1),
        Action.fetch(99),
        Action("dance", {}),
        PolicyTurn(action=None, problem="No action was found."),
        Action.note("About nothing.", 8),
    ],
    ids=["valid", "refused", "no such action", "malformed", "bad note"],
)
def test_1_every_turn_costs_one(turn: PolicyTurn | Action) -> None:
    env = environment()
    assert env.turns_left == 15
    env.step(turn)
    assert env.turns_left == 14
    env.step(Action.answer("7"))
    assert env.turns_left == 13


def test_2_a_spent_budget_ends_without_an_answer_and_keeps_the_memory() -> None:
    env = environment(named_protocol("awm", max_turns=3))
    env.step(SEARCH)
    env.step(NOTE)
    assert not env.done
    env.step(Action.fetch(5))
    assert env.stop_reason is StopReason.TURN_LIMIT
    record = env.trajectory()
    assert (record.answer, record.turns) == (None, 3)
    assert record.memory == (Finding("The rate is 4.7 %.", 4),)


def test_3_an_answer_on_the_last_turn_counts() -> None:
    env = environment(named_protocol("awm", max_turns=1))
    env.step(Action.answer(" 42 "))
    assert (env.stop_reason, env.answer, env.turns_left) == (StopReason.ANSWERED, "42", 0)


def test_4_an_ended_trajectory_takes_no_turn() -> None:
    env = environment()
    with pytest.raises(RuntimeError, match="has not ended"):
        env.trajectory()
    env.step(Action.answer("7"))
    with pytest.raises(RuntimeError, match="already ended"):
        env.step(SEARCH)
    env.stop(StopReason.CANCELLED)
    assert env.stop_reason is StopReason.ANSWERED


@pytest.mark.parametrize("look", [SEARCH, Action.fetch(4)], ids=["search", "fetch"])
def test_4_in_the_last_turn_no_page_is_shown(look: Action) -> None:
    """Navigation metrics count pages shown to the policy, and it gets no turn to see these."""
    retriever = FakeRetriever((4, 2, 7))
    env = environment(named_protocol("awm", max_turns=1), retriever=retriever)
    seen = env.step(look)
    assert (seen.shown, seen.returned, retriever.asked) == ((), (), [])
    record = env.trajectory()
    assert (record.stop_reason, record.shown_pages) == (StopReason.TURN_LIMIT, ())
    assert record.steps[0].invalid


def test_reset_starts_over() -> None:
    env = environment()
    env.step(SEARCH)
    env.step(NOTE)
    env.step(Action.answer("7"))
    assert env.reset() is None
    assert (env.done, env.answer, env.turns_left, len(env.memory)) == (False, None, 15, 0)
    assert (env.history, env.shown_pages) == ((), ())
    env.step(SEARCH)
    env.step(NOTE)
    env.step(Action.answer("7"))
    assert env.trajectory().turns == 3


# -- 5–11: pages -----------------------------------------------------------------------------------------------


def test_5_returned_is_not_shown() -> None:
    env = environment(ALDEN)
    seen = env.step(SEARCH)
    assert [page.page for page in seen.returned] == [4, 2, 7, 9, 1]
    assert [page.score for page in seen.returned] == [1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5]
    assert seen.shown == (4, 2, 7)
    assert env.shown_pages == (4, 2, 7)
    with pytest.raises(LookupError):
        env.page_text(9)
    env.step(Action.answer("7"))
    record = env.trajectory()
    assert record.shown_pages == (4, 2, 7)
    assert record.returned_pages == (4, 2, 7, 9, 1)


def test_5_shown_pages_are_unique_in_order_of_first_showing() -> None:
    env = environment(named_protocol("awm", memory="none"))
    env.step(SEARCH)
    env.step(Action.fetch(9))
    env.step(SEARCH)
    env.step(Action.answer("7"))
    assert env.shown_pages == env.trajectory().shown_pages == (4, 2, 7, 9)


@pytest.mark.parametrize("page", [1, 10, "3", " 3 "])
def test_6_fetch_shows_the_physical_page(page: int | str) -> None:
    env = environment()
    seen = env.step(Action("fetch", {"page": page}))
    assert seen.shown == (int(page),)
    assert seen.returned == ()
    assert env.page_text(int(page)) == TEXTS[int(page) - 1]
    assert env.page_label(int(page)) == f"p-{int(page)}"


@pytest.mark.parametrize("page", [0, -1, 11, 10**30])
def test_6_a_page_that_does_not_exist_is_refused(page: int) -> None:
    env = environment()
    seen = env.step(Action.fetch(page))
    assert (seen.shown, env.shown_pages) == ((), ())
    assert env.history[-1][1] is seen
    env.step(Action.answer("7"))
    assert env.trajectory().steps[0].invalid


def test_6_the_refusal_says_which_pages_there_are() -> None:
    assert "1 to 10" in environment().step(Action.fetch(11)).text


def test_7_a_search_that_finds_nothing_demands_no_note() -> None:
    env = environment(pages=())
    seen = env.step(SEARCH)
    assert (seen.shown, seen.returned) == ((), ())
    assert "No page matches" in seen.text
    env.step(Action.answer("7"))
    assert env.stop_reason is StopReason.ANSWERED
    assert env.trajectory().invalid_turns == 0


def test_7_a_document_without_text_says_so() -> None:
    seen = environment(pages=(), document=FakeDocument(["", "  "])).step(SEARCH)
    assert "no text" in seen.text


def test_8_unseen_pages_cannot_be_looked_at() -> None:
    env = environment()
    env.step(Action.fetch(4))
    for look in (env.page_text, env.page_label, env.page_image):
        for page in (0, 1, 5, 11):
            with pytest.raises(LookupError, match=f"page {page} was not shown"):
                look(page)


def test_9_images_come_under_the_pixel_cap() -> None:
    document = FakeDocument(TEXTS)
    env = environment(ALDEN, document=document)
    env.step(Action.fetch(3))
    env.page_image(3)
    assert document.images_asked == [(3, 862_400)]


def test_10_the_image_cap_counts_repeats_and_ends_the_trajectory() -> None:
    env = environment(named_protocol("alden", max_turns=20))
    for _ in range(5):
        assert env.step(SEARCH).shown == (4, 2, 7)
    assert not env.done
    seen = env.step(Action.fetch(10))
    assert (seen.shown, env.stop_reason) == ((), StopReason.IMAGE_CAP)
    assert 10 not in env.shown_pages
    assert env.trajectory().answer is None


def test_10_pages_shown_at_the_opening_count_too() -> None:
    rules = msgspec.structs.replace(PROTOCOLS["direct"], image_cap=9)
    env = environment(rules)
    assert env.stop_reason is StopReason.IMAGE_CAP
    assert env.shown_pages == ()


def test_11_a_window_hides_the_pages_outside() -> None:
    env = environment(named_protocol("awm", memory="none"), window=(3, 7))
    seen = env.step(SEARCH)
    assert [page.page for page in seen.returned] == [4, 7, 3]
    assert "3 to 7" in env.step(Action.fetch(8)).text
    assert env.step(Action.fetch(3)).shown == (3,)
    env.step(Action.answer("7"))
    assert env.trajectory().oracle == {"page_window": [3, 7]}


def test_11_a_window_is_cut_to_the_document_and_must_hold_a_page() -> None:
    assert environment(PROTOCOLS["direct"], window=(9, 40)).shown_pages == (9, 10)
    with pytest.raises(DocumentError, match="window"):
        environment(window=(11, 20))


# -- 12–16: memory ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("looked", [SEARCH, Action.fetch(4)], ids=["search", "fetch"])
@pytest.mark.parametrize(
    "hasty", [SEARCH, Action.fetch(5), Action.answer("7")], ids=["search", "fetch", "answer"]
)
def test_12_a_note_comes_first(looked: Action, hasty: Action) -> None:
    retriever = FakeRetriever((4, 2, 7))
    env = environment(retriever=retriever)
    env.step(looked)
    before = (env.shown_pages, list(retriever.asked))
    seen = env.step(hasty)
    assert "note" in seen.text
    assert (seen.shown, seen.returned) == ((), ())
    assert (env.shown_pages, list(retriever.asked)) == before
    assert (env.done, env.answer, env.turns_left) == (False, None, 13)
    env.step(NOTE)
    env.step(hasty)
    assert env.answer == "7" if hasty.name == "answer" else env.turns_left == 11


def test_12_one_note_is_enough_and_more_are_allowed() -> None:
    env = environment()
    env.step(SEARCH)
    env.step(NOTE)
    env.step(Action.note("Another fact.", 2))
    env.step(Action.answer("7"))
    record = env.trajectory()
    assert record.invalid_turns == 0
    assert [finding.source_page for finding in record.memory] == [4, 2]


def test_12_pages_shown_at_the_opening_demand_a_note_too() -> None:
    env = environment(named_protocol("rag", memory="mandatory", max_turns=5))
    assert env.shown_pages == (4, 2, 7)
    assert "note" in env.step(Action.answer("7")).text
    env.step(NOTE)
    env.step(Action.answer("7"))
    assert env.stop_reason is StopReason.ANSWERED


def test_12_optional_memory_demands_nothing() -> None:
    env = environment(named_protocol("awm", memory="optional"))
    env.step(SEARCH)
    env.step(SEARCH)
    env.step(NOTE)
    env.step(Action.answer("7"))
    record = env.trajectory()
    assert (record.invalid_turns, len(record.memory)) == (0, 1)


def words(count: int) -> str:
    return " ".join(["word"] * count)


def test_13_forty_words_are_allowed_and_forty_one_are_not() -> None:
    env = environment()
    env.step(SEARCH)
    seen = env.step(Action.note(words(41), 4))
    assert "41 words" in seen.text
    assert len(env.memory) == 0
    assert "note" in env.step(Action.answer("7")).text, "the refused note does not count as the due one"
    env.step(Action.note(words(40), 4))
    assert [finding.words for finding in env.memory] == [40]


def test_13_a_finding_cites_a_shown_page() -> None:
    rules = named_protocol("alden", memory="optional", note_turn="own")
    env = environment(rules)
    assert rules.validation == "reject"
    env.step(SEARCH)
    assert "page 9 was not shown" in env.step(Action.note("Returned but not shown.", 9)).text
    assert len(env.memory) == 0
    env.step(Action.note("Shown.", 7))
    assert env.memory.findings == (Finding("Shown.", 7),)


def test_13_both_problems_are_said_at_once() -> None:
    seen = environment().step(Action.note(words(50), 3))
    assert "50 words" in seen.text
    assert "page 3 was not shown" in seen.text


def test_14_record_keeps_and_flags() -> None:
    env = environment(named_protocol("awm", validation="record"))
    env.step(SEARCH)
    env.step(Action.note(words(41), 9))
    env.step(Action.note("Fine.", 4))
    assert env.memory.findings == (
        Finding(words(41), 9, ("over_length", "page_not_shown")),
        Finding("Fine.", 4),
    )
    env.step(Action.answer("7"))
    assert env.stop_reason is StopReason.ANSWERED, "a recorded finding is the due note"


def test_15_what_a_policy_holds_is_a_copy() -> None:
    env = environment()
    env.step(SEARCH)
    env.step(NOTE)
    held = env.memory
    held.append(Finding("Slipped in.", 1))
    assert len(env.memory) == 1
    env.step(Action.note("Later.", 2))
    assert held.findings[:1] == env.memory.findings[:1]
    assert [finding.text for finding in env.memory] == ["The rate is 4.7 %.", "Later."]


def test_16_without_memory_a_note_is_no_action() -> None:
    env = environment(named_protocol("alden", malformed="costs-turn"))
    env.step(SEARCH)
    assert "no action 'note'" in env.step(NOTE).text
    riding = PolicyTurn(action=Action.fetch(1), notes=(NoteWriting("Fact.", 4),))
    assert env.step(riding).shown == ()
    env.step(Action.answer("7"))
    assert (env.memory.findings, env.trajectory().invalid_turns) == ((), 2)


def test_16_notes_ride_inside_a_turn() -> None:
    env = environment(named_protocol("alden", memory="mandatory"))
    assert env.protocol.actions == ("search", "fetch", "answer")
    env.step(SEARCH)
    assert "note" in env.step(Action.fetch(1)).text
    seen = env.step(PolicyTurn(action=Action.fetch(1), notes=(NoteWriting("Fact.", 4),)))
    assert seen.shown == (1,)
    env.step(PolicyTurn(action=Action.answer("7"), notes=(NoteWriting("More.", 1),)))
    record = env.trajectory()
    assert record.stop_reason is StopReason.ANSWERED
    assert record.turns == 4
    assert record.memory == (Finding("Fact.", 4), Finding("More.", 1))


def test_16_a_bad_riding_note_is_refused_and_said_beside_the_observation() -> None:
    env = environment(named_protocol("alden", memory="optional"))
    env.step(SEARCH)
    seen = env.step(PolicyTurn(action=Action.fetch(1), notes=(NoteWriting(words(60), 4),)))
    assert "60 words" in seen.text
    assert seen.shown == (1,)
    env.step(Action.answer("7"))
    record = env.trajectory()
    assert record.memory == ()
    assert record.steps[1].invalid


@pytest.mark.parametrize("note", [NoteWriting(None, 4), NoteWriting("x", "four"), NoteWriting("  ", 4)])  # type: ignore[arg-type]
def test_16_a_riding_note_of_wrong_types_is_refused(note: NoteWriting) -> None:
    env = environment(named_protocol("alden", memory="optional"))
    env.step(SEARCH)
    env.step(PolicyTurn(action=Action.fetch(1), notes=(note,)))
    env.step(Action.answer("7"))
    assert env.trajectory().memory == ()


# -- 17–20: the named protocols --------------------------------------------------------------------------------


def test_17_awm() -> None:
    assert (AWM.max_turns, AWM.returned_k, AWM.shown_k, AWM.memory) == (15, 3, 3, "mandatory")
    assert (AWM.note_turn, AWM.validation, AWM.malformed) == ("own", "reject", "costs-turn")
    retriever = FakeRetriever((4, 2, 7, 9))
    env = environment(retriever=retriever)
    seen = env.step(SEARCH)
    assert retriever.asked == [("rates", 3)]
    assert tuple(page.page for page in seen.returned) == seen.shown == (4, 2, 7)
    env.step(PolicyTurn(action=None))
    assert not env.done


def test_18_alden() -> None:
    assert (ALDEN.max_turns, ALDEN.returned_k, ALDEN.shown_k) == (6, 5, 3)
    assert (ALDEN.image_cap, ALDEN.max_pixels, ALDEN.memory) == (15, 862_400, "none")
    env = environment(ALDEN)
    env.step(SEARCH)
    env.step(SEARCH)
    env.step(PolicyTurn(action=None, model_text="I think so."))
    record = env.trajectory()
    assert (record.stop_reason, record.answer, record.turns) == (StopReason.MALFORMED, None, 3)
    assert record.steps[-1].model_text == "I think so."


def test_18_five_full_searches_and_an_answer_fit_into_alden() -> None:
    env = environment(ALDEN)
    for _ in range(5):
        env.step(SEARCH)
    env.step(Action.answer("7"))
    assert env.stop_reason is StopReason.ANSWERED


def test_18_a_refused_fetch_does_not_end_alden() -> None:
    env = environment(ALDEN)
    env.step(Action.fetch(99))
    assert not env.done


@pytest.mark.parametrize(
    ("name", "shown", "returned"), [("direct", tuple(range(1, 11)), ()), ("rag", (4, 2, 7), (4, 2, 7))]
)
def test_19_direct_and_rag_open_with_pages_and_only_answer(
    name: str, shown: tuple[int, ...], returned: tuple[int, ...]
) -> None:
    retriever = FakeRetriever((4, 2, 7, 9))
    env = environment(PROTOCOLS[name], retriever=retriever)
    assert env.opening is not None
    assert env.opening.shown == env.shown_pages == shown
    assert env.protocol.actions == ("answer",)
    assert env.turns_left == 1
    assert [query for query, _ in retriever.asked] == (["What is number 0?"] if name == "rag" else [])
    env.step(Action.answer("7"))
    record = env.trajectory()
    assert (record.turns, record.steps[0].turn, record.steps[0].action) == (1, 0, None)
    assert record.shown_pages == shown
    assert record.returned_pages == returned
    assert record.answer == "7"


def test_19_searching_in_one_pass_spends_it() -> None:
    env = environment(PROTOCOLS["rag"])
    env.step(SEARCH)
    assert env.stop_reason is StopReason.TURN_LIMIT


def test_20_ep_given_shows_all_gold_pages_for_any_query() -> None:
    gold = GoldPagesRetriever((2, 5, 5, 8, 9, 99))
    gold.index(FakeDocument(TEXTS))
    env = environment(PROTOCOLS["ep-given"], retriever=gold)
    assert env.step(SEARCH).shown == (2, 5, 8, 9)
    env.step(Action.note("Fact.", 8))
    env.step(Action.answer("7"))
    assert env.trajectory().oracle == {"gold_pages": True}
    assert gold.family is RetrieverFamily.ORACLE


def test_a_plain_run_names_no_oracle() -> None:
    env = environment()
    env.step(Action.answer("7"))
    assert env.trajectory().oracle == {}


def test_protocols_refuse_rules_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="at least 1 turn"):
        Protocol(name="x", max_turns=0, returned_k=1, shown_k=1)
    for shown_k in (0, 4):
        with pytest.raises(ConfigError, match="shown_k"):
            Protocol(name="x", max_turns=1, returned_k=3, shown_k=shown_k)
    with pytest.raises(ConfigError, match="no protocol 'nope'"):
        named_protocol("nope")
    with pytest.raises(ConfigError, match="no rule 'speed'"):
        named_protocol("awm", speed=3)


def test_a_changed_protocol_says_so_in_its_name() -> None:
    assert named_protocol("awm") is AWM
    assert named_protocol("awm", max_turns=None, shown_k=3) is AWM
    assert named_protocol("awm", max_turns=4, shown_k=1).name == "awm[max_turns=4,shown_k=1]"


# -- 21–22: misuse ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "action",
    [
        Action("search", {}),
        Action("search", {"query": None}),
        Action("search", {"query": "   "}),
        Action("search", {"query": ["a"]}),
        Action("search", {"page": 1}),
        Action("fetch", {}),
        Action("fetch", {"page": True}),
        Action("fetch", {"page": 1.5}),
        Action("fetch", {"page": "one"}),
        Action("fetch", {"page": "²"}),
        Action("fetch", {"page": "9" * 5000}),
        Action("fetch", {"page": 10**5000}),
        Action("fetch", {"page": {"number": 1}}),
        Action("note", {"text": "x"}),
        Action("note", {"text": "x", "source_page": None}),
        Action("note", {"text": "x", "source_page": 10**5000}),
        Action("note", {"source_page": 4}),
        Action("answer", {}),
        Action("answer", {"text": ""}),
        Action("answer", {"text": {"a": 1}}),
        Action("answer", {"text": True}),
        Action("search", None),  # type: ignore[arg-type]
        Action("search", ["rates"]),  # type: ignore[arg-type]
        Action(None, {}),  # type: ignore[arg-type]
        Action(["search"], {}),  # type: ignore[arg-type]
        Action("SEARCH", {"query": "x"}),
        Action("", {}),
        Action("__init__", {}),
    ],
    ids=lambda action: f"{action.name}",
)
def test_21_wrong_arguments_are_an_observation(action: Action) -> None:
    env = environment()
    seen = env.step(action)
    assert seen.text
    assert seen.shown == ()
    assert (env.done, env.turns_left) == (False, 14)
    env.step(Action.answer("7"))
    record = stored_and_back(env)
    assert record.steps[0].invalid
    assert record.answer == "7"


def test_21_numbers_are_taken_as_text_where_text_is_wanted() -> None:
    env = environment()
    env.step(Action("answer", {"text": 2021}))
    assert env.answer == "2021"


def stored_and_back(env: Environment) -> Trajectory:
    """The record as it comes back from disk; it must be the same one."""
    record = env.trajectory()
    back = msgspec.json.decode(msgspec.json.encode(record), type=Trajectory)
    assert back == record
    return back


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**30, -(2**63) - 1, 2**64, 10**4000])
    | st.floats()
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=6,
)
LIKELY = st.fixed_dictionaries(
    {},
    optional={
        "query": JSON | st.just("rates"),
        "page": JSON | st.integers(0, 11),
        "text": JSON | st.just("A fact."),
        "source_page": JSON | st.integers(0, 11),
    },
)
ACTIONS = st.builds(
    Action, st.sampled_from(["search", "fetch", "note", "answer"]) | st.text(st.characters()), LIKELY | JSON
)
TURNS = st.builds(
    PolicyTurn,
    action=st.none() | ACTIONS,
    thought=st.text(st.characters()),
    model_text=st.text(st.characters()),
    notes=st.lists(st.builds(NoteWriting, JSON, JSON), max_size=2).map(tuple),
    problem=st.text(st.characters()),
)
RULES = st.sampled_from(
    [
        *PROTOCOLS.values(),
        named_protocol("awm", validation="record"),
        named_protocol("alden", memory="mandatory", validation="record"),
        named_protocol("alden", memory="optional", malformed="costs-turn"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(RULES, st.lists(TURNS, max_size=8))
def test_21_whatever_a_policy_says_is_data(rules: Protocol, turns: list[PolicyTurn]) -> None:
    env = environment(rules)
    for number, turn in enumerate(turns, start=1):
        before = env.memory.findings
        env.step(turn)
        assert env.memory.findings[: len(before)] == before
        assert env.turns_left == rules.max_turns - number
        assert all(1 <= page <= 10 for page in env.shown_pages)
        if rules.validation == "reject":
            assert all(finding.words <= 40 for finding in env.memory)
            assert all(finding.source_page in env.shown_pages for finding in env.memory)
        if env.done:
            break
    env.stop(StopReason.CANCELLED)
    record = stored_and_back(env)
    assert record.turns == min(len(turns), number if turns else 0)
    assert (record.answer is not None) == (record.stop_reason is StopReason.ANSWERED)


def test_21_what_cannot_be_stored_is_kept_as_readable_text() -> None:
    deep: Any = "core"
    for _ in range(5000):
        deep = [deep]
    env = environment(pages=())
    env.step(Action("search", {"query": "a\ud800b", "more": [float("nan"), 2**70, deep, {1, 2}, b"x"]}))
    env.step(Action.answer("snow\udcffman"))
    record = stored_and_back(env)
    assert record.steps[0].action is not None
    assert record.steps[0].action.arguments["query"] == "a\ufffdb"
    assert record.answer == "snow\ufffdman"


def test_22_a_document_that_fails_ends_the_trajectory() -> None:
    class Broken(FakeRetriever):
        def search(self, query: str, k: int) -> Any:
            raise DocumentError("Page 4 of fake.pdf is damaged; re-save it.")

    env = environment(retriever=Broken())
    env.step(SEARCH)
    record = env.trajectory()
    assert record.stop_reason is StopReason.DOCUMENT_ERROR
    assert record.stop_reason.is_fault
    assert record.error == "Page 4 of fake.pdf is damaged; re-save it."


# -- the record ------------------------------------------------------------------------------------------------


def test_the_record_holds_what_happened() -> None:
    env = environment(question=make_question(3))
    env.step(
        PolicyTurn(action=SEARCH, thought="Look.", model_text="<search>", usage=Usage(10, 2, 1, 0.5)),
        seconds=0.25,
    )
    env.step(PolicyTurn(action=NOTE, usage=Usage(20, 3, 1, 0.25)))
    env.step(Action.answer("7"))
    record = env.trajectory(run_id="r", sample_index=2, seed=5, step_of_training=40, seconds=1.5)
    assert record.trajectory_id == "mini:3#2"
    assert (record.run_id, record.seed, record.sample_index, record.step_of_training) == ("r", 5, 2, 40)
    assert (record.question_id, record.benchmark, record.doc_id) == ("mini:3", "mini", "fake.pdf")
    assert (record.doc_sha256, record.protocol, record.seconds) == ("f" * 64, "awm", 1.5)
    assert record.usage == Usage(30, 5, 2, 0.75)
    assert (record.steps[0].thought, record.steps[0].seconds) == ("Look.", 0.25)
    assert [step.turn for step in record.steps] == [1, 2, 3]
    assert record.version == 1


def test_only_what_the_format_names_is_stored() -> None:
    """Page sets and counts are derived; pixels, page text and gold answers are never stored."""
    env = environment(PROTOCOLS["direct"])
    env.step(Action.answer("7"))
    stored = msgspec.to_builtins(env.trajectory())
    assert set(stored) == {
        *(
            "version",
            "run_id",
            "trajectory_id",
            "question_id",
            "benchmark",
            "doc_id",
            "doc_sha256",
            "question",
        ),
        *("protocol", "oracle", "seed", "sample_index", "step_of_training", "steps", "memory", "answer"),
        *("stop_reason", "usage", "seconds", "error", "undefined"),
    }
    assert set(stored["steps"][0]) <= {
        *("turn", "thought", "action", "notes", "observation", "model_text", "usage", "seconds", "invalid"),
    }
    assert "Text of page" not in str(stored)


@pytest.mark.parametrize(
    ("reason", "fault"),
    [
        *(
            (reason, False)
            for reason in ("answered", "turn_limit", "malformed", "context_overflow", "image_cap")
        ),
        *((reason, True) for reason in ("provider_error", "cancelled", "document_error")),
    ],
)
def test_which_stop_reasons_are_faults(reason: str, fault: bool) -> None:
    assert StopReason(reason).is_fault is fault
    assert len(StopReason) == 8
