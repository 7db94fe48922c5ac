"""The sheet on which one case is labelled: its text, the answers, the flags."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from recjudge_tui.domain.annotation import MOST_EVENTS, AspectAnswer, AspectQuestion, CaseAnswers, ItemFlag
from recjudge_tui.domain.event_types import RATING
from recjudge_tui.domain.material import ItemView, Material, ShownEvent, UserView
from recjudge_tui.domain.options import Option
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.tui.case import item_words
from recjudge_tui.tui.dialogs import AskLine, Confirm
from recjudge_tui.tui.form import Form
from recjudge_tui.tui.screens import COMMON, BaseScreen
from recjudge_tui.tui.widgets import (
    GLYPHS,
    LONGEST_TEXT,
    KeyLine,
    TopBar,
    fit,
    title_rule,
    wrapped,
)

if TYPE_CHECKING:
    from recjudge_tui.people.annotation import Ballot, ShownCase
    from recjudge_tui.store.database import StoredRow


# ---- answer sheet ------------------------------------------------------------------------------------------------


_ASPECT = 16
_MOST_FLAGS = 3
_LONGEST_NUMBER = 6
_CHOSEN = "bold reverse"


class AnswerSheet(Widget):
    """Receives answers through `press` and stores nothing. Its height depends on the questions."""

    DEFAULT_CSS = """
    AnswerSheet { height: auto; border: round $accent; padding: 0 1; border-subtitle-color: $warning; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.questions: tuple[AspectQuestion, ...] = ()
        self.at = 0
        self.flags: tuple[ItemFlag, ...] = ()
        self.note = ""
        self.locked = False
        self._titles: Mapping[str, str] = {}
        self._answers: dict[str, AspectAnswer] = {}
        self._typed: dict[str, str] = {}
        self._before = CaseAnswers(())

    def show(
        self,
        questions: Sequence[AspectQuestion],
        given: CaseAnswers,
        titles: Mapping[str, str],
        *,
        locked: bool = False,
    ) -> None:
        """Show another case. `titles` names items by their id; a locked sheet accepts no answers."""
        self.questions, self.locked, self._titles = tuple(questions), locked, titles
        aspects = {question.aspect for question in questions}
        self._answers = {answer.aspect: answer for answer in given.answers if answer.aspect in aspects}
        self._typed = {q.aspect: f"{self._answers[q.aspect].value:g}"
                       for q in questions if not q.options and q.aspect in self._answers}  # fmt: skip
        self.flags, self.note = given.flags, given.note
        self._before = self.judged()
        self.at = 0
        self.border_subtitle = Content("")
        self.refresh(layout=True)

    # ---- answers

    def takes(self, key: str) -> bool:
        """Whether the key means something for the current question."""
        if self.locked or not self.questions:
            return False
        question = self.questions[self.at]
        if question.options:
            return any(key in option.keys for option in question.options)
        return key.isdigit() or key in (".", "backspace")

    def press(self, key: str) -> None:
        """Answer the current question and move to the next open one."""
        if not self.takes(key):
            return
        question = self.questions[self.at]
        if question.options:
            option = next(option for option in question.options if key in option.keys)
            self._answers[question.aspect] = AspectAnswer(question.aspect, option.value, option.label)
            self._on()
        else:
            self._type(question, key)
        self.border_subtitle = Content("")
        self.refresh(layout=True)

    def move(self, step: int) -> None:
        if self.questions:
            self.at = (self.at + step) % len(self.questions)
            self.refresh()

    def add_flag(self, flag: ItemFlag) -> None:
        """Add a flag; the same issue of the same item is listed only once."""
        others = [known for known in self.flags if known[:2] != flag[:2]]
        self.flags = (*others, flag)
        self.refresh(layout=True)

    def drop_flag(self) -> None:
        self.flags = self.flags[:-1]
        self.refresh(layout=True)

    def set_note(self, note: str) -> None:
        self.note = note
        self.refresh(layout=True)

    def judged(self) -> CaseAnswers:
        """The answers so far in the order of the questions, but the overall verdict first, if there is one."""
        ordered = sorted(self.questions, key=lambda question: question.aspect != OVERALL)
        given = [self._answers[q.aspect] for q in ordered if q.aspect in self._answers]
        return CaseAnswers(tuple(given), self.flags, self.note)

    def missing(self) -> str:
        """The first aspect without an answer, which becomes the current question; empty if all have one."""
        for place, question in enumerate(self.questions):
            if question.aspect not in self._answers:
                self.at = place
                self.refresh()
                return question.aspect.replace("_", " ")
        return ""

    @property
    def changed(self) -> bool:
        """Whether there is unsaved input."""
        return not self.locked and self.judged() != self._before

    def _on(self) -> None:
        """Move to the next open question after this one, or else to the next one."""
        places = [*range(self.at + 1, len(self.questions)), *range(self.at)]
        for place in places:
            if self.questions[place].aspect not in self._answers:
                self.at = place
                return
        self.at = min(self.at + 1, len(self.questions) - 1)

    def _type(self, question: AspectQuestion, key: str) -> None:
        typed = self._typed.get(question.aspect, "")
        typed = typed[:-1] if key == "backspace" else (typed + key)[:_LONGEST_NUMBER]
        self._typed[question.aspect] = typed
        value = _number(typed)
        if value is not None and question.low <= value <= question.high:
            # the label of a number is the number, as a judge's reply is stored
            self._answers[question.aspect] = AspectAnswer(question.aspect, value, f"{value:g}")
        else:
            self._answers.pop(question.aspect, None)

    # ---- painting

    def render(self) -> Content:
        width = max(self.content_size.width, 20)
        lines: list[Content] = []
        if self.questions and self.questions[self.at].question:
            lines.append(Content.styled(one_line(self.questions[self.at].question, width), "dim"))
        lines += [self._line(place, question, width) for place, question in enumerate(self.questions)]
        for flag in self.flags[-_MOST_FLAGS:]:
            title = self._titles.get(flag.item_id, flag.item_id)
            reason = f" ({one_line(flag.reason, 80)})" if flag.reason else ""
            text = f"{GLYPHS.marked} {one_line(title, 40)}: {one_line(flag.issue, 40)}{reason}"
            lines.append(Content.styled(one_line(text, width), "$warning"))
        if len(self.flags) > _MOST_FLAGS:
            lines.append(Content.styled(f"{GLYPHS.cut} {len(self.flags) - _MOST_FLAGS} more flagged", "dim"))
        if self.note:
            lines.append(Content.assemble(("note ", "dim"), one_line(self.note, width - 5)))
        return Content("\n").join(lines)

    def _line(self, place: int, question: AspectQuestion, width: int) -> Content:
        here = place == self.at and not self.locked
        name = (
            fit(one_line(question.aspect.replace("_", " "), _ASPECT), _ASPECT)
            if len(self.questions) > 1
            else ""
        )
        head = f"{GLYPHS.crumb if here else ' '} {name} "
        given = self._answers.get(question.aspect)
        parts: list[tuple[str, str]] = [(head, "bold" if here else "")]
        if not question.options:
            typed = self._typed.get(question.aspect, "")
            wrong = bool(typed) and given is None
            style = "bold $error" if wrong else _CHOSEN if typed else "bold" if here else "dim"
            parts += [(f"{question.low:g} to {question.high:g}: ", "dim"), (typed or "_", style)]
            parts += [("  not on the scale", "$error")] if wrong else []
        room = width - cell_len(head)
        for option in question.options:
            chosen = given is not None and given.value == option.value
            choice = option.words if option.words == option.keys[0] else f"{option.keys[0]} {option.words}"
            text = f"[{one_line(choice, 24)}]" if chosen else f" {one_line(choice, 24)} "
            if cell_len(text) > room:
                break
            room -= cell_len(text) + 1
            parts += [(text, _CHOSEN if chosen else "" if here else "dim"), (" ", "")]
        return Content.assemble(*parts)


def _number(typed: str) -> float | None:
    try:
        return float(typed)
    except ValueError:
        return None


# ---- flags -------------------------------------------------------------------------------------------------------


_FLAG = (
    Option("item_id", str, "The item: its number, or the arrows.", required=True, label="item"),
    Option("issue", str, "What is wrong with it: a number, or the arrows.", required=True, label="issue"),
    Option("reason", str, "Why, in a few words; may stay empty.", "", label="reason"),
)


def flag_form(items: Mapping[str, str], issues: Sequence[tuple[str, str]]) -> Form:
    """`items` names the items of the lists by id; `issues` are (name, meaning)."""
    none = ("", "choose")
    # of a single list the number before an item is its place
    listed = [(key, words.removeprefix(f"#{at} ")) for at, (key, words) in enumerate(items.items(), 1)]
    named = [(issue, f"{issue}: {meaning}") for issue, meaning in issues]
    return Form("Flag an item", _FLAG, {}, {"item_id": [none, *listed], "issue": [none, *named]}, does="flag")


# ---- text --------------------------------------------------------------------------------------------------------


_GAP = 2
_USER = 40
_BESIDE = 110
# a list of more lines than this pushes the user out of a small terminal
_LONG_LIST = 8
_BRIEF = 2
_ABSTRACT = 400


def shown_content(material: Material, width: int) -> Content:
    """The user and the material to judge, laid out for `width` cells, side by side if there is room."""
    what = list(_judged(material, width))
    if width >= _BESIDE and (material.slates or material.explanation):
        room = width - _USER - 2 * _GAP
        left = list(_user(material.user, _USER))
        return Content("\n").join(_beside(left, list(_judged(material, room)), _USER + 2 * _GAP))
    brief = _brief(material.user, width) if len(what) > _LONG_LIST else ()
    return Content("\n").join([*brief, *what, Content(""), *_user(material.user, width)])


def titles_of(material: Material) -> dict[str, str]:
    """item id -> `title (List 1 #3)`, each item once, in the order of the lists."""
    titles: dict[str, str] = {}
    for number, slate in enumerate(material.slates, 1):
        for rank, item in enumerate(slate.items, 1):
            where = f"List {number} #{rank}" if len(material.slates) > 1 else f"#{rank}"
            titles.setdefault(item.item_id, f"{where} {item_words(item)}")
    return titles


def guidelines_content(text: str) -> Content:
    """The guidelines with their headings highlighted."""
    lines = safe_text(text[: 10 * LONGEST_TEXT]).split("\n")
    return Content("\n").join(
        Content.styled(line.lstrip("# "), "bold $accent") if line.startswith("#") else Content(line)
        for line in lines
    )


def reveal_content(
    others: Sequence[StoredRow],
    questions: Sequence[AspectQuestion],
    systems: Sequence[str],
    own: str,
    width: int,
) -> Content:
    """Everybody's verdicts side by side, the annotator's own first, then the reasoning of each of the others."""
    lines = [title_rule("Everybody's verdicts", width)]
    if len(systems) > 1:
        names = "   ".join(f"List {n} = {one_line(name, 30)}" for n, name in enumerate(systems, 1))
        lines.append(Content.styled(names, "dim"))
    elif systems:
        lines.append(Content.styled(f"made by {one_line(systems[0], 40)}", "dim"))
    lines += _opinions(others, questions, own)
    reasonings = list(
        dict.fromkeys((verdict.rater, verdict.reasoning) for verdict in others if verdict.reasoning)
    )
    for rater, reasoning in reasonings:
        lines.append(Content.styled(one_line(rater, 40), "bold"))
        lines.append(Content(safe_text(reasoning[:LONGEST_TEXT]).strip()))
    return Content("\n").join(lines)


def ballots_content(ballots: Sequence[Ballot], questions: Sequence[AspectQuestion], width: int) -> Content:
    """The answers of unnamed annotators to a case on which they differ."""
    lines = [title_rule("The annotators differ", width)]
    column = max(min((width - 18) // max(len(ballots), 1), 24), 10)
    heads = [fit(f"annotator {n}", column) for n in range(1, len(ballots) + 1)]
    lines.append(Content.assemble(" " * 18, ("".join(heads), "bold")).rstrip())
    for place, question in enumerate(questions):
        name = fit(one_line(question.aspect.replace("_", " "), 17), 18)
        cells = [fit(one_line(ballot.words[place] or GLYPHS.none, column - 1), column) for ballot in ballots]
        lines.append(Content.assemble(name, ("".join(cells), "$warning")).rstrip())
    for number, ballot in enumerate(ballots, 1):
        if ballot.note:
            head = (f"annotator {number}: ", "bold")
            lines.append(Content.assemble(head, safe_text(ballot.note[:LONGEST_TEXT]).strip()))
    return Content("\n").join([*lines, Content("")])


def _opinions(
    others: Sequence[StoredRow], questions: Sequence[AspectQuestion], own: str
) -> Iterator[Content]:
    words = {question.aspect: {o.value: o.words for o in question.options} for question in questions}
    by_rater: dict[tuple[str, str], list[str]] = {}
    several = len(questions) > 1
    for verdict in (verdict for verdict in others if verdict.aspect in words):
        text = _words(verdict, words[verdict.aspect])
        named = f"{verdict.aspect.replace('_', ' ')} {text}" if several else text
        by_rater.setdefault((verdict.rater, verdict.rater_kind), []).append(one_line(named, 40))
    yield Content.assemble((fit("you", 24), "bold $accent"), own)
    if not by_rater:
        yield Content.styled("no other verdicts on this case yet", "dim")
    for (rater, kind), verdict_texts in by_rater.items():
        kind_text = kind if kind != "rules" else "rules, no language model"
        yield Content.assemble(
            (fit(one_line(rater, 23), 24), "bold"),
            ", ".join(verdict_texts),
            (f"  {kind_text.replace('_', ' ')}", "dim"),
        )


def _words(verdict: StoredRow, known: Mapping[float, str]) -> str:
    if verdict.value is None:
        return f"{GLYPHS.failed} failed"
    return known.get(verdict.value) or verdict.label or f"{verdict.value:.3g}"


def _judged(material: Material, width: int) -> Iterator[Content]:
    if material.explanation is not None:
        yield title_rule("Recommended", width)
        yield Content.styled(item_words(material.explanation.item), "bold")
        yield title_rule("Explanation", width)
        yield Content(safe_text(material.explanation.text[:LONGEST_TEXT]).strip())
    if not material.slates:
        return
    column = (width - _GAP * (len(material.slates) - 1)) // len(material.slates)
    names = ["List"] if len(material.slates) == 1 else ["List 1", "List 2"]
    heads = [title_rule(name, column) for name in names]
    yield from _beside(heads[:1], heads[1:], column + _GAP)
    shared = set.intersection(*({i.item_id for i in slate.items} for slate in material.slates))
    cells = [
        [_item(item, rank, column, item.item_id in shared and len(names) > 1)
         for rank, item in enumerate(slate.items, 1)]
        for slate in material.slates
    ]  # fmt: skip
    for row in zip_longest(*cells, fillvalue=[]):
        yield from _beside(row[0], row[1] if len(row) > 1 else [], column + _GAP)


def _item(item: ItemView, rank: int, width: int, shared: bool) -> list[Content]:
    """The item's text, wrapped under its number; `=` marks an item that is in both lists."""
    lines = wrapped(item_words(item), max(width - 5, 12)) or [""]
    head_lines = [
        Content.styled(
            f"{'=' if shared else ' '}{rank:2} {line}" if at == 0 else f"    {line}",
            "$success" if shared else "",
        )
        for at, line in enumerate(lines)
    ]
    abstract = one_line(item.attributes.get("abstract", ""), _ABSTRACT)
    return head_lines + [
        Content.styled(f"    {line}", "dim") for line in wrapped(abstract, max(width - 5, 12))
    ]


def _beside(left: Sequence[Content], right: Sequence[Content], at: int) -> Iterator[Content]:
    """Two blocks of lines, the second one beginning in cell `at`."""
    for left_line, right_line in zip_longest(left, right, fillvalue=Content("")):
        yield Content.assemble(left_line, " " * max(at - left_line.cell_length, 1), right_line).rstrip()


def _user(user: UserView, width: int) -> Iterator[Content]:
    date = f"User on {one_line(user.as_of[:10], 10)}" if user.as_of else "User"
    yield title_rule(date, width)
    facts = [f"{one_line(k, 30)}: {one_line(v, 80)}" for k, v in user.attributes.items()]
    attributes = (
        ("", "; ".join(facts)),
        ("browsed ", ", ".join(user.browsed)),
        ("prefers ", "; ".join(user.preferences)),
    )
    for head, text in attributes:
        for at, line in enumerate(wrapped(one_line(text, LONGEST_TEXT), max(width - len(head), 12))):
            yield Content.assemble((head if at == 0 else " " * len(head), "dim"), line)
    events = (
        ("history", user.history),
        ("searches", user.searches),
        ("clicks", user.clicks),
        ("other", user.others),
    )
    for title, shown_events in events:
        if shown_events:
            yield Content.styled(f"{title} ({len(shown_events)}), newest first", "bold")
            for event in shown_events[:MOST_EVENTS]:
                yield from _event(event, width)
    if not (facts or user.browsed or user.preferences or user.history or user.searches or user.clicks):
        yield Content.styled("no data about this user", "dim")


def _brief(user: UserView, width: int) -> Iterator[Content]:
    """The newest events in two lines above a list that leaves no room for them below."""
    events = [*user.history, *user.searches, *user.clicks]
    names = [
        one_line(event.item.title, 40) if event.item else f"“{one_line(event.text, 40)}”" for event in events
    ]
    lines = wrapped(f" {GLYPHS.dot} ".join([*user.preferences, *names]), max(width - 2, 12))
    if lines:
        yield title_rule("User, in short", width)
        yield from map(Content, lines[: _BRIEF - 1])
        if len(lines) >= _BRIEF:
            yield Content(lines[_BRIEF - 1] + (f" {GLYPHS.cut}" if len(lines) > _BRIEF else ""))


def _event(event: ShownEvent, width: int) -> Iterator[Content]:
    """Day, kind, value and the item's text, wrapped under the day."""
    what = item_words(event.item) if event.item else f"“{one_line(event.text, 200)}”"
    value = f" {event.value:g}" if event.value is not None and event.type == RATING else ""
    kind = "rated" if value else one_line(event.type, 20)
    head = " ".join(part for part in (one_line(event.timestamp[:10], 10), f"{kind}{value}") if part)
    for at, line in enumerate(wrapped(f"{head}: {what}", max(width - 4, 12))):
        cut = len(head) + 1 if at == 0 else 0
        yield Content.assemble("  " if at else "", (line[:cut], "dim"), line[cut:])


# ---- judging -----------------------------------------------------------------------------------------------------


_ANSWERS = {digit: f"answer {digit}" for digit in "0123456789"} | {
    "a": "list 1 is better",
    "t": "tie",
    "b": "list 2 is better",
}
_NAMED = {"full_stop": ".", "backspace": "backspace"}


class JudgingScreen(BaseScreen):
    """A screen for labelling cases. Subclasses define `settle_case` and the title."""

    AUTO_FOCUS = ""
    # Textual ignores the CSS of a screen that an app opens with, and reads only DEFAULT_CSS
    SCOPED_CSS = False
    DEFAULT_CSS = """
    JudgingScreen #judged { height: 1fr; }
    JudgingScreen #shown, JudgingScreen #guidelines { border: round $primary; border-title-color: $accent;
      padding: 0 1; scrollbar-size-vertical: 1; scrollbar-gutter: stable; width: 1fr; }
    JudgingScreen #guidelines { display: none; }
    JudgingScreen.-guided #guidelines { display: block; }
    JudgingScreen.-guided #shown { display: none; }
    JudgingScreen.-huge #shown, JudgingScreen.-huge #guidelines { display: block; }
    JudgingScreen.-huge #guidelines { width: 62; }
    JudgingScreen.-huge.-guided #guidelines { display: none; }
    """
    ANSWER_KEYS: ClassVar[list[BindingType]] = [
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
    ]
    LAST_KEYS: ClassVar[list[BindingType]] = [
        Binding("G", "guidelines", "guidelines", id="judging.guidelines"),
        Binding("tab", "guidelines", "guidelines", show=False, id="judging.guidelines_too"),
        *[binding for binding in COMMON if isinstance(binding, Binding) and binding.id != "app.next_panel"],
    ]

    def __init__(self, project_id: int, name: str) -> None:
        super().__init__()
        self.project_id = project_id
        self.shown: ShownCase | None = None
        self.time = ActiveTime()
        # between a confirmed answer and the next case, keys are ignored
        self.busy = True
        self._leaving = False
        self._title = name

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), self._title)
        with Horizontal(id="judged"):
            with VerticalScroll(id="shown", can_focus=False) as box:
                box.border_title = Content("Case")
                yield Static(Content.styled("reading", "dim"), id="shown-text")
            with VerticalScroll(id="guidelines", can_focus=False) as guidelines:
                guidelines.border_title = Content("Guidelines")
                yield Static(id="guidelines-text")
        yield AnswerSheet()
        yield KeyLine()

    # ---- for subclasses

    def settle_case(self, judged: CaseAnswers | None, seconds: float, reason: str) -> None:
        """Store the answers, or with None that the case was skipped for this reason."""
        raise NotImplementedError

    def head(self, width: int) -> Content | None:
        """What is shown above the case, if anything."""
        return None

    # ---- showing

    def show_case(
        self,
        shown: ShownCase | None,
        questions: tuple[AspectQuestion, ...],
        own: CaseAnswers,
        title: str,
        *,
        locked: bool = False,
    ) -> bool:
        """Show another case, or none. Returns False if the user wants to leave and everything is stored."""
        self.busy = False
        if self._leaving:
            self.leave_now()
            return False
        self.shown = shown
        box = self.query_one("#shown", VerticalScroll)
        box.border_title = Content(title)
        sheet = self.query_one(AnswerSheet)
        sheet.display = shown is not None
        if shown is not None:
            sheet.show(questions, own, titles_of(shown.material), locked=locked)
            self.query_one("#guidelines-text", Static).update(guidelines_content(shown.guidelines))
        self.lay_out()
        box.scroll_home(animate=False)
        self.time.begin()
        self.refresh_bindings()
        return True

    def lay_out(self) -> None:
        box = self.query_one("#shown", VerticalScroll)
        width = max(box.scrollable_content_region.width or self.size.width - 5, 20)
        parts = [part for part in (self.head(width),) if part is not None]
        if self.shown is not None:
            parts.append(shown_content(self.shown.material, width))
        self.query_one("#shown-text", Static).update(Content("\n").join(parts))

    def on_resize(self) -> None:
        if self.is_mounted and not self.busy:
            self.call_after_refresh(self.lay_out)

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
        self.query_one(AnswerSheet).press(key)

    def action_aspect(self, step: int) -> None:
        self.time.touch()
        self.query_one(AnswerSheet).move(step)

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
        self.call_after_refresh(self.lay_out)

    def action_keep(self) -> None:
        self.time.touch()
        sheet = self.query_one(AnswerSheet)
        missing = sheet.missing()
        if missing:
            sheet.border_subtitle = Content(f"no answer on {missing} yet")
            return
        self.busy = True
        self.settle_case(sheet.judged(), self.time.seconds, "")

    def action_skip(self) -> None:
        self.time.touch()
        ask = AskLine("Skip this case", "Why can this case not be judged? The reason is stored.")
        self.app.push_screen(ask, self._skip)

    def _skip(self, reason: str | None) -> None:
        if reason is not None:
            self.time.touch()
            self.busy = True
            self.settle_case(None, self.time.seconds, reason)

    def action_note(self) -> None:
        note = self.query_one(AnswerSheet).note
        ask = AskLine("Note on this case", "A short note, stored with the verdict", note)
        self.app.push_screen(ask, self._noted)

    def _noted(self, note: str | None) -> None:
        if note is not None:
            self.query_one(AnswerSheet).set_note(note)

    def action_flag(self) -> None:
        if self.shown is not None:
            self.time.touch()
            titles = titles_of(self.shown.material)
            self.app.push_screen(flag_form(titles, self.shown.issues), self._flagged)

    def _flagged(self, given: dict[str, Any] | None) -> None:
        if given is not None:
            self.query_one(AnswerSheet).add_flag(ItemFlag(**given))

    def action_drop_flag(self) -> None:
        self.time.touch()
        self.query_one(AnswerSheet).drop_flag()

    def action_leave(self) -> None:
        """Leave: wait for a verdict that is being stored, and ask about unconfirmed input."""
        if self.busy and self.shown is not None:
            self._leaving = True
        elif self.query_one(AnswerSheet).changed and self.shown is not None:
            text = "Your answers to this case are not confirmed and will be lost. Earlier cases are saved."
            self.app.push_screen(
                Confirm("Leave?", text, "leave", "stay"), lambda sure: self.leave_now() if sure else None
            )
        else:
            self.leave_now()

    def leave_now(self) -> None:
        self.host.leave_screen()

    def action_step_back(self) -> None:
        if self.has_class("-guided") and not self.has_class("-huge"):
            self.action_guidelines()
        else:
            self.action_leave()

    def case_failed(self, error: RecjudgeError) -> None:
        """A case could not be stored or read: the input stays."""
        self.busy = False
        self._leaving = False
        self.host.show_error(error)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        ours = ("answer", "aspect", "keep", "skip", "note", "flag", "drop_flag")
        if action in ours:
            sheet = self.query(AnswerSheet)
            if self.busy or self.shown is None or not sheet or sheet.first().locked:
                return False
            if action == "answer":
                return sheet.first().takes(str(parameters[0]))
            if action in ("flag", "drop_flag"):
                return bool(self.shown.issues and self.shown.material.slates)
            return action != "aspect" or len(sheet.first().questions) > 1
        return super().check_action(action, parameters)

    def _pane(self) -> VerticalScroll:
        narrow = self.has_class("-guided") and not self.has_class("-huge")
        return self.query_one("#guidelines" if narrow else "#shown", VerticalScroll)


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
