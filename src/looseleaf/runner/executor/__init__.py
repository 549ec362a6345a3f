"""Where the work that fans out is done: in this process (`LocalExecutor`) or on a Ray cluster (`RayExecutor`)."""

from looseleaf.runner.executor.executor import Executor, executor_named
from looseleaf.runner.executor.local import LocalExecutor
from looseleaf.runner.executor.stage import Shape, Stage

__all__ = ["Executor", "LocalExecutor", "Shape", "Stage", "executor_named"]
