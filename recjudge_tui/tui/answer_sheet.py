"""The sheet on which one case is labelled: its text, the answers, the flags."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from recjudge_tui.domain.annotation import MOST_EVENTS, AspectAnswer, AspectQuestion, CaseAnswers, ItemFlag
from recjudge_tui.domain.material import ItemView, Material, UserView
from recjudge_tui.domain.options import Option
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.tui.case import item_words, user_facts, user_lines
from recjudge_tui.tui.form import Form
from recjudge_tui.tui.widgets import GLYPHS, LONGEST_TEXT, fit, title_rule, wrapped

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
        try:
            value = float(typed)
        except ValueError:
            value = math.nan
        if question.low <= value <= question.high:
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
        name = fit(one_line(question.aspect.replace("_", " "), _ASPECT), _ASPECT)
        head = f"{GLYPHS.crumb if here else ' '} {name if len(self.questions) > 1 else ''} "
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
_HEADING = re.compile(r"^#.*$", re.MULTILINE)
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
    return Content(safe_text(text[: 10 * LONGEST_TEXT])).highlight_regex(_HEADING, style="bold $accent")


class Opinion(NamedTuple):
    """What one person or judge said about a case; `notes` are its reasons."""

    name: str
    words: str
    kind: str = ""
    notes: tuple[str, ...] = ()


def words_of(questions: Sequence[AspectQuestion], values: Mapping[str, float | None]) -> str:
    """The answers in the words of the questions; None is a failed one."""
    shown = []
    for question in questions:
        if question.aspect in values:
            value = values[question.aspect]
            words = f"{GLYPHS.failed} failed" if value is None else question.said(value)
            shown.append(f"{question.aspect.replace('_', ' ')} {words}" if len(questions) > 1 else words)
    return one_line(", ".join(shown), 400)


def opinions_content(title: str, about: str, opinions: Sequence[Opinion], width: int) -> Content:
    """The opinions one under the other, then the reasons of those that gave any."""
    lines = [title_rule(title, width), *([Content.styled(about, "dim")] if about else [])]
    for said in opinions:
        name, kind = fit(one_line(said.name, 23), 24), said.kind.replace("_", " ")
        lines.append(Content.assemble((name, "bold"), said.words, (f"  {kind}" if kind else "", "dim")))
    lines += [
        Content.assemble((f"{one_line(said.name, 40)}: ", "bold"), safe_text(note[:LONGEST_TEXT]).strip())
        for said in opinions
        for note in said.notes
    ]
    return Content("\n").join([*lines, Content("")])


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
    room, style = max(width - 5, 12), "$success" if shared else ""
    first, *rest = wrapped(item_words(item), room) or [""]
    lines = [(f"{'=' if shared else ' '}{rank:2} {first}", style), *((f"    {line}", style) for line in rest)]
    abstract = wrapped(one_line(item.attributes.get("abstract", ""), _ABSTRACT), room)
    return [Content.styled(*line) for line in (*lines, *((f"    {line}", "dim") for line in abstract))]


def _beside(left: Sequence[Content], right: Sequence[Content], at: int) -> Iterator[Content]:
    """Two blocks of lines, the second one beginning in cell `at`."""
    for left_line, right_line in zip_longest(left, right, fillvalue=Content("")):
        yield Content.assemble(left_line, " " * max(at - left_line.cell_length, 1), right_line).rstrip()


def _user(user: UserView, width: int) -> Iterator[Content]:
    yield title_rule(f"User on {one_line(user.as_of[:10], 10)}" if user.as_of else "User", width)
    facts = [Content(user_facts(user))] if user.attributes else []
    lines = [*facts, *user_lines(user, LONGEST_TEXT, most=MOST_EVENTS)]
    for line in lines or [Content.styled("no data about this user", "dim")]:
        yield from line.wrap(width)


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
