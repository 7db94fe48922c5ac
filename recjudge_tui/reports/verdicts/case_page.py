"""One case on one page: the user, the lists side by side with flags at their items, every verdict, every reasoning."""

from __future__ import annotations

import io
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from recjudge_tui.domain.material import ExplanationView, ShownEvent, SlateView, UserView, undated_text
from recjudge_tui.domain.occasions import Occasion, occasion_text
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.replies.profile import profile_text
from recjudge_tui.store.cases.cases import case_row
from recjudge_tui.store.data.histories import read_history
from recjudge_tui.store.data.item_views import slate_top
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.verdicts.case_detail import CaseDetail, CaseFlag, case_detail
from recjudge_tui.store.verdicts.listing import case_verdicts

if TYPE_CHECKING:
    from rich.table import Table as Grid

_EVENTS = 12
_LIST = 1000
MOST_VERDICTS = 100


def case_page(db: Database, case_id: int, width: int | None = None) -> str:
    """The page as plain text, `width` cells wide (the terminal's by default); raises NotFoundError."""
    from rich.console import Console, RenderableType
    from rich.text import Text

    row = case_row(db, case_id)
    ids = case_verdicts(db, case_id)
    details = [case_detail(db, identity) for identity in ids[:MOST_VERDICTS]]
    user, slates, explanation = case_material(db, row, details)
    flags = details[0].flags if details else ()
    out = io.StringIO()
    console = Console(
        file=out, width=width or max(60, shutil.get_terminal_size((100, 24)).columns), force_terminal=False,
        color_system=None, highlight=False, markup=False, emoji=False, legacy_windows=False,
    )  # fmt: skip

    def put(part: RenderableType) -> None:
        console.print(part)

    put(Text(case_heading(row)))
    put(Text("\n".join(user_lines(user, row["served_at"]))))
    profile = user.profile or next((written_profile(d.profile) for d in details if d.profile), "")
    if profile:
        put(Text(f"Profile (written by the model)\n{safe_text(profile)}\n"))
    if slates:
        put(_lists(slates, flags))
    if explanation is not None:
        put(Text(f"Explanation of {one_line(explanation.item.title)}\n{safe_text(explanation.text)}\n"))
    put(Text("\n".join(_verdict_lines(details)) or "There are no verdicts on this case yet."))
    if len(ids) > len(details):
        put(Text(f"and {len(ids) - len(details)} more verdicts: “recjudge export verdicts” has them all"))
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().split("\n"))


def written_profile(reply: str) -> str:
    """The profile in the reply of the call that wrote it; the whole reply if it cannot be parsed."""
    try:
        return profile_text(reply)
    except ReplyFault:
        return reply


def case_material(
    db: Database, row: StoredRow, details: Sequence[CaseDetail]
) -> tuple[UserView, tuple[tuple[str, SlateView], ...], ExplanationView | None]:
    """The judged lists or text, as a judge saw them, or else as imported."""
    shown = next((detail for detail in details if detail.run_shown is not None), None) or next(
        iter(details), None
    )
    if shown is not None:
        return shown.user, shown.slates, shown.explanation
    project, user_id = row["project_id"], row["user_id"]
    history = read_history(db, project, user_id)
    events = history.within(
        "", "", _EVENTS, before=row["served_at"], occasion=Occasion(row["context"], row["served_at"])
    )
    user = UserView(user_id=user_id, attributes=history.attributes, history=tuple(events))
    slates = tuple(
        (row[system], SlateView(items=slate_top(db, project, row[slate], _LIST)))
        for system, slate in (("system_a", "slate_a"), ("system_b", "slate_b"))
        if row[slate] is not None
    )
    return user, slates, None


def case_heading(row: StoredRow) -> str:
    systems = [one_line(row[name]) for name in ("system_a", "system_b") if row[name]]
    what = {"list": "list of", "pair": "lists of", "explanation": "explanation by"}[row["kind"]]
    item = f" · item {one_line(row['item_id'])}" if row["item_id"] else ""
    occasion = occasion_text(Occasion(row["context"], row["served_at"]))
    return (
        f"Case {row['id']} · project {one_line(row['project'])} · user {one_line(row['user_id'])}{item}"
        f" · {what} {' and '.join(systems) or 'no system'}{f' · {occasion}' if occasion else ''}\n"
    )


def user_lines(user: UserView, served_at: str) -> Iterator[str]:
    facts = [f"{one_line(key)} {one_line(value)}" for key, value in user.attributes.items()]
    yield "User" + (f": {', '.join(facts)}" if facts else "")
    if undated := undated_text(user, served_at):
        yield f"  {undated}"
    for name, events in (
        ("history", user.history),
        ("searches", user.searches),
        ("clicks", user.clicks),
        ("other events", user.others),
    ):
        for event in events[:_EVENTS]:
            yield f"  {_event(event)}"
        if len(events) > _EVENTS:
            yield f"  and {len(events) - _EVENTS} more in {name}"
    for preference in user.preferences:
        yield f"  {one_line(preference)}"
    yield ""


def _event(event: ShownEvent) -> str:
    what = one_line(event.item.title if event.item else event.text)
    value = f" ({event.value:g})" if event.value is not None else ""
    return f"{event.timestamp[:10] or '–':10}  {one_line(event.type)}: {what}{value}"


def _lists(slates: tuple[tuple[str, SlateView], ...], flags: Sequence[CaseFlag]) -> Grid:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    by_item: dict[str, list[CaseFlag]] = defaultdict(list)
    for flag in flags:
        by_item[flag.item_id].append(flag)
    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    grid.add_column("", justify="right", no_wrap=True)
    for place, (system, _) in enumerate(slates):
        side = f"{'AB'[place]} = " if len(slates) > 1 else ""
        grid.add_column(Text(f"{side}{one_line(system)}"), overflow="fold", ratio=1)
    longest = max(len(slate.items) for _, slate in slates)
    for rank in range(longest):
        cells = [_item(slate, rank, by_item) for _, slate in slates]
        grid.add_row(str(rank + 1), *(Text(cell) for cell in cells))
    return grid


def _item(slate: SlateView, rank: int, flags: dict[str, list[CaseFlag]]) -> str:
    if rank >= len(slate.items):
        return ""
    item = slate.items[rank]
    about = ", ".join(one_line(part) for part in (item.brand, item.category) if part)
    lines = [one_line(item.title) + (f" ({about})" if about else "")]
    for flag in dict.fromkeys((f.rater, f.issue, f.reason) for f in flags.get(item.item_id, ())):
        rater, issue, reason = map(one_line, flag)
        lines.append(f"▲ {issue}, {rater}" + (f": {reason}" if reason else ""))
    return "\n".join(lines)


def label_of(detail: CaseDetail) -> str:
    """The label, or the number of a verdict without a label."""
    if detail.label or detail.value is None:
        return one_line(detail.label)
    return f"{detail.value:.4g}"


def _verdict_lines(details: Sequence[CaseDetail]) -> Iterator[str]:
    printed: set[tuple[int, str]] = set()
    for detail in details:
        yield ""
        marks = ["failed"] if detail.failed else []
        marks += ["▲ flips when swapped"] if detail.flipped else []
        marks += [f"confidence {detail.confidence:.2f}"] if detail.confidence is not None else []
        marks += [f"run {detail.run_id}, {detail.prompt}"] if detail.run_id is not None else []
        label = "failed" if detail.failed else label_of(detail)
        rest = f" ({', '.join(map(one_line, marks))})" if marks else ""
        yield f"{one_line(detail.rater)} [{detail.rater_kind}] · {detail.protocol} {one_line(detail.aspect)}: {label}{rest}"
        for answer in detail.answers:
            order = f"Set 1 = {one_line(answer.set_one)}: " if answer.set_one else ""
            if answer.failed:
                yield f"  {order}failed, {answer.error_kind}: {one_line(answer.error, 300)}"
            elif (answer.call, answer.reasoning) in printed:
                yield f"  {order}{one_line(answer.label)}, for the reason above"
            else:
                printed.add((answer.call, answer.reasoning))
                yield f"  {order}{one_line(answer.label)}. {one_line(answer.reasoning)}"
        if detail.note and not detail.answers:
            yield f"  {one_line(detail.note)}"
