"""`LooseleafTrainer`: TRL's `GRPOTrainer` with looseleaf's environment, rewards and advantages.

TRL keeps what it does well: batching, generation backends, the loss, distribution, checkpoints, logging. Replaced are
the places where it would decide something else than the bench does (trl 1.16, `grpo_trainer.py`):

* the tool loop (`looseleaf.training.rollout_trainer`);
* rewards: `RolloutScorer`, with everything that a reward was computed from kept;
* advantages: `looseleaf.reward.group_advantages` in float64 over the rollouts of all processes, where TRL hard-codes
  ε = 1e-4 and Bessel's deviation; unscored members are left out of the group and of the loss;
* noise: torch is seeded by (seed, step, process) before each generation batch, so that a training that is continued
  samples what the unbroken one would have sampled.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from accelerate.utils import gather_object

from looseleaf.reward import GroupAdvantages, RewardRecord, group_advantages
from looseleaf.reward.advantages import Scale
from looseleaf.training.conversation import Conversation
from looseleaf.training.faults import TrainingError
from looseleaf.training.rollout import Rollout
from looseleaf.training.rollout_record import RolloutRecord
from looseleaf.training.rollout_rewards import Evidence, RolloutScorer, placebo, reward_records
from looseleaf.training.rollout_trainer import RolloutTrainer
from looseleaf.training.telemetry import StepLog, TokenCounts, step_metrics
from looseleaf.trajectory import Trajectory

__all__ = ["AdvantageRule", "LooseleafTrainer"]


class AdvantageRule(NamedTuple):
    """How rewards become advantages (`looseleaf.reward.group_advantages`)."""

    eps: float
    ddof: Literal[0, 1]
    scale: Scale


class _Scored(NamedTuple):
    """One rollout on its way from its process to the others."""

    trajectory: Trajectory
    evidence: Evidence
    tokens: TokenCounts


class LooseleafTrainer(RolloutTrainer):
    """GRPO on rollouts of `looseleaf.Environment`.

    Args:
        conversation: makes the model's tokens.
        scorer: gives evidence for rewards.
        rule: of advantages.
        is_placebo: hand memory scores to members of the group at random before the reward is computed.
        record: where rollouts are kept, if anywhere.
        steps: where the numbers of each step are kept, if anywhere.
        trl: everything that `GRPOTrainer` takes.
    """

    def __init__(
        self,
        *,
        conversation: Conversation,
        scorer: RolloutScorer,
        rule: AdvantageRule,
        is_placebo: bool = False,
        record: RolloutRecord | None = None,
        steps: StepLog | None = None,
        **trl: Any,
    ) -> None:
        self.scorer = scorer
        self.sampled: GroupAdvantages | None = None
        self._rule = rule
        self._is_placebo = is_placebo
        self._record = record
        self._step_log = steps
        super().__init__(conversation=conversation, reward_funcs=rollout_reward, **trl)

    # -- a generation batch ----------------------------------------------------------------------------------------

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        self._seed_noise()
        with warnings.catch_warnings():  # trl 1.16 asks transformers 5.14 by a name that is going
            warnings.filterwarnings("ignore", message="`is_gradient_checkpointing`", category=FutureWarning)
            output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if any(rollout.images for rollout in self.rollouts) and "pixel_values" not in output:
            raise TrainingError(
                "The page images were dropped because their number does not match the image tokens; "
                "see that the processor and the chat template belong to the model."
            )
        if not self.gating:
            self._put_advantages(output, len(inputs))
        return output

    def _seed_noise(self) -> None:
        place = (self.args.seed, self.state.global_step, self.accelerator.process_index)
        torch.manual_seed(int(np.random.SeedSequence(place).generate_state(1)[0]))

    # -- rewards and advantages --------------------------------------------------------------------------------

    def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, completion_ids: Any) -> Any:
        device = self.accelerator.device
        world = self.accelerator.num_processes
        if self.gating:
            return torch.zeros(len(inputs) * world, 1, device=device)
        scored: list[_Scored] = gather_object(self._scored(inputs))
        values = self._rewarded(scored)
        return torch.tensor(values, dtype=torch.float32, device=device).unsqueeze(1)

    def _scored(self, inputs: Sequence[Mapping[str, Any]]) -> list[_Scored]:
        """This process's rollouts, read and scored."""
        first = self.accelerator.process_index * len(inputs)
        run_id = "" if self._record is None else self._record.run_id
        trajectories = [
            rollout.shim._trajectory(
                sample_index=row["visit"] * self.num_generations + (first + number) % self.num_generations,
                seed=self.args.seed,
                step=self.state.global_step,
                run_id=run_id,
            )
            for number, (rollout, row) in enumerate(zip(self.rollouts, inputs, strict=True))
        ]
        questions = [rollout.shim._question for rollout in self.rollouts]
        evidence = self._events.run(self.scorer.evidence(zip(questions, trajectories, strict=True)))
        counts = [_tokens_of(rollout) for rollout in self.rollouts]
        return [_Scored(*each) for each in zip(trajectories, evidence, counts, strict=True)]

    def _rewarded(self, scored: Sequence[_Scored]) -> list[float]:
        """Rewards of the rollouts of all processes, NaN where unscored; advantages and records are kept."""
        step = self.state.global_step
        groups = [number // self.num_generations for number in range(len(scored))]
        evidence = [each.evidence for each in scored]
        if self._is_placebo:
            evidence = placebo(evidence, groups, (self.args.seed, step))
        records = reward_records(self.scorer.reward, evidence, self.scorer.ids, step)
        values = [math.nan if record.value is None else record.value for record in records]
        rule = self._rule
        self.sampled = group_advantages(values, groups, rule.eps, rule.ddof, rule.scale)
        self._keep(scored, records)
        return values

    def _keep(self, scored: Sequence[_Scored], records: Sequence[RewardRecord]) -> None:
        assert self.sampled is not None
        trajectories = [each.trajectory for each in scored]
        evidence = [each.evidence for each in scored]
        counted = np.array([each.tokens for each in scored]).sum(axis=0).tolist()
        numbers = step_metrics(
            trajectories,
            evidence,
            records,
            self.sampled,
            TokenCounts(*counted),
            threshold=self.scorer.threshold,
        )
        for name, value in numbers.items():
            if not math.isnan(value):  # what is undefined in a step has no point on a curve
                self._metrics["train"][f"looseleaf/{name}"].append(value)
        if self._record is not None and self.accelerator.is_main_process:
            self._record.append(trajectories, evidence, records)

    def _put_advantages(self, output: dict[str, Any], local: int) -> None:
        """Replace TRL's advantages, and take unscored rollouts out of the loss."""
        assert self.sampled is not None
        mine = slice(self.accelerator.process_index * local, (self.accelerator.process_index + 1) * local)
        old = output["advantages"]
        output["advantages"] = torch.as_tensor(self.sampled.values[mine]).to(old.device, old.dtype)
        counts = torch.as_tensor(self.sampled.scored[mine]).to(old.device).unsqueeze(1)
        output["tool_mask"] = output["tool_mask"] * counts
        mask = output["completion_mask"] * output["tool_mask"]
        output["num_items_in_batch"] = self.accelerator.gather(mask.sum()).sum()
        logged = self._logs["advantages"]
        for _ in range(min(len(logged), len(self.sampled.values))):
            logged.pop()
        logged.extend(self.sampled.values.tolist())

    # -- the log -----------------------------------------------------------------------------------------------

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log through TRL, and keep the numbers of each step in `steps.jsonl`."""
        super().log(logs, start_time)
        if self._step_log is not None and "loss" in logs and self.accelerator.is_main_process:
            self._step_log.append(self.state.global_step, logs)

    def close(self) -> None:
        """Close files and the event loop of models and pages."""
        if self._record is not None:
            self._record.close()
        self._events.close()


def rollout_reward(**_: Any) -> list[float]:
    """TRL wants a reward function; `LooseleafTrainer._calculate_rewards` never calls it."""
    raise NotImplementedError


def _tokens_of(rollout: Rollout) -> TokenCounts:
    generated = sum(rollout.generated)
    return TokenCounts(rollout.start, generated, len(rollout.generated) - generated, len(rollout.images))
