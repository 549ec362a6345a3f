"""The notation of an extracted answer that both official pipelines parse."""

from __future__ import annotations

import re
from typing import Final

from looseleaf.scoring.longdocurl import official_prediction

__all__ = ["FAIL_TO_ANSWER", "label_of", "render"]

FAIL_TO_ANSWER: Final = "Fail to answer"
"""What both official prompts ask for where the response says that the document could not be read."""

_MARKS: Final = re.compile(r"Answer format:|Extracted answer:|</?(?:concise_answer|answer_format)>")


def render(answer: str, label: str) -> str:
    """The extractor output for one answer: MMLongBench-Doc's two lines, then LongDocURL's two tags.

    Args:
        answer: the short answer on one line; a list is written as a Python list with its texts in quotation marks.
        label: `Integer`, `Float`, `String`, `List` or `None`.
    """
    answer = " ".join(_MARKS.sub(" ", answer).split())
    return (
        f"Extracted answer: {answer}\nAnswer format: {label}\n"
        f"<concise_answer>{_quoted_if_evaluated(answer, label)}</concise_answer>\n"
        f"<answer_format>{label}</answer_format>"
    )


def _quoted_if_evaluated(answer: str, label: str) -> str:
    """Quotation marks around a text of which LongDocURL's pipeline would make something else ("2015-2016" → -1)."""
    if label != "String":
        return answer
    value = official_prediction(answer)
    return answer if isinstance(value, str) and value == answer else repr(answer)


def label_of(answer: str) -> str:
    """The official word for the format of a short answer."""
    if re.fullmatch(r"[-+]?\d+", answer):
        return "Integer"
    if re.fullmatch(r"[-+$£€]*\d*\.?\d+%?", answer):
        return "Float"
    return "List" if answer.startswith("[") and answer.endswith("]") else "String"
