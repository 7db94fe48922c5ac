"""A run for people: its estimate and outcome as text, its progress while it works, what sets it apart from others, and which
models answered it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import NamedTuple

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.protocols import compares_lists
from recjudge_tui.domain.run import Estimate, Progress, RunSettings, RunState, Wanted
from recjudge_tui.domain.run_options import RUN_OPTIONS
from recjudge_tui.domain.text import money, one_line
from recjudge_tui.reports.common.table import Note
from recjudge_tui.stats.estimate import join_notes
from recjudge_tui.store import runs as run_store
from recjudge_tui.store.database import Database, StoredRow

NEWEST_TIMES = 1000
RATE_OVER_CALLS = 50
BUCKETS = 60
_WIDTHS_S = (1, 2, 5, 10, 30, 60, 300, 900, 3600)
_LONGEST_WORD = 60


# ---- the estimate and the outcome ------------------------------------------------------------------------------------


def estimate_lines(estimate: Estimate, *, rater: str, prompt: str) -> list[str]:
    """The estimate of a run, one fact per line."""
    lines = [f"{rater} · prompt {prompt} · {estimate.cases:,} cases, {estimate.calls:,} calls"]
    if estimate.tokens_out:
        lines.append(
            f"tokens in {estimate.tokens_in_low:,} to {estimate.tokens_in_high:,}, out about {estimate.tokens_out:,}"
            f" · longest prompt about {estimate.longest_prompt_tokens:,}"
        )
    if estimate.tokens_reused:
        share = estimate.tokens_reused / max(estimate.tokens_in_low, 1)
        counted = "; the lower cost counts on it" if estimate.cost_usd_low else ""
        lines.append(
            f"about {share:.0%} of the prompt tokens reused, as in the last run of this judge{counted}"
        )
    if estimate.stored:
        rest = "nothing is asked" if estimate.stored == estimate.calls else "the others are asked"
        lines.append(f"stored replies: about {estimate.stored:,} of {estimate.calls:,} calls; {rest}")
    if estimate.images:
        lines.append(f"images sent: {estimate.images:,}; their tokens are counted above")
    lines.append(f"cost {cost_range(estimate)} · time {duration(estimate.seconds)}")
    lines += estimate.published
    lines += filter(None, (estimate.domain_note, estimate.undated_note, *estimate.copies_notes))
    lines += [f"drawn: {n:,} users with {level}" for level, n in estimate.strata.items()]
    lines += [f"left out: {n:,} × {reason}" for reason, n in estimate.left_out.items()]
    return lines


def reused_words(progress: Progress) -> str:
    """`72% of prompt tokens reused`; empty if the server reused none or does not say."""
    share = progress.reused_share
    return f"{share:.0%} of prompt tokens reused" if share else ""


def cost_range(estimate: Estimate) -> str:
    """`$0 (local)`, `$1.20 to $3.10 (list price)`, or that the price is unknown."""
    low, high = estimate.cost_usd_low, estimate.cost_usd_high
    if low is None or high is None:
        return f"unknown ({estimate.price_note})"
    if high == 0:
        return f"$0 ({estimate.price_note})"
    return f"{money(low)} to {money(high)} ({estimate.price_note})"


def short_cost(estimate: Estimate) -> str:
    """`$0 local`, `$1.20 to $3.10`, `cost unknown`: without the source of the price, which `cost_range` gives."""
    low, high = estimate.cost_usd_low, estimate.cost_usd_high
    if low is None or high is None:
        return "cost unknown"
    return f"{money(low)} to {money(high)}" if high else f"$0 {estimate.price_note}"


def duration(seconds: float | None) -> str:
    """`unknown until the first run of this judge`, or `about ` and the `span`."""
    return "unknown until the first run of this judge" if seconds is None else f"about {span(seconds)}"


def span(seconds: float) -> str:
    """`12 s`, `3 min`, `2 h 05 min`."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def outcome_line(run_id: int, progress: Progress) -> str:
    """The line that scripts read when a run ends."""
    unknown = progress.cost_usd is None and progress.done > progress.cached
    cost = "unknown" if unknown else f"${progress.cost_usd or 0:.4f}"
    if progress.unknown_usd:
        cost += f" and at most {money(progress.unknown_usd)} more that is not known"
    reused = reused_words(progress)
    return (
        f"run {run_id} {progress.state}: {progress.done} done, {progress.failed} failed,"
        f" {progress.cached} from cache, {progress.outstanding} outstanding, cost {cost}"
        f"{reused and f', {reused}'}"
    )


# ---- progress --------------------------------------------------------------------------------------------------------


class Pace(NamedTuple):
    """`rates` are calls per second, oldest first, each over `width_s` seconds. `rate` is the current one, None with
    fewer than two calls. `p95_s` is the 95th percentile of the newest latencies."""

    rates: tuple[float, ...]
    width_s: int
    rate: float | None
    p95_s: float | None


class SystemTally(NamedTuple):
    """The verdicts of a run so far on one system against all others. Ties include position ties."""

    system: str
    won: int
    tied: int
    lost: int


@dataclass(frozen=True)
class RunWatch:
    """`estimate` is None for a run planned without one. `seconds` is the time worked in attempts that ended in order.
    The newest attempt began at `attempt_started_at` ('' if unknown). Its process, unless it gave the run up, was last
    heard from at `heartbeat_at`; `pace` is of this attempt alone. `concurrency` is the number of simultaneous calls
    (None: not started, chosen for the judge), `wanted_concurrency` the requested number (None: as planned). `other` is
    the run of the other of SAER's two stages. `retry_why`: the server cannot be reached, and the next call tries it at
    `retry_at`. `tallies`: of a run that compares lists, the systems that won most first. `retried` calls succeeded after
    more than one attempt; `failures`: kind -> failed calls, the most frequent first. `worthless`: why nothing follows
    from what the judge of a run that is done said."""

    run_id: int
    project_id: int
    project: str
    rater: str
    prompt: str
    judge: JudgeSpec
    settings: RunSettings
    estimate: Estimate | None
    state: RunState
    wanted: Wanted
    error: str
    seconds: float
    attempt_started_at: str
    heartbeat_at: str
    concurrency: int | None
    wanted_concurrency: int | None
    progress: Progress
    retried: int
    failures: dict[str, int]
    marked: StoredRow
    tallies: tuple[SystemTally, ...]
    pace: Pace
    done: tuple[StoredRow, ...]
    failed: tuple[StoredRow, ...]
    finished_at: str
    waiting_until: str
    retry_why: str
    retry_at: str
    other: StoredRow | None
    worthless: tuple[str, ...] = ()


def run_watch(db: Database, run_id: int, newest: int = 100, moment: datetime | None = None) -> RunWatch:
    """Everything that a monitor shows of a run. It reads every call of the run once, so call it in a worker. Raises
    NotFoundError when the run is gone."""
    row = run_store.run_row(db, run_id)
    moment = moment or datetime.now(timezone.utc)
    settings = RunSettings.model_validate_json(row["settings"])
    # pauses between attempts do not count as time without progress
    times = run_store.newest_times(db, run_id, NEWEST_TIMES, row["attempt_started_at"] or "")
    stored = "project_id project rater state wanted error seconds wanted_concurrency"
    known = {name: row[name] for name in stored.split()}
    moments = "attempt_started_at heartbeat_at finished_at waiting_until retry_why retry_at"
    known |= {name: row[name] or "" for name in moments.split()}
    progress, marked = run_store.run_progress(db, run_id), run_store.marked_counts(db, run_id)
    worthless: tuple[str, ...] = ()
    if row["state"] == "done" and progress.done:
        from recjudge_tui.reports.sanity import lines_of_run

        worthless = lines_of_run(db, run_id)
    return RunWatch(
        run_id=run_id, **known, settings=settings, progress=progress, marked=marked, retried=marked["retried"],
        prompt=run_store.prompt_label(db, row["prompt_id"]), judge=JudgeSpec.model_validate_json(row["judge"]),
        estimate=None if row["estimate"] == "{}" else Estimate.model_validate_json(row["estimate"]),
        concurrency=row["concurrency"] or settings.concurrency,
        failures={row.error_kind: row.calls for row in run_store.run_failures(db, run_id)},
        tallies=_tallies(run_store.verdict_counts(db, run_id)) if compares_lists(settings.protocol) else (),
        pace=_pace(times, moment if row["state"] == "running" else None),
        done=tuple(run_store.newest_calls(db, run_id, "done", newest)),
        failed=tuple(run_store.newest_calls(db, run_id, "failed", newest)),
        other=run_store.other_stage(db, run_id), worthless=worthless,
    )  # fmt: skip


def _tallies(counts: Sequence[StoredRow]) -> tuple[SystemTally, ...]:
    """Wins, ties and losses of each system from the counts of its pairs (value 1: the first system won)."""
    by_system: dict[str, list[int]] = {}
    for count in counts:
        sign = (count.value > 0) - (count.value < 0)
        by_system.setdefault(count.system_a, [0, 0, 0])[1 - sign] += count.verdicts
        by_system.setdefault(count.system_b, [0, 0, 0])[1 + sign] += count.verdicts
    tallies = [SystemTally(system, *count) for system, count in by_system.items()]
    return tuple(sorted(tallies, key=lambda tally: (tally.lost - tally.won, tally.system)))


def seconds_until(moment: str) -> float:
    """Seconds from now to a stored time; 0 for none, negative for one that has passed."""
    if not moment:
        return 0.0
    return (datetime.fromisoformat(moment) - datetime.now(timezone.utc)).total_seconds()


def _pace(times: Sequence[tuple[str, float | None]], moment: datetime | None) -> Pace:
    """The pace from (time finished, latency), oldest first. rate = (k - 1) / (t_k - t_1) over the newest k <= 50 calls;
    with `moment` (the run is active) it is k / (moment - t_1), so that it falls while no call finishes. The percentile
    is by nearest rank over the calls that were made. Without calls everything is empty or None."""
    latencies = sorted(latency for _, latency in times if latency is not None)
    p95 = latencies[math.ceil(0.95 * len(latencies)) - 1] if latencies else None
    ends = [datetime.fromisoformat(time).timestamp() for time, _ in times]
    if not ends:
        return Pace((), 1, None, p95)
    last = moment.timestamp() if moment else ends[-1]
    # the narrowest width that covers half of the span, with at least two calls per bucket on average
    wanted = max((last - ends[0]) / BUCKETS / 2, 2 * (last - ends[0]) / len(ends))
    width = next((width for width in _WIDTHS_S if width >= wanted), _WIDTHS_S[-1])
    counts = [0] * BUCKETS
    for end in ends:
        place = BUCKETS - 1 - int((last - end) // width)
        if 0 <= place < BUCKETS:
            counts[place] += 1
    first = next((place for place, count in enumerate(counts) if count), BUCKETS - 1)
    recent, rate = ends[-RATE_OVER_CALLS:], None
    if len(recent) > 1:
        calls, until = (len(recent), moment.timestamp()) if moment else (len(recent) - 1, recent[-1])
        rate = calls / max(until - recent[0], 0.001)
    return Pace(tuple(count / width for count in counts[first:]), width, rate, p95)


def worked_s(watch: RunWatch, *, active: bool) -> float:
    """Seconds worked on the run: its earlier attempts, and the newest one until now, or until it was last heard from
    if its process died. Pauses between attempts do not count."""
    if not watch.heartbeat_at or not watch.attempt_started_at:
        return watch.seconds
    until = datetime.now(timezone.utc) if active else datetime.fromisoformat(watch.heartbeat_at)
    since = (until - datetime.fromisoformat(watch.attempt_started_at)).total_seconds()
    return watch.seconds + max(since, 0.0)


# ---- what sets runs apart --------------------------------------------------------------------------------------------


def run_differences(db: Database, project_id: int) -> dict[int, tuple[str, ...]]:
    """run id -> its own prompt and settings, where these are not the same in all runs of its protocol: `top K 5`.
    Settings of execution, such as concurrency, are included. An older run that does not store a setting has its
    default."""
    defaults = {"prompt": None} | {name: option.default for name, option in RUN_OPTIONS.items()}
    labels = {"prompt": "prompt"} | {name: option.label for name, option in RUN_OPTIONS.items()}
    runs = run_store.stored_runs(db, project_id=project_id)
    found: dict[int, tuple[str, ...]] = {}
    for protocol in dict.fromkeys(run["protocol"] for run in runs):
        alike = [run for run in runs if run["protocol"] == protocol]
        asked = {r["id"]: defaults | {"prompt": r["prompt"]} | json.loads(r["settings"]) for r in alike}
        varying = [name for name in defaults if len({json.dumps(own[name]) for own in asked.values()}) > 1]
        for run_id, own in asked.items():
            found[run_id] = tuple(f"{labels[name]} {plain_value(own[name]) or 'none'}" for name in varying)
    return found


def plain_value(value: object) -> str:
    """A setting as people read it, such as `yes` or `a/b`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "/".join(f"{name}={one_line(part, 60)}" for name, part in value.items())
    several = value if isinstance(value, list | tuple) else [] if value is None else [value]
    return one_line("/".join(map(str, several)), _LONGEST_WORD)


# ---- which models and prompts answered -----------------------------------------------------------------------------


def model_changed(new: Sequence[run_store.ServedModel], old: Sequence[run_store.ServedModel]) -> bool | None:
    """Whether another model (its name, digest or name in replies, else the judge) gave the replies; None where one side has
    no replies, or it is unknown."""
    sides = [[run for run in runs if run.replies] for runs in (new, old)]
    if not all(sides):
        return None
    if all(run.name or run.models for side in sides for run in side):
        now, before = ({(run.name, run.digest, run.models) for run in side} for side in sides)
        return now != before
    now_judges, before_judges = ({run.judge for run in side} for side in sides)
    return True if now_judges != before_judges else None


def change_words(
    new: Sequence[run_store.ServedModel], old: Sequence[run_store.ServedModel]
) -> tuple[str, str]:
    """What changed, empty if nothing did; and only the new model or prompt."""
    said, now = [], []
    models = [{model_text(run) for run in runs} for runs in (new, old)]
    prompts = [{run.prompt for run in runs} for runs in (new, old)]
    for what, changed, sides in (
        ("served model", model_changed(new, old) is True, models),
        ("prompt", prompts[0] != prompts[1], prompts),
    ):
        if changed and new and old:
            later, earlier = (" and ".join(sorted(side)) for side in sides)
            said.append(f"{what} changed: {later}, before {earlier}")
            now.append(later)
    return join_notes(*said), ", ".join(now)


def model_text(run: run_store.ServedModel) -> str:
    digest = f"@{run.digest[:12]}" if run.digest else ""
    others = [model for model in run.models if model != run.name]
    named = f"{run.name}{digest}" if run.name else run.judge
    return one_line(f"{named} ({', '.join(others)})" if others else named, _LONGEST_WORD)


def served_notes(
    db: Database, later: tuple[str, list[run_store.ServedModel]], earlier: tuple[str, list[run_store.ServedModel]],
) -> Iterator[Note]:  # fmt: skip
    """Of the runs of both sides: what changed, which models answered, and whether both got the same texts and new calls."""
    new, old = later[1], earlier[1]
    if words := change_words(new, old)[0]:
        yield Note(words, "warning")
    if new and old and (other := model_changed(new, old)) is not True:
        same = "the served model is the same, as far as the server reports"
        yield Note("it is unknown whether the served model changed" if other is None else same)
    for name, runs in dict.fromkeys((name, tuple(runs)) for name, runs in (later, earlier) if runs):
        texts = [f"{model_text(run)} (run {run.run_id}, {run.created_at[:10]}, {run.prompt})" for run in runs]
        yield Note(f"{name} was answered by {'; '.join(texts)}")
    shared, changed = run_store.prompt_match(db, new, old)
    if changed:
        text = f"{changed:,} of {shared:,} shared calls had a different prompt text"
        yield Note(f"{text}, so the set was not frozen", "warning")
    if cached := sum(run.cached for run in new):
        calls = sum(run.calls for run in new)
        text = f"{cached:,} of {calls:,} calls of {later[0]} came from the cache, not from a model"
        yield Note(text, "warning")
