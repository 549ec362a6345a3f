"""Names that the official code has in scope where it hands text to `eval`.

A word that is in none of these tables is a `NameError` upstream; a word that is becomes an object. The tables say
which (the type, and the text where it is the same in every run); the objects themselves are never touched.

Source: the built-ins of Python 3.11 with `site`; MMLongBench-Doc `eval/eval_score.py` @ d73f0dc; LongDocURL
`utils/utils_score_v3.py` and `eval/api_models/eval_api_models.py` @ 3807c0e (names only).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from looseleaf.scoring.literals import NamedObject

__all__ = ["BUILTINS", "LONGDOCURL_PIPELINE", "LONGDOCURL_SCORER", "MMLONGBENCH_SCORER"]

_TYPES = (
    "bool bytearray bytes classmethod complex dict enumerate filter float frozenset int list map memoryview object "
    "property range reversed set slice staticmethod str super tuple type zip"
)
_FUNCTIONS = (
    "__build_class__ __import__ abs aiter all anext any ascii bin breakpoint callable chr compile delattr dir divmod "
    "eval exec format getattr globals hasattr hash hex id input isinstance issubclass iter len locals max min next oct "
    "open ord pow print repr round setattr sorted sum vars"
)
_EXCEPTIONS = (
    "ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError "
    "BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError "
    "ConnectionResetError DeprecationWarning EOFError EncodingWarning Exception ExceptionGroup FileExistsError "
    "FileNotFoundError FloatingPointError FutureWarning GeneratorExit ImportError ImportWarning IndentationError "
    "IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError "
    "ModuleNotFoundError NameError NotADirectoryError NotImplementedError OSError OverflowError "
    "PendingDeprecationWarning PermissionError ProcessLookupError RecursionError ReferenceError ResourceWarning "
    "RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError SystemExit "
    "TabError TimeoutError TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError "
    "UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning ZeroDivisionError"
)


def _builtins() -> dict[str, object]:
    names: dict[str, object] = {}
    for name in f"{_TYPES} {_EXCEPTIONS}".split():
        names[name] = NamedObject("type", f"<class '{name}'>")
    for name in _FUNCTIONS.split():
        names[name] = NamedObject("builtin_function_or_method", f"<built-in function {name}>")
    names |= {alias: NamedObject("type", "<class 'OSError'>") for alias in ("EnvironmentError", "IOError")}
    names |= {name: NamedObject("_Printer") for name in ("copyright", "credits", "license")}
    names |= {name: NamedObject("Quitter") for name in ("exit", "quit")}
    names["help"] = NamedObject("_Helper")
    names["NotImplemented"] = NamedObject("NotImplementedType", "NotImplemented")
    names["Ellipsis"] = ...
    return names


def _of_type(type_name: str, names: str) -> dict[str, object]:
    return {name: NamedObject(type_name) for name in names.split()}


_MODULE: dict[str, object] = {
    **_of_type("str", "__file__ __name__ __package__"),
    "__builtins__": NamedObject("dict"),
    "__doc__": None,
    "__loader__": NamedObject("SourceFileLoader"),
    "__spec__": NamedObject("ModuleSpec"),
}
_SCORER_MODULE: dict[str, object] = {
    **_of_type("function", "anls_compute eval_score get_clean_string is_exact_match is_float_equal isfloat"),
    **_of_type("function", "levenshtein_distance show_results"),
    "defaultdict": NamedObject("type", "<class 'collections.defaultdict'>"),
    "isclose": NamedObject("builtin_function_or_method", "<built-in function isclose>"),
    "re": NamedObject("module"),
}
_SCORER_VARIABLES = _of_type("str", "answer_type gt pred")

BUILTINS: Final[Mapping[str, object]] = MappingProxyType(_builtins())
"""Python's built-in names."""

MMLONGBENCH_SCORER: Final[Mapping[str, object]] = MappingProxyType(
    {**BUILTINS, **_MODULE, **_SCORER_MODULE, **_SCORER_VARIABLES, **_of_type("function", "eval_acc_and_f1")}
)
"""Names inside MMLongBench-Doc's scorer. Its own variables are there too: an answer may spell `pred` or `gt`."""

_LONGDOCURL_MODULE = {
    **_SCORER_MODULE,
    **_of_type("function", "calculate_acc_and_f1"),
    **_of_type("module", "json"),
}

LONGDOCURL_SCORER: Final[Mapping[str, object]] = MappingProxyType(
    {**BUILTINS, **_MODULE, **_LONGDOCURL_MODULE, **_SCORER_VARIABLES}
)
"""Names inside LongDocURL's scorer."""

LONGDOCURL_PIPELINE: Final[Mapping[str, object]] = MappingProxyType(
    {
        **BUILTINS,
        **_MODULE,
        **_LONGDOCURL_MODULE,
        **_of_type("module", "argparse base64 datetime json os oss2 pathlib requests sys time"),
        **_of_type("type", "BytesIO GPT4oInferencer Gemini15ProInferencer O1PreviewInferencer OpenAI"),
        **_of_type("type", "QwenMaxInferencer QwenVLMaxInferencer tqdm"),
        **_of_type(
            "function", "call_llm delete_generate_dataset encode_image_to_base64 eval_per_record evaluate"
        ),
        **_of_type("function", "get_alimama_oss_bucket get_msg_format preprocess read_jsonl_file"),
        **_of_type("str", "config_file extractor_prompt_path project_prefix system_prompt"),
        **_of_type("str", "answer_format concise_answer extractor_prompt extractor_result model_name"),
        **_of_type("str", "output_datapath prompt question result"),
        **_of_type("dict", "case config model_name2inferencer"),
        **_of_type("TextIOWrapper", "f rf"),
        "Pool": NamedObject("method"),
        "Union": NamedObject("_SpecialForm", "typing.Union"),
        "args": NamedObject("tuple"),
        "client": NamedObject("OpenAI"),
        "inferencer": NamedObject("Inferencer"),
        "prompt_sign": True,
    }
)
"""Names where LongDocURL's pipeline evaluates the extracted answer; `case` is the whole record, `config` holds keys."""
