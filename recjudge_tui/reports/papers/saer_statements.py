"""The figures of SAER's text: concurrence, gains, the A/B test and the costs."""

from __future__ import annotations

import re
from statistics import NormalDist

from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.papers.published import (
    DOES_NOT_FOLLOW,
    FOLLOWS,
    PrintedFigure,
    Publication,
    as_printed,
    compared,
    exactly,
)
from recjudge_tui.reports.papers.saer_rebuilt import CASES, figures_by_place, pair_counts
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.planning import Arm, lift, two_proportions

_TEXT = "text"
_DECIMAL = re.compile(r"\d+\.\d+")
# lists of two systems alone, and pairs in both orders
_JUDGE_CALLS = 4 * CASES
_REFINED, _GENERIC, _OVERSPECIFIED = (
    "SAER Refined Prompt (v3)", "Generic Prompt (v1)", "Over-specified Prompt (v2)",
)  # fmt: skip


def statement_rows(paper: Publication, concurrence: float, directed: float) -> list[Row]:
    """One row for each figure of the text that is a result. `concurrence` (0..1) is over `directed` pairs."""
    statements = {statement.what: statement.value for statement in paper.statements}
    people = pair_counts("Human Merged (N=200)")
    n = round(directed)
    agreed = round(concurrence * n)
    rows = [
        _row("SAER concurs where humans agreed on a direction", statements, 100 * concurrence, n, f"{agreed} of {n}"),
        _row(
            "humans favour co-occurrence over embedding", statements, people.first / people.second, n,
            f"{people.first} / {people.second}",
        ),
        _gain("gain over generic", statements, _GENERIC),
        _gain("gain over over-specified", statements, _OVERSPECIFIED),
    ]  # fmt: skip
    return rows + _experiment(statements) + _costs(statements)


def _row(what: str, statements: dict[str, str], value: float, n: int | None, why: str) -> Row:
    figure = PrintedFigure(_TEXT, {}, what, statements[what])
    return {"row": what, "figure": ""} | compared(figure, exactly(value)) | {"n": n, "note": why}


def _given(what: str, statements: dict[str, str], why: str, n: int | None = None) -> Row:
    figure = PrintedFigure(_TEXT, {}, what, statements[what])
    return {"row": what, "figure": "", "n": n} | as_printed(figure, why)


def _gain(what: str, statements: dict[str, str], other: str) -> Row:
    table = figures_by_place("3")
    refined, before = (table[prompt, "Correct"].value for prompt in (_REFINED, other))
    # “17-point” has no sign
    return _row(what, statements, refined - before, 100, f"{refined:g} less {before:g} % correct in Table 3")


def _experiment(statements: dict[str, str]) -> list[Row]:
    """The rates and their intervals imply the impressions, and these the interval of the lift."""
    names = ("client CTR co-occurrence", "client CTR embedding")
    arms = (_implied(statements[names[0]]), _implied(statements[names[1]]))
    rows = [
        _given(
            name, statements,
            f"clicks and impressions are not printed; the interval implies about {arm.impressions / 1e6:.0f} million"
            " impressions",
        )
        for name, arm in zip(names, arms, strict=True)
    ]  # fmt: skip
    gain, test = lift(*arms), two_proportions(*arms)
    rates = [_numbers(statements[name])[0] for name in names]
    total = sum(arm.impressions for arm in arms)
    text = statements["relative lift"]
    low, high = (f"{sign}%" for sign in re.findall(r"\+\d+\.\d+(?=%[,\]])", text)[-2:])
    implied = f"with the {total / 1e6:.0f} million impressions that the intervals of the two rates imply"
    rows.append(
        _row(
            "relative lift",
            statements,
            100 * (rates[0] / rates[1] - 1),
            None,
            f"{rates[0]:g} / {rates[1]:g} - 1",
        )
    )
    for name, printed, end in (("CI low", low, gain.ci_low), ("CI high", high, gain.ci_high)):
        figure = PrintedFigure(_TEXT, {}, name, printed)
        cells = compared(figure, exactly(100 * (end or 0.0))) | {"note": implied}
        rows.append({"row": "relative lift", "figure": name} | cells)
    p = text.rpartition("p ")[2].rstrip(")")
    below = test.p is not None and test.p < float(p.removeprefix("< "))
    rows.append(
        {
            "table": _TEXT, "row": "relative lift", "figure": "p", "printed": p,
            "published": float(p.removeprefix("< ")), "recomputed": test.p,
            "result": FOLLOWS if below else DOES_NOT_FOLLOW, "note": implied,
        }
    )  # fmt: skip
    rows.append(_few_impressions(statements, arms))
    return rows


def _few_impressions(statements: dict[str, str], arms: tuple[Arm, Arm]) -> Row:
    """Ten million impressions would give wider intervals than those printed."""
    a, b = (Arm(round(arm.rate * 5_000_000), 5_000_000) for arm in arms)
    gain = lift(a, b)
    ends = f"+{100 * (gain.ci_low or 0):.1f}% to +{100 * (gain.ci_high or 0):.1f}%"
    return _given("impressions", statements, f"no contradiction, but 10 million would give a lift of {ends}")


def _costs(statements: dict[str, str]) -> list[Row]:
    dollars, minutes = _whole(statements["cost"]), _whole(statements["time"])
    return [
        _given(
            "cost", statements,
            f"the tokens are not printed; {100 * dollars / _JUDGE_CALLS:.1f} cents for each of {_JUDGE_CALLS} calls"
            f" ({2 * CASES} lists, {CASES} pairs in both orders)",
            _JUDGE_CALLS,
        ),
        _given(
            "time", statements,
            f"the calls in flight are not printed; {60 * minutes / _JUDGE_CALLS:.2f} s for each of"
            f" {_JUDGE_CALLS} calls",
            _JUDGE_CALLS,
        ),
        _given("crowdsourced evaluation", statements, "neither hours nor wages are printed"),
    ]  # fmt: skip


def _implied(rate: str) -> Arm:
    """The impressions whose interval is as wide as the printed one: n = z² r (1 - r) / half²."""
    value, low, high = (number / 100 for number in _numbers(rate))
    z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    impressions = round(z**2 * value * (1 - value) / ((high - low) / 2) ** 2)
    return Arm(round(value * impressions), impressions)


def _numbers(text: str) -> list[float]:
    """The decimals of a text: the rate and the ends of its interval."""
    return [float(number) for number in _DECIMAL.findall(text)]


def _whole(text: str) -> int:
    return int("".join(sign for sign in text if sign.isdigit()))
