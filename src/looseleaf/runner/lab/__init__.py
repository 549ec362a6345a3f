"""Running the memory lab on a stored run: readings of memory variants, answers under swapped memories, grounding."""

from looseleaf.runner.lab.config import LabConfig
from looseleaf.runner.lab.execute import LabOutcome, run_lab

__all__ = ["LabConfig", "LabOutcome", "run_lab"]
