"""A model on this machine as the agent: its samples are its own, whatever else is in the batch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fakes import FakeRetriever, make_question
from looseleaf import Document, Environment, Protocol, Trajectory
from looseleaf.agent import run_agent
from looseleaf.document import PageStore
from looseleaf.errors import ConfigError
from looseleaf.protocol import PROTOCOLS, named_protocol
from looseleaf.training.gates import check_gates, sample_batch
from looseleaf.training.local_policy import LocalPolicy, local_policy
from looseleaf.trajectory import StopReason
from training_world import config_of, tiny, trainer_of, write_documents

TURN = 12


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Document]:
    """Two documents that differ in the pixels of their pages alone."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("pages")
    write_documents(folder)
    other = folder / "documents" / "doc1" / "page_1.png"
    with Image.open(other) as page:
        page.point(lambda shade: 255 - shade).save(other)
    store = PageStore(folder / "cache")
    return [Document.open(folder / "documents" / f"doc{number}", store=store) for number in range(2)]


@pytest.fixture(scope="module")
def policy() -> LocalPolicy:
    return local_policy(tiny(), temperature=1.0, max_turn_tokens=TURN)


def run(policy: LocalPolicy, document: Document, protocol: Protocol, *samples: int) -> list[Trajectory]:
    async def all_of_them() -> list[Trajectory]:
        return await asyncio.gather(
            *(
                run_agent(
                    policy,
                    Environment(make_question(), document, FakeRetriever((1, 2)), protocol),
                    sample_index=sample,
                    seed=7,
                )
                for sample in samples
            )
        )

    return asyncio.run(all_of_them())


def said(trajectory: Trajectory) -> list[str]:
    return [step.model_text for step in trajectory.steps if step.turn]


def test_a_sample_does_not_depend_on_its_batch(policy: LocalPolicy, documents: Sequence[Document]) -> None:
    protocol = named_protocol("awm", max_turns=3)
    together = run(policy, documents[0], protocol, 0, 1, 2)
    (alone,) = run(policy, documents[0], protocol, 1)
    assert said(alone) == said(together[1])
    assert len({tuple(said(found)) for found in together}) == 3
    assert all(found.usage.calls == 3 and found.usage.completion_tokens <= 3 * TURN for found in together)


def test_questions_that_differ_in_their_pages_alone_get_noise_of_their_own(
    policy: LocalPolicy, documents: Sequence[Document]
) -> None:
    from looseleaf.training.local_policy import _checksum

    sums = set()
    for document in documents:
        environment = Environment(make_question(), document, FakeRetriever((1,)), PROTOCOLS["direct"])
        held = asyncio.run(policy._continued(environment))
        sums.add(_checksum(held))
    assert len(sums) == 2


def test_the_likeliest_turn_is_always_the_same(documents: Sequence[Document]) -> None:
    policy = local_policy(tiny(), max_turn_tokens=TURN)
    one, other = run(policy, documents[0], PROTOCOLS["direct"], 0, 1)
    assert said(one) == said(other)
    assert one.shown_pages == (1, 2, 3)


def test_a_conversation_beyond_the_context_is_an_overflow(documents: Sequence[Document]) -> None:
    policy = local_policy(tiny(), max_turn_tokens=100_000)
    (found,) = run(policy, documents[0], PROTOCOLS["direct"], 0)
    assert found.stop_reason is StopReason.CONTEXT_OVERFLOW


def test_a_missing_model_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be loaded") as found:
        local_policy(tmp_path / "nothing")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("protocol", "reward"),
    [
        ({"name": "alden", "max_turns": 3, "max_pixels": 16_384}, {"name": "alden"}),
        ({"name": "alden", "max_turns": 3, "memory": "optional", "max_pixels": 16_384}, {"name": "awm"}),
        ({"name": "direct", "max_pixels": 16_384}, {"name": "answer-only"}),
    ],
)
def test_gates_pass_under_other_protocols(
    tmp_path: Path, protocol: dict[str, Any], reward: dict[str, Any]
) -> None:
    train = {"max_completion_tokens": 2000, "steps": 1}
    trainer = trainer_of(config_of(tmp_path, train=train, protocol=protocol, reward=reward))
    passed = check_gates(sample_batch(trainer, [trainer.train_dataset[0]] * 4))
    assert len(passed) == 5
    assert all(rollout.images for rollout in trainer.rollouts)
    trainer.train()
    trainer.close()
    assert [line["step"] for line in trainer._step_log.read()] == [1]
