"""A case as text: the verdict, the other raters, the reasoning, the user, the lists with their flags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.content import Content

from recjudge_tui.domain.material import undated_text
from recjudge_tui.domain.occasions import occasion_text
from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.cases import written_profile
from recjudge_tui.store.case_detail import CaseDetail
from recjudge_tui.tui.cases.case.head import head
from recjudge_tui.tui.cases.case.images import images
from recjudge_tui.tui.cases.case.lists import event_line, history_beside, item_words, lists, lists_title
from recjudge_tui.tui.cases.case.reasoning import cut_text, reasonings
from recjudge_tui.tui.cases.case.scores import aspect_words, raters, raters_title
from recjudge_tui.tui.kit.glyphs import Glyphs, ago, case_number, score
from recjudge_tui.tui.kit.text_pane import LONGEST_TEXT
from recjudge_tui.tui.kit.title_rule import title_rule

_SHOWN_EVENTS = 25
_DONE = {"accept": "accepted", "dismiss": "dismissed", "override": "overridden"}
Line = Content | str
Section = tuple[str, Iterable[Line]]


def case_content(
    case: CaseDetail, width: int, symbols: Glyphs, longest: int = LONGEST_TEXT, *, draw: bool = True
) -> Content:
    """The whole case, laid out for `width` cells. Texts longer than `longest` are cut and marked as cut; without `draw`
    images are named."""
    beside = history_beside(case, width)
    person = [
        ("User" + _source(case), _user(case, symbols, longest, events=not beside)),
        ("Profile (written by the model)", _profile(case, longest)),
    ]
    shown: list[Section] = [(lists_title(case), lists(case, width, symbols) if case.slates else ())]
    if case.images:
        shown.append(("Images shown", images(case, width, symbols, draw=draw)))
    everybody = (raters_title(case), [*raters(case, width, symbols), _how(case, symbols)])
    # scores and aspects are the main content of such a verdict; single labels need little room
    early = case.kind == "explanation" or len(case.aspects) > 1
    sections: list[Section] = [
        ("", [*head(case, symbols), *([Content(cut_text(case.note, longest))] if case.note else [])]),
        ("Triage", _triage(case, symbols, longest)),
        ("Explanation", _explanation(case, symbols, longest)),
        *_reasoning(case, symbols, longest),
        *([everybody] if early else []),
        *shown,
        *person,
        *([] if early else [everybody]),
        ("Example shown before it", _example(case, symbols, longest)),
        *_other_reasoning(case, symbols, longest),
    ]
    lines: list[Line] = []
    for title, body in sections:
        section = list(body)
        lines += [title_rule(title, width, symbols), *section] if section and title else section
    return Content("\n").join(lines)


def case_title(case: CaseDetail, symbols: Glyphs) -> str:
    run = f" {symbols.dot} run {case.run_id}" if case.run_id is not None else ""
    return f"case {case_number(case.case_id)} {symbols.dot} {one_line(case.rater, 14)}{run}"


def _triage(case: CaseDetail, symbols: Glyphs, longest: int) -> Iterator[Line]:
    """The readers' actions on the verdict, oldest first, without undone ones."""
    for entry in case.triage:
        if entry.active:
            change = (
                f" to {one_line(entry.label, 40) or score(entry.value, symbols)}"
                if entry.action == "override"
                else ""
            )
            text = f": {cut_text(entry.text, longest)}" if entry.text else ""
            who = f"{one_line(entry.reader, 20)} {symbols.dot} {ago(entry.created_at)}"
            yield Content.assemble(
                (_DONE.get(entry.action, entry.action), "bold"), f"{change}{text}  ", (who, "dim")
            )


def _reasoning(case: CaseDetail, symbols: Glyphs, longest: int) -> Iterator[Section]:
    """The reasoning about the verdict's own aspect, each order under a title of its own."""
    if not case.answers:
        made = "none: this verdict was not made by a run" if case.run_id is None else "none stored"
        yield "Reasoning", [Content.styled(made, "dim")]
    for reasoning in reasonings(case, case.answers, symbols, longest):
        yield reasoning.title, reasoning.body


def _other_reasoning(case: CaseDetail, symbols: Glyphs, longest: int) -> Iterator[Section]:
    """The reasoning about the other aspects, where the text differs from that of the own aspect."""
    own = {(answer.call, answer.reasoning) for answer in case.answers}
    for aspect in case.aspects:
        answers = [answer for answer in case.run_answers if answer.aspect == aspect and aspect != case.aspect]
        if any((answer.call, answer.reasoning) not in own for answer in answers):
            for reasoning in reasonings(case, answers, symbols, longest):
                yield f"{reasoning.title} on {aspect_words(aspect)}", reasoning.body


def _how(case: CaseDetail, symbols: Glyphs) -> Content:
    """Protocol, rule and prompt behind the verdict."""
    how = [one_line(case.protocol, 20), f"rule {one_line(case.rule, 40)}"]
    if case.prompt:
        how.append(one_line(case.prompt, 60))
    if case.rater_kind == "rules":
        how.append("built-in rules, not a language model")
    return Content.styled(f" {symbols.dot} ".join(how), "dim")


def _source(case: CaseDetail) -> str:
    return f" (as run {case.run_shown} saw it)" if case.run_shown is not None else " (as imported)"


def _user(case: CaseDetail, symbols: Glyphs, longest: int, *, events: bool) -> Iterator[Line]:
    """Facts and history; without `events` if the history is beside the lists."""
    user = case.user
    facts = ", ".join(f"{one_line(k, 30)} {one_line(v, 60)}" for k, v in list(user.attributes.items())[:20])
    details = "".join(f" {symbols.dot} {part}" for part in (occasion_text(case.occasion), facts) if part)
    yield Content.assemble((one_line(user.user_id, 60), "bold"), details)
    if undated := undated_text(user, case.occasion.served_at):
        yield Content.styled(f"{symbols.marked} {undated}", "$warning")
    shown = (("searches", user.searches), ("clicks", user.clicks), ("other", user.others))
    for title, events_shown in ((("history", user.history),) if events else ()) + shown:
        if not events_shown:
            continue
        yield Content.assemble((f"{title} ({len(events_shown)})", "dim"))
        yield from (event_line(event, symbols) for event in events_shown[:_SHOWN_EVENTS])
        if len(events_shown) > _SHOWN_EVENTS:
            yield Content.styled(f"  {symbols.cut} {len(events_shown) - _SHOWN_EVENTS} more", "dim")
    if user.browsed:
        yield Content.assemble(("browsed ", "dim"), ", ".join(one_line(b, 60) for b in user.browsed[:20]))
    if user.preferences:
        yield Content.assemble(("prefers ", "dim"), cut_text("; ".join(user.preferences), longest))


def _profile(case: CaseDetail, longest: int) -> Iterator[Line]:
    if case.user.profile or case.profile:
        yield Content(cut_text(case.user.profile or written_profile(case.profile), longest))


def _explanation(case: CaseDetail, symbols: Glyphs, longest: int) -> Iterator[Line]:
    if case.explanation is None:
        return
    yield Content.assemble(
        (item_words(case.explanation.item, symbols), "bold"),
        (f"  by {one_line(case.explanation_system, 40)}", "dim"),
    )
    yield Content(cut_text(case.explanation.text, longest))


def _example(case: CaseDetail, symbols: Glyphs, longest: int) -> Iterator[Line]:
    """The scored example of a one-shot question."""
    if case.example is None:
        return
    yield Content.styled(item_words(case.example.item, symbols), "bold")
    yield Content(cut_text(case.example.text, longest))
    scores = list(case.example.scores.items())[:20]
    yield Content.styled("  ".join(f"{aspect_words(name)} {score(v, symbols)}" for name, v in scores), "dim")
