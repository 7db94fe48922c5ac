"""TREC's own evaluation program as an independent reference."""

from __future__ import annotations

from collections.abc import Mapping

import pytrec_eval

# our name: theirs; of their measures the reciprocal rank takes no cut-off, so lists are cut before, but for R-precision
MEASURES = {
    "ndcg": "ndcg_cut",
    "ndcg_exp": "ndcg_cut",
    "precision": "P",
    "recall": "recall",
    "map": "map_cut",
    "mrr": "recip_rank",
    "hit_rate": "success",
    "rprec": "Rprec",
}
Scores = Mapping[str, Mapping[str, float]]


def trec_eval(truth: Scores, lists: Scores, metric: str, k: int, level: int = 1) -> dict[str, float]:
    """A figure for each user with a truth, of lists `{user: {item: score}}` against `{user: {item: whole gain}}`; items are
    relevant from the gain `level` on.

    `ndcg_exp` has the gain 2^value - 1 (Burges et al. 2005), which trec_eval leaves to its input.
    """
    measure = MEASURES[metric]
    gains = {
        user: {
            item: int(2**gain - 1 if metric == "ndcg_exp" and gain > 0 else gain)
            for item, gain in items.items()
        }
        for user, items in truth.items()
    }
    first = {
        user: dict(sorted(items.items(), key=lambda pair: -pair[1])[: None if metric == "rprec" else k])
        for user, items in lists.items()
    }
    asked = measure if measure in ("recip_rank", "Rprec") else f"{measure}.{k}"
    found = pytrec_eval.RelevanceEvaluator(gains, {asked}, relevance_level=level).evaluate(first)
    return {user: row[asked.replace(".", "_")] for user, row in found.items()}
