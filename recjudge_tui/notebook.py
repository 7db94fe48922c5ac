"""The Python interface: a project's reports as records and frames, its verdicts in chunks, and judging from a notebook.

Each method returns what the command of the same name prints. A project is opened read-only unless `write=True`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.table import Table

if TYPE_CHECKING:
    from recjudge_tui.domain.run import Progress

Record = dict[str, Any]


class Report(Sequence[Record]):
    """A table: a sequence of records, one dict per row. An undefined figure is None, and the record's `note` says
    why. `pandas.DataFrame(list(report))` and `polars.DataFrame(list(report))` turn it into frames. With pyarrow
    installed (extra `parquet`), libraries that accept Arrow data can read it without the detour through records."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.title, self.answer, self.notes = table.title, table.answer, table.notes
        self.settings = dict(table.settings)
        self.columns = tuple(column.name for column in table.columns)

    def __len__(self) -> int:
        return len(self._table.rows)

    @overload
    def __getitem__(self, at: int) -> Record: ...
    @overload
    def __getitem__(self, at: slice) -> list[Record]: ...
    def __getitem__(self, at: int | slice) -> Record | list[Record]:
        rows = self._table.rows[at]
        if isinstance(rows, dict):
            return {name: rows.get(name) for name in self.columns}
        return [{name: row.get(name) for name in self.columns} for row in rows]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table for pandas, polars, duckdb and others, by Arrow's C interface. Raises RecjudgeError without pyarrow."""
        from recjudge_tui.reports.common.writers.data import arrow_table

        rows = [[row.get(name) for name in self.columns] for row in self._table.rows]
        return arrow_table(self.columns, rows).__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return self._as("text")

    def _repr_html_(self) -> str:
        return self._as("html")

    def _as(self, fmt: str) -> str:
        from recjudge_tui.reports.common.table import Screen, render

        written = render(self._table, fmt, Screen(width=100))
        return "\n".join((written.text, *written.notes))


class RunResult(NamedTuple):
    """How a run ended: its number, its state, its counts of calls, and what it cost (None: the price is unknown)."""

    run_id: int
    state: str
    calls: int
    done: int
    failed: int
    cost_usd: float | None
    reason: str


def open_project(
    name: str | None = None, db: str | Path | None = None, *, write: bool = False
) -> NotebookProject:
    """Open a project by name; without a name, the only one there is. Use it in a `with` block, or close it. `db` is
    the database file (default: RECJUDGE_DB, else the platform's data folder). Raises NotFoundError for an unknown
    project, UsageError where a name is needed, StoreError where the file cannot be read, or may not be written."""
    from recjudge_tui import project

    opened = project.open_project(name, db, write=write)
    return NotebookProject(opened.db, opened.id, opened.name)


class NotebookProject(Project):
    """An open project with every declared report as a method: `project.leaderboard(protocol="pairwise")`. A method takes the
    options of the command of the same name, by their names in `--help`, with its defaults, and returns a Report."""

    def __enter__(self) -> NotebookProject:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.db.close()

    def __getattr__(self, name: str) -> Callable[..., Report]:
        from recjudge_tui.reports.declare import REPORTS

        declared = REPORTS.get(name.replace("_", " ")) or REPORTS.get(name)
        if declared is None:
            raise AttributeError(f"no report “{name}”; there are {', '.join(sorted(REPORTS))}")
        return partial(self._made, declared.name)

    def __dir__(self) -> list[str]:
        from recjudge_tui.reports.declare import REPORTS

        return sorted({*super().__dir__(), *(name.replace(" ", "_") for name in REPORTS)})

    def _made(self, name: str, *positional: Any, **options: Any) -> Report:
        from recjudge_tui.reports.declare import REPORTS, make

        # as on the command line, the first options may be given without their names
        named = dict(zip((option.name for option in REPORTS[name].options), positional, strict=False))
        made = make(self, name, **named, **options)
        if not isinstance(made, Table):
            raise UsageError(f"{name} is a page, not a table", f"Use “recjudge {name}”.")
        return Report(made)

    def raters(self) -> Report:
        """The raters, as `recjudge rater list`."""
        return self._made("rater list")

    def runs(self) -> Report:
        """The runs, newest first, as `recjudge runs list`."""
        from recjudge_tui.reports.listings import runs

        return Report(runs(self.db, self))

    def verdicts(self, matching: str = "", *, chunk: int = 10_000) -> Iterator[list[Record]]:
        """The verdicts that match a filter (as on the cases screen), by id: lists of at most `chunk` records. The
        keys are the columns of `recjudge export verdicts`."""
        from recjudge_tui.reports.verdict_list import listed_verdicts, project_filter
        from recjudge_tui.store.verdicts import EXPORTED, exported_rows

        if chunk < 1:
            raise UsageError("chunk must be at least 1")
        chosen = project_filter(self.db, self.id, matching)
        rows = exported_rows(self.db, listed_verdicts(self.db, self.id, chosen).ids)
        while part := [dict(zip(EXPORTED, row, strict=True)) for row in islice(rows, chunk)]:
            yield part

    def judge(
        self,
        protocol: str,
        judge: str,
        *,
        rater: str = "",
        prompt: str = "",
        progress: Callable[[Progress], None] | None = None,
        **options: Any,
    ) -> RunResult:
        """Judge the project's cases, as `recjudge run`: plan, store, ask until done. Needs `write=True`. `options`
        are the settings of a run by name (`limit=20`, `seed=7`, `budget_usd=1.0`, ...), and where the judge answers:
        `base_urls`, `api_key_env` and `header_env` (a dict of headers and the NAMES of the variables with their
        values). `progress` is called a few times a second, in another thread where an event loop runs here, as in a
        notebook. An interrupt stops the run after the calls in flight; it can be resumed. Raises UsageError for a
        project that is opened read-only and for settings that do not fit, JudgeError when the judge cannot be
        reached."""
        from recjudge_tui.domain.address import ADDRESS_OPTIONS
        from recjudge_tui.domain.judge import JudgeAddress
        from recjudge_tui.judges.registry import trust_typed
        from recjudge_tui.runs import start
        from recjudge_tui.runs.engine import work
        from recjudge_tui.runs.plan import RunRequest
        from recjudge_tui.runs.settings import settings_for
        from recjudge_tui.store.runs import run_row

        if self.db.read_only:
            raise UsageError(
                "this project is opened read-only", next_step="Open it with write=True to judge."
            )
        address = JudgeAddress(**{name: options.pop(name) for name in ADDRESS_OPTIONS if name in options})
        settings = settings_for(protocol, **options)
        spec = address.judge_named(judge)
        trust_typed(spec)
        request = RunRequest(self.id, spec, settings, rater, prompt)
        run_id = start.plan(self.db, [request])[0].run_id
        assert run_id is not None
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            ended = work(self.db.path, run_id, progress)
        else:
            # a loop cannot run inside another one, and notebooks have one
            with ThreadPoolExecutor(1) as other:
                working = other.submit(work, self.db.path, run_id, progress)
                try:
                    ended = working.result()
                except KeyboardInterrupt:
                    self.db.change("runs", run_id, wanted="stop")
                    ended = working.result()
        reason = run_row(self.db, run_id)["error"]
        return RunResult(run_id, ended.state, ended.calls, ended.done, ended.failed, ended.cost_usd, reason)
