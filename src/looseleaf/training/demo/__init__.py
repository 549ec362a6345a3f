"""The demonstration: a tiny model learns on a processor to write notes that can answer, or does not."""

from looseleaf.training.demo.run import run_demo

__all__ = ["run_demo"]
