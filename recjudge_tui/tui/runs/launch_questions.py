"""The widgets of the second and third question of the run form: which judge, and how many cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from recjudge_tui.domain.text import one_line
from recjudge_tui.tui.kit.choice import Choice
from recjudge_tui.tui.kit.glyphs import glyphs, number
from recjudge_tui.tui.kit.judge_picker import BUILT_IN, KnownJudge

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
        shown = number(int(self._count)) if self._count else "…"
        everything = "all" if self._all is None else f"all {number(self._all)}"
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
        rest = f"   {f' {glyphs().dot} '.join(others)}"
        if chosen.cell_length + len(rest) > self.content_size.width:
            return chosen
        return Content.assemble(chosen, (rest, "dim"))
