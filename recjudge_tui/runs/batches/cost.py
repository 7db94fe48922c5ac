"""The maximum cost of batches at a provider, and how many calls a budget allows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from recjudge_tui.domain.calls import MOST_OF_AN_IMAGE
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import Estimate
from recjudge_tui.domain.text import money
from recjudge_tui.errors import RunError
from recjudge_tui.judges.providers.images import without_images
from recjudge_tui.runs.batches.context import BatchRun, Tell
from recjudge_tui.runs.prices import UNKNOWN_PRICE, price_of
from recjudge_tui.store.batches import NamedCall, batches_of
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_progress, run_row


def batch_estimate(db: Database, run_id: int) -> Estimate:
    """The estimate for the calls that a batch would contain, at the batch price."""
    row = run_row(db, run_id)
    whole = Estimate.model_validate_json(row["estimate"])
    away = sum(batch["calls"] for batch in batches_of(db, run_id, "planned", "submitted"))
    calls = max(0, run_progress(db, run_id).outstanding - away)
    share = calls / whole.calls if whole.calls else 0.0
    price = price_of(JudgeSpec.model_validate_json(row["judge"]))
    low, high, out = (round(n * share) for n in (whole.tokens_in_low, whole.tokens_in_high, whole.tokens_out))
    return whole.model_copy(
        update={
            "calls": calls,
            "cases": round(whole.cases * share),
            "images": round(whole.images * share),
            "tokens_in_low": low,
            "tokens_in_high": high,
            "tokens_out": out,
            "tokens_reused": None,
            "cost_usd_low": price.in_batch().cost(low, out) if price else None,
            "cost_usd_high": price.in_batch().most(high, out * 2) if price else None,
            "price_note": f"{price.source}, batch at {price.batch_discount:.0%} of the price"
            if price
            else whole.price_note,
            "left_out": {},
        }
    )


def within_budget(
    run: BatchRun, calls: Iterable[tuple[NamedCall, bytes]], costs: dict[int, float], tell: Tell
) -> Iterator[tuple[NamedCall, bytes]]:
    """As many calls as the run's budget allows if each costs its maximum; all calls without a budget.

    Past spending and the maximum cost of batches at the provider are subtracted first. `costs` receives the cost of each
    call by id. Raises RunError when the price is unknown or not a single call fits.
    """
    limit = run.setup.settings.budget_usd
    if limit is None:
        yield from calls
        return
    price = price_of(run.setup.spec)
    if price is None:
        raise RunError(*UNKNOWN_PRICE)
    under_way = batches_of(run.db, run.id, "planned", "submitted")
    left = limit - run_progress(run.db, run.id).spent_usd
    left -= sum(row["reserved_usd"] or 0.0 for row in under_way)
    for call, body in calls:
        text, images = without_images(body)
        tokens = len(text) + images * MOST_OF_AN_IMAGE  # no tokenizer makes more than one token of a byte
        cost = price.in_batch().most(tokens, run.setup.settings.max_tokens)
        if cost > left:
            message = f"the budget of {money(limit)} does not cover the next call, which may cost up to {money(cost)}"
            if not costs:
                raise RunError(message, f"{money(max(left, 0.0))} of it is left.")
            tell(message)
            return
        left -= cost
        costs[call.key.id] = cost
        yield call, body
