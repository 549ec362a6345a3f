"""`looseleaf export datasets`: a run, or a set of documents with questions, as a Hugging Face dataset on disk.

Of a run: one row a trajectory, with its question, steps, memory, scores and readings. Of a data folder (generated
documents, or any benchmark by name): one row a question, with its evidence pages as images where they are asked for.
Both are read by `datasets.load_from_disk`. Rows are written as they are made;
only the scores of a run are held while they are joined.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from looseleaf.adapters.exporter import Exporter
from looseleaf.adapters.run_rows import Row, finding_rows, question_row, step_rows, trajectory_row
from looseleaf.benchmarks import QuestionSet, canonical_name, load_benchmark
from looseleaf.document import default_store
from looseleaf.errors import ConfigError, RunError
from looseleaf.question import Question
from looseleaf.runstore import Run, ScoreRow
from looseleaf.trajectory import Trajectory

if TYPE_CHECKING:
    import datasets

__all__ = ["DATASETS", "export_datasets"]

IMAGES = ("none", "evidence", "all")


def export_datasets(folder: Path, out: Path, options: Mapping[str, str] | None = None) -> list[str]:
    """Write a RUN or a data folder as a dataset.

    Args:
        folder: a RUN, or the data folder of a benchmark.
        out: new or empty folder.
        options: of a data folder, `benchmark` (procedural by default) and `images` (`none`, `evidence` or `all`).

    Returns:
        Lines that say what was written.

    Raises:
        ConfigError: an option has no such value, or does not go with what `folder` is.
        UserError: the folder cannot be read, or `out` holds something or cannot be written.
    """
    options = options or {}
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(f"{out} holds something already; choose another --out.")
    is_run = (folder / "trajectories.jsonl").exists() or (folder / "config.toml").exists()
    if is_run:
        if options:
            raise ConfigError(f"{folder} is a run; the options of a dataset of questions do not go with it.")
        run = Run.open(folder)
        count = _save(lambda: _run_rows(run), _run_features(), out)
        return [f"{count:,} trajectories in {out}; read them with datasets.load_from_disk."]
    images = options.get("images", "none")
    if images not in IMAGES:
        raise ConfigError(f"images is {images!r}; use one of {', '.join(IMAGES)}.")
    found = load_benchmark(canonical_name(options.get("benchmark", "procedural")), folder)
    count = _save(lambda: _question_rows(found, images), _question_features(images), out)
    return [f"{count:,} questions in {out}; read them with datasets.load_from_disk."]


def _save(rows: Callable[[], Iterator[Row]], features: datasets.Features, out: Path) -> int:
    """Write rows through Arrow files in a temporary folder."""
    from datasets import Dataset, disable_progress_bars
    from datasets.arrow_writer import ArrowWriter

    disable_progress_bars()
    try:
        with tempfile.TemporaryDirectory(prefix="looseleaf-") as place:
            path = Path(place) / "rows.arrow"
            with ArrowWriter(features=features, path=str(path), writer_batch_size=WRITER_BATCH) as writer:
                for row in rows():
                    writer.write(features.encode_example({name: row.get(name) for name in features}))
                count, _ = writer.finalize()
            Dataset.from_file(str(path)).save_to_disk(str(out))
    except OSError as problem:
        raise RunError(f"{out} cannot be written ({problem.strerror}); choose another --out.") from problem
    return int(count)


WRITER_BATCH = 256
"""Rows in memory before they are written; page images make single rows large."""


# -- runs ----------------------------------------------------------------------------------------------------------


def _run_rows(run: Run) -> Iterator[Row]:
    questions = {question.question_id: question for question in run.read_questions()}
    score_ids = tuple(run.sidecars("scores"))
    scores = {name: _by_trajectory(run, name) for name in score_ids}
    for made in run.read_trajectories():
        yield _run_row(made, questions.get(made.question_id), scores)


def _by_trajectory(run: Run, score_id: str) -> dict[str, list[ScoreRow]]:
    found: dict[str, list[ScoreRow]] = {}
    for row in run.scores(score_id).read_last(lambda row: str(row.key)):
        found.setdefault(row.trajectory_id, []).append(row)
    return found


def _run_row(
    made: Trajectory, question: Question | None, scores: Mapping[str, Mapping[str, list[ScoreRow]]]
) -> Row:
    asked = question_row(question) if question is not None else {}
    counted = trajectory_row(made)
    return {
        **{name: asked.get(name) for name in GOLD},
        **{name: counted[name] for name in COUNTED},
        "benchmark": made.benchmark,
        "memory": [{name: row[name] for name in ("text", "source_page")} for row in finding_rows(made)]
        if "memory" not in made.undefined
        else None,
        "steps": [{name: row[name] for name in STEP} for row in step_rows(made)],
        "scores": [
            {
                "score_id": score_id,
                "target": row.target,
                "reading_id": row.reading_id,
                "variant": row.variant,
                "value": row.value,
                "unscored": None if row.unscored is None else str(row.unscored),
            }
            for score_id, found in scores.items()
            for row in found.get(made.trajectory_id, ())
        ],
    }


GOLD = ("references", "answer_format", "evidence_pages", "doc_type", "unanswerable")
COUNTED = (
    *(
        "trajectory_id",
        "question_id",
        "doc_id",
        "question",
        "protocol",
        "answer",
        "stop_reason",
        "sample_index",
    ),
    *("turns", "shown_pages", "undefined", "error"),
)
STEP = ("turn", "thought", "action", "arguments", "observation", "shown", "model_text", "invalid")


def _run_features() -> datasets.Features:
    from datasets import Features, List, Value

    text, whole = Value("string"), Value("int64")
    texts, pages = List(text), List(whole)
    return Features(
        {
            **dict.fromkeys(("trajectory_id", "question_id", "benchmark", "doc_id", "question"), text),
            **{"references": text, "answer_format": text, "evidence_pages": pages, "doc_type": text},
            "unanswerable": Value("bool"),
            **{"protocol": text, "answer": text, "stop_reason": text, "sample_index": whole},
            **{"turns": whole, "shown_pages": pages, "undefined": texts, "error": text},
            "memory": List({"text": text, "source_page": whole}),
            "steps": List({**dict.fromkeys(STEP, text), "turn": whole, "shown": pages}),
            "scores": List(
                {
                    **dict.fromkeys(("score_id", "target", "reading_id", "variant"), text),
                    "value": Value("float64"),
                    "unscored": text,
                }
            ),
        }
    )


# -- questions -----------------------------------------------------------------------------------------------------


def _question_rows(found: QuestionSet, images: str) -> Iterator[Row]:
    store = default_store()
    for question in found.runnable:
        document = found.open(question, store)
        pages = {
            "none": (),
            "evidence": question.evidence_pages or (),
            "all": range(1, document.page_count + 1),
        }[images]
        kept = [page for page in pages if 1 <= page <= document.page_count]
        yield {
            **question_row(question),
            "doc_sha256": document.sha256,
            "page_count": document.page_count,
            "image_pages": kept,
            "images": [{"bytes": document.image(page).jpeg, "path": None} for page in kept],
        }


def _question_features(images: str) -> datasets.Features:
    from datasets import Features, Image, List, Value

    text, pages = Value("string"), List(Value("int64"))
    return Features(
        {
            **dict.fromkeys(("question_id", "native_id", "benchmark", "split", "doc_id", "doc_sha256"), text),
            "page_count": Value("int64"),
            **{"question": text, "references": text, "answer_format": text, "evidence_pages": pages},
            **{"sources": List(text), "doc_type": text, "tags": text, "unanswerable": Value("bool")},
            **({} if images == "none" else {"image_pages": pages, "images": List(Image())}),
        }
    )


DATASETS = Exporter(
    name="datasets",
    title="a Hugging Face dataset on disk, of a RUN or of a data folder",
    write=export_datasets,
    options={
        "benchmark": "of a data folder: which benchmark it holds; procedural by default",
        "images": "of a data folder: page images in each row: none (the default), evidence or all",
    },
    needs="datasets",
    extra="export",
)
"""Hugging Face datasets of runs and data folders."""
