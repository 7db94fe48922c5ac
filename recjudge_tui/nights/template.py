"""The commented file that `recjudge watch init` writes."""

from __future__ import annotations

from pathlib import Path

from recjudge_tui.errors import UsageError
from recjudge_tui.files import whole_file

_TEMPLATE = """\
# What “recjudge watch” does each night with this project. docs/nightly.md describes every setting.
# Paths are relative to this file.
project = {project}

# Files to import. A file is imported once, and again when its content changes. Paths may contain *, ? and **.
# as: items, users, events, lists, explanations or labels; layout, mapping and system as in “recjudge import”.
[[import]]
paths = ["lists/*.csv"]
as = "lists"

# Who judges the cases without a verdict. “rules” is built in and needs no model; or ollama:MODEL, openai:MODEL, ...
[[judge]]
spec = "rules"
name = "nightly"
protocols = ["pointwise", "pairwise"]
# budget = 5.0                  # US dollars a night; what is left is judged the next night
# anchor = 50                   # cases judged again each night, to see whether the judge itself changes
# api_key_env = "OPENAI_API_KEY"
# header_env = {{ x-gateway-key = "GATEWAY_KEY" }}   # this header with the value of that variable
# settings = {{ sample = 200, concurrency = 8 }}

# The trend of systems and judge: .csv, .json, .md, .html, .tex or .txt
[trend]
file = "trend.csv"
over = "day"

# Bounds to meet. Exit code: 0 if they are met, 3 if not, 1 if something failed or could not be measured.
[gate]
at_most = {{ failure_rate = 0.05 }}
# truth = "people"
# at_least = {{ qwk = 0.6 }}
# against = "nightly"           # the judge's own name: nothing may be worse than in the night before
# systems = ["new", "old"]      # then the win rate of the first over the second must not fall either
# file = "gate.md"
"""


def write_template(path: Path, project: str) -> None:
    """Write the file of a watch for a project. Raises UsageError when there is one or it cannot be written."""
    if path.exists():
        raise UsageError(f"{path} exists already", next_step="Edit it, or name another file.")
    quoted = '"' + project.replace("\\", "\\\\").replace('"', '\\"') + '"'
    try:
        with whole_file(path) as draft:
            draft.write_text(_TEMPLATE.format(project=quoted), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written", f"{error.strerror}.") from error
