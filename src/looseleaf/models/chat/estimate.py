"""What a run will take before it starts: calls, tokens and bytes, by stated rules and on the high side.

Rules:

* Every question uses all its turns. Where notes are due, looks and notes alternate; else every turn but the last is a
  look; the last one is the answer.
* Every look shows as many pages as the protocol allows, up to its image cap.
* A request holds the system message, the question, all earlier turns, and the images that `images_kept` leaves.
* A reply of a policy is `REPLY` tokens, one of the other roles `SHORT_REPLY`, unless `max_tokens` is less.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from looseleaf.memory import MAX_FINDING_WORDS
from looseleaf.models.chat.image_tokens import ImageFamily, estimate_text_tokens
from looseleaf.models.chat.images import OPENING_TOKEN_BUDGET, page_scale
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.prompts import prompt_text, render_prompt
from looseleaf.models.role_spec import RoleName
from looseleaf.protocol import PROTOCOLS, Protocol
from looseleaf.scoring import extraction

__all__ = ["Load", "RunPlan", "estimate", "looks_of"]

REPLY = 200
"""Tokens of a policy's turn: reasoning and one action."""
SHORT_REPLY = 40
"""Tokens of a reader's, extractor's or judge's reply."""
EXCHANGE = 40
"""Tokens around a turn: the observation's words and the template."""
WORD_TOKENS = 1.5
"""Tokens of an English word, on the high side."""
QUESTION = 400
"""Characters of a long question."""
BASE64 = 4 / 3


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is about to be run, as far as it decides cost.

    Attributes:
        questions: selected questions.
        samples: trajectories a question.
        protocol: the rules.
        readers: readers that will answer from the memories; each brings one more extraction.
        concurrency: questions in flight.
        judgings: scorers that put every response before the judge.
        replayed: items that extractor and judge are asked about besides, the judge for each of its scorers.
        pages: pages of a usual document (for protocols that show all pages).
        page_size: width and height of a rendered page in pixels. The default is US letter at 144 dpi.
        page_bytes: bytes of a rendered page. The default is the mean of 465 pages of 93 real benchmark PDFs.
        page_characters: characters of a page's text layer, for models that read text.
    """

    questions: int
    samples: int = 1
    protocol: Protocol = PROTOCOLS["awm"]
    readers: int = 1
    concurrency: int = 8
    judgings: int = 1
    replayed: int = 0
    pages: int = 50
    page_size: tuple[int, int] = (1224, 1584)
    page_bytes: int = 209_000
    page_characters: int = 3000

    @property
    def trajectories(self) -> int:
        """Trajectories of the run."""
        return self.questions * self.samples


class Load(NamedTuple):
    """What one role will take.

    Attributes:
        calls: requests.
        prompt_tokens: tokens sent, of which `image_tokens` are images.
        image_tokens: tokens of images.
        completion_tokens: tokens generated.
        bytes: bytes sent.
        largest: tokens of the largest request.
        most_images: images of the largest request.
        request_bytes: bytes of the largest request.
        page_tokens: tokens of one page.
    """

    calls: int = 0
    prompt_tokens: int = 0
    image_tokens: int = 0
    completion_tokens: int = 0
    bytes: int = 0
    largest: int = 0
    most_images: int = 0
    request_bytes: int = 0
    page_tokens: int = 0


def estimate(role: RoleName, options: ChatOptions, family: ImageFamily, plan: RunPlan) -> Load:
    """The load of a role in a run."""
    if role == "policy":
        return _policy(options, family, plan)
    texts = _notes(plan) if role == "reader" else estimate_text_tokens(4 * QUESTION)
    fixed = estimate_text_tokens(len(_instructions(role, options)))
    prompt = fixed + texts + estimate_text_tokens(QUESTION)
    calls = (
        plan.trajectories if role == "reader" else plan.trajectories * (1 + _memories(plan)) + plan.replayed
    )
    if role == "judge":
        calls *= plan.judgings
    return Load(
        calls=calls,
        prompt_tokens=calls * prompt,
        completion_tokens=calls * min(SHORT_REPLY, options.max_tokens),
        bytes=int(calls * prompt * 4),
        largest=prompt,
        request_bytes=prompt * 4,
    )


def _instructions(role: RoleName, options: ChatOptions) -> str:
    """What the role is told besides the case. A judge's prompt is its scorer's and about as long as an extractor's."""
    if role == "reader" or options.prompt:
        return prompt_text("reader", options.prompt)
    return extraction.INSTRUCTIONS


def looks_of(protocol: Protocol) -> list[int]:
    """Pages that each turn of the longest trajectory shows; the opening comes first."""
    if protocol.opening != "nothing" and protocol.max_turns == 1:
        return [0]
    shown = []
    left = protocol.image_cap if protocol.image_cap is not None else 10**9
    every = 2 if protocol.memory == "mandatory" and protocol.note_turn == "own" else 1
    for turn in range(protocol.max_turns):
        looks = turn % every == 0 and turn < protocol.max_turns - every
        pages = min(protocol.shown_k, left) if looks else 0
        left -= pages
        shown.append(pages)
    return [0, *shown]


def _policy(options: ChatOptions, family: ImageFamily, plan: RunPlan) -> Load:
    protocol = plan.protocol
    shown = looks_of(protocol)
    if protocol.opening == "all-pages":
        shown[0] = plan.pages
    elif protocol.opening == "search":
        shown[0] = protocol.shown_k
    page_tokens, page_bytes = _page(options, family, plan, all_pages=protocol.opening == "all-pages")
    base = estimate_text_tokens(len(render_prompt(protocol, "x" * QUESTION, plan.pages, options.actions)))
    reply = min(REPLY, options.max_tokens)
    load = Load(page_tokens=page_tokens)
    for turn in range(protocol.max_turns):
        pages = sum(shown[: turn + 1])
        images = 0 if options.pages == "text" else min(pages, options.images_kept or pages)
        texts = pages * estimate_text_tokens(min(plan.page_characters, options.text_chars))
        text = base + turn * (reply + EXCHANGE) + (texts if options.pages != "images" else 0)
        load = _with_request(load, text, images, page_tokens, page_bytes)
    return load._replace(
        calls=protocol.max_turns * plan.trajectories,
        prompt_tokens=load.prompt_tokens * plan.trajectories,
        image_tokens=load.image_tokens * plan.trajectories,
        completion_tokens=protocol.max_turns * reply * plan.trajectories,
        bytes=load.bytes * plan.trajectories,
    )


def _with_request(load: Load, text: int, images: int, page_tokens: int, page_bytes: int) -> Load:
    tokens = text + images * page_tokens
    size = int(text * 4 + images * page_bytes * BASE64)
    return load._replace(
        prompt_tokens=load.prompt_tokens + tokens,
        image_tokens=load.image_tokens + images * page_tokens,
        bytes=load.bytes + size,
        largest=max(load.largest, tokens),
        most_images=max(load.most_images, images),
        request_bytes=max(load.request_bytes, size),
    )


def _page(options: ChatOptions, family: ImageFamily, plan: RunPlan, *, all_pages: bool) -> tuple[int, int]:
    """Tokens and bytes of one page image as it will be sent."""
    caps = [cap for cap in (options.max_image_pixels, plan.protocol.max_pixels) if cap is not None]
    budget = options.image_token_budget or (OPENING_TOKEN_BUDGET if all_pages else None)
    if budget is not None:
        caps.append(family.pixels(max(1, budget // (plan.pages if all_pages else plan.protocol.shown_k))))
    width, height = plan.page_size
    scale = page_scale(width, height, min(caps, default=None), options.max_image_side)
    tokens = family.tokens(max(1, int(width * scale)), max(1, int(height * scale)))
    return tokens, int(plan.page_bytes * scale * scale)


def _notes(plan: RunPlan) -> int:
    """Tokens of a full memory."""
    looks = sum(1 for pages in looks_of(plan.protocol) if pages)
    return int(looks * MAX_FINDING_WORDS * WORD_TOKENS)


def _memories(plan: RunPlan) -> int:
    return plan.readers if plan.protocol.memory != "none" else 0
