"""Writes a call as a curl command, with the name of the key's variable in place of the key."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple


class WireCall(NamedTuple):
    """A call as it is sent. In `headers` a key is `$NAME`, which the shell replaces."""

    url: str
    headers: Mapping[str, str]
    body: dict[str, Any]


def curl_command(call: WireCall) -> str:
    """One command for a POSIX shell. The shell expands `$NAME` in headers, but nothing in the body."""
    lines = [f"curl {shlex.quote(call.url)}"]
    lines += [f"  -H {_quoted_header(name, value)}" for name, value in call.headers.items()]
    lines.append(f"  --data-binary {shlex.quote(json.dumps(call.body, ensure_ascii=False))}")
    return " \\\n".join(lines)


def _quoted_header(name: str, value: str) -> str:
    return f'"{name}: {value}"' if "$" in value else shlex.quote(f"{name}: {value}")
