"""A stand-in for vLLM's embedding endpoints, in the shapes of its protocol.

`/v1/embeddings` and `/pooling` take `input` (a text or a list) or `messages` (one conversation), and answer as
vllm-project/vllm @ 01cfbaf does (entrypoints/pooling/{embed,pooling}/protocol.py). Vectors are those of `WordEncoder`:
of the words of the text, or of the words that a JPEG's comment holds. No real model answers in these tests.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from stub_server import Request, Response
from word_encoder import direction

DIMENSION = 24
MODEL = "stub-embedder"


def embed(request: Request) -> Response:
    """Answers like vLLM."""
    body = request.json
    multi = request.path == "/pooling"
    if not multi and request.path != "/v1/embeddings":
        return problem(404, "Not Found")
    if body["model"] != MODEL:
        return problem(404, f"The model `{body['model']}` does not exist.")
    texts = [conversation(body["messages"])] if "messages" in body else as_list(body["input"])
    dimension = body.get("dimensions") or DIMENSION
    name = "data" if multi else "embedding"
    items = [
        {"index": index, "object": "pooling" if multi else "embedding", name: vectors(text, dimension, multi)}
        for index, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 7, "total_tokens": 7, "completion_tokens": 0, "prompt_tokens_details": None}
    answer = {
        "id": f"{'pool' if multi else 'embd'}-9a1c",
        "object": "list",
        "created": 1_790_000_000,
        "model": MODEL,
        "data": items[::-1],  # a server may answer in any order
        "usage": usage,
    }
    return Response(200, json.dumps(answer).encode())


def as_list(given: Any) -> list[str]:
    return given if isinstance(given, list) else [given]


def conversation(messages: list[dict[str, Any]]) -> str:
    """All words of a conversation; of an image, those of its comment."""
    words = []
    for message in messages:
        for part in message["content"]:
            if part["type"] == "text":
                words.append(part["text"])
            else:
                kind, data = part["image_url"]["url"].split(",", 1)
                assert kind == "data:image/jpeg;base64"
                words.append(base64.b64decode(data)[3:].decode())
    return " ".join(words)


def vectors(text: str, dimension: int, multi: bool) -> Any:
    rows = [direction(word, dimension) for word in text.lower().split()]
    if multi:
        return [[float(value) for value in row] for row in rows]
    return [float(value) for value in sum(rows) / len(rows)]


def problem(status: int, message: str) -> Response:
    """An error in the shape of vLLM's `ErrorResponse`."""
    error = {"message": message, "type": "BadRequestError", "param": None, "code": status}
    return Response(status, json.dumps({"error": error}).encode())
