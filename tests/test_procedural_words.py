"""The words of generated documents: every split has its own, and every template can be filled."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from random import Random
from typing import Any

import pytest

from looseleaf.procedural.blocks import PLACEHOLDER
from looseleaf.procedural.names import POOLS, draw
from looseleaf.procedural.phrases import Filler, facts, themes
from looseleaf.procedural.slots import Mint, Slot
from looseleaf.procedural.splits import SPLITS, belongs, years


def read(name: str) -> dict[str, Any]:
    return tomllib.loads(
        (files("looseleaf.procedural") / "data" / f"{name}.toml").read_text(encoding="utf-8")
    )


QUESTIONS = {
    f"{section}.{name}": entry
    for section, entries in read("questions").items()
    for name, entry in entries.items()
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_question_wordings_are_apart_for_each_split(name: str) -> None:
    entry = QUESTIONS[name]
    assert set(entry) == set(SPLITS)
    wordings = [wording for split in SPLITS for wording in entry[split]]
    assert all(entry[split] for split in SPLITS)
    assert len(set(wordings)) == len(wordings)


@pytest.mark.parametrize("name", facts())
def test_facts_are_told_and_asked_apart_for_each_split(name: str) -> None:
    spec = facts()[name]
    texts: list[str] = []
    for split in SPLITS:
        words = spec.words(split)
        assert len(words.statements) >= 2
        for statement in words.statements:
            assert set(PLACEHOLDER.findall(statement)) == set(spec.slots)
        for asked, wordings in words.questions.items():
            assert asked == "list" or asked in spec.slots
            for wording in wordings:
                assert set(PLACEHOLDER.findall(wording)) == {spec.key}
        assert set(words.nouns) <= set(spec.slots)
        assert all(PLACEHOLDER.findall(noun) == [spec.key] for noun in words.nouns.values())
        texts += [*words.statements, *(wording for group in words.questions.values() for wording in group)]
    assert len(set(texts)) == len(texts)
    assert (
        {slot for asked in spec.train.questions for slot in (asked,)}
        == set(spec.rl.questions)
        == set(spec.test.questions)
    )


def test_idle_sentences_hold_no_digit_and_no_open_placeholder() -> None:
    for theme in themes():
        for kind in theme.kinds:
            text = Filler(theme, kind, Random(1)).paragraph(200)
            assert not any(character.isdigit() or character in "{}" for character in text)
            assert " a a" not in text
            assert " a o" not in text


@pytest.mark.parametrize("pool", POOLS)
def test_every_pool_serves_every_split(pool: Any) -> None:
    rng = Random(0)
    names = {draw(pool, rng) for _ in range(600)}
    for split in SPLITS:
        assert sum(belongs(name, split) for name in names) > 60
    assert all(sum(belongs(name, split) for split in SPLITS) == 1 for name in names)


def test_small_numbers_belong_to_every_split_and_others_to_one() -> None:
    assert all(belongs(7, split) for split in SPLITS)
    assert all(sum(belongs(number, split) for split in SPLITS) == 1 for number in range(100, 2000))


def test_years_of_splits_do_not_meet() -> None:
    assert len({year for split in SPLITS for year in years(split)}) == 27


def test_a_mint_never_gives_a_name_twice_even_when_the_pool_runs_dry() -> None:
    mint = Mint(Random(0), "train")
    names = [mint.name("laboratory") for _ in range(700)]
    assert len(set(names)) == 700
    assert any(name.endswith(" II") for name in names)
    assert all(belongs(name, "train") for name in names)


def test_a_near_name_is_more_like_the_name_than_a_random_one() -> None:
    shared = []
    for draws in (1, 60):
        mint = Mint(Random(3), "rl")
        shared.append(sum(mint.near("place", "Norvik", draws)[:3] == "Nor" for _ in range(40)))
    assert shared[1] > shared[0]


@pytest.mark.parametrize(
    ("slot", "shown", "gold", "answer_format"),
    [
        (Slot(slot_id="a", kind="number", value=1234567), "1,234,567", "1234567", "Int"),
        (Slot(slot_id="a", kind="number", value=12345, decimals=1), "1,234.5", "1234.5", "Float"),
        (Slot(slot_id="a", kind="number", value=5, decimals=2), "0.05", "0.05", "Float"),
        (Slot(slot_id="a", kind="number", value=-1250, decimals=2), "-12.50", "-12.50", "Float"),
        (Slot(slot_id="a", kind="percent", value=6420, decimals=2), "64.20%", "64.20%", "Float"),
        (Slot(slot_id="a", kind="count", value=7), "7", "7", "Int"),
        (Slot(slot_id="a", kind="date", value="3 May 2001"), "3 May 2001", "3 May 2001", "Str"),
    ],
)
def test_values_are_printed_and_answered(slot: Slot, shown: str, gold: str, answer_format: str) -> None:
    assert (slot.shown, slot.gold, slot.answer_format) == (shown, gold, answer_format)


def test_a_fresh_value_differs_and_is_of_the_same_sort() -> None:
    mint = Mint(Random(5), "test")
    for slot_id in (
        mint.keep_number(1000, 9000),
        mint.keep_number(100, 900, step=50),
        mint.keep_name("person"),
        mint.keep_text("date"),
        mint.keep_text("code"),
        mint.keep_category(("a", "b")),
        mint.keep(kind="count", value=9, low=1, high=9),
    ):
        old = mint.values[slot_id]
        for _ in range(20):
            fresh = mint.fresh(old)
            assert fresh.value != old.value
            assert (fresh.slot_id, fresh.kind, fresh.decimals) == (old.slot_id, old.kind, old.decimals)
