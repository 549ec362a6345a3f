"""Runs for tests of the viewer: real documents, a run of 2,325 trajectories, and one full of hostile text."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from fakes import make_question, pdf_bytes
from looseleaf import Finding, StopReason, Trajectory
from looseleaf.document import Document, PageStore
from looseleaf.roles import Action, Observation, Returned, Usage
from looseleaf.runner.config import DataConfig, RunConfig
from looseleaf.runstore import ReadingRow, Run, ScoreRow
from looseleaf.trajectory import Step
from looseleaf.viewer.app import make_app
from looseleaf.viewer.serve import listen, make_server

SCORES, SECOND = "mmlongbench-11111111", "judge-22222222"
READER = "embedded-33333333"
LONGDOCURL_ROWS = 2_325
"""Questions of LongDocURL, the largest set."""
HOSTILE = '<script>window.planted = 1</script><img src=x onerror="window.planted = 2">'
PAGES = (
    "A survey of railways.",
    "The city of Oslo has 7 stations in use.",
    "The city of Lima has 12 stations in use.",
)


def write_documents(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.pdf").write_bytes(pdf_bytes(*PAGES))
    return folder / "report.pdf"


def trajectory(index: int, sha256: str, **fields: object) -> Trajectory:
    given: dict[str, object] = {
        "trajectory_id": f"mini:{index}#0",
        "question_id": f"mini:{index}",
        "benchmark": "mini",
        "doc_id": "report.pdf",
        "doc_sha256": sha256,
        "question": f"How many stations does Oslo have ({index})?",
        "steps": (
            Step(
                turn=1,
                thought="I look for Oslo.",
                action=Action.search("Oslo stations"),
                observation=Observation("Pages 2, 3:", (Returned(2, 3.5), Returned(3, 1.2)), (2, 3)),
                model_text="raw text of the first turn",
                usage=Usage(prompt_tokens=1200, completion_tokens=30, calls=1),
                seconds=1.5,
            ),
            Step(turn=2, action=Action.note("Oslo has 7 stations.", 2), observation=Observation("Noted.")),
            Step(turn=3, action=Action.note("Lima has 12 stations.", 3), observation=Observation("Noted.")),
            Step(turn=4, action=Action.answer("7"), observation=Observation("")),
        ),
        "memory": (Finding("Oslo has 7 stations.", 2), Finding("Lima has 12 stations.", 3)),
        "answer": "7",
        "stop_reason": StopReason.ANSWERED,
        "usage": Usage(prompt_tokens=1200, completion_tokens=30, calls=1),
        "seconds": 2.0,
    }
    return Trajectory(**(given | fields))  # type: ignore[arg-type]


def make_run(
    path: Path, n: int = 12, *, every_memory: int = 2, hostile: bool = False, sha256: str | None = None
) -> Run:
    """A scored run over `path.parent / docs`; every third answer wrong, memories right every `every_memory`-th row.

    A second scorer disagrees on row 1.
    """
    pdf = write_documents(path.parent / "docs")
    (path.parent / "mini.jsonl").write_text(
        '{"doc_id": "report.pdf", "question": "q", "answer": 7}\n', encoding="utf-8"
    )
    with PageStore(path.parent / "cache") as store:
        sha256 = sha256 or Document.open(pdf, store=store).sha256
    run = Run.create(path)
    data = DataConfig(benchmark=str(path.parent / "mini.jsonl"), path=str(path.parent / "docs"))
    run.write_config(RunConfig(data=data).as_tables())
    run.write_manifest({"data": {"name": "mini"}, "score": {"score_id": SCORES, "reading_ids": [READER]}})
    words = {"question": HOSTILE, "doc_type": HOSTILE, "answer_format": HOSTILE} if hostile else {}
    run.write_questions(
        make_question(
            index,
            doc_id="report.pdf",
            evidence_pages=(2,),
            **(
                {"sources": ("Table",) if index % 2 else ("Chart",), "question": f"Question {index}?"} | words
            ),
        )
        for index in range(n)
    )
    run.write_sidecar("readings", READER, {"reader": {"backend": "embedded", "argument": ""}})
    for name in (SCORES, SECOND):
        run.write_sidecar("scores", name, {"scorer": name.split("-")[0]})
    spoilt = {"answer": HOSTILE, "memory": (Finding(HOSTILE, 2),), "error": HOSTILE} if hostile else {}
    if hostile:
        step = Step(turn=1, thought=HOSTILE, action=Action(HOSTILE, {HOSTILE: HOSTILE}), model_text=HOSTILE,
                    observation=Observation(HOSTILE, (), (2,)), invalid=HOSTILE)  # fmt: skip
        spoilt["steps"] = (step,)
    records = (msgspec.json.encode(trajectory(index, sha256, **spoilt)) + b"\n" for index in range(n))
    (run.path / "trajectories.jsonl").write_bytes(b"".join(records))  # thousands of fsyncs take a minute
    readings, ledgers = run.readings(READER), {name: run.scores(name) for name in (SCORES, SECOND)}
    with run.writing():
        for index in range(n):
            key = f"mini:{index}#0"
            readings.append(ReadingRow(trajectory_id=key, text=HOSTILE if hostile else "7"))
            right, remembered = float(index % 3 != 2), float(index % every_memory == 0)
            for name, scores in ledgers.items():
                value = 1 - right if name == SECOND and index == 1 else right
                scores.append(ScoreRow(trajectory_id=key, target="answer", value=value, prediction="7"))
                scores.append(
                    ScoreRow(
                        trajectory_id=key,
                        target="memory",
                        reading_id=READER,
                        value=remembered,
                        prediction="7",
                    )
                )
    return run


@contextmanager
def served(runs: Sequence[Run], store: PageStore) -> Iterator[str]:
    """The viewer's address, while it is served in another thread."""
    server = make_server(make_app(runs, store=store))
    listening = listen(0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()
