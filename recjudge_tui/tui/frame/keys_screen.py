"""`?`: the actions of the screen below with their keys, and an explanation of the app's terms, with a search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static

from recjudge_tui.tui.kit.click_text import DialogHint
from recjudge_tui.tui.kit.dialogs import Dialog
from recjudge_tui.tui.kit.glyphs import wrapped
from recjudge_tui.tui.kit.key_line import key_hint

# the groups in reading order: actions come first
DO, GO, MOVE, EVERYWHERE = "Do", "Go to", "Move", "On every screen"
_GO_ACTIONS = ("go", "open", "runs", "queue", "verdicts", "sent", "prompt", "compare", "views", "paper")
_MOVE_ACTIONS = (
    "move", "page", "first", "last", "step", "edge", "column", "block", "next_part", "next_undecided", "unfold", "panel",
    "cursor_", "scroll", "turn",
)  # fmt: skip

# definitions of the terms used on the screens, one or two lines each
TERMS: tuple[tuple[str, str], ...] = (
    ("aspect", "What a verdict is about, such as accuracy; “overall” is the verdict as a whole."),
    ("attention", "The order of the queue: against people, judges that disagree, flips, low confidence, failures."),
    ("blind", "Annotators label blind: they see other verdicts on a case only after giving their own."),
    ("case", "What can be judged: one user's list, two lists of one user, or one explanation."),
    ("ceiling", "How well people agree with each other on the same cases. A judge cannot be trusted to do better."),
    ("consensus", "A rater made from several annotators by a rule, such as the harsher label."),
    ("ensemble", "A rater made from several judges, such as their mean or the label of the majority."),
    ("failed", "A verdict without an answer, because a call failed. It is counted, but is never a tie or a number."),
    ("flag", "An item that a judge or a person marked, with the reason: already owned, off topic, and so on."),
    ("flip", "The two orders of one pair gave different answers, so the position decided. It counts as a tie."),
    ("held out", "What the user did after the list was made. Judges never see it; offline metrics use it."),
    ("judge", "A language model, or the built-in rules, that gives verdicts."),
    ("kappa (κ)", "Agreement beyond chance: 1 is complete, 0 is what chance alone would give."),
    ("occasion", "One visit of a user, by context and time (filter: context: from: to:). Lists are compared within one."),
    ("override", "A reader's own verdict in place of a rater's. Both are kept."),
    ("position tie", "A tie caused by a flip. Tables count it as a tie and also show it separately from true ties."),
    ("protocol", "How a case is judged: pointwise, pairwise, arena, absolute or explanation."),
    ("Q", "(wins + ties) / (losses + ties) of a system. Above 1 it wins more than it loses."),
    ("queue", "The verdicts that need a reader and have no decision yet."),
    ("rater", "Anything that gives verdicts: a judge, a person, a consensus, a metric."),
    ("reader", "You, when you read verdicts and accept, dismiss or override them."),
    ("run", "The calls of one judge on a choice of cases. It can be stopped and resumed."),
    ("separable", "More users prefer one of two systems than chance would explain (p < .05 over all pairs)."),
    ("spread", "The highest minus the lowest score that raters gave to the same case."),
    ("swap", "The same pair shown again in the other order, to see whether the answer stays the same."),
    ("system", "A recommender, or whatever made the explanation, that is compared with others."),
    ("triage", "Reading doubtful verdicts one by one and deciding on each."),
    ("verdict", "What a rater decided on one case and aspect, from the answers of one or more calls."),
)  # fmt: skip


class KeyRow(NamedTuple):
    group: str
    key: str
    text: str


class KeyHelp(Dialog[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close", id="keys.close"),
        Binding("down", "scroll(1)", "down", show=False, id="keys.down"),
        Binding("up", "scroll(-1)", "up", show=False, id="keys.up"),
        Binding("pagedown", "scroll(15)", "page down", show=False, id="keys.page_down"),
        Binding("pageup", "scroll(-15)", "page up", show=False, id="keys.page_up"),
    ]

    def __init__(self, keys: list[KeyRow]) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content("Keys and terms")
            yield Input(placeholder="search keys and terms", compact=True, id="keys-search")
            with VerticalScroll(classes="dialog-text", can_focus=False):
                yield Static(id="keys-list")
            keys = key_hint(self.app, ("keys.close", "esc", "close"))
            yield DialogHint(f"{keys}   ↑↓ scroll")

    @on(Input.Changed)
    def _search(self) -> None:
        self._list()

    def on_resize(self) -> None:
        self._list()

    def _list(self) -> None:
        words = self.query_one(Input).value.casefold().split()
        width = max(self.query_one(VerticalScroll).scrollable_content_region.width, 30)
        lines = list(_listing(self._keys, words, width))
        self.query_one("#keys-list", Static).update(
            Content("\n").join(lines or [Content("no key or term matches")])
        )

    def action_scroll(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


def _listing(keys: Iterable[KeyRow], words: list[str], width: int) -> Iterator[Content]:
    def matches(*texts: str) -> bool:
        return all(word in " ".join(texts).casefold() for word in words)

    shown = [row for row in keys if matches(row.key, row.text)]
    beside = max((cell_len(row.key) for row in shown), default=0)
    first = True
    for group in (DO, GO, MOVE, EVERYWHERE):
        rows = [row for row in shown if row.group == group]
        if rows:
            yield from _title(group, first)
            first = False
        for row in rows:
            space = " " * (beside - cell_len(row.key))
            yield Content.assemble((f"  {space}{row.key}", "bold $accent"), f"  {row.text}")
    explained = [(term, meaning) for term, meaning in TERMS if matches(term, meaning)]
    if explained:
        yield from _title("Terms", first)
    column = max(cell_len(term) for term, _ in TERMS) + 4
    for term, meaning in explained:
        for at, line in enumerate(wrapped(meaning, max(width - column, 20))):
            head = f"  {term}" if at == 0 else ""
            yield Content.assemble((head + " " * (column - cell_len(head)), "bold"), line)


def _title(text: str, first: bool) -> Iterator[Content]:
    if not first:
        yield Content("")
    yield Content.styled(text, "bold $accent")


def by_importance(screen: Screen[Any]) -> list[ActiveBinding]:
    """The keys active on the screen now; those in its last line come first."""
    return sorted(screen.active_bindings.values(), key=lambda active: not active.binding.show)


def keys_of(screen: Screen[Any]) -> list[KeyRow]:
    """All keys active on the screen now; equal actions share a row."""
    merged: dict[tuple[str, str, str], list[str]] = {}
    for _, binding, enabled, _ in by_importance(screen):
        # bindings of Textual without a description of ours are left out
        if enabled and binding.description and binding.id:
            row = (group_of(binding), binding.action, binding.description)
            merged.setdefault(row, []).append(binding.key_display or screen.app.get_key_display(binding))
    return [KeyRow(group, " ".join(dict.fromkeys(keys)), text) for (group, _, text), keys in merged.items()]


def group_of(binding: Binding) -> str:
    """The group of a key's action."""
    if (binding.id or "").startswith("app.") and binding.action != "import":
        return EVERYWHERE
    action = binding.action.partition("(")[0]
    if action in _GO_ACTIONS:
        return GO
    return MOVE if action.startswith(_MOVE_ACTIONS) else DO
