"""The first lines of a case: what the judge and the people chose, and why the verdict deserves a look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from textual.content import Content

from recjudge_tui.domain.protocols import OVERALL, protocol_facts, question_of, smallest_disagreement
from recjudge_tui.domain.roles import FIRST_HAND, REVIEWED
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.store.case_detail import CaseDetail, Opinion
from recjudge_tui.store.verdicts import LOW_CONFIDENCE
from recjudge_tui.tui.cases.case.reasoning import chosen_system
from recjudge_tui.tui.kit.glyphs import Glyphs, bar, fraction, score

_MOST_ANSWERS = 4


def head(case: CaseDetail, symbols: Glyphs) -> Iterator[Content]:
    """`llama: embedding .41   people: cooccurrence ×2`, then the reasons to look at it."""
    label = f"{symbols.failed} failed" if case.failed else _label(case, symbols)
    parts: list[str | tuple[str, str]] = [
        (f"{one_line(case.rater, 30)}: ", ""),
        (label, "bold $error" if case.failed else "bold"),
    ]
    if case.aspect != OVERALL:
        parts.append(f" on {one_line(case.aspect.replace('_', ' '), 26)}")
    if case.confidence is not None:
        parts.append((f" {fraction(case.confidence, '')}", "dim"))
    if people := _people(case, symbols):
        parts.append(f"   people: {people}")
    yield Content.assemble(*parts)
    if reasons := list(reasons_to_look(case)):
        yield Content.assemble(
            ("WHY YOU SEE THIS  ", "bold $warning"), (f" {symbols.dot} ".join(reasons), "$warning")
        )


def reasons_to_look(case: CaseDetail) -> Iterator[str]:
    """The reasons to look at the case, most important first."""
    if case.rater_kind in REVIEWED and case.value is not None and not case.failed:
        least, value = smallest_disagreement(case.protocol), case.value
        others = [o for o in _on_the_question(case) if o.value is not None and not o.mine]
        people = [o for o in others if o.rater_kind in FIRST_HAND]
        apart = [o for o in people if o.value is not None and abs(o.value - value) >= least]
        if apart:
            yield "judge against " + _share(len(apart), len(people))
        judges = [o for o in others if o.rater_kind in REVIEWED and o.rater != case.rater]
        split = [o for o in judges if o.value is not None and abs(o.value - value) >= least]
        if split:
            yield "judges split: " + ", ".join(
                f"{one_line(o.rater, 20)} says {chosen_system(case, o.label) or f'{o.value:g}'}"
                for o in split[:3]
            )
    if case.flipped:
        yield "flips when swapped"
    if case.confidence is not None and case.confidence < LOW_CONFIDENCE:
        yield f"confidence {fraction(case.confidence, '')}"
    if case.failed:
        yield "a call failed"
    if flagged := sum(flag.mine for flag in case.flags):
        yield f"{quantity(flagged, 'flag')} on items"


def _share(apart: int, people: int) -> str:
    if apart < people:
        return f"{apart} of {people} people"
    return {1: "the person", 2: "both people"}.get(people, f"all {people} people")


def _on_the_question(case: CaseDetail) -> list[Opinion]:
    question = question_of(case.protocol)
    return [
        o
        for o in case.opinions
        if not o.failed and o.aspect == case.aspect and question_of(o.protocol) == question
    ]


def _people(case: CaseDetail, symbols: Glyphs) -> str:
    """`cooccurrence ×2, tie`, in the order of the list; empty where no person judged the case."""
    given = Counter(
        (o.value, chosen_system(case, o.label) or score(o.value, symbols))
        for o in _on_the_question(case)
        if o.rater_kind in FIRST_HAND and not o.mine and o.value is not None
    )
    shown = sorted(given.items(), key=lambda entry: (-entry[1], -entry[0][0]))[:_MOST_ANSWERS]
    return ", ".join(
        answer + (f" {symbols.times}{count}" if count > 1 else "") for (_, answer), count in shown
    )


def _label(case: CaseDetail, symbols: Glyphs) -> str:
    """The choice in words, or a number with a bar on a scale from 0 to 1."""
    if case.kind == "explanation" and case.rater_kind != "metric":
        return f"{score(case.value, symbols)} of {protocol_facts(case.protocol).high:g}"
    if case.label and protocol_facts(case.protocol).labels:
        return chosen_system(case, case.label)
    return f"{score(case.value, symbols)}  {bar(case.value or 0.0, 10, symbols)}"
