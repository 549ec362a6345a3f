"""`looseleaf lab`: can the notes answer on their own, and how sure are we?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from looseleaf.cli import options as o
from looseleaf.cli.exits import UNSCORED_EXIT
from looseleaf.errors import ConfigError

if TYPE_CHECKING:
    from looseleaf.lab.twins import CausalScore
    from looseleaf.models.role_spec import RoleSpec
    from looseleaf.runner.config import ScoreConfig
    from looseleaf.runner.lab import LabConfig, LabOutcome
    from looseleaf.runstore import Run

__all__ = ["lab"]

CONTROLS = "Controls"
AUDITS = "Audits"

AS_SCORED = "as in the last scoring by default"
ReaderOption = Annotated[
    list[str],
    typer.Option(
        "--reader",
        help=f"Who answers from the memory alone: {o.ROLE_HELP}; {AS_SCORED}. May be given several times; the first is "
        "the headline.",
        rich_help_panel="Roles",
    ),
]
ExtractorOption = Annotated[
    str | None,
    typer.Option(
        "--extractor",
        help=f"Who turns responses into short answers: {o.ROLE_HELP}, or none; {AS_SCORED}.",
        rich_help_panel="Roles",
    ),
]
JudgeOption = Annotated[
    str | None,
    typer.Option(
        "--judge", help=f"Who judges, for judge scorers: {o.ROLE_HELP}; {AS_SCORED}.", rich_help_panel="Roles"
    ),
]
ScorerOption = Annotated[
    str, typer.Option("--scorer", help=f"Scorer; {AS_SCORED}.", rich_help_panel="Scoring")
]
VariantOption = Annotated[
    list[str],
    typer.Option(
        "--variant",
        help="Only these memory variants (own, empty, question-only, gold-text, improved, answer-removed, "
        "prediction-removed, shuffled, leave-one-out, keep-one-in, prefix, budget); may be given several times. "
        "All for which there is material by default.",
        rich_help_panel=CONTROLS,
    ),
]
AllReadersOption = Annotated[
    bool,
    typer.Option(
        "--all-readers",
        help="The further readers read every variant, and not only own, empty and question-only.",
        rich_help_panel=CONTROLS,
    ),
]
SamplesOption = Annotated[
    int,
    typer.Option(
        "--samples",
        min=1,
        help="Readings of the own memory by each sampled reader.",
        rich_help_panel=CONTROLS,
    ),
]
TemperatureOption = Annotated[
    float,
    typer.Option("--temperature", min=0.0, help="Temperature of sampled readers.", rich_help_panel=CONTROLS),
]
BudgetOption = Annotated[
    list[int],
    typer.Option(
        "--budget",
        min=1,
        help="Word budget of the anytime curve; may be given several times.",
        rich_help_panel=CONTROLS,
    ),
]
WriterOption = Annotated[
    str | None,
    typer.Option(
        "--writer",
        help=f"Who writes improved memories from the gold pages: {o.ROLE_HELP}.",
        rich_help_panel=CONTROLS,
    ),
]
AnswererOption = Annotated[
    str,
    typer.Option(
        "--answerer",
        help="Where final answers under swapped memories come from: replay (the policy, with the pages of its "
        "trajectory), memory-only (its model, without pages) or none.",
        rich_help_panel=CONTROLS,
    ),
]
AnswerModelOption = Annotated[
    str | None,
    typer.Option(
        "--answer-model",
        help=f"Who answers for memory-only, if not the policy's own model: {o.ROLE_HELP}.",
        rich_help_panel=CONTROLS,
    ),
]
GroundingOption = Annotated[
    str,
    typer.Option(
        "--grounding",
        help="Who checks findings against their cited page: embedded (rules over its text), a judge that sees its "
        "image (openai:MODEL), or none.",
        rich_help_panel=AUDITS,
    ),
]
GoldWordsOption = Annotated[
    int,
    typer.Option(
        "--gold-words",
        min=0,
        help="Most words of gold-page text, for readers with a short context; 0 = all.",
        rich_help_panel=CONTROLS,
    ),
]
TwinsOption = Annotated[
    tuple[Path, Path] | None,
    typer.Option(
        "--twins",
        metavar="CHANGED CONTROL",
        help="RUN folders of the same policy on twins/changed and twins/control of generated documents.",
        rich_help_panel=AUDITS,
    ),
]


def lab(
    run_folder: Annotated[Path, typer.Argument(help="A RUN folder.")],
    reader: ReaderOption = [],  # noqa: B006  (typer copies defaults)
    extractor: ExtractorOption = None,
    judge: JudgeOption = None,
    base_url: o.BaseUrlOption = [],  # noqa: B006
    scorer: ScorerOption = "",
    threshold: o.ThresholdOption = ">0",
    data: o.DataOption = None,
    variant: VariantOption = [],  # noqa: B006
    all_readers: AllReadersOption = False,
    samples: SamplesOption = 1,
    temperature: TemperatureOption = 0.7,
    budget: BudgetOption = [],  # noqa: B006
    writer: WriterOption = None,
    answerer: AnswererOption = "none",
    answer_model: AnswerModelOption = None,
    gold_words: GoldWordsOption = 0,
    grounding: GroundingOption = "embedded",
    twins: TwinsOption = None,
) -> None:
    """Examine the memories of a stored run: readers, controls, the intervention, audits, anytime memory.

    The agent is not run again. Everything that is read or judged is stored in the run, so that the same command goes
    on where it stopped and asks nothing twice.
    """
    from looseleaf.runstore import Run

    stored = Run.open(run_folder)
    config = _config(
        _score_config(stored, scorer, extractor, reader, judge, base_url, threshold),
        variant=variant,
        all_readers=all_readers,
        samples=samples,
        temperature=temperature,
        budget=budget,
        writer=_spec(writer, base_url),
        answerer=answerer,
        answer_model=_spec(answer_model, base_url),
        gold_words=gold_words,
        grounding=_spec(grounding, base_url),
        data=data,
    )
    outcome = _run(stored, config)
    score = None if twins is None else _twins(stored, outcome, twins, config)
    _report(stored, outcome, config, score)
    if outcome.unscored:
        typer.echo(
            f"looseleaf: {outcome.unscored} rows are unscored because something failed; "
            "the same command tries them again.",
            err=True,
        )
        raise typer.Exit(UNSCORED_EXIT)


def _config(
    score: ScoreConfig,
    *,
    variant: list[str],
    all_readers: bool,
    samples: int,
    temperature: float,
    budget: list[int],
    writer: RoleSpec | None,
    answerer: str,
    answer_model: RoleSpec | None,
    gold_words: int,
    grounding: RoleSpec | None,
    data: Path | None,
) -> LabConfig:
    from looseleaf.lab.variants import kinds_named
    from looseleaf.runner.lab import LabConfig
    from looseleaf.runner.lab.config import DEFAULT_BUDGETS, answerer_named

    assert grounding is not None
    return LabConfig(
        score=score,
        kinds=kinds_named(variant) if variant else None,
        all_readers=all_readers,
        samples=samples,
        temperature=temperature,
        budgets=tuple(sorted(set(budget))) or DEFAULT_BUDGETS,
        writer=writer,
        answerer=answerer_named(answerer),
        answer_model=answer_model,
        gold_words=gold_words,
        grounding=grounding,
        data="" if data is None else str(data),
    )


def _score_config(
    stored: Run,
    scorer: str,
    extractor: str | None,
    readers: list[str],
    judge: str | None,
    base_url: list[str],
    threshold: str,
) -> ScoreConfig:
    """The scoring that was asked for, filled up from the run's last one."""
    from looseleaf.runner.lab.config import last_score_config
    from looseleaf.scoring.thresholds import threshold_named

    threshold_named(threshold)
    given = {
        "scorer": scorer or None,
        "extractor": _spec(extractor, base_url),
        "judge": _spec(judge, base_url),
        "readers": tuple(spec for name in readers if (spec := _spec(name, base_url))) or None,
        "threshold": threshold,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    return last_score_config(stored, changes)


def _spec(text: str | None, base_url: list[str]) -> RoleSpec | None:
    return None if text is None else o.role_spec(text, base_url)


def _run(stored: Run, config: LabConfig) -> LabOutcome:
    from looseleaf.cli.console import progress_bars
    from looseleaf.runner.lab import run_lab

    with progress_bars() as draw:
        return run_lab(stored, config, progress=draw)


def _twins(stored: Run, outcome: LabOutcome, folders: tuple[Path, Path], config: LabConfig) -> CausalScore:
    """The causal score with two further runs, read by the headline reader and scored alike."""
    import msgspec

    from looseleaf.cli.console import progress_bars
    from looseleaf.lab.records import ScoredRun
    from looseleaf.lab.twins import causal_score
    from looseleaf.runner.score import score_run
    from looseleaf.runstore import Run

    one_reader = msgspec.structs.replace(config.score, readers=config.score.readers[:1])
    others = []
    with progress_bars() as draw:
        for folder in folders:
            twin = Run.open(folder)
            made = score_run(twin, one_reader, progress=draw)
            if made.unscored:
                raise ConfigError(f"{made.unscored} rows of {folder} are unscored; run the command again.")
            others.append((ScoredRun(twin, made.score_id), made.reading_ids[0]))
    base = ScoredRun(stored, outcome.score_id), outcome.reading_ids[0]
    return causal_score(base, others[0], others[1])


def _report(stored: Run, outcome: LabOutcome, config: LabConfig, score: CausalScore | None) -> None:
    from looseleaf.cli.console import console
    from looseleaf.lab.report import LabLedgers, build_lab_report
    from looseleaf.report.lab import lab_notices, print_lab_report, write_lab_report

    ledgers = LabLedgers(
        score_id=outcome.score_id,
        reading_ids=outcome.reading_ids,
        sampled_ids=outcome.sampled_ids,
        answer_id=outcome.answer_id,
        answerer=outcome.answerer,
        grounding_id=outcome.grounding_id,
        checker=outcome.checker,
    )
    built = build_lab_report(stored, ledgers, config.score.threshold, score)
    notices = lab_notices(stored, built, outcome.notices)
    out = console()
    print_lab_report(out, stored, built, notices)
    out.print(f"Report: {write_lab_report(stored, built, notices)[1]}", markup=False)
