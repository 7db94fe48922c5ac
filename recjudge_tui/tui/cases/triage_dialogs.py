"""The dialogs of triage: another verdict for a case, and where to keep it."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from recjudge_tui.domain.text import one_line
from recjudge_tui.store.triage import Choices
from recjudge_tui.store.verdicts import LABELLED
from recjudge_tui.tui.kit.click_text import ClickText, DialogHint, clickable
from recjudge_tui.tui.kit.dialogs import Dialog
from recjudge_tui.tui.kit.glyphs import glyphs, score

_MOST_STEPS = 9


class OverrideDialog(Dialog["tuple[str, float] | None"]):
    """Returns (label, value), or None when it was cancelled. One key for each label, or a number for other scales."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "cancel", id="override.cancel"),
    ]

    def __init__(self, choices: Choices, about: str, systems: tuple[str, ...] = ()) -> None:
        """`systems`: A and B of a comparison, which its rows name."""
        super().__init__()
        self._choices, self._about, self._systems = choices, about, systems
        self._keys = _keys(choices)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content("Override the verdict")
            yield Static(Content(one_line(self._about, 200)), classes="dialog-text")
            if self._keys:
                yield ClickText(Content("\n").join(self._rows()), id="override-choices")
            else:
                yield Input(placeholder=self._range(), compact=True, type="number")
                yield Static(id="override-wrong")
            yield DialogHint("esc cancel")

    def _rows(self) -> list[Content]:
        return [
            _row(key, self._named(key, *answer), f"screen.answer('{key}')")
            for key, answer in self._keys.items()
        ]

    def _named(self, key: str, label: str, value: float) -> str:
        return answer_text(self._systems, label, value) if label != key else ""

    def _range(self) -> str:
        symbols = glyphs()
        return f"a number from {score(self._choices.low, symbols)} to {score(self._choices.high, symbols)}"

    def on_key(self, event: events.Key) -> None:
        if event.character is not None and event.character.lower() in self._keys:
            event.stop()
            self.action_answer(event.character.lower())

    def action_answer(self, key: str) -> None:
        self.dismiss(self._keys[key])

    @on(Input.Submitted)
    def _number(self, event: Input.Submitted) -> None:
        try:
            value = float(event.value)
        except ValueError:
            value = float("nan")
        if self._choices.low <= value <= self._choices.high:
            self.dismiss((f"{value:g}", value))
        else:
            self.query_one("#override-wrong", Static).update(Content(f"Enter {self._range()}."))


def answer_text(systems: tuple[str, ...], label: str, value: float) -> str:
    """The system that an answer about two lists chooses; else the label."""
    if len(systems) == 2 and value:
        return one_line(systems[0 if value > 0 else 1], 60)
    return one_line(label, 40)


class KeepDialog(Dialog["str | None"]):
    """Asks where to keep the reader's own verdict. Returns `labels`, `example` or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1,l", "dismiss('labels')", "to the labels", key_display="1", id="keep.labels"),
        Binding("2,e", "dismiss('example')", "to the prompt's examples", key_display="2", id="keep.example"),
        Binding("escape,q", "dismiss(None)", "cancel", key_display="esc", id="keep.cancel"),
    ]

    def __init__(self, about: str = "") -> None:
        super().__init__()
        self._about = about

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content(
                " ".join(["Keep your verdict", *(["on", self._about] if self._about else [])])
            )
            yield ClickText(
                Content("\n").join(
                    [
                        _row(
                            "1",
                            f"in the labelled set, as the annotator “{LABELLED}”",
                            "screen.dismiss('labels')",
                        ),
                        _row(
                            "2", "as an example in its prompt, in a new version", "screen.dismiss('example')"
                        ),
                    ]
                ),
                classes="dialog-text",
            )
            yield DialogHint("esc cancel")


def _row(key: str, text: str, action: str) -> Content:
    """A line that is also clicked."""
    line = Content.assemble((f" {key} ", "bold $accent"), f" {text}" if text else "")
    return clickable(line, action)


def _keys(choices: Choices) -> dict[str, tuple[str, float]]:
    """Key -> its answer: 1, 2, 3 in the order of the labels, or the steps of a scale of whole numbers.

    Labels that are digits are their own keys, so 5 never gives 1.
    """
    if choices.labels and all(len(label) == 1 and label in "0123456789" for label, _ in choices.labels):
        return {label: (label, value) for label, value in choices.labels}
    if choices.labels:
        return {str(place): labelled for place, labelled in enumerate(choices.labels[:_MOST_STEPS], 1)}
    low, high = choices.low, choices.high
    if (
        low == int(low)
        and high == int(high)
        and 1 < high - low <= _MOST_STEPS
        and low >= 0
        and high <= _MOST_STEPS
    ):
        return {str(step): (str(step), float(step)) for step in range(int(low), int(high) + 1)}
    return {}
