"""Training the policy: SFT on trajectories, GRPO on the environment, and the demonstration on a tiny model."""

from looseleaf.training.hf_policy import register

__all__: list[str] = []

register()
