"""The runs of a project, and the monitor of one."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Literal, NamedTuple, cast

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from recjudge_tui.domain.occasions import Occasion, occasion_text
from recjudge_tui.domain.protocols import compares_lists
from recjudge_tui.domain.run import RunState, Wanted
from recjudge_tui.domain.run_options import RUN_OPTIONS
from recjudge_tui.domain.text import money, one_line, quantity, safe_text
from recjudge_tui.errors import RunError
from recjudge_tui.project import Project
from recjudge_tui.reports import runs as report
from recjudge_tui.runs import start
from recjudge_tui.runs.lease import is_active, refuse_when_active, stop_and_wait
from recjudge_tui.runs.start import step_concurrency
from recjudge_tui.store.database import Database, StoredRow, now
from recjudge_tui.store.runs import delete_run, list_runs
from recjudge_tui.tui.dialogs import Confirm
from recjudge_tui.tui.row_list import READER, Column, Reader, RowList
from recjudge_tui.tui.screens import COMMON, FILTER, IMPORT, ListScreen, ReadingScreen
from recjudge_tui.tui.texts import Fact, facts_content
from recjudge_tui.tui.widgets import (
    GLYPHS,
    RUN_LOOKS,
    KeyLine,
    TopBar,
    ago,
    at_rest,
    case_number,
    number,
    short_label,
    spark,
    stacked,
    title_rule,
)

# ---- text --------------------------------------------------------------------------------------------------------


RunStatus = Literal[
    "running", "pausing", "stopping", "interrupted", "planned", "paused", "stopped", "done", "failed"
]
RESUMABLE: tuple[RunStatus, ...] = ("interrupted", "planned", "paused", "stopped", "failed")

_STYLES = {"up": "$success", "marked": "$warning", "failed": "$error", "": ""}
_LONGEST_ERROR = 2000
_SAID_ELSEWHERE = ("concurrency", "again", "swap")
_THIS_MACHINE = re.compile(r"https?://(?:127\.0\.0\.1|localhost|\[::1\])(:\d+)[^\s,]*")
_STATUS_WHILE_ACTIVE: dict[Wanted, RunStatus] = {"run": "running", "pause": "pausing", "stop": "stopping"}


def status_of(state: RunState, wanted: Wanted, *, active: bool) -> RunStatus:
    """The status of a run; one stored as running while no process works on it was interrupted."""
    if active:
        return _STATUS_WHILE_ACTIVE[wanted]
    return cast("RunStatus", at_rest(state))


def status_text(status: RunStatus) -> str:
    return f"{RUN_LOOKS[status][0]} {status}"


def status_content(status: RunStatus) -> Content:
    return Content.styled(status_text(status), f"bold {_STYLES[RUN_LOOKS[status][1]]}")


def other_content(watch: report.RunWatch, *, active: bool) -> Content:
    """The other stage in a line: `pairwise  run 2 ▶ running 3/12 25%   press n to see it`; empty where there is none."""
    other = watch.other
    if other is None:
        return Content("")
    status = status_of(other.state, other.wanted, active=active)
    share = f" {other.finished / other.calls:.0%}" if other.calls else ""
    return Content.assemble(
        (f"{other.protocol} ", "dim"),
        f"run {other.run_id} ",
        status_content(status),
        f"  {number(other.finished)}/{number(other.calls)}{share}   ",
        ("press n to see it", "dim"),
    )


def next_step(status: RunStatus, watch: report.RunWatch) -> str:
    """The next step for an inactive run; empty while it is active or when nothing is left."""
    left = watch.progress.outstanding
    if status == "interrupted":
        return "Interrupted: its process is gone. Press p to resume; stored answers are kept."
    if status in ("paused", "stopped", "planned") or (status == "failed" and left):
        return f"{number(left)} calls are outstanding: press p to resume."
    return ""


def clock(seconds: float) -> str:
    """`00:12:41`."""
    whole = int(max(seconds, 0))
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def setup_facts(watch: report.RunWatch) -> list[Fact]:
    settings, dot = watch.settings, f" {GLYPHS.dot} "
    judge = [one_line(watch.judge.spec, 60)]
    if watch.rater != watch.judge.spec:
        judge.append(f"as {one_line(watch.rater, 40)}")
    judge += [one_line(url, 60) for url in watch.judge.base_urls]
    keys = [watch.judge.api_key_env] if watch.judge.api_key_env else []
    keys += [f"{variable} as {name}" for name, variable in watch.judge.header_env]
    # what is not at its default, as the form of a run names it
    own = [
        f"{option.label} {report.plain_value(value)}"
        for name, option in RUN_OPTIONS.items()
        if name not in _SAID_ELSEWHERE and (value := getattr(settings, name)) != option.default
    ]
    return [
        ("judge", dot.join(judge)),
        *(("" if at else "sends", one_line(key, 60)) for at, key in enumerate(keys)),
        ("prompt", one_line(watch.prompt, 60)),
        ("cases", dot.join([*([] if settings.sample or settings.limit else ["all"]), *own])),
    ]


def estimate_facts(watch: report.RunWatch) -> list[Fact]:
    settings, progress, dot = watch.settings, watch.progress, f" {GLYPHS.dot} "
    how = [at_once(watch)]
    if compares_lists(settings.protocol):
        how.append("swap" if settings.swap else "no swap")
    if progress.cached:
        how.append(f"cache {progress.cached / max(progress.done, 1):.0%}")
    calls = dot.join([quantity(progress.calls, "call"), *how])
    if watch.estimate is None:
        return [("plan", calls)]
    _, *expected = report.estimate_lines(watch.estimate, rater=watch.rater, prompt=watch.prompt)
    facts = [("plan", calls), *(("" if at else "expects", line) for at, line in enumerate(expected))]
    facts += [("cost", f"{money(progress.cost_usd)} so far")] if progress.cost_usd else []
    facts += [("judge", f"no conclusion: {line}") for line in watch.worthless]
    if progress.attempts:
        flying = f"{progress.in_flight} in flight{dot}" if watch.state == "running" else ""
        facts.append(("asked", f"{flying}{quantity(progress.attempts, 'attempt')}"))
    if watch.state == "running" and (left := report.seconds_until(watch.waiting_until)) > 0:
        facts.append(("waits", f"{left:.0f} s more, because the server asked for a pause"))
    return facts


def at_once(watch: report.RunWatch) -> str:
    """`4 at once`, or `4 → 8 at once` until the run has adopted the new number."""
    now, wanted = watch.concurrency, watch.wanted_concurrency
    if wanted is None or wanted == now:
        return f"{now} at once" if now else "concurrency auto"
    return f"{now or 'auto'} → {wanted} at once"


def progress_content(watch: report.RunWatch, width: int, *, active: bool) -> Content:
    """The bar, the counts, the pace or the reason for waiting, and the tally of each system if the run compares lists."""
    progress = watch.progress
    finished = progress.done + progress.failed
    share = finished / progress.calls if progress.calls else 1.0
    tail = f"  {number(finished)}/{number(progress.calls)} {share:4.0%}"
    waits = waiting_text(watch) if active else ""
    if active and progress.outstanding and not waits:
        left = watch.progress.left_s
        tail += f"  eta {_short_time(left) if left is not None else GLYPHS.none}"
    bar = _bar(watch, max(width - 6 - cell_len(tail), 8))
    pace = Content.styled(waits, "bold $warning") if waits else _pace(watch, width)
    lines = [Content.assemble(("total ", "dim"), bar, tail), _counts(watch), pace]
    if compares_lists(watch.settings.protocol):
        lines.append(standings_line(watch, width))
    return Content("\n").join(lines)


def _bar(watch: report.RunWatch, width: int) -> Content:
    """Cached, newly answered and failed calls."""
    progress, calls = watch.progress, max(watch.progress.calls, 1)
    parts = [
        (progress.cached / calls, "▓", "$accent"),
        ((progress.done - progress.cached) / calls, GLYPHS.bar, "$success"),
        (progress.failed / calls, "▒", "$error"),
    ]
    return Content.assemble(*stacked(parts, width))


def waiting_text(watch: report.RunWatch) -> str:
    """`waiting: no connection to :9100, 4 calls, next try in 12 s`; empty while the server is reached."""
    if watch.state != "running" or not watch.retry_why:
        return ""
    why = one_line(_THIS_MACHINE.sub(r"\1", watch.retry_why), 100)
    left = report.seconds_until(watch.retry_at)
    due = f"next try in {left:.0f} s" if left >= 1 else "trying again"
    return f"{GLYPHS.paused} waiting: {why}, {due}"


def standings_line(watch: report.RunWatch, width: int) -> Content:
    """`W/T/L als 12/5/3 · text 3/5/12   ▲ 61% of 44 flip with the order`, with as many systems as fit.

    Counts without intervals: they are read again and again during a run, and an ordinary interval is not valid for that.
    """
    parts: list[str] = []
    flipped = _flips(watch)
    flips = f"   {GLYPHS.marked if watch.marked.flips else GLYPHS.dot} {flipped}" if flipped else ""
    room = width - cell_len(flips) - 6
    for tally in watch.tallies:
        counts = (tally.won, tally.tied, tally.lost)
        text = f"{one_line(tally.system, 24)} {'/'.join(map(number, counts))}"
        room -= cell_len(text) + 3
        if room < 0 and parts:
            break
        parts.append(text)
    stand = f" {GLYPHS.dot} ".join(parts) or "no verdict yet"
    return Content.assemble(("W/T/L ", "dim"), stand, (flips, "$warning" if watch.marked.flips else "dim"))


def _flips(watch: report.RunWatch) -> str:
    """`61% of 44 flip with the order`; empty where nothing was asked in both orders."""
    marked = watch.marked
    if not marked.both_orders:
        return ""
    return f"{marked.flips / marked.both_orders:.0%} of {number(marked.both_orders)} flip with the order"


def _counts(watch: report.RunWatch) -> Content:
    progress, gap = watch.progress, "   "
    failed = f"{GLYPHS.failed} {number(progress.failed)} failed"
    parts: list[str | tuple[str, str]] = [f"{GLYPHS.done} {number(progress.done)} done"]
    parts += [gap, (failed, "$error" if progress.failed else "")]
    if progress.cached:
        parts += [gap, (f"{number(progress.cached)} cached", "$accent")]
    if reused := report.reused_words(progress):
        parts += [gap, (reused, "dim")]
    flagged = watch.marked.flagged
    parts += [gap, (f"{GLYPHS.marked} {number(flagged)} flagged", "$warning" if flagged else "")]
    if watch.retried:
        parts += [gap, f"{number(watch.retried)} retried"]
    kinds = ", ".join(
        f"{one_line(kind, 20).replace('_', ' ')} {number(n)}" for kind, n in watch.failures.items()
    )
    if kinds:
        parts += [gap, (kinds, "dim")]
    return Content.assemble(*parts)


def _pace(watch: report.RunWatch, width: int) -> Content:
    pace = watch.pace
    if pace.rate is None:
        return Content.styled("rate/s  no two calls finished yet", "dim")
    drawn = spark(pace.rates, max(width - 40, 8))
    p95 = GLYPHS.none if pace.p95_s is None else _short_time(pace.p95_s)
    bucket = f"   each bar {_short_time(pace.width_s)}"
    return Content.assemble(
        ("rate/s ", "dim"), (drawn, "$accent"), f" {pace.rate:.1f}/s   p95 {p95}", (bucket, "dim")
    )


def _short_time(seconds: float) -> str:
    """`0.03 s`, `2.1 s`, `45 s`, `16m`, `2h 05m`."""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 and seconds != int(seconds) else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes}m" if minutes < 90 else f"{minutes // 60}h {minutes % 60:02d}m"


def errors_content(watch: report.RunWatch, width: int) -> Content:
    """The errors of each kind in full, each text once, and the newest cases that have them."""
    lines: list[Content] = []
    for kind, count in watch.failures.items():
        calls = [call for call in watch.failed if call.error_kind == kind]
        title = f"{number(count)} {GLYPHS.times} {one_line(kind, 30).replace('_', ' ')}"
        texts = list(dict.fromkeys(safe_text(call.error[:_LONGEST_ERROR]) for call in calls))[:5]
        cases = ", ".join(dict.fromkeys(case_number(call.case_id) for call in calls[:20]))
        lines += [title_rule(title, width), *map(Content, texts), Content.styled(f"cases {cases}", "dim")]
    return Content("\n").join(lines or [Content.styled("No call has failed.", "dim")])


# ---- screen ------------------------------------------------------------------------------------------------------


_WIDE_FROM = 100


class ListedRun(NamedTuple):
    """`own`: how the run differs from the others of its protocol."""

    row: StoredRow
    status: RunStatus
    own: tuple[str, ...] = ()


class RunList(RowList[ListedRun]):
    """Below 100 columns the judge's column names the rater, too, and only the monitor shows the cost."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "watch", key_display="enter", id="runs.open")
    ]

    def __init__(self) -> None:
        columns: tuple[Column[ListedRun], ...] = (
            Column("run", lambda run, _: (str(run.row["id"]), ""), 9, right=True),
            Column("state", _state, 20),
            Column("protocol", lambda run, _: (run.row["protocol"], ""), 16),
            Column("rater", lambda run, _: (_rater(run) * self._is_wide, "dim"), 60, 12, middle=True),
            Column("judge", self._judge, 80, 12, middle=True),
            Column("calls", lambda run, _: (number(run.row["calls"]), ""), 11, right=True),
            Column(
                "failed", lambda run, _: (number(n := run.row["failed"]), "failed" * bool(n)), 11, right=True
            ),
            Column("cost", lambda run, _: (_cost(run) * self._is_wide, ""), 10, right=True),
            Column("when", lambda run, _: (ago(run.row["created_at"]), ""), 16, 8),
        )
        super().__init__(columns, lambda run: run.row["id"])

    @property
    def _is_wide(self) -> bool:
        return self.app.size.width >= _WIDE_FROM

    def _judge(self, run: ListedRun, _: int) -> tuple[str, str]:
        rater, judge = _rater(run), run.row["judge"]
        return (judge if self._is_wide or not rater else f"{rater} ({judge})"), ""

    def on_resize(self) -> None:
        self.measure()
        super().on_resize()


def _state(run: ListedRun, _: int) -> tuple[str, str]:
    row, finished = run.row, run.row["done"] + run.row["failed"]
    share = f" {finished / row['calls']:.0%}" if row["calls"] and finished < row["calls"] else ""
    return f"{status_text(run.status)}{share}", RUN_LOOKS[run.status][1]


def _rater(run: ListedRun) -> str:
    """Empty where it is the judge."""
    return run.row["rater"] if run.row["rater"] != run.row["judge"] else ""


def _cost(run: ListedRun) -> str:
    return money(run.row["cost_usd"]) if run.row["cost_usd"] else ""


class RunsScreen(ListScreen):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new", "new run", id="runs.new"),
        Binding("V", "verdicts", "verdicts", id="runs.verdicts"),
        Binding("D", "delete", "delete", id="runs.delete"),
        Binding("e", "export", "export", id="runs.export"),
        FILTER,
        IMPORT,
        *COMMON,
    ]
    LISTED = PLACE = "Runs"
    WORDS = "part of a state, protocol, judge or rater"
    OF_ROWS = ("verdicts", "delete", "export")
    NOTHING = """No runs yet.

n  starts one: a judge reads the lists of this project and gives verdicts

It works in the background, also after you close the app."""

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self.rows = RunList()

    def on_screen_resume(self) -> None:
        self._read()

    def imported(self, project: str) -> None:
        self._read()

    def runs_moved(self, *, live: bool) -> None:
        self._read()

    def _read(self) -> None:
        self.background.start("runs", partial(_list, project_id=self.project_id), self.fill)

    def searched(self, run: ListedRun) -> str:
        row = run.row
        return f"{row['id']} {run.status} {row['protocol']} {row['judge']} {row['rater']} {row['prompt']}"

    @on(RowList.Moved)
    def _show_one(self) -> None:
        """Below the list: what sets the run under the cursor apart."""
        run = self.rows.cursor_row
        own = f" {GLYPHS.dot} ".join(run.own) if run is not None else ""
        text = f"differs from other {run.row['protocol']} runs: {own}" if run is not None and own else ""
        self.query_one("#listed").border_subtitle = Content(one_line(text, max(self.size.width - 8, 20)))

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_one)

    # ---- keys

    @on(RowList.Opened)
    def _watch(self) -> None:
        if (run_id := self.rows.cursor_id) is not None:
            self.open_screen("monitor", run_id)

    def action_new(self) -> None:
        self.open_screen("launch", self.project_id)

    def action_verdicts(self) -> None:
        if (run_id := self.rows.cursor_id) is not None:
            self.open_screen("cases", self.project_id, filter_text=f"run:{run_id}")

    def action_export(self) -> None:
        from recjudge_tui.reports.listings import runs

        self.ask_export("runs.csv", lambda db: runs(db, Project.numbered(db, self.project_id)))

    def action_delete(self) -> None:
        if (run_id := self.rows.cursor_id) is None:
            return
        text = f"Run {run_id} with its calls, answers and verdicts will be deleted for good."

        def job(db: Database) -> None:
            refuse_when_active(db, run_id)
            delete_run(db, run_id)

        def show(_: None) -> None:
            self.notify(f"Run {run_id} deleted.", markup=False)
            self._read()

        question = Confirm("Delete the run?", text, "delete it", "keep it")
        self.ask(question, lambda _: self.background.start("delete", job, show))


def _list(db: Database, project_id: int) -> list[ListedRun]:
    own = report.run_differences(db, project_id)
    listed = []
    for row in list_runs(db, project_id):
        status = status_of(row["state"], row["wanted"], active=is_active(db, row["id"]))
        listed.append(ListedRun(row, status, own.get(row["id"], ())))
    return listed


# ---- monitor actions ---------------------------------------------------------------------------------------------


class RunSnapshot(NamedTuple):
    """A run as it was read, whether a process works on it or on the other stage, and how long reading took."""

    watch: report.RunWatch
    active: bool
    took_s: float
    other_active: bool = False


def read_run(db: Database, run_id: int) -> RunSnapshot:
    begun = time.monotonic()
    # read before the counts, so that a run that ends in between is shown as ended the next time
    active = is_active(db, run_id)
    watch = report.run_watch(db, run_id)
    if not active and watch.state == "running":
        active = is_active(db, run_id)
    other = watch.other is not None and is_active(db, watch.other.run_id)
    return RunSnapshot(watch, active, time.monotonic() - begun, other)


def interrupt(db: Database, run_id: int, wanted: Wanted) -> str:
    """Request a pause or a stop; returns a toast."""
    word = "Pausing" if wanted == "pause" else "Stopping"
    if is_active(db, run_id):
        db.change("runs", run_id, wanted=wanted)
        return f"{word}: the calls in flight are finished first."
    return stop_and_wait(db, run_id, wanted).capitalize() + "."


def resume(db: Database, run_id: int) -> str:
    """Start a process that works on the run; returns a toast."""
    start.prepare_resume(db, run_id)
    start.start_detached(db, run_id)
    return f"Run {run_id} is working in the background; you can close this screen and the app."


def retry(db: Database, run_id: int) -> str:
    """Start a process that repeats the failed calls; returns a toast."""
    count = start.prepare_retry(db, run_id)
    if not count:
        raise RunError(f"run {run_id} has no failed calls")
    start.start_detached(db, run_id)
    return f"{quantity(count, 'failed call')} will be asked again."


# ---- monitor -----------------------------------------------------------------------------------------------------


POLL_S = 0.3
SLOWEST_POLL_S = 3.0
_OTHER_STAGE_POLL_S = 1.0


def _next_read_s(view: RunSnapshot) -> float | None:
    """Seconds until the run is read again, or None when nothing can change without a process that the app sees start.

    The other stage may begin and end between two looks at the running processes, so it is read while it is open.
    """
    if view.active or view.other_active:
        # a large run takes longer to read, so it is read less often
        return min(max(POLL_S, 4 * view.took_s), SLOWEST_POLL_S)
    other = view.watch.other
    return _OTHER_STAGE_POLL_S if other is not None and other.state in ("planned", "running") else None


class CallList(RowList[StoredRow]):
    """The newest answers of a run. While the cursor is on the first one it stays there; below it, on its call."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "case", key_display="enter", id="monitor.open_case")
    ]

    def __init__(self) -> None:
        columns: tuple[Column[StoredRow], ...] = (
            Column("case", lambda call, _: (case_number(call.case_id), "dim"), 12),
            Column("order", lambda call, _: ({"ab": "A|B", "ba": "B|A"}.get(call.order, ""), "dim"), 5),
            Column("answer", lambda call, _: (_answer(call), "reviewed"), 22, 6),
            Column("took", lambda call, _: (_took(call), "dim"), 8),
            Column(
                "flags", lambda call, _: (f"{GLYPHS.marked} {call.flags}" * bool(call.flags), "marked"), 6
            ),
            Column("user", lambda call, _: (call.user_id, ""), 24, 6, middle=True),
            Column("occasion", lambda call, _: (_occasion(call), ""), 24, 11, rank=1),
            Column("systems", lambda call, _: (_systems(call), "dim"), 60, 10),
        )
        super().__init__(columns, lambda call: call.id, id="calls")


def _answer(call: StoredRow) -> str:
    """What a call answered: one label, or the first letters of several; a call without answers wrote a profile."""
    labels = call.label.split(", ")
    if len(labels) > 1:
        return " ".join(label[:1] if label.isalpha() else label for label in labels)
    return short_label(call.label) or "profile"


def _took(call: StoredRow) -> str:
    return "cached" if call.cached else "" if call.latency_s is None else _short_time(call.latency_s)


def _occasion(call: StoredRow) -> str:
    return occasion_text(Occasion(call.context, call.served_at))


def _systems(call: StoredRow) -> str:
    return " | ".join(name for name in (call.system_a, call.system_b) if name)


class MonitorScreen(ReadingScreen):
    """Polls the run while a process works on it, and while its other stage is planned or running."""

    AUTO_FOCUS = "CallList"
    CSS = """
    MonitorScreen #progress { height: auto; min-height: 5; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    MonitorScreen #lower { layout: vertical; height: 1fr; }
    MonitorScreen CallList { height: 2fr; }
    MonitorScreen Reader { height: 1fr; min-height: 6; }
    MonitorScreen.-wide #lower { layout: horizontal; }
    MonitorScreen.-wide CallList { width: 3fr; height: 1fr; }
    MonitorScreen.-wide Reader { width: 2fr; height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "pause", "pause", id="monitor.pause"),
        Binding("p", "resume", "resume", id="monitor.resume"),
        Binding("s", "stop", "stop", id="monitor.stop"),
        Binding("R", "retry", "retry failed", id="monitor.retry"),
        Binding("plus", "concurrency(1)", "concurrency", key_display="+/-", id="monitor.more"),
        Binding("minus", "concurrency(0)", "fewer calls at once", show=False, id="monitor.fewer"),
        Binding("V", "open_run", "verdicts", id="monitor.open_run"),
        Binding("n", "other", "other stage", id="monitor.other"),
        *READER,
        *COMMON,
    ]

    def __init__(self, run_id: int) -> None:
        super().__init__()
        self.run_id = run_id
        self.view: RunSnapshot | None = None
        self._next: Timer | None = None
        self._presses = 0
        self._opened_at = now()

    @property
    def project(self) -> int | None:
        return None if self.view is None else self.view.watch.project_id

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", f"Run {self.run_id}")
        yield Static(Content("reading"), id="progress", classes="pane")
        with Horizontal(id="lower"):
            yield CallList()
            yield Reader()
        yield KeyLine()

    def on_screen_resume(self) -> None:
        self.read_now()

    def on_screen_suspend(self) -> None:
        self._rest()

    # ---- reading

    def read_now(self) -> None:
        """Read the run now; the result decides whether it is read again."""
        self._rest()
        self.background.start("read", partial(read_run, run_id=self.run_id), self._show_view)

    def _rest(self) -> None:
        if self._next is not None:
            self._next.stop()
            self._next = None

    def _show_view(self, view: RunSnapshot) -> None:
        before, self.view = self.view, view
        self._show()
        if self._moves_on(before):
            self.action_other()
            return
        if self.is_current and (delay_s := _next_read_s(self.view)) is not None:
            self._rest()
            self._next = self.set_timer(delay_s, self.read_now)
        if before is None or before.active != self.view.active:
            self.host.check_runs()

    def _moves_on(self, before: RunSnapshot | None) -> bool:
        """Whether to move on to the next stage: the watched run ended, its newest answer was being watched, and its process
        began the next stage."""
        if before is None or self.view is None or self.query_one(CallList).cursor or not self.is_current:
            return False
        watch, other = self.view.watch, self.view.watch.other
        if other is None or self.view.active or watch.state != "done" or not self.view.other_active:
            return False
        return not before.other_active and other.attempt_started_at >= watch.finished_at > self._opened_at

    def runs_changed(self, active: list[StoredRow]) -> None:
        super().runs_changed(active)
        ours = any(run.run_id == self.run_id for run in active)
        if ours and self.view is not None and not self.view.active and self.view.watch.state != "running":
            self.read_now()
        other = self.view.watch.other if self.view is not None else None
        if other is not None and self._next is None and any(run.run_id == other.run_id for run in active):
            self.read_now()

    @property
    def run_status(self) -> RunStatus | None:
        if self.view is None:
            return None
        watch = self.view.watch
        return status_of(watch.state, watch.wanted, active=self.view.active)

    # ---- showing

    def _show(self) -> None:
        view, status = self.view, self.run_status
        if view is None or status is None:
            return
        watch = view.watch
        state = status_content(status)
        self.query_one(TopBar).show(
            crumbs=("recjudge", watch.project, f"Run {self.run_id} {watch.settings.protocol}"),
            right=f"{state.plain}  {clock(report.worked_s(watch, active=view.active))}",
        )
        progress, calls = self.query_one("#progress", Static), self.query_one(CallList)
        progress.border_title = Content.assemble("Progress ", state)
        lines = [progress_content(watch, max(self.size.width - 4, 40), active=view.active)]
        if watch.other is not None:
            lines.append(other_content(watch, active=view.other_active))
        if status == "failed":
            log = f"It ended without an error message. Its log is {self.host.db_path}.runs.log"
            lines.append(Content.styled(safe_text((watch.error or log)[:_LONGEST_ERROR]), "$error"))
        if step := next_step(status, watch):
            lines.append(Content.styled(step, "bold"))
        progress.update(Content("\n").join(lines))
        calls.border_title = Content("Latest answers")
        calls.fill(watch.done, anchor=None if calls.cursor else watch.done[0].id if watch.done else None)
        facts = [*setup_facts(watch), *estimate_facts(watch)]
        tabs = {"settings": partial(facts_content, facts), "errors": partial(errors_content, watch)}
        self.reader.show_tabs(f"Run {self.run_id}", tabs, "errors" if watch.failures else "settings")
        self.refresh_bindings()

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)

    # ---- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        status = self.run_status
        if action == "pause":
            return status in ("running", "pausing", "stopping")
        if action == "resume":
            return self._can_resume()
        if action == "stop":
            return status in ("running", "pausing", "interrupted")
        if action == "retry":
            return self.view is not None and not self.view.active and self.view.watch.progress.failed > 0
        if action == "concurrency":
            return status in ("running", "pausing") or self._can_resume()
        if action == "other":
            return self.view is not None and self.view.watch.other is not None
        if action == "open_run":
            return self.view is not None and bool(self.view.watch.done or self.view.watch.failed)
        return super().check_action(action, parameters)

    def _can_resume(self) -> bool:
        if self.view is None or self.run_status not in RESUMABLE:
            return False
        return self.run_status == "interrupted" or self.view.watch.progress.outstanding > 0

    def _order(self, job: Callable[..., str]) -> None:
        def show(toast: str) -> None:
            self.notify(one_line(toast, 300), markup=False)
            self.read_now()

        self.background.start("order", partial(job, run_id=self.run_id), show)

    def action_other(self) -> None:
        other = self.view.watch.other if self.view is not None else None
        if other is not None:
            self.app.switch_screen(MonitorScreen(other.run_id))

    def action_pause(self) -> None:
        self._order(partial(interrupt, wanted="pause"))

    def action_stop(self) -> None:
        text = "Calls in flight are finished and stored; the others stay open and are asked when the run is resumed."
        question = Confirm(f"Stop run {self.run_id}?", text, "stop", "let it run")
        self.ask(question, lambda _: self._order(partial(interrupt, wanted="stop")))

    def action_resume(self) -> None:
        self._order(resume)

    def action_retry(self) -> None:
        self._order(retry)

    def action_concurrency(self, up: int) -> None:
        # every key press counts: each has its own group, because a newer job of a group drops the older one
        self._presses += 1
        job = partial(step_concurrency, run_id=self.run_id, up=bool(up))
        self.background.start(f"concurrency {self._presses}", job, lambda _: self.read_now())

    @on(RowList.Opened)
    def _open_case(self) -> None:
        if (call := self.query_one(CallList).cursor_row) is not None:
            self._open(f"run:{self.run_id} case:{call.case_id}")

    def action_open_run(self) -> None:
        self._open(f"run:{self.run_id}")

    def _open(self, chosen: str) -> None:
        if self.view is not None:
            self.open_screen("cases", self.view.watch.project_id, filter_text=chosen)
