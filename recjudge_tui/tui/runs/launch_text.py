"""What the run form says: the line of totals, what the start will do, and the first prompt. No widget in here."""

from __future__ import annotations

from textual.content import Content

from recjudge_tui.domain.calls import Message
from recjudge_tui.domain.run import Estimate, RunSettings
from recjudge_tui.domain.run_options import RUN_OPTIONS
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.reports.projects.estimate import cost_range, duration
from recjudge_tui.tui.kit.glyphs import Glyphs, number, plural
from recjudge_tui.tui.runs.launch_form import form_words
from recjudge_tui.tui.runs.launch_request import ExpectedRun
from recjudge_tui.tui.runs.text import short_count

_LONGEST = 60_000
# the settings that the closed line of the advanced ones names first
_SUMMARY = ("top_k", "history", "seed", "max_tokens", "timeout_s")


def totals(expected: ExpectedRun, settings: RunSettings, look: Glyphs) -> Content:
    """`400 calls on 200 cases · ~1.1M tokens · $0 local · ~4 min`, with the budget where it costs something."""
    estimate = expected.estimate
    tokens = estimate.tokens_in_high + estimate.tokens_out
    budget = "none" if settings.budget_usd is None else f"${settings.budget_usd:,.2f}"
    parts = [f"{plural(estimate.calls, 'call')} on {plural(estimate.cases, 'case')}"]
    parts += [f"~{short_count(tokens)} tokens"] if tokens else []
    parts += [_cost(estimate)]
    parts += [f"budget {budget}"] if is_paid(expected) or settings.budget_usd is not None else []
    parts += [duration(estimate.seconds).replace("about ", "~")] if estimate.seconds is not None else []
    return Content(f" {look.dot} ".join(parts))


def _cost(estimate: Estimate) -> str:
    """The cost; where a price comes from is said in the notes."""
    low, high = estimate.cost_usd_low, estimate.cost_usd_high
    if low is None or high is None:
        return "cost unknown"
    return f"${low:,.2f} to ${high:,.2f}" if high else f"$0 {estimate.price_note}".replace("not a", "no")


def is_paid(expected: ExpectedRun) -> bool:
    """Whether the run costs money, or may cost some because the price is not known."""
    return expected.estimate.cost_usd_high is None or expected.estimate.cost_usd_high > 0


def start_text(expected: ExpectedRun) -> str:
    """What the start button will do."""
    estimate = expected.estimate
    does = f"judges {plural(estimate.cases, 'case')} here"
    if expected.place:
        does = f"sends {plural(estimate.calls, 'call')} to {expected.place}"
    return f"Judge again, {does}" if expected.again else f"Start, {does}"


def question_before(expected: ExpectedRun, settings: RunSettings) -> tuple[str, str, str] | None:
    """What is asked before the run starts: title, text and the word for yes; None where it costs nothing and replaces
    nothing."""
    again = f"{expected.again}. The new verdicts replace these." if expected.again else ""
    if not is_paid(expected):
        return ("Judge the same again?", again, "judge again") if again else None
    budget = (
        "No budget is set. Set one under advanced, or the run goes on to its end."
        if settings.budget_usd is None
        else f"It stops before it has cost more than ${settings.budget_usd:,.2f}."
    )
    if expected.estimate.cost_usd_high is None:
        budget = "Without a price no budget can be kept."
    calls = f"{plural(expected.estimate.calls, 'call')} to {expected.place}."
    lines = (again, calls, f"Cost: {cost_range(expected.estimate)}.", budget)
    return "Start a run that costs money?", "\n".join(filter(None, lines)), "start"


def prompt_content(expected: ExpectedRun, look: Glyphs) -> Content:
    """What should be known before the start, then the first prompt as it will be sent."""
    lines = [
        Content.styled(f"{look.marked} {one_line(note, 600)}", "$warning") for note in notes_of(expected)
    ]
    named = f"rater {one_line(expected.rater, 60)} {look.dot} prompt {one_line(expected.prompt, 60)}"
    lines.append(Content.styled(named, "dim"))
    for message in expected.first:
        lines.append(Content.styled(f"{look.crumb} {message.role}{_images(message)}", "bold"))
        lines.append(Content(safe_text(message.content[:_LONGEST]).expandtabs(4)))
    return Content("\n").join(lines)


def _images(message: Message) -> str:
    return f", with {plural(len(message.images), 'image')}" if message.images else ""


def notes_of(expected: ExpectedRun) -> list[str]:
    estimate = expected.estimate
    notes = [*expected.notes, *estimate.published]
    notes += [f"cost: {cost_range(estimate)}"] if is_paid(expected) else []
    notes += [estimate.domain_note, estimate.undated_note, *estimate.copies_notes]
    notes += [f"drawn: {plural(n, 'user')} with {level}" for level, n in estimate.strata.items()]
    notes += [f"left out: {number(n)} × {reason}" for reason, n in estimate.left_out.items()]
    return [form_words(note) for note in notes if note]


def advanced_summary(values: dict[str, str], usual: dict[str, str], look: Glyphs) -> str:
    """`top K 10 · seed 7`: the settings that were changed first, then the most used ones."""
    changed = [name for name in RUN_OPTIONS if values.get(name, "") not in ("", usual.get(name, ""))]
    names = [name for name in dict.fromkeys((*changed, *_SUMMARY)) if values.get(name) or usual.get(name)]
    parts = [f"{RUN_OPTIONS[name].label} {one_line(values.get(name) or usual[name], 30)}" for name in names]
    return f" {look.dot} ".join(parts)
