"""The monitor of one run: progress, newest verdicts, errors, and keys to pause, stop, resume and retry."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.reports.runs import RunWatch, worked_s
from recjudge_tui.runs.start import step_concurrency
from recjudge_tui.store.database import now
from recjudge_tui.store.runs import ActiveRun
from recjudge_tui.tui.kit.base_screen import COMMON, BaseScreen
from recjudge_tui.tui.kit.dialogs import Confirm, Notice
from recjudge_tui.tui.kit.glyphs import glyphs, number
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.option_list import Options, move_cursor
from recjudge_tui.tui.kit.top_bar import TopBar
from recjudge_tui.tui.runs.monitor_actions import RunSnapshot, interrupt, read_run, resume, retry
from recjudge_tui.tui.runs.text import (
    RESUMABLE,
    RunStatus,
    call_line,
    clock,
    estimate_facts,
    facts_content,
    next_step,
    other_content,
    progress_content,
    setup_facts,
    status_content,
    status_of,
)
from recjudge_tui.tui.runs.troubles import kind_line, kind_text

POLL_S = 0.3
SLOWEST_POLL_S = 3.0
_OTHER_STAGE_POLL_S = 1.0
_LONGEST_ERROR = 2000


def _next_read_s(view: RunSnapshot) -> float | None:
    """Seconds until the run is read again, or None when nothing can change without a process that the app sees start.

    The other stage may begin and end between two looks at the running processes, so it is read while it is open.
    """
    if view.active or view.other_active:
        # a large run takes longer to read, so it is read less often
        return min(max(POLL_S, 4 * view.took_s), SLOWEST_POLL_S)
    other = view.watch.other
    return _OTHER_STAGE_POLL_S if other is not None and other.state in ("planned", "running") else None


class MonitorScreen(BaseScreen):
    """Polls the run while a process works on it, and while its other stage is planned or running."""

    CSS = """
    MonitorScreen .pane { border: round $primary; border-title-color: $accent; padding: 0 1; height: auto; }
    MonitorScreen #setup { width: 1fr; }
    MonitorScreen #estimate { width: 1fr; }
    MonitorScreen #run-facts { height: auto; min-height: 5; max-height: 12; }
    MonitorScreen #run-facts Static { text-wrap: nowrap; text-overflow: ellipsis; }
    MonitorScreen #progress Static { text-wrap: nowrap; text-overflow: ellipsis; height: auto; min-height: 3; }
    MonitorScreen #latest { height: 1fr; min-height: 4; padding: 0; }
    MonitorScreen #latest OptionList { height: 1fr; }
    MonitorScreen #error-kinds { height: auto; max-height: 4; }
    MonitorScreen OptionList { border: none; padding: 0; background: $background; background-tint: $foreground 0%;
                                       scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    MonitorScreen #latest:focus-within { border: round $accent; }
    MonitorScreen #errors { max-height: 6; border: round $error; border-title-color: $error; display: none;
                            scrollbar-size-vertical: 1; }
    MonitorScreen.-troubled #errors { display: block; }
    MonitorScreen.-wide #errors { max-height: 10; }
    .-ascii MonitorScreen .pane, .-ascii MonitorScreen #latest:focus-within { border: ascii $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "pause", "pause", id="monitor.pause"),
        Binding("p", "resume", "resume", id="monitor.resume"),
        Binding("s", "stop", "stop", id="monitor.stop"),
        Binding("R", "retry", "retry failed", id="monitor.retry"),
        Binding("plus", "concurrency(1)", "concurrency", key_display="+/-", id="monitor.more"),
        Binding("minus", "concurrency(0)", "fewer calls at once", show=False, id="monitor.fewer"),
        Binding("o", "open_case", "open case", id="monitor.open_case"),
        Binding("V", "open_run", "verdicts", id="monitor.open_run"),
        Binding("n", "other", "other stage", id="monitor.other"),
        Binding("f", "follow", "follow the newest", show=False, id="monitor.follow"),
        Binding("j", "move(1)", "down", show=False, id="monitor.down"),
        Binding("k", "move(-1)", "up", show=False, id="monitor.up"),
        *COMMON,
    ]

    def __init__(self, run_id: int) -> None:
        super().__init__()
        self.run_id = run_id
        self.view: RunSnapshot | None = None
        self.follow = True
        self._shown: tuple[int, ...] = ()
        self._cases: tuple[int, ...] = ()
        self._next: Timer | None = None
        self._kinds: tuple[tuple[str, int], ...] = ()
        self._presses = 0
        self._opened_at = now()

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", f"Run {self.run_id}")
        with Horizontal(id="run-facts"):
            with Vertical(id="setup", classes="pane") as box:
                box.border_title = Content("Setup")
                yield Static(Content("reading"), id="setup-text")
            with Vertical(id="estimate", classes="pane") as box:
                box.border_title = Content("Estimate")
                yield Static(id="estimate-text")
        with Vertical(id="progress", classes="pane") as box:
            box.border_title = Content("Progress")
            yield Static(id="progress-text")
        with Vertical(id="latest", classes="pane"):
            yield Options(id="latest-list", markup=False)
        with Vertical(id="errors", classes="pane") as box:
            box.border_title = Content("Errors")
            yield Static(id="errors-text")
            yield Options(id="error-kinds", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#latest-list", OptionList).focus()

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
        """Whether to move on to the next stage: the watched run ended, its list was being followed, and its process
        began the next stage."""
        if before is None or self.view is None or not self.follow or not self.is_current:
            return False
        watch, other = self.view.watch, self.view.watch.other
        if other is None or self.view.active or watch.state != "done" or not self.view.other_active:
            return False
        return not before.other_active and other.attempt_started_at >= watch.finished_at > self._opened_at

    def runs_changed(self, active: list[ActiveRun]) -> None:
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
        view, status, look = self.view, self.run_status, glyphs()
        if view is None or status is None:
            return
        watch = view.watch
        worked = clock(worked_s(watch, active=view.active))
        state = status_content(status, look)
        self.query_one(TopBar).show(
            crumbs=("recjudge", watch.project, f"Run {self.run_id} {watch.settings.protocol}"),
            right=f"{state.plain}  {worked}",
        )
        self.query_one("#setup-text", Static).update(facts_content(setup_facts(watch, look)))
        self.query_one("#estimate-text", Static).update(facts_content(estimate_facts(watch, look)))
        progress = self.query_one("#progress")
        progress.border_title = Content.assemble("Progress ", state)
        width = max(progress.content_size.width, 40)
        lines = progress_content(watch, width, look, active=view.active)
        other = other_content(watch, look, active=view.other_active)
        shown = [lines, other] if watch.other is not None else [lines]
        self.query_one("#progress-text", Static).update(Content("\n").join(shown))
        self._show_latest(watch)
        self._show_errors(watch, status)
        self.refresh_bindings()

    def _show_latest(self, watch: RunWatch) -> None:
        rows, look = self.query_one("#latest-list", OptionList), glyphs()
        newest = tuple(call.id for call in watch.done)
        fresh = sum(1 for key in newest if key not in self._shown)
        waiting = "" if self.follow or not fresh else f", {fresh}{'+' if fresh == len(newest) else ''} newer"
        key = "f " if self.view is not None and self.view.active else ""
        title = f"Latest verdicts {look.rule} {key}follow: {'on' if self.follow else 'off'}{waiting}"
        self.query_one("#latest").border_title = Content(title)
        if newest == self._shown or (self._shown and not self.follow):
            return
        width = max(rows.content_size.width, 40)
        self._shown, self._cases = newest, tuple(call.case_id for call in watch.done)
        rows.clear_options()
        rows.add_options([Option(call_line(call, width, look)) for call in watch.done])
        if newest:
            with self.prevent(OptionList.OptionHighlighted):
                rows.highlighted = 0

    def _show_errors(self, watch: RunWatch, status: RunStatus) -> None:
        box = self.query_one("#errors")
        lines: list[Content] = []
        if status == "failed":
            message = (
                watch.error or f"It ended without an error message. Its log is {self.host.db_path}.runs.log"
            )
            lines.append(Content.styled(safe_text(message[:_LONGEST_ERROR]), "$error"))
        step = next_step(status, watch)
        if step:
            lines.append(Content.styled(step, "bold"))
        self._show_kinds(watch)
        self.set_class(bool(lines or self._kinds), "-troubled")
        self.query_one("#errors-text").display = bool(lines)
        box.border_title = Content("Errors" if watch.failed or status == "failed" else "Next")
        self.query_one("#errors-text", Static).update(Content("\n").join(lines))

    def _show_kinds(self, watch: RunWatch) -> None:
        """One line for each kind of error; enter opens its text."""
        rows = self.query_one("#error-kinds", OptionList)
        rows.display = bool(watch.trouble.kinds)
        if watch.trouble.kinds != self._kinds:
            self._kinds, at = watch.trouble.kinds, rows.highlighted
            rows.clear_options()
            rows.add_options([Option(kind_line(watch, *kind, glyphs())) for kind in self._kinds])
            rows.highlighted = min(at or 0, len(self._kinds) - 1) if self._kinds else None

    @on(OptionList.OptionSelected, "#error-kinds")
    def _open_kind(self, event: OptionList.OptionSelected) -> None:
        if self.view is not None:
            kind, count = self._kinds[event.option_index]
            title = f"{number(count)} {glyphs().times} {kind.replace('_', ' ')}"
            self.app.push_screen(Notice(title, kind_text(self.view.watch, kind, glyphs())))

    def on_resize(self) -> None:
        self.call_after_refresh(self._redraw)

    def _redraw(self) -> None:
        self._shown = () if self.follow else self._shown
        self._show()

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
        if action == "follow":
            return self.view is not None and self.view.active and bool(self.view.watch.done)
        if action in ("open_case", "open_run", "move"):
            return self.view is not None and bool(self.view.watch.done or self.view.watch.failed)
        return super().check_action(action, parameters)

    def _can_resume(self) -> bool:
        if self.view is None or self.run_status not in RESUMABLE:
            return False
        return self.run_status == "interrupted" or self.view.watch.progress.outstanding > 0

    def _order(self, job: partial[str]) -> None:
        self.background.start("order", job, self._show_order)

    def _show_order(self, toast: str) -> None:
        self.notify(one_line(toast, 300), markup=False)
        self.read_now()

    def action_other(self) -> None:
        other = self.view.watch.other if self.view is not None else None
        if other is not None:
            self.app.switch_screen(MonitorScreen(other.run_id))

    def action_pause(self) -> None:
        self._order(partial(interrupt, run_id=self.run_id, wanted="pause"))

    def action_stop(self) -> None:
        text = (
            "Calls in flight are finished and stored; the others stay open and are asked when the run is "
            "resumed."
        )
        question = Confirm(f"Stop run {self.run_id}?", text, "stop", "let it run")
        self.app.push_screen(question, self._stop)

    def _stop(self, sure: bool | None) -> None:
        if sure:
            self._order(partial(interrupt, run_id=self.run_id, wanted="stop"))

    def action_resume(self) -> None:
        self._order(partial(resume, run_id=self.run_id))

    def action_retry(self) -> None:
        self._order(partial(retry, run_id=self.run_id))

    def action_concurrency(self, up: int) -> None:
        # every key press counts: each has its own group, because a newer job of a group drops the older one
        self._presses += 1
        job = partial(step_concurrency, run_id=self.run_id, up=bool(up))
        self.background.start(f"concurrency {self._presses}", job, lambda _: self.read_now())

    def action_move(self, rows: int) -> None:
        focused = self.focused
        latest = self.query_one("#latest-list", OptionList)
        move_cursor(focused if isinstance(focused, OptionList) else latest, rows)

    @on(OptionList.OptionHighlighted, "#latest-list")
    def _moved(self) -> None:
        """Moving the cursor stops the list from following the newest call."""
        if self.follow and self.query_one("#latest-list", OptionList).highlighted:
            self.follow = False
            self._show()

    def action_follow(self) -> None:
        self.follow = not self.follow
        self._redraw()

    @on(OptionList.OptionSelected, "#latest-list")
    def action_open_case(self) -> None:
        rows = self.query_one("#latest-list", OptionList)
        if rows.highlighted is not None:
            self._open(f"run:{self.run_id} case:{self._cases[rows.highlighted]}")

    def action_open_run(self) -> None:
        self._open(f"run:{self.run_id}")

    def _open(self, chosen: str) -> None:
        from recjudge_tui.tui.cases.screen import CasesScreen

        if self.view is not None:
            self.app.push_screen(CasesScreen(self.view.watch.project_id, chosen))

    def action_step_back(self) -> None:
        self.action_leave()
