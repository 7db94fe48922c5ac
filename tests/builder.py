"""One way to make a project for a test: rows and runs in, a real SQLite file and its command line out."""

from __future__ import annotations

import csv
import json
import shlex
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from click.testing import CliRunner, Result

from recjudge_tui.cli.app import recjudge
from recjudge_tui.domain.records import ImportKind

# mappings from column to cell, or tuples of which the first is the header
Rows = Iterable[Mapping[str, object]] | Iterable[Sequence[object]]
# (user, system) or (user, system, context) or (user, system, context, served_at) -> the items, best first
Lists = Mapping[tuple[str, ...], Sequence[str]]
# rater -> (user, system) -> a label of the list, or (user, system_a, system_b) -> a label of the pair
Labels = Mapping[str, Mapping[tuple[str, ...], object]]
KINDS: tuple[ImportKind, ...] = get_args(ImportKind)
_MADE: dict[str, bytes] = {}


@dataclass(frozen=True)
class Built:
    """A project's database and name, and the commands on it."""

    path: Path
    name: str

    def run(self, line: str, *paths: Path) -> Result:
        """`recjudge LINE PATHS` on this database, in this process. An error of ours is raised."""
        environment = {"RECJUDGE_DB": str(self.path), "RECJUDGE_PROJECT": "", "XDG_CONFIG_HOME": "/nonexistent"}
        words = [*shlex.split(line), *map(str, paths)]
        return CliRunner(env=environment).invoke(
            recjudge, words, catch_exceptions=False, standalone_mode=False
        )

    def done(self, line: str, *paths: Path) -> str:
        """What a command prints on stdout, once it has succeeded."""
        result = self.run(line, *paths)
        assert result.exit_code == 0, f"{line}: {result.output}"
        return result.stdout

    def table(self, line: str) -> dict[str, Any]:
        """The JSON of a report; its exit code is not asked for, as a gate that fails prints its table too."""
        found: dict[str, Any] = json.loads(self.run(f"{line} --format json").stdout)
        return found

    def load(self, kind: ImportKind, rows: Rows) -> None:
        """Import these rows as a CSV file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"{kind}.csv")
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows(_with_header(list(rows)))
            self.done(f"import -p {shlex.quote(self.name)} --as {kind}", path)


def project(
    path: Path,
    name: str = "films",
    *,
    items: Rows | Mapping[str, str] = (),
    users: Rows = (),
    events: Rows = (),
    lists: Rows | Lists = (),
    explanations: Rows = (),
    labels: Rows | Labels = (),
    runs: Sequence[str] = (),
    then: Sequence[str] = (),
) -> Built:
    """A project in a new database at `path`, through the program's own commands.

    `items` may map ids to titles. Items that stand only in lists are made, titled by their ids. `runs` are the words
    after `recjudge run`, such as "pairwise --judge rules", and `then` those of any other command; the project is named
    for both. The same arguments are worked out once in a process, and copied from then on.
    """
    built = Built(path, name)
    shown = _list_rows(lists) if isinstance(lists, Mapping) else list(lists)
    made = [(key, title) for key, title in items.items()] if isinstance(items, Mapping) else None
    if not items and isinstance(lists, Mapping):
        made = [(item, item) for item in dict.fromkeys(item for each in lists.values() for item in each)]
    rows: dict[ImportKind, list[Any]] = {
        "items": [("item_id", "title"), *made] if made else list(items),
        "users": list(users),
        "events": list(events),
        "lists": shown,
        "explanations": list(explanations),
        "labels": _label_rows(labels) if isinstance(labels, Mapping) else list(labels),
    }
    key = repr((name, rows, runs, then))
    if key not in _MADE:
        for kind in KINDS:
            if rows[kind]:
                built.load(kind, rows[kind])
        for words in [*(f"run {run}" for run in runs), *then]:
            built.done(f"{words} -p {shlex.quote(name)}")
        _MADE[key] = path.read_bytes()
    else:
        path.write_bytes(_MADE[key])
    return built


def _with_header(rows: list[Any]) -> list[Sequence[object]]:
    if not rows or not isinstance(rows[0], Mapping):
        return rows
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return [columns, *([row.get(column, "") for column in columns] for row in rows)]


def _list_rows(lists: Lists) -> list[Sequence[object]]:
    header = ("user_id", "system", "item_id", "rank", "context", "served_at")
    rows = [
        (user, system, item, rank, *(*when, "", "")[:2])
        for (user, system, *when), items in lists.items()
        for rank, item in enumerate(items, start=1)
    ]
    return [header, *rows]


def _label_rows(labels: Labels) -> list[Sequence[object]]:
    header = ("rater", "user_id", "system", "system_a", "system_b", "aspect", "value", "protocol")
    rows = [
        (rater, user, *((*systems, "", "") if len(systems) == 1 else ("", *systems)), "overall", value,
         "pointwise" if len(systems) == 1 else "pairwise")
        for rater, given in labels.items()
        for (user, *systems), value in given.items()
    ]  # fmt: skip
    return [header, *rows]
