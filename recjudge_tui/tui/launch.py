"""New run: the form, the judge, the questions it asks, and the request that comes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Button, Input, Label, Static
from textual.worker import get_current_worker

from recjudge_tui.domain.address import ADDRESS_OPTIONS, AddressError
from recjudge_tui.domain.calls import Message as SentMessage
from recjudge_tui.domain.judge import Capabilities, JudgeAddress, JudgeSpec
from recjudge_tui.domain.options import Option
from recjudge_tui.domain.protocols import SAER, compares_lists, offered, protocol_facts, with_unit
from recjudge_tui.domain.run import Estimate, RunSettings
from recjudge_tui.domain.run_options import OCCASION_SETTINGS, RUN_OPTIONS, SAER_NAME, RunOption, summary_of
from recjudge_tui.domain.text import money, one_line, quantity
from recjudge_tui.errors import RecjudgeError, RunError
from recjudge_tui.judges.registry import server_urls, takes_address
from recjudge_tui.reports.runs import cost_range, reuse_lines, short_cost, span
from recjudge_tui.runs import start
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.runs.saer import SaerPlan, SaerRequest, detach_saer, next_stage, plan_saer, saer_request
from recjudge_tui.runs.settings import AlreadyJudgedError, project_domain, settings_for
from recjudge_tui.store.cases import known_occasions
from recjudge_tui.store.data import any_images, explanation_systems, systems
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import domain_names, list_prompts, load_shipped
from recjudge_tui.store.runs import has_runs, judge_capabilities, save_capabilities
from recjudge_tui.tui.dialogs import Choice, Confirm
from recjudge_tui.tui.form import FieldError, choices_of, read, text_of
from recjudge_tui.tui.form import field as form_field
from recjudge_tui.tui.judge_picker import (
    ADDRESS,
    BUILT_IN,
    JudgePicker,
    KnownJudge,
    LocalJudges,
    address_texts,
    known_judges,
    local_judges,
    read_address,
)
from recjudge_tui.tui.runs import short_count
from recjudge_tui.tui.screens import FORM, BaseScreen, make_screen
from recjudge_tui.tui.texts import error_content, request_content
from recjudge_tui.tui.widgets import GLYPHS, KeyLine, TextPane, TopBar, number
from recjudge_tui.tui.words import advice

# ---- launch request ----------------------------------------------------------------------------------------------


TEST_WITHIN_S = 30.0


class LaunchRequest(NamedTuple):
    """The content of the form. `options` are the chosen settings, as `settings_for` takes them; `settings` is the
    result, for SAER the settings of its pairs before cases are counted."""

    judge: JudgeSpec
    settings: RunSettings
    rater: str
    prompt: str
    options: dict[str, Any]
    saer: bool = False
    drop_poor_over: float | None = None


class ExpectedRun(NamedTuple):
    """The estimate of a run; for two stages, of both together. `notes` are lines for the user, `first` the messages of
    the first call. `place` is the server that is asked, empty for none. `again` says that all of this was judged before,
    and that the estimate is that of judging it again."""

    rater: str
    prompt: str
    estimate: Estimate
    notes: tuple[str, ...] = ()
    first: tuple[SentMessage, ...] = ()
    place: str = ""
    again: str = ""


class StartResult(NamedTuple):
    """`run_id` is the run to watch. With an error, it was planned but not started."""

    run_id: int
    error: RecjudgeError | None


def expected_run(
    db: Database, project_id: int, request: LaunchRequest, progress: Callable[[int], None]
) -> ExpectedRun | RecjudgeError:
    """The estimate of the run, without storing anything, or why it cannot be planned."""
    notes: tuple[str, ...] = ()
    if request.judge.api_key_env or request.judge.header_env:
        notes = (f"asks {request.judge.where}",)
    try:
        place = _destination(request.judge)
        if request.saer:
            stages = _saer_request(db, project_id, request)
            saer = plan_saer(db, project_id, stages, rater=request.rater, dry_run=True, progress=progress)
            both = _both_stages(saer)
            return both._replace(place=place, notes=(*notes, *both.notes))
        again = ""
        try:
            (plan,) = start.plan(db, [_run_request(project_id, request)], dry_run=True, progress=progress)
        except AlreadyJudgedError as error:
            again = error.title
            repeated = _run_request(project_id, judged_again(request))
            (plan,) = start.plan(db, [repeated], dry_run=True, progress=progress)
    except RecjudgeError as error:
        return error
    if again:
        notes = (*notes, f"{again}. Starting it again replaces these verdicts.")
    if request.settings.until:
        notes = (*notes, "This is the upper bound: the run stops as soon as the comparison is decided.")
    return ExpectedRun(plan.rater, plan.prompt, plan.estimate, notes, plan.first, place, again)


def judged_again(request: LaunchRequest) -> LaunchRequest:
    """The request to judge again and replace the existing verdicts."""
    again = {"again": True}
    return request._replace(
        settings=request.settings.model_copy(update=again), options=request.options | again
    )


def _destination(judge: JudgeSpec) -> str:
    """`localhost:9100`, `gw.example with MY_KEY`; empty for a judge that asks no server."""
    from recjudge_tui.judges.local_servers import place_of

    if not takes_address(judge):
        return ""
    servers = one_line(", ".join(map(place_of, server_urls(judge))) or judge.provider, 60)
    named = ", ".join(filter(None, (judge.api_key_env, *(variable for _, variable in judge.header_env))))
    return f"{servers} with {one_line(named, 300)}" if named else servers


def _both_stages(plan: SaerPlan) -> ExpectedRun:
    notes = []
    for stage in plan.stages:
        existing = f": run {stage.run_id} already exists and will be resumed" if stage.existing else ""
        notes.append(
            f"{stage.protocol}: {stage.estimate.calls:,} calls on {stage.estimate.cases:,} cases{existing}"
        )
    prompts = " and ".join(stage.prompt for stage in plan.stages)
    first = next((stage.first for stage in plan.stages if stage.first), ())
    return ExpectedRun(plan.first.rater, prompts, plan.total, tuple(notes), first)


def tested_judge(db: Database, judge: JudgeSpec) -> Capabilities:
    """Ask the judge three small questions and store what it supports; the stored result on images is kept."""
    from recjudge_tui.prompting.trial import probe

    capabilities = probe(judge, TEST_WITHIN_S, images=False)
    known = judge_capabilities(db, judge)
    if known is not None:
        capabilities = capabilities.model_copy(update={"images": known.images})
    save_capabilities(db, judge, capabilities)
    return capabilities


def start_run(
    db: Database, project_id: int, request: LaunchRequest, progress: Callable[[int], None]
) -> StartResult:
    """Plan the run, check the judge, store the plan, and start a process that works on it."""
    run_id: int | None = None
    try:
        if request.saer:
            stages = _saer_request(db, project_id, request)
            plan = plan_saer(db, project_id, stages, rater=request.rater, must_answer=True, progress=progress)
            assert plan.group_id is not None
            stage = next_stage(db, plan.group_id)
            if stage is None or stage.run_id is None:
                raise _done_already(plan)
            run_id = stage.run_id
            detach_saer(db, plan.group_id, run_id)
        else:
            requests = [_run_request(project_id, request)]
            run_id = start.plan(db, requests, must_answer=True, progress=progress)[0].run_id
            assert run_id is not None
            start.start_detached(db, run_id)
    except RecjudgeError as error:
        if run_id is None:
            raise
        return StartResult(run_id, error)
    return StartResult(run_id, None)


def _done_already(plan: SaerPlan) -> RunError:
    return RunError(
        "both stages are already done",
        f"Runs {plan.first.run_id} and {plan.second.run_id} of {plan.first.rater} already judged this.",
        "Change a setting, or give the rater another name.",
    )


def _run_request(project_id: int, request: LaunchRequest) -> RunRequest:
    return RunRequest(project_id, request.judge, request.settings, request.rater, request.prompt)


def _saer_request(db: Database, project_id: int, request: LaunchRequest) -> SaerRequest:
    return saer_request(
        db, project_id, request.judge, drop_poor_over=request.drop_poor_over, **request.options
    )


# ---- launch form -------------------------------------------------------------------------------------------------


CHOOSE = "← → choose"
_ARROWS = "← →"
# the three questions, which are always shown; "until" is part of the third
QUESTIONS = ("protocol", "judge", "until")
_HINTS = {
    "protocol": CHOOSE,
    "judge": f"{CHOOSE}   enter lists all judges, and takes another one",
    "until": f"{CHOOSE}   digits: another number",
    "toggle": "enter opens and closes the options of the run",
    "start": "enter starts the run; it works in the background",
}
BY_DATA = (*OCCASION_SETTINGS, "domain", "images", "again")


FIELDS: tuple[Option, ...] = (
    Option("protocol", str, "", label="1 Compare", required=True),
    Option("judge", str, "", label="2 Judge"),
    *(
        Option(name, str, option.hint, label=option.label, placeholder=option.placeholder)
        for name, option in ADDRESS_OPTIONS.items()
    ),
    Option(
        "prompt", str, f"{CHOOSE}; the first one fits the kind of data in this project", label="prompt",
        form_choices=(("", "by the kind of data"),),
    ),
    Option(
        "name", str, "The rater name for its verdicts. Default: the judge's own.", label="rater name",
        placeholder="the judge's own",
    ),
    *RUN_OPTIONS.values(),
    Option(
        "drop", float, "Do not pair systems with more Poor than this; SAER's authors warn against it",
        bounds={"ge": 0, "le": 1}, label="drop poor", placeholder="none",
    ),
)  # fmt: skip
FIELD_BY_NAME = {field.name: field for field in FIELDS}


def protocols() -> list[tuple[str, str]]:
    """What can be compared, (value, text)."""
    return [*((name, name) for name in offered()), (SAER_NAME, "saer: alone, then pairs")]


def _initial(option: Option) -> Any:
    """What stands in a field at first: numbers that depend on nothing else."""
    settled = isinstance(option, RunOption) and not option.by_protocol and option.type in (int, float)
    return option.default if settled or option.type is bool else None


def is_asked(
    field: Option, protocol: str, by_data: Collection[str] = BY_DATA, *, decided: bool = True
) -> bool:
    """Whether the form has this field for a run of the protocol; fields that only some data needs must be in
    `by_data`. `decided`: the run stops when the comparison is decided, perhaps at a width.
    """
    if field.name == "drop":
        return protocol == SAER_NAME
    if field.name == "margin" and not decided:
        return False
    if field.name in BY_DATA and field.name not in by_data:
        return False
    return field.name not in RUN_OPTIONS or RUN_OPTIONS[field.name].is_taken_by(protocol)


def hint_of(name: str) -> str:
    """The hint while the field or button of this name has the focus."""
    if name in _HINTS or name not in FIELD_BY_NAME:
        return _HINTS.get(name, "")
    option = FIELD_BY_NAME[name]
    arrows = isinstance(option, RunOption) and choices_of(option)
    return f"{option.help} {_ARROWS}" if arrows else option.help


def default_text(name: str, protocol: str) -> str:
    """The meaning of an empty setting for a run of the protocol."""
    return str(getattr(protocol_facts(_one_protocol(protocol)), name))


def _one_protocol(name: str) -> str:
    """The protocol itself; for SAER its second stage, which has all settings of the first one."""
    return SAER[1] if name == SAER_NAME else name


_FLAG = re.compile(r"--[a-z][a-z-]*")
# options of the command line -> the names of their fields in the form
_LABELS = {
    flag: option.label for option in RUN_OPTIONS.values() if option.label for flag in option.flag.split("/")
} | {option.flag: option.label for option in ADDRESS_OPTIONS.values()}


def form_words(text: str) -> str:
    """The text with the form's names of options: “judge again” instead of --again."""
    return _FLAG.sub(lambda flag: f"“{_LABELS[flag[0]]}”" if flag[0] in _LABELS else flag[0], text)


def read_form(values: Mapping[str, str]) -> LaunchRequest:
    """Parse the form into a request; fields that its protocol does not have count as empty.

    Raises FieldError naming the first invalid field.
    """
    protocol = values["protocol"]
    decided = bool(values["until"])
    values = {
        field.name: values[field.name] if is_asked(field, protocol, decided=decided) else ""
        for field in FIELDS
    }
    spec = values["judge"].strip()
    if not spec:
        raise FieldError("judge", "no judge yet", next_step="Press enter in its field for a list.")
    try:
        address = read_address(values)
    except AddressError as error:
        raise FieldError(error.option, error.title, error.cause, error.next_step) from error
    options = {name: read(RUN_OPTIONS[name], text) for name, text in values.items() if name in RUN_OPTIONS}
    return LaunchRequest(
        address.judge_named(spec),
        settings_for(_one_protocol(protocol), **options),
        values["name"].strip(),
        values["prompt"],
        options,
        saer=protocol == SAER_NAME,
        drop_poor_over=read(FIELD_BY_NAME["drop"], values["drop"]),
    )


# ---- launch questions --------------------------------------------------------------------------------------------


HowManyKind = Literal["all", "decided", "sample", "limit"]
_MOST_DIGITS = 9
_SAMPLE = "200"


class CaseCount(Message):
    """How many cases were read so far; only the newest count matters."""

    def __init__(self, cases: int) -> None:
        super().__init__()
        self.cases = cases

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, CaseCount)


class JudgeChoice(Choice):
    """A choice among the known judges; enter opens the whole list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "list", "judges", id="choice.list"),
    ]

    class ListRequested(Message):
        """The user wants to see all judges."""

    def __init__(self, *, field_id: str) -> None:
        super().__init__([("", "")], field_id=field_id)
        self._judges: dict[str, KnownJudge] = {}
        self.offer_judges(BUILT_IN)

    @property
    def judge(self) -> KnownJudge:
        return self._judges[self.value]

    def offer_judges(self, judges: Sequence[KnownJudge]) -> None:
        """Offer these judges, and the chosen one if it is not among them."""
        chosen = self._judges.get(self.value)
        whole = [judge for judge in judges if judge.is_whole]
        if chosen is not None and all(_key(chosen) != _key(judge) for judge in whole):
            whole.insert(0, chosen)
        self._judges = {_key(judge): judge for judge in whole}
        self.offer([(key, one_line(judge.spec, 60)) for key, judge in self._judges.items()])

    def take(self, judge: KnownJudge) -> None:
        """Choose a judge, which need not be one of those offered before."""
        self._judges = {_key(judge): judge} | self._judges
        self.offer([(key, one_line(known.spec, 60)) for key, known in self._judges.items()])
        self.choose(_key(judge))
        # a message created by a parent, as after a dialog, would not reach the screen
        self.call_later(self._say_changed)

    def _say_changed(self) -> None:
        self.post_message(self.Changed(self, self.value))

    def action_list(self) -> None:
        self.post_message(self.ListRequested())


def _key(judge: KnownJudge) -> str:
    return "\n".join((judge.spec, *judge.base_urls))


class CaseCountChoice(Choice):
    """All cases, until the comparison is decided, a sample or the first ones; digits change the number of the last two."""

    def __init__(self, *, field_id: str) -> None:
        super().__init__([("all", "all")], field_id=field_id)
        self._decidable = True
        self._all: int | None = None
        self._count, self._is_typed = _SAMPLE, False
        self._offer()

    @property
    def kind(self) -> HowManyKind:
        kind: HowManyKind = self.value  # type: ignore[assignment]
        return kind

    @property
    def count(self) -> str:
        return self._count if self.kind in ("sample", "limit") else ""

    def fit(self, *, decidable: bool, cases: int | None) -> None:
        """Offer the choices that the protocol has; `cases` is the number of all cases, None while it is unknown."""
        self._decidable, self._all = decidable, cases
        self._offer()

    def _offer(self) -> None:
        shown = quantity(int(self._count), "user") if self._count else "… users"
        everything = "all" if self._all is None else f"all {quantity(self._all, 'case')}"
        options = [
            ("all", everything),
            ("decided", "until decided"),
            ("sample", f"sample {shown}"),
            ("limit", f"first {shown}"),
        ]
        self.offer([option for option in options if self._decidable or option[0] != "decided"])

    def action_step(self, by: int) -> None:
        self._is_typed = False
        self._count = self._count or _SAMPLE
        self._offer()
        super().action_step(by)

    def on_key(self, event: events.Key) -> None:
        event.prevent_default()  # to other choices a digit is a place
        digit = event.character if event.character and event.character in "0123456789" else ""
        if not digit and event.key != "backspace":
            return
        event.stop()
        if self.kind not in ("sample", "limit"):
            if not digit:
                return
            self.choose("sample")
            self._is_typed = False
        if digit:
            self._count = ((self._count if self._is_typed else "") + digit)[:_MOST_DIGITS]
        else:
            self._count = self._count[:-1]
        self._is_typed = True
        self._offer()
        self.post_message(self.Changed(self, self.value))

    def render(self) -> Content:
        """The chosen answer between arrows, the others beside it if there is room."""
        chosen = super().render()
        others = [text for value, text in self._options if value != self.value]
        rest = f"   {f' {GLYPHS.dot} '.join(others)}"
        if chosen.cell_length + len(rest) > self.content_size.width:
            return chosen
        return Content.assemble(chosen, (rest, "dim"))


# ---- launch judge ------------------------------------------------------------------------------------------------


class JudgeQuestion(Horizontal):
    """The judge and, beside it, a line about it. Posts `Choice.Changed` of its field `field-judge`."""

    DEFAULT_CSS = """
    JudgeQuestion #field-judge { width: auto; min-width: 16; max-width: 44; }
    JudgeQuestion #judge-about { width: 1fr; padding: 0 0 0 2; color: $text-muted; text-wrap: nowrap;
                                 text-overflow: ellipsis; }
    """

    def __init__(self, label: str) -> None:
        super().__init__(classes="row question", id="row-judge")
        self._label = label
        self._used: tuple[KnownJudge, ...] = ()
        self.local: LocalJudges | None = None
        self._is_chosen = False

    def compose(self) -> ComposeResult:
        yield Label(Content(self._label))
        yield JudgeChoice(field_id="field-judge")
        yield Static(id="judge-about")

    def on_mount(self) -> None:
        # this job needs no database
        self._screen.background.start("local", lambda _: local_judges(), self._show_local)

    @property
    def _screen(self) -> BaseScreen:
        return cast(BaseScreen, self.screen)

    @property
    def _field(self) -> JudgeChoice:
        return self.query_one(JudgeChoice)

    @property
    def judge(self) -> KnownJudge:
        return self._field.judge

    def asks_server(self) -> bool:
        return takes_address(JudgeSpec(spec=self.judge.spec))

    # ---- what there is to choose

    def offer_used(self, judges: tuple[KnownJudge, ...]) -> None:
        """Offer the judges used in the project before."""
        self._used = tuple(judge for judge in judges if judge not in BUILT_IN)
        self._offer()

    def _show_local(self, local: LocalJudges) -> None:
        self.local = local
        self._offer()
        if isinstance(self.app.screen, JudgePicker):
            self.app.screen.show(self.known(), local.note)

    def known(self) -> list[KnownJudge]:
        """The judges used before, those found on this machine, and the built-in ones."""
        here = self.local.judges if self.local is not None else ()
        places = {(judge.spec, judge.base_urls) for judge in self._used}
        local = [judge for judge in here if (judge.spec, judge.base_urls) not in places]
        used = [judge.spec for judge in self._used]
        return [*self._used, *local, *(judge for judge in BUILT_IN if judge.spec not in used)]

    def _offer(self) -> None:
        """Offer the judges known so far; the first one is chosen as long as the user has chosen none."""
        known = self.known()
        self._field.offer_judges(known)
        first = next(judge for judge in known if judge.is_whole)
        if not self._is_chosen and self.judge != first:
            self._field.take(first)
        self._show_about()

    @on(JudgeChoice.ListRequested)
    def _pick(self) -> None:
        note = self.local.note if self.local is not None else "looking for servers"
        self.app.push_screen(JudgePicker(self.known(), note), self._picked)

    def _picked(self, judge: KnownJudge | None) -> None:
        if judge is not None:
            self.take(judge)

    def take(self, judge: KnownJudge) -> None:
        """Choose a judge for the user."""
        self._is_chosen = True
        self._field.take(judge)

    @on(Choice.Changed)
    def _other(self) -> None:
        self._is_chosen = self._is_chosen or self._field.has_focus
        self._show_about()

    # ---- the line about it

    def _show_about(self) -> None:
        judge, about = self.judge, self.judge.source
        if self.local is None and self.asks_server():
            about = "looking for servers"
        elif self.local is not None and judge in self.local.judges:
            about = f"{GLYPHS.done} {self.local.places.get(judge.base_urls, judge.source)}"
        self._say(Content(one_line(about, 80)))

    def _say(self, text: Content) -> None:
        self.query_one("#judge-about", Static).update(text)

    def test(self, spec: JudgeSpec) -> None:
        """Ask the judge three small questions and say how it answered."""
        self._say(Content("testing with 3 calls"))
        self._screen.background.start(
            "test", partial(tested_judge, judge=spec), self._show_tested, self._test_failed
        )

    def _test_failed(self, error: RecjudgeError) -> None:
        self._say(Content.styled(f"{GLYPHS.failed} the test failed", "$error"))
        self._screen.host.show_error(error)

    def _show_tested(self, result: Capabilities) -> None:
        speed = "" if result.latency_s is None else f", {result.latency_s:.1f} s a call"
        schema = "" if result.schema_enforced else ", no schema enforced"
        failed = f", {len(result.problems)} failed" if result.problems else ""
        self._say(Content(f"{GLYPHS.done} answers{speed}{schema}{failed}"))


# ---- launch text -------------------------------------------------------------------------------------------------


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
    estimate = expected.estimate
    if expected.place:
        does = f"send {quantity(estimate.calls, 'call')} to {expected.place}"
        return f"Judge again: {does}" if expected.again else f"Start: {does}"
    cases = quantity(estimate.cases, "case")
    return (
        f"Judge {cases} again on this machine" if expected.again else f"Start: judge {cases} on this machine"
    )


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
    lines = [Content.styled(f"{GLYPHS.marked} {note}", "$warning") for note in notes_of(expected)]
    named = f"rater {one_line(expected.rater, 60)} {GLYPHS.dot} prompt {one_line(expected.prompt, 60)}"
    lines.append(Content.styled(named, "dim"))
    return Content("\n").join([*lines, request_content(expected.first)])


def notes_of(expected: ExpectedRun) -> list[str]:
    """What to read before the start."""
    estimate = expected.estimate
    notes = [*expected.notes, *estimate.published]
    notes += [f"cost: {cost_range(estimate)}"] if is_paid(expected) else []
    notes += reuse_lines(estimate)
    notes += [estimate.domain_note, estimate.undated_note, *estimate.copies_notes]
    notes += [f"drawn: {quantity(n, 'user')} with {level}" for level, n in estimate.strata.items()]
    notes += [f"left out: {number(n)} × {reason}" for reason, n in estimate.left_out.items()]
    return [one_line(form_words(note), 600) for note in notes if note]


# ---- choices -----------------------------------------------------------------------------------------------------


class Choices(NamedTuple):
    """The choices of the form. `systems` made lists, `explainers` made explanations; `prompts` are (protocol,
    NAME@VERSION), newest versions first; `domains` are by name. `by_data` are settings that only some data needs:
    occasions if there are any, the domain if it is unknown, showing images if items have some, judging again if there
    are runs.
    """

    judges: tuple[KnownJudge, ...]
    systems: tuple[str, ...]
    explainers: tuple[str, ...]
    prompts: tuple[tuple[str, str], ...]
    domains: tuple[str, ...] = ()
    by_data: tuple[str, ...] = ()


def choices(db: Database, project_id: int) -> Choices:
    load_shipped(db)
    prompts = sorted(list_prompts(db), key=lambda row: (row["name"], -row["version"]))
    contexts, times = known_occasions(db, project_id)
    return Choices(
        known_judges(db, project_id),
        tuple(systems(db, project_id)),
        tuple(explanation_systems(db, project_id)),
        tuple((row["protocol"], f"{row['name']}@{row['version']}") for row in prompts),
        domain_names(),
        (
            *(name for name in OCCASION_SETTINGS if (contexts if name == "contexts" else times)),
            *(() if project_domain(db, project_id) else ("domain",)),
            *(("images",) if any_images(db, project_id) else ()),
            *(("again",) if has_runs(db, project_id) else ()),
        ),
    )


# ---- launch advanced ---------------------------------------------------------------------------------------------


# the third question contains these, unless its answer is “until decided”
COUNTS = ("limit", "sample")
_FIELDS = tuple(field for field in FIELDS if field.name not in QUESTIONS)


class AdvancedFields(Vertical):
    """The rows `row-NAME` with the fields `field-NAME`. Not a scroll view, whose keys would take the arrows."""

    DEFAULT_CSS = """
    AdvancedFields { border: round $primary; border-title-color: $accent; overflow-y: auto; scrollbar-size-vertical: 1; }
    """

    def compose(self) -> ComposeResult:
        self.border_title = Content("Advanced")
        for field in _FIELDS:
            with Horizontal(classes="row", id=f"row-{field.name}"):
                yield Label(Content(field.label))
                yield form_field(field, _initial(field))

    def values(self) -> dict[str, str]:
        return {field.name: _value(self.query_one(f"#field-{field.name}")) for field in _FIELDS}

    def focus_first(self) -> None:
        """Focus the first field; there is none before the choices are read."""
        if shown := self._shown():
            self.query_one(f"#field-{shown[0].name}").focus()

    def _shown(self) -> list[Option]:
        return [field for field in _FIELDS if self.query_one(f"#row-{field.name}").display]

    def fit(self, protocol: str, choices: Choices, *, decided: bool) -> None:
        """Show the fields of the protocol, with their defaults as placeholders."""
        for field in _FIELDS:
            if field.name not in ADDRESS:
                asked = is_asked(field, protocol, choices.by_data, decided=decided)
                self.query_one(f"#row-{field.name}").display = asked and (decided or field.name not in COUNTS)
        for name in ("top_k", "history"):
            self.query_one(f"#field-{name}", Input).placeholder = default_text(name, protocol)
        profiles = choices_of(FIELD_BY_NAME["profile"])
        own = ("", f"{dict(profiles)[default_text('profile', protocol)]} (default)")
        self.query_one("#field-profile", Choice).offer([own, *profiles[1:]])
        systems = choices.explainers if protocol in with_unit("explanation") else choices.systems
        names = ", ".join(one_line(name, 40) for name in systems)
        self.query_one("#field-systems", Input).placeholder = f"all: {names}" if names else "none yet"
        prompts = [(label, one_line(label, 60)) for of, label in choices.prompts if of == protocol]
        self.query_one("#field-prompt", Choice).offer([*choices_of(FIELD_BY_NAME["prompt"]), *prompts])
        domains = [(name, one_line(name, 40)) for name in choices.domains]
        self.query_one("#field-domain", Choice).offer([*choices_of(FIELD_BY_NAME["domain"]), *domains])

    def set_address(self, address: JudgeAddress) -> None:
        for name, text in address_texts(address).items():
            self.query_one(f"#field-{name}", Input).value = text

    def ask_address(self, needed: bool) -> None:
        """Show the fields of the address if the judge may need them."""
        for name in ADDRESS:
            self.query_one(f"#row-{name}").display = needed or bool(
                self.query_one(f"#field-{name}", Input).value
            )

    def changed(self) -> str:
        """`top K 5 · seed 8`: the settings of the run that are not at their defaults."""
        values = self.values()
        shown = [(field, values[field.name]) for field in self._shown() if field.name in RUN_OPTIONS]
        parts = [
            f"{field.label} {one_line(text, 30)}" for field, text in shown if text not in ("", _usual(field))
        ]
        return f" {GLYPHS.dot} ".join(parts)


def _usual(option: Option) -> str:
    """What a field says where nothing was changed."""
    choices = choices_of(option)
    return choices[0][0] if choices else text_of(option, _initial(option))


def _value(widget: object) -> str:
    assert isinstance(widget, (Input, Choice))
    return widget.value


# ---- launch ------------------------------------------------------------------------------------------------------


DEBOUNCE_S = 0.25
_PROMPT = "Before the start, and the first prompt as it will be sent"


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
            yield Choice(protocols(), field_id="field-protocol")
            yield Static(id="protocol-about")
        yield JudgeQuestion(FIELD_BY_NAME["judge"].label)
        with Horizontal(classes="row question", id="row-until"):
            yield Label(Content("3 How many"))
            yield CaseCountChoice(field_id="field-until")
        yield Static(Content.styled("counting", "dim"), id="totals", classes="line")
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
            names = (name for name, _ in protocols())
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
        title = f"{'-' if self.has_class('-advanced') else '+'} advanced"
        changed = self.query_one(AdvancedFields).changed()
        self.query_one("#toggle", Button).label = Content(f"{title}: {changed}" if changed else title)

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
        settings = request.settings
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
        if wrong and not self.has_class("-wide"):
            self.remove_class("-advanced")

    def _say_totals(self, text: Content) -> None:
        self.query_one("#totals", Static).update(text)

    def _say_start(self, text: str) -> None:
        self.query_one("#start", Button).label = Content(f"f5  {one_line(text, 90)}")

    def _complain(self, error: RecjudgeError) -> None:
        self._start_when_counted = False
        step = error.next_step or advice(self.app, error.step)
        shown = error_content(RecjudgeError(*map(form_words, (error.title, error.cause, step))))
        title = f"{GLYPHS.failed} {one_line(form_words(error.title), 200)}"
        self._say_totals(Content.styled(title, "$error"))
        self._say_start("Cannot start yet")
        self._say(f"{GLYPHS.failed} This cannot run", shown, wrong=True)

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
