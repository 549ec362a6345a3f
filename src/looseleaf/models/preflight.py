"""Preflight: what a run will take, and whether its servers can do it, before the first question is spent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from looseleaf.errors import ConfigError
from looseleaf.models.chat.client import ChatClient
from looseleaf.models.chat.estimate import Load, RunPlan, estimate
from looseleaf.models.chat.image_tokens import family_of
from looseleaf.models.chat.probe import Findings
from looseleaf.models.chat.probe_each import probe_each
from looseleaf.models.registry import make_role
from looseleaf.models.role_spec import CHAT_BACKENDS, RoleName, RoleSpec
from looseleaf.roles import Usage

__all__ = ["PreflightReport", "RoleReport", "RunPlan", "check_consent", "preflight"]

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
DEFAULT_MAX_COST = 10.0
"""Cost, in the price table's currency, from which a run on somebody else's server needs a yes."""
DEFAULT_MAX_TOKENS = 5_000_000
"""Tokens from which such a run needs a yes where no price is known."""


class RoleReport(msgspec.Struct, frozen=True, kw_only=True):
    """One role on one server.

    Attributes:
        role: which role.
        name: as the user gave it.
        base_url: its server; of several one that is not on this machine, if there is one.
        load: what the run will take.
        found: what the probe found.
        tokens: prompt and completion tokens, images as the server counts them.
        largest: tokens of the largest request with its reply.
        cost: in the price table's currency, or `None` where no price is known.
        seconds: time, if requests take as long as the probe did.
        formula: how image tokens were estimated.
    """

    role: RoleName
    name: str
    base_url: str
    load: Load
    found: Findings
    tokens: int
    largest: int
    cost: float | None
    seconds: float
    formula: str

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine."""
        return _is_local(self.base_url)

    def line(self) -> str:
        """One line for people."""
        cost = "price unknown" if self.cost is None else f"about {self.cost:.2f}"
        images = f", up to {self.load.most_images} images a request" if self.load.most_images else ""
        return (
            f"{self.role} {self.name}: {self.load.calls:,} calls, {self.tokens:,} tokens, "
            f"{self.load.bytes / 1e6:,.0f} MB, {cost}, about {_duration(self.seconds)}{images}"
        )


class PreflightReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a run will take, all roles together.

    Attributes:
        roles: those that are played by a chat model.
        notes: what is worth knowing, in sentences.
    """

    roles: tuple[RoleReport, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of the run."""
        return sum(role.tokens for role in self.roles)

    @property
    def calls(self) -> int:
        """Requests of the run."""
        return sum(role.load.calls for role in self.roles)

    @property
    def bytes(self) -> int:
        """Bytes sent."""
        return sum(role.load.bytes for role in self.roles)

    @property
    def cost(self) -> float | None:
        """Cost of the roles whose price is known, or `None` where none is."""
        costs = [role.cost for role in self.roles if role.cost is not None]
        return sum(costs) if costs else None

    @property
    def seconds(self) -> float:
        """Time: the agent first, then the other roles one after the other."""
        return sum(role.seconds for role in self.roles)

    @property
    def spent(self) -> Usage:
        """What the probes themselves took."""
        return sum((role.found.usage for role in self.roles), Usage())

    def lines(self) -> list[str]:
        """The report for people."""
        return [*(role.line() for role in self.roles), *self.notes]


def preflight(roles: Sequence[tuple[RoleName, RoleSpec]], plan: RunPlan) -> PreflightReport:
    """Probe the servers of a run and estimate what it takes.

    Args:
        roles: the roles of the run; a role may come several times (readers). Only chat models are looked at.
        plan: what is about to be run.

    Raises:
        ConfigError: a server, key, model or setting cannot work, in one sentence that says what to change.
    """
    clients = [(role, spec, _client(role, spec)) for role, spec in roles if spec.backend in CHAT_BACKENDS]
    reports = asyncio.run(_reports(clients, plan)) if clients else []
    return PreflightReport(roles=tuple(reports), notes=tuple(_notes(reports, clients, plan)))


def check_consent(
    report: PreflightReport,
    *,
    max_cost: float | None = None,
    max_tokens: int | None = None,
    yes: bool = False,
    ask: Callable[[str], bool] | None = None,
) -> None:
    """Go on only if the run stays within its limits, or somebody says yes.

    Args:
        report: of the preflight.
        max_cost: limit given by the user; by default `DEFAULT_MAX_COST` where a price is known.
        max_tokens: limit given by the user; by default `DEFAULT_MAX_TOKENS` where no price is known.
        yes: go on whatever it takes.
        ask: puts a question to the user; `None` where nobody is there.

    Raises:
        ConfigError: a limit is exceeded and nobody said yes.
    """
    question = _excess(report, max_cost, max_tokens)
    if question is None or yes or (ask is not None and ask(f"{question} Go on?")):
        return
    raise ConfigError(
        f"{question} Nothing was started; run fewer questions (--limit), raise --max-cost or --max-tokens, or add "
        "--yes."
    )


def _excess(report: PreflightReport, max_cost: float | None, max_tokens: int | None) -> str | None:
    elsewhere = [role for role in report.roles if not role.is_local]
    unpriced = sum(role.tokens for role in elsewhere if role.cost is None)
    if max_cost is None and any(role.cost for role in elsewhere):
        max_cost = DEFAULT_MAX_COST
    if max_cost is not None and report.cost is not None and report.cost > max_cost:
        return f"This run is estimated to cost {report.cost:.2f}, more than {max_cost:g}."
    if max_tokens is not None and report.tokens > max_tokens:
        return f"This run is estimated to take {report.tokens:,} tokens, more than {max_tokens:,}."
    if max_tokens is None and unpriced > DEFAULT_MAX_TOKENS:
        return f"This run is estimated to take {unpriced:,} tokens at a price that is not known."
    return None


def _client(role: RoleName, spec: RoleSpec) -> ChatClient:
    made: Any = make_role(role, spec)
    client: ChatClient = made.client
    return client


async def _reports(
    clients: Sequence[tuple[RoleName, RoleSpec, ChatClient]], plan: RunPlan
) -> list[RoleReport]:
    return [await _report(role, spec, client, plan) for role, spec, client in clients]


async def _report(role: RoleName, spec: RoleSpec, client: ChatClient, plan: RunPlan) -> RoleReport:
    family = family_of(client.model, client.options.image_family)
    load = estimate(role, client.options, family, plan)
    protocol = plan.protocol if role == "policy" else None
    found = await probe_each(client, protocol=protocol, load=load, family=family)
    report = _assemble(role, spec, client, plan, load, found)
    _check_context(client, report)
    return report


def _assemble(
    role: RoleName, spec: RoleSpec, client: ChatClient, plan: RunPlan, load: Load, found: Findings
) -> RoleReport:
    images = int(load.image_tokens * found.token_scale)
    prompt = load.prompt_tokens - load.image_tokens + images
    page = int(load.page_tokens * found.token_scale)
    largest = load.largest + load.most_images * (page - load.page_tokens) + client.options.max_tokens
    price = client.price
    at_once = max(1, min(plan.concurrency, client.options.max_in_flight, load.calls))
    return RoleReport(
        role=role,
        name=spec.name,
        base_url=min((server.base_url for server in client.server.each()), key=_is_local),
        load=load,
        found=found,
        tokens=prompt + load.completion_tokens,
        largest=largest,
        cost=None if price is None else price.cost(prompt, load.completion_tokens),
        seconds=load.calls * found.seconds / at_once,
        formula=family_of(client.model, client.options.image_family).formula,
    )


def _check_context(client: ChatClient, report: RoleReport) -> None:
    """Refuse a run whose largest request cannot fit.

    Raises:
        ConfigError: it cannot.
    """
    context = report.found.context
    if context is None or report.largest <= context:
        return
    raise ConfigError(
        f"The longest conversation of this run takes about {report.largest:,} tokens and {client.model} has a context "
        f"of {context:,}; {_remedy(client, report, context)}serve it with a longer context, or use fewer turns."
    )


def _remedy(client: ChatClient, report: RoleReport, context: int) -> str:
    load = report.load
    if not load.most_images:
        return "lower max_tokens, "
    page = max(1, int(load.page_tokens * report.found.token_scale))
    fits = (context - (report.largest - load.most_images * page)) // page
    if fits >= 1 and client.options.images_kept != fits:
        return f"keep at most {fits} images (images_kept = {fits}), make them smaller (max_image_pixels), "
    return "make the images smaller (max_image_pixels), "


def _notes(
    reports: Sequence[RoleReport], clients: Sequence[tuple[RoleName, RoleSpec, ChatClient]], plan: RunPlan
) -> list[str]:
    notes = [f"{report.role} {report.name}: {note}" for report in reports for note in report.found.notes]
    for role, spec, client in clients:
        if role == "policy" and plan.samples > 1 and client.options.temperature == 0:
            notes.append(
                f"policy {spec.name}: {plan.samples} samples at temperature 0 will be alike; set temperature."
            )
        key = client.server.key
        elsewhere = [each.base_url for each in client.server.each() if not _is_local(each.base_url)]
        if key.given and any(url.startswith("http://") for url in elsewhere):
            notes.append(f"{role} {spec.name}: the key in {key.variable} goes out unencrypted; use https.")
        if client.price is None and elsewhere:
            notes.append(f"{role} {spec.name}: no price is known; give a price table with prices = FILE.")
    for report in reports:
        if report.found.image_tokens is not None:
            counted, by_formula = report.found.image_tokens
            how = f"{report.formula} gives {by_formula}"
            notes.append(f"{report.role} {report.name}: the test image took {counted} tokens; {how}.")
    return list(dict.fromkeys(notes))


def _is_local(base_url: str) -> bool:
    """Whether a server is on this machine."""
    return urlsplit(base_url).hostname in LOOPBACK


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
