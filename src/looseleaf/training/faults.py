"""What ends a training: one sentence each, never a training signal."""

from __future__ import annotations

from looseleaf.errors import FaultError, UserError

__all__ = ["GateError", "ToolFaultError", "TrainingError"]


class TrainingError(UserError):
    """The training cannot go on as it was set up."""


class GateError(TrainingError):
    """A check before the first step failed: rollouts and loss would not be about the same tokens or pages."""


class ToolFaultError(FaultError):
    """An action raised an exception that is no doing of the model; the whole training ends."""
