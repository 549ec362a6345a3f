"""What OCR gains on documents without a text layer: evidence pages found, and questions answered, before and after.

    python perf/ocr.py DATA [--out RUNS] [--cache FOLDER]

DATA is a folder in the layout of MMLongBench-Doc; of its documents those without any text layer are taken. The embedded
policy, which sees text only, answers their questions with the text layer alone and with OCR. Needs looseleaf[ocr];
one to two CPU seconds a slide, once a cache folder.

Checked: the evidence-page hit rate at 3 and the accuracy on answerable questions both rise.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from looseleaf.benchmarks import QuestionSet, load_benchmark
from looseleaf.document import PageStore, require_ocr
from looseleaf.metrics import evaluate_rows
from looseleaf.metrics.stored import stored_rows
from looseleaf.question import Question
from looseleaf.retrieval import BM25Retriever
from looseleaf.runner.config import DataConfig, RunConfig, ScoreConfig
from looseleaf.runner.execute import execute
from looseleaf.runner.score import score_run

BENCHMARK = "mmlongbench-doc"
SHOWN = 3
METRICS = ("Acc", "Acc[answerable]", "Acc[unanswerable]", "Rec", "Hit")


def without_text(question_set: QuestionSet, store: PageStore) -> list[Question]:
    """The questions whose document has no text layer."""
    first = {question.doc_id: question for question in reversed(question_set.runnable)}
    bare = {name for name, question in first.items() if not question_set.open(question, store).has_text}
    return [question for question in question_set.runnable if question.doc_id in bare]


def hit_rate(
    question_set: QuestionSet, questions: list[Question], store: PageStore, *, ocr: bool
) -> tuple[float, int]:
    """Share of answerable questions for which the first pages hold an evidence page, and their number."""
    retrievers: dict[str, BM25Retriever] = {}
    hits = []
    for question in questions:
        if question.unanswerable or not question.evidence_pages:
            continue
        if question.doc_id not in retrievers:
            retrievers[question.doc_id] = BM25Retriever()
            retrievers[question.doc_id].index(question_set.open(question, store, ocr=ocr))
        found = {hit.page for hit in retrievers[question.doc_id].search(question.question, SHOWN)}
        hits.append(bool(found & set(question.evidence_pages)))
    return sum(hits) / len(hits), len(hits)


def answered(
    data: Path, questions: list[Question], out: Path, store: PageStore, *, ocr: bool
) -> dict[str, float]:
    """The run's metrics."""
    config = RunConfig(
        data=DataConfig(benchmark=BENCHMARK, path=str(data)),
        ids=tuple(question.question_id for question in questions),
        ocr=ocr,
    )
    run = execute(config, out, store=store).run
    scored = score_run(run, ScoreConfig())
    rows = stored_rows(run, scored.score_id, scored.reading_ids[0])
    table = evaluate_rows(rows, METRICS)
    return {name: float(table[name].value or 0.0) for name in METRICS}


def main() -> int:
    """Print both settings and check that OCR gains."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, help="where the two runs are kept")
    parser.add_argument("--cache", type=Path, help="cache folder; the usual one if not given")
    given = parser.parse_args()
    print(require_ocr())
    question_set = load_benchmark(BENCHMARK, given.data)
    with tempfile.TemporaryDirectory() as scratch, PageStore(given.cache) as store:
        questions = without_text(question_set, store)
        documents = len({question.doc_id for question in questions})
        print(f"{len(questions)} questions over {documents} documents without a text layer")
        gained = []
        for ocr in (False, True):
            hit, n = hit_rate(question_set, questions, store, ocr=ocr)
            name = "with OCR" if ocr else "text layer"
            values = answered(
                given.data, questions, (given.out or Path(scratch)) / name.replace(" ", "-"), store, ocr=ocr
            )
            listed = ", ".join(f"{metric} {value:.3f}" for metric, value in values.items())
            print(f"{name:10}: hit rate at {SHOWN} {hit:.3f} (n = {n}), {listed}")
            gained.append((hit, values["Acc[answerable]"]))
        if store.pages_recognized:
            seconds = store.ocr_cpu_seconds / store.pages_recognized
            print(f"{store.pages_recognized} pages read by OCR, {seconds:.2f} CPU-s a page")
    rises = all(after > before for before, after in zip(*gained, strict=True))
    return 0 if rises else 1


if __name__ == "__main__":
    sys.exit(main())
