"""What every report says on six small projects: what is kept of it, and where.

A project's file holds its command lines, to which the project's name is added where they name none. A new one is written
into the file by hand, with [] for its rows. `python -m tests.golden.reports [PROJECT...]` writes the figures of all lines
again, so that a changed figure shows in the diff.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.builder import Built
from tests.golden.projects import PROJECTS

Row = dict[str, Any]

# these are asked for no project
_ALONE = ("cases show", "plan --difference", "plan --share", "project list", "project show", "prompt list")
# command -> the columns it no longer has: leaving one out is a decision
LEFT: dict[str, tuple[str, ...]] = {}

# what a row is about; elsewhere a difference is a figure
_NAMES = frozenset(
    """absolute_rater against aspect average case_id check context counted experiment fault figure from gap id issue item
    item_id judge jury k kind label label_a label_b level lists measure metric name names of opponent outcome part period
    prompt protocol rank rater rater_a rater_b rater_kind reference rule segment side size source stat system system_a
    system_b systems to user user_id what""".split()
)
# words for readers, works cited, times, hashes, and what hangs on an interval or a test
_OUT = frozenset(
    """bibtex decision demand description detail details df digest direction down_is failures favoured first key
    last last_run model natural next_step not_sent note p paired path prompt_digest reasoning recipe
    replies seconds seed separable short statistic sure tags test text unit up_is verdict_a verdict_b
    verdict_id why""".split()
)
_OUT_ENDINGS = ("_low", "_high", "_at")


def is_name(line: str, column: str) -> bool:
    return column in _NAMES or (column == "difference" and line.startswith("plan"))


def is_kept(line: str, column: str) -> bool:
    if column in _OUT or column.startswith("p_") or column.endswith(_OUT_ENDINGS):
        return False
    return column != "rank" or not line.startswith("leaderboard")


def rows_of(built: Built, line: str) -> list[Row]:
    """The rows of all tables of a report that have any figure, without what is not kept."""
    alone = " -p " in line or line.startswith(_ALONE)
    report = built.table(line if alone else f"{line} -p {built.name}")
    rows = [
        {name: _cell(cell) for name, cell in row.items() if is_kept(line, name)}
        for table in report.get("tables", [report])
        for row in table["rows"]
        if not str(row.get("figure")).startswith("latency")
    ]
    for row in rows:
        if line.startswith("trend") and row.get("figure") in ("click_rate", "lift"):
            row["period"] = "when it was recorded"
    return [row for row in rows if any(not is_name(line, name) and row[name] is not None for name in row)]


def _cell(cell: Any) -> Any:
    return float(f"{cell:.10g}") if isinstance(cell, float) else None if cell == "" else cell


def written(tables: dict[str, list[Row]]) -> str:
    """JSON with a row a line: for each command line, groups of rows that have the same columns."""
    return (
        "{\n"
        + ",\n".join(f"{_json(line)}: [{_groups(line, rows)}]" for line, rows in tables.items())
        + "\n}\n"
    )


def kept_of(project: str) -> dict[str, list[Row]]:
    """command line -> the rows that are kept of it."""
    return {
        line: [
            group["same"] | dict(zip(group["columns"], row, strict=True))
            for group in groups
            for row in group["rows"]
        ]
        for line, groups in json.loads(_file(project).read_text(encoding="utf-8")).items()
    }


def _file(project: str) -> Path:
    return Path(__file__).with_name(f"{project}.json")


def _groups(line: str, rows: Iterable[Row]) -> str:
    by_columns: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        by_columns[tuple(sorted(row, key=lambda name: (not is_name(line, name), name)))].append(row)
    return ", ".join(_group(columns, group) for columns, group in by_columns.items())


def _group(columns: Sequence[str], rows: list[Row]) -> str:
    same = {name: rows[0][name] for name in columns if all(row[name] == rows[0][name] for row in rows)}
    others = [name for name in columns if name not in same]
    cells = sorted(_json([row[name] for name in others]) for row in rows)
    return f'{{"same": {_json(same)},\n"columns": {_json(others)}, "rows": [\n' + ",\n".join(cells) + "\n]}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main(names: Sequence[str]) -> None:
    for name in names or PROJECTS:
        with tempfile.TemporaryDirectory() as folder:
            built = PROJECTS[name](Path(folder, f"{name}.db"))
            today = {line: rows_of(built, line) for line in kept_of(name)}
        _file(name).write_text(written(today), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
