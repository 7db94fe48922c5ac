"""A run as text: its state, its settings, its progress, and one line for each of its calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from recjudge_tui.domain.occasions import occasion_text
from recjudge_tui.domain.protocols import compares_lists, with_unit
from recjudge_tui.domain.run import Estimate, RunSettings, RunState, Wanted
from recjudge_tui.domain.text import money, one_line, quantity
from recjudge_tui.reports.runs import RunWatch, cost_range, eta_s, reused_words, seconds_until
from recjudge_tui.store.runs import FinishedCall
from recjudge_tui.tui.kit.charts import spark, stacked
from recjudge_tui.tui.kit.glyphs import Glyphs, case_number, number, short_label, wrapped

RunStatus = Literal[
    "running", "pausing", "stopping", "interrupted", "planned", "paused", "stopped", "done", "failed"
]
Fact = tuple[str, str]
RESUMABLE: tuple[RunStatus, ...] = ("interrupted", "planned", "paused", "stopped", "failed")

_STYLES: dict[RunStatus, str] = {
    "running": "bold $success",
    "pausing": "bold $warning",
    "stopping": "bold $warning",
    "interrupted": "bold $warning",
    "paused": "bold $warning",
    "stopped": "bold $warning",
    "failed": "bold $error",
    "done": "bold",
    "planned": "bold",
}


_THIS_MACHINE = re.compile(r"https?://(?:127\.0\.0\.1|localhost|\[::1\])(:\d+)[^\s,]*")
_STATUS_WHILE_ACTIVE: dict[Wanted, RunStatus] = {"run": "running", "pause": "pausing", "stop": "stopping"}


def status_of(state: RunState, wanted: Wanted, *, active: bool) -> RunStatus:
    """The status of a run; one stored as running while no process works on it was interrupted."""
    if active:
        return _STATUS_WHILE_ACTIVE[wanted]
    return "interrupted" if state == "running" else state


def status_glyph(status: RunStatus, look: Glyphs) -> str:
    return {
        "running": look.running,
        "pausing": look.paused,
        "paused": look.paused,
        "stopping": look.stopped,
        "stopped": look.stopped,
        "interrupted": look.marked,
        "failed": look.failed,
        "done": look.done,
        "planned": look.empty,
    }[status]


def status_content(status: RunStatus, look: Glyphs) -> Content:
    return Content.styled(f"{status_glyph(status, look)} {status}", _STYLES[status])


def other_content(watch: RunWatch, look: Glyphs, *, active: bool) -> Content:
    """The other stage in a line: `pairwise  run 2 ▶ running 3/12 25%   press n to see it`; empty where there is none."""
    other = watch.other
    if other is None:
        return Content("")
    status = status_of(other.state, other.wanted, active=active)
    share = f" {other.finished / other.calls:.0%}" if other.calls else ""
    return Content.assemble(
        (f"{other.protocol} ", "dim"),
        f"run {other.run_id} ",
        status_content(status, look),
        f"  {number(other.finished)}/{number(other.calls)}{share}   ",
        ("press n to see it", "dim"),
    )


def next_step(status: RunStatus, watch: RunWatch) -> str:
    """The next step for an inactive run; empty while it is active or when nothing is left."""
    left = watch.progress.outstanding
    if status == "interrupted":
        return "Interrupted: its process is gone. Press p to resume; stored answers are kept."
    if status in ("paused", "stopped", "planned") or (status == "failed" and left):
        return f"{number(left)} calls are outstanding: press p to resume."
    return ""


def clock(seconds: float) -> str:
    """`00:12:41`."""
    whole = int(max(seconds, 0))
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def setup_facts(watch: RunWatch, look: Glyphs) -> list[Fact]:
    settings, dot = watch.settings, f" {look.dot} "
    judge = [one_line(watch.judge.spec, 60)]
    if watch.rater != watch.judge.spec:
        judge.append(f"as {one_line(watch.rater, 40)}")
    judge += [one_line(url, 60) for url in watch.judge.base_urls]
    keys = [watch.judge.api_key_env] if watch.judge.api_key_env else []
    keys += [f"{variable} as {name}" for name, variable in watch.judge.header_env]
    lists = [one_line(", ".join(settings.systems) or "all systems", 60)]
    if settings.protocol not in with_unit("explanation"):
        lists.insert(0, f"top {settings.top_k}")
    if settings.baseline:
        lists.append(f"against {one_line(settings.baseline, 30)}")
    if settings.images:
        lists.append("images shown")
    if settings.aspects == "single":
        lists.append("aspects one by one")
    if settings.shots != "none":
        lists.append({"one": "one example for all", "personal": "one example per user"}[settings.shots])
    if settings.profile == "llm":
        lists.append("profile written first")
    return [
        ("judge", dot.join(judge)),
        *(("" if at else "sends", one_line(key, 60)) for at, key in enumerate(keys)),
        ("prompt", one_line(watch.prompt, 60)),
        ("cases", dot.join([cases_chosen(settings), *lists])),
    ]


def cases_chosen(settings: RunSettings) -> str:
    if settings.sample is not None:
        return f"sample {number(settings.sample)} seed {settings.seed}"
    return "all" if settings.limit is None else f"first {number(settings.limit)}"


def estimate_facts(watch: RunWatch, look: Glyphs) -> list[Fact]:
    settings, progress, dot = watch.settings, watch.progress, f" {look.dot} "
    how = [at_once(watch, look)]
    if compares_lists(settings.protocol):
        how.append("swap" if settings.swap else "no swap")
    if progress.cached:
        how.append(f"cache {progress.cached / max(progress.done, 1):.0%}")
    calls = dot.join([quantity(progress.calls, "call"), *how])
    if watch.estimate is None:
        return [("plan", calls)]
    used = "" if progress.cost_usd is None else f"; {money(progress.cost_usd)} so far"
    facts = [
        ("plan", calls),
        ("tokens", tokens_expected(watch.estimate, look)),
        ("cost", cost_range(watch.estimate) + (used if progress.cost_usd else "")),
    ]
    if watch.state == "running" and (left := seconds_until(watch.waiting_until)) > 0:
        facts.append(("waits", f"{left:.0f} s more, because the server asked for a pause"))
    return facts


def at_once(watch: RunWatch, look: Glyphs) -> str:
    """`4 at once`, or `4 → 8 at once` until the run has adopted the new number."""
    now, wanted = watch.concurrency, watch.wanted_concurrency
    if wanted is None or wanted == now:
        return f"{now} at once" if now else "concurrency auto"
    return f"{now or 'auto'} {'->' if look.bar.isascii() else '→'} {wanted} at once"


def tokens_expected(estimate: Estimate, look: Glyphs) -> str:
    if not estimate.tokens_out:
        return "none"
    low, high = short_count(estimate.tokens_in_low), short_count(estimate.tokens_in_high)
    span = low if low == high else f"{low} to {high}"
    return f"~{span} in {look.dot} ~{short_count(estimate.tokens_out)} out"


def short_count(value: int) -> str:
    """`940`, `12k`, `1.9M`."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            shown = value / size
            return f"{shown:.1f}{unit}" if shown < 10 else f"{shown:.0f}{unit}"
    return str(value)


def progress_content(watch: RunWatch, width: int, look: Glyphs, *, active: bool) -> Content:
    """The bar, the counts, the pace or the reason for waiting, and the tally of each system if the run compares lists."""
    progress = watch.progress
    finished = progress.done + progress.failed
    share = finished / progress.calls if progress.calls else 1.0
    tail = f"  {number(finished)}/{number(progress.calls)} {share:4.0%}"
    waits = waiting_text(watch, look) if active else ""
    if active and progress.outstanding and not waits:
        left = eta_s(watch)
        tail += f"  eta {_short_time(left) if left is not None else look.none}"
    room = max(width - 6 - cell_len(tail), 8)
    calls = max(progress.calls, 1)
    fresh = (progress.done - progress.cached) / calls
    bar = stacked(
        [
            (progress.cached / calls, "=" if look.bar.isascii() else "▓", "$accent"),
            (fresh, look.bar, "$success"),
            (progress.failed / calls, "x" if look.bar.isascii() else "▒", "$error"),
        ],
        room,
        look,
    )
    pace = Content.styled(waits, "bold $warning") if waits else _pace(watch, width, look)
    lines = [Content.assemble(("total ", "dim"), bar, tail), _counts(watch, look), pace]
    if compares_lists(watch.settings.protocol):
        lines.append(standings_line(watch, width, look))
    return Content("\n").join(lines)


def waiting_text(watch: RunWatch, look: Glyphs) -> str:
    """`waiting: no connection to :9100, 4 calls, next try in 12 s`; empty while the server is reached."""
    if watch.state != "running" or not watch.retry_why:
        return ""
    why = one_line(_THIS_MACHINE.sub(r"\1", watch.retry_why), 100)
    left = seconds_until(watch.retry_at)
    due = f"next try in {left:.0f} s" if left >= 1 else "trying again"
    return f"{look.paused} waiting: {why}, {due}"


def standings_line(watch: RunWatch, width: int, look: Glyphs) -> Content:
    """`W/T/L als 12/5/3 · text 3/5/12   ▲ 61% of 44 flip with the order`, with as many systems as fit.

    Counts without intervals: they are read again and again during a run, and an ordinary interval is not valid for that.
    """
    marked = watch.marked
    parts: list[str] = []
    flips = ""
    if marked.both_orders:
        share = marked.flips / marked.both_orders
        flips = f"   {look.marked if share else look.dot} {share:.0%} of {number(marked.both_orders)} flip with the order"
    room = width - cell_len(flips) - 6
    for tally in watch.tallies:
        counts = (tally.won, tally.tied, tally.lost)
        text = f"{one_line(tally.system, 24)} {'/'.join(map(number, counts))}"
        room -= cell_len(text) + 3
        if room < 0 and parts:
            break
        parts.append(text)
    stand = f" {look.dot} ".join(parts) or "no verdict yet"
    return Content.assemble(("W/T/L ", "dim"), stand, (flips, "$warning" if marked.flips else "dim"))


def _counts(watch: RunWatch, look: Glyphs) -> Content:
    progress, gap = watch.progress, "   "
    failed = f"{look.failed} {number(progress.failed)} failed"
    parts: list[str | tuple[str, str]] = [f"{look.done} {number(progress.done)} done"]
    parts += [gap, (failed, "$error" if progress.failed else "")]
    if progress.cached:
        parts += [gap, (f"{number(progress.cached)} cached", "$accent")]
    if reused := reused_words(progress):
        parts += [gap, (reused, "dim")]
    flagged = watch.marked.flagged
    parts += [gap, (f"{look.marked} {number(flagged)} flagged", "$warning" if flagged else "")]
    if watch.trouble.retried:
        parts += [gap, f"{number(watch.trouble.retried)} retried"]
    kinds = ", ".join(
        f"{one_line(kind, 20).replace('_', ' ')} {number(n)}" for kind, n in watch.trouble.kinds
    )
    if kinds:
        parts += [gap, (kinds, "dim")]
    return Content.assemble(*parts)


def _pace(watch: RunWatch, width: int, look: Glyphs) -> Content:
    pace = watch.pace
    if pace.rate is None:
        return Content.styled("rate/s  no two calls finished yet", "dim")
    drawn = spark(pace.rates, max(width - 40, 8), look)
    p95 = look.none if pace.p95_s is None else _short_time(pace.p95_s)
    bucket = f"   each bar {_short_time(pace.width_s)}"
    return Content.assemble(
        ("rate/s ", "dim"), (drawn, "$accent"), f" {pace.rate:.1f}/s   p95 {p95}", (bucket, "dim")
    )


def call_line(call: FinishedCall, width: int, look: Glyphs) -> Content:
    """`✓ 0004410 A|B B  2.1 s  u17  als | cooc` for an answer, `✗ 0004372  timeout: …` for a failure."""
    shown = ""
    if call.order:
        shown = " A|B" if call.order == "ab" else " B|A"
    if call.error_kind:
        head = f"{look.failed} {case_number(call.case_id)}{shown} "
        tries = f" {look.dot} {call.attempts} attempts" if call.attempts > 1 else ""
        text = f"{call.error_kind.replace('_', ' ')}: {one_line(call.error, 300)}"
        return Content.assemble(
            (head, "$error"), one_line(text, max(width - cell_len(head) - cell_len(tries), 8)), (tries, "dim")
        )
    systems = " | ".join(name for name in (call.system_a, call.system_b) if name)
    took = "cached" if call.cached else "" if call.latency_s is None else _short_time(call.latency_s)
    flags = f"{look.marked} {call.flags} flagged" if call.flags else ""
    answer = _answer(call)
    # several answers use the space of the flags, which only calls about one aspect have
    several = len(answer) > 8 and not flags
    about = (one_line(call.user_id, 24), one_line(occasion_text(call.occasion), 40), one_line(systems, 40))
    who = "  ".join(part for part in about if part)
    room = max(width - 49, 8)
    return Content.assemble(
        (f"{look.done} ", "$success"),
        f"{case_number(call.case_id)}{shown:5}",
        (_cell(answer, 22 if several else 9), "bold"),
        (_cell(took, 8), "dim"),
        ("" if several else _cell(flags, 13), "$warning"),
        (_cell(who, room), "dim"),
    )


def _answer(call: FinishedCall) -> str:
    """What a call answered: one label, or the first letters of several; a call without answers wrote a profile."""
    labels = call.label.split(", ")
    if labels == [""]:
        return "profile"
    if len(labels) == 1:
        return short_label(call.label)
    return " ".join(label[:1] if label.isalpha() else label for label in labels)


def _cell(text: str, width: int) -> str:
    line = one_line(text, max(width - 1, 1))
    return set_cell_size(line, width)


def _short_time(seconds: float) -> str:
    """`0.03 s`, `2.1 s`, `45 s`, `16m`, `2h 05m`."""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 and seconds != int(seconds) else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes}m" if minutes < 90 else f"{minutes // 60}h {minutes % 60:02d}m"


def facts_content(facts: Sequence[Fact], width: int | None = None) -> Content:
    """A line for each fact; where a width is given, as many lines as it needs, each below its first word."""
    wide = max(len(name) for name, _ in facts) + 1
    lines: list[Content] = []
    for name, text in facts:
        parts = [text] if width is None else wrapped(text, max(width - wide, 8)) or [""]
        lines += [
            Content.assemble(((name if at == 0 else "").ljust(wide), "dim"), part)
            for at, part in enumerate(parts)
        ]
    return Content("\n").join(lines)
