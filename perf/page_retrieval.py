"""How well a retriever finds the gold pages inside their document: recall and hit rate at k.

    python perf/page_retrieval.py DATA [K] [RETRIEVER]

DATA is a folder in the layout of MMLongBench-Doc. Two sets of rows: answerable rows whose gold pages all exist and have
a text layer, and all answerable rows with gold pages.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from looseleaf.benchmarks import load_benchmark
from looseleaf.document import MIN_TEXT_CHARACTERS, Document, default_store
from looseleaf.metrics.navigation import page_recall
from looseleaf.models.retrievers import retriever_maker
from looseleaf.question import Question
from looseleaf.retrieval import Retriever, RetrieverMaker

DEFAULT_K = 3


def main(data: Path, k: int, spec: str) -> None:
    """Print the two lines."""
    make = retriever_maker(spec)
    question_set = load_benchmark("mmlongbench-doc", data)
    opened: dict[str, tuple[Document, Retriever]] = {}
    readable, all_rows = [], []
    start = time.process_time()
    for question in question_set.runnable:
        if question.unanswerable or not question.evidence_pages:
            continue
        if question.doc_id not in opened:
            opened[question.doc_id] = indexed(question_set.path_of(question), question, make)
        document, retriever = opened[question.doc_id]
        gold = frozenset(question.evidence_pages)
        shown = frozenset(page.page for page in retriever.search(question.question, k))
        row = (page_recall(shown, gold), bool(shown & gold))
        all_rows.append(row)
        if all(has_text(document, page) for page in gold):
            readable.append(row)
    print(f"{spec}: CPU {time.process_time() - start:.1f} s, k = {k}")
    for name, rows in (("gold pages readable", readable), ("all answerable with gold pages", all_rows)):
        recall = sum(row[0] for row in rows) / len(rows)
        hit = sum(row[1] for row in rows) / len(rows)
        print(f"{name}: n = {len(rows)}, recall {recall:.3f}, hit rate {hit:.3f}")


def indexed(path: Path, question: Question, make: RetrieverMaker) -> tuple[Document, Retriever]:
    """The document with its index."""
    document = Document.open(path, store=default_store(), doc_id=question.doc_id)
    retriever = make()
    retriever.index(document)
    return document, retriever


def has_text(document: Document, page: int) -> bool:
    """Whether the page exists and has a text layer."""
    return 1 <= page <= document.page_count and len(document.text(page).strip()) >= MIN_TEXT_CHARACTERS


if __name__ == "__main__":
    arguments = dict(enumerate(sys.argv))
    main(Path(arguments[1]), int(arguments.get(2, DEFAULT_K)), arguments.get(3, "bm25"))
