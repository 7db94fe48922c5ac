"""The questions of one case with the answers given so far, the flags and the note; shown below the case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from recjudge_tui.domain.annotation import AspectAnswer, AspectQuestion, CaseAnswers, ItemFlag
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import one_line
from recjudge_tui.tui.kit.glyphs import fit, glyphs

_ASPECT = 16
_MOST_FLAGS = 3
_LONGEST_NUMBER = 6
_CHOSEN = "bold reverse"


class AnswerSheet(Widget):
    """Receives answers through `press` and stores nothing. Its height depends on the questions."""

    DEFAULT_CSS = """
    AnswerSheet { height: auto; border: round $accent; padding: 0 1; border-subtitle-color: $warning; }
    .-ascii AnswerSheet { border: ascii $primary; }
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
        width, symbols = max(self.content_size.width, 20), glyphs()
        lines: list[Content] = []
        if self.questions and self.questions[self.at].question:
            lines.append(Content.styled(one_line(self.questions[self.at].question, width), "dim"))
        lines += [self._line(place, question, width) for place, question in enumerate(self.questions)]
        for flag in self.flags[-_MOST_FLAGS:]:
            title = self._titles.get(flag.item_id, flag.item_id)
            reason = f" ({one_line(flag.reason, 80)})" if flag.reason else ""
            text = f"{symbols.marked} {one_line(title, 40)}: {one_line(flag.issue, 40)}{reason}"
            lines.append(Content.styled(one_line(text, width), "$warning"))
        if len(self.flags) > _MOST_FLAGS:
            lines.append(Content.styled(f"{symbols.cut} {len(self.flags) - _MOST_FLAGS} more flagged", "dim"))
        if self.note:
            lines.append(Content.assemble(("note ", "dim"), one_line(self.note, width - 5)))
        return Content("\n").join(lines)

    def _line(self, place: int, question: AspectQuestion, width: int) -> Content:
        symbols = glyphs()
        here = place == self.at and not self.locked
        name = (
            fit(one_line(question.aspect.replace("_", " "), _ASPECT), _ASPECT, symbols)
            if len(self.questions) > 1
            else ""
        )
        head = f"{symbols.crumb if here else ' '} {name} "
        given = self._answers.get(question.aspect)
        if not question.options:
            return Content.assemble(
                (head, "bold" if here else ""), *self._number_parts(question, given, here)
            )
        parts: list[tuple[str, str]] = [(head, "bold" if here else "")]
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

    def _number_parts(
        self, question: AspectQuestion, given: AspectAnswer | None, here: bool
    ) -> list[tuple[str, str]]:
        typed = self._typed.get(question.aspect, "")
        bounds = (f"{question.low:g} to {question.high:g}: ", "dim")
        wrong = bool(typed) and given is None
        return [bounds, (f"{typed or '_'}", "bold $error" if wrong else _CHOSEN if typed else "bold" if here else "dim"),
                ("  not on the scale" if wrong else "", "$error")]  # fmt: skip


def _number(typed: str) -> float | None:
    try:
        return float(typed)
    except ValueError:
        return None
