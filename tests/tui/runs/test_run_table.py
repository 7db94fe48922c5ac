"""The list of runs as a table."""

from __future__ import annotations

from rich.text import Text

from recjudge_tui.tui.runs import shorten_names
from recjudge_tui.tui.widgets import UNICODE


def test_a_name_is_shortened_only_as_far_as_the_table_requires() -> None:
    long = "qwen2.5:14b-instruct-q4_K_M (qwen2.5:14b-instruct)"
    for width in (200, 60, 50, 40):
        rows = [{"run": Text("5"), "judge": Text(long)}, {"run": Text("4"), "judge": Text("rules")}]
        shorten_names(rows, ["run", "judge"], width, UNICODE)
        assert rows[0]["judge"].cell_len == min(len(long), width - 4 - len("run"))
        assert rows[1]["judge"].plain == "rules"
