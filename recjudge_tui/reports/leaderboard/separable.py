"""Which neighbours in a ranking are separable, and how many users the others would need."""

from __future__ import annotations

from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.leaderboard.battles import Battles
from recjudge_tui.reports.leaderboard.scores import Scores
from recjudge_tui.stats.defaults import ALPHA, POWER
from recjudge_tui.stats.ranking import CONTRARY, NEVER_MET, NO_PREFERENCE, Neighbours, neighbours

SEPARABLE_NOTE = (
    "separable: two systems by sign flips of the users' means; more by the contrast of their Bradley-Terry ratings over its"
    f" standard error over users, Holm-adjusted p < {ALPHA:g} over the neighbours, the same for every method"
)
MORE_NOTE = f"more users: the number with which the same test has power {POWER:.0%}, if the difference seen is the true one"
_MOST_NAMED = 10


def tested_neighbours(battles: Battles, scores: Scores) -> list[Neighbours]:
    """The neighbours in the ranking of one question, best first, among the systems with a place.

    Among systems that share a rank, the one that is ahead of the others comes first.
    """
    placed = [at for at, place in enumerate(scores.places) if place is not None]
    leads = {
        at: sum(
            _lead(battles, at, other) for other in placed if other != at and _share_place(scores, at, other)
        )
        for at in placed
    }
    placed.sort(key=lambda at: (scores.places[at] or 0, -leads[at], battles.systems[at]))
    return neighbours(placed, battles.tests, battles.groups)


def _share_place(scores: Scores, one: int, other: int) -> bool:
    return scores.places[one] == scores.places[other]


def _lead(battles: Battles, one: int, other: int) -> float:
    """How far `one` is ahead of `other` by their test."""
    test = battles.tests.get((min(one, other), max(one, other)))
    return test.ahead(one) if test else 0.0


def separability_notes(battles: Battles, scores: Scores) -> tuple[list[str], bool]:
    """One line about the ranking of one question, none if nothing was tested; and whether it counts users."""
    tested = tested_neighbours(battles, scores)
    who = f"{battles.question.rater}, {battles.question.aspect}"
    shared = {pair for pair in tested if _share_place(scores, pair.upper, pair.lower)}
    alike = [pair for pair in tested if pair.p is not None and (not pair.separable or pair in shared)]
    unknown = [pair for pair in tested if pair.p is None]
    words = [_words(battles, pair, shared=pair in shared) for pair in alike[:_MOST_NAMED]]
    if len(alike) > _MOST_NAMED:
        words.append(f"{len(alike) - _MOST_NAMED} more pairs of neighbours are not separable in this order")
    words += [f"{_two(battles, pair)}: {pair.note}" for pair in unknown[:_MOST_NAMED]]
    if not tested:
        return [], False
    if not words:
        return [f"{who}: all neighbours are separable with {quantity(battles.counts.count, 'user')}"], False
    return [f"{who}: " + "; ".join(words)], any(pair.more is not None for pair in alike)


def neighbour_facts(battles: Battles, scores: Scores) -> list[dict[str, object]]:
    """The facts of `separability_notes` as data, for one question: the counts are those of the upper system against
    the lower one.

    `more` users are needed to separate the two, None where they are separable or where no practical number would do.
    `contrary`: the lower one is ahead by the test.
    """
    facts = []
    for pair in tested_neighbours(battles, scores):
        won, tied, lost = (int(count) for count in battles.grid[pair.upper, pair.lower])
        facts.append(
            {
                "rater": battles.question.rater,
                "aspect": battles.question.aspect,
                "upper": battles.systems[pair.upper],
                "lower": battles.systems[pair.lower],
                "separable": pair.separable,
                "contrary": pair.note == CONTRARY,
                "won": won,
                "tied": tied,
                "lost": lost,
                "p": pair.p_holm,
                "more": more_users(pair),
            }
        )
    return facts


def short_reason(battles: Battles, pair: Neighbours) -> str:
    """Why the order of two neighbours is not shown, in a few words; "" if a test just does not separate them."""
    if pair.note == CONTRARY:
        return f"{battles.systems[pair.lower]} is ahead over all battles"
    return {NEVER_MET: "never compared", NO_PREFERENCE: NO_PREFERENCE}.get(pair.note, "")


def _words(battles: Battles, pair: Neighbours, *, shared: bool) -> str:
    p = f"(p = {pair.p_holm or 0:.2g})"
    preferred = battles.systems[pair.upper if pair.note != CONTRARY else pair.lower]
    if (pair.p_holm or 0) < ALPHA:
        order = f"{_two(battles, pair)} share a place"
        if not shared:
            order = f"{battles.systems[pair.upper]} is ranked above {battles.systems[pair.lower]}"
        return f"{order}, but {preferred} is ahead over all battles {p}"
    users = battles.tests[min(pair.upper, pair.lower), max(pair.upper, pair.lower)].users
    start = f"{_two(battles, pair)} are not separable with {quantity(users, 'user')} {p}"
    if pair.note == CONTRARY:
        return f"{start}, and {preferred} is ahead over all battles"
    if (needed := more_users(pair)) is None:
        return f"{start}; no practical number of users would separate them if the difference seen is the true one"
    more = quantity(needed, "more user")
    return f"{start}; if the difference seen is the true one, about {more} would separate them in {POWER:.0%} of samples"


def _two(battles: Battles, pair: Neighbours) -> str:
    return f"{battles.systems[pair.upper]} and {battles.systems[pair.lower]}"


def more_users(pair: Neighbours) -> int | None:
    """About how many more users would separate the two, rounded to two digits because it is only a rough guide.

    None where they are separable or where no practical number would do.
    """
    if pair.more is None:
        return None
    step = int(10 ** max(0, len(str(pair.more)) - 2))
    return -(-pair.more // step) * step
