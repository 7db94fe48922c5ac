"""The Python interface: a project's reports as records and frames, its verdicts in chunks, and judging from a notebook.

Each method returns what the command of the same name prints. A project is opened read-only unless `write=True`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from recjudge_tui.errors import UsageError
from recjudge_tui.stats.defaults import TOP_K

if TYPE_CHECKING:
    from recjudge_tui.domain.run import Progress
    from recjudge_tui.domain.selection import CaseSelection
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database

Record = dict[str, Any]


class Report(Sequence[Record]):
    """A table: a sequence of records, one dict per row. An undefined figure is None, and the record's `note` says why.

    `pandas.DataFrame(list(report))` and `polars.DataFrame(list(report))` turn it into frames. With pyarrow installed
    (extra `parquet`), libraries that accept Arrow data can read it without the detour through records.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self.title, self.notes = table.title, table.notes
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
        from recjudge_tui.reports.common.writers.parquet import arrow_table

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


def open_project(name: str | None = None, db: str | Path | None = None, *, write: bool = False) -> Project:
    """Open a project by name; without a name, the only one there is. Use it in a `with` block, or close it.

    `db` is the database file (default: RECJUDGE_DB, else the platform's data folder). Raises NotFoundError for an
    unknown project, UsageError where a name is needed, StoreError where the file cannot be read, or is of an older
    version and may not be written.
    """
    from recjudge_tui.settings import database_path
    from recjudge_tui.store.opening import connect
    from recjudge_tui.store.projects.projects import project_id, project_names

    path = database_path(None if db is None else str(db))
    database = connect(path, must_exist=True, read_only=not write)
    try:
        if name is None:
            names = [known for _, known in project_names(database)]
            if len(names) != 1:
                raise UsageError("name the project", f"Available: {', '.join(names) or 'none'}.")
            name = names[0]
        return Project(database, name.strip(), project_id(database, name))
    except BaseException:
        database.close()
        raise


class Project:
    """An open project. Reports take the options of the command of the same name, with its defaults."""

    def __init__(self, database: Database, name: str, identity: int) -> None:
        self.name = name
        self._db, self._id = database, identity

    def __enter__(self) -> Project:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def leaderboard(
        self,
        protocol: str,
        *,
        raters: Sequence[str] = (),
        aspect: str | None = None,
        method: str = "",
        table: str = "ranking",
        k: int | None = None,
        crowd: Sequence[str] = (),
        **chosen: Any,
    ) -> Report:
        """The systems in order, as `recjudge leaderboard`. `k` is the cutoff of the metrics of table `metrics` (default 10).

        `chosen`: by, systems, contexts, served_from, served_to.
        """
        from recjudge_tui.reports.leaderboard.arena import arena_table
        from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions

        options = LeaderboardOptions(
            protocol, raters=tuple(raters), aspect=aspect, method=method, crowd=tuple(crowd)
        )
        return self._segmented(
            lambda cases: arena_table(self._db, self._id, replace(options, selection=cases), table, k),
            **chosen,
        )

    def agreement(
        self,
        protocol: str | None = None,
        *,
        raters: Sequence[str] = (),
        truth: str | None = None,
        aspect: str | None = None,
        stats: Sequence[str] = (),
        levels: Sequence[str] = ("dataset",),
        by: str | None = None,
        **chosen: Any,
    ) -> Report:
        """How far raters agree, as `recjudge agreement`. `chosen`: systems, contexts, served_from, served_to."""
        from recjudge_tui.reports.agreement.agreement import agreement_table
        from recjudge_tui.reports.common.pairing import AgreementOptions

        options = AgreementOptions(
            protocol, aspect=aspect, raters=tuple(raters), truth=truth, stats=tuple(stats), levels=tuple(levels),
            by_system=by == "system",
        )  # fmt: skip
        return self._segmented(
            lambda cases: agreement_table(self._db, self._id, replace(options, selection=cases)),
            by=None if by == "system" else by,
            **chosen,
        )

    def metrics(self, k: int = TOP_K, *, metrics: Sequence[str] = (), **chosen: Any) -> Report:
        """Offline metrics, as `recjudge metrics`. `chosen`: by, systems, contexts, served_from, served_to."""
        from recjudge_tui.reports.leaderboard.measured_lists import METRICS
        from recjudge_tui.reports.leaderboard.metrics import metrics_table

        wanted, systems = tuple(metrics) or METRICS, tuple(chosen.pop("systems", ()))
        return self._segmented(
            lambda cases: metrics_table(self._db, self._id, k, metrics=wanted, among=systems, chosen=cases),
            of_lists=True,
            **chosen,
        )

    def flags(self, *, raters: Sequence[str] = (), protocol: str | None = None, **chosen: Any) -> Report:
        """Flagged issues by system, as `recjudge flags`. `chosen`: by, systems, contexts, served_from, served_to."""
        from recjudge_tui.reports.flags.kinds import kinds_table
        from recjudge_tui.reports.flags.project_flags import FlagOptions

        options = FlagOptions(protocol, tuple(raters))
        return self._segmented(
            lambda cases: kinds_table(self._db, self._id, replace(options, selection=cases)), **chosen
        )

    def raters(self) -> Report:
        """The raters, as `recjudge rater list`."""
        from recjudge_tui.reports.projects.overview import raters_table

        return Report(raters_table(self._db, self._id))

    def runs(self) -> Report:
        """The runs, newest first, as `recjudge runs list`."""
        from recjudge_tui.reports.projects.overview import runs_table

        return Report(runs_table(self._db, self._id))

    def verdicts(self, matching: str = "", *, chunk: int = 10_000) -> Iterator[list[Record]]:
        """The verdicts that match a filter (as on the cases screen), by id: lists of at most `chunk` records.

        The keys are the columns of `recjudge export verdicts`.
        """
        from recjudge_tui.reports.verdicts.listing import listed_verdicts, project_filter
        from recjudge_tui.store.verdicts.listing import EXPORTED, exported_rows

        if chunk < 1:
            raise UsageError("chunk must be at least 1")
        chosen = project_filter(self._db, self._id, matching)
        rows = exported_rows(self._db, listed_verdicts(self._db, self._id, chosen).ids)
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
        """Judge the project's cases, as `recjudge run`: plan, store, ask until done. Needs `write=True`.

        `options` are the settings of a run by name (`limit=20`, `seed=7`, `budget_usd=1.0`, ...), and where the judge
        answers: `base_urls`, `api_key_env` and `header_env` (a dict of headers and the NAMES of the variables with their
        values). `progress` is called a few times a second, in another thread where an event loop runs here, as in a
        notebook. An interrupt stops the run after the calls in flight; it can be resumed.

        Raises UsageError for a project that is opened read-only and for settings that do not fit, JudgeError when
        the judge cannot be reached.
        """
        from recjudge_tui.domain.address import ADDRESS_OPTIONS
        from recjudge_tui.domain.judge import JudgeAddress
        from recjudge_tui.judges.registry import trust_typed
        from recjudge_tui.runs import start
        from recjudge_tui.runs.engine.engine import work
        from recjudge_tui.runs.plan.plan import RunRequest
        from recjudge_tui.runs.plan.settings import settings_for
        from recjudge_tui.store.runs.runs import run_row, set_wanted

        if self._db.read_only:
            raise UsageError(
                "this project is opened read-only", next_step="Open it with write=True to judge."
            )
        address = JudgeAddress(**{name: options.pop(name) for name in ADDRESS_OPTIONS if name in options})
        settings = settings_for(protocol, **options)
        spec = address.judge_named(judge)
        trust_typed(spec)
        request = RunRequest(self._id, spec, settings, rater, prompt)
        run_id = start.plan(self._db, [request])[0].run_id
        assert run_id is not None
        if not _loop_is_running():
            ended = work(self._db.path, run_id, progress)
        else:
            # a loop cannot run inside another one, and notebooks have one
            with ThreadPoolExecutor(1) as other:
                working = other.submit(work, self._db.path, run_id, progress)
                try:
                    ended = working.result()
                except KeyboardInterrupt:
                    set_wanted(self._db, run_id, "stop")
                    ended = working.result()
        reason = run_row(self._db, run_id)["error"]
        return RunResult(run_id, ended.state, ended.calls, ended.done, ended.failed, ended.cost_usd, reason)

    def _segmented(
        self,
        report: Callable[[CaseSelection], Table],
        *,
        by: str | None = None,
        systems: Sequence[str] = (),
        contexts: Sequence[str] = (),
        served_from: str = "",
        served_to: str = "",
        of_lists: bool = False,
    ) -> Report:
        from recjudge_tui.domain.occasions import occasion_filter
        from recjudge_tui.reports.common.segments import segmented

        occasions = occasion_filter(contexts, served_from, served_to)
        return Report(
            segmented(
                self._db,
                self._id,
                report,
                by=by,
                occasions=occasions,
                systems=tuple(systems),
                of_lists=of_lists,
            )
        )


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
