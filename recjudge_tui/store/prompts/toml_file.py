"""Reads a user's TOML file, or says which line is at fault."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from recjudge_tui.errors import PromptError
from recjudge_tui.files import small_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def toml_content(path: Path, what: str) -> tuple[str, dict[str, Any]]:
    """The text of a file and its parsed content; `what` says what the file should be.

    Raises PromptError with the file, the line if known, and a next step.
    """
    text = _text_of(path, what)
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        line = (place.group(1) or str(len(text.splitlines()))) if place else ""
        fault = str(error)[: place.start()] if place else str(error)
        raise PromptError(
            f"{path}{':' + line if line else ''}: not valid TOML", f"{fault}.", "Correct that line."
        ) from error
    except RecursionError as error:
        raise PromptError(f"{path}: not {what}", "Its values are nested too deeply.") from error


def _text_of(path: Path, what: str) -> str:
    try:
        raw = small_file(path)
    except OSError as error:
        raise PromptError(
            f"{path} cannot be read", f"{error.strerror}.", f"Name {what} file (TOML)."
        ) from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise PromptError(f"{path}:{line}: not UTF-8 text", next_step="Save the file as UTF-8.") from error
