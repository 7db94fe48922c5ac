"""A case as text: the verdict, the other raters, the reasoning, the user, the lists with their flags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from textual.content import Content

from recjudge_tui.domain.material import undated_text
from recjudge_tui.domain.occasions import occasion_text
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.reports.verdicts.case_page import written_profile
from recjudge_tui.store.verdicts.case_detail import CallAnswer, CaseDetail
from recjudge_tui.tui.cases.images import images
from recjudge_tui.tui.cases.lists import event_line, history_beside, item_words, lists, lists_title
from recjudge_tui.tui.cases.scores import aspect_words, raters, raters_title
from recjudge_tui.tui.kit.glyphs import Glyphs, ago, bar, case_number, fraction, score

LONGEST = 12_000
_SHOWN_EVENTS = 25
_DONE = {"accept": "accepted", "dismiss": "dismissed", "override": "overridden"}
Line = Content | str


def case_content(
    case: CaseDetail, width: int, symbols: Glyphs, longest: int = LONGEST, *, draw: bool = True
) -> Content:
    """The whole case, laid out for `width` cells. Texts longer than `longest` are cut and marked as cut; without `draw`
    images are named."""
    beside = history_beside(case, width)
    person = [
        ("User" + _source(case), _user(case, symbols, longest, events=not beside)),
        ("Profile (written by the model)", _profile(case, longest)),
    ]
    shown: list[tuple[str, Iterable[Line]]] = [
        (lists_title(case), lists(case, width, symbols) if case.slates else ())
    ]
    if case.images:
        shown.append(("Images shown", images(case, width, symbols, draw=draw)))
    sections = [
        ("", _verdict(case, symbols, longest)),
        ("Explanation", _explanation(case, symbols, longest)),
        ("Triage", _triage(case, symbols, longest)),
        (raters_title(case), raters(case, width, symbols)),
        ("Reasoning", _reasoning(case, symbols, longest)),
        ("Example shown before it", _example(case, symbols, longest)),
        *shown,
        *person,
        ("Reasoning on the other aspects", _other_reasoning(case, symbols, longest)),
    ]
    lines: list[Line] = []
    for title, body in sections:
        section = list(body)
        lines += [_rule(title, width, symbols), *section] if section and title else section
    return Content("\n").join(lines)


def case_title(case: CaseDetail, symbols: Glyphs) -> str:
    run = f" {symbols.dot} run {case.run_id}" if case.run_id is not None else ""
    return f"case {case_number(case.case_id)} {symbols.dot} {one_line(case.rater, 14)}{run}"


def _text(text: str, longest: int) -> str:
    """Safe text of several lines, cut to `longest` characters."""
    shown = safe_text(text[:longest]).strip()
    left = len(text) - longest
    return f"{shown} … ({left:,} more characters: “Y” saves all of it)" if left > 0 else shown


def _rule(title: str, width: int, symbols: Glyphs) -> Content:
    rest = max(width - cell_len(title) - 3, 0)
    return Content.assemble(
        (f"{symbols.rule} ", "dim"), (title, "bold $accent"), (f" {symbols.rule * rest}"[: rest + 1], "dim")
    )


def _verdict(case: CaseDetail, symbols: Glyphs, longest: int) -> Iterator[Line]:
    signs = []
    if case.flipped:
        signs.append("flips when swapped")
    own = sum(flag.mine for flag in case.flags)
    if own:
        signs.append(f"{own} flagged")
    label = f"{symbols.failed} failed" if case.failed else _said_label(case, symbols)
    parts: list[str | Content | tuple[str, str]] = [
        "Verdict  ",
        (label, "bold $error" if case.failed else "bold"),
    ]
    if case.aspect != "overall":
        parts.append((f" on {aspect_words(case.aspect)}", ""))
    if signs:
        parts.append((f"   {symbols.marked} {', '.join(signs)}", "$warning"))
    yield Content.assemble(*parts)
    how = [one_line(case.protocol, 20), f"rule {one_line(case.rule, 40)}"]
    if case.confidence is not None:
        how.append(f"confidence {fraction(case.confidence, '')}")
    if case.prompt:
        how.append(one_line(case.prompt, 60))
    if case.rater_kind == "rules":
        how.append("built-in rules, not a language model")
    yield Content.styled(f" {symbols.dot} ".join(how), "dim")
    if case.note:
        yield Content(_text(case.note, longest))


def _said_label(case: CaseDetail, symbols: Glyphs) -> str:
    """The label, or the number of a verdict without a label; with a bar on a scale from 0 to 1."""
    if case.kind == "explanation" and case.rater_kind != "metric":
        return f"{score(case.value, symbols)} of {protocol_facts(case.protocol).high:g}"
    if case.label and protocol_facts(case.protocol).labels:
        return one_line(case.label, 60)
    return f"{score(case.value, symbols)}  {bar(case.value or 0.0, 10, symbols)}"


def _triage(case: CaseDetail, symbols: Glyphs, longest: int) -> Iterator[Line]:
    """The readers' actions on the verdict, oldest first, without those taken back."""
    for entry in case.triage:
        if entry.active:
            change = (
                f" to {one_line(entry.label, 40) or score(entry.value, symbols)}"
                if entry.action == "override"
                else ""
            )
            text = f": {_text(entry.text, longest)}" if entry.text else ""
            who = f"{one_line(entry.reader, 20)} {symbols.dot} {ago(entry.created_at)}"
            yield Content.assemble(
                (_DONE.get(entry.action, entry.action), "bold"), f"{change}{text}  ", (who, "dim")
            )


def _reasoning(case: CaseDetail, symbols: Glyphs, longest: int) -> Iterator[Line]:
    """The reasoning about the verdict's own aspect."""
    if not case.answers:
        made = "none: this verdict was not made by a run" if case.run_id is None else "none stored"
        yield Content.styled(made, "dim")
    yield from _answers(case, case.answers, symbols, longest)


def _other_reasoning(case: CaseDetail, symbols: Glyphs, longest: int) -> Iterator[Line]:
    """The reasoning about the other aspects, where the text differs from that of the own aspect."""
    own = {(answer.call, answer.reasoning) for answer in case.answers}
    for aspect in case.aspects:
        answers = [answer for answer in case.run_answers if answer.aspect == aspect and aspect != case.aspect]
        if any((answer.call, answer.reasoning) not in own for answer in answers):
            yield Content.styled(aspect_words(aspect), "bold $accent")
            yield from _answers(case, answers, symbols, longest)


def _answers(
    case: CaseDetail, answers: Sequence[CallAnswer], symbols: Glyphs, longest: int
) -> Iterator[Line]:
    for answer in answers:
        head = _answer_head(case, answer, len(answers) > 1, symbols)
        if head:
            yield head
        if answer.failed:
            yield Content.assemble(
                (f"{symbols.failed} {one_line(answer.error_kind.replace('_', ' '), 40)}", "$error"),
                f" after {answer.attempts} attempt{'' if answer.attempts == 1 else 's'}",
            )
        text = answer.error if answer.failed else answer.reasoning
        yield Content(_text(text, longest) or "(no reasoning)")


def _answer_head(case: CaseDetail, answer: CallAnswer, several: bool, symbols: Glyphs) -> Content | None:
    """Which list was shown first (as the prompt names it), and the answer as a verdict on the systems."""
    if answer.set_one:
        name = protocol_facts(case.protocol).list_names[0]
        where = f"{name if ' ' in name else f'its {name}'} = {one_line(answer.set_one, 40)}"
    elif several:
        where = f"sample {answer.sample + 1}"
    else:
        return None
    system = {letter: name for letter, (name, _) in zip("AB", case.slates, strict=False)}.get(answer.label)
    meant = f" = {one_line(system, 30)}" if system is not None and answer.set_one else ""
    says = "" if answer.failed else f" {symbols.dot} says {one_line(answer.label, 30)}{meant}"
    return Content.assemble((f"[{where}]", "bold"), (says, "dim"))


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
        yield Content.assemble(("prefers ", "dim"), _text("; ".join(user.preferences), longest))


def _profile(case: CaseDetail, longest: int) -> Iterator[Line]:
    if case.user.profile or case.profile:
        yield Content(_text(case.user.profile or written_profile(case.profile), longest))


def _explanation(case: CaseDetail, symbols: Glyphs, longest: int) -> Iterator[Line]:
    if case.explanation is None:
        return
    yield Content.assemble(
        (item_words(case.explanation.item, symbols), "bold"),
        (f"  by {one_line(case.explanation_system, 40)}", "dim"),
    )
    yield Content(_text(case.explanation.text, longest))


def _example(case: CaseDetail, symbols: Glyphs, longest: int) -> Iterator[Line]:
    """The scored example of a one-shot question."""
    if case.example is None:
        return
    yield Content.styled(item_words(case.example.item, symbols), "bold")
    yield Content(_text(case.example.text, longest))
    scores = list(case.example.scores.items())[:20]
    yield Content.styled("  ".join(f"{aspect_words(name)} {score(v, symbols)}" for name, v in scores), "dim")
