"""Definitions of the terms used on the screens, one or two lines each."""

from __future__ import annotations

TERMS: tuple[tuple[str, str], ...] = (
    ("aspect", "What a verdict is about, such as accuracy; “overall” is the verdict as a whole."),
    ("attention", "The order of the queue: against people, judges that disagree, flips, low confidence, failures."),
    ("blind", "Annotators label blind: they see other verdicts on a case only after giving their own."),
    ("case", "What can be judged: one user's list, two lists of one user, or one explanation."),
    ("ceiling", "How well people agree with each other on the same cases. A judge cannot be trusted to do better."),
    ("consensus", "A rater made from several annotators by a rule, such as the harsher label."),
    ("ensemble", "A rater made from several judges, such as their mean or the label of the majority."),
    ("failed", "A verdict without an answer, because a call failed. It is counted, but is never a tie or a number."),
    ("flag", "An item that a judge or a person marked, with the reason: already owned, off topic, and so on."),
    ("flip", "The two orders of one pair gave different answers, so the position decided. It counts as a tie."),
    ("held out", "What the user did after the list was made. Judges never see it; offline metrics use it."),
    ("judge", "A language model, or the built-in rules, that gives verdicts."),
    ("kappa (κ)", "Agreement beyond chance: 1 is complete, 0 is what chance alone would give."),
    ("occasion", "One visit of a user, by context and time (filter: context: from: to:). Lists are compared within one."),
    ("override", "A reader's own verdict in place of a rater's. Both are kept."),
    ("position tie", "A tie caused by a flip. Tables count it as a tie and also show it separately from true ties."),
    ("protocol", "How a case is judged: pointwise, pairwise, arena, absolute or explanation."),
    ("Q", "(wins + ties) / (losses + ties) of a system. Above 1 it wins more than it loses."),
    ("queue", "The verdicts that need a reader and have no decision yet."),
    ("rater", "Anything that gives verdicts: a judge, a person, a consensus, a metric."),
    ("reader", "You, when you read verdicts and accept, dismiss or override them."),
    ("run", "The calls of one judge on a choice of cases. It can be stopped and resumed."),
    ("separable", "More users prefer one of two systems than chance would explain (p < .05 over all pairs)."),
    ("spread", "The highest minus the lowest score that raters gave to the same case."),
    ("swap", "The same pair shown again in the other order, to see whether the answer stays the same."),
    ("system", "A recommender, or whatever made the explanation, that is compared with others."),
    ("triage", "Reading doubtful verdicts one by one and deciding on each."),
    ("verdict", "What a rater decided on one case and aspect, from the answers of one or more calls."),
)  # fmt: skip
