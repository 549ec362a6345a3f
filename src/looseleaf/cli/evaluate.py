"""`looseleaf eval`, and its parts `run`, `score` and `report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from looseleaf.cli import options as o
from looseleaf.cli.consent import preflight
from looseleaf.cli.exits import UNSCORED_EXIT, exit_on_faults
from looseleaf.errors import ConfigError

if TYPE_CHECKING:
    from looseleaf.report import Report
    from looseleaf.runner.config import DataConfig, RunConfig, ScoreConfig
    from looseleaf.runner.execute import RunOutcome
    from looseleaf.runner.executor import Executor
    from looseleaf.runner.score import ScoreOutcome
    from looseleaf.runstore import Run

__all__ = ["eval_", "report", "run", "score"]

RunArgument = Annotated[Path, typer.Argument(help="A RUN folder.")]
WhatArgument = Annotated[str, typer.Argument(help="A benchmark's name, or your own questions as JSON lines.")]


def eval_(
    what: WhatArgument,
    data: o.DataOption = None,
    docs: o.DocsOption = None,
    option: o.DataOptionOption = [],  # noqa: B006
    out: o.OutOption = None,
    policy: o.PolicyOption = "embedded",
    reader: o.ReaderOption = ["embedded"],  # noqa: B006  (typer copies defaults)
    extractor: o.ExtractorOption = "embedded",
    judge: o.JudgeOption = "none",
    base_url: o.BaseUrlOption = [],  # noqa: B006
    protocol: o.ProtocolOption = "awm",
    retriever: o.RetrieverOption = "bm25",
    ocr: o.OcrOption = False,
    max_turns: o.MaxTurnsOption = None,
    limit: o.LimitOption = None,
    ids: o.IdsOption = [],  # noqa: B006
    samples: o.SamplesOption = 1,
    seed: o.SeedOption = 0,
    strict: o.StrictOption = False,
    concurrency: o.ConcurrencyOption = 8,
    scorer: o.ScorerOption = [],  # noqa: B006
    threshold: o.ThresholdOption = ">0",
    drift: o.DriftOption = None,
    drift_reference: o.DriftReferenceOption = None,
    max_cost: o.MaxCostOption = None,
    max_tokens: o.MaxTokensOption = None,
    yes: o.YesOption = False,
    executor: o.ExecutorOption = "local",
    ray_address: o.RayAddressOption = "",
    cache: o.CacheOption = "",
) -> None:
    """Run an agent on a benchmark or on your own questions, score it, and report.

    The same command resumes: finished questions are never run twice.
    """
    from looseleaf.runner.executor import executor_named
    from looseleaf.runner.score import check_score_config

    o.use_cache(cache)
    run_config = _run_config(
        what,
        data,
        docs,
        option,
        policy,
        base_url,
        protocol,
        retriever,
        ocr,
        max_turns,
        limit,
        ids,
        samples,
        seed,
        strict,
        concurrency,
    )
    score_config = _with_drift(
        _score_config(scorer, extractor, reader, judge, base_url, threshold),
        run_config.data.benchmark,
        drift,
        drift_reference,
    )
    check_score_config(score_config, run_config.data.benchmark)
    folder = out or _default_out(run_config)
    preflight(run_config, score_config, folder, max_cost, max_tokens, yes)
    with executor_named(executor, ray_address) as where:
        outcome = _execute(run_config, folder, where)
        scored = _score(outcome.run, score_config, where)
    _report(outcome.run, score_config, scored, outcome)


def run(
    what: WhatArgument,
    data: o.DataOption = None,
    docs: o.DocsOption = None,
    option: o.DataOptionOption = [],  # noqa: B006
    out: o.OutOption = None,
    policy: o.PolicyOption = "embedded",
    base_url: o.BaseUrlOption = [],  # noqa: B006
    protocol: o.ProtocolOption = "awm",
    retriever: o.RetrieverOption = "bm25",
    ocr: o.OcrOption = False,
    max_turns: o.MaxTurnsOption = None,
    limit: o.LimitOption = None,
    ids: o.IdsOption = [],  # noqa: B006
    samples: o.SamplesOption = 1,
    seed: o.SeedOption = 0,
    strict: o.StrictOption = False,
    concurrency: o.ConcurrencyOption = 8,
    max_cost: o.MaxCostOption = None,
    max_tokens: o.MaxTokensOption = None,
    yes: o.YesOption = False,
    executor: o.ExecutorOption = "local",
    ray_address: o.RayAddressOption = "",
    cache: o.CacheOption = "",
) -> None:
    """Only run the agent; `looseleaf score RUN` scores what is stored."""
    from looseleaf.runner.executor import executor_named

    o.use_cache(cache)
    config = _run_config(
        what,
        data,
        docs,
        option,
        policy,
        base_url,
        protocol,
        retriever,
        ocr,
        max_turns,
        limit,
        ids,
        samples,
        seed,
        strict,
        concurrency,
    )
    folder = out or _default_out(config)
    preflight(config, None, folder, max_cost, max_tokens, yes)
    with executor_named(executor, ray_address) as where:
        outcome = _execute(config, folder, where)
    exit_on_faults(outcome.faults, outcome.interrupted)


def score(
    run_folder: RunArgument,
    reader: o.ReaderOption = ["embedded"],  # noqa: B006
    extractor: o.ExtractorOption = "embedded",
    judge: o.JudgeOption = "none",
    base_url: o.BaseUrlOption = [],  # noqa: B006
    scorer: o.ScorerOption = [],  # noqa: B006
    threshold: o.ThresholdOption = ">0",
    drift: o.DriftOption = None,
    drift_reference: o.DriftReferenceOption = None,
    executor: o.ExecutorOption = "local",
    ray_address: o.RayAddressOption = "",
    cache: o.CacheOption = "",
) -> None:
    """Score a stored run again with another scorer, extractor, judge or reader; the agent is not run.

    Several scorers stand side by side in the report, with their agreement.
    """
    from looseleaf.runner.executor import executor_named
    from looseleaf.runner.score import scorable_questions
    from looseleaf.runstore import Run

    o.use_cache(cache)
    stored = Run.open(run_folder)
    benchmark = scorable_questions(stored)[0].benchmark
    config = _score_config(scorer, extractor, reader, judge, base_url, threshold)
    config = _with_drift(config, benchmark, drift, drift_reference)
    with executor_named(executor, ray_address) as where:
        scored = _score(stored, config, where)
    _report(stored, config, scored, None)


def report(
    run_folders: Annotated[list[Path], typer.Argument(help="One or more RUN folders.")],
    score_ids: Annotated[
        list[str],
        typer.Option(
            "--score",
            help="Ledger of scores, or scorer; the last scoring's by default. May be given several times, for scorers "
            "side by side; the first is the headline.",
        ),
    ] = [],  # noqa: B006
    reading_id: Annotated[
        str | None, typer.Option("--reading", help="Ledger of readings; the last scoring's by default.")
    ] = None,
    threshold: Annotated[
        str,
        typer.Option(
            help="When a graded score counts as correct: '>0' (paper), '>=0.5' or '=1'; the last scoring's by default.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Print the report of stored runs, and write it as HTML, Markdown and JSON into each run.

    Of several runs, the first one's folder also gets a page with all of them and each against the first.
    """
    from looseleaf.cli.console import console
    from looseleaf.report import build_report, print_comparison, print_report, write_report
    from looseleaf.runstore import Run

    out = console()
    reports = []
    for folder in run_folders:
        stored = Run.open(folder)
        built = build_report(stored, also=score_ids, reading_id=reading_id, threshold=threshold)
        print_report(out, built)
        markdown = write_report(stored, built, reading_id)[1]
        out.print(f"{markdown.with_suffix('.html')}, {markdown.name}\n", markup=False)
        reports.append(built)
    if len(reports) > 1:
        print_comparison(out, reports)
        out.print(str(_write_comparison(run_folders, reports, reading_id)), markup=False)


def _write_comparison(folders: list[Path], reports: list[Report], reading_id: str | None) -> Path:
    """One page about several runs; runs without common questions stand side by side only."""
    from looseleaf.errors import RunError
    from looseleaf.lab.compare import compare_runs
    from looseleaf.report.html import write_comparison_html
    from looseleaf.runstore import Run

    first, *others = map(Run.open, folders)
    comparisons = []
    for other, report in zip(others, reports[1:], strict=True):
        ids = (reports[0].settings["score ledger"], report.settings["score ledger"])
        threshold = reports[0].settings["correct if score"]
        try:
            comparisons.append(
                compare_runs(
                    first, other, score_ids=ids, reading_ids=(reading_id, reading_id), threshold=threshold
                )
            )
        except RunError as problem:
            typer.echo(f"looseleaf: {problem}", err=True)
    return write_comparison_html(first.path / "report", reports, comparisons)


def _run_config(
    what: str,
    data: Path | None,
    docs: Path | None,
    option: list[str],
    policy: str,
    base_url: list[str],
    protocol: str,
    retriever: str,
    ocr: bool,
    max_turns: int | None,
    limit: int | None,
    ids: list[str],
    samples: int,
    seed: int,
    strict: bool,
    concurrency: int,
) -> RunConfig:
    from looseleaf.protocol import named_protocol
    from looseleaf.runner.config import RunConfig

    return RunConfig(
        data=_data_config(what, data, docs, option),
        policy=o.role_spec(policy, base_url),
        protocol=named_protocol(protocol, max_turns=max_turns),
        retriever=retriever,
        ocr=ocr,
        limit=limit,
        ids=tuple(ids),
        samples=samples,
        seed=seed,
        strict=strict,
        concurrency=concurrency,
    )


def _data_config(what: str, data: Path | None, docs: Path | None, option: list[str]) -> DataConfig:
    from looseleaf.benchmarks import canonical_name
    from looseleaf.runner.config import DataConfig

    if Path(what).suffix in {".jsonl", ".json"}:
        if docs is None:
            raise ConfigError(f"Your questions {what} need their documents; add --docs DIR.")
        return DataConfig(benchmark=what, path=str(docs))
    if data is None:
        raise ConfigError(f"The benchmark {what} needs its data folder; add --data DIR.")
    return DataConfig(benchmark=canonical_name(what), path=str(data), options=o.data_options(option))


def _score_config(
    scorers: list[str], extractor: str, readers: list[str], judge: str, base_url: list[str], threshold: str
) -> ScoreConfig:
    from looseleaf.runner.config import ScoreConfig
    from looseleaf.scoring.thresholds import threshold_named

    threshold_named(threshold)
    scorer, *also = scorers or [""]
    return ScoreConfig(
        scorer=scorer,
        also=tuple(also),
        extractor=o.role_spec(extractor, base_url),
        readers=tuple(o.role_spec(reader, base_url) for reader in readers),
        judge=o.role_spec(judge, base_url),
        threshold=threshold,
    )


def _with_drift(
    config: ScoreConfig, benchmark: str, drift: bool | None, reference: Path | None
) -> ScoreConfig:
    """The configuration with the drift items switched on or off, as asked for or as the roles suggest."""
    import msgspec

    from looseleaf.runner.drift import is_model

    wanted = is_model(config, benchmark) if drift is None else drift
    return msgspec.structs.replace(config, drift=wanted, drift_reference=str(reference or ""))


def _default_out(config: RunConfig) -> Path:
    from looseleaf.runstore import config_id

    name = Path(config.data.benchmark).stem
    return Path("runs") / config_id(name, config.as_tables())


def _execute(config: RunConfig, out: Path, executor: Executor) -> RunOutcome:
    from looseleaf.cli.console import progress_bars
    from looseleaf.runner.execute import execute

    with progress_bars() as draw:
        return execute(
            config, out, progress=lambda done, total: draw("agent", done, total), executor=executor
        )


def _score(stored: Run, config: ScoreConfig, executor: Executor) -> ScoreOutcome:
    from looseleaf.cli.console import progress_bars
    from looseleaf.runner.score import score_run

    with progress_bars() as draw:
        return score_run(stored, config, progress=draw, executor=executor)


def _report(stored: Run, config: ScoreConfig, scored: ScoreOutcome, outcome: RunOutcome | None) -> None:
    from looseleaf.cli.console import console
    from looseleaf.report import build_report, print_report, write_report

    out = console()
    reading_id = scored.reading_ids[0] if scored.reading_ids else None
    built = build_report(
        stored,
        score_id=scored.score_id,
        also=scored.also,
        reading_id=reading_id,
        threshold=config.threshold,
    )
    print_report(out, built)
    _, markdown = write_report(stored, built)
    out.print(f"[dim]{_session_line(stored)}[/dim]")
    out.print(f"Report: {markdown}, report.html", markup=False)
    if scored.drift_faults:
        typer.echo(
            f"looseleaf: {scored.drift_faults} drift items got no reply; the same command asks again.",
            err=True,
        )
    imported = "import" in stored.manifest
    exit_on_faults(scored.unscored, outcome.interrupted if outcome else False, imported=imported)
    if scored.drift_faults:
        raise typer.Exit(UNSCORED_EXIT)


def _session_line(stored: Run) -> str:
    session = stored.manifest.get("last_session", {})
    return (
        f"{_trajectories(session.get('finished_now', 0))} now, {session.get('finished_before', 0)} before; "
        f"{session.get('pages_extracted', 0)} pages extracted, {session.get('pages_rendered', 0)} pages rendered"
        + (f", {read} pages read by OCR" if (read := session.get("pages_recognized", 0)) else "")
    )


def _trajectories(count: int) -> str:
    return "1 trajectory" if count == 1 else f"{count} trajectories"
