"""Benchmarks by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from looseleaf.benchmarks import doc750k, fetatab, longdocurl, mmlongbench, papertab, papertext, procedural
from looseleaf.benchmarks.benchmark import Benchmark
from looseleaf.benchmarks.dude import DUDE, DUDE_SUB
from looseleaf.benchmarks.question_set import QuestionSet
from looseleaf.errors import ConfigError

__all__ = ["BENCHMARKS", "canonical_name", "get_benchmark", "load_benchmark"]

BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType(
    {
        benchmark.name: benchmark
        for benchmark in (
            mmlongbench.BENCHMARK,
            longdocurl.BENCHMARK,
            papertab.BENCHMARK,
            papertext.BENCHMARK,
            fetatab.BENCHMARK,
            DUDE,
            DUDE_SUB,
            procedural.BENCHMARK,
            doc750k.BENCHMARK,
        )
    }
)
"""Every benchmark by its canonical name."""


def canonical_name(name: str) -> str:
    """`name` in lower case with hyphens for underscores."""
    return name.strip().lower().replace("_", "-")


def get_benchmark(name: str) -> Benchmark:
    """The benchmark of this name; underscores and capitals are accepted.

    Raises:
        ConfigError: there is none.
    """
    found = BENCHMARKS.get(canonical_name(name))
    if found is None:
        raise ConfigError(f"there is no benchmark {name!a}; choose one of {', '.join(sorted(BENCHMARKS))}.")
    return found


def load_benchmark(name: str, data: Path, **options: Any) -> QuestionSet:
    """Read a benchmark from the folder `data`; no document is opened.

    Args:
        name: a benchmark's name.
        data: folder in the benchmark's layout.
        options: `COMMON_OPTIONS` and the benchmark's own.

    Raises:
        ConfigError: unknown name or option.
        DataError: no annotation file, a broken row, or no usable document.
    """
    return get_benchmark(name).load(Path(data), **options)
