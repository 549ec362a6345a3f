"""looseleaf: the bench for long-document visual question answering agents."""

__version__ = "0.1.0"
