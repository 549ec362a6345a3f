"""`ask`: one question about one document or a folder of documents, as a function."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import NamedTuple

from looseleaf.agent import run_agent
from looseleaf.document import Document
from looseleaf.environment import Environment
from looseleaf.errors import AgentError, ConfigError, boundary
from looseleaf.models.registry import make_policy, make_reader
from looseleaf.models.retrievers import retriever_maker
from looseleaf.models.role_spec import RoleSpec
from looseleaf.protocol import PROTOCOLS, Protocol, named_protocol
from looseleaf.question import Question
from looseleaf.retrieval import AnyDocument, Collection, Retriever
from looseleaf.roles import Policy, Reader, Reading
from looseleaf.runner.checked import role_result
from looseleaf.trajectory import Trajectory

__all__ = ["Asked", "answer_from_memory", "ask", "run_question", "same_words"]


class Asked(NamedTuple):
    """What came of a question.

    Attributes:
        document: what was read; of a folder, its pages counted through.
        trajectory: every turn, the findings, the answer and why it ended.
        reading: what the reader answers from the findings alone; `None` where the protocol keeps no memory, or where
            a fault ended the trajectory.
    """

    document: AnyDocument
    trajectory: Trajectory
    reading: str | None

    @property
    def answer(self) -> str | None:
        """The final answer, or `None` where there is none."""
        return self.trajectory.answer

    @property
    def memory_agrees(self) -> bool | None:
        """Whether the findings alone give the same words, case and blanks aside; `None` where nothing was read."""
        return None if self.reading is None else same_words(self.reading, self.answer or "")


def ask(
    path: str | os.PathLike[str],
    question: str,
    *,
    policy: Policy | RoleSpec | str = "embedded",
    reader: Reader | RoleSpec | str = "embedded",
    protocol: Protocol | str = PROTOCOLS["awm"],
    retriever: str = "bm25",
    ocr: bool = False,
) -> Asked:
    """Ask a document, and ask whether the findings alone give the same answer. `looseleaf ask` as a function.

    Nothing is stored; `looseleaf.runner.execute.execute` runs and stores many questions.

    Args:
        path: a PDF, an image, a folder of page images, or a folder of PDFs, whose pages are counted through.
        question: what is asked.
        policy: who acts: an object with `act`, or a spec such as `openai:MODEL`.
        reader: who answers from the memory alone: an object with `read`, or a spec.
        protocol: the rules, or the name of a protocol.
        retriever: spec of the retriever.
        ocr: read pages and pictures without text by OCR.

    Raises:
        UserError: the document, the question or a role cannot be used.
        FaultError: the reader failed. A policy that fails does not raise; `trajectory.stop_reason` says so.
    """
    if not question.strip():
        raise ConfigError("The question is empty; give the words of a question.")
    rules = named_protocol(protocol) if isinstance(protocol, str) else protocol
    if "gold-pages" in (rules.retrieval, retriever):
        raise ConfigError(
            f"{rules.name} with {retriever} needs annotated gold pages, which a question of your own has not; "
            "use the protocol awm and the retriever bm25."
        )
    acting = make_policy(_spec(policy)) if isinstance(policy, (str, RoleSpec)) else policy
    reading = make_reader(_spec(reader)) if isinstance(reader, (str, RoleSpec)) else reader
    searching = retriever_maker(retriever)()
    path = Path(path)
    document = (Collection.open if Collection.is_at(path) else Document.open)(path, ocr=ocr)
    return asyncio.run(_ask(document, question, acting, reading, searching, rules))


async def _ask(
    document: AnyDocument,
    question: str,
    policy: Policy,
    reader: Reader,
    retriever: Retriever,
    rules: Protocol,
) -> Asked:
    trajectory = await run_question(document, question, policy, retriever, rules)
    if rules.memory == "none" or trajectory.stop_reason.is_fault:
        return Asked(document, trajectory, None)
    return Asked(document, trajectory, await answer_from_memory(trajectory, reader))


async def run_question(
    document: AnyDocument, question: str, policy: Policy, retriever: Retriever, rules: Protocol
) -> Trajectory:
    """Let a policy answer a question without gold; a policy that fails does not raise."""
    retriever.index(document)
    return await run_agent(policy, Environment(_question(document, question), document, retriever, rules))


async def answer_from_memory(trajectory: Trajectory, reader: Reader) -> str:
    """What a reader answers from the terminal memory alone.

    Raises:
        FaultError: the reader failed.
    """
    with boundary(AgentError, "The reader failed"):
        asked = reader.read(trajectory.question, trajectory.working_memory)
        reading = await role_result(asked, Reading, "reader")
    return reading.text


def _question(document: AnyDocument, question: str) -> Question:
    """A question without gold."""
    return Question(
        question_id="ask:0",
        native_id="0",
        benchmark="ask",
        split="",
        doc_id=document.doc_id,
        question=question,
        references=(),
        answer_format="",
    )


def _spec(given: RoleSpec | str) -> RoleSpec:
    return RoleSpec.parse(given) if isinstance(given, str) else given


def same_words(first: str, second: str) -> bool:
    """Whether two answers are the same words, case, blanks and a full stop at the end aside."""
    return _plain(first) == _plain(second)


def _plain(text: str) -> str:
    return " ".join(text.lower().split()).strip(" .")
