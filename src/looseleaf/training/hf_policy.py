"""`hf:CHECKPOINT`: a trained checkpoint as the agent of any run, with the messages and tokens of its training.

`import looseleaf.training` makes the backend known; the command line does so by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import msgspec

from looseleaf.errors import ConfigError
from looseleaf.models.registry import register_backend
from looseleaf.models.role_spec import RoleSpec
from looseleaf.roles import Policy

__all__ = ["BACKEND", "HfOptions", "in_memory", "make_hf_policy", "register"]

BACKEND = "hf"
"""What role specs call it."""
DEFAULT_TURN_TOKENS = 512
"""Longest turn, as `[train] max_turn_tokens`."""


class HfOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the role.

    Attributes:
        temperature: 0 takes the likeliest token; above, the sample's seed decides.
        max_turn_tokens: longest turn.
        dtype: of the weights; `auto` is bfloat16 on a GPU and float32 elsewhere.
        prompt: file with one's own prompt.
        max_image_pixels: pages are made smaller until they have at most so many pixels.
        actions: how actions are written; the protocol's own way by default.
    """

    temperature: float = 0.0
    max_turn_tokens: int = DEFAULT_TURN_TOKENS
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    prompt: str = ""
    max_image_pixels: int | None = None
    actions: Literal["tools", "tags", "json"] | None = None

    @classmethod
    def of(cls, spec: RoleSpec) -> HfOptions:
        """The options of a spec.

        Raises:
            ConfigError: one is unknown or of the wrong type.
        """
        try:
            return msgspec.convert(spec.options, cls)
        except msgspec.ValidationError as problem:
            known = ", ".join(cls.__struct_fields__)
            raise ConfigError(
                f"{spec.name} cannot be used ({problem}); its options are {known}."
            ) from problem


_in_memory: dict[str, Policy] = {}


@contextmanager
def in_memory(checkpoint: str, policy: Policy) -> Iterator[None]:
    """Let `hf:CHECKPOINT` be a policy that is in memory already, such as the one in training, inside the block."""
    _in_memory[checkpoint] = policy
    try:
        yield
    finally:
        del _in_memory[checkpoint]


def make_hf_policy(spec: RoleSpec) -> Policy:
    """The policy of `hf:CHECKPOINT`: a folder, or the name of a model on the hub.

    Raises:
        ConfigError: it names no checkpoint, cannot be loaded, or a package is missing.
    """
    options = HfOptions.of(spec)
    if not spec.argument:
        raise ConfigError("hf needs a checkpoint; use hf:FOLDER, or hf:NAME of a model on the hub.")
    held = _in_memory.get(spec.argument)
    return held if held is not None else _loaded(spec.argument, options)


def _loaded(checkpoint: str, options: HfOptions) -> Policy:
    from looseleaf.training.local_policy import LocalPolicy
    from looseleaf.training.weights import load_checkpoint, load_checkpoint_processor

    processor = load_checkpoint_processor(checkpoint)
    model = _placed(checkpoint, options, load_checkpoint)
    return LocalPolicy(
        model,
        processor,
        temperature=options.temperature,
        max_turn_tokens=options.max_turn_tokens,
        options=_chat_options(options),
    )


def _placed(checkpoint: str, options: HfOptions, load: Any) -> Any:
    import torch

    has_gpu = torch.cuda.is_available()
    dtype = options.dtype if options.dtype != "auto" else "bfloat16" if has_gpu else "float32"
    return load(checkpoint, dtype).to("cuda" if has_gpu else "cpu").eval()


def _chat_options(options: HfOptions) -> Any:
    from looseleaf.models.chat.options import ChatOptions

    return ChatOptions(
        prompt=options.prompt, max_image_pixels=options.max_image_pixels, actions=options.actions
    )


def register() -> None:
    """Make `hf:CHECKPOINT` known to every command that takes a policy."""
    register_backend("policy", BACKEND, make_hf_policy)
