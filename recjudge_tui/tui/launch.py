"""New run: its form, the estimate below it, and the request that comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Input, Static
from textual.worker import get_current_worker

from recjudge_tui.domain.judge import Capabilities, JudgeSpec
from recjudge_tui.domain.options import Option
from recjudge_tui.domain.protocols import compares_lists, offered, protocol_facts, with_unit
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.run_options import OCCASION_SETTINGS, RUN_OPTIONS, SAER_NAME, summary_of
from recjudge_tui.domain.text import money, one_line, quantity
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.reports.runs import cost_range, estimate_lines, short_cost, span
from recjudge_tui.runs.groups import (
    ExpectedRun,
    LaunchRequest,
    expected_run,
    one_protocol,
    start_run,
)
from recjudge_tui.runs.settings import project_domain
from recjudge_tui.store.cases import known_occasions
from recjudge_tui.store.data import TEXTS, any_images, systems
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import domain_names, list_prompts, load_shipped
from recjudge_tui.store.runs import has_runs, judge_capabilities, save_capabilities
from recjudge_tui.tui.dialogs import Choice, Completion, Confirm, FieldError
from recjudge_tui.tui.form import Fields, choices_of, form_words
from recjudge_tui.tui.judge_picker import ADDRESS, JUDGE, JudgeField, chosen_judge, known_judges
from recjudge_tui.tui.screens import FORM, ExportScreen, WrittenFile, make_screen, write_text
from recjudge_tui.tui.texts import error_content, request_content
from recjudge_tui.tui.widgets import GLYPHS, KeyLine, TextPane, TopBar, key_name, number
from recjudge_tui.tui.words import advice

# ---- the form ----------------------------------------------------------------------------------------------------


# shown where the data gives them a meaning
_BY_DATA = (*OCCASION_SETTINGS, "domain", "images", "again")
_FIRST = {"sample": "3 How many", "until": "until"}
_PROTOCOLS = (*((name, name) for name in offered()), (SAER_NAME, "saer: alone, then pairs"))
FIELDS: tuple[Option, ...] = (
    Option("protocol", str, "← → choose what is compared.", offered()[0], label="1 Compare", form_choices=_PROTOCOLS),
    JUDGE.but(label="2 Judge"),
    *(RUN_OPTIONS[name].but(label=label) for name, label in _FIRST.items()),
    *ADDRESS,
    Option(
        "prompt", str, "← → choose; the first one fits the kind of data in this project.", "", label="prompt",
        form_choices=(("", "by the kind of data"),), rare=True,
    ),
    Option(
        "name", str, "The rater name for its verdicts. Default: the judge's own.", "", label="rater name",
        placeholder="the judge's own", rare=True,
    ),
    *(option.but(rare=True) for name, option in RUN_OPTIONS.items() if name not in _FIRST),
    Option(
        "drop_poor_over", float, "Do not pair systems with more Poor than this; SAER's authors warn against it.",
        bounds={"ge": 0, "le": 1}, label="drop poor", placeholder="none", rare=True,
    ),
)  # fmt: skip
_BY_PROTOCOL = tuple(name for name, option in RUN_OPTIONS.items() if option.by_protocol)


def is_asked(name: str, protocol: str, by_data: tuple[str, ...], *, decided: bool, asks_server: bool) -> bool:
    """Whether the form has this field for a run of the protocol: some need data that gives them a meaning (`by_data`), a
    run that stops when it is `decided`, or a judge that asks a server."""
    if name in _BY_DATA and name not in by_data:
        return False
    if name in RUN_OPTIONS:
        return RUN_OPTIONS[name].is_taken_by(protocol) and (decided or name != "margin")
    if name == "drop_poor_over":
        return protocol == SAER_NAME
    return asks_server or name not in [option.name for option in ADDRESS]


def launch_request(given: Mapping[str, Any]) -> LaunchRequest:
    """The request of these values of the fields. Raises FieldError for an address that cannot be used."""
    options = {name: given[name] for name in (*RUN_OPTIONS, "drop_poor_over") if name in given}
    return LaunchRequest(
        chosen_judge(given), given["protocol"], given.get("name") or "", given.get("prompt") or "", options
    )


# ---- jobs --------------------------------------------------------------------------------------------------------


TEST_WITHIN_S = 30.0


def tested_judge(db: Database, judge: JudgeSpec) -> Capabilities:
    """Ask the judge three small questions and store what it supports; the stored result on images is kept."""
    from recjudge_tui.prompting.trial import probe

    capabilities = probe(judge, TEST_WITHIN_S, images=False)
    known = judge_capabilities(db, judge)
    if known is not None:
        capabilities = capabilities.model_copy(update={"images": known.images})
    save_capabilities(db, judge, capabilities)
    return capabilities


# ---- launch text -------------------------------------------------------------------------------------------------


def short_count(value: int) -> str:
    """`940`, `12k`, `1.9M`."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            shown = value / size
            return f"{shown:.1f}{unit}" if shown < 10 else f"{shown:.0f}{unit}"
    return str(value)


def totals(expected: ExpectedRun, settings: RunSettings) -> Content:
    """`400 calls on 200 cases · ~1.1M tokens · $0 local · ~4 min`, with the budget if it costs something."""
    estimate = expected.estimate
    tokens = estimate.tokens_in_high + estimate.tokens_out
    budget = "none" if settings.budget_usd is None else money(settings.budget_usd)
    parts = [f"{quantity(estimate.calls, 'call')} on {quantity(estimate.cases, 'case')}"]
    parts += [f"~{short_count(tokens)} tokens"] if tokens else []
    parts += [short_cost(estimate)]
    parts += [f"budget {budget}"] if is_paid(expected) or settings.budget_usd is not None else []
    parts += [f"~{span(estimate.seconds)}"] if estimate.seconds is not None else []
    return Content(f" {GLYPHS.dot} ".join(parts))


def is_paid(expected: ExpectedRun) -> bool:
    """Whether the run costs money, or may cost some because the price is not known."""
    return expected.estimate.cost_usd_high is None or expected.estimate.cost_usd_high > 0


def start_text(expected: ExpectedRun) -> str:
    """What the start button will do."""
    calls, cases = quantity(expected.estimate.calls, "call"), quantity(expected.estimate.cases, "case")
    does = f"send {calls} to {expected.place}" if expected.place else f"judge {cases} on this machine"
    return f"{'Judge again' if expected.again else 'Start'}: {does}"


def question_before(expected: ExpectedRun, settings: RunSettings) -> tuple[str, str, str] | None:
    """The question before the run starts: title, text and the word for yes; None if it costs nothing and replaces
    nothing.
    """
    again = f"{expected.again}. The new verdicts replace these." if expected.again else ""
    if not is_paid(expected):
        return ("Judge the same again?", again, "judge again") if again else None
    budget = (
        "No budget is set. Set one under advanced, or the run continues to its end."
        if settings.budget_usd is None
        else f"It stops before it has cost more than {money(settings.budget_usd)}."
    )
    if expected.estimate.cost_usd_high is None:
        budget = "Without a price, a budget cannot be enforced."
    calls = f"{quantity(expected.estimate.calls, 'call')} to {expected.place}."
    lines = (again, calls, f"Cost: {cost_range(expected.estimate)}.", budget)
    return "Start a run that costs money?", "\n".join(filter(None, lines)), "start"


def prompt_content(expected: ExpectedRun) -> Content:
    """What to read before the start, then the first prompt as it will be sent."""
    told = [f"{GLYPHS.marked} {one_line(form_words(note), 600)}" for note in expected.notes]
    lines = estimate_lines(expected.estimate, rater=expected.rater, prompt=expected.prompt)
    lines = [one_line(form_words(line), 600) for line in lines]
    head = [*(Content.styled(text, "$warning") for text in told), *map(Content, lines)]
    return Content("\n").join([*head, request_content(expected.first)])


# ---- screen ------------------------------------------------------------------------------------------------------


class ProjectChoices(NamedTuple):
    """What the project has to choose from. `systems` made lists, `explainers` made explanations; `prompts` are (protocol,
    NAME@VERSION), newest versions first; `by_data` are the fields that its data gives a meaning: occasions if there are
    any, the domain if it is unknown, images if items have some, judging again if there are runs."""

    systems: tuple[str, ...] = ()
    explainers: tuple[str, ...] = ()
    prompts: tuple[tuple[str, str], ...] = ()
    domains: tuple[str, ...] = ()
    by_data: tuple[str, ...] = ()


def project_choices(db: Database, project_id: int) -> ProjectChoices:
    load_shipped(db)
    prompts = sorted(list_prompts(db), key=lambda row: (row["name"], -row["version"]))
    contexts, times = known_occasions(db, project_id)
    has = {
        **{name: contexts if name == "contexts" else times for name in OCCASION_SETTINGS},
        "domain": not project_domain(db, project_id),
        "images": any_images(db, project_id),
        "again": has_runs(db, project_id),
    }
    return ProjectChoices(
        tuple(systems(db, project_id)),
        tuple(systems(db, project_id, TEXTS)),
        tuple((row["protocol"], f"{row['name']}@{row['version']}") for row in prompts),
        domain_names(),
        tuple(name for name in _BY_DATA if has[name]),
    )


@dataclass
class CaseCount(Message):
    """How many cases were read so far; only the newest count matters."""

    cases: int

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, CaseCount)


_PROMPT = "Before the start, and the first prompt as it will be sent"


class LaunchScreen(ExportScreen):
    """The form of a run, its estimate, and the first prompt as it will be sent."""

    CSS = """
    LaunchScreen Fields { padding: 0 1; }
    LaunchScreen Fields .row Label { width: 13; }
    LaunchScreen Fields #rows { max-height: 50vh; }
    LaunchScreen Fields #about { max-height: 2; }
    LaunchScreen #prompt { height: 1fr; }
    LaunchScreen #totals { height: 1; margin: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    LaunchScreen #start { margin: 0 1; height: 1; border: none; width: 100%; content-align: left middle;
                          text-align: left; background: $primary; color: $text; text-style: bold; }
    LaunchScreen #start:focus { background: $accent; color: $background; }
    LaunchScreen #start.-refused { background: $surface; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "start", "start", id="launch.start"),
        Binding("t", "test", "test with 3 calls", id="launch.test"),
        Binding("s", "save", "save as a file", id="launch.save"),
        Binding("plus", "more", "more", key_display="+", id="launch.more"),
        Binding("down", "app.focus_next", "next", key_display="↑↓", id="launch.down"),
        Binding("up", "app.focus_previous", "previous field", show=False, id="launch.up"),
        Binding("J,pagedown", "scroll(1)", "scroll the prompt down", show=False, id="launch.prompt_down"),
        Binding("K,pageup", "scroll(-1)", "scroll the prompt up", show=False, id="launch.prompt_up"),
        *FORM,
    ]

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self.estimated: ExpectedRun | None = None
        self.known = ProjectChoices()
        self._cases_of: dict[str, int] = {}
        self._has_chosen_protocol = False
        self._starting = False
        self._start_when_counted = False

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "New run")
        judges = known_judges(self.host.db, self.project_id)
        # what depends on the protocol stays empty, and says so behind it
        self.fields = Fields(FIELDS, dict.fromkeys(_BY_PROTOCOL), {"judge": judges})
        yield self.fields
        yield Static(Content.styled("counting", "dim"), id="totals")
        yield TextPane(id="prompt")
        yield Button(Content("Start"), id="start", compact=True)
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#prompt").can_focus = False
        self._fit()
        self.fields["protocol"].focus()
        self.background.start("known", partial(project_choices, project_id=self.project_id), self._show_known)

    # ---- the form

    @property
    def protocol(self) -> str:
        return self.fields.text("protocol")

    @property
    def judge(self) -> JudgeField:
        return self.query_one(JudgeField)

    def _show_known(self, known: ProjectChoices) -> None:
        self.known = known
        protocol = self.query_one("#field-protocol", Choice)
        if known.explainers and not known.systems:
            protocol.choose(with_unit("explanation")[0])
        elif len(known.systems) > 1 and not self._has_chosen_protocol:
            protocol.choose(next(name for name, _ in _PROTOCOLS if compares_lists(name)))
        self._fit()
        self._changed()
        self.fields.wait()

    def _fit(self) -> None:
        """Show what the chosen protocol and judge have."""
        protocol, decided = self.protocol, self.fields.text("until") == "decided"
        asks_server = self.judge.asks_server()
        for option in FIELDS:
            asked = is_asked(
                option.name, protocol, self.known.by_data, decided=decided, asks_server=asks_server
            )
            self.fields.show(option.name, asked)
        names = self.known.explainers if protocol in with_unit("explanation") else self.known.systems
        count = self._cases_of.get(protocol)
        everything = "all" if count is None else f"all {quantity(count, 'case')}"
        empty = {"sample": f"{everything}; a number draws so many users"}
        empty["systems"] = "all: " + ", ".join(one_line(name, 40) for name in names) if names else "none yet"
        offered = {
            "prompt": [(label, one_line(label, 60)) for of, label in self.known.prompts if of == protocol],
            "domain": [(name, one_line(name, 40)) for name in self.known.domains],
        }
        for name in (*_BY_PROTOCOL, *offered, "systems", "baseline", "sample"):
            field, choices = self.fields[name], choices_of(self.fields.options[name])
            usual = str(getattr(protocol_facts(one_protocol(protocol)), name, ""))
            if isinstance(field, Choice):
                own = f"{dict(choices).get(usual, '')} (default)" if usual else choices[0][1]
                field.offer([("", own), *choices[1:], *offered.get(name, ())])
            else:
                field.placeholder = empty.get(name) or usual or field.placeholder
                field.suggester = Completion(names) if name in ("systems", "baseline") else None
        self.fields.aside("protocol", summary_of(protocol))
        self.fields.aside("judge", self.judge.about())
        self.refresh_bindings()

    def request(self) -> LaunchRequest | None:
        """The request of the form; None after showing what is wrong with it."""
        try:
            return launch_request(self.fields.read())
        except FieldError as error:
            self.fields.complain(error)
            self._complain(error)
            return None

    @on(Input.Changed)
    @on(Choice.Changed)
    def _changed(self) -> None:
        self.estimated = None if not self._starting else self.estimated

    @on(Choice.Changed)
    def _chosen(self, message: Choice.Changed) -> None:
        self._has_chosen_protocol |= message.choice.id == "field-protocol"
        self._fit()

    @on(Input.Submitted)
    def _entered(self) -> None:
        self.focus_next()

    # ---- estimate

    @on(Fields.Settled)
    def _estimate(self) -> None:
        if self._starting:
            return
        self.estimated = None
        if (request := self.request()) is None:
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
        self.estimated, settings = expected, request.settings
        if settings.limit is None and settings.sample is None and not settings.until:
            self._cases_of[self.protocol] = expected.estimate.cases
            self._fit()
        self._say_totals(totals(expected, settings))
        self._say(_PROMPT, prompt_content(expected))
        self._say_start(start_text(expected))
        if self._start_when_counted:
            self.action_start()

    def _say(self, title: str, text: Content, *, wrong: bool = False) -> None:
        pane = self.query_one("#prompt", TextPane)
        pane.border_title = Content.styled(title, "$error") if wrong else Content(title)
        pane.show(lambda _: text)
        self.query_one("#start").set_class(wrong, "-refused")

    def _say_totals(self, text: Content) -> None:
        self.query_one("#totals", Static).update(text)

    def _say_start(self, text: str) -> None:
        self.query_one("#start", Button).label = Content(
            f"{key_name(self.app, 'launch.start')}  {one_line(text, 90)}"
        )

    def _complain(self, error: RecjudgeError) -> None:
        self._start_when_counted = False
        step = error.next_step or advice(self.app, error.step)
        shown = RecjudgeError(*map(form_words, (error.title, error.cause, step)))
        self._say_totals(Content.styled(f"{GLYPHS.failed} {one_line(shown.title, 200)}", "$error"))
        self._say_start("Cannot start yet")
        self._say(f"{GLYPHS.failed} This cannot run", error_content(shown), wrong=True)

    # ---- testing and saving

    def action_test(self) -> None:
        """Ask the judge three small questions and say beside it how it answered."""
        if (request := self.request()) is not None:
            self.fields.aside("judge", "testing with 3 calls")

            def show(result: Capabilities) -> None:
                speed = "" if result.latency_s is None else f", {result.latency_s:.1f} s a call"
                schema = "" if result.schema_enforced else ", no schema enforced"
                problems = f", {len(result.problems)} failed" if result.problems else ""
                self.fields.aside("judge", f"{GLYPHS.done} answers{speed}{schema}{problems}")

            def failed(error: RecjudgeError) -> None:
                self.fields.aside("judge", f"{GLYPHS.failed} the test failed")
                self.host.show_error(error)

            self.background.start("test", partial(tested_judge, judge=request.judge), show, failed)

    def action_save(self) -> None:
        """Save the run as a file that “recjudge run” takes."""
        from recjudge_tui.runs.groups import saved_experiment

        if (request := self.request()) is not None:
            text = saved_experiment(request.run(self.project_id))

            def write(_: Database, path: Path) -> WrittenFile:
                return write_text(path, text, "The run is")

            hint = "“recjudge run FILE.toml” plans and starts the run of this file."
            self.ask_file(f"{request.protocol}.toml", hint, write, "Save the run")

    # ---- starting

    @on(Button.Pressed, "#start")
    def action_start(self) -> None:
        """Ask for confirmation if the run costs money or replaces verdicts; then start the run that was estimated."""
        request, expected = None if self._starting else self.request(), self.estimated
        if request is None:
            return
        if expected is None:
            # ask about the cost first
            self._start_when_counted = True
            self.fields.stop_waiting()
            self._estimate()
            return
        self._start_when_counted = False
        if expected.again:
            request = request.again()
        question = question_before(expected, request.settings)
        if question is None:
            self._start(request)
        else:
            self.ask(Confirm(*question, "not yet"), lambda _: self._start(request))

    def _start(self, request: LaunchRequest) -> None:
        if self._starting:
            return
        self._starting = True
        self._say_totals(Content.styled("asking the judge", "dim"))
        self._say_start("Starting")
        job: Callable[[Database], tuple[int, RecjudgeError | None]] = partial(
            start_run, project_id=self.project_id, request=request, progress=self._counter()
        )
        # in the group of the estimate, so that it replaces the estimate
        self.background.start("estimate", job, self._show_started, self._start_failed)

    def _start_failed(self, error: RecjudgeError) -> None:
        self._starting = False
        self._complain(error)

    def _show_started(self, result: tuple[int, RecjudgeError | None]) -> None:
        self._starting = False
        run_id, error = result
        self.host.check_runs()
        # a dialog may be open, or the list of keys
        while self.app.screen is not self:
            self.app.pop_screen()
        self.app.switch_screen(make_screen("monitor", run_id))
        told = f"Run {run_id} is working in the background; you can close this screen and the app."
        self.host.show_error(error) if error is not None else self.notify(told, markup=False)

    # ---- keys

    def action_more(self) -> None:
        self.fields.toggle()

    def action_scroll(self, by: int) -> None:
        pane = self.query_one("#prompt", TextPane)
        pane.scroll_relative(y=by * max(pane.size.height - 2, 1), animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.focused, Input) and action in ("app.show_keys", "leave", "test", "save", "more"):
            return False
        if action == "test":
            return self.judge.asks_server()
        if action == "save":
            return self.protocol != SAER_NAME
        return super().check_action(action, parameters)

    def action_step_back(self) -> None:
        if self.fields.has_class("-all"):
            self.fields.toggle()
        else:
            self.action_leave()
