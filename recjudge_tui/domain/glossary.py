"""Definitions of the words used on the screens, one or two lines each."""

from __future__ import annotations

WORDS: tuple[tuple[str, str], ...] = (
    ("aspect", "What a verdict is about, such as accuracy; “overall” is the verdict as a whole."),
    ("attention", "The order of the queue: against people, split judges, flips, low confidence, failures."),
    ("case", "What can be judged: one user's list, two lists of one user, or one explanation."),
    ("ceiling", "How well people agree with each other on the same cases. A judge cannot be trusted to do better."),
    ("flag", "An item that a judge or a person marked, with the reason: already owned, off topic, and so on."),
    ("flip", "The two orders of one pair gave different answers, so the position decided. It counts as a tie."),
    ("held out", "What the user did after the list was made. Judges never see it; offline metrics use it."),
    ("judge", "A language model, or the built-in rules, that gives verdicts."),
    ("kappa (κ)", "Agreement beyond chance: 1 is complete, 0 is what chance alone would give."),
    ("occasion", "One visit of a user, by context and time (filter: context: from: to:). Lists are compared within one."),
    ("position tie", "A tie caused by a flip. Tables count it as a tie and also show it separately from true ties."),
    ("Q", "(wins + ties) / (losses + ties) of a system. Above 1 it wins more than it loses."),
    ("queue", "The verdicts that need a reader and have no decision yet."),
    ("rater", "Anything that gives verdicts: a judge, a person, a consensus, a metric."),
    ("separable", "More users prefer one of two systems than chance would explain (p < .05 over all pairs)."),
    ("spread", "The highest minus the lowest score that raters gave to the same case."),
    ("swap", "The same pair shown again in the other order, to see whether the answer stays the same."),
    ("system", "A recommender, or whatever made the explanation, that is compared with others."),
    ("verdict", "What a rater decided on one case and aspect, from the answers of one or more calls."),
)  # fmt: skip
