"""Means over seeds with intervals, differences between arms, and whether the demonstration holds what it promises."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from looseleaf.statistics import student_t_quantile
from looseleaf.training.demo.arm import ARMS, ArmResult

__all__ = ["MEASURES", "Over", "Promise", "Summary", "lines_of", "summarise"]

LEVEL = 0.95
MEASURES = (
    "s_ans",
    "s_mem",
    "s_mem_unseen",
    "p_mmc",
    "p_mmc_unseen",
    "grounded",
    "echo",
    "invalid",
    "turns",
)
"""What is summarised of each policy (`looseleaf.training.demo.measure.Measured`)."""
BEFORE = "before"
BASELINE = "answer-only"


class Over(msgspec.Struct, frozen=True, kw_only=True):
    """A number over seeds.

    Attributes:
        mean: over seeds.
        low: lower end of the interval of Student's t over seeds (95 %); `None` with one seed.
        high: upper end.
        values: of each seed.
    """

    mean: float
    low: float | None
    high: float | None
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Over:
        """Mean and interval."""
        mean = float(np.mean(values))
        if len(values) < 2:
            return cls(mean=mean, low=None, high=None, values=tuple(values))
        spread = float(np.std(values, ddof=1)) / math.sqrt(len(values))
        half = spread * student_t_quantile((1 + LEVEL) / 2, len(values) - 1)
        return cls(mean=mean, low=mean - half, high=mean + half, values=tuple(values))


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the demonstration is held to, over paired seeds.

    Attributes:
        what: in words.
        measured: the difference or ratio.
        holds: whether its mean does.
    """

    what: str
    measured: Over
    holds: bool


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The demonstration in numbers.

    Attributes:
        seeds: how many.
        steps: of GRPO.
        n: held-out questions of each measurement.
        reading: share of held-out pages that the model read before it met a conversation.
        rates: measure by policy: `before` and the arms.
        promises: what it is held to.
        calls: calls of roles a rollout in training, by arm and what they were for.
        cpu_seconds: of the starting point, and of the mean arm.
        cpu_minutes: of everything.
    """

    seeds: int
    steps: int
    n: int
    reading: float
    rates: dict[str, dict[str, Over]]
    promises: list[Promise]
    calls: dict[str, dict[str, float]]
    cpu_seconds: dict[str, float]
    cpu_minutes: float


def summarise(
    results: Sequence[ArmResult], *, reading: float, start_cpu_seconds: float, rollouts_a_step: int = 32
) -> Summary:
    """Summarise arms.

    Args:
        results: every arm under every seed.
        reading: accuracy of reading before the conversations.
        start_cpu_seconds: of the starting point.
        rollouts_a_step: of training.
    """
    arms: list[str] = [arm for arm in ARMS if any(result.arm == arm for result in results)]
    by_arm = {arm: sorted(_of(results, arm), key=lambda result: result.seed) for arm in arms}
    rates = {arm: _rates([result.after for result in found]) for arm, found in by_arm.items()}
    seconds = [result.cpu_seconds for result in results]
    return Summary(
        seeds=len(by_arm[arms[0]]),
        steps=results[0].steps,
        n=results[0].after.n,
        reading=reading,
        rates={BEFORE: _rates([result.before for result in by_arm[arms[0]]]), **rates},
        promises=_promises(rates) if set(arms) == set(ARMS) else [],
        calls={arm: _mean_calls(found, found[0].steps * rollouts_a_step) for arm, found in by_arm.items()},
        cpu_seconds={"start": start_cpu_seconds, "arm": float(np.mean(seconds))},
        cpu_minutes=(start_cpu_seconds + sum(seconds)) / 60,
    )


def lines_of(summary: Summary) -> list[str]:
    """The summary as text: a line a policy, then what it is held to."""
    shown = ("s_ans", "s_mem", "s_mem_unseen", "p_mmc", "grounded", "echo")
    lines = [f"{'':12}" + "".join(f"{name:>22}" for name in shown)]
    for policy, rates in summary.rates.items():
        lines.append(f"{policy:12}" + "".join(f"{_shown(rates[name]):>22}" for name in shown))
    for promise in summary.promises:
        verdict = "holds" if promise.holds else "FALLS SHORT"
        lines.append(f"{verdict}: {promise.what} (measured {_shown(promise.measured)})")
    calls = {arm: sum(found.values()) for arm, found in summary.calls.items()}
    lines.append(
        "calls of roles a rollout: " + ", ".join(f"{arm} {total:.2f}" for arm, total in calls.items())
    )
    return [*lines, f"{summary.cpu_minutes:.1f} CPU minutes in all"]


def _shown(over: Over) -> str:
    interval = "" if over.low is None or over.high is None else f" [{over.low:.2f}, {over.high:.2f}]"
    return f"{over.mean:.3f}{interval}"


def _of(results: Sequence[ArmResult], arm: str) -> list[ArmResult]:
    return [result for result in results if result.arm == arm]


def _rates(measured: Sequence[msgspec.Struct]) -> dict[str, Over]:
    return {name: Over.of([float(getattr(each, name)) for each in measured]) for name in MEASURES}


def _mean_calls(results: Sequence[ArmResult], rollouts: int) -> dict[str, float]:
    names = sorted({name for result in results for name in result.calls})
    return {
        name: float(np.mean([result.calls.get(name, 0) / rollouts for result in results])) for name in names
    }


def _promises(rates: dict[str, dict[str, Over]]) -> list[Promise]:
    def gain(arm: str, measure: str) -> Over:
        pairs = zip(rates[arm][measure].values, rates[BASELINE][measure].values, strict=True)
        return Over.of([one - other for one, other in pairs])

    def promise(what: str, measured: Over, holds: Callable[[float], bool]) -> Promise:
        return Promise(what=what, measured=measured, holds=holds(measured.mean))

    return [
        promise(
            "AWM's s_mem minus answer-only's, reader of training: ≥ .25",
            gain("awm", "s_mem"),
            lambda x: x >= 0.25,
        ),
        promise("the same under the unseen reader: ≥ .15", gain("awm", "s_mem_unseen"), lambda x: x >= 0.15),
        promise(
            "the placebo's s_mem minus answer-only's: < .08", gain("placebo", "s_mem"), lambda x: x < 0.08
        ),
        promise("AWM's s_ans minus answer-only's: ≥ −.03", gain("awm", "s_ans"), lambda x: x >= -0.03),
        promise(
            "grounded and answerable memories, AWM minus answer-only: ≥ .15",
            gain("awm", "grounded"),
            lambda x: x >= 0.15,
        ),
        promise("AWM's P_mmc minus half of answer-only's: ≤ 0", _over_half(rates, "p_mmc"), lambda x: x <= 0),
    ]


def _over_half(rates: dict[str, dict[str, Over]], measure: str) -> Over:
    pairs = zip(rates["awm"][measure].values, rates[BASELINE][measure].values, strict=True)
    return Over.of([one - other / 2 for one, other in pairs])
