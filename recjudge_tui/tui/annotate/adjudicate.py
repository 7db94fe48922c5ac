"""Shows cases on which annotators differ to a third person, with each answer but without names."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content

from recjudge_tui.domain.annotation import AspectQuestion, CaseAnswers
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.tui.annotate.jobs import Decision, next_decision, settle_and_go_on
from recjudge_tui.tui.annotate.judging import JudgingScreen
from recjudge_tui.tui.annotate.text import ballots_content
from recjudge_tui.tui.kit.glyphs import glyphs
from recjudge_tui.tui.kit.top_bar import TopBar


class AdjudicateScreen(JudgingScreen):
    """`rater_id` is the consensus that the third person's decisions are stored under."""

    BINDINGS: ClassVar[list[BindingType]] = [*JudgingScreen.ANSWER_KEYS, *JudgingScreen.LAST_KEYS]

    def __init__(self, project_id: int, rater_id: int, protocol: str) -> None:
        super().__init__(project_id, "Adjudicate")
        self.rater_id, self.protocol = rater_id, protocol
        self.decision: Decision | None = None

    def on_mount(self) -> None:
        job = partial(
            next_decision, project_id=self.project_id, rater_id=self.rater_id, protocol=self.protocol
        )
        self.background.start("case", job, self._show_decision, self.case_failed)

    def keep(self, judged: CaseAnswers, seconds: float) -> None:
        self._settle(judged, seconds)

    def skip_case(self, reason: str, seconds: float) -> None:
        self._settle(None, seconds, reason)

    def _settle(self, judged: CaseAnswers | None, seconds: float, reason: str = "") -> None:
        assert self.decision is not None
        assert self.decision.dispute is not None
        job = partial(
            settle_and_go_on,
            project_id=self.project_id,
            protocol=self.protocol,
            dispute=self.decision.dispute,
            judged=judged,
            seconds=seconds,
            reason=reason,
        )
        self.background.start("case", job, self._show_decision, self.case_failed)

    def _show_decision(self, decision: Decision) -> None:
        self.decision = decision
        queue, dispute = decision.queue, decision.dispute
        questions: tuple[AspectQuestion, ...] = dispute.questions if dispute else ()
        title = f"Case {queue.disputed - len(queue.left) + 1} of {queue.disputed}" if dispute else "Done"
        if self.show_case(dispute.shown if dispute else None, questions, CaseAnswers(()), title):
            self.query_one(TopBar).show(
                right=f"{self.protocol} {glyphs().dot} {len(queue.left)} left of {queue.disputed}"
            )

    def head(self, width: int) -> Content | None:
        if self.decision is None:
            return None
        dispute = self.decision.dispute
        previous = (
            f"Previous case: {one_line(self.decision.previous, 400)}\n\n" if self.decision.previous else ""
        )
        if dispute is None:
            settled = quantity(self.decision.queue.disputed, "case")
            outcome = (
                "The annotators agree on every case."
                if not self.decision.queue.disputed
                else f"All settled: {settled}."
            )
            return Content(
                f"{previous}{outcome}\n\nWhere they agree, the consensus takes their verdict.\n\nq  leave"
            )
        ballots = ballots_content(dispute.ballots, dispute.questions, width, glyphs())
        return Content.assemble((previous, "dim"), ballots)

    def leave_now(self) -> None:
        if self.decision is not None and self.decision.queue.left:
            self.app.notify(
                f"{quantity(len(self.decision.queue.left), 'case')} left; your decisions are stored",
                timeout=4,
            )
        self.host.leave_screen()
