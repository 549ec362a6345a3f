"""`looseleaf view`: stored runs in the browser."""

from __future__ import annotations

import importlib.util
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from looseleaf.errors import ConfigError

__all__ = ["view"]

PORT = 8765


def view(
    run_folders: Annotated[list[Path], typer.Argument(metavar="RUN…", help="One or more RUN folders.")],
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder of the documents, where it is not the run's own."),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")
    ] = PORT,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Look at trajectories with their pages and the memory as it grows, and label human audits, in the browser.

    Serves on this machine only; page images are rendered on demand from the documents. Ctrl-C ends it.
    """
    if not all(importlib.util.find_spec(name) for name in ("starlette", "uvicorn")):
        raise ConfigError("The viewer is not installed; use `pip install 'looseleaf[view]'`.")
    from looseleaf.runstore import Run
    from looseleaf.viewer.app import make_app
    from looseleaf.viewer.serve import HOST, listen, serve

    app = make_app([Run.open(folder) for folder in run_folders], data=data)
    listening = listen(port)
    address = f"http://{HOST}:{listening.getsockname()[1]}/"

    def ready() -> None:
        typer.echo(f"Viewer: {address} (Ctrl-C ends it)")
        if browser:
            webbrowser.open(address)

    serve(app, listening, ready)
