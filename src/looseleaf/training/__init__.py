"""Training the policy: SFT on trajectories, GRPO on the environment, and the demonstration on a tiny model."""
