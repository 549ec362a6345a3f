"""`Refusal`: how code in a worker says that a file or page cannot be used."""

from __future__ import annotations

__all__ = ["Broken", "Refusal"]


class Refusal(Exception):  # noqa: N818 — it becomes a DocumentError only where the document's name is known
    """Ends a sentence that starts with the document or page: what is wrong, and what to do."""


class Broken(Refusal):
    """The worker itself cannot work, whatever it is asked."""
