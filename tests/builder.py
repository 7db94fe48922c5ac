"""One way to make a project for a test: rows and runs in, a real SQLite file and its command line out."""

from __future__ import annotations

import csv
import json
import shlex
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from recjudge_tui.cli.app import recjudge
from recjudge_tui.domain.records import ImportKind

# one mapping from column to cell a row, or tuples of which the first is the header; or, shorter:
Rows = Iterable[Mapping[str, object]] | Iterable[Sequence[object]]
# id -> title
Items = Mapping[str, str]
# (user, system) or (user, system, context) or (user, system, context, served_at) -> the items, best first
Lists = Mapping[tuple[str, ...], Sequence[str]]
# rater -> (user, system) -> a label of the list, or (user, system_a, system_b) -> a label of the pair
Labels = Mapping[str, Mapping[tuple[str, ...], object]]
_MADE: dict[str, bytes] = {}


@dataclass(frozen=True)
class Built:
    """A project's database and name, and the commands on it."""

    path: Path
    name: str

    def run(self, line: str, *paths: Path) -> Result:
        """`recjudge LINE PATHS` on this database, in this process. An error of ours is raised."""
        environment = {
            "RECJUDGE_DB": str(self.path),
            "RECJUDGE_PROJECT": "",
            "XDG_CONFIG_HOME": "/nonexistent",
        }
        words = [*shlex.split(line), *map(str, paths)]
        result = CliRunner(env=environment).invoke(
            recjudge, words, catch_exceptions=False, standalone_mode=False
        )
        # outside its standalone mode click returns the code of an exit
        result.exit_code = result.return_value if isinstance(result.return_value, int) else 0
        return result

    def done(self, line: str, *paths: Path) -> str:
        """What a command prints on stdout, once it has succeeded."""
        result = self.run(line, *paths)
        assert result.exit_code == 0, f"{line}: {result.output}"
        return result.stdout

    def table(self, line: str) -> dict[str, Any]:
        """The JSON of a report; its exit code is not asked for, as a gate that fails prints its table too."""
        found: dict[str, Any] = json.loads(self.run(f"{line} --format json").stdout)
        return found

    def load(self, kind: ImportKind, rows: Rows | Items | Lists | Labels) -> None:
        """Import these rows as a CSV file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"{kind}.csv")
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows(_with_header(kind, rows))
            self.done(f"import -p {shlex.quote(self.name)} --as {kind}", path)


def project(
    path: Path,
    name: str = "films",
    *,
    items: Rows | Items = (),
    users: Rows = (),
    events: Rows = (),
    lists: Rows | Lists = (),
    explanations: Rows = (),
    labels: Rows | Labels = (),
    runs: Sequence[str] = (),
    then: Sequence[str] = (),
) -> Built:
    """A project in a new database at `path`, through the program's own commands.

    Without `items`, those of a mapping of `lists` are made, titled by their ids. `runs` are the words after `recjudge
    run`, such as "pairwise --judge rules", and `then` those of any other command; the project is named for both. The
    same arguments are worked out once in a process, and copied from then on.
    """
    built = Built(path, name)
    if not items and isinstance(lists, Mapping):
        items = {item: item for shown in lists.values() for item in shown}
    given: dict[ImportKind, Any] = {
        "items": items, "users": users, "events": events, "lists": lists, "explanations": explanations,
        "labels": labels,
    }  # fmt: skip
    rows = {kind: _with_header(kind, each) for kind, each in given.items() if each}
    key = repr((name, rows, runs, then))
    if key in _MADE:
        path.write_bytes(_MADE[key])
        return built
    for kind, each in rows.items():
        built.load(kind, each)
    for words in [*(f"run {run}" for run in runs), *then]:
        built.done(f"{words} -p {shlex.quote(name)}")
    _MADE[key] = path.read_bytes()
    return built


def _with_header(kind: ImportKind, rows: Any) -> list[Sequence[object]]:
    if isinstance(rows, Mapping):
        return _SHORT[kind](rows)
    listed = list(rows)
    if not isinstance(listed[0], Mapping):
        return listed
    columns = list(dict.fromkeys(column for row in listed for column in row))
    return [columns, *([row.get(column, "") for column in columns] for row in listed)]


def _item_rows(items: Items) -> list[Sequence[object]]:
    return [("item_id", "title"), *items.items()]


def _list_rows(lists: Lists) -> list[Sequence[object]]:
    return [
        ("user_id", "system", "item_id", "rank", "context", "served_at"),
        *(
            (user, system, item, rank, *(*when, "", "")[:2])
            for (user, system, *when), items in lists.items()
            for rank, item in enumerate(items, start=1)
        ),
    ]


def _label_rows(labels: Labels) -> list[Sequence[object]]:
    return [
        ("rater", "user_id", "system", "system_a", "system_b", "value", "protocol"),
        *(
            (rater, user, systems[0], "", "", value, "pointwise")
            if len(systems) == 1
            else (rater, user, "", *systems, value, "pairwise")
            for rater, given in labels.items()
            for (user, *systems), value in given.items()
        ),
    ]


_SHORT: dict[ImportKind, Callable[[Any], list[Sequence[object]]]] = {
    "items": _item_rows,
    "lists": _list_rows,
    "labels": _label_rows,
}
