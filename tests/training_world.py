"""A training that fits a test: a tiny model, documents of page images, a configuration, and scripted generations.

python tests/training_world.py CONFIG.json            trains, as a process that a test can kill
python tests/training_world.py CONFIG.json SCRIPT     plays one text a rollout, as one of several processes
"""

from __future__ import annotations

import functools
import json
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from looseleaf.document import PageStore
from looseleaf.question import Question
from looseleaf.reward import Outcome
from looseleaf.training.config import TrainConfig
from looseleaf.training.config_file import train_config
from looseleaf.training.grpo import make_trainer, run_grpo
from looseleaf.training.questions import training_set
from looseleaf.training.rollout_rewards import Evidence, RolloutScorer
from looseleaf.training.tiny_model import make_tiny_model
from looseleaf.trajectory import Trajectory

NUMBERS = (41, 52, 63)
"""What page 1, 2 and 3 of each document show."""
DOCUMENTS = 3


@functools.cache
def tiny() -> Path:
    """A tiny model, made once a session."""
    return make_tiny_model(Path(tempfile.mkdtemp(prefix="looseleaf-tiny-")) / "model", seed=0)


def write_documents(folder: Path) -> Path:
    """Documents of page images and `questions.jsonl`; returns the question file."""
    from PIL import Image, ImageDraw

    rows = []
    for document in range(DOCUMENTS):
        pages = folder / "documents" / f"doc{document}"
        pages.mkdir(parents=True)
        for page, number in enumerate(NUMBERS, start=1):
            image = Image.new("RGB", (96, 64), "white")
            ImageDraw.Draw(image).text((20, 16), str(number), fill="black", font_size=30)
            image.save(pages / f"page_{page}.png")
        page = document + 1
        rows.append(
            {
                "doc_id": f"doc{document}",
                "question": f"How many boats are on page {page}?",
                "answer": NUMBERS[document],
                "evidence_pages": [page],
            }
        )
    path = folder / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def settings(folder: Path, **changes: dict[str, Any]) -> dict[str, Any]:
    """Tables of a configuration; `changes` are merged into them table by table."""
    questions = folder / "questions.jsonl"
    if not questions.exists():
        write_documents(folder)
    tables: dict[str, dict[str, Any]] = {
        "train": {
            "stage": "grpo",
            "model": str(tiny()),
            "output": str(folder / "out"),
            "steps": 2,
            "groups_per_step": 2,
            "group_size": 4,
            "micro_batch": 8,
            "dtype": "float32",
            "learning_rate": 1e-3,
            "kl": 0.0,
            "temperature": 1.0,
            "max_turn_tokens": 8,
            "max_completion_tokens": 1200,
            "save_every": 0,
        },
        "protocol": {"name": "awm", "max_turns": 4},
        "data": {"benchmark": str(questions), "path": str(folder / "documents")},
        "reward": {"name": "awm"},
    }
    return {
        name: {**tables.get(name, {}), **changes.get(name, {})} for name in tables.keys() | changes.keys()
    }


def config_of(folder: Path, **changes: dict[str, Any]) -> TrainConfig:
    """The configuration of those tables."""
    return train_config(settings(folder, **changes))


def trainer_of(config: TrainConfig, **given: Any) -> Any:
    """A trainer before its first step."""
    cache = Path(config.train.output).parent / "cache"
    return make_trainer(config, training_set(config), store=PageStore(cache), **given)


def play(trainer: Any, script: Callable[[int, int], str] | Sequence[str]) -> list[int]:
    """Let scripted texts stand for what the model says; returns a list that grows by the rollouts of each round.

    Args:
        trainer: whose generations.
        script: text of a rollout's turn, by rollout and turn (both 0-based), or the turns of every rollout.
    """
    rounds: list[int] = []

    def text(rollout: int, turn: int) -> str:
        return script(rollout, turn) if callable(script) else script[turn]

    def generate(prompt_ids: Any, *_: Any, **__: Any) -> tuple[list[list[int]], None]:
        rounds.append(len(prompt_ids))
        active = [(number, rollout) for number, rollout in enumerate(trainer.rollouts) if not rollout.done]
        return [
            list(trainer.conversation.tokens_of_reply(text(number, len(rollout.asked) - 1)))
            for number, rollout in active
        ], None

    trainer._generate_single_turn = generate
    return rounds


def call(name: str, **arguments: Any) -> str:
    """A tool call as the tiny model's template writes it."""
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def good_turns(page: int, number: int) -> list[str]:
    """Fetch, note and answer."""
    return [
        call("fetch", page=page),
        call("note", text=f"page {page} has {number} boats", source_page=page),
        call("answer", text=str(number)),
    ]


def by_member(rollout: int, turn: int) -> str:
    """Rollouts 0, 3, 6 … answer with what page 1 shows and note it, the others answer something else."""
    number = NUMBERS[0] if rollout % 3 == 0 else 7
    return good_turns(1, number)[turn]


async def hashed_evidence(
    self: RolloutScorer, rollouts: Iterable[tuple[Question, Trajectory]]
) -> list[Evidence]:
    """Scores that depend on every word that was sampled, so that rollouts of an untrained model differ in worth."""
    found = []
    for _, trajectory in rollouts:
        said = zlib.crc32("".join(step.model_text for step in trajectory.steps).encode())
        seen = Outcome(answer=float(said % 2), memory=(float(said // 2 % 2),))
        found.append(Evidence(trajectory_id=trajectory.trajectory_id, seen=seen))
    return found


def main(path: Path, scripted: bool) -> None:
    """Train in a process of its own."""
    config = train_config(json.loads(path.read_text()))
    if not scripted:
        RolloutScorer.evidence = hashed_evidence  # type: ignore[method-assign]
        run_grpo(config)
        return
    trainer = trainer_of(config)
    rank = trainer.accelerator.process_index
    first = rank * config.train.rollouts_per_step // trainer.accelerator.num_processes
    play(trainer, lambda rollout, turn: by_member(first + rollout, turn))
    trainer.train()
    mine = [value for batch in trainer._buffered_inputs for value in batch["advantages"].tolist()]
    found = {"all": trainer.sampled.values.tolist(), "mine": mine}
    (path.parent / f"advantages-{rank}.json").write_text(json.dumps(found))
    trainer.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), len(sys.argv) > 2)
