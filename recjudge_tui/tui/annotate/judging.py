"""The base of the labelling screens: the case, the guidelines, the answers and their keys, and the time taken."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from recjudge_tui.domain.annotation import AspectQuestion, CaseAnswers, ItemFlag
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.tui.annotate.answer_sheet import AnswerSheet
from recjudge_tui.tui.annotate.flag_form import FlagForm
from recjudge_tui.tui.annotate.text import guidelines_content, shown_content, titles_of
from recjudge_tui.tui.kit.base_screen import COMMON, BaseScreen
from recjudge_tui.tui.kit.dialogs import AskLine, Confirm
from recjudge_tui.tui.kit.glyphs import glyphs
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.top_bar import TopBar

if TYPE_CHECKING:
    from recjudge_tui.people.annotation import ShownCase

_KEYS = [*"0123456789", "a", "t", "b"]
_WORDS = {"a": "list 1 is better", "t": "tie", "b": "list 2 is better"}
_NAMED = {"full_stop": ".", "backspace": "backspace"}


class JudgingScreen(BaseScreen):
    """A screen for labelling cases. Subclasses define `keep`, `skip_case` and the title."""

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
    .-ascii JudgingScreen #shown, .-ascii JudgingScreen #guidelines { border: ascii $primary; }
    """
    ANSWER_KEYS: ClassVar[list[BindingType]] = [
        *[
            Binding(
                key,
                f"answer({key!r})",
                _WORDS.get(key, f"answer {key}"),
                show=False,
                id=f"judging.answer_{key}",
            )
            for key in _KEYS
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

    def keep(self, judged: CaseAnswers, seconds: float) -> None:
        raise NotImplementedError

    def skip_case(self, reason: str, seconds: float) -> None:
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
            sheet.show(questions, own, titles_of(shown.material, glyphs()), locked=locked)
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
            parts.append(shown_content(self.shown.material, width, glyphs()))
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
        self.keep(sheet.judged(), self.time.seconds)

    def action_skip(self) -> None:
        self.time.touch()
        self.app.push_screen(
            AskLine("Skip this case", "Why can this case not be judged? The reason is stored."), self._skip
        )

    def _skip(self, reason: str | None) -> None:
        if reason is not None:
            self.time.touch()
            self.busy = True
            self.skip_case(reason, self.time.seconds)

    def action_note(self) -> None:
        sheet = self.query_one(AnswerSheet)
        self.app.push_screen(
            AskLine("Note on this case", "A short note, stored with the verdict", sheet.note), self._noted
        )

    def _noted(self, note: str | None) -> None:
        if note is not None:
            self.query_one(AnswerSheet).set_note(note)

    def action_flag(self) -> None:
        if self.shown is not None:
            self.time.touch()
            titles = titles_of(self.shown.material, glyphs())
            self.app.push_screen(FlagForm(titles, self.shown.issues), self._flagged)

    def _flagged(self, flag: ItemFlag | None) -> None:
        if flag is not None:
            self.query_one(AnswerSheet).add_flag(flag)

    def action_drop_flag(self) -> None:
        self.time.touch()
        self.query_one(AnswerSheet).drop_flag()

    def action_leave(self) -> None:
        """Leave: wait for a verdict that is being stored, and ask about unconfirmed input."""
        if self.busy and self.shown is not None:
            self._leaving = True
        elif self.query_one(AnswerSheet).changed and self.shown is not None:
            text = "Your answers to this case are not confirmed and will be lost. Earlier cases are saved."
            self.app.push_screen(Confirm("Leave?", text, "leave", "stay"), self._left)
        else:
            self.leave_now()

    def _left(self, sure: bool | None) -> None:
        if sure:
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
