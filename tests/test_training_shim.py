"""The scripted world through the own loop."""

from __future__ import annotations

from pathlib import Path

from looseleaf.trajectory import StopReason
from parity_world import REFUSED, SCRIPT, expected, make_world


def test_script_is_refused_where_it_says(tmp_path: Path) -> None:
    found = expected(make_world(tmp_path))
    assert found.stop_reason is StopReason.ANSWERED
    assert found.answer == "12 stations"
    assert found.turns == len(SCRIPT)
    assert tuple(step.turn for step in found.steps if step.invalid) == REFUSED
    assert [finding.source_page for finding in found.memory] == [3, 2]
