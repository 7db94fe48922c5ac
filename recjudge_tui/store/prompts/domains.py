"""The domains: a TOML file of words for each, shipped or in the folder `domains` of the user's settings."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import ValidationError

from recjudge_tui.domain.domains import SHIPPED, Domain
from recjudge_tui.errors import PromptError, UsageError
from recjudge_tui.settings import config_dir, data_dir
from recjudge_tui.store.prompts.toml_file import toml_content

_WORD = re.compile(r"word “(?P<name>[^”]+)”")


def domain_named(name: str) -> Domain:
    """The domain of this name; a user's own domain takes precedence over a shipped one.

    Raises UsageError for an unknown name, PromptError with the file and the line for a file that is no domain.
    """
    files = _files()
    if name not in files:
        raise UsageError(
            f"no domain “{name}”",
            f"Available: {', '.join(files)}.",
            f"To add one, write its words to {_own() / 'NAME.toml'} (docs/prompts.md).",
        )
    return read_domain(files[name])


def domain_names() -> tuple[str, ...]:
    """The names of the shipped domains, then of the user's own."""
    return tuple(_files())


def read_domain(path: Path) -> Domain:
    """The domain in a file. Raises PromptError with the file and the line."""
    text, content = toml_content(path, "a domain")
    try:
        return Domain.model_validate(content)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, fault["loc"]))
        what = fault["msg"].removeprefix("Value error, ")
        raise PromptError(
            f"{path}:{_line(text, place, what)}: not a domain",
            f"{place}: {what}." if place else f"{what}.",
            "Every domain has the same words; docs/prompts.md lists them.",
        ) from error


def _line(text: str, place: str, what: str) -> int:
    """The line of the word or field at fault, or of its table if it is missing."""
    word = _WORD.search(what)
    keys = [word["name"] if word else place.rpartition(".")[2], r"\[\s*words\s*\]"]
    for key in keys:
        pattern = key if key.startswith(r"\[") else rf"[\"']?{re.escape(key)}[\"']?\s*="
        begins = re.search(rf"^\s*{pattern}", text, re.M)
        if begins:
            return text.count("\n", 0, begins.end()) + 1
    return 1


def _files() -> dict[str, Path]:
    shipped = {name: data_dir("prompts") / "domains" / f"{name}.toml" for name in SHIPPED}
    return shipped | {path.stem: path for path in sorted(_own().glob("*.toml"))}


def _own() -> Path:
    return config_dir() / "domains"
