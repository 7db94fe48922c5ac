"""Keys: what the user chose, what each screen offers, and the screen that searches them."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, ClassVar, NamedTuple, cast

from rich.cells import cell_len
from textual import on
from textual.app import App, ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.dom import DOMNode
from textual.keys import Keys
from textual.screen import Screen
from textual.widgets import Input, Static, TextArea

from recjudge_tui.config_file import Fault, KeyRow, KeySetting, SettingsFile
from recjudge_tui.tui.dialogs import Dialog
from recjudge_tui.tui.themes import chosen_theme
from recjudge_tui.tui.widgets import DialogHint, key_hint, wrapped

# ---- bindings ----------------------------------------------------------------------------------------------------


_ROOM = "recjudge_tui.tui"
_PALETTE = Binding("ctrl+p", "command_palette", "command palette", priority=True)


class BoundKey(NamedTuple):
    """One key of one binding. `name` is the binding's id, or its description if it has none (Textual's own bindings)."""

    key: str
    name: str
    does: str
    ours: bool
    priority: bool


class Owner(NamedTuple):
    """A screen, dialog or widget that declares bindings. `keys` includes the inherited ones."""

    node: type[DOMNode]
    name: str
    declared: tuple[BoundKey, ...]
    keys: tuple[BoundKey, ...]

    @property
    def takes_text(self) -> bool:
        return issubclass(self.node, (Input, TextArea))


class Bindings(NamedTuple):
    """`shipped` maps the id of a binding to its keys, as Textual names them."""

    owners: tuple[Owner, ...]
    shipped: dict[str, tuple[str, ...]]


@cache
def bindings_of(app: type[App[Any]]) -> Bindings:
    """The bindings of the app and of everything in the package `tui`. Imports every screen, which takes a moment."""
    owners = tuple(sorted([_owner(app), *_owners(app.__module__)], key=lambda owner: owner.name))
    shipped: dict[str, list[str]] = {}
    for owner in owners:
        for bound in owner.declared:
            if bound.ours and bound.key not in shipped.setdefault(bound.name, []):
                shipped[bound.name].append(bound.key)
    return Bindings(owners, {name: tuple(keys) for name, keys in shipped.items()})


def _owners(app_module: str) -> Iterator[Owner]:
    package = import_module(_ROOM)
    for module in walk_packages(package.__path__, f"{_ROOM}."):
        if module.ispkg or module.name == app_module:
            continue
        for node in vars(import_module(module.name)).values():
            if (
                isinstance(node, type)
                and issubclass(node, DOMNode)
                and node.__module__ == module.name
                and "BINDINGS" in vars(node)
            ):
                yield _owner(node)


def _owner(node: type[DOMNode]) -> Owner:
    declared = cast("Iterable[Binding]", vars(node)["BINDINGS"])
    return Owner(node, _plain_name(node.__name__), _bound_keys(declared), _keys_of(node))


def _plain_name(name: str) -> str:
    """`CasesScreen` is “cases”, `RecjudgeApp` “app”, `JudgePicker` “judge picker”."""
    words = re.findall(r"[A-Z][a-z0-9]*", name)
    kept = [word for word in words if word not in ("Screen", "Recjudge", "Dialog")] or words
    return " ".join(kept).lower()


def _bound_keys(bindings: Iterable[Binding]) -> tuple[BoundKey, ...]:
    return tuple(
        BoundKey(b.key, b.id or b.description or b.action, b.description, b.id is not None, b.priority)
        for b in Binding.make_bindings(list(bindings))
    )


@cache
def _keys_of(node: type[DOMNode]) -> tuple[BoundKey, ...]:
    """The keys of a class as Textual merges them: a key declared by a subclass replaces the inherited one."""
    keys: dict[str, list[BoundKey]] = {}
    for base in reversed(node.__mro__):
        if not issubclass(base, DOMNode):
            continue
        if not getattr(base, "_inherit_bindings", True):
            keys.clear()
        nearer: dict[str, list[BoundKey]] = {}
        for bound in _bound_keys(vars(base).get("BINDINGS", ())):
            nearer.setdefault(bound.key, []).append(bound)
        keys.update(nearer)
    return tuple(bound for same_key in keys.values() for bound in same_key)


# ---- keymap ------------------------------------------------------------------------------------------------------


Keymap = dict[str, tuple[str, ...]]

# terminals and tmux use these themselves, or send another key
_TAKEN_KEYS = {f"ctrl+{key}" for key in "hijms"} | {"ctrl+enter"}
_TAKEN_MODIFIERS = {"alt", "cmd", "super", "meta", "hyper"}
_MODIFIERS = {"ctrl", "shift"}


def settle(settings: Sequence[KeySetting], bindings: Bindings) -> tuple[Keymap, list[Fault]]:
    """Binding id -> the keys of the settings that can be used, and why the others cannot: their binding or one of their keys
    does not exist, terminals do not send the key, or it has another action in the same place."""
    faults: list[Fault] = []
    keymap: Keymap = {}
    for setting in settings:
        keys, fault = _requested_keys(setting, bindings)
        if fault is None and setting.binding in keymap:
            fault = Fault(setting.line, f"“{setting.binding}” is set twice", "Leave one of the two.")
        if fault is not None:
            faults.append(fault)
        else:
            keymap[setting.binding] = keys
    lines = {setting.binding: setting.line for setting in settings}
    for owner in bindings.owners:
        used: dict[str, str] = {}
        for name in dict.fromkeys(bound.name for bound in owner.keys):
            own = [bound.key for bound in owner.keys if bound.name == name]
            for key in keymap.get(name, own):
                other = used.setdefault(key, name)
                taker = name if name in keymap else other
                if other != name and taker in keymap and key not in bindings.shipped[taker]:
                    del keymap[taker]
                    text = f"“{written(key)}” has two actions on {owner.name}: {name} and {other}"
                    faults.append(Fault(lines[taker], text, "Give one of them another key."))
                    break
    return keymap, faults


def keymap_for(settled: Keymap, bindings: Bindings) -> dict[str, str]:
    """The result of `settle` for `App.set_keymap`, which takes a key from every binding that shares it, so the others
    are included too.
    """
    full = {name: ",".join(keys) for name, keys in settled.items()}
    for owner in bindings.owners:
        moved = {bound.key for bound in owner.keys if bound.name in settled}
        for bound in owner.keys:
            if bound.ours and bound.key in moved and bound.name not in settled:
                own = [other.key for other in owner.keys if other.name == bound.name]
                full[bound.name] = ",".join(dict.fromkeys(own))
    return full


def key_rows(
    settings: Sequence[KeySetting], bindings: Bindings
) -> tuple[tuple[KeyRow, ...], tuple[Fault, ...]]:
    """Every binding with the keys in use, sorted by id, and the faults of the settings."""
    keymap, faults = settle(settings, bindings)
    lines = {setting.binding: setting.line for setting in settings if setting.binding in keymap}
    rows = []
    for name, shipped in sorted(bindings.shipped.items()):
        keys = tuple(map(written, keymap.get(name, shipped)))
        where, does = _where(name, bindings), _does(name, bindings)
        rows.append(KeyRow(name, where, "; ".join(does), keys, tuple(map(written, shipped)), lines.get(name)))
    return tuple(rows), tuple(faults)


def written(key: str) -> str:
    """A key as users write it: `/` for `slash`. Only the comma needs its name."""
    return _signs().get(key, key)


@cache
def _signs() -> dict[str, str]:
    signs = [sign for sign in string.punctuation if sign != ","]
    named = Binding.make_bindings(Binding(sign, "", "") for sign in signs)
    return dict(zip((binding.key for binding in named), signs, strict=True))


@cache
def _key_names() -> frozenset[str]:
    known = {key.value for key in Keys if "+" not in key.value and not key.value.startswith("<")}
    return frozenset(known | set(_signs()) | {"comma"})


def _where(name: str, bindings: Bindings) -> str:
    places = dict.fromkeys(
        owner.name for owner in bindings.owners if any(b.ours and b.name == name for b in owner.declared)
    )
    return "every screen" if len(places) > 1 and name.startswith("app.") else ", ".join(places)


def _does(name: str, bindings: Bindings) -> list[str]:
    """The descriptions of a binding; several if screens use it for different actions."""
    declared = (bound for owner in bindings.owners for bound in owner.declared)
    return list(dict.fromkeys(bound.does for bound in declared if bound.name == name))


# ---- one setting


def _requested_keys(setting: KeySetting, bindings: Bindings) -> tuple[tuple[str, ...], Fault | None]:
    if setting.binding not in bindings.shipped:
        return (), _unknown_binding(setting, bindings)
    parts = [part.strip() for part in setting.keys.split(",")]
    if not all(parts):
        return (), Fault(setting.line, f"“{setting.binding}” needs a key", "Write “comma” for the comma.")
    used_while_typing = any(
        (bound.priority or owner.takes_text) and bound.name == setting.binding
        for owner in bindings.owners
        for bound in owner.declared
    )
    for part in parts:
        if fault := _key_fault(part, used_while_typing=used_while_typing):
            return (), fault._replace(line=setting.line)
    bound_keys = Binding.make_bindings(Binding(part, "", "") for part in parts)
    return tuple(dict.fromkeys(binding.key for binding in bound_keys)), None


def _unknown_binding(setting: KeySetting, bindings: Bindings) -> Fault:
    near = get_close_matches(setting.binding, bindings.shipped, 3, 0.5)
    same = [name for name in bindings.shipped if name.split(".")[-1] == setting.binding.split(".")[-1]]
    close = list(dict.fromkeys([*near, *same]))[:3]
    advice = f"Similar: {', '.join(close)}." if close else "“recjudge config keys” lists them."
    return Fault(setting.line, f"no binding “{setting.binding}”", advice)


def _key_fault(key: str, *, used_while_typing: bool) -> Fault | None:
    """What is wrong with one key. A key that types a character cannot be used while typing."""
    *modifiers, base = key.split("+") if len(key) > 1 else [key]
    if _TAKEN_MODIFIERS & set(modifiers) or key in _TAKEN_KEYS:
        text = f"“{key}” does not reach the program in every terminal, or arrives as another key"
        return Fault(None, text, "Use a letter or f2 to f12; alt, cmd and ctrl+h/i/j/m/s cannot be used.")
    if modifiers == ["shift"] and len(base) == 1 and base.isalpha():
        return Fault(None, f"no key “{key}”", f"Write “{base.upper()}”.")
    if not set(modifiers) <= _MODIFIERS or not (
        base in _key_names() or (len(base) == 1 and base.isprintable())
    ):
        near = get_close_matches(base, _key_names(), 1)
        return Fault(None, f"no key “{key}”", f"Did you mean “{near[0]}”?" if near else "")
    if used_while_typing and (len(key) == 1 or base in _signs() or base == "space"):
        return Fault(None, f"“{key}” is needed for typing", "Use a key that types no character.")
    return None


# ---- keys screen -------------------------------------------------------------------------------------------------


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


class HelpRow(NamedTuple):
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

    def __init__(self, keys: list[HelpRow]) -> None:
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


def _listing(keys: Iterable[HelpRow], words: list[str], width: int) -> Iterator[Content]:
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


def keys_of(screen: Screen[Any]) -> list[HelpRow]:
    """All keys active on the screen now; equal actions share a row."""
    merged: dict[tuple[str, str, str], list[str]] = {}
    for _, binding, enabled, _ in by_importance(screen):
        # bindings of Textual without a description of ours are left out
        if enabled and binding.description and binding.id:
            row = (group_of(binding), binding.action, binding.description)
            merged.setdefault(row, []).append(binding.key_display or screen.app.get_key_display(binding))
    return [HelpRow(group, " ".join(dict.fromkeys(keys)), text) for (group, _, text), keys in merged.items()]


def group_of(binding: Binding) -> str:
    """The group of a key's action."""
    if (binding.id or "").startswith("app.") and binding.action != "import":
        return EVERYWHERE
    action = binding.action.partition("(")[0]
    if action in _GO_ACTIONS:
        return GO
    return MOVE if action.startswith(_MOVE_ACTIONS) else DO


# ---- checked settings --------------------------------------------------------------------------------------------


def checked(loaded: SettingsFile, app: type[App[Any]]) -> tuple[tuple[KeyRow, ...], str, tuple[Fault, ...]]:
    """All bindings with their keys, the theme to use, and all problems in the settings."""
    rows, wrong = key_rows(loaded.preferences.keys, bindings_of(app))
    theme, fault = chosen_theme(loaded.preferences.theme)
    faults = [*loaded.faults, *wrong, *([fault] if fault else [])]
    return rows, theme, tuple(sorted(faults, key=lambda problem: problem.line or 0))


def usable_keys(settings: Sequence[KeySetting], app: type[App[Any]]) -> tuple[dict[str, str], list[Fault]]:
    """The keymap of these settings, and the problems with keys that it leaves out."""
    bindings = bindings_of(app)
    settled, wrong = settle(settings, bindings)
    return keymap_for(settled, bindings), wrong
