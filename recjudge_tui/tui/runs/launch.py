"""New run: the form, the estimate beside it, and the start of a detached process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Button, Input, Label, Static
from textual.worker import get_current_worker

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.protocols import with_unit
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.judges.registry import takes_address
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects.projects import project_name
from recjudge_tui.tui.kit.base_screen import FORM, BaseScreen
from recjudge_tui.tui.kit.choice import Choice
from recjudge_tui.tui.kit.glyphs import glyphs, number
from recjudge_tui.tui.kit.judge_picker import BUILT_IN, JudgePicker, KnownJudge, ollama_models
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.registry import make_screen
from recjudge_tui.tui.kit.top_bar import TopBar
from recjudge_tui.tui.runs.choices import Choices, choices
from recjudge_tui.tui.runs.launch_form import (
    ADDRESS,
    FIELD_BY_NAME,
    FIELDS,
    Field,
    FieldError,
    choices_of,
    default_text,
    form_words,
    hint_of,
    is_asked,
    read_form,
)
from recjudge_tui.tui.runs.launch_request import (
    ExpectedRun,
    LaunchRequest,
    StartResult,
    expected_run,
    start_run,
)
from recjudge_tui.tui.runs.text import estimate_facts

DEBOUNCE_S = 0.25


class CaseCount(Message):
    """How many cases were read so far; only the newest count matters."""

    def __init__(self, cases: int) -> None:
        super().__init__()
        self.cases = cases

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, CaseCount)


class LaunchScreen(BaseScreen):
    CSS = """
    LaunchScreen #form { width: 46; border: round $primary; border-title-color: $accent; padding: 0 1; }
    LaunchScreen #form:focus-within { border: round $accent; }
    LaunchScreen .row { height: 1; }
    LaunchScreen .row Label { width: 12; color: $text-muted; }
    LaunchScreen .row Input { width: 1fr; background: $surface; }
    LaunchScreen .row Input:focus { background: $primary 45%; }
    LaunchScreen .row.-wrong Label { color: $error; text-style: bold; }
    LaunchScreen #start { margin: 0 0 0 12; width: 24; min-width: 24; height: 1; border: none; background: $primary;
                          color: $text; text-style: bold; }
    LaunchScreen #start:focus { background: $accent; color: $background; }
    LaunchScreen #fields { height: 1fr; overflow-y: auto; scrollbar-size-vertical: 1; }
    LaunchScreen #hint { height: 2; color: $text-muted; }
    LaunchScreen #expected { width: 1fr; border: round $primary; border-title-color: $accent; padding: 0 1; }
    LaunchScreen.-wide #form { width: 60; }
    .-ascii LaunchScreen #form, .-ascii LaunchScreen #form:focus-within, .-ascii LaunchScreen #expected {
      border: ascii $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "field(1)", "next field", key_display="↑↓", id="launch.down"),
        Binding("up", "field(-1)", "previous field", show=False, id="launch.up"),
        Binding("f5", "start", "start", id="launch.start"),
        *FORM,
    ]

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self.estimated: ExpectedRun | None = None
        self.choices = Choices(BUILT_IN, (), (), ())
        self._models: list[KnownJudge] = []
        self._note = ""
        self._models_of: str | None = None
        self._starting = False
        self._debounce: Timer | None = None

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", project_name(self.host.db, self.project_id), "New run")
        with Horizontal():
            with Vertical(id="form") as form:
                form.border_title = Content("New run")
                with Vertical(id="fields"):
                    for field in FIELDS:
                        with Horizontal(classes="row", id=f"row-{field.name}"):
                            yield Label(Content(field.label))
                            yield _widget(field)
                    yield Button(Content("Start"), id="start", compact=True)
                yield Static(id="hint")
            with Vertical(id="expected") as box:
                box.border_title = Content("Estimate")
                with VerticalScroll(can_focus=False):
                    yield Static(Content.styled("reading", "dim"), id="estimate-text")
        yield KeyLine()

    def on_mount(self) -> None:
        self._fit_protocol()
        self.query_one("#field-protocol").focus()
        self.background.start("choices", partial(choices, project_id=self.project_id), self._show_choices)
        self._read_models("")

    # ---- what there is to choose

    def _show_choices(self, choices: Choices) -> None:
        self.choices = choices
        if choices.explainers and not choices.systems:
            self.query_one("#field-protocol", Choice).choose(with_unit("explanation")[0])
        self._fit_protocol()
        self._offer_prompts()
        domains = ((name, one_line(name, 40)) for name in choices.domains)
        self.query_one("#field-domain", Choice).offer([*FIELD_BY_NAME["domain"].choices, *domains])
        self._changed()

    def _offer_prompts(self) -> None:
        chosen = self._value("protocol")
        fitting = [(label, one_line(label, 60)) for of, label in self.choices.prompts if of == chosen]
        self.query_one("#field-prompt", Choice).offer([*FIELD_BY_NAME["prompt"].choices, *fitting])

    def _read_models(self, url: str) -> None:
        if url != self._models_of:
            self._models_of = url
            # this job needs no database; its group lets a newer job replace it
            self.background.start("models", lambda _: ollama_models(url), self._show_models)

    def _show_models(self, models: list[KnownJudge] | RecjudgeError) -> None:
        if isinstance(models, RecjudgeError):
            self._models, self._note = [], str(models)
        else:
            self._models, self._note = models, "" if models else "The Ollama server holds no model yet."
        if isinstance(self.app.screen, JudgePicker):
            self.app.screen.show(self._known_judges(), self._note)

    def _known_judges(self) -> list[KnownJudge]:
        known = {judge.spec: judge for judge in (*self.choices.judges, *self._models)}
        return list(known.values())

    def _pick_judge(self) -> None:
        self.app.push_screen(JudgePicker(self._known_judges(), self._note), self._picked)

    def _picked(self, judge: KnownJudge | None) -> None:
        if judge is None:
            return
        self.query_one("#field-judge", Input).value = judge.spec
        if judge.base_urls:
            self.query_one("#field-urls", Input).value = " ".join(judge.base_urls)
        if judge.api_key_env:
            self.query_one("#field-key", Input).value = judge.api_key_env
        self.action_field(1)

    # ---- the form

    def _value(self, name: str) -> str:
        widget = self.query_one(f"#field-{name}")
        assert isinstance(widget, (Input, Choice))
        return widget.value

    def values(self) -> dict[str, str]:
        return {field.name: self._value(field.name) for field in FIELDS}

    def _request(self) -> LaunchRequest | None:
        """The request of the form; None after showing what is wrong with it."""
        for row in self.query(".row"):
            row.remove_class("-wrong")
        try:
            return read_form(self.values())
        except FieldError as error:
            self.query_one(f"#row-{error.field}").add_class("-wrong")
            self._complain(error)
            return None

    @on(Input.Changed)
    @on(Choice.Changed)
    def _changed(self) -> None:
        """Estimate again when the form has not changed for a moment."""
        if not self._starting:
            if self._debounce is not None:
                self._debounce.stop()
            self._debounce = self.set_timer(DEBOUNCE_S, self._estimate)

    @on(Choice.Changed, "#field-protocol")
    def _other_protocol(self) -> None:
        self._fit_protocol()
        self._hint("protocol")
        self._offer_prompts()

    def _fit_protocol(self) -> None:
        """Show the fields of the protocol, and their defaults as placeholders."""
        chosen = self._value("protocol")
        for field in FIELDS:
            self.query_one(f"#row-{field.name}").display = is_asked(field, chosen, self.choices.by_data)
        self._fit_judge()
        for name in ("top_k", "history"):
            self.query_one(f"#field-{name}", Input).placeholder = default_text(name, chosen)
        profiles = FIELD_BY_NAME["profile"].choices
        own = ("", f"{dict(profiles)[default_text('profile', chosen)]} (as usual)")
        self.query_one("#field-profile", Choice).offer([own, *profiles[1:]])
        systems = self.choices.explainers if chosen in with_unit("explanation") else self.choices.systems
        names = ", ".join(one_line(name, 40) for name in systems)
        self.query_one("#field-systems", Input).placeholder = f"all: {names}" if names else "none yet"

    @on(Input.Changed, "#field-judge")
    def _fit_judge(self) -> None:
        """Ask for an address and a key where the judge may need them."""
        needed = takes_address(JudgeSpec(spec=self._value("judge").strip()))
        for name in ADDRESS:
            self.query_one(f"#row-{name}").display = needed or bool(self._value(name))

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        if event.input.id == "field-judge":
            self._pick_judge()
        else:
            self.action_field(1)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._hint((event.widget.id or "").removeprefix("field-"))

    def _hint(self, name: str) -> None:
        chosen = self._value("protocol")
        hint = hint_of(FIELD_BY_NAME[name], chosen) if name in FIELD_BY_NAME else "enter starts the run"
        self.query_one("#hint", Static).update(Content(hint))

    # ---- estimate

    def _estimate(self) -> None:
        self.estimated = None
        request = self._request()
        if request is None:
            return
        if request.judge.provider == "ollama":
            self._read_models(request.judge.base_urls[0] if request.judge.base_urls else "")
        self._say("Estimate", Content.styled("counting", "dim"))
        job = partial(expected_run, project_id=self.project_id, request=request, progress=self._counter())
        self.background.start("estimate", job, self._show_estimate)

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
            self.query_one("#estimate-text", Static).update(
                Content.styled(f"{what}: {number(message.cases)} cases", "dim")
            )

    def _show_estimate(self, expected: ExpectedRun | RecjudgeError) -> None:
        if self._starting:
            return
        if isinstance(expected, RecjudgeError):
            self._complain(expected)
            return
        self.estimated = expected
        worded = {"domain_note": form_words(expected.estimate.domain_note)}
        estimate = expected.estimate.model_copy(update=worded)
        facts = estimate_facts(estimate, expected.rater, expected.prompt, glyphs())
        notes = [Content(one_line(form_words(note), 200)) for note in expected.notes]
        self._say("Estimate", Content("\n").join([facts, *([Content("")] if notes else []), *notes]))

    def _say(self, title: str, text: Content, *, wrong: bool = False) -> None:
        box = self.query_one("#expected")
        box.border_title = Content.styled(title, "$error") if wrong else Content(title)
        self.query_one("#estimate-text", Static).update(text)

    def _complain(self, error: RecjudgeError) -> None:
        parts = [(error.title, "bold $error"), (error.cause, ""), (error.next_step, "$accent")]
        shown = [Content.styled(safe_text(form_words(text[:2000])), style) for text, style in parts if text]
        self._say(f"{glyphs().failed} This cannot run", Content("\n\n").join(shown), wrong=True)

    # ---- start

    @on(Button.Pressed, "#start")
    def action_start(self) -> None:
        if self._starting:
            return
        request = self._request()
        if request is None:
            return
        if self._debounce is not None:
            self._debounce.stop()
        self._starting = True
        self._say("Starting", Content.styled("asking the judge", "dim"))
        job: Callable[[Database], StartResult] = partial(
            start_run, project_id=self.project_id, request=request, progress=self._counter()
        )
        # in the group of the estimate, so that it replaces the estimate
        self.background.start("estimate", job, self._show_started)

    def _show_started(self, result: StartResult) -> None:
        self._starting = False
        run_id, error = result
        if run_id is None:
            if error is not None:
                self._complain(error)
            return
        self.host.look_at_runs()
        self.app.switch_screen(make_screen("monitor", run_id))
        if error is not None:
            self.host.show_error(error)
        else:
            self.notify(
                f"Run {run_id} is working in the background; you can close this screen and the app.",
                markup=False,
            )

    # ---- keys

    def action_field(self, by: int) -> None:
        if by > 0:
            self.focus_next()
        else:
            self.focus_previous()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.focused, Input) and action in ("app.show_keys", "leave"):
            return False
        return super().check_action(action, parameters)

    def action_peel(self) -> None:
        self.action_leave()


def _widget(field: Field) -> Input | Choice:
    if choices := choices_of(field):
        return Choice(choices, field_id=f"field-{field.name}")
    return Input(
        value=field.initial,
        placeholder=field.placeholder,
        compact=True,
        select_on_focus=False,
        id=f"field-{field.name}",
    )
