"""`PlannedPrompts`: the prompts of a training as verl's data set, the same and in the same order as the built-in
trainer draws them.

verl's own `RLHFDataset` reads rendered prompts from Parquet; here a row is the name of a question, and the agent loop
makes its first message from the environment, so nothing has to be exported and nothing can be out of date.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset

from looseleaf.errors import ConfigError
from looseleaf.training.config_file import load_config
from looseleaf.training.plan import plan_prompts
from looseleaf.training.questions import training_set
from looseleaf.training.verl.engine import AGENT

__all__ = ["PlannedPrompts", "config_path"]


class PlannedPrompts(Dataset):  # type: ignore[misc, unused-ignore]  # untyped where torch is not read
    """One row a group, `steps × groups_per_step` in all.

    Args:
        data_files: the training configuration, as `data.train_files` names it.
        tokenizer: not used.
        config: verl's `data`, not used.
        processor: not used.
        max_samples: only the first so many rows; negative = all.

    Raises:
        UserError: the configuration or its questions cannot be used.
    """

    def __init__(
        self,
        data_files: Any,
        tokenizer: Any = None,
        config: Any = None,
        processor: Any = None,
        max_samples: int = -1,
    ) -> None:
        training = load_config(config_path(data_files))
        train = training.train
        self._questions = {question.question_id: question for question in training_set(training).questions}
        count = (train.steps or 1) * train.groups_per_step
        planned = plan_prompts(list(self._questions), count, train.seed)
        self._planned = planned[:max_samples] if max_samples >= 0 else planned

    def __len__(self) -> int:
        return len(self._planned)

    def __getitem__(self, number: int) -> dict[str, Any]:
        planned = self._planned[number]
        question = self._questions[planned.question_id]
        return {
            "raw_prompt": [{"role": "user", "content": question.question}],  # for verl's tables alone
            "data_source": question.benchmark,
            "reward_model": {"style": AGENT, "ground_truth": ""},  # the gold answer stays with the scorer
            "agent_name": AGENT,
            "question_id": planned.question_id,
            "visit": planned.visit,
            "extra_info": {"index": number},
            "index": number,
            "dummy_tensor": torch.tensor([0], dtype=torch.uint8),  # verl's batches must hold a tensor
        }


def config_path(data_files: Any) -> Path:
    """The one training configuration that `data.train_files` names.

    Raises:
        ConfigError: it names none or several.
    """
    files = [data_files] if isinstance(data_files, str | Path) else list(data_files)
    if len(files) != 1 or not str(files[0]).endswith(".toml"):
        raise ConfigError(
            "data.train_files must name one training configuration of looseleaf (a TOML file); "
            "start verl with `python -m looseleaf.training.verl CONFIG.toml`, which sets it."
        )
    return Path(str(files[0]))
