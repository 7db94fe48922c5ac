"""The result of trying a prompt on a case."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from recjudge_tui.domain.calls import Flag, Reply, Trial
from recjudge_tui.domain.roles import BUILT_IN
from recjudge_tui.domain.text import money, one_line, safe_text
from recjudge_tui.tui.kit.glyphs import Glyphs, fraction, number, score
from recjudge_tui.tui.kit.text_pane import LONGEST_TEXT


def trial_content(trial: Trial, whose: str, symbols: Glyphs) -> Content:
    """Answers and flags, or the error; then tokens, cost and time; then the raw reply. `whose` says who A and B are."""
    lines = [Content.styled(whose, "dim")] if whose and trial.parsed else []
    lines += [*_outcome(trial, symbols), Content(""), *_took(trial, symbols)]
    if trial.reply is not None:
        lines += _reply_lines(trial.reply, symbols)
    return Content("\n").join(lines)


def _outcome(trial: Trial, symbols: Glyphs) -> Iterator[Content]:
    if trial.parsed is None:
        yield Content.styled(f"{symbols.failed} no answer: {one_line(trial.error_kind, 40)}", "bold $error")
        yield Content(safe_text(trial.error[:LONGEST_TEXT]).expandtabs(4))
        return
    for answer in trial.parsed.answers:
        label = one_line(answer.label, 60)
        figure = score(answer.value, symbols)
        value = "" if label == figure else f" ({figure})"
        sure = (
            "" if answer.confidence is None else f"  confidence {fraction(answer.confidence, symbols.none)}"
        )
        yield Content.assemble(
            f"{symbols.done} ", (one_line(answer.aspect, 40), "bold"), "  ", (label, "bold $accent"), value, (sure, "dim")
        )  # fmt: skip
        if answer.reasoning:
            yield Content(f"  {safe_text(answer.reasoning[:LONGEST_TEXT]).expandtabs(4)}")
    for flag in trial.parsed.flags:
        yield Content.assemble(
            (f"{symbols.marked} {one_line(flag.issue, 60)}", "bold $warning"),
            f"  {_titled(trial, flag)}: {one_line(flag.reason, 400)}",
        )


def _titled(trial: Trial, flag: Flag) -> str:
    material = trial.request.material
    for slate in material.slates if material is not None else ():
        for place, item in enumerate(slate.items, 1):
            if item.item_id == flag.item_id:
                return f"{place}. {one_line(item.title, 80)}"
    return one_line(flag.item_id, 60)


def _took(trial: Trial, symbols: Glyphs) -> Iterator[Content]:
    reply = trial.reply
    model = f" ({one_line(reply.model, 40)})" if reply is not None and reply.model else ""
    kind = f", {BUILT_IN[trial.rater_kind]}" if trial.rater_kind in BUILT_IN else ""
    rows = [("judge", f"{one_line(trial.judge, 60)}{model}{kind}")]
    if reply is not None and trial.rater_kind not in BUILT_IN:
        usage = reply.usage
        counted = [symbols.none if count is None else number(count) for count in (usage.input, usage.output)]
        rows.append(("tokens", f"{counted[0]} in, {counted[1]} out"))
        rows.append(("cost", "unknown" if trial.cost_usd is None else money(trial.cost_usd)))
    attempts = f"{number(trial.attempts)} {'attempt' if trial.attempts == 1 else 'attempts'}"
    latency = reply.latency_s if reply is not None else None
    rows.append(("time", f"{latency:.2f} s, {attempts}" if latency is not None else attempts))
    if trial.parsed is not None:
        rows.append(("parsed", trial.parsed.parsed_by))
    for name, value in rows:
        yield Content.assemble((f"{name:<9}", "dim"), value)
    yield Content.styled("This was a trial: nothing is stored and no verdict is counted.", "dim")


def _reply_lines(reply: Reply, symbols: Glyphs) -> Iterator[Content]:
    for name, text in (("thinking", reply.thinking), ("reply", reply.text)):
        if text or name == "reply":
            yield Content("")
            yield Content.styled(f"{symbols.rule * 3} {name}", "bold $accent")
            yield Content(safe_text(text[:LONGEST_TEXT]).expandtabs(4) or "(empty)")
            if len(text) > LONGEST_TEXT:
                yield Content.styled(f"({number(len(text) - LONGEST_TEXT)} more characters)", "dim")
