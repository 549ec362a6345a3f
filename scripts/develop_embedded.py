"""Accuracy of the embedded agent on one half of MMLongBench-Doc's documents, per answer format.

Run `python scripts/develop_embedded.py DATA`, where DATA is a folder in MMLongBench-Doc's layout. The documents are
split by the last hex digit of sha256(doc_id): even digits are the development half, odd digits the reported half.
The extractor was developed on the first; of the second this script prints sums only, never a question.

    python scripts/develop_embedded.py DATA                    the development half
    python scripts/develop_embedded.py DATA --questions        and each of its questions
    python scripts/develop_embedded.py DATA --reported         sums over the reported half
    python scripts/develop_embedded.py DATA --policy question-only
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from looseleaf.agent import run_agent
from looseleaf.benchmarks import QuestionSet, load_benchmark
from looseleaf.document import PageStore
from looseleaf.environment import Environment
from looseleaf.memory import WorkingMemory
from looseleaf.models.embedded import EmbeddedReader, make_embedded_policy
from looseleaf.protocol import named_protocol
from looseleaf.question import NOT_ANSWERABLE, Question
from looseleaf.runner.library import Library
from looseleaf.scoring.mmlongbench import score
from looseleaf.statistics import wilson_interval

FORMATS = ("Int", "Float", "Str", "List", "None")


class Result(NamedTuple):
    """One question with what the policy answered and what the reader made of its memory."""

    question: Question
    answer: str
    from_memory: str

    def accuracy(self, text: str) -> float:
        """The official score of an answer to this question."""
        return score(self.question.references[0], text, self.question.answer_format).value or 0.0


def is_reported(doc_id: str) -> bool:
    """Whether a document belongs to the half that nothing was developed on."""
    return int(hashlib.sha256(doc_id.encode()).hexdigest()[-1], 16) % 2 == 1


def run(question_set: QuestionSet, options: argparse.Namespace, store: PageStore) -> Iterator[Result]:
    """Ask the embedded agent the questions of one half."""
    library = Library(question_set, "bm25", store, ocr=options.ocr)
    policy, reader = make_embedded_policy(options.policy), EmbeddedReader()
    for question in question_set.runnable:
        if is_reported(question.doc_id) != options.reported:
            continue
        document, retriever = library.open(question)
        environment = Environment(question, document, retriever, named_protocol(options.protocol))
        trajectory = asyncio.run(run_agent(policy, environment))
        from_memory = reader.read(question.question, WorkingMemory(trajectory.memory)).text
        yield Result(question, trajectory.answer or "", from_memory)


def print_sums(results: list[Result], seconds: float) -> None:
    """One line for each answer format, and the sums over the answerable questions."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[result.question.answer_format].append(result)
    answerable = [one for one in results if one.question.answer_format != "None"]
    print(f"{'':12}{'n':>5}{'accuracy':>10}{'from memory':>13}{'attempted':>11}")
    for name, group in [*((name, groups[name]) for name in FORMATS), ("answerable", answerable)]:
        if group:
            right = sum(one.accuracy(one.answer) for one in group)
            remembered = sum(one.accuracy(one.from_memory) for one in group)
            tried = sum(one.answer != NOT_ANSWERABLE for one in group)
            n = len(group)
            print(f"{name:12}{n:5}{right / n:10.3f}{remembered / n:13.3f}{tried / n:11.3f}")
    right = sum(one.accuracy(one.answer) for one in answerable)
    low, high = wilson_interval(right, len(answerable))
    documents = len({one.question.doc_id for one in results})
    print(
        f"answerable: {right:.2f} of {len(answerable)}, Wilson {low:.3f} to {high:.3f}, {documents} documents"
    )
    print(f"{1000 * seconds / max(len(results), 1):.0f} ms of CPU a question, documents included")


def main() -> None:
    """Run one half and print its sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--reported", action="store_true", help="the other half: sums only")
    parser.add_argument(
        "--questions", action="store_true", help="print each question of the development half"
    )
    parser.add_argument("--policy", default="", help="note style, question-only or not-answerable")
    parser.add_argument("--protocol", default="awm")
    parser.add_argument("--ocr", action="store_true", help="read pages without text by OCR")
    options = parser.parse_args()
    if options.reported and options.questions:
        parser.error("the questions of the reported half are not for looking at")
    question_set = load_benchmark("mmlongbench-doc", options.data)
    started = time.process_time()
    with PageStore() as store:
        results = list(run(question_set, options, store))
    seconds = time.process_time() - started
    if options.questions:
        for one in results:
            question = one.question
            print(
                f"{one.accuracy(one.answer):.2f} {question.answer_format:6}{question.question_id} {question.question}"
            )
            print(f"     gold {question.references[0]} | answer {one.answer} | from memory {one.from_memory}")
    print_sums(results, seconds)


if __name__ == "__main__":
    main()
