"""Checks the names of headers that a user may send.

Their values come from the environment and are kept out of every text.
"""

from __future__ import annotations

import re

from recjudge_tui.domain.judge import is_variable_name
from recjudge_tui.errors import UsageError

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", re.ASCII)
# headers about the transfer of a message, which the connection sets
_OWN = {
    "host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "accept-encoding",
    "upgrade", "te", "trailer", "expect",
}  # fmt: skip


def check_headers(headers: tuple[tuple[str, str], ...]) -> None:
    """Raises UsageError for an invalid header name, for a header that the connection sets, and for a value given in
    place of the name of its variable. The error does not repeat the value.
    """
    for name, variable in headers:
        if not _TOKEN.fullmatch(name):
            raise UsageError("--header-env: that is not the name of a header", next_step="Write NAME=VAR.")
        if name.lower() in _OWN:
            raise UsageError(f"the header {name} cannot be set", "The connection sets it.", "Leave it out.")
        if not is_variable_name(variable):
            raise UsageError(
                "--header-env takes the name of an environment variable, not the value itself",
                "What was given cannot be such a name. It was not stored.",
                "Write for instance: export MY_KEY=… and then --header-env api-key=MY_KEY.",
            )
