"""The tools of a desk beside the protocol's actions, as function definitions."""

from __future__ import annotations

from typing import Any

__all__ = ["ASK", "CHECK_MEMORY", "LIST_DOCUMENTS", "LIST_QUESTIONS"]


def _tool(name: str, description: str, required: tuple[str, ...] = (), **arguments: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "parameters": {
            "type": "object",
            "properties": {
                argument: {"type": "string", "description": text} for argument, text in arguments.items()
            },
            "required": list(required),
            "additionalProperties": False,
        },
    }


LIST_DOCUMENTS = _tool("list_documents", "Names of the documents that can be asked about.")
LIST_QUESTIONS = _tool("list_questions", "The questions that are still to be answered, with their ids.")
ASK = _tool(
    "ask",
    "Open a question; it says how to work on it. Then search, fetch and note, and end with answer.",
    ("question",),
    question="the question, or the id of a listed one",
    document="name of the document that it is about; all documents if left out",
)
CHECK_MEMORY = _tool(
    "check_memory",
    "After the answer: whether your notes alone give it to a reader who has seen no page.",
)
