"""Where a judge answers, and what is sent beside the prompt: the options that say so, each declared once. The record
(`domain.judge.JudgeAddress`), the command line, the forms of the app, the settings file and the Python interface derive
from here. This module loads nothing heavy, because `recjudge run --help` reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from recjudge_tui.errors import UsageError

LONGEST_WORD = 20
_KEY = re.compile(r"(?:sk|pk|rk|gsk|hf|xai|fw|r8|ghp|nvapi|pplx|csk)_.*[A-Z0-9]", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", re.ASCII)
# headers about the transfer of a message, which the connection sets
_OWN = {
    "host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "accept-encoding",
    "upgrade", "te", "trailer", "expect",
}  # fmt: skip


class AddressOption(NamedTuple):
    """One option; `name` is the field of the record, `setting` its name in the settings file. `help` is for the command
    line, `label`, `hint` and `placeholder` are for forms. `many`: it can be repeated. `pairs`: it is written NAME=VAR."""

    name: str
    flag: str
    metavar: str
    help: str
    label: str
    hint: str
    placeholder: str
    many: bool = False
    pairs: bool = False

    @property
    def setting(self) -> str:
        return self.flag.removeprefix("--").replace("-", "_")


_DECLARED = (
    AddressOption(
        "base_urls", "--base-url", "URL", "A server; repeat for several.",
        "base URL", "The server; spaces between several. Default: the provider's", "the provider's own",
        many=True,
    ),
    AddressOption(
        "api_key_env", "--api-key-env", "NAME", "The environment variable that holds the key.",
        "key env", "The NAME of the variable that holds the key; never the key", "the provider's own",
    ),
    AddressOption(
        "header_env", "--header-env", "NAME=VAR",
        "Send the header NAME with the value of the environment variable VAR; repeat for several.",
        "headers", "NAME=VAR: header NAME with the value of variable VAR", "none",
        many=True, pairs=True,
    ),
)  # fmt: skip
ADDRESS_OPTIONS = {option.name: option for option in _DECLARED}


class AddressError(UsageError):
    """An invalid address; `option` is the name of the option. The error does not repeat what may be a secret."""

    def __init__(self, option: str, title: str, cause: str = "", next_step: str = "") -> None:
        super().__init__(title, cause, next_step)
        self.option = option


def is_variable_name(text: str) -> bool:
    """Whether the text can be the name of an environment variable, and does not look like a key: keys have dashes, more
    than twenty characters without an underscore, or digits and capitals after the prefix of their vendor."""
    is_word = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text, re.ASCII) is not None
    return is_word and _KEY.match(text) is None and max(map(len, text.split("_"))) <= LONGEST_WORD


def value_of(option: AddressOption, words: Sequence[str]) -> Any:
    """The field of the record that these words mean. Raises AddressError for what is not NAME=VAR, and for several words
    where there is one."""
    if option.pairs:
        return tuple(_pair(option, word) for word in words)
    if option.many:
        return tuple(words)
    if len(words) > 1:
        raise AddressError(option.name, f"{option.flag} takes one name", next_step="Write one word.")
    return words[0] if words else ""


def _pair(option: AddressOption, word: str) -> tuple[str, str]:
    name, _, variable = (part.strip() for part in word.partition("="))
    if not (name and variable):
        raise AddressError(
            option.name,
            f"{option.flag}: write {option.metavar}, such as api-key=AZURE_OPENAI_API_KEY",
            "It is the name of a header and the name of an environment variable.",
        )
    return name, variable


def words_of(option: AddressOption, value: Any) -> tuple[str, ...]:
    """The command-line words for this value of the field; the inverse of `value_of`."""
    if option.pairs:
        return tuple(f"{name}={variable}" for name, variable in value)
    if option.many:
        return tuple(value)
    return (value,) if value else ()


def check_key_variable(name: str) -> None:
    """Raises AddressError for a key in place of the name of its variable."""
    if name and not is_variable_name(name):
        raise AddressError(
            "api_key_env",
            "--api-key-env takes the name of an environment variable, not the key itself",
            "The given text is not a valid name. It was not stored.",
            "For example: export MY_KEY=… and then --api-key-env MY_KEY. If it was a key, and your shell keeps a"
            " history, replace the key.",
        )


def check_headers(headers: Sequence[tuple[str, str]]) -> None:
    """Raises AddressError for an invalid header name, for a header that the connection sets, and for a value given in
    place of the name of its variable."""
    for name, variable in headers:
        if not _TOKEN.fullmatch(name):
            raise AddressError(
                "header_env", "--header-env: this is not a valid header name", next_step="Write NAME=VAR."
            )
        if name.lower() in _OWN:
            raise AddressError(
                "header_env", f"the header {name} cannot be set", "The connection sets it.", "Leave it out."
            )
        if not is_variable_name(variable):
            raise AddressError(
                "header_env",
                "--header-env takes the name of an environment variable, not the value itself",
                "The given text is not a valid variable name. It was not stored.",
                "For example: export MY_KEY=… and then --header-env api-key=MY_KEY.",
            )


# ---- sending -----------------------------------------------------------------------------------------------------


# the servers' names for the cap on a reply: among the options one stands for --max-tokens
LEAST_CAP, CAPS = 16, ("max_tokens", "max_completion_tokens", "maxTokens", "num_predict")
# parameters that recjudge sets itself -> where the user can change them
_OWN_SENDING = {
    **dict.fromkeys(("model", "modelId"), "--judge"),
    **dict.fromkeys(("messages", "system", "prompt", "input"), "the prompt's file"),
    **dict.fromkeys(("response_format", "format", "outputConfig"), "the prompt's file"),
    **dict.fromkeys(CAPS, "--max-tokens"),
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
    """`KEY=JSON` of each as a mapping; a bare word counts as text, so that `reasoning_effort=low` needs no quotes. Raises
    UsageError for a value that is not JSON, for a parameter that recjudge sets itself, and for anything that looks like a
    secret."""
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
    check_sending(without_caps(options)[0])
    return options


def without_caps(options: Mapping[str, Any]) -> tuple[dict[str, Any], int | None]:
    """The options without the cap on a reply, and that cap; None without one, and for null: recjudge finds out itself by
    which name a server takes it. Raises UsageError for another cap than --max-tokens takes."""
    cap = next((options[name] for name in CAPS if options.get(name) is not None), None)
    if cap is not None and (not isinstance(cap, int) or cap < LEAST_CAP):
        raise UsageError(f"the longest reply is a number of tokens from {LEAST_CAP}, not {cap!r}")
    return {name: value for name, value in options.items() if name not in CAPS}, cap


def _value(name: str, text: str) -> Any:
    try:
        import json  # only where a key is given

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


def check_sending(options: Mapping[str, Any]) -> None:
    """Raises UsageError for a parameter that recjudge sets itself, and for anything that looks like a secret."""
    for name, value in options.items():
        if _SECRET.search(name):
            raise UsageError(
                f"{name} looks like a secret, and options are stored with the run",
                next_step="Put it in an environment variable, and give its name with --api-key-env or --header-env.",
            )
        if name in _OWN_SENDING:
            instead = f"Use {_OWN_SENDING[name]}." if _OWN_SENDING[name] else "Leave it out."
            raise UsageError(f"{name} is set by recjudge and cannot be an option", next_step=instead)
        if isinstance(value, dict):
            check_sending(value)


def with_options(body: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The request body with the options added. An object is merged into an existing one; null removes a parameter."""
    merged = dict(body)
    for name, value in options.items():
        known = merged.get(name)
        merged[name] = {**known, **value} if isinstance(known, dict) and isinstance(value, dict) else value
    return {name: value for name, value in merged.items() if value is not None}
