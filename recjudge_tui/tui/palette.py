"""What the palette lists: the screen's actions with their keys, the other screens, the reports, and the terms in use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

from recjudge_tui.store.database import StoredRow
from recjudge_tui.tui.row_list import Command
from recjudge_tui.tui.screens import BaseScreen, is_screen, make_screen, screen_names, to_projects
from recjudge_tui.tui.themes import theme_names

# the groups in reading order: actions come first
DO, GO, _REPORTS, MOVE, EVERYWHERE = _GROUPS = "Do", "Go to", "Reports", "Move", "On every screen"
_GO_ACTIONS = ("go", "open", "runs", "queue", "verdicts", "sent", "prompt", "compare", "views", "paper")
_MOVE_ACTIONS = (
    "move", "page", "first", "last", "step", "edge", "column", "block", "next_part", "next_undecided", "unfold", "panel",
    "cursor_", "scroll", "turn",
)  # fmt: skip
# screen -> what is done there, in the words of a user
_FILES = "csv json latex tex html md parquet file save"
_WORDS = {
    "runs": "delete a run remove",
    "reports": f"export {_FILES} svg png pdf table",
    "launch": "new run judge start",
}
# actions that only make sense as keys
_KEYS_ONLY = ("app.palette", "app.next_panel", "app.peel")

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


def commands(
    app: App[Any],
    screen: Screen[Any],
    active: Sequence[StoredRow],
    of_app: Iterable[tuple[str, str, Callable[[], object], str]],
) -> list[Command]:
    """The actions of the screen, the other screens, and the title, key, action and words of the app's own commands."""
    of_keys = (command for command in key_commands(screen) if command.words not in _KEYS_ONLY)
    every = [*of_keys, *_places(app, screen, active)]
    every += [Command(EVERYWHERE, *command) for command in of_app]
    return _in_groups(every)


def key_commands(screen: Screen[Any]) -> list[Command]:
    """What can be done by keys on the screen and in the focused widget; the keys of one action share a line."""
    keys: dict[tuple[str, str], list[str]] = {}
    found: dict[tuple[str, str], tuple[DOMNode, Binding]] = {}
    # those in its last line come first
    for node, binding, enabled, _ in sorted(
        screen.active_bindings.values(), key=lambda a: not a.binding.show
    ):
        # bindings of Textual without a description of ours are left out
        if enabled and binding.description and binding.id:
            action = binding.action, binding.description
            found.setdefault(action, (node, binding))
            keys.setdefault(action, []).append(binding.key_display or screen.app.get_key_display(binding))
    return _in_groups(
        Command(
            group_of(binding),
            binding.description.capitalize(),
            " ".join(dict.fromkeys(keys[action])),
            partial(screen.app.run_action, binding.action, node),
            binding.id or "",
        )
        for action, (node, binding) in found.items()
    )


def help_commands(screen: Screen[Any]) -> list[Command]:
    """The keys of the screen, then the terms used on the screens."""
    terms = (Command("Terms", f"{term}: {meaning}", "", lambda: None) for term, meaning in TERMS)
    return [*key_commands(screen), *terms]


def group_of(binding: Binding) -> str:
    """The group of a key's action."""
    if (binding.id or "").startswith("app.") and binding.action != "import":
        return EVERYWHERE
    action = binding.action.partition("(")[0]
    if action in _GO_ACTIONS:
        return GO
    return MOVE if action.startswith(_MOVE_ACTIONS) else DO


def _in_groups(commands: Iterable[Command]) -> list[Command]:
    return sorted(commands, key=lambda command: _GROUPS.index(command.group))


def _places(app: App[Any], screen: Screen[Any], active: Sequence[StoredRow]) -> Iterator[Command]:
    """The other screens of the project, and a monitor for each active run."""
    if app.current_mode != "projects" or len(app.screen_stack) > 1:
        yield Command(GO, "Go to projects", "", partial(to_projects, app), "delete remove")
    project = screen.project if isinstance(screen, BaseScreen) else None
    if project is not None:
        for name in screen_names():
            if name not in ("projects", "monitor") and not is_screen(name, screen):
                yield Command(GO, f"Go to {name}", "", partial(_go, app, name, project), _WORDS.get(name, ""))
        texts = partial(_go, app, "cases", project, filter_text="protocol:explanation")
        yield Command(GO, "Go to explanations", "", texts, "texts scores")
        apart = partial(_go, app, "cases", project, filter_text="why:disagree")
        yield Command(GO, "Go to disagreements", "", apart, "disagree differ judges people")
        yield Command(DO, "Export all verdicts to a file", "", partial(_export, app, project), _FILES)
        from recjudge_tui.tui.reports import TABS, about_tab

        for name in TABS:
            show = partial(_go, app, "reports", project, tab=name)
            title, words = about_tab(name)
            yield Command(_REPORTS, title, "", show, words)
    for run in active:
        yield Command(GO, f"Go to run {run.run_id}", "", partial(_go, app, "monitor", run.run_id))


def themes(app: App[Any]) -> Iterator[Command]:
    """Every theme; choosing one saves it."""
    for name in theme_names():
        now = "now" if name == app.theme else ""
        yield Command("Theme", name, now, partial(setattr, app, "theme", name))


def _export(app: App[Any], project: int) -> None:
    from recjudge_tui.tui.triage import CasesScreen

    screen = CasesScreen(project, "")
    app.push_screen(screen)
    screen.call_after_refresh(screen.action_export)


def _go(app: App[Any], name: str, identity: int, **more: object) -> None:
    app.push_screen(make_screen(name, identity, **more))
