"""SFT: the tokens that a rollout has, loss on generated tokens only, learning, and going on after a stop."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

import tomli_w
import torch

from conftest import OwnSet
from fakes import pdf_bytes
from looseleaf.agent import run_agent
from looseleaf.document import PageStore
from looseleaf.environment import Environment
from looseleaf.errors import ConfigError, DataError
from looseleaf.runner.selection import load_data
from looseleaf.runstore import Run
from looseleaf.training import local_policy
from looseleaf.training.config import TrainConfig
from looseleaf.training.conversation import Conversation
from looseleaf.training.engine_arguments import accumulation
from looseleaf.training.local_policy import LocalPolicy
from looseleaf.training.processing import load_processor
from looseleaf.training.sequences import IGNORED, TokenSequence, batch_of, sequence_of
from looseleaf.training.sft import checkpoints, run_sft, sft_data
from looseleaf.training.stored_view import StoredView
from looseleaf.training.trajectories import SftData, read_trajectories
from looseleaf.training.weights import load_checkpoint
from tiny_training import configured, tables, teacher_run, tiny_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture
def config(own_set: OwnSet, model: Path, tmp_path: Path) -> TrainConfig:
    return configured(tables(own_set.questions, own_set.docs, model, tmp_path / "out", steps=2))


@pytest.fixture
def taught(config: TrainConfig, store: PageStore) -> TrainConfig:
    """A configuration whose trajectories are there."""
    teacher_run(config, Path(config.data.trajectories[0]), store)
    return config


@pytest.fixture
def conversation(config: TrainConfig) -> Conversation:
    return Conversation(load_processor(config.train.model), config.protocol)


# -- one and the same tokens -----------------------------------------------------------------------------------------

REPLIES = (
    'I look for the city.\n<tool_call>{"name": "search", "arguments": {"query": "Oslo stations"}}</tool_call>',
    "no action at all",
    '<tool_call>{"name": "note", "arguments": {"text": "Oslo has 7 stations.", "source_page": 2}}</tool_call>',
    '<tool_call>{"name": "fetch", "arguments": {"page": 3}}</tool_call>',
    '<tool_call>{"name": "note", "arguments": {"text": "Über 3 – \\"nothing\\"", "source_page": 3}}</tool_call>',
    '<tool_call>{"name": "answer", "arguments": {"text": "7"}}</tool_call>',
)


class _Told:
    """In place of a model's generation: replies in order, as tokens."""

    def __init__(self, conversation: Conversation) -> None:
        self._replies: Iterator[str] = iter(REPLIES)
        self._conversation = conversation

    def __call__(self, model: Any, processor: Any, prompts: Any, **kwargs: Any) -> list[list[int]]:
        return [list(self._conversation.tokens_of_reply(next(self._replies))) for _ in prompts]


class _Context:
    max_position_embeddings = 100_000


class _NoModel:
    class config:  # noqa: N801
        get_text_config = staticmethod(lambda: _Context)


def test_sft_tokens_equal_the_rollouts_tokens_for_the_same_actions(
    config: TrainConfig, conversation: Conversation, store: PageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_policy, "generate", _Told(conversation))
    question_set = load_data(config.data.questions)
    question = question_set.questions[0]
    document = question_set.open(question, store)
    from looseleaf.retrieval import BM25Retriever

    retriever = BM25Retriever()
    retriever.index(document)
    environment = Environment(question, document, retriever, config.protocol)
    policy = LocalPolicy(_NoModel(), conversation.processor)
    trajectory = asyncio.run(run_agent(policy, environment))
    assert trajectory.error is None
    assert [step.action and step.action.name for step in trajectory.steps] == [
        "search",
        None,
        "note",
        "fetch",
        "note",
        "answer",
    ]
    rolled = policy._held[environment]
    stored = asyncio.run(sequence_of(conversation, StoredView(trajectory, document, config.protocol)))
    assert list(stored.ids) == rolled.ids
    assert [image.tobytes() for image in stored.images] == [image.tobytes() for image in rolled.images]
    assert len(stored.images) == 4  # three of the search, one fetched


def test_labels_stand_on_exactly_the_generated_tokens(
    taught: TrainConfig, conversation: Conversation, store: PageStore
) -> None:
    data, _ = sft_data(taught, conversation, store)
    for index in range(len(data)):
        sequence = data[index]
        spoken = [
            token for reply, _ in asyncio.run(conversation.exchanges(data.view(index))) for token in reply
        ]
        assert [token for token in sequence.labels if token != IGNORED] == spoken
        assert sequence.ids.count(conversation.end_of_turn) > spoken.count(conversation.end_of_turn) > 0
        assert not set(spoken) & set(conversation.vision_tokens)


def test_the_loss_is_that_of_the_generated_tokens_alone(
    taught: TrainConfig, conversation: Conversation, store: PageStore
) -> None:
    """The model's loss on a batch equals the mean over generated tokens, computed from each sequence by itself."""
    data, _ = sft_data(taught, conversation, store)
    sequences = [data[0], data[1], data[2]]
    loaded = load_checkpoint(taught.train.model).eval()
    with torch.no_grad():
        loss = loaded(**batch_of(sequences, conversation)).loss.item()
        by_hand = [value for sequence in sequences for value in _losses(loaded, sequence, conversation)]
    assert loss == pytest.approx(sum(by_hand) / len(by_hand), abs=1e-5)


def _losses(loaded: Any, sequence: TokenSequence, conversation: Conversation) -> list[float]:
    inputs = batch_of([sequence], conversation)
    inputs.pop("labels")
    logs = torch.log_softmax(loaded(**inputs).logits[0].float(), dim=-1)
    return [
        -logs[at - 1, token].item()
        for at, (token, own) in enumerate(zip(sequence.ids, sequence.generated, strict=True))
        if own
    ]


def test_images_and_image_tokens_match_and_the_last_observation_is_left_out(
    taught: TrainConfig, conversation: Conversation, store: PageStore
) -> None:
    data, _ = sft_data(taught, conversation, store)
    sequence = data[0]
    made = batch_of([sequence], conversation)
    merged = conversation.processor.image_processor.merge_size**2
    assert sequence.ids.count(conversation.image_token) == made["image_grid_thw"].prod(-1).sum() // merged
    assert len(made["image_grid_thw"]) == len(sequence.images) > 0
    assert sequence.generated[-1]
    assert sequence.ids[-1] == conversation.end_of_turn


def test_pages_of_an_opening_come_before_the_first_turn(
    own_set: OwnSet, model: Path, store: PageStore, tmp_path: Path
) -> None:
    """Protocols that show pages first: their images stand in the opening, and only the answer is learnt."""
    given = tables(own_set.questions, own_set.docs, model, tmp_path / "out", steps=1)
    config = configured(given, protocol={"name": "rag", "max_pixels": 128 * 128})
    teacher_run(config, Path(config.data.trajectories[0]), store)
    conversation = Conversation(load_processor(model), config.protocol)
    data, _ = sft_data(config, conversation, store)
    first = data[0].generated.index(True)
    assert len(data[0].images) == 3
    assert (
        data[0].ids[:first].count(conversation.image_token) == data[0].ids.count(conversation.image_token) > 0
    )
    assert all(data[0].generated[first:])


# -- what is taken ---------------------------------------------------------------------------------------------------


def test_trajectories_come_from_runs_and_from_files_alike(taught: TrainConfig) -> None:
    folder = taught.data.trajectories[0]
    from_run = read_trajectories([folder], taught.protocol)
    from_file = read_trajectories([f"{folder}/trajectories.jsonl"], taught.protocol)
    assert from_run == from_file
    assert len(from_run) == 7


def test_trajectories_of_other_rules_are_refused(taught: TrainConfig, own_set: OwnSet) -> None:
    from looseleaf.protocol import named_protocol

    with pytest.raises(DataError, match="made under the protocol"):
        read_trajectories(taught.data.trajectories, named_protocol("awm", max_turns=4))
    with pytest.raises(DataError, match="looseleaf train collect"):
        read_trajectories([str(own_set.docs / "none.jsonl")], taught.protocol)


def test_a_changed_document_is_refused(
    taught: TrainConfig, conversation: Conversation, own_set: OwnSet
) -> None:
    data = SftData(
        read_trajectories(taught.data.trajectories, taught.protocol),
        load_data(taught.data.questions),
        conversation,
    )
    for path in own_set.docs.iterdir():
        path.write_bytes(pdf_bytes("Another document", "Other pages", "Three", "Four", "Five"))
    with pytest.raises(DataError, match="is not the document that"):
        data.view(0)


def test_long_trajectories_are_left_out_whole_and_counted(
    taught: TrainConfig, conversation: Conversation, store: PageStore
) -> None:
    data, _ = sft_data(taught, conversation, store)
    lengths = sorted(data[index].completion_tokens for index in range(len(data)))
    kept, left_out = data.fitting(lengths[3])
    assert left_out == sum(length > lengths[3] for length in lengths)
    assert len(kept) + left_out == 7
    assert data.fitting(lengths[-1])[1] == 0


def test_steps_are_divided_among_processes() -> None:
    assert accumulation(32, 2, 8) == 2
    assert accumulation(8, 8, 1) == 1
    with pytest.raises(ConfigError, match="cannot be divided among 3 processes"):
        accumulation(32, 2, 3)


# -- training --------------------------------------------------------------------------------------------------------


def test_a_few_steps_lower_the_loss(taught: TrainConfig, store: PageStore) -> None:
    config = _with(taught, steps=8, learning_rate=1e-2)
    outcome = run_sft(config, store=store)
    first, last = outcome.losses[0][1], outcome.losses[-1][1]
    assert outcome.steps == 8
    assert len(outcome.losses) == 8
    assert last < 0.75 * first
    assert load_checkpoint(outcome.folder) is not None
    assert load_processor(outcome.folder).tokenizer.chat_template
    assert (Path(config.train.output) / "config.toml").is_file()


def test_a_training_that_was_stopped_goes_on_as_if_it_had_not_been(
    taught: TrainConfig, store: PageStore, tmp_path: Path
) -> None:
    whole = run_sft(_with(taught, steps=4, output=str(tmp_path / "whole")), store=store)
    config = _with(taught, steps=4, save_every=1, output=str(tmp_path / "stopped"))
    with pytest.raises(KeyboardInterrupt):
        run_sft(config, store=store, callbacks=[_stopping(4)])
    assert [path.name for path in checkpoints(Path(config.train.output))] == [
        "checkpoint-1",
        "checkpoint-2",
        "checkpoint-3",
    ]
    again = run_sft(config, store=store)
    assert [step for step, _ in again.losses] == [1, 2, 3, 4]
    assert [loss for _, loss in again.losses] == pytest.approx([loss for _, loss in whole.losses], abs=1e-6)


@pytest.mark.slow
def test_a_training_that_was_killed_goes_on_as_if_it_had_not_been(
    taught: TrainConfig, store: PageStore, tmp_path: Path
) -> None:
    """SIGKILL at the worst moment, while a checkpoint is being written: the one before it is gone on from."""
    whole = run_sft(_with(taught, steps=6, output=str(tmp_path / "whole")), store=store)
    config = _with(taught, steps=6, save_every=1, output=str(tmp_path / "killed"))
    file = tmp_path / "killed.toml"
    file.write_text(
        tomli_w.dumps(json.loads(json.dumps(config.as_tables(), default=str), object_hook=_without_none))
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "looseleaf", "train", str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    half_written = tmp_path / "killed" / "checkpoint-3"
    deadline = time.monotonic() + 120
    while not half_written.is_dir() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    process.kill()
    process.communicate()
    assert half_written.is_dir()
    (half_written / "trainer_state.json").unlink(missing_ok=True)  # the last file of a checkpoint
    assert checkpoints(tmp_path / "killed")[-1].name == "checkpoint-2"
    again = run_sft(config, store=store)
    assert [loss for _, loss in again.losses] == pytest.approx([loss for _, loss in whole.losses], abs=1e-6)


def _without_none(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}


def test_adapters_are_trained_alone_and_merged_at_the_end(taught: TrainConfig, store: PageStore) -> None:
    pytest.importorskip("peft")
    config = _with(taught, steps=2, save_every=2, lora={"rank": 4, "alpha": 8}, freeze_vision=True)
    outcome = run_sft(config, store=store)
    before = load_checkpoint(config.train.model).state_dict()
    after = load_checkpoint(outcome.folder).state_dict()
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert any("self_attn.q_proj" in name for name in changed)
    assert not any("visual" in name for name in changed)
    checkpoint = load_checkpoint(Path(config.train.output) / "checkpoint-2").state_dict()
    assert all(torch.allclose(checkpoint[name], after[name], atol=1e-6) for name in after)


def test_engine_arguments_are_checked(taught: TrainConfig, store: PageStore) -> None:
    with pytest.raises(ConfigError, match="set by looseleaf itself"):
        run_sft(_with(taught, engine={"learning_rate": 1.0}), store=store)
    if importlib.util.find_spec("trackio") is None:
        with pytest.raises(ConfigError, match="pip install trackio"):
            run_sft(_with(taught, report_to="trackio"), store=store)
    with pytest.raises(ConfigError, match="no argument of"):
        run_sft(_with(taught, engine={"lerning_rate": 1.0}), store=store)


def test_going_on_under_other_settings_is_refused(taught: TrainConfig, store: PageStore) -> None:
    from looseleaf.errors import RunError

    run_sft(_with(taught, steps=1), store=store)
    with pytest.raises(RunError, match="learning_rate"):
        run_sft(_with(taught, steps=1, learning_rate=1.0), store=store)


def _stopping(step: int) -> Any:
    from transformers import TrainerCallback

    class Stopping(TrainerCallback):  # type: ignore[misc]
        def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if state.global_step == step - 1:
                raise KeyboardInterrupt

    return Stopping()


def _with(config: TrainConfig, **train: Any) -> TrainConfig:
    given = json.loads(json.dumps(config.as_tables()))
    return configured(given, train={**given["train"], **train})


def test_a_run_is_not_changed_by_being_learnt_from(taught: TrainConfig, store: PageStore) -> None:
    folder = Path(taught.data.trajectories[0])
    before = (folder / "trajectories.jsonl").read_bytes()
    run_sft(_with(taught, steps=1, dtype="bfloat16"), store=store)
    assert (folder / "trajectories.jsonl").read_bytes() == before
    assert Run.open(folder).config
