"""The texts of the run form: the line of totals, the start button, and the first prompt. Contains no widget."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from recjudge_tui.domain.calls import Message
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.run_options import RUN_OPTIONS
from recjudge_tui.domain.text import money, one_line, quantity, safe_text
from recjudge_tui.reports.runs import cost_range, reuse_lines, short_cost, span
from recjudge_tui.tui.kit.glyphs import Glyphs, number
from recjudge_tui.tui.kit.text_pane import LONGEST_PROMPT
from recjudge_tui.tui.runs.launch_form import form_words
from recjudge_tui.tui.runs.launch_request import ExpectedRun
from recjudge_tui.tui.runs.text import short_count

# the settings that the advanced line names first while it is closed
_SUMMARY = ("top_k", "history", "seed", "max_tokens", "timeout_s")


def totals(expected: ExpectedRun, settings: RunSettings, look: Glyphs) -> Content:
    """`400 calls on 200 cases · ~1.1M tokens · $0 local · ~4 min`, with the budget if it costs something."""
    estimate = expected.estimate
    tokens = estimate.tokens_in_high + estimate.tokens_out
    budget = "none" if settings.budget_usd is None else money(settings.budget_usd)
    parts = [f"{quantity(estimate.calls, 'call')} on {quantity(estimate.cases, 'case')}"]
    parts += [f"~{short_count(tokens)} tokens"] if tokens else []
    parts += [short_cost(estimate)]
    parts += [f"budget {budget}"] if is_paid(expected) or settings.budget_usd is not None else []
    parts += [f"~{span(estimate.seconds)}"] if estimate.seconds is not None else []
    return Content(f" {look.dot} ".join(parts))


def is_paid(expected: ExpectedRun) -> bool:
    """Whether the run costs money, or may cost some because the price is not known."""
    return expected.estimate.cost_usd_high is None or expected.estimate.cost_usd_high > 0


def start_text(expected: ExpectedRun) -> str:
    """What the start button will do."""
    estimate = expected.estimate
    if expected.place:
        does = f"send {quantity(estimate.calls, 'call')} to {expected.place}"
        return f"Judge again: {does}" if expected.again else f"Start: {does}"
    cases = quantity(estimate.cases, "case")
    return (
        f"Judge {cases} again on this machine" if expected.again else f"Start: judge {cases} on this machine"
    )


def question_before(expected: ExpectedRun, settings: RunSettings) -> tuple[str, str, str] | None:
    """The question before the run starts: title, text and the word for yes; None if it costs nothing and replaces
    nothing.
    """
    again = f"{expected.again}. The new verdicts replace these." if expected.again else ""
    if not is_paid(expected):
        return ("Judge the same again?", again, "judge again") if again else None
    budget = (
        "No budget is set. Set one under advanced, or the run continues to its end."
        if settings.budget_usd is None
        else f"It stops before it has cost more than {money(settings.budget_usd)}."
    )
    if expected.estimate.cost_usd_high is None:
        budget = "Without a price, a budget cannot be enforced."
    calls = f"{quantity(expected.estimate.calls, 'call')} to {expected.place}."
    lines = (again, calls, f"Cost: {cost_range(expected.estimate)}.", budget)
    return "Start a run that costs money?", "\n".join(filter(None, lines)), "start"


def prompt_content(expected: ExpectedRun, notes: Sequence[str], look: Glyphs) -> Content:
    """The notes for which there was no room above, then the first prompt as it will be sent."""
    lines = [Content.styled(f"{look.marked} {note}", "$warning") for note in notes]
    named = f"rater {one_line(expected.rater, 60)} {look.dot} prompt {one_line(expected.prompt, 60)}"
    lines.append(Content.styled(named, "dim"))
    for message in expected.first:
        lines.append(Content.styled(f"{look.crumb} {message.role}{_images(message)}", "bold"))
        lines.append(Content(safe_text(message.content[:LONGEST_PROMPT]).expandtabs(4)))
    return Content("\n").join(lines)


def _images(message: Message) -> str:
    return f", with {quantity(len(message.images), 'image')}" if message.images else ""


def notes_of(expected: ExpectedRun) -> list[str]:
    """What to read before the start."""
    estimate = expected.estimate
    notes = [*expected.notes, *estimate.published]
    notes += [f"cost: {cost_range(estimate)}"] if is_paid(expected) else []
    notes += reuse_lines(estimate)
    notes += [estimate.domain_note, estimate.undated_note, *estimate.copies_notes]
    notes += [f"drawn: {quantity(n, 'user')} with {level}" for level, n in estimate.strata.items()]
    notes += [f"left out: {number(n)} × {reason}" for reason, n in estimate.left_out.items()]
    return [one_line(form_words(note), 600) for note in notes if note]


def advanced_summary(values: dict[str, str], usual: dict[str, str], look: Glyphs, room: int) -> str:
    """`top K 10 · seed 7`: changed settings first, then the most used ones, as many as fit into `room` cells."""
    changed = [name for name in RUN_OPTIONS if values.get(name, "") not in ("", usual.get(name, ""))]
    names = [name for name in dict.fromkeys((*changed, *_SUMMARY)) if values.get(name) or usual.get(name)]
    parts = [f"{RUN_OPTIONS[name].label} {one_line(values.get(name) or usual[name], 30)}" for name in names]
    shown = f" {look.dot} ".join(parts)
    while cell_len(shown) > room and len(parts) > 1:
        parts.pop()
        shown = f" {look.dot} ".join(parts)
    return shown
