"""Where a judge answers: the options that say so, each declared once.

The record (`domain.judge.JudgeAddress`), the command line, the forms of the app, the settings file and the Python
interface derive from here. This module loads nothing heavy, because `recjudge run --help` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
    """One option; `name` is the field of the record, `setting` its name in the settings file.

    `help` is for the command line, `label`, `hint` and `placeholder` are for forms. `many`: it can be repeated. `pairs`: it
    is written NAME=VAR.
    """

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
    place of the name of its variable.
    """
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
