"""looseleaf: the bench for long-document visual question answering agents.

People give it long PDFs and an agent that searches and fetches pages, writes short source-linked findings into a
working memory, and answers. looseleaf runs the agent, scores it with the benchmarks' own rules, shows how it
navigated, and measures whether the memory alone can answer.
"""

from __future__ import annotations

__version__ = "0.1.0"

from looseleaf.document import Document
from looseleaf.environment import Environment
from looseleaf.memory import Finding, WorkingMemory
from looseleaf.protocol import Protocol
from looseleaf.question import Question
from looseleaf.roles import Action, Observation, PolicyTurn, PolicyView, Reading
from looseleaf.score import Score
from looseleaf.trajectory import StopReason, Trajectory

__all__ = [
    "Action",
    "Document",
    "Environment",
    "Finding",
    "Observation",
    "PolicyTurn",
    "PolicyView",
    "Protocol",
    "Question",
    "Reading",
    "Score",
    "StopReason",
    "Trajectory",
    "WorkingMemory",
    "__version__",
]
