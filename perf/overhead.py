"""What looseleaf costs on top of the model calls themselves.

A question is 6 turns with 6 page images of about 110 kB (6 policy calls, the later ones with all images so far), one
reader call and two extractor calls, against a local stub server that answers at once. The same calls are made by

* looseleaf: the real runner and scoring stages, with documents, retrieval, trajectories and the response cache,
* a bare asyncio + openai loop that builds the same messages by hand and keeps nothing,
* Inspect AI, where it is installed, with the same messages in a solver.

Each runs in a process of its own; CPU is the user and system time of that process from the first call to the last.
Rounds alternate and the best of each is taken, since other work on the machine only ever adds time.

    python perf/overhead.py [--questions 192] [--rounds 3] [--inspect-python PYTHON]

Bounds that are checked: CPU a question at most 1.25 × the bare loop, and less than 300 MB resident at 64 in flight.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MAX_RATIO = 1.25
MAX_RSS_MB = 300
IN_FLIGHT = 64
SHOWN = ((1, 2, 3), (4, 5, 6))
"""Pages that the two searches show."""
STUB = Path(__file__).parent.parent / "tests" / "stub_server.py"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=192)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--inspect-python", default=sys.executable)
    parser.add_argument("--part", choices=["ours", "bare", "inspect"])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--base-url")
    options = parser.parse_args()
    if options.part:
        PARTS[options.part](options.folder, options.base_url)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return compare(Path(folder), options)


def compare(folder: Path, options: argparse.Namespace) -> int:
    size = prepare(folder, options.questions)
    print(f"{options.questions} questions, {IN_FLIGHT} in flight, page images of {size / 1000:.0f} kB")
    best: dict[str, dict[str, float]] = {}
    with Stub() as base_url:
        for _ in range(options.rounds):
            for part in PARTS:
                python = options.inspect_python if part == "inspect" else sys.executable
                measured = measure(part, python, folder, base_url)
                if measured and (part not in best or measured["cpu"] < best[part]["cpu"]):
                    best[part] = measured
    return report(best, options.questions)


def report(best: dict[str, dict[str, float]], questions: int) -> int:
    for part, measured in best.items():
        cpu = 1000 * measured["cpu"] / questions
        print(f"{part:8} {cpu:7.1f} ms CPU a question  {measured['rss']:5.0f} MB  {measured['wall']:5.1f} s")
    ratio = best["ours"]["cpu"] / best["bare"]["cpu"]
    print(f"looseleaf / bare loop: {ratio:.2f} (bound {MAX_RATIO})")
    if "inspect" in best:
        print(f"Inspect AI / bare loop: {best['inspect']['cpu'] / best['bare']['cpu']:.2f}")
        print(f"looseleaf / Inspect AI: {best['ours']['cpu'] / best['inspect']['cpu']:.2f}")
    else:
        print("Inspect AI is not installed; not measured")
    return int(ratio > MAX_RATIO or best["ours"]["rss"] > MAX_RSS_MB)


class Stub:
    """The stub server as a process."""

    def __enter__(self) -> str:
        self._process = subprocess.Popen([sys.executable, str(STUB)], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def measure(part: str, python: str, folder: Path, base_url: str) -> dict[str, float] | None:
    """CPU seconds, resident megabytes and wall seconds of one part, or `None` where it cannot run."""
    command = [python, __file__, "--part", part, "--folder", str(folder), "--base-url", base_url]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    if done.returncode:
        if "No module named 'inspect_ai'" in done.stderr:
            return None
        raise SystemExit(f"{part} failed:\n{done.stderr[-3000:]}")
    measured: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return measured


class Meter:
    """CPU and wall time of a block, and the process's largest resident size, as one JSON line."""

    def __enter__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def __exit__(self, *_: object) -> None:
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        cpu, wall = time.process_time() - self._cpu, time.perf_counter() - self._wall
        print(json.dumps({"cpu": cpu, "wall": wall, "rss": rss}))


# -- what all three are given ----------------------------------------------------------------------------------


def prepare(folder: Path, questions: int) -> float:
    """Write a document, its page images and the questions; returns the mean size of an image in bytes."""
    os.environ["LOOSELEAF_CACHE"] = str(folder / "cache")
    from looseleaf.document import Document, PageStore

    docs = folder / "docs"
    docs.mkdir()
    (docs / "report.pdf").write_bytes(document())
    sizes = []
    with PageStore() as store:
        opened = Document.open(docs / "report.pdf", store=store)
        for page in range(1, 7):
            image = opened.image(page)
            (folder / f"{page}.jpg").write_bytes(image.jpeg)
            sizes.append(len(image.jpeg))
    rows = [
        {"id": str(n), "document": "report.pdf", "question": f"What is value number {n}?", "answer": "42"}
        for n in range(questions)
    ]
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return sum(sizes) / len(sizes)


def document() -> bytes:
    """Six pages: the stub's first search finds pages 1 to 3 and its second one pages 4 to 6."""
    from reportlab.pdfgen.canvas import Canvas

    rng = random.Random(0)
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(612, 792))
    for page in range(6):
        canvas.setFont("Helvetica", 11)
        canvas.drawString(60, 750, "the total revenue in the table" if page < 3 else "pages chart")
        for line in range(9):
            canvas.drawString(60, 720 - 14 * line, " ".join(rng.choice(words) for _ in range(14)))
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


# -- looseleaf -------------------------------------------------------------------------------------------------


def ours(folder: Path, base_url: str) -> None:
    """The runner, then the scoring stages."""
    os.environ["LOOSELEAF_CACHE"] = str(folder / "cache")
    import shutil

    from looseleaf.models.role_spec import RoleSpec
    from looseleaf.protocol import named_protocol
    from looseleaf.runner.config import DataConfig, RunConfig, ScoreConfig
    from looseleaf.runner.execute import execute
    from looseleaf.runner.score import score_run

    import_all()
    shutil.rmtree(folder / "cache" / "replies", ignore_errors=True)
    role = RoleSpec.parse("openai:stub-model", base_url=base_url)
    config = RunConfig(
        data=DataConfig(benchmark=str(folder / "questions.jsonl"), path=str(folder / "docs")),
        policy=role,
        protocol=named_protocol("awm", max_turns=6),
        concurrency=IN_FLIGHT,
    )
    out = Path(tempfile.mkdtemp(dir=folder))
    with Meter():
        outcome = execute(config, out)
        scored = score_run(outcome.run, ScoreConfig(extractor=role, readers=(role,)))
    assert (outcome.faults, scored.unscored) == (0, 0), (outcome, scored)
    for trajectory in outcome.run.trajectories().values():
        assert (len(trajectory.shown_pages), trajectory.turns) == (6, 6), trajectory


def import_all() -> None:
    """Modules that are imported on first use, before the clock starts, as for the others."""
    import bm25s  # noqa: F401
    import openai
    import Stemmer  # noqa: F401

    openai.AsyncOpenAI(api_key="none").chat.completions  # noqa: B018


# -- the bare loop ---------------------------------------------------------------------------------------------


def bare(folder: Path, base_url: str) -> None:
    """asyncio and openai, and nothing that is not needed to make the calls."""
    import_all_bare()
    questions = [json.loads(line)["question"] for line in (folder / "questions.jsonl").open()]
    with Meter():
        asyncio.run(bare_run(folder, base_url, questions))


def import_all_bare() -> None:
    import openai

    openai.AsyncOpenAI(api_key="none").chat.completions  # noqa: B018


async def bare_run(folder: Path, base_url: str, questions: list[str]) -> None:
    import openai

    limit = asyncio.Semaphore(IN_FLIGHT)
    async with openai.AsyncOpenAI(base_url=base_url, api_key="none") as client:

        async def one(question: str) -> None:
            async with limit:
                await bare_question(client, folder, question)

        await asyncio.gather(*(one(question) for question in questions))


async def bare_question(client: Any, folder: Path, question: str) -> None:
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": f"The document has 6 pages.\n\nQuestion: {question}"},
    ]
    searches = iter(SHOWN)
    answer = ""
    for turn in range(6):
        reply = await client.chat.completions.create(
            model="stub-model", messages=messages, tools=TOOLS, max_tokens=2048, temperature=0.0, seed=0
        )
        called = reply.choices[0].message.tool_calls[0]
        arguments = json.loads(called.function.arguments)
        function = {"name": called.function.name, "arguments": called.function.arguments}
        tool_call = {"id": f"call{turn:05d}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": "I look.", "tool_calls": [tool_call]})
        messages.append({"role": "tool", "tool_call_id": f"call{turn:05d}", "content": "Noted."})
        if called.function.name == "search":
            parts: list[Any] = []
            for page in next(searches):
                data = base64.b64encode((folder / f"{page}.jpg").read_bytes()).decode()
                url = f"data:image/jpeg;base64,{data}"
                parts += [
                    {"type": "text", "text": f"Page {page}:"},
                    {"type": "image_url", "image_url": {"url": url}},
                ]
            messages.append({"role": "user", "content": parts})
        if called.function.name == "answer":
            answer = arguments["text"]
    for prompt in (READER + question, EXTRACTOR + question + answer, EXTRACTOR + question + "42"):
        await client.chat.completions.create(
            model="stub-model",
            messages=[{"role": "user", "content": prompt}],
            max_tokens=512,
            temperature=0.0,
        )


# -- Inspect AI ------------------------------------------------------------------------------------------------


def inspect(folder: Path, base_url: str) -> None:
    """The same calls in a solver of Inspect AI, scored by a scorer that makes the other three."""
    import inspect_ai  # noqa: F401

    os.environ |= {"STUB_API_KEY": "none", "STUB_BASE_URL": base_url}
    os.environ["INSPECT_LOG_DIR"] = tempfile.mkdtemp(dir=folder)
    rows = [json.loads(line) for line in (folder / "questions.jsonl").open()]
    inspect_run(folder, rows[:1])
    with Meter():
        inspect_run(folder, rows)


def inspect_run(folder: Path, rows: list[dict[str, Any]]) -> None:
    import inspect_ai
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample

    task = Task(
        dataset=MemoryDataset([Sample(input=row["question"], target="42") for row in rows]),
        solver=inspect_solver(folder)(),
        scorer=inspect_scorer()(),
    )
    logs = inspect_ai.eval(
        task,
        model="openai-api/stub/stub-model",
        max_connections=IN_FLIGHT,
        max_samples=IN_FLIGHT,
        display="none",
        temperature=0.0,
        seed=0,
        max_tokens=2048,
    )
    assert logs[0].status == "success", logs[0].error


def inspect_solver(folder: Path) -> Any:
    from inspect_ai.model import (
        ChatMessageSystem,
        ChatMessageTool,
        ChatMessageUser,
        ContentImage,
        ContentText,
        get_model,
    )
    from inspect_ai.solver import solver
    from inspect_ai.tool import ToolInfo, ToolParams

    tools = [
        ToolInfo(
            name=tool["function"]["name"],
            description=tool["function"]["description"],
            parameters=ToolParams(**tool["function"]["parameters"]),
        )
        for tool in TOOLS
    ]

    @solver
    def agent() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            state.messages.insert(0, ChatMessageSystem(content=SYSTEM))
            searches = iter(SHOWN)
            for _ in range(6):
                state.output = await get_model().generate(state.messages, tools=tools)
                state.messages.append(state.output.message)
                called = state.output.message.tool_calls[0]
                state.messages.append(
                    ChatMessageTool(content="Noted.", tool_call_id=called.id, function=called.function)
                )
                if called.function == "search":
                    parts: list[Any] = []
                    for page in next(searches):
                        data = base64.b64encode((folder / f"{page}.jpg").read_bytes()).decode()
                        parts += [
                            ContentText(text=f"Page {page}:"),
                            ContentImage(image=f"data:image/jpeg;base64,{data}"),
                        ]
                    state.messages.append(ChatMessageUser(content=parts))
            return state

        return solve

    return agent


def inspect_scorer() -> Any:
    from inspect_ai.model import get_model
    from inspect_ai.scorer import Score, mean, scorer

    @scorer(metrics=[mean()])
    def three_calls() -> Any:
        async def score(state: Any, target: Any) -> Any:
            for prompt in (READER, EXTRACTOR, EXTRACTOR + "42"):
                await get_model().generate(prompt + state.input_text)
            return Score(value=1)

        return score

    return three_calls


def _tool(name: str, **properties: str) -> dict[str, Any]:
    typed = {key: {"type": kind, "description": "what to give"} for key, kind in properties.items()}
    parameters = {
        "type": "object",
        "properties": typed,
        "required": list(typed),
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "function": {"name": name, "description": f"Carry out a {name}.", "parameters": parameters},
    }


TOOLS: list[Any] = [
    _tool("search", query="string"),
    _tool("fetch", page="integer"),
    _tool("note", text="string", source_page="integer"),
    _tool("answer", text="string"),
]
SYSTEM = "You answer a question about a long document, one step at a time. " * 28
"""About as long as the real one."""
READER = "Answer from the notes alone. " * 25
EXTRACTOR = "Take the short answer out of the response. " * 35
PARTS = {"ours": ours, "bare": bare, "inspect": inspect}

if __name__ == "__main__":
    sys.exit(main())
