"""The loop of a worker process: requests on standard input, replies on standard output, under limits."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import msgspec

from .guard import limit_cpu, limit_memory
from .limits import Limits
from .messages import Refused, Reply, Request, receive, send
from .refusal import Broken, Refusal

__all__ = ["Answer", "reason", "run"]

Answer = Callable[[Any, Limits], Iterator[Reply]]
"""The replies to one request; an exception ends them with `Refused`."""

_OUT_OF_MEMORY = "needs more memory than one page may take; re-save it with smaller pages and try again"


def run(answer: Answer) -> None:
    """Take the limits from the command line, keep the reply pipe to ourselves, and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's to handle
    limits = msgspec.json.decode(sys.argv[1], type=Limits)
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a stray print must not look like a reply
    limit_memory(limits)
    try:
        serve(sys.stdin.buffer, replies, answer, limits)
    except BrokenPipeError:
        os._exit(0)  # the caller is gone: there is nobody to tell, and nothing to flush to


def serve(requests: BinaryIO, replies: BinaryIO, answer: Answer, limits: Limits) -> None:
    """Answer requests until the caller closes the pipe."""
    decoder = msgspec.msgpack.Decoder(Request)
    while True:
        try:
            request = decoder.decode(receive(requests))
        except EOFError:
            return
        limit_cpu(limits)
        try:
            for reply in answer(request, limits):
                send(replies, reply)
        except BrokenPipeError:
            raise
        except Exception as error:
            send(replies, Refused(reason(error), isinstance(error, Broken)))


def reason(error: Exception) -> str:
    """Why a file or page cannot be used. Foreign bytes may raise anything, and must not end the worker."""
    if isinstance(error, Refusal):
        return str(error)
    if isinstance(error, MemoryError):
        return _OUT_OF_MEMORY
    return f"cannot be read ({type(error).__name__}); re-save it with another program"
