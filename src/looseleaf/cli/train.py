"""`looseleaf train`: SFT, answer-only GRPO, AWM-GRPO, and what they need."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from looseleaf import training  # registers hf:CHECKPOINT as a policy; imports nothing heavy
from looseleaf.cli import options as o
from looseleaf.cli.consent import preflight
from looseleaf.cli.exits import exit_on_faults

if TYPE_CHECKING:
    from looseleaf.training.config import TrainConfig

__all__ = ["train_app"]

assert training  # imported for what it registers

START = "start"


class _ConfigOrVerb(TyperGroup):
    """`looseleaf train CONFIG.toml` is `looseleaf train start CONFIG.toml`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the verb in front where the first word is none."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [START, *args]
        return super().parse_args(ctx, args)


train_app = typer.Typer(
    cls=_ConfigOrVerb,
    help="Train the policy: `looseleaf train CONFIG.toml`. SFT, answer-only GRPO and AWM-GRPO differ by one setting.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

ConfigArgument = Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="The configuration.")]
WithOption = Annotated[
    list[Path],
    typer.Option("--with", help="A further file over the configuration, e.g. of a launch; may be repeated."),
]
SetOption = Annotated[
    list[str],
    typer.Option(
        "--set", metavar="TABLE.KEY=VALUE", help="Change one setting, e.g. train.seed=1; may be repeated."
    ),
]
OutRunOption = Annotated[Path, typer.Option("--out", help="RUN folder, new or to be continued.")]


class _Difficulty(StrEnum):
    LOOKS = "looks"
    SUCCESS = "success"
    PAGES = "pages"


@train_app.command(START)
def start(
    config: ConfigArgument,
    overlays: WithOption = [],  # noqa: B006
    changes: SetOption = [],  # noqa: B006
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the resolved plan: calls, rollouts, tokens, memory. Nothing runs."
        ),
    ] = False,
    gates: Annotated[
        bool,
        typer.Option("--gates", help="Only check, before any step, that rollouts and loss agree (grpo)."),
    ] = False,
    processes: Annotated[
        int, typer.Option(min=1, help="Devices of the launch, for the memory of --dry-run.")
    ] = 1,
) -> None:
    """Train as CONFIG.toml says; the same command goes on where it stopped. The word `start` may be left out."""
    wanted = _config(config, overlays, changes)
    if dry_run:
        from looseleaf.training.dry_run import plan_lines

        for line in plan_lines(wanted, processes=processes):
            typer.echo(line)
        return
    from looseleaf.training.processing import require_training

    require_training()
    from looseleaf.training.start import check_only, start_training

    if gates:
        check_only(wanted, say=_say)
        return
    for line in start_training(wanted, say=_say):
        _say(line)


@train_app.command("collect")
def collect(
    config: ConfigArgument,
    teacher: Annotated[str, typer.Option("--teacher", help=f"Who acts: {o.ROLE_HELP}.")],
    out: OutRunOption,
    base_url: o.BaseUrlOption = [],  # noqa: B006
    samples: o.SamplesOption = 1,
    keep: Annotated[
        int | None, typer.Option(min=1, help="Most SFT trajectories; half of the questions by default.")
    ] = None,
    difficulty: Annotated[
        _Difficulty, typer.Option(help="What the balanced buckets are made by.")
    ] = _Difficulty.LOOKS,
    require_memory: Annotated[
        bool,
        typer.Option(
            "--require-memory", help="Ablation: keep only trajectories whose memory alone answers, too."
        ),
    ] = False,
    max_invalid: Annotated[
        int, typer.Option(min=0, help="Refused turns that a kept trajectory may have.")
    ] = 0,
    overlays: WithOption = [],  # noqa: B006
    changes: SetOption = [],  # noqa: B006
    concurrency: o.ConcurrencyOption = 8,
    max_cost: o.MaxCostOption = None,
    max_tokens: o.MaxTokensOption = None,
    yes: o.YesOption = False,
) -> None:
    """Run a teacher over the training questions and keep its correct trajectories in balanced difficulty buckets.

    Writes an ordinary RUN, in it `sft.jsonl`, `candidates.json` (the questions left for GRPO) and `collection.json`.
    """
    from looseleaf.training.collect import collect as run_teacher
    from looseleaf.training.collect import teacher_run
    from looseleaf.training.collection import CollectOptions

    wanted = _config(config, overlays, changes)
    options = CollectOptions(
        teacher=o.role_spec(teacher, base_url),
        samples=samples,
        keep=keep,
        measure=difficulty.value,
        require_memory=require_memory,
        max_invalid=max_invalid,
        concurrency=concurrency,
    )
    preflight(teacher_run(wanted, options), wanted.training_score, out, max_cost, max_tokens, yes)
    with _bars() as draw:
        done = run_teacher(
            wanted, options, out, progress=lambda n, total: draw("teacher", n, total), stages=draw
        )
    if done.collection is not None:
        for line in done.collection.lines(out):
            typer.echo(line)
    exit_on_faults(done.unscored, done.collection is None)


@train_app.command("pool")
def pool(
    config: ConfigArgument,
    policy: Annotated[str, typer.Option("--policy", help="The SFT checkpoint, e.g. hf:OUT/final.")],
    out: OutRunOption,
    candidates: Annotated[
        Path | None,
        typer.Option("--from", help="candidates.json of `train collect`; all training questions by default."),
    ] = None,
    base_url: o.BaseUrlOption = [],  # noqa: B006
    samples: Annotated[
        int | None, typer.Option(min=2, help="Trajectories a question; the group size by default.")
    ] = None,
    overlays: WithOption = [],  # noqa: B006
    changes: SetOption = [],  # noqa: B006
    concurrency: o.ConcurrencyOption = 8,
) -> None:
    """Sample each candidate several times with the SFT checkpoint and keep the prompts of mixed groups for GRPO."""
    from looseleaf.training.prompt_pool import POOL_FILE, make_pool

    with _bars() as draw:
        made = make_pool(
            _config(config, overlays, changes),
            o.role_spec(policy, base_url),
            out,
            candidates=candidates,
            samples=samples,
            concurrency=concurrency,
            progress=lambda n, total: draw("policy", n, total),
            stages=draw,
        )
    if made.pool is not None:
        found = made.pool
        typer.echo(
            f"{len(found.prompts)} of {found.n_candidates} prompts are mixed; {found.n_all_right} all right, "
            f"{found.n_all_wrong} all wrong, {found.n_too_few} with too few scored samples."
        )
        typer.echo(f'[data]\npool = "{out / POOL_FILE}"\npool_sha256 = "{made.sha256}"')
    exit_on_faults(made.unscored, made.pool is None)


@train_app.command("evaluate")
def evaluate(
    config: ConfigArgument,
    steps: Annotated[
        list[int], typer.Option("--step", help="Only the checkpoint of this step; may be repeated.")
    ] = [],  # noqa: B006
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy", help="How the one --step is reached, e.g. openai:NAME of a server that has it."
        ),
    ] = None,
    base_url: o.BaseUrlOption = [],  # noqa: B006
    overlays: WithOption = [],  # noqa: B006
    changes: SetOption = [],  # noqa: B006
) -> None:
    """Evaluate saved checkpoints on the held-out questions, beside the training or after it; a RUN for each step."""
    from looseleaf.training.start import evaluate_checkpoints

    spec = None if policy is None else o.role_spec(policy, base_url)
    done = evaluate_checkpoints(_config(config, overlays, changes), steps, spec, say=typer.echo)
    typer.echo(f"looseleaf report {' '.join(str(each.run.path) for each in done)}")
    exit_on_faults(sum(each.unscored for each in done), False)


@train_app.command("demo")
def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder of everything that it makes.")] = Path(
        "train-demo"
    ),
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions of each reward.")] = 5,
    steps: Annotated[
        int | None, typer.Option(min=1, help="GRPO steps of each reward; its usual number by default.")
    ] = None,
    processes: Annotated[int, typer.Option(min=1, help="Trainings side by side, one thread each.")] = 2,
) -> None:
    """Train a tiny model on this machine's processor under answer-only, AWM and a placebo, and evaluate it held out."""
    from looseleaf.training.processing import require_training

    require_training()
    from looseleaf.training.demo import run_demo

    if steps is None:
        run_demo(out, seeds, processes=processes, say=typer.echo)
    else:
        run_demo(out, seeds, steps=steps, processes=processes, say=typer.echo)


def _say(line: str) -> None:
    """Print a line once, however many processes were launched."""
    if os.environ.get("RANK", "0") == "0":
        typer.echo(line)


def _config(path: Path, overlays: list[Path], changes: list[str]) -> TrainConfig:
    from looseleaf.training.config_file import load_config, setting

    tables: dict[str, Any] = {}
    for change in changes:
        setting(tables, change)
    return load_config(path, *overlays, changes=tables)


def _bars() -> Any:
    from looseleaf.cli.console import progress_bars

    return progress_bars()
