"""The conclusion of SAER's two stages in plain sentences: which system is better, by how much, and which are tied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from recjudge_tui.domain.protocols import OVERALL, SAER
from recjudge_tui.domain.roles import rules_note
from recjudge_tui.domain.text import money
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.stats.defaults import POWER, level_text
from recjudge_tui.stats.hypotheses import Pair
from recjudge_tui.stats.ranking import Neighbours, PairTest, compared
from recjudge_tui.stats.registry import label_of

_MOST = 8
_EVEN = 0.5


@dataclass(frozen=True)
class Stages:
    """The runs of the two stages; `second` is None if it was not run, and `why_none` says why.

    `left_out`: systems that the first stage excluded from the second, with their shares of the lowest label, all above
    `threshold`.
    """

    rater: str
    first: int
    second: int | None
    left_out: Mapping[str, float] = field(default_factory=dict)
    threshold: float | None = None
    why_none: str = ""


@dataclass(frozen=True)
class Findings:
    """The input of the conclusion. `ranked` are the systems of the second stage, best first; `numbered` are the same
    systems in the order of the numbers in `neighbours` and `tests`; the conclusion is based on these tests, as the
    leaderboard is.

    `consensus` are raters made from several people.
    """

    stages: Stages
    shares: Table
    board: Table
    people: Table
    cost: Table
    baseline: str
    ranked: tuple[str, ...]
    neighbours: Sequence[Neighbours]
    numbered: tuple[str, ...]
    tests: Mapping[Pair, PairTest]
    consensus: frozenset[str]


def conclusion(findings: Findings, *, rules: bool) -> tuple[str, ...]:
    """One sentence per finding, the answer first; everything is taken from the tables."""
    lines = [
        *_pairs(findings),
        *_left_out(findings),
        *_alone(findings),
        *_stages(findings),
        *_trust(findings),
        *_people(findings),
        *_bill(findings),
    ]
    if rules:
        lines.append(f"{rules_note(findings.stages.rater)}.")
    return tuple(lines)


def _pairs(findings: Findings) -> Iterator[str]:
    if findings.stages.second is None:
        yield f"The second stage was not run: {findings.stages.why_none}."
        return
    overall = {str(row["system"]): row for row in findings.board.rows if row["opponent"] is None}
    if not findings.ranked:
        yield "No pair of lists got a verdict, so there is no conclusion about which system is better."
        return
    if findings.baseline:
        yield from _against_baseline(findings)
        return
    if len(findings.ranked) == 2:
        yield _two(findings, overall[findings.ranked[0]])
        return
    best, second = findings.ranked[0], findings.ranked[1]
    first = findings.neighbours[0] if findings.neighbours else None
    rate = f"win rate {_share(overall[best])}, a tie counting half"
    record = f"{_record(overall[best], best)}{_test(first)}"
    if first is None or first.p is None:
        why = first.note if first is not None else "no user compared them"
        yield f"{best} is ahead of {second}; it was not tested ({why}): {rate}. {record}"
    elif first.separable:
        yield f"{best} is judged better than {second}, the next in the ranking: {rate}. {record}"
    else:
        yield f"{best} leads, but cannot be told apart from {second}: {rate}. {record} {_more(first.more)}"
    for pair in list(findings.neighbours)[1:_MOST]:
        upper, lower = findings.numbered[pair.upper], findings.numbered[pair.lower]
        if pair.separable:
            yield f"{upper} is ahead of {lower} ({_share(overall[upper])} against {_share(overall[lower])})."
        elif pair.p is not None:
            yield f"{upper} and {lower} cannot be told apart. {_more(pair.more)}"
    yield "Win rates are over all opponents; neighbours are tested with Holm's correction, as in the notes below the table."


def _two(findings: Findings, row: Row) -> str:
    best, second = findings.ranked
    pair = findings.neighbours[0]
    rate = f"win rate {_share(row)}, a tie counting half"
    record = f"{_record(row, best)}{_test(pair)}{_decides(row, pair)}"
    if pair.separable:
        return f"{best} is judged better than {second}: {rate}. {record}"
    more = f" {_more(pair.more)}" if pair.p is not None else ""
    return f"{best} and {second} cannot be told apart: {best} has {rate}. {record}{more}"


def _against_baseline(findings: Findings) -> Iterator[str]:
    rows = _baseline_rows(findings)
    for row in rows[:_MOST]:
        name = str(row["system"])
        better, pair = _pair_with_baseline(findings, row)
        how = "cannot be told apart from"
        if pair.separable:
            how = "is judged better than" if better else "is judged worse than"
        rate = f"win rate {_share(row)}, a tie counting half"
        yield f"{name} {how} {findings.baseline}: {rate}. {_record(row, name)}{_test(pair)}{_decides(row, pair)}"
    if len(rows) > _MOST:
        yield f"{len(rows) - _MOST} more systems are in the table."
    if len(rows) > 1:
        yield (
            "The tests are corrected by Holm's method for all pairs of systems, as on the leaderboard; the intervals"
            " are not corrected."
        )


def _baseline_rows(findings: Findings) -> list[Row]:
    rows = [row for row in findings.board.rows if row["opponent"] == findings.baseline]
    if not rows:
        rows = [row for row in findings.board.rows if row["system"] != findings.baseline]
    return sorted(rows, key=lambda row: -_number(row["score"]))


def _pair_with_baseline(findings: Findings, row: Row) -> tuple[bool, Neighbours]:
    """Whether the system of a row is ahead of the baseline, and the test of the two."""
    number = {name: at for at, name in enumerate(findings.numbered)}
    two = number[str(row["system"])], number[findings.baseline]
    ahead = _number(row["score"]) >= _EVEN
    return ahead, compared(*(two if ahead else two[::-1]), findings.tests)


def _test(pair: Neighbours | None) -> str:
    """A sentence on the test, as on the leaderboard, or the reason why there is none or why it does not count."""
    if pair is None:
        return ""
    if pair.p_holm is None:
        return f" Not tested: {pair.note}."
    return f" Test over users: p = {pair.p_holm:.2g}{f'; {pair.note}' if pair.note else ''}."


def _decides(row: Row, pair: Neighbours) -> str:
    """A sentence that the test decides, where the interval of the win rate alone would say otherwise."""
    low, high = row["ci_low"], row["ci_high"]
    if pair.p is None or not isinstance(low, float) or not isinstance(high, float):
        return ""
    inside = low <= _EVEN <= high
    if inside != pair.separable:
        return ""
    return f" The interval {'contains' if inside else 'does not contain'} 50 %, but the test decides."


def _record(row: Row, name: str) -> str:
    """Of 120 pairs als won 61, lost 41, tied 18 (7 because the two orders disagreed)."""
    ties = row["ties"]
    flips = row["position_ties"]
    because = f" ({flips} of these because the two orders disagreed)" if flips else ""
    failed = f"; {row['failed']} more failed" if row["failed"] else ""
    return (
        f"Of {row['n']} pairs {name} won {row['wins']}, lost {row['losses']}, tied {ties}{because}{failed}."
    )


def _more(users: int | None) -> str:
    if users is None:
        return "No practical number of further users would separate them."
    step = int(10 ** max(0, len(str(users)) - 2))
    about = f"About {-(-users // step) * step:,} more users would separate them in {POWER:.0%} of samples"
    return f"{about}, if the observed difference is the true one."


def _left_out(findings: Findings) -> Iterator[str]:
    stages = findings.stages
    if stages.threshold is None:
        return
    names = ", ".join(f"{name} ({share * 100:.1f} %)" for name, share in stages.left_out.items())
    worst = _labels(findings)[-1] if _labels(findings) else "the lowest label"
    over = f"more than {stages.threshold * 100:g} % of the lists {worst}"
    yield (
        f"Left out of the pairs, for {over}: {names}. They were not compared, so they might have won or lost there."
        if names
        else f"No system had {over}: all were compared in pairs."
    )


def _labels(findings: Findings) -> list[str]:
    return list(dict.fromkeys(str(row["label"]) for row in findings.shares.rows if row["aspect"] == OVERALL))


def _alone(findings: Findings) -> Iterator[str]:
    """Best and lowest label of each system."""
    labels = _labels(findings)
    if not labels:
        yield "No single list got a verdict."
        return
    rows = {(str(row["system"]), str(row["label"])): row for row in findings.shares.rows}
    known = list(_best_shares(findings))
    if not known:
        yield "No single list got a verdict: all calls failed."
        return
    sentences = [
        f"{name} {labels[0]} {_share(rows[name, labels[0]], 'share')},"
        f" {labels[-1]} {_share(rows[name, labels[-1]], 'share')}"
        for name in known[:_MOST]
    ]
    yield "Rated alone: " + "; ".join(sentences) + "."


def _best_shares(findings: Findings) -> dict[str, Row]:
    """System -> the row of its share of the best label, the highest share first; without systems that have none."""
    labels = _labels(findings)
    rows = {str(row["system"]): row for row in findings.shares.rows if labels and row["label"] == labels[0]}
    known = [name for name, row in rows.items() if row["share"] is not None]
    known.sort(key=lambda name: -_number(rows[name]["share"]))
    return {name: rows[name] for name in known}


def _stages(findings: Findings) -> Iterator[str]:
    """A sentence on whether the two stages agree on the first system."""
    shares = _best_shares(findings)
    if not findings.ranked or len(shares) < 2:
        return
    label = _labels(findings)[0]
    alone, paired = _first_alone(shares), _first_in_pairs(findings)
    if alone and alone == paired:
        yield f"Both stages put {alone} first."
    elif alone and paired:
        yield f"The stages disagree: alone, {alone} is {label} most often; in pairs, {paired} is better."
    else:
        rated = f"{alone} is {label} most often" if alone else f"no system is shown to be {label} most often"
        judged = f"{paired} is better" if paired else "no system is shown to be first"
        yield f"Alone, {rated}; in pairs, {judged}."


def _first_alone(shares: Mapping[str, Row]) -> str:
    """The system whose share of the best label is shown to be highest: its interval lies above all others'. Else empty."""
    first, *others = shares
    low = shares[first]["ci_low"]
    highs = [shares[name]["ci_high"] for name in others]
    clear = isinstance(low, float) and all(isinstance(high, float) and high < low for high in highs)
    return first if clear else ""


def _first_in_pairs(findings: Findings) -> str:
    """The first system if the sentences on pairs call it better than the next one, so that both agree. Else empty."""
    if len(findings.ranked) > 2 and findings.baseline:
        return ""
    return findings.ranked[0] if findings.neighbours and findings.neighbours[0].separable else ""


def _trust(findings: Findings) -> Iterator[str]:
    failed = sum(int(_number(row["failed"])) for row in findings.cost.rows[:-1])
    if failed:
        runs = ", ".join(str(row["run"]) for row in findings.cost.rows[:-1] if row["failed"])
        yield f"{failed:,} calls failed and are not in any figure; to repeat them: recjudge runs retry {runs}."


def _people(findings: Findings) -> Iterator[str]:
    figures = [row for row in findings.people.rows if row["value"] is not None]
    if not figures:
        yield (
            "No person judged any of these cases, so it is unknown how far this judge can be trusted here."
            " Import labels with “recjudge import FILE --as labels”."
        )
        return
    of_kappa = [row for row in figures if row["stat"] == "qwk"] or figures
    agreed = [row for row in of_kappa if row["rater_b"] in findings.consensus]
    of_kappa = [
        row
        for row in of_kappa
        if row in agreed or not any(kappa_row["protocol"] == row["protocol"] for kappa_row in agreed)
    ]
    sentences = [
        f"{'lists' if row['protocol'] == SAER[0] else 'pairs'}, {row['rater_b']}: {_figure(row)} (n = {row['n']})"
        for row in of_kappa[:_MOST]
    ]
    yield f"Agreement with people ({label_of(str(of_kappa[0]['stat']))}): " + "; ".join(sentences) + "."


def _figure(row: Row) -> str:
    low, high = row["ci_low"], row["ci_high"]
    ends = (
        f", {level_text()} CI {low:.2f} to {high:.2f}"
        if isinstance(low, float) and isinstance(high, float)
        else ""
    )
    return f"{_number(row['value']):.2f}{ends}"


def _bill(findings: Findings) -> Iterator[str]:
    total = findings.cost.rows[-1]
    cost = total["cost_usd"]
    price = money(cost) if isinstance(cost, int | float) else "an unknown price"
    cached = f", {total['cached']:,} of them from earlier replies" if total["cached"] else ""
    yield f"It took {total['calls']:,} calls{cached}, {_number(total['seconds']):,.1f} s and {price}."


def _share(row: Row, name: str = "score") -> str:
    """`58.2 % (95 % CI 52.1 to 64.3)`."""
    value, low, high = row[name], row["ci_low"], row["ci_high"]
    if not isinstance(value, float):
        return "unknown"
    ends = (
        f"{level_text()} CI {low * 100:.1f} to {high * 100:.1f}"
        if isinstance(low, float) and isinstance(high, float)
        else ""
    )
    return f"{value * 100:.1f} %" + (f" ({ends})" if ends else " (no interval)")


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
