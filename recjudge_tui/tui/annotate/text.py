"""A case as a person judges it: the user, the lists under neutral names, the text to judge; and the reveal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from textual.content import Content

from recjudge_tui.domain.annotation import MOST_EVENTS, AspectQuestion
from recjudge_tui.domain.event_types import RATING
from recjudge_tui.domain.material import ItemView, Material, ShownEvent, UserView
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.tui.cases.case.lists import item_words
from recjudge_tui.tui.kit.glyphs import Glyphs, fit, wrapped
from recjudge_tui.tui.kit.text_pane import LONGEST_TEXT
from recjudge_tui.tui.kit.title_rule import title_rule

if TYPE_CHECKING:
    from recjudge_tui.people.annotation import Ballot
    from recjudge_tui.store.people import OtherVerdict

_GAP = 2
_USER = 40
_BESIDE = 110
# a list of more lines than this pushes the user out of a small terminal
_LONG_LIST = 8
_BRIEF = 2
_ABSTRACT = 400


def shown_content(material: Material, width: int, symbols: Glyphs) -> Content:
    """The user and the material to judge, laid out for `width` cells, side by side if there is room."""
    what = list(_judged(material, width, symbols))
    if width >= _BESIDE and (material.slates or material.explanation):
        room = width - _USER - 2 * _GAP
        left = list(_user(material.user, _USER, symbols))
        return Content("\n").join(_beside(left, list(_judged(material, room, symbols)), _USER + 2 * _GAP))
    brief = _brief(material.user, width, symbols) if len(what) > _LONG_LIST else ()
    return Content("\n").join([*brief, *what, Content(""), *_user(material.user, width, symbols)])


def titles_of(material: Material, symbols: Glyphs) -> dict[str, str]:
    """item id -> `title (List 1 #3)`, each item once, in the order of the lists."""
    titles: dict[str, str] = {}
    for number, slate in enumerate(material.slates, 1):
        for rank, item in enumerate(slate.items, 1):
            where = f"List {number} #{rank}" if len(material.slates) > 1 else f"#{rank}"
            titles.setdefault(item.item_id, f"{where} {item_words(item, symbols)}")
    return titles


def guidelines_content(text: str) -> Content:
    """The guidelines with their headings highlighted."""
    lines = safe_text(text[: 10 * LONGEST_TEXT]).split("\n")
    return Content("\n").join(
        Content.styled(line.lstrip("# "), "bold $accent") if line.startswith("#") else Content(line)
        for line in lines
    )


def reveal_content(
    others: Sequence[OtherVerdict],
    questions: Sequence[AspectQuestion],
    systems: Sequence[str],
    own: str,
    width: int,
    symbols: Glyphs,
) -> Content:
    """Everybody's verdicts side by side, the annotator's own first, then the reasoning of each of the others."""
    lines = [title_rule("Everybody's verdicts", width, symbols)]
    if len(systems) > 1:
        names = "   ".join(f"List {n} = {one_line(name, 30)}" for n, name in enumerate(systems, 1))
        lines.append(Content.styled(names, "dim"))
    elif systems:
        lines.append(Content.styled(f"made by {one_line(systems[0], 40)}", "dim"))
    lines += _opinions(others, questions, own, symbols)
    reasonings = list(
        dict.fromkeys((verdict.rater, verdict.reasoning) for verdict in others if verdict.reasoning)
    )
    for rater, reasoning in reasonings:
        lines.append(Content.styled(one_line(rater, 40), "bold"))
        lines.append(Content(safe_text(reasoning[:LONGEST_TEXT]).strip()))
    return Content("\n").join(lines)


def ballots_content(
    ballots: Sequence[Ballot], questions: Sequence[AspectQuestion], width: int, symbols: Glyphs
) -> Content:
    """The answers of unnamed annotators to a case on which they differ."""
    lines = [title_rule("The annotators differ", width, symbols)]
    column = max(min((width - 18) // max(len(ballots), 1), 24), 10)
    heads = [fit(f"annotator {n}", column, symbols) for n in range(1, len(ballots) + 1)]
    lines.append(Content.assemble(" " * 18, ("".join(heads), "bold")).rstrip())
    for place, question in enumerate(questions):
        name = fit(one_line(question.aspect.replace("_", " "), 17), 18, symbols)
        cells = [
            fit(one_line(ballot.words[place] or symbols.none, column - 1), column, symbols)
            for ballot in ballots
        ]
        lines.append(Content.assemble(name, ("".join(cells), "$warning")).rstrip())
    for number, ballot in enumerate(ballots, 1):
        if ballot.note:
            head = (f"annotator {number}: ", "bold")
            lines.append(Content.assemble(head, safe_text(ballot.note[:LONGEST_TEXT]).strip()))
    return Content("\n").join([*lines, Content("")])


def _opinions(
    others: Sequence[OtherVerdict], questions: Sequence[AspectQuestion], own: str, symbols: Glyphs
) -> Iterator[Content]:
    words = {question.aspect: {o.value: o.words for o in question.options} for question in questions}
    by_rater: dict[tuple[str, str], list[str]] = {}
    several = len(questions) > 1
    for verdict in (verdict for verdict in others if verdict.aspect in words):
        text = _words(verdict, words[verdict.aspect], symbols)
        named = f"{verdict.aspect.replace('_', ' ')} {text}" if several else text
        by_rater.setdefault((verdict.rater, verdict.rater_kind), []).append(one_line(named, 40))
    yield Content.assemble((fit("you", 24, symbols), "bold $accent"), own)
    if not by_rater:
        yield Content.styled("no other verdicts on this case yet", "dim")
    for (rater, kind), verdict_texts in by_rater.items():
        kind_text = kind if kind != "rules" else "rules, no language model"
        yield Content.assemble(
            (fit(one_line(rater, 23), 24, symbols), "bold"),
            ", ".join(verdict_texts),
            (f"  {kind_text.replace('_', ' ')}", "dim"),
        )


def _words(verdict: OtherVerdict, known: Mapping[float, str], symbols: Glyphs) -> str:
    if verdict.value is None:
        return f"{symbols.failed} failed"
    return known.get(verdict.value) or verdict.label or f"{verdict.value:.3g}"


def _judged(material: Material, width: int, symbols: Glyphs) -> Iterator[Content]:
    if material.explanation is not None:
        yield title_rule("Recommended", width, symbols)
        yield Content.styled(item_words(material.explanation.item, symbols), "bold")
        yield title_rule("Explanation", width, symbols)
        yield Content(safe_text(material.explanation.text[:LONGEST_TEXT]).strip())
    if not material.slates:
        return
    column = (width - _GAP * (len(material.slates) - 1)) // len(material.slates)
    names = ["List"] if len(material.slates) == 1 else ["List 1", "List 2"]
    heads = [title_rule(name, column, symbols) for name in names]
    yield from _beside_all([heads[:1], heads[1:]], column) if len(heads) > 1 else heads
    shared = set.intersection(*({i.item_id for i in slate.items} for slate in material.slates))
    cells = [
        [_item(item, rank, column, item.item_id in shared and len(names) > 1, symbols)
         for rank, item in enumerate(slate.items, 1)]
        for slate in material.slates
    ]  # fmt: skip
    for row in zip_longest(*cells, fillvalue=[]):
        yield from _beside_all(row, column)


def _item(item: ItemView, rank: int, width: int, shared: bool, symbols: Glyphs) -> list[Content]:
    """The item's text, wrapped under its number; `=` marks an item that is in both lists."""
    lines = wrapped(item_words(item, symbols), max(width - 5, 12)) or [""]
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


def _beside_all(blocks: Sequence[Sequence[Content]], column: int) -> Iterator[Content]:
    if len(blocks) == 1:
        yield from blocks[0]
    else:
        yield from _beside(blocks[0], blocks[1], column + _GAP)


def _beside(left: Sequence[Content], right: Sequence[Content], at: int) -> Iterator[Content]:
    """Two blocks of lines, the second one beginning in cell `at`."""
    for left_line, right_line in zip_longest(left, right, fillvalue=Content("")):
        yield Content.assemble(left_line, " " * max(at - left_line.cell_length, 1), right_line).rstrip()


def _user(user: UserView, width: int, symbols: Glyphs) -> Iterator[Content]:
    date = f"User on {one_line(user.as_of[:10], 10)}" if user.as_of else "User"
    yield title_rule(date, width, symbols)
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
                yield from _event(event, width, symbols)
    if not (facts or user.browsed or user.preferences or user.history or user.searches or user.clicks):
        yield Content.styled("no data about this user", "dim")


def _brief(user: UserView, width: int, symbols: Glyphs) -> Iterator[Content]:
    """The newest events in two lines above a list that leaves no room for them below."""
    events = [*user.history, *user.searches, *user.clicks]
    names = [
        one_line(event.item.title, 40) if event.item else f"“{one_line(event.text, 40)}”" for event in events
    ]
    lines = wrapped(f" {symbols.dot} ".join([*user.preferences, *names]), max(width - 2, 12))
    if lines:
        yield title_rule("User, in short", width, symbols)
        yield from map(Content, lines[: _BRIEF - 1])
        if len(lines) >= _BRIEF:
            yield Content(lines[_BRIEF - 1] + (f" {symbols.cut}" if len(lines) > _BRIEF else ""))


def _event(event: ShownEvent, width: int, symbols: Glyphs) -> Iterator[Content]:
    """Day, kind, value and the item's text, wrapped under the day."""
    what = item_words(event.item, symbols) if event.item else f"“{one_line(event.text, 200)}”"
    value = f" {event.value:g}" if event.value is not None and event.type == RATING else ""
    kind = "rated" if value else one_line(event.type, 20)
    head = " ".join(part for part in (one_line(event.timestamp[:10], 10), f"{kind}{value}") if part)
    for at, line in enumerate(wrapped(f"{head}: {what}", max(width - 4, 12))):
        cut = len(head) + 1 if at == 0 else 0
        yield Content.assemble("  " if at else "", (line[:cut], "dim"), line[cut:])
