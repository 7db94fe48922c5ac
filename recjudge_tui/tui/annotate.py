"""Blind labels by people: the plan, the queue of cases, and what two people disagree about."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content

from recjudge_tui.domain.annotation import AspectQuestion, CaseAnswers, ItemFlag
from recjudge_tui.domain.options import Option
from recjudge_tui.domain.protocols import offered
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.store import people as people_store
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import labellers
from recjudge_tui.tui import answer_sheet
from recjudge_tui.tui.dialogs import AskLine, Confirm
from recjudge_tui.tui.form import Form
from recjudge_tui.tui.row_list import Column, RowList
from recjudge_tui.tui.screens import COMMON, FILTER, WITHOUT_TAB, BaseScreen, ListScreen
from recjudge_tui.tui.widgets import GLYPHS, KeyLine, TextPane, TopBar, bar, keyed, number

if TYPE_CHECKING:
    from recjudge_tui.people.annotation import AnnotationPlan, Dispute, ShownCase


# ---- plan form ---------------------------------------------------------------------------------------------------


_ASSIGNED = (
    Option("annotators", tuple, "Name at least one annotator; commas separate several.", (), required=True,
           placeholder="such as ana, ben"),
    Option("protocol", str, "The question that they answer.", choices=offered(), required=True),
    Option("sample", int, "How many cases are assigned. Default: all.", bounds={"ge": 1}, label="cases",
           placeholder="all"),
    Option("per_case", int, "How many annotators judge each case. Default: two.", bounds={"ge": 1},
           label="annotators each", placeholder="two"),
)  # fmt: skip


# ---- desks -------------------------------------------------------------------------------------------------------


class Turn(NamedTuple):
    """What the screen shows: a case, or none if all are settled. `above` is laid out above the case for a width, `end` is
    said when there is none, with the keys that `keyed` puts in; `progress` stands in the top line; `left` cases are open.
    `task`, `assignment`: of an annotator; `dispute`: of a third person."""

    title: str
    progress: str
    left: int
    above: Callable[[int], Content] | None = None
    end: str = ""
    shown: ShownCase | None = None
    questions: tuple[AspectQuestion, ...] = ()
    own: CaseAnswers = CaseAnswers(())
    task: people_store.Task | None = None
    assignment: people_store.Assignment | None = None
    dispute: Dispute | None = None

    @property
    def is_revealed(self) -> bool:
        return self.task is not None and self.task.revealed


class Desk:
    """Where the cases of a screen come from and its answers go. All but `can` is called in a worker."""

    name: ClassVar[str]

    def first(self, db: Database) -> Turn:
        raise NotImplementedError

    def settle(
        self, db: Database, turn: Turn, judged: CaseAnswers | None, seconds: float, reason: str
    ) -> Turn:
        """Store the answers, or with None that the case was skipped for this reason, before reading anything else."""
        raise NotImplementedError

    def beside(self, db: Database, turn: Turn, step: int) -> Turn | None:
        """The case before or after this one; None if there is no case in that direction."""
        raise NotImplementedError

    def reveal(self, db: Database, turn: Turn) -> Turn:
        raise NotImplementedError

    def can(self, action: str, turn: Turn) -> bool:
        """Whether one can go to the case `beside` or `reveal` what others said."""
        return False


class OwnCases(Desk):
    """The cases of one annotator. With `reveal_at_end` no case is revealed before all are judged."""

    name = "Annotate"

    def __init__(self, rater_id: int, protocol: str, *, reveal_at_end: bool = False) -> None:
        self.rater_id, self.protocol, self.reveal_at_end = rater_id, protocol, reveal_at_end

    def first(self, db: Database) -> Turn:
        return self._turn(db, people_store.next_open(db, self.rater_id, self.protocol))

    def settle(
        self, db: Database, turn: Turn, judged: CaseAnswers | None, seconds: float, reason: str
    ) -> Turn:
        assert turn.task is not None
        if judged is None:
            people_store.skip_task(db, turn.task.id, reason, seconds)
        else:
            people_store.submit_verdict(db, turn.task.id, judged, seconds)
        return self.first(db)

    def beside(self, db: Database, turn: Turn, step: int) -> Turn | None:
        """The settled case before or after this one (from the end: the last one); past the last settled case, the first
        open one."""
        task = turn.task
        mine = people_store.own_tasks(db, self.rater_id, self.protocol)
        closed = [each for each in mine if each.state != "open"]
        if step < 0:
            goal = next((t.id for t in closed[::-1] if task is None or t.position < task.position), None)
        elif task is None:
            return None
        else:
            goal = next((t.id for t in closed if t.position > task.position), None)
            goal = goal or people_store.next_open(db, self.rater_id, self.protocol)
            if goal is None and not task.revealed:
                return self._turn(db, None)
        return None if goal is None or (task and goal == task.id) else self._turn(db, goal)

    def reveal(self, db: Database, turn: Turn) -> Turn:
        """Reveal this case, or all of the annotator's cases once all are settled, and show it."""
        every = [task.id for task in people_store.own_tasks(db, self.rater_id, self.protocol)]
        ids = [turn.task.id] if turn.left and turn.task is not None else every
        people_store.reveal_tasks(db, ids)
        return self._turn(db, ids[0])

    def can(self, action: str, turn: Turn) -> bool:
        assignment, task = turn.assignment, turn.task
        if action == "beside" or assignment is None:
            return assignment is not None
        if assignment.open == 0:
            return assignment.revealed < assignment.all
        return not self.reveal_at_end and task is not None and task.state != "open" and not task.revealed

    def _turn(self, db: Database, task_id: int | None) -> Turn:
        from recjudge_tui.people.annotation import shown_case

        of = people_store.rater_assignment(db, self.rater_id, self.protocol)
        progress = f" {GLYPHS.dot} ".join((of.rater, of.protocol, f"{of.done + of.skipped}/{of.all}"))
        if task_id is None:
            return Turn("Done", progress, of.open, end=_end(of), assignment=of)
        people_store.mark_opened(db, task_id)
        task = people_store.task_of(db, task_id)
        own = people_store.own_verdict(db, task) if task.state == "done" else CaseAnswers(())
        shown = shown_case(db, task)
        states = {"open": "", "done": ", given", "skipped": f", skipped: {one_line(task.reason, 40)}"}
        title = f"Case {task.position}{states[task.state]}{', revealed' if task.revealed else ''}"
        above = _everybody(db, task, own, shown) if task.revealed else None
        return Turn(title, progress, of.open, above, "", shown, shown.questions, own, task, of)


def _everybody(
    db: Database, task: people_store.Task, own: CaseAnswers, shown: ShownCase
) -> Callable[[int], Content]:
    """Everybody's verdicts, the annotator's own first, and whose lists these are, in the order shown."""
    from recjudge_tui.store.cases import case_row
    from recjudge_tui.store.people import other_verdicts

    case = case_row(db, task.case_id)
    systems = [one_line(name, 30) for name in (case["system_a"], case["system_b"]) if name]
    systems = systems[::-1] if task.first == "b" else systems
    about = "   ".join(f"List {n} = {name}" for n, name in enumerate(systems, 1))
    about = about if len(systems) > 1 else "".join(f"made by {name}" for name in systems)
    mine = answer_sheet.words_of(shown.questions, {answer.aspect: answer.value for answer in own.answers})
    values: dict[tuple[str, str], dict[str, float | None]] = {}
    notes: dict[str, dict[str, None]] = {}
    for verdict in other_verdicts(db, task.id):
        values.setdefault((verdict.rater, verdict.rater_kind), {})[verdict.aspect] = verdict.value
        notes.setdefault(verdict.rater, {}).update({verdict.reasoning: None} if verdict.reasoning else {})
    opinions = [answer_sheet.Opinion("you", mine or "skipped")]
    opinions += [
        answer_sheet.Opinion(rater, answer_sheet.words_of(shown.questions, given), kind, tuple(notes[rater]))
        for (rater, kind), given in values.items()
    ]
    return partial(answer_sheet.opinions_content, "Everybody's verdicts", about, opinions)


def _end(assignment: people_store.Assignment) -> str:
    """The text after the last case.

    It has no figure of agreement, which would tell a blind annotator how others answered.
    """
    skipped = f", {assignment.skipped} skipped" if assignment.skipped else ""
    lines = [f"All your cases are judged: {assignment.done} given{skipped}."]
    lines += ["", "{annotation.back}  return to your last case, where you can still change your answers"]
    if assignment.revealed < assignment.all:
        lines.append("{annotation.reveal}  show everybody's verdicts; after that your answers are final")
    return "\n".join([*lines, "{app.back}  leave; everything is saved"])


class Disputes(Desk):
    """The cases about which annotators disagree, for a third person; `rater_id` is the consensus under which the decisions
    are stored."""

    name = "Adjudicate"

    def __init__(self, project_id: int, rater_id: int, protocol: str) -> None:
        self.project_id, self.rater_id, self.protocol = project_id, rater_id, protocol

    def first(self, db: Database) -> Turn:
        return self._turn(db)

    def settle(
        self, db: Database, turn: Turn, judged: CaseAnswers | None, seconds: float, reason: str
    ) -> Turn:
        from recjudge_tui.people.annotation import ballot_authors, settle

        assert turn.dispute is not None
        settle(db, turn.dispute, judged, seconds, reason)
        gave = "; ".join(f"{name}: {', '.join(b.words)}" for name, b in ballot_authors(db, turn.dispute))
        return self._turn(db, f"Previous case: {one_line(gave, 400)}\n\n")

    def _turn(self, db: Database, previous: str = "") -> Turn:
        """The next case; `previous` says who gave which verdict on the one just decided."""
        from recjudge_tui.people.annotation import dispute_of, queue_of

        queue = queue_of(db, self.project_id, self.rater_id, self.protocol)
        left = len(queue.left)
        progress = f"{self.protocol} {GLYPHS.dot} {left} left of {queue.disputed}"
        if not left:
            settled = f"All settled: {quantity(queue.disputed, 'case')}."
            outcome = settled if queue.disputed else "The annotators agree on every case."
            rest = "Where they agree, the consensus takes their verdict.\n\n{app.back}  leave"
            done = Content(f"{previous}{outcome}\n")
            return Turn("Done", progress, 0, lambda _: done, rest)
        dispute = dispute_of(db, self.project_id, self.rater_id, self.protocol, queue.left[0])
        several = len(dispute.questions) > 1
        opinions = [
            answer_sheet.Opinion(f"annotator {number}", ", ".join(
                f"{question.aspect.replace('_', ' ')} {words}" if several else words
                for question, words in zip(dispute.questions, ballot.words, strict=True)
            ), notes=(ballot.note,) if ballot.note else ())
            for number, ballot in enumerate(dispute.ballots, 1)
        ]  # fmt: skip

        def above(width: int) -> Content:
            return Content.assemble(
                (previous, "dim"), answer_sheet.opinions_content("The annotators differ", "", opinions, width)
            )

        title = f"Case {queue.disputed - left + 1} of {queue.disputed}"
        return Turn(title, progress, left, above, "", dispute.shown, dispute.questions, dispute=dispute)


# ---- judging -----------------------------------------------------------------------------------------------------


_ANSWERS = {digit: f"answer {digit}" for digit in "0123456789"} | {
    "a": "list 1 is better",
    "t": "tie",
    "b": "list 2 is better",
}
_NAMED = {"full_stop": ".", "backspace": "backspace"}


class AnnotationScreen(BaseScreen):
    """A case is shown, its answer is taken and goes to the desk, and the next one comes."""

    AUTO_FOCUS = ""
    # Textual ignores the CSS of a screen that an app opens with, and reads only DEFAULT_CSS
    SCOPED_CSS = False
    DEFAULT_CSS = """
    AnnotationScreen #judged { height: 1fr; }
    AnnotationScreen #shown, AnnotationScreen #guidelines { width: 1fr; }
    AnnotationScreen #guidelines { display: none; }
    AnnotationScreen.-guided #guidelines { display: block; }
    AnnotationScreen.-guided #shown { display: none; }
    AnnotationScreen.-huge #shown, AnnotationScreen.-huge #guidelines { display: block; }
    AnnotationScreen.-huge #guidelines { width: 62; }
    AnnotationScreen.-huge.-guided #guidelines { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *[
            Binding(key, f"answer({key!r})", words, show=False, id=f"judging.answer_{key}")
            for key, words in _ANSWERS.items()
        ],
        *[
            Binding(key, f"answer({answer!r})", "part of a number", show=False, id=f"judging.{key}")
            for key, answer in _NAMED.items()
        ],
        Binding("j,down", "aspect(1)", "next question", show=False, id="judging.down"),
        Binding("k,up", "aspect(-1)", "previous question", show=False, id="judging.up"),
        Binding("space,pagedown", "page(1)", "page down", show=False, id="judging.page_down"),
        Binding("pageup", "page(-1)", "page up", show=False, id="judging.page_up"),
        Binding("J", "lines(2)", "scroll down", show=False, id="judging.lines_down"),
        Binding("K", "lines(-2)", "scroll up", show=False, id="judging.lines_up"),
        Binding("F", "drop_flag", "remove the last flag", show=False, id="judging.drop_flag"),
        Binding("enter", "keep", "confirm", key_display="enter", id="judging.keep"),
        Binding("f", "flag", "flag", id="judging.flag"),
        Binding("w", "note", "note", id="judging.note"),
        Binding("s", "skip", "skip", id="judging.skip"),
        Binding("left", "beside(-1)", "back", key_display="←", id="annotation.back"),
        Binding("right", "beside(1)", "next case", show=False, id="annotation.forward"),
        Binding("R", "reveal", "reveal", show=False, id="annotation.reveal"),
        Binding("G", "guidelines", "guidelines", id="judging.guidelines"),
        Binding("tab", "guidelines", "guidelines", show=False, id="judging.guidelines_too"),
        *WITHOUT_TAB,
    ]

    def __init__(self, project_id: int, desk: Desk) -> None:
        super().__init__()
        self.project_id, self.desk = project_id, desk
        self.turn: Turn | None = None
        self.time = ActiveTime()
        # between a confirmed answer and the next case, keys are ignored
        self.busy = True
        self._leaving = False

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), self.desk.name)
        with Horizontal(id="judged"):
            for name in ("shown", "guidelines"):
                pane = TextPane(id=name)
                pane.can_focus = False
                yield pane
        yield answer_sheet.AnswerSheet()
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#guidelines").border_title = Content("Guidelines")
        self._go(self.desk.first)

    @property
    def shown(self) -> ShownCase | None:
        return self.turn.shown if self.turn is not None else None

    def _go(self, job: Callable[[Database], Turn | None]) -> None:
        self.busy = True
        self.background.start("case", job, self._show, self._failed)

    def _settle(self, judged: CaseAnswers | None, reason: str) -> None:
        assert self.turn is not None
        settle = partial(self.desk.settle, turn=self.turn, judged=judged)
        self._go(partial(settle, seconds=self.time.seconds, reason=reason))

    def _show(self, turn: Turn | None) -> None:
        """Show a case, or stay where there is none in that direction; leave if the user wants to, as all is stored."""
        self.busy = False
        if turn is not None:
            self.turn = turn
        if self._leaving:
            self._leave()
            return
        if turn is not None:
            self.query_one(TopBar).show(right=turn.progress)
            sheet, box = self.query_one(answer_sheet.AnswerSheet), self.query_one("#shown", TextPane)
            sheet.display = turn.shown is not None
            if turn.shown is not None:
                titles = answer_sheet.titles_of(turn.shown.material)
                guidelines = answer_sheet.guidelines_content(turn.shown.guidelines)
                sheet.show(turn.questions, turn.own, titles, locked=turn.is_revealed)
                self.query_one("#guidelines", TextPane).show(lambda _: guidelines)
            box.border_title = Content(turn.title)
            box.show(partial(self._content, turn))
            self.time.begin()
        self.refresh_bindings()

    def _failed(self, error: RecjudgeError) -> None:
        """A case could not be stored or read: the input stays."""
        self.busy = self._leaving = False
        self.host.show_error(error)

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self.time.touch()

    @on(events.Unmount)
    def _let_it_be_stored(self, event: events.Unmount) -> None:
        """Wait until a verdict that is being stored is written, however the screen ends."""
        if self.busy and self.shown is not None:
            event.prevent_default()

    # ---- keys

    def action_answer(self, key: str) -> None:
        self.time.touch()
        self.query_one(answer_sheet.AnswerSheet).press(key)

    def action_aspect(self, step: int) -> None:
        self.time.touch()
        self.query_one(answer_sheet.AnswerSheet).move(step)

    def action_page(self, way: int) -> None:
        self.time.touch()
        box = self._pane()
        box.scroll_relative(y=way * max(box.size.height - 2, 1), animate=False)

    def action_lines(self, lines: int) -> None:
        self.time.touch()
        self._pane().scroll_relative(y=lines, animate=False)

    def action_guidelines(self) -> None:
        self.time.touch()
        self.toggle_class("-guided")

    def action_keep(self) -> None:
        self.time.touch()
        sheet = self.query_one(answer_sheet.AnswerSheet)
        missing = sheet.missing()
        if missing:
            sheet.border_subtitle = Content(f"no answer on {missing} yet")
            return
        self._settle(sheet.judged(), "")

    def action_skip(self) -> None:
        self.time.touch()

        def skip(reason: str) -> None:
            self.time.touch()
            self._settle(None, reason)

        self.ask(AskLine("Skip this case", "Why can this case not be judged? The reason is stored."), skip)

    def action_note(self) -> None:
        sheet = self.query_one(answer_sheet.AnswerSheet)
        ask = AskLine("Note on this case", "A short note, stored with the verdict", sheet.note, breaks=True)
        self.ask(ask, sheet.set_note)

    def action_flag(self) -> None:
        if shown := self.shown:
            self.time.touch()
            titles = answer_sheet.titles_of(shown.material)
            sheet = self.query_one(answer_sheet.AnswerSheet)
            self.ask(
                answer_sheet.flag_form(titles, shown.issues), lambda given: sheet.add_flag(ItemFlag(**given))
            )

    def action_drop_flag(self) -> None:
        self.time.touch()
        self.query_one(answer_sheet.AnswerSheet).drop_flag()

    def action_leave(self) -> None:
        """Leave: wait for a verdict that is being stored, and ask about unconfirmed input."""
        if self.busy and self.shown is not None:
            self._leaving = True
        elif self.query_one(answer_sheet.AnswerSheet).changed and self.shown is not None:
            text = "Your answers to this case are not confirmed and will be lost. Earlier cases are saved."
            self.ask(Confirm("Leave?", text, "leave", "stay"), lambda _: self._leave())
        else:
            self._leave()

    def _leave(self) -> None:
        if self.turn is not None:
            left = quantity(self.turn.left, "case") if self.turn.left else "No cases"
            self.app.notify(f"{left} left; your verdicts are stored", timeout=4)
        self.host.leave_screen()

    def action_beside(self, step: int) -> None:
        self.time.touch()
        if self.turn is not None:
            self._go(partial(self.desk.beside, turn=self.turn, step=step))

    def action_reveal(self) -> None:
        if (turn := self.turn) is not None:
            what = "this case" if turn.left and turn.task is not None else "all your cases"
            text = f"This shows everybody's verdicts on {what}. You cannot change yours afterwards."
            reveal = partial(self.desk.reveal, turn=turn)
            self.ask(Confirm("Reveal?", text, "reveal", "not yet"), lambda _: self._go(reveal))

    def action_step_back(self) -> None:
        if self.has_class("-guided") and not self.has_class("-huge"):
            self.action_guidelines()
        else:
            self.action_leave()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("beside", "reveal"):
            return self.turn is not None and not self.busy and self.desk.can(action, self.turn)
        ours = ("answer", "aspect", "keep", "skip", "note", "flag", "drop_flag")
        if action in ours:
            sheet = self.query(answer_sheet.AnswerSheet)
            if self.busy or self.shown is None or not sheet or sheet.first().locked:
                return False
            if action == "answer":
                return sheet.first().takes(str(parameters[0]))
            if action in ("flag", "drop_flag"):
                return bool(self.shown.issues and self.shown.material.slates)
            return action != "aspect" or len(sheet.first().questions) > 1
        return super().check_action(action, parameters)

    def _content(self, turn: Turn, width: int) -> Content:
        parts = [turn.above(width)] if turn.above is not None else []
        parts += [answer_sheet.shown_content(turn.shown.material, width)] if turn.shown is not None else []
        parts += [Content(keyed(self.app, turn.end))] if turn.end else []
        return Content("\n").join(parts)

    def _pane(self) -> TextPane:
        narrow = self.has_class("-guided") and not self.has_class("-huge")
        return self.query_one("#guidelines" if narrow else "#shown", TextPane)


# a longer time without a key is a pause and does not count
PAUSE_S = 120.0


class ActiveTime:
    """Call `begin` when it is first shown and `touch` at every key, and read `seconds` at the end. No timer runs."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = clock()
        self.seconds = 0.0

    def begin(self) -> None:
        self._last = self._clock()
        self.seconds = 0.0

    def touch(self) -> None:
        now = self._clock()
        gap = now - self._last
        self.seconds += gap if gap <= PAUSE_S else 0.0
        self._last = now


# ---- screen ------------------------------------------------------------------------------------------------------


_MOST_NAMED = 6
_EMPTY = """No cases are assigned to annotators yet.

{annotate.new}  assign cases to annotators

Annotators work blind: they see other verdicts only after giving their own."""


_COLUMNS: tuple[Column[people_store.Assignment], ...] = (
    Column("annotator", lambda each, _: (each.rater, ""), 30, 10),
    Column("protocol", lambda each, _: (each.protocol, ""), 16),
    Column("judged", lambda each, _: (f"{_settled(each)}/{each.all}", ""), 15, right=True),
    Column("progress", lambda each, _: (bar(_settled(each) / each.all, 12), ""), 12, 12),
    Column("skipped", lambda each, _: (str(each.skipped or GLYPHS.none), ""), 9, right=True),
)


def _settled(assignment: people_store.Assignment) -> int:
    return assignment.done + assignment.skipped


class AnnotateScreen(ListScreen):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new", "assign cases", id="annotate.new"),
        Binding("A", "adjudicate", "adjudicate", id="annotate.adjudicate"),
        FILTER,
        *COMMON,
    ]
    LISTED, PLACE = "Annotators", "Annotate"
    WORDS = "part of a name or a protocol"
    OF_ROWS = ("adjudicate",)

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self.rows = RowList(_COLUMNS, lambda each: self.every.index(each))

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self._read()

    def _read(self) -> None:
        self.fill(people_store.project_assignments(self.host.db, self.project_id))

    def searched(self, row: people_store.Assignment) -> str:
        return f"{row.rater} {row.protocol}"

    def nothing(self) -> str:
        return f"{_labelled(labellers(self.host.db, self.project_id))}{_EMPTY}"

    @on(RowList.Opened)
    def _open(self) -> None:
        if (assignment := self.rows.cursor_row) is not None:
            desk = OwnCases(assignment.rater_id, assignment.protocol)
            self.app.push_screen(AnnotationScreen(self.project_id, desk))

    def action_new(self) -> None:
        people = dict.fromkeys(each.rater for each in self.every)
        people |= dict.fromkeys(labellers(self.host.db, self.project_id))
        known = {"annotators": [(name, name) for name in people if name == one_line(name)]}

        def plan(given: dict[str, Any]) -> None:
            from recjudge_tui.people.annotation import AssignmentRequest, plan_annotation

            job = partial(plan_annotation, project_id=self.project_id, request=AssignmentRequest(**given))
            self.background.start("plan", job, show)

        def show(planned: AnnotationPlan) -> None:
            named = ", ".join(f"{name} {count:,}" for name, count in planned.assigned.items())
            self.notify(one_line(f"newly assigned: {named}", 200), timeout=5, markup=False)
            self._read()

        self.ask(Form("Assign cases", _ASSIGNED, {}, known, does="assign"), plan)

    def action_adjudicate(self) -> None:
        if (assignment := self.rows.cursor_row) is None:
            return
        protocol = assignment.protocol

        def decide_as(name: str) -> None:
            from recjudge_tui.people.annotation import start_adjudication

            job = partial(start_adjudication, project_id=self.project_id, protocol=protocol, name=name)
            self.background.start("third", job, decide)

        def decide(rater_id: int) -> None:
            disputes = Disputes(self.project_id, rater_id, protocol)
            self.app.push_screen(AnnotationScreen(self.project_id, disputes))

        hint = f"Who decides where annotators differ ({protocol})? The verdicts are stored under this name."
        self.ask(AskLine("Adjudicate", hint, "adjudicated"), decide_as)


def _labelled(people: Mapping[str, int]) -> str:
    """The labels that a project has without assignments, such as imported ones; empty if there are none."""
    if not people:
        return ""
    named = ", ".join(
        f"{one_line(who, 30)} {number(labels)}" for who, labels in [*people.items()][:_MOST_NAMED]
    )
    more = f" and {number(len(people) - _MOST_NAMED)} more" if len(people) > _MOST_NAMED else ""
    return f"Labels so far: {named}{more}.\n\n"
