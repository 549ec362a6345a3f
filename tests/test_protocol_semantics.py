"""What `awm` and `alden` mean, locked: one scripted policy, two protocols, and every turn written out.

Shown
 1. A search shows at most `shown_k` of the `returned_k` pages that came back: 3 of 3 under `awm`, 3 of 5 under `alden`.
 2. Only shown pages count as seen; a page shown twice counts once as a page and twice as an image.
 3. A fetch shows the physical page; a page that does not exist is refused, shows nothing, and costs the turn.
Budget
 4. Every generation costs one turn of the one budget: looks, notes, refused and malformed turns alike.
 5. T is 15 under `awm` and 6 under `alden`; the trajectory ends with its T-th turn, whatever that turn is.
 6. An answer in the last turn counts. A look in the last turn is refused, so ALDEN's six turns are at most five looks.
 7. A spent budget without an answer is `turn_limit`: no answer (an empty prediction), and the memory is kept and read.
Malformed turns
 8. A turn without an action that parses costs its turn under `awm`; under `alden` it ends all as `malformed`.
 9. An action with wrong arguments is not malformed: it is refused, costs the turn, and goes on under both.
Memory
10. Under `awm` a note is due as soon as pages are shown: until it is written every other action is refused.
11. A search that finds nothing shows nothing, so no note is due.
12. A refused note (over 40 words, or about a page that was not shown) changes nothing; the note is still due.
13. One note pays for all pages of a look. Notes may also be written when none is due.
14. Under `alden` there is no memory and `note` is no action; with memory switched on, notes ride inside a turn and
    never take one, and a bad note is refused while its turn goes on.
Images
15. Under `alden` a trajectory holds at most 15 images of at most 862,400 pixels, repeats counted; a look beyond that
    ends it as `image_cap`, and what it would have shown does not count as shown.

Sources: AWM (arXiv 2608.25618) for 1, 4, 5, 7, 10, 12; ALDEN (gipplab/ALDEN @ 8a0d3d4) for 1, 3, 5, 6, 8, 9, 15. Where
both are silent (a malformed turn under `awm`, 11, 13, notes inside `alden`), the rule is this project's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fakes import FakeDocument, FakeRetriever
from looseleaf.agent import run_agent
from looseleaf.environment import Environment
from looseleaf.models.scripted import ScriptedPolicy
from looseleaf.protocol import PROTOCOLS, Protocol, named_protocol
from looseleaf.question import Question
from looseleaf.roles import Action, NoteWriting, PolicyTurn
from looseleaf.trajectory import Trajectory

AWM, ALDEN = PROTOCOLS["awm"], PROTOCOLS["alden"]
QUESTION = Question(
    question_id="own:0",
    native_id="0",
    benchmark="own",
    split="",
    doc_id="fake.pdf",
    question="What is it?",
    references=("4",),
    answer_format="",
)
SEARCH = Action.search("it")
MALFORMED = PolicyTurn(action=None, model_text="lorem ipsum", problem="There is no action.")
LONG = " ".join(["word"] * 41)

Row = tuple[str, bool, tuple[int, ...], tuple[int, ...]]
"""A turn: its action (or `-`), whether it was valid, pages returned, pages shown."""


def play(
    protocol: Protocol, script: Sequence[Action | PolicyTurn], ranking: Sequence[int] = (3, 1, 4, 5, 9, 2)
) -> Trajectory:
    document = FakeDocument([f"Text of page {page}." for page in range(1, 13)])
    environment = Environment(QUESTION, document, FakeRetriever(ranking), protocol)  # type: ignore[arg-type]
    return asyncio.run(run_agent(ScriptedPolicy(script), environment))


def rows(trajectory: Trajectory) -> list[Row]:
    return [
        (
            step.action.name if step.action else "-",
            step.invalid is None,
            tuple(page.page for page in step.observation.returned),
            step.observation.shown,
        )
        for step in trajectory.steps
    ]


def notes(trajectory: Trajectory) -> list[tuple[str, int]]:
    return [(finding.text, finding.source_page) for finding in trajectory.memory]


ONE_SCRIPT: list[Action | PolicyTurn] = [
    SEARCH,
    Action.fetch(99),
    Action.note(LONG, 3),
    Action.note("About a page that nobody saw.", 7),
    Action.note("Page 3 says 4.", 3),
    Action.fetch(3),
    SEARCH,
    Action.note("Page 3 says 4 again.", 3),
    MALFORMED,
    Action.answer("4"),
]
"""A look, a hasty and impossible fetch, two bad notes, a good one, page 3 again, a hasty look, a note, noise, end."""


def test_the_script_under_awm() -> None:
    trajectory = play(AWM, ONE_SCRIPT)
    assert rows(trajectory) == [
        ("search", True, (3, 1, 4), (3, 1, 4)),  # 1
        ("fetch", False, (), ()),  # 10: refused because a note is due, before the page is looked at
        ("note", False, (), ()),  # 12: 41 words
        ("note", False, (), ()),  # 12: page 7 was not shown
        ("note", True, (), ()),  # 13: one note for three pages
        ("fetch", True, (), (3,)),  # 2: shown again
        ("search", False, (), ()),  # 10
        ("note", True, (), ()),
        ("-", False, (), ()),  # 8: costs its turn
        ("answer", True, (), ()),
    ]
    assert trajectory.stop_reason == "answered"
    assert trajectory.answer == "4"
    assert trajectory.turns == 10  # 4
    assert trajectory.invalid_turns == 5
    assert trajectory.shown_pages == (3, 1, 4)  # 2
    assert notes(trajectory) == [("Page 3 says 4.", 3), ("Page 3 says 4 again.", 3)]


def test_the_script_under_alden() -> None:
    trajectory = play(ALDEN, ONE_SCRIPT)
    assert rows(trajectory) == [
        ("search", True, (3, 1, 4, 5, 9), (3, 1, 4)),  # 1
        ("fetch", False, (), ()),  # 3, 9: there is no page 99, and it goes on
        ("note", False, (), ()),  # 14, 8: no action here, so malformed, and it ends
    ]
    assert trajectory.stop_reason == "malformed"
    assert trajectory.answer is None
    assert trajectory.shown_pages == (3, 1, 4)
    assert trajectory.returned_pages == (3, 1, 4, 5, 9)
    assert trajectory.memory == ()


LOOKS_AND_NOTES: list[Action | PolicyTurn] = [SEARCH, Action.note("It is 4.", 3)] * 8


def test_awm_spends_fifteen_turns() -> None:
    """Seven looks with their notes; the eighth look falls on the last turn and is refused (5, 6, 7)."""
    trajectory = play(AWM, LOOKS_AND_NOTES)
    assert trajectory.turns == 15
    assert rows(trajectory)[-1] == ("search", False, (), ())
    assert trajectory.stop_reason == "turn_limit"
    assert trajectory.answer is None
    assert len(trajectory.working_memory) == 7


def test_awm_answers_in_its_fifteenth_turn() -> None:
    trajectory = play(AWM, [*LOOKS_AND_NOTES[:14], Action.answer("4")])
    assert (trajectory.turns, trajectory.stop_reason, trajectory.answer) == (15, "answered", "4")


def test_awm_whose_note_is_still_due_cannot_answer() -> None:
    """The budget ends on a refused answer (4, 7, 10)."""
    trajectory = play(AWM, [*[MALFORMED] * 13, SEARCH, Action.answer("4")])
    assert (trajectory.turns, trajectory.stop_reason, trajectory.answer) == (15, "turn_limit", None)
    assert trajectory.shown_pages == (3, 1, 4)
    assert trajectory.memory == ()


def test_awm_demands_no_note_where_nothing_was_shown() -> None:
    """11, and a note where none is due is about pages shown earlier (13)."""
    trajectory = play(
        AWM, [SEARCH, Action.fetch(2), Action.note("n", 2), Action.note("m", 2), Action.answer("4")], ()
    )
    assert [valid for _, valid, _, _ in rows(trajectory)] == [True] * 5
    assert notes(trajectory) == [("n", 2), ("m", 2)]


def test_alden_spends_six_turns_on_five_looks_and_an_answer() -> None:
    """15 images are within the cap (15), and the answer in the sixth turn counts (5, 6)."""
    trajectory = play(ALDEN, [*[SEARCH] * 5, Action.answer("4")])
    assert (trajectory.turns, trajectory.stop_reason, trajectory.answer) == (6, "answered", "4")


def test_alden_looks_at_most_five_times() -> None:
    trajectory = play(ALDEN, [*[Action.fetch(page) for page in range(1, 6)], Action.fetch(6)])
    assert rows(trajectory)[-1] == ("fetch", False, (), ())
    assert trajectory.shown_pages == (1, 2, 3, 4, 5)
    assert (trajectory.turns, trajectory.stop_reason, trajectory.answer) == (6, "turn_limit", None)


def test_alden_ends_with_the_first_malformed_turn() -> None:
    trajectory = play(ALDEN, [SEARCH, MALFORMED, Action.answer("4")])
    assert (trajectory.turns, trajectory.stop_reason, trajectory.answer) == (2, "malformed", None)


def test_alden_goes_on_after_wrong_arguments() -> None:
    wrong = [Action("fetch", {"page": "the next one"}), Action("search", {"query": ""}), Action("answer", {})]
    trajectory = play(ALDEN, [*wrong, Action.answer("4")])
    assert [valid for _, valid, _, _ in rows(trajectory)] == [False, False, False, True]
    assert (trajectory.turns, trajectory.answer) == (4, "4")


def test_alden_counts_images_with_repeats() -> None:
    capped = named_protocol("alden", image_cap=6)
    trajectory = play(capped, [SEARCH, SEARCH, Action.fetch(7), Action.answer("4")])
    assert rows(trajectory) == [
        ("search", True, (3, 1, 4, 5, 9), (3, 1, 4)),
        ("search", True, (3, 1, 4, 5, 9), (3, 1, 4)),
        ("fetch", False, (), ()),
    ]
    assert trajectory.stop_reason == "image_cap"
    assert trajectory.shown_pages == (3, 1, 4)
    assert ALDEN.image_cap == 15
    assert ALDEN.max_pixels == 862_400


def test_alden_with_memory() -> None:
    """Notes ride inside turns, take none, and a bad one costs only itself (14)."""
    remembering = named_protocol("alden", memory="optional")

    def riding(action: Action, *written: NoteWriting) -> PolicyTurn:
        return PolicyTurn(action=action, notes=written)

    trajectory = play(
        remembering,
        [
            SEARCH,
            riding(Action.fetch(2), NoteWriting("It is 4.", 3), NoteWriting("Nobody saw it.", 7)),
            riding(Action.answer("4"), NoteWriting("Page 2 agrees.", 2)),
        ],
    )
    assert notes(trajectory) == [("It is 4.", 3), ("Page 2 agrees.", 2)]
    assert (trajectory.turns, trajectory.answer) == (3, "4")
    assert [valid for _, valid, _, _ in rows(trajectory)] == [True, False, True]
    assert trajectory.shown_pages == (3, 1, 4, 2)


def test_record_keeps_what_reject_refuses() -> None:
    """`validation = record`: over-long and unsupported findings are kept and flagged, and pay for the look."""
    trajectory = play(
        named_protocol("awm", validation="record"), [SEARCH, Action.note(LONG, 7), Action.answer("4")]
    )
    assert trajectory.answer == "4"
    assert trajectory.memory[0].flags == ("over_length", "page_not_shown")
    assert trajectory.invalid_turns == 0
