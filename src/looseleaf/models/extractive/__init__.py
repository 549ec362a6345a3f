"""The embedded extractive model: answers read off a text by rules, deterministic and without any network.

A text-and-OCR extractive baseline, not a VLM: it sees words, table rows and printed numbers, never a picture.
"""

from looseleaf.models.extractive.candidate import Candidate, Passage
from looseleaf.models.extractive.engine import answer, candidates

__all__ = ["Candidate", "Passage", "answer", "candidates"]
