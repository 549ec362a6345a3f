"""The small records that everything else is made of: findings, memory, scores, usage, and the error tree."""

from __future__ import annotations

import inspect

import msgspec
import pytest

from looseleaf import Finding, Score, WorkingMemory, errors
from looseleaf.errors import AgentError, DocumentError, LooseleafError, ProviderError, UserError, boundary
from looseleaf.roles import Reader, Usage
from looseleaf.score import Unscored


def test_words_of_a_finding_are_separated_by_white_space() -> None:
    assert Finding("The rate\tis\n4.7 %. ", 3).words == 5
    assert Finding("", 3).words == 0


def test_a_memory_only_grows() -> None:
    memory = WorkingMemory([Finding("First.", 1)])
    before = memory.findings
    memory.append(Finding("Second.", 9))
    assert before == (Finding("First.", 1),)
    assert [finding.text for finding in memory] == ["First.", "Second."]
    assert (len(memory), len(before)) == (2, 1)
    assert memory == WorkingMemory([Finding("First.", 1), Finding("Second.", 9)])
    assert memory != WorkingMemory()
    assert not [name for name in dir(memory) if name in {"remove", "pop", "clear", "insert", "__setitem__"}]


def test_a_reader_sees_text_and_pages() -> None:
    memory = WorkingMemory([Finding("Revenue was 31.8.", 4), Finding("It grew.", 12, ("page_not_shown",))])
    assert memory.as_text() == "[page 4] Revenue was 31.8.\n[page 12] It grew."
    assert WorkingMemory().as_text() == ""


def test_the_reader_is_handed_a_question_and_a_memory_and_nothing_else() -> None:
    assert list(inspect.signature(Reader.read).parameters) == ["self", "question", "memory"]


def test_a_score_is_a_value_or_a_reason() -> None:
    assert Score(value=0.0).scored
    assert not Score(unscored=Unscored.JUDGE_FAULT).scored
    for neither_or_both in ({}, {"value": 0.0, "unscored": Unscored.JUDGE_FAULT}):
        with pytest.raises(ValueError, match="exactly one"):
            Score(**neither_or_both)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_score_is_finite(value: float) -> None:
    """JSON would store it as null, which is neither a value nor a reason."""
    with pytest.raises(ValueError, match="a Score is a number"):
        Score(value=value)


def test_usage_adds_up_and_unknown_cost_stays_unknown() -> None:
    assert Usage(1, 2, 3) + Usage(10, 20, 30) == Usage(11, 22, 33)
    assert (Usage(cost=0.5) + Usage()).cost == 0.5
    assert (Usage() + Usage()).cost is None
    assert msgspec.json.encode(Usage()) == b"{}"


def test_every_error_is_in_the_documented_tree() -> None:
    for name in errors.__all__:
        found = getattr(errors, name)
        if inspect.isclass(found):
            assert issubclass(found, LooseleafError)
            assert name in (errors.__doc__ or "")
            for base in found.__bases__:
                assert base.__name__ in (errors.__doc__ or "") or base is Exception


def test_a_boundary_keeps_the_cause_and_lets_own_errors_through() -> None:
    with (
        pytest.raises(AgentError, match=r"^My agent failed: KeyError: 'x'$") as caught,
        boundary(AgentError, "My agent failed"),
    ):
        raise KeyError("x")
    assert isinstance(caught.value.__cause__, KeyError)
    for own in (ProviderError("away"), DocumentError("damaged")):
        with pytest.raises(type(own)) as caught, boundary(AgentError, "My agent failed"):
            raise own
        assert caught.value is own
    with pytest.raises(KeyboardInterrupt), boundary(AgentError, "My agent failed"):
        raise KeyboardInterrupt
    assert issubclass(DocumentError, UserError)
