"""A prompt tried on one case before it is saved."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from functools import partial
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Label

from recjudge_tui.domain.address import ADDRESS_OPTIONS
from recjudge_tui.domain.calls import Flag, Order, Reply, Trial
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.roles import BUILT_IN as KINDS
from recjudge_tui.domain.text import money, one_line, safe_text
from recjudge_tui.errors import NotFoundError, RecjudgeError, UsageError
from recjudge_tui.prompting.trial import try_prompt
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import prompt_by_id
from recjudge_tui.tui.judge_picker import (
    BUILT_IN,
    JudgePicker,
    KnownJudge,
    LocalJudges,
    address_texts,
    known_judges,
    local_judges,
    read_address,
)
from recjudge_tui.tui.prompts import CasePreview, Step, case_heading, read_case, systems_of
from recjudge_tui.tui.screens import FORM, BaseScreen
from recjudge_tui.tui.widgets import (
    LONGEST_TEXT,
    Glyphs,
    KeyLine,
    TextPane,
    TopBar,
    fraction,
    glyphs,
    number,
    score,
)

# ---- trial text --------------------------------------------------------------------------------------------------


def trial_content(trial: Trial, whose: str, symbols: Glyphs) -> Content:
    """Answers and flags, or the error; then tokens, cost and time; then the raw reply. `whose` says who A and B are."""
    lines = [Content.styled(whose, "dim")] if whose and trial.parsed else []
    lines += [*_outcome(trial, symbols), Content(""), *_took(trial, symbols)]
    if trial.reply is not None:
        lines += _reply_lines(trial.reply, symbols)
    return Content("\n").join(lines)


def _outcome(trial: Trial, symbols: Glyphs) -> Iterator[Content]:
    if trial.parsed is None:
        yield Content.styled(f"{symbols.failed} no answer: {one_line(trial.error_kind, 40)}", "bold $error")
        yield Content(safe_text(trial.error[:LONGEST_TEXT]).expandtabs(4))
        return
    for answer in trial.parsed.answers:
        label = one_line(answer.label, 60)
        figure = score(answer.value, symbols)
        value = "" if label == figure else f" ({figure})"
        sure = (
            "" if answer.confidence is None else f"  confidence {fraction(answer.confidence, symbols.none)}"
        )
        yield Content.assemble(
            f"{symbols.done} ", (one_line(answer.aspect, 40), "bold"), "  ", (label, "bold $accent"), value, (sure, "dim")
        )  # fmt: skip
        if answer.reasoning:
            yield Content(f"  {safe_text(answer.reasoning[:LONGEST_TEXT]).expandtabs(4)}")
    for flag in trial.parsed.flags:
        yield Content.assemble(
            (f"{symbols.marked} {one_line(flag.issue, 60)}", "bold $warning"),
            f"  {_titled(trial, flag)}: {one_line(flag.reason, 400)}",
        )


def _titled(trial: Trial, flag: Flag) -> str:
    material = trial.request.material
    for slate in material.slates if material is not None else ():
        for place, item in enumerate(slate.items, 1):
            if item.item_id == flag.item_id:
                return f"{place}. {one_line(item.title, 80)}"
    return one_line(flag.item_id, 60)


def _took(trial: Trial, symbols: Glyphs) -> Iterator[Content]:
    reply = trial.reply
    model = f" ({one_line(reply.model, 40)})" if reply is not None and reply.model else ""
    kind = f", {KINDS[trial.rater_kind]}" if trial.rater_kind in KINDS else ""
    rows = [("judge", f"{one_line(trial.judge, 60)}{model}{kind}")]
    if reply is not None and trial.rater_kind not in KINDS:
        usage = reply.usage
        counted = [symbols.none if count is None else number(count) for count in (usage.input, usage.output)]
        rows.append(("tokens", f"{counted[0]} in, {counted[1]} out"))
        rows.append(("cost", "unknown" if trial.cost_usd is None else money(trial.cost_usd)))
    attempts = f"{number(trial.attempts)} {'attempt' if trial.attempts == 1 else 'attempts'}"
    latency = reply.latency_s if reply is not None else None
    rows.append(("time", f"{latency:.2f} s, {attempts}" if latency is not None else attempts))
    if trial.parsed is not None:
        rows.append(("parsed", trial.parsed.parsed_by))
    for name, value in rows:
        yield Content.assemble((f"{name:<9}", "dim"), value)
    yield Content.styled("This was a trial: nothing is stored and no verdict is counted.", "dim")


def _reply_lines(reply: Reply, symbols: Glyphs) -> Iterator[Content]:
    for name, text in (("thinking", reply.thinking), ("reply", reply.text)):
        if text or name == "reply":
            yield Content("")
            yield Content.styled(f"{symbols.rule * 3} {name}", "bold $accent")
            yield Content(safe_text(text[:LONGEST_TEXT]).expandtabs(4) or "(empty)")
            if len(text) > LONGEST_TEXT:
                yield Content.styled(f"({number(len(text) - LONGEST_TEXT)} more characters)", "dim")


# ---- trial -------------------------------------------------------------------------------------------------------


FIELDS = (
    ("judge", "judge", "rules, ollama:MODEL, openai:MODEL, … (enter: choose)"),
    *((name, option.label, option.hint) for name, option in ADDRESS_OPTIONS.items()),
)
_HINT = "f5  asks the judge about this case. This is one call, which may cost money; nothing is stored."


class Question(NamedTuple):
    """The prompt and the case to try it on; without a case, the first one that fits."""

    project_id: int
    prompt_id: int
    label: str
    case_id: int | None = None
    order: Order | None = None


class PromptTryScreen(BaseScreen):
    CSS = """
    PromptTryScreen #ask { height: 6; border: round $primary; border-title-color: $accent; padding: 0 1; }
    PromptTryScreen #answer { height: 1fr; border: round $primary; border-title-color: $accent; }
    PromptTryScreen #ask:focus-within, PromptTryScreen #answer:focus { border: round $accent; }
    PromptTryScreen .row { height: 1; }
    PromptTryScreen .row Label { width: 14; color: $text-muted; }
    PromptTryScreen .row Input { width: 1fr; background: $surface; }
    PromptTryScreen .row Input:focus { background: $primary 45%; }
    .-ascii PromptTryScreen #ask, .-ascii PromptTryScreen #answer, .-ascii PromptTryScreen #ask:focus-within,
    .-ascii PromptTryScreen #answer:focus { border: ascii $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "ask", "ask the judge", id="trial.ask"),
        Binding("f6", "flip", "other order", id="trial.order"),
        Binding("down", "field(1)", "next field", show=False, id="trial.down"),
        Binding("up", "field(-1)", "previous field", show=False, id="trial.up"),
        *FORM,
    ]

    def __init__(self, question: Question, places: Mapping[str, int]) -> None:
        super().__init__()
        self.question = question
        self.shown: CasePreview | None = None
        self.trial: Trial | None = None
        self._order = question.order
        self._places = dict(places)
        self._known: tuple[KnownJudge, ...] = BUILT_IN
        self._local: tuple[KnownJudge, ...] = ()
        self._note = ""
        self._asking: threading.Event | None = None

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.question.project_id), "Prompts", "Try")
        with Vertical(id="ask") as box:
            box.border_title = Content(one_line(self.question.label, 60))
            for name, label, hint in FIELDS:
                with Horizontal(classes="row"):
                    yield Label(Content(label))
                    yield Input(placeholder=hint, compact=True, select_on_focus=False, id=f"try-{name}")
        yield TextPane(id="answer")
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#try-judge", Input).focus()
        self._say("answer", Content.styled(_HINT, "dim"))
        self._find_case()
        job = partial(known_judges, project_id=self.question.project_id)
        self.background.start("judges", job, self._show_judges)

    def on_unmount(self) -> None:
        self._give_up()
        super().on_unmount()

    # ---- the case

    def _find_case(self) -> None:
        case = self.question.case_id
        job = partial(
            read_case,
            project_id=self.question.project_id,
            prompt_id=self.question.prompt_id,
            step=Step("at", case) if case else None,
            order=self._order,
            places=self._places,
        )
        self.background.start("case", job, self._show_case)

    def _show_case(self, shown: CasePreview) -> None:
        self.shown = shown
        title = f"{self.question.label} {case_heading(shown)}" if shown.case else self.question.label
        self.query_one("#ask").border_title = Content(one_line(title, 100))
        if shown.case is None or shown.request is None:
            self._say("answer", _why_not(shown))
        self.refresh_bindings()

    # ---- the judge

    def _show_judges(self, judges: tuple[KnownJudge, ...]) -> None:
        self._known = judges
        field = self.query_one("#try-judge", Input)
        if not field.value:
            self._take(self._known[0])

    def _take(self, judge: KnownJudge) -> None:
        for name, value in {"judge": judge.spec, **address_texts(judge.address)}.items():
            self.query_one(f"#try-{name}", Input).value = one_line(value)

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        if event.input.id != "try-judge":
            self.action_field(1)
            return
        # this job needs no database; its group lets a newer job replace it
        self.background.start("models", lambda _: local_judges(), self._show_models)
        self.app.push_screen(JudgePicker(self._judges(), self._note), self._picked)

    def _judges(self) -> list[KnownJudge]:
        return list(dict.fromkeys((*self._known, *self._local)))

    def _show_models(self, local: LocalJudges) -> None:
        self._local, self._note = local.judges, local.note
        if isinstance(self.app.screen, JudgePicker):
            self.app.screen.show(self._judges(), self._note)

    def _picked(self, judge: KnownJudge | None) -> None:
        if judge is not None:
            self._take(judge)

    def _spec(self) -> JudgeSpec:
        """The judge in the fields. Raises UsageError when there is none, and for an address that cannot be used."""
        texts = {name: self.query_one(f"#try-{name}", Input).value.strip() for name, _, _ in FIELDS}
        if not texts["judge"]:
            raise UsageError("no judge was given", next_step="Type one, or press enter to choose.")
        return read_address(texts).judge_named(texts["judge"])

    # ---- asking

    def action_ask(self) -> None:
        if self._asking is not None:
            return
        try:
            spec = self._spec()
            if self.shown is None or self.shown.case is None:
                raise NotFoundError(
                    "there is no case to ask about", "The project has no case that fits this prompt."
                )
        except RecjudgeError as error:
            self.host.show_error(error)
            return
        self._asking = threading.Event()
        job = partial(
            _try,
            prompt_id=self.question.prompt_id,
            case_id=self.shown.case["id"],
            spec=spec,
            order=self.shown.order,
            cancelled=self._asking,
        )
        self._say("asking", Content.styled(f"asking {one_line(spec.spec, 60)}   esc cancels", "dim"))
        self.background.start("try", job, self._show_trial, self._trial_failed)
        self.refresh_bindings()

    def _trial_failed(self, error: RecjudgeError) -> None:
        if self._asking is not None:
            self._asking = None
            self.refresh_bindings()
            self._say("answer", Content.styled("no call was made", "dim"))
            self.host.show_error(error)

    def _show_trial(self, trial: Trial) -> None:
        if self._asking is None:
            return
        self._asking = None
        self.refresh_bindings()
        self.trial = trial
        self.query_one("#answer").border_title = Content("answer" if trial.parsed else "no answer")
        pane = self.query_one(TextPane)
        whose = systems_of(self.shown) if self.shown is not None else ""
        pane.show(lambda _: trial_content(trial, whose, glyphs()))
        pane.focus()

    def _give_up(self) -> bool:
        """Cancel the current call; False if there is none."""
        if self._asking is None:
            return False
        self._asking.set()
        self._asking = None
        return True

    def _say(self, title: str, text: Content) -> None:
        pane = self.query_one(TextPane)
        pane.border_title = Content(title)
        pane.show(lambda _: text)

    # ---- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.focused, Input) and action in ("app.show_keys", "leave"):
            return False
        if action == "ask":
            return self._asking is None
        if action == "flip":
            return self._asking is None and self.shown is not None and len(self.shown.orders) > 1
        return super().check_action(action, parameters)

    def action_field(self, by: int) -> None:
        if by > 0:
            self.focus_next()
        else:
            self.focus_previous()

    def action_flip(self) -> None:
        if self.shown is not None and self.shown.orders:
            orders = self.shown.orders
            self._order = orders[(orders.index(self.shown.order) + 1) % len(orders)]
            self._find_case()

    def action_step_back(self) -> None:
        if self._give_up():
            self._say("answer", Content.styled(f"cancelled; nothing was stored\n\n{_HINT}", "dim"))
            self.refresh_bindings()
        else:
            self.action_leave()


def _why_not(shown: CasePreview) -> Content:
    if shown.error is not None:
        return Content(one_line(shown.error, 2000))
    return Content(f"This project has no case of kind {shown.kind}, which this prompt needs.")


def _try(
    db: Database, prompt_id: int, case_id: int, spec: JudgeSpec, order: Order, cancelled: threading.Event
) -> Trial:
    return try_prompt(db, prompt_by_id(db, prompt_id), case_id, spec, order, cancelled=cancelled)
