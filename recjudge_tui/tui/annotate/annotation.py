"""Blind annotation: one person's cases, one after the other.

Once all are judged, everybody's verdicts can be revealed.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from recjudge_tui.domain.annotation import AspectQuestion, CaseAnswers
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.store.people import rater_assignment
from recjudge_tui.tui.annotate.jobs import (
    View,
    first_view,
    give_and_go_on,
    reveal_view,
    skip_and_go_on,
    view_beside,
)
from recjudge_tui.tui.annotate.judging import JudgingScreen
from recjudge_tui.tui.annotate.text import reveal_content
from recjudge_tui.tui.kit.dialogs import Confirm
from recjudge_tui.tui.kit.glyphs import glyphs
from recjudge_tui.tui.kit.top_bar import TopBar


class AnnotationScreen(JudgingScreen):
    """With `reveal_at_end` no case is revealed before all are judged."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *JudgingScreen.ANSWER_KEYS,
        Binding("left", "beside(-1)", "back", key_display="←", id="annotation.back"),
        Binding("right", "beside(1)", "next case", show=False, id="annotation.forward"),
        Binding("R", "reveal", "reveal", show=False, id="annotation.reveal"),
        *JudgingScreen.LAST_KEYS,
    ]

    def __init__(self, project_id: int, rater_id: int, protocol: str, *, reveal_at_end: bool = False) -> None:
        super().__init__(project_id, "Annotate")
        self.rater_id, self.protocol, self.reveal_at_end = rater_id, protocol, reveal_at_end
        self.view: View | None = None

    def on_mount(self) -> None:
        self._go(partial(first_view, rater_id=self.rater_id, protocol=self.protocol))

    # ---- opening and leaving

    def _go(self, job: partial[View] | partial[View | None]) -> None:
        self.busy = True
        self.background.start("case", job, self._show_view, self.case_failed)

    def keep(self, judged: CaseAnswers, seconds: float) -> None:
        assert self.view is not None
        assert self.view.task is not None
        self._go(
            partial(
                give_and_go_on,
                rater_id=self.rater_id,
                protocol=self.protocol,
                task_id=self.view.task.id,
                judged=judged,
                seconds=seconds,
            )
        )

    def skip_case(self, reason: str, seconds: float) -> None:
        assert self.view is not None
        assert self.view.task is not None
        self._go(
            partial(
                skip_and_go_on,
                rater_id=self.rater_id,
                protocol=self.protocol,
                task_id=self.view.task.id,
                reason=reason,
                seconds=seconds,
            )
        )

    def _show_view(self, view: View | None) -> None:
        """Show a case, or stay where there is none in that direction."""
        if view is None:
            self.busy = False
            self.refresh_bindings()
            return
        self.view = view
        questions: tuple[AspectQuestion, ...] = view.shown.questions if view.shown is not None else ()
        locked = view.task is not None and view.task.revealed
        if self.show_case(view.shown, questions, view.own, self._case_title(), locked=locked):
            self._show_progress()

    def _case_title(self) -> str:
        task = self.view.task if self.view else None
        if task is None:
            return "Done"
        state = {"open": "", "done": ", given", "skipped": f", skipped: {one_line(task.reason, 40)}"}[
            task.state
        ]
        return f"Case {task.position}{state}{', revealed' if task.revealed else ''}"

    def _show_progress(self) -> None:
        assert self.view is not None
        assignment = self.view.assignment
        parts = [
            assignment.rater,
            assignment.protocol,
            f"{assignment.done + assignment.skipped}/{assignment.all}",
        ]
        self.query_one(TopBar).show(right=f" {glyphs().dot} ".join(part for part in parts if part))

    def head(self, width: int) -> Content | None:
        view, symbols = self.view, glyphs()
        if view is None:
            return None
        if view.task is None:
            return _end(view)
        if not view.task.revealed or view.shown is None:
            return None
        own = ", ".join(_own_words(view, answer.aspect) for answer in view.own.answers) or "skipped"
        revealed = reveal_content(view.others, view.shown.questions, view.systems, own, width, symbols)
        return Content("\n").join([revealed, Content("")])

    # ---- keys

    def action_beside(self, step: int) -> None:
        self.time.touch()
        task = self.view.task if self.view else None
        self._go(partial(view_beside, rater_id=self.rater_id, protocol=self.protocol, task=task, step=step))

    def action_reveal(self) -> None:
        view = self.view
        if view is None:
            return
        only_this_case = view.assignment.open > 0 and view.task is not None
        what = "this case" if only_this_case else "all your cases"
        text = f"This shows everybody's verdicts on {what}. You cannot change yours afterwards."
        identity = view.task.id if only_this_case and view.task else None
        self.app.push_screen(Confirm("Reveal?", text, "reveal", "not yet"), partial(self._reveal, identity))

    def _reveal(self, identity: int | None, sure: bool | None) -> None:
        if sure:
            job = partial(reveal_view, rater_id=self.rater_id, protocol=self.protocol, task_id=identity)
            self._go(job)

    def leave_now(self) -> None:
        if self.view is not None:
            assignment = rater_assignment(self.host.db, self.rater_id, self.protocol)
            left = f"{quantity(assignment.open, 'case')} left; " if assignment.open else "No cases left; "
            self.app.notify(f"{left}your verdicts are stored", timeout=4)
        self.host.leave_screen()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        view = self.view
        if action == "beside":
            return view is not None and not self.busy
        if action == "reveal":
            if view is None or self.busy or not (view.assignment.done or view.assignment.skipped):
                return False
            task = view.task
            if view.assignment.open == 0:
                return view.assignment.revealed < view.assignment.all
            return not self.reveal_at_end and task is not None and task.state != "open" and not task.revealed
        return super().check_action(action, parameters)


def _own_words(view: View, aspect: str) -> str:
    assert view.shown is not None
    question_shown = next(question for question in view.shown.questions if question.aspect == aspect)
    value = next(answer.value for answer in view.own.answers if answer.aspect == aspect)
    words = next((option.words for option in question_shown.options if option.value == value), f"{value:g}")
    return words if len(view.shown.questions) == 1 else f"{aspect.replace('_', ' ')} {words}"


def _end(view: View) -> Content:
    """The text after the last case.

    It has no figure of agreement, which would tell a blind annotator how others answered.
    """
    assignment = view.assignment
    skipped = f", {assignment.skipped} skipped" if assignment.skipped else ""
    lines = [f"All your cases are judged: {assignment.done} given{skipped}."]
    lines += ["", "←  return to your last case, where you can still change your answers"]
    if assignment.revealed < assignment.all:
        lines.append("R  show everybody's verdicts; after that your answers are final")
    return Content("\n".join([*lines, "q  leave; everything is saved"]))
