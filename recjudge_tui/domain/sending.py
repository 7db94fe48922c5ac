"""What is sent to a server beside the prompt because the user asked for it: `--option KEY=JSON`, an effort, thinking off."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from recjudge_tui.errors import UsageError

# parameters that recjudge sets itself -> where the user can change them
_OWN = {
    **dict.fromkeys(("model", "modelId"), "--judge"),
    **dict.fromkeys(("messages", "system", "prompt", "input"), "the prompt's file"),
    **dict.fromkeys(("response_format", "format", "outputConfig"), "the prompt's file"),
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "maxTokens", "num_predict"), "--max-tokens"),
    "temperature": "--temperature",
    "seed": "--seed",
    **dict.fromkeys(("n", "best_of"), "--repeats"),
    **dict.fromkeys(("stream", "truncate", "shift", "num_ctx"), ""),
}
_SECRET = re.compile(
    r"api[-_]?key|authorization|password|secret|credential|bearer|access[-_]?token", re.IGNORECASE
)
_BARE_WORD = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)


def sending_options(words: Iterable[str]) -> dict[str, Any]:
    """`KEY=JSON` of each as a mapping; a bare word counts as text, so that `reasoning_effort=low` needs no quotes.

    Raises UsageError for a value that is not JSON, for a parameter that recjudge sets itself, and for anything that
    looks like a secret.
    """
    options: dict[str, Any] = {}
    for word in words:
        name, sign, text = (part.strip() for part in word.partition("="))
        if not (sign and name and text):
            raise UsageError(
                "an option is written KEY=JSON",
                "It needs a key, an equals sign and a value.",
                "For example: reasoning_effort=low or think=false.",
            )
        options[name] = _value(name, text)
    _check(options)
    return options


def _value(name: str, text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        if _BARE_WORD.fullmatch(text):
            return text
    raise UsageError(
        f"the value of {name} is not JSON",
        "The value is sent to the server unchanged.",
        """Write numbers, true, false, null, text in "…", lists in […] or objects in {…}; in a shell, in '…'.""",
    )


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _check(options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        if _SECRET.search(name):
            raise UsageError(
                f"{name} looks like a secret, and options are stored with the run",
                next_step="Put it in an environment variable, and give its name with --api-key-env or --header-env.",
            )
        if name in _OWN:
            instead = f"Use {_OWN[name]}." if _OWN[name] else "Leave it out."
            raise UsageError(f"{name} is set by recjudge and cannot be an option", next_step=instead)
        if isinstance(value, dict):
            _check(value)


def with_options(body: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The request body with the options added. An object is merged into an existing one; null removes a parameter."""
    merged = dict(body)
    for name, value in options.items():
        known = merged.get(name)
        merged[name] = {**known, **value} if isinstance(known, dict) and isinstance(value, dict) else value
    return {name: value for name, value in merged.items() if value is not None}
