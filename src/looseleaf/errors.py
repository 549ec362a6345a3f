"""The error tree: one class for each boundary that a fault can cross.

```
LooseleafError
├── UserError          something the user gave cannot be used; the command exits with 2
│   ├── DocumentError  a document cannot be opened or a page cannot be read
│   ├── DataError      a data set, question file or annotation cannot be used
│   ├── ConfigError    an option, role or configuration cannot be used
│   └── RunError       a RUN folder cannot be read, written or locked
├── ContextOverflowError  a conversation outgrew the model's context; scored as an empty prediction
└── FaultError         something outside failed while work was under way; the row is unscored
    ├── ProviderError  a model server, judge, reader or extractor did not give an answer
    └── AgentError     a user's own agent or model raised an exception
```

Every message is one sentence that says what happened and what to do next.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "AgentError",
    "ConfigError",
    "ContextOverflowError",
    "DataError",
    "DocumentError",
    "FaultError",
    "LooseleafError",
    "ProviderError",
    "RunError",
    "UserError",
    "boundary",
]


class LooseleafError(Exception):
    """Base of every error that looseleaf raises on purpose."""


class UserError(LooseleafError):
    """Something that the user gave cannot be used; no work was started."""


class DocumentError(UserError):
    """A document cannot be opened, or one of its pages cannot be read."""


class DataError(UserError):
    """A data set, question file or annotation cannot be used."""


class ConfigError(UserError):
    """An option, a role or a configuration cannot be used."""


class RunError(UserError):
    """A RUN folder cannot be read, written or locked."""


class ContextOverflowError(LooseleafError):
    """A conversation outgrew the model's context: the agent's own doing, scored as an empty prediction."""


class FaultError(LooseleafError):
    """Something outside failed while work was under way; never counted as a wrong answer."""


class ProviderError(FaultError):
    """A model server, judge, reader or extractor did not give an answer."""


class AgentError(FaultError):
    """A user's own agent or model raised an exception."""


@contextmanager
def boundary(error: type[LooseleafError], what: str) -> Iterator[None]:
    """Turn any foreign exception that leaves the block into `error`, with the cause kept.

    Args:
        error: class to raise in place of the foreign exception.
        what: start of the sentence, e.g. `"the agent my_agent failed"`.

    Raises:
        LooseleafError: errors of looseleaf's own tree pass through unchanged.
    """
    try:
        yield
    except LooseleafError:
        raise
    except Exception as cause:
        raise error(f"{what}: {type(cause).__name__}: {cause}") from cause
