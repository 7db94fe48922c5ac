"""One sentence on every statistic that a report can show, with the works it is from.

The keys are the names by which commands and JSON know the statistics. A definition without a source is common knowledge or
recjudge's own, and then its sentence says all of it.
"""

from __future__ import annotations

from recjudge_tui.reports.documents.cited_text import Sentence, cite


def _of(text: str, *keys: str) -> Sentence:
    return (f"{text} ", cite(*keys), ".") if keys else (f"{text}.",)


AGREEMENT: dict[str, Sentence] = {
    "percent": _of("Percent agreement is the share of cases to which both raters gave the same answer"),
    "kappa": _of("Cohen's kappa is the agreement beyond that expected from both raters' own labels", "cohen1960"),
    "kappa_linear": _of("Linear weighted kappa weighs a disagreement by the difference of the labels", "cohen1968"),
    "qwk": _of("Quadratic weighted kappa weighs a disagreement by the squared difference of the labels", "cohen1968"),
    "alpha_nominal": _of("Krippendorff's alpha for nominal data counts every disagreement alike", "krippendorff2011"),
    "alpha_ordinal": _of(
        "Krippendorff's alpha for ordinal data weighs a disagreement by the ratings that lie between", "krippendorff2011"
    ),
    "alpha_interval": _of(
        "Krippendorff's alpha for interval data weighs a disagreement by the squared difference", "krippendorff2011"
    ),
    "ac1": _of(
        "Gwet's AC1 takes its chance agreement from how often each label is given, so it stays high where nearly all labels"
        " are alike", "gwet2008",
    ),
    "ac2": _of("Gwet's AC2 is AC1 with quadratic weights", "gwet2014"),
    "ac2_linear": _of("Gwet's AC2 is here AC1 with linear weights", "gwet2014"),
    "ac2_ordinal": _of("Gwet's AC2 is here AC1 with ordinal weights", "gwet2014"),
    "fleiss": _of("Fleiss' kappa is the agreement of any number of raters beyond chance", "fleiss1971"),
    "fleiss_linear": _of("Fleiss' kappa is weighted by the difference of the labels", "fleiss1971", "gwet2014"),
    "fleiss_quadratic": _of(
        "Fleiss' kappa is weighted by the squared difference of the labels", "fleiss1971", "gwet2014"
    ),
    "pearson": _of("Pearson's r is the linear correlation of two raters' scores", "pearson1895"),
    "spearman": _of("Spearman's rho is the correlation of the ranks of two raters' scores", "spearman1904"),
    "kendall": _of("Kendall's tau is tau-b, which is corrected for ties", "kendall1945"),
    "bias": _of("The mean difference is the mean of the first rater's values minus those of the second"),
    "concurrence": _of(
        "Concurrence is the share of the pairs on which one rater prefers a system where the other prefers the same one",
        "liu2026saer",
    ),
}  # fmt: skip
OF_PAIRS: dict[str, Sentence] = {
    "q": _of("Q is (wins + ties) / (losses + ties)", "wu2024arena"),
    "winrate": _of("The win rate is (wins + ties / 2) / n"),
    "bt": _of(
        "Ratings are those of the model of Bradley and Terry, 400 points for odds of 10:1, ties by Davidson's extension",
        "bradley1952", "davidson1970",
    ),
}  # fmt: skip
OF_LISTS: dict[str, Sentence] = {
    "share": _of("Systems are described by the share of each label"),
    "mean": _of("Systems are described by the mean of their scores or of the values of their labels"),
}
OFFLINE: dict[str, Sentence] = {
    "auc": _of(
        "AUC is the share of pairs of a relevant and another candidate in the right order, a tie counting half", "hanley1982"
    ),
    "ndcg": _of("nDCG has a gain of 1 for each relevant item and a discount of log2(rank + 1)", "jarvelin2002"),
    "ndcg_exp": _of("nDCG is here that with a gain of 2^g - 1", "burges2005"),
    "ndcg_explicit": _of("nDCG is here that with the held-out rating as the gain", "jarvelin2002"),
    "precision": _of("Precision is the share of relevant items among the first k", "manning2008"),
    "recall": _of("Recall is the share of the relevant items that are among the first k", "manning2008"),
    "map": _of(
        "MAP is the mean of the precision at the rank of each hit, over all relevant items of the user", "manning2008"
    ),
    "map_min": _of("MAP is here divided by min(k, relevant items), so that a perfect list has 1"),
    "mrr": _of("MRR is the mean of 1 / rank of the first hit, 0 without one", "voorhees1999"),
    "hit_rate": _of("The hit rate is the share of lists with a relevant item among the first k"),
    "urd": _of("URD is the Shannon entropy, in bits, of the categories of the first k items"),
    "ild": _of("Intra-list diversity is the mean Jaccard distance of the categories of two items", "ziegler2005"),
    "novelty": _of("Novelty is the mean of -log2(events of the item / all events)", "zhou2010"),
    "popularity": _of("Popularity is the mean number of training events of an item"),
    "coverage": _of("Coverage is the share of the catalogue that is in the first k items of any list"),
}  # fmt: skip
PROCEDURES: dict[str, Sentence] = {
    "decided": _of(
        "Runs that stop when they are decided use the betting confidence sequence, which is valid at every look",
        "waudby2024",
    ),
    "dawid-skene": _of("Ensembles weight their raters by the model of Dawid and Skene", "dawid1979"),
    "estimate": _of("People's figures are estimated from a few labels and all verdicts by PPI++", "angelopoulos2023"),
    "calibration": _of("Calibration is described by the Brier score and by the error of confidence in bins", "brier1950"),
    "crowd": _of("Leaderboards of a crowd have intervals over users and raters together", "cameron2011"),
}  # fmt: skip
SENTENCES = {**AGREEMENT, **OF_PAIRS, **OF_LISTS, **OFFLINE, **PROCEDURES}
