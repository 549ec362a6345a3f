"""Four small documents with questions, made by `scripts/make_demo_documents.py`, in the layout of MMLongBench-Doc."""

from pathlib import Path

__all__ = ["DEMO_DATA"]

DEMO_DATA = Path(__file__).parent
"""Folder with `samples.json` and `documents/`."""
