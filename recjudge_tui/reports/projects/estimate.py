"""A run's estimate and its outcome as text."""

from __future__ import annotations

from recjudge_tui.domain.run import Estimate, Progress
from recjudge_tui.domain.text import money


def estimate_lines(estimate: Estimate, *, rater: str, prompt: str) -> list[str]:
    """The estimate of a run, one fact per line."""
    lines = [f"{rater} · prompt {prompt} · {estimate.cases:,} cases, {estimate.calls:,} calls"]
    if estimate.tokens_out:
        lines.append(
            f"tokens in {estimate.tokens_in_low:,} to {estimate.tokens_in_high:,}, out about {estimate.tokens_out:,}"
            f" · longest prompt about {estimate.longest_prompt_tokens:,}"
        )
    lines += reuse_lines(estimate)
    if estimate.images:
        lines.append(f"images sent: {estimate.images:,}; their tokens are counted above")
    lines.append(f"cost {cost_range(estimate)} · time {duration(estimate.seconds)}")
    lines += estimate.published
    lines += filter(None, (estimate.domain_note, estimate.undated_note, *estimate.copies_notes))
    lines += [f"drawn: {n:,} users with {level}" for level, n in estimate.strata.items()]
    lines += [f"left out: {n:,} × {reason}" for reason, n in estimate.left_out.items()]
    return lines


def reuse_lines(estimate: Estimate) -> list[str]:
    """What the server need not read again, if it is known to remember prompts; empty otherwise."""
    if not estimate.tokens_reused:
        return []
    share = estimate.tokens_reused / max(estimate.tokens_in_low, 1)
    counted = "; the lower cost counts on it" if estimate.cost_usd_low else ""
    return [
        f"about {share:.0%} of the prompt tokens reused: {estimate.reuse_note} has just read them{counted}"
    ]


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
    cost = (
        "unknown"
        if progress.cost_usd is None and progress.done > progress.cached
        else f"${progress.cost_usd or 0:.4f}"
    )
    if progress.unknown_usd:
        cost += f" and at most {money(progress.unknown_usd)} more that is not known"
    reused = reused_words(progress)
    return (
        f"run {run_id} {progress.state}: {progress.done} done, {progress.failed} failed,"
        f" {progress.cached} from cache, {progress.outstanding} outstanding, cost {cost}"
        f"{reused and f', {reused}'}"
    )
