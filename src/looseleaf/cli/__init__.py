"""The `looseleaf` command: one file a verb; each imports its room inside the command, so that help is quick."""

from looseleaf.cli.app import main

__all__ = ["main"]
