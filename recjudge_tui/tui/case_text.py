"""A case as text: the verdict, who else judged it, the reasoning, the user, the lists with their flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from recjudge_tui.model.material import ItemView, ShownEvent, SlateView
from recjudge_tui.model.text import one_line, safe_text
from recjudge_tui.store.case_detail import CaseDetail, FlagShown, Opinion, Spoken
from recjudge_tui.tui.look import Glyphs, case_number, fraction

LONGEST = 12_000
_SHOWN_EVENTS = 25
Line = Content | str


def case_content(case: CaseDetail, width: int, look: Glyphs, longest: int = LONGEST) -> Content:
    """The whole case, laid out for `width` cells. Every text longer than `longest` is cut, and says so."""
    sections: list[Sequence[Line]] = [
        [_verdict(case, look, longest)],
        [_rule("Raters", width, look), *_raters(case, look)],
        [_rule("Reasoning", width, look), *_reasoning(case, look, longest)],
        [_rule("User" + _source(case), width, look), *_user(case, look, longest)],
    ]
    if case.explanation is not None:
        sections.append([_rule("Explanation", width, look), *_explanation(case, look, longest)])
    if case.slates:
        title = "Lists" if len(case.slates) > 1 else "List"
        sections.append([_rule(title, width, look), *_lists(case, width, look)])
    return Content("\n").join(line for section in sections for line in section)


def case_title(case: CaseDetail, look: Glyphs) -> str:
    run = f" {look.dot} run {case.run_id}" if case.run_id is not None else ""
    return f"case {case_number(case.case_id)} {look.dot} {one_line(case.rater, 14)}{run}"


def _text(text: str, longest: int) -> str:
    """Safe text of several lines, cut to `longest` characters."""
    shown = safe_text(text[:longest]).strip()
    left = len(text) - longest
    return f"{shown} … ({left:,} more characters: “Y” saves all of it)" if left > 0 else shown


def _rule(title: str, width: int, look: Glyphs) -> Content:
    rest = max(width - cell_len(title) - 3, 0)
    return Content.assemble(
        (f"{look.rule} ", "dim"), (title, "bold $accent"), (f" {look.rule * rest}"[: rest + 1], "dim")
    )


def _verdict(case: CaseDetail, look: Glyphs, longest: int) -> Content:
    signs = []
    if case.flipped:
        signs.append("flips when swapped")
    own = sum(flag.mine for flag in case.flags)
    if own:
        signs.append(f"{own} flagged")
    label = f"{look.failed} failed" if case.failed else one_line(case.label, 60)
    parts: list[str | Content | tuple[str, str]] = [
        "Verdict  ",
        (label, "bold $error" if case.failed else "bold"),
    ]
    if case.aspect != "overall":
        parts.append((f" on {one_line(case.aspect, 40)}", ""))
    if signs:
        parts.append((f"   {look.marked} {', '.join(signs)}", "$warning"))
    parts.append("\n")
    how = [one_line(case.protocol, 20), f"rule {one_line(case.rule, 40)}"]
    if case.confidence is not None:
        how.append(f"confidence {fraction(case.confidence, '')}")
    if case.prompt:
        how.append(one_line(case.prompt, 60))
    if case.rater_kind == "rules":
        how.append("built-in rules, not a language model")
    parts.append((f" {look.dot} ".join(how), "dim"))
    if case.note:
        parts.append(f"\n{_text(case.note, longest)}")
    return Content.assemble(*parts)


def _raters(case: CaseDetail, look: Glyphs) -> Iterator[Line]:
    by_rater: dict[tuple[str, str], list[Opinion]] = {}
    for opinion in case.opinions:
        by_rater.setdefault((opinion.rater, opinion.rater_kind), []).append(opinion)
    for (rater, kind), opinions in by_rater.items():
        parts: list[str | tuple[str, str]] = [
            (one_line(rater, 30), "bold" if any(o.mine for o in opinions) else ""),
            (f" {kind.replace('_', ' ')}", "dim"),
        ]
        for opinion in opinions:
            parts += ["  ", _opinion(opinion, look)]
        yield Content.assemble(*parts)


def _opinion(opinion: Opinion, look: Glyphs) -> tuple[str, str]:
    label = look.failed if opinion.failed else one_line(opinion.label, 30)
    if opinion.aspect != "overall":
        label = f"{one_line(opinion.aspect, 20)} {label}"
    mark = f" {look.marked} swap" if opinion.flipped else ""
    style = "$error" if opinion.failed else "$warning" if opinion.flipped else "bold" if opinion.mine else ""
    return label + mark, style


def _reasoning(case: CaseDetail, look: Glyphs, longest: int) -> Iterator[Line]:
    if not case.spoken:
        yield Content.styled(
            "none: this verdict was not made by a run" if case.run_id is None else "none stored", "dim"
        )
    for spoken in case.spoken:
        head = _spoken_head(spoken, len(case.spoken) > 1, look)
        if head:
            yield head
        if spoken.failed:
            yield Content.assemble(
                (f"{look.failed} {one_line(spoken.error_kind.replace('_', ' '), 40)}", "$error"),
                f" after {spoken.attempts} attempt{'' if spoken.attempts == 1 else 's'}",
            )
        text = spoken.error if spoken.failed else spoken.reasoning
        yield Content(_text(text, longest) or "(no reasoning)")


def _spoken_head(spoken: Spoken, several: bool, look: Glyphs) -> Content | None:
    if spoken.set_one:
        where = f"Set 1 = {one_line(spoken.set_one, 40)}"
    elif several:
        where = f"sample {spoken.sample + 1}"
    else:
        return None
    says = "" if spoken.failed else f" {look.dot} says {one_line(spoken.label, 30)}"
    return Content.assemble((f"[{where}]", "bold"), (says, "dim"))


def _source(case: CaseDetail) -> str:
    return f" (as run {case.run_shown} saw it)" if case.run_shown is not None else " (as imported)"


def _user(case: CaseDetail, look: Glyphs, longest: int) -> Iterator[Line]:
    user = case.user
    facts = ", ".join(f"{one_line(k, 30)} {one_line(v, 60)}" for k, v in list(user.attributes.items())[:20])
    yield Content.assemble((one_line(user.user_id, 60), "bold"), f" {look.dot} {facts}" if facts else "")
    for title, events in (("history", user.history), ("searches", user.searches), ("clicks", user.clicks)):
        if not events:
            continue
        yield Content.assemble((f"{title} ({len(events)})", "dim"))
        yield from (_event(event, look) for event in events[:_SHOWN_EVENTS])
        if len(events) > _SHOWN_EVENTS:
            yield Content.styled(f"  … {len(events) - _SHOWN_EVENTS} more", "dim")
    if user.browsed:
        yield Content.assemble(("browsed ", "dim"), ", ".join(one_line(b, 60) for b in user.browsed[:20]))
    if user.preferences:
        yield Content.assemble(("prefers ", "dim"), _text("; ".join(user.preferences), longest))


def _event(event: ShownEvent, look: Glyphs) -> Content:
    what = one_line(event.item.title if event.item else event.text, 120) or look.none
    value = f" {event.value:g}" if event.value is not None else ""
    kind = "" if event.type in ("purchase", "rating", "click", "search") else f"{one_line(event.type, 20)} "
    return Content.assemble(
        (f"  {one_line(event.timestamp[:10], 10):10} {kind}", "dim"), what, (value, "dim")
    )


def _explanation(case: CaseDetail, look: Glyphs, longest: int) -> Iterator[Line]:
    assert case.explanation is not None
    yield Content.assemble(
        ("for ", "dim"),
        _item(case.explanation.item, look),
        (f"  by {one_line(case.explanation_system, 40)}", "dim"),
    )
    yield Content(_text(case.explanation.text, longest))


def _item(item: ItemView, look: Glyphs) -> str:
    more = [one_line(part, 40) for part in (item.brand, item.category) if part]
    return one_line(item.title, 200) + (f" {look.dot} " + ", ".join(more) if more else "")


def _lists(case: CaseDetail, width: int, look: Glyphs) -> Iterator[Line]:
    """Lists side by side; the reason of a flag stands under the line of its item."""
    gap = 2
    column = max((width - gap * (len(case.slates) - 1)) // len(case.slates), 8)
    names = [f"{letter} {one_line(name, 60)}" for letter, (name, _) in zip("AB", case.slates, strict=False)]
    if len(case.slates) == 1:
        names = [one_line(case.slates[0][0], 60)]
    yield Content.styled((" " * gap).join(_fit(name, column, look) for name in names).rstrip(), "bold")
    flags: dict[str, list[FlagShown]] = {}
    for flag in case.flags:
        flags.setdefault(flag.item_id, []).append(flag)
    for rank in range(max((len(slate.items) for _, slate in case.slates), default=0)):
        yield from _rank(rank, [slate for _, slate in case.slates], flags, column, gap, look)
    in_lists = {item.item_id for _, slate in case.slates for item in slate.items}
    for item_id, raised in flags.items():
        if item_id not in in_lists:
            yield Content.assemble(
                (f"{look.marked} {one_line(item_id, 60)}", "$warning"), (" is in no list", "dim")
            )
            yield from (_flag(flag, width) for flag in raised)


def _rank(
    rank: int, slates: list[SlateView], flags: dict[str, list[FlagShown]], column: int, gap: int, look: Glyphs
) -> Iterator[Content]:
    parts: list[str | tuple[str, str]] = []
    raised: list[FlagShown] = []
    for place, slate in enumerate(slates):
        item = slate.items[rank] if rank < len(slate.items) else None
        flagged = flags.get(item.item_id, []) if item else []
        raised += [flag for flag in flagged if flag not in raised]
        text = "" if item is None else f"{rank + 1:2} {look.marked + ' ' if flagged else ''}"
        if item is not None:
            text += _item(item, look) if len(slates) == 1 else one_line(item.title, 200)
        parts.append((_fit(text, column, look), "$warning" if flagged else ""))
        if place + 1 < len(slates):
            parts.append(" " * gap)
    yield Content.assemble(*parts).rstrip()
    width = (column + gap) * len(slates) - gap
    yield from (_flag(flag, width) for flag in raised)


def _flag(flag: FlagShown, width: int) -> Content:
    """Issue and reason, indented under the item, wrapped by hand to keep the indent."""
    order = f", Set 1 = {one_line(flag.set_one, 30)}" if flag.set_one else ""
    text = f"{one_line(flag.issue, 60)}: {one_line(flag.reason, 1200)} ({one_line(flag.rater, 30)}{order})"
    lines = wrap(text, max(width - 6, 12)) or [""]
    return Content.styled("\n".join(f"     {line}" for line in lines), "$warning" if flag.mine else "dim")


def _fit(text: str, width: int, look: Glyphs) -> str:
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + look.cut
