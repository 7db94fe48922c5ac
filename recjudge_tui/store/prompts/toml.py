"""A prompt as TOML text, as `prompt copy` writes it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.errors import PromptError

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
# characters that TOML forbids in a literal string, and the carriage return, which a TOML reader changes
_NOT_LITERAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]|'''|'\Z")


def prompt_toml(prompt: Prompt) -> str:
    """TOML that `read_prompt` reads back as the same prompt; default values are left out.

    Raises PromptError for a value that TOML cannot hold (null).
    """
    fields = prompt.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    tables = {
        name: fields.pop(name)
        for name in ("variables", "parts", "scale", "profile", "labels", "aspects", "issues", "examples")
        if name in fields
    }
    lines = [f"{name} = {_value(value)}" for name, value in fields.items()]
    for name, content in tables.items():
        for entry in content if isinstance(content, list) else [content]:
            header = f"[[{name}]]" if isinstance(content, list) else f"[{name}]"
            lines += ["", *_table(name, header, entry)]
    return "\n".join(lines) + "\n"


def _table(name: str, header: str, entry: Mapping[str, Any]) -> list[str]:
    """The lines of one table; the input and reply of an example are tables of their own."""
    inner = {key: value for key, value in entry.items() if name == "examples" and isinstance(value, dict)}
    lines = [header, *(f"{_key(key)} = {_value(value)}" for key, value in entry.items() if key not in inner)]
    for key, value in inner.items():
        lines += [f"[{name}.{key}]", *(f"{_key(k)} = {_value(v)}" for k, v in value.items())]
    return lines


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _quoted(key)


def _value(value: object) -> str:
    if isinstance(value, str):
        return f"'''\n{value}'''" if "\n" in value and not _NOT_LITERAL.search(value) else _quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, list):
        return "[" + ", ".join(_value(entry) for entry in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + "}"
    raise PromptError("the prompt cannot be written as TOML", f"TOML has no {type(value).__name__}.")


def _quoted(text: str) -> str:
    """A basic string. TOML has the escapes of JSON, and also requires DEL to be escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
