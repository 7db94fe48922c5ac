"""The form of a new run: what to compare, which judge, how many cases; then totals, first prompt and start."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Button, Input, Label, Static
from textual.worker import get_current_worker

from recjudge_tui.domain.protocols import compares_lists, with_unit
from recjudge_tui.domain.run_options import RUN_OPTIONS, summary_of
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.store.database import Database
from recjudge_tui.tui.kit.base_screen import FORM, BaseScreen
from recjudge_tui.tui.kit.choice import Choice
from recjudge_tui.tui.kit.dialogs import Confirm
from recjudge_tui.tui.kit.glyphs import glyphs, number
from recjudge_tui.tui.kit.judge_picker import BUILT_IN
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.registry import make_screen
from recjudge_tui.tui.kit.text_pane import TextPane
from recjudge_tui.tui.kit.top_bar import TopBar
from recjudge_tui.tui.runs.choices import Choices, choices
from recjudge_tui.tui.runs.launch_advanced import COUNTS, AdvancedFields
from recjudge_tui.tui.runs.launch_form import (
    FIELD_BY_NAME,
    FieldError,
    choices_of,
    form_words,
    hint_of,
    read_form,
)
from recjudge_tui.tui.runs.launch_judge import JudgeQuestion
from recjudge_tui.tui.runs.launch_notes import LaunchNotes
from recjudge_tui.tui.runs.launch_questions import CaseCount, CaseCountChoice
from recjudge_tui.tui.runs.launch_request import (
    ExpectedRun,
    LaunchRequest,
    StartResult,
    expected_run,
    judged_again,
    start_run,
)
from recjudge_tui.tui.runs.launch_text import notes_of, prompt_content, question_before, start_text, totals

DEBOUNCE_S = 0.25
_PROMPT = "First prompt, as it will be sent"


class LaunchScreen(BaseScreen):
    CSS = """
    LaunchScreen .row { height: 1; padding: 0 1; }
    LaunchScreen .row Label { width: 13; color: $text-muted; }
    LaunchScreen .row Input { width: 1fr; background: $surface; }
    LaunchScreen .row Input:focus { background: $primary 45%; }
    LaunchScreen .row.-wrong Label { color: $error; text-style: bold; }
    LaunchScreen .question Label { color: $foreground; text-style: bold; }
    LaunchScreen #field-protocol { width: auto; min-width: 16; }
    LaunchScreen #protocol-about { width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    LaunchScreen #middle { height: 1fr; }
    LaunchScreen AdvancedFields { width: 1fr; display: none; }
    LaunchScreen #prompt { width: 1fr; height: 1fr; border: round $primary; border-title-color: $accent; }
    LaunchScreen.-advanced AdvancedFields { display: block; }
    LaunchScreen.-advanced #prompt { display: none; }
    LaunchScreen.-wide.-advanced AdvancedFields { width: 54; }
    LaunchScreen.-wide.-advanced #prompt { display: block; }
    LaunchScreen .line { height: 1; margin: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    LaunchScreen #hint { color: $text-muted; }
    LaunchScreen Button { margin: 0 1; height: 1; border: none; width: 100%; content-align: left middle;
                          text-align: left; }
    LaunchScreen #toggle { background: $background; color: $foreground; text-style: none; }
    LaunchScreen #toggle:focus { background: $block-cursor-background; }
    LaunchScreen #start { background: $primary; color: $text; text-style: bold; }
    LaunchScreen #start:focus { background: $accent; color: $background; }
    LaunchScreen #start.-refused { background: $surface; color: $text-muted; }
    .-ascii LaunchScreen #prompt { border: ascii $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "start", "start", id="launch.start"),
        Binding("t", "test", "test with 3 calls", id="launch.test"),
        Binding("plus", "advanced", "advanced", key_display="+", id="launch.advanced"),
        Binding("down", "field(1)", "next", key_display="↑↓", id="launch.down"),
        Binding("up", "field(-1)", "previous field", show=False, id="launch.up"),
        Binding(
            "J,pagedown", "scroll_prompt(1)", "scroll the prompt down", show=False, id="launch.prompt_down"
        ),
        Binding("K,pageup", "scroll_prompt(-1)", "scroll the prompt up", show=False, id="launch.prompt_up"),
        *FORM,
    ]

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self.estimated: ExpectedRun | None = None
        self.choices = Choices(BUILT_IN, (), (), ())
        self._cases_of: dict[str, int] = {}
        self._has_chosen_protocol = False
        self._starting = False
        self._start_when_counted = False
        self._debounce: Timer | None = None

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "New run")
        with Horizontal(classes="row question", id="row-protocol"):
            yield Label(Content(FIELD_BY_NAME["protocol"].label))
            yield Choice(choices_of(FIELD_BY_NAME["protocol"]), field_id="field-protocol")
            yield Static(id="protocol-about")
        yield JudgeQuestion(FIELD_BY_NAME["judge"].label)
        with Horizontal(classes="row question", id="row-until"):
            yield Label(Content("3 How many"))
            yield CaseCountChoice(field_id="field-until")
        yield Static(Content.styled("counting", "dim"), id="totals", classes="line")
        yield LaunchNotes()
        with Horizontal(id="middle"):
            yield AdvancedFields()
            yield TextPane(id="prompt")
        yield Button(Content("+ advanced"), id="toggle", compact=True)
        yield Static(id="hint", classes="line")
        yield Button(Content("Start"), id="start", compact=True)
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#prompt", TextPane).can_focus = False
        self._fit()
        self.query_one("#field-protocol").focus()
        self.background.start("choices", partial(choices, project_id=self.project_id), self._show_choices)

    # ---- the choices

    def _show_choices(self, choices: Choices) -> None:
        self.choices = choices
        protocol = self.query_one("#field-protocol", Choice)
        if choices.explainers and not choices.systems:
            protocol.choose(with_unit("explanation")[0])
        elif len(choices.systems) > 1 and not self._has_chosen_protocol:
            names = (name for name, _ in choices_of(FIELD_BY_NAME["protocol"]))
            protocol.choose(next(filter(compares_lists, names)))
        self.query_one(JudgeQuestion).offer_used(choices.judges)
        self._fit()
        self._changed()

    def _fit(self) -> None:
        """Show what the chosen protocol has."""
        protocol, how_many = self.protocol, self.query_one(CaseCountChoice)
        decidable = RUN_OPTIONS["until"].is_taken_by(protocol)
        how_many.fit(decidable=decidable, cases=self._cases_of.get(protocol))
        advanced = self.query_one(AdvancedFields)
        advanced.fit(protocol, self.choices, decided=how_many.kind == "decided")
        advanced.ask_address(self.query_one(JudgeQuestion).asks_server())
        self.query_one("#protocol-about", Static).update(Content.styled(summary_of(protocol), "dim"))
        self._show_summary()

    def _show_summary(self) -> None:
        title = f"{'-' if self.has_class('-advanced') else '+'} advanced: "
        # beside it the margins and the padding of a button
        room = self.size.width - len(title) - 4
        text = self.query_one(AdvancedFields).summary(self.protocol, room)
        self.query_one("#toggle", Button).label = Content(title + text)

    def on_resize(self) -> None:
        self._show_summary()

    # ---- the form

    @property
    def protocol(self) -> str:
        return self.query_one("#field-protocol", Choice).value

    def values(self) -> dict[str, str]:
        how_many, judge = self.query_one(CaseCountChoice), self.query_one(JudgeQuestion).judge
        values = self.query_one(AdvancedFields).values()
        if how_many.kind != "decided":
            values |= dict.fromkeys(COUNTS, "")
        if how_many.kind in COUNTS:
            values[how_many.kind] = how_many.count or "0"
        until = "decided" if how_many.kind == "decided" else ""
        return {**values, "protocol": self.protocol, "judge": judge.spec, "until": until}

    def _request(self) -> LaunchRequest | None:
        """The request of the form; None after showing what is wrong with it."""
        for row in self.query(".row"):
            row.remove_class("-wrong")
        try:
            return read_form(self.values())
        except FieldError as error:
            # the third question contains the number of cases
            name = "until" if error.field == self.query_one(CaseCountChoice).kind else error.field
            self.query_one(f"#row-{name}").add_class("-wrong")
            self._complain(error)
            return None

    @on(Input.Changed)
    @on(Choice.Changed)
    def _changed(self) -> None:
        """Estimate again when the form has not changed for a moment."""
        if not self._starting:
            self.estimated = None
            self._show_summary()
            if self._debounce is not None:
                self._debounce.stop()
            self._debounce = self.set_timer(DEBOUNCE_S, self._estimate)

    @on(Choice.Changed, "#field-protocol")
    def _other_protocol(self) -> None:
        self._has_chosen_protocol = True
        self._fit()

    @on(Choice.Changed, "#field-until")
    def _other_count(self) -> None:
        self._fit()

    @on(Choice.Changed, "#field-judge")
    def _other_judge(self) -> None:
        judge, advanced = self.query_one(JudgeQuestion), self.query_one(AdvancedFields)
        advanced.set_address(judge.judge.address)
        advanced.ask_address(judge.asks_server())
        self.refresh_bindings()

    @on(Input.Submitted)
    def _entered(self) -> None:
        self.action_field(1)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self.query_one("#hint", Static).update(
            Content(hint_of((event.widget.id or "").removeprefix("field-")))
        )

    # ---- estimate

    def _estimate(self) -> None:
        self.estimated = None
        request = self._request()
        if request is None:
            return
        self._say_totals(Content.styled("counting", "dim"))
        job = partial(expected_run, project_id=self.project_id, request=request, progress=self._counter())
        self.background.start("estimate", job, partial(self._show_estimate, request=request))

    def _counter(self) -> Callable[[int], None]:
        def count(cases: int) -> None:
            if get_current_worker().is_cancelled:
                raise RecjudgeError("replaced by a newer estimate")
            self.post_message(CaseCount(cases))

        return count

    @on(CaseCount)
    def _counted(self, message: CaseCount) -> None:
        if self._starting or self.estimated is None:
            what = "planning" if self._starting else "counting"
            self._say_totals(Content.styled(f"{what}: {number(message.cases)} cases", "dim"))

    def _show_estimate(self, expected: ExpectedRun | RecjudgeError, request: LaunchRequest) -> None:
        if self._starting:
            return
        if isinstance(expected, RecjudgeError):
            self._complain(expected)
            return
        self.estimated = expected
        settings, look = request.settings, glyphs()
        if settings.limit is None and settings.sample is None and not settings.until:
            self._cases_of[self.protocol] = expected.estimate.cases
            self._fit()
        self._say_totals(totals(expected, settings, look))
        others = self.query_one(LaunchNotes).show(notes_of(expected))
        self._say(_PROMPT, prompt_content(expected, others, look))
        self._say_start(start_text(expected))
        if self._start_when_counted:
            self.action_start()

    def _say(self, title: str, text: Content, *, wrong: bool = False) -> None:
        pane = self.query_one("#prompt", TextPane)
        pane.border_title = Content.styled(title, "$error") if wrong else Content(title)
        pane.show(lambda _: text)
        self.query_one("#start").set_class(wrong, "-refused")
        if wrong and not self.has_class("-wide"):
            self.remove_class("-advanced")

    def _say_totals(self, text: Content) -> None:
        self.query_one("#totals", Static).update(text)

    def _say_start(self, text: str) -> None:
        self.query_one("#start", Button).label = Content(f"f5  {one_line(text, 90)}")

    def _complain(self, error: RecjudgeError) -> None:
        self._start_when_counted = False
        parts = [(error.title, "bold $error"), (error.cause, ""), (error.next_step, "$accent")]
        shown = [Content.styled(safe_text(form_words(text[:2000])), style) for text, style in parts if text]
        title = f"{glyphs().failed} {one_line(form_words(error.title), 200)}"
        self._say_totals(Content.styled(title, "$error"))
        self._say_start("Cannot start yet")
        self.query_one(LaunchNotes).show(())
        self._say(f"{glyphs().failed} This cannot run", Content("\n\n").join(shown), wrong=True)

    def action_test(self) -> None:
        """Ask the judge three small questions."""
        request = self._request()
        if request is not None:
            self.query_one(JudgeQuestion).test(request.judge)

    @on(Button.Pressed, "#start")
    def action_start(self) -> None:
        """Ask for confirmation if the run costs money or replaces verdicts; then start the run that was estimated."""
        request, expected = None if self._starting else self._request(), self.estimated
        if request is None:
            return
        if expected is None:
            # ask about the cost first
            self._start_when_counted = True
            if self._debounce is not None:
                self._debounce.stop()
            self._estimate()
            return
        self._start_when_counted = False
        if expected.again:
            request = judged_again(request)
        start = partial(self._start, request=request)
        question = question_before(expected, request.settings)
        if question is None:
            start(True)
        else:
            self.app.push_screen(Confirm(*question, "not yet"), start)

    def _start(self, sure: bool | None, request: LaunchRequest) -> None:
        if not sure or self._starting:
            return
        self._starting = True
        self._say_totals(Content.styled("asking the judge", "dim"))
        self._say_start("Starting")
        job: Callable[[Database], StartResult] = partial(
            start_run, project_id=self.project_id, request=request, progress=self._counter()
        )
        # in the group of the estimate, so that it replaces the estimate
        self.background.start("estimate", job, self._show_started, self._start_failed)

    def _start_failed(self, error: RecjudgeError) -> None:
        self._starting = False
        self._complain(error)

    def _show_started(self, result: StartResult) -> None:
        self._starting = False
        run_id, error = result
        self.host.check_runs()
        self.app.switch_screen(make_screen("monitor", run_id))
        if error is not None:
            self.host.show_error(error)
        else:
            self.notify(
                f"Run {run_id} is working in the background; you can close this screen and the app.",
                markup=False,
            )

    # ---- keys

    @on(Button.Pressed, "#toggle")
    def action_advanced(self) -> None:
        """Open or close the options of the run."""
        self.toggle_class("-advanced")
        self._show_summary()
        if self.has_class("-advanced"):
            self.query_one(AdvancedFields).focus_first()
        else:
            self.query_one("#toggle").focus()

    def action_scroll_prompt(self, by: int) -> None:
        pane = self.query_one("#prompt", TextPane)
        pane.scroll_relative(y=by * max(pane.size.height - 2, 1), animate=False)

    def action_field(self, by: int) -> None:
        if by > 0:
            self.focus_next()
        else:
            self.focus_previous()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.focused, Input) and action in ("app.show_keys", "leave", "test", "advanced"):
            return False
        if action == "test":
            return self.query_one(JudgeQuestion).asks_server()
        return super().check_action(action, parameters)

    def action_step_back(self) -> None:
        if self.has_class("-advanced"):
            self.action_advanced()
        else:
            self.action_leave()
