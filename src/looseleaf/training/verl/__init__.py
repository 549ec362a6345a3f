"""GRPO on verl: the same rollouts, rewards and advantages on Ray, for policies that outgrow one node.

verl (Apache-2.0, verl-project/verl, 0.9.1) keeps models, servers, the loss and checkpoints. It is given an agent loop
that plays `looseleaf.Environment` (`player`), an advantage estimator (`estimator`) and a data set of planned prompts
(`dataset`). `settings` turns a training configuration into verl's, and `launch` starts it.

It lives beside the built-in trainer and not among the adapters, because it shares that trainer's conversation, shim,
rewards and configuration.
"""

from __future__ import annotations

from looseleaf.training.verl.engine import AGENT, ESTIMATOR, NO_VERL_EXTRA, require_verl

__all__ = ["AGENT", "ESTIMATOR", "NO_VERL_EXTRA", "require_verl"]
