"""The application: what each address answers. No address is ever joined to a path."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from looseleaf.document import PageStore, default_store
from looseleaf.errors import UserError
from looseleaf.runstore import Run
from looseleaf.viewer.guard import Guard
from looseleaf.viewer.labels import LabelFiles
from looseleaf.viewer.pages import SIZES, PageSource
from looseleaf.viewer.shown import list_rows, run_summary, trajectory_page
from looseleaf.viewer.snapshot import Item, Snapshot, signature

__all__ = ["ViewedRun", "make_app"]

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}
REFRESH_SECONDS = 2.0
"""A run that is being written is read again at most this often."""
LONGEST_BODY = 10_000
"""Bytes of a label; a label has fewer than a hundred."""


class ViewedRun:
    """A run that is looked at: read once, and again when its files have changed."""

    def __init__(self, name: str, run: Run, store: PageStore, data: Path | None) -> None:
        self.name = name
        self.labels = LabelFiles(run.path)
        self._run = run
        self._lock = threading.Lock()
        self._snapshot = Snapshot(run)
        self._signature = signature(run)
        self._looked = time.monotonic()
        self.pages = PageSource(self._snapshot.config, store, data)
        self._list: bytes | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The run as it is now."""
        with self._lock:
            now = time.monotonic()
            if now - self._looked > REFRESH_SECONDS:
                self._looked = now
                found = signature(self._run)
                if found != self._signature:
                    self._snapshot, self._signature, self._list = Snapshot(self._run), found, None
            return self._snapshot

    def item(self, key: str) -> Item:
        """One question.

        Raises:
            KeyError: there is none of that id.
        """
        return self.snapshot.by_key[key]

    def list_as_json(self) -> bytes:
        """All rows of the question list, encoded once."""
        snapshot = self.snapshot
        if self._list is None:
            self._list = msgspec.json.encode(list_rows(snapshot))
        return self._list


def make_app(runs: Sequence[Run], *, store: PageStore | None = None, data: Path | None = None) -> Starlette:
    """The viewer of some runs.

    Args:
        runs: opened runs.
        store: where pages are rendered and cached; the process-wide one by default.
        data: folder of the documents, for runs whose data has moved.

    Raises:
        RunError: a record of a run cannot be read.
    """
    store = store or default_store()
    viewed = [ViewedRun(name, run, store, data) for name, run in zip(_names(runs), runs, strict=True)]
    handlers = _Handlers({each.name: each for each in viewed})
    static = [Route(path, _file(content, kind)) for path, content, kind in _static()]
    return Starlette(
        routes=[
            *static,
            Route("/favicon.ico", _file(b"", "image/x-icon")),
            Route("/api/runs", handlers.runs),
            Route("/api/runs/{run}/questions", handlers.questions),
            Route("/api/runs/{run}/trajectory", handlers.trajectory),
            Route("/api/runs/{run}/page", handlers.page),
            Route("/api/runs/{run}/text", handlers.text),
            Route("/api/runs/{run}/words", handlers.words),
            Route("/api/runs/{run}/audits/{audit}", handlers.audit),
            Route("/api/runs/{run}/audits/{audit}/label", handlers.label, methods=["POST"]),
        ],
        middleware=[Middleware(Guard)],
        exception_handlers={UserError: _said, HTTPException: _http_error},
    )


def _names(runs: Sequence[Run]) -> list[str]:
    """Folder names, numbered where two are the same."""
    names: list[str] = []
    for run in runs:
        name = base = run.path.resolve().name
        number = 2
        while name in names:
            name, number = f"{base}-{number}", number + 1
        names.append(name)
    return names


def _static() -> list[tuple[str, bytes, str]]:
    folder = resources.files("looseleaf.viewer") / "static"
    found = []
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        suffix = Path(file.name).suffix
        if suffix in KINDS:
            path = "/" if file.name == "index.html" else f"/static/{file.name}"
            found.append((path, file.read_bytes(), KINDS[suffix]))
    return found


def _file(content: bytes, kind: str) -> Callable[[Request], Response]:
    def answer(_: Request) -> Response:
        return Response(content, media_type=kind)

    return answer


def _json(content: Any, status: int = 200) -> Response:
    body = content if isinstance(content, bytes) else msgspec.json.encode(content)
    return Response(body, status_code=status, media_type="application/json")


def _said(_: Request, problem: Exception) -> Response:
    return _json({"error": str(problem)}, 409)


def _http_error(_: Request, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    return _json({"error": "There is nothing here." if status == 404 else "This cannot be answered."}, status)


class _Handlers:
    """One method an address; they are synchronous, so that reading files blocks nobody else."""

    def __init__(self, runs: dict[str, ViewedRun]) -> None:
        self._runs = runs

    def runs(self, _: Request) -> Response:
        return _json(
            [
                run_summary(name, run.snapshot, run.pages.problem, run.labels.names())
                for name, run in self._runs.items()
            ]
        )

    def questions(self, request: Request) -> Response:
        return _json(self._run(request).list_as_json())

    def trajectory(self, request: Request) -> Response:
        run = self._run(request)
        return _json(trajectory_page(run.snapshot, self._item(run, request)))

    def page(self, request: Request) -> Response:
        run = self._run(request)
        item = self._item(run, request)
        size = request.query_params.get("size", "full")
        if size not in SIZES:
            raise HTTPException(404)
        image = run.pages.image(item.question, _sha256(item), _page(request), size)
        return Response(
            image.jpeg, media_type="image/jpeg", headers={"cache-control": "private, max-age=3600"}
        )

    def text(self, request: Request) -> Response:
        run = self._run(request)
        item = self._item(run, request)
        return _json({"text": run.pages.text(item.question, _sha256(item), _page(request))})

    def words(self, request: Request) -> Response:
        run = self._run(request)
        item = self._item(run, request)
        return _json(run.pages.words(item.question, _sha256(item), _page(request)))

    def audit(self, request: Request) -> Response:
        run = self._run(request)
        try:
            return _json(run.labels.rows(request.path_params["audit"]))
        except KeyError:
            raise HTTPException(404) from None

    async def label(self, request: Request) -> Response:
        run = self._run(request)
        if int(request.headers.get("content-length", LONGEST_BODY + 1)) > LONGEST_BODY:
            raise HTTPException(413)
        try:
            said = msgspec.json.decode(await request.body(), type=_Label)
            return _json(run.labels.save(request.path_params["audit"], said.trajectory_id, said.labels))
        except msgspec.DecodeError:
            raise HTTPException(400) from None
        except KeyError:
            raise HTTPException(404) from None

    def _run(self, request: Request) -> ViewedRun:
        run = self._runs.get(request.path_params["run"])
        if run is None:
            raise HTTPException(404)
        return run

    def _item(self, run: ViewedRun, request: Request) -> Item:
        try:
            return run.item(request.query_params.get("id", ""))
        except KeyError:
            raise HTTPException(404) from None


class _Label(msgspec.Struct):
    trajectory_id: str
    labels: dict[str, str]


def _sha256(item: Item) -> str:
    return item.trajectory.doc_sha256 if item.trajectory else ""


def _page(request: Request) -> int:
    text = request.query_params.get("page", "")
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        raise HTTPException(404)
    return int(text)
