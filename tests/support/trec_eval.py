"""TREC's own evaluation program as an independent reference."""

from __future__ import annotations

from collections.abc import Mapping

import pytrec_eval

# our name: theirs; of their measures the reciprocal rank alone takes no cut-off, so its lists are cut before
MEASURES = {
    "ndcg": "ndcg_cut",
    "ndcg_exp": "ndcg_cut",
    "precision": "P",
    "recall": "recall",
    "rprec": "Rprec",
    "map": "map_cut",
    "mrr": "recip_rank",
    "hit_rate": "success",
}
Scores = Mapping[str, Mapping[str, float]]


def trec_eval(truth: Scores, lists: Scores, metric: str, k: int) -> dict[str, float]:
    """A figure for each user with a truth, of lists `{user: {item: score}}` against `{user: {item: whole gain}}`.

    `ndcg_exp` has the gain 2^value - 1 (Burges et al. 2005), which trec_eval leaves to its input.
    """
    measure = MEASURES[metric]
    gains = {
        user: {item: int(2**gain - 1 if metric == "ndcg_exp" else gain) for item, gain in items.items()}
        for user, items in truth.items()
    }
    first = {
        user: items if measure == "Rprec" else dict(sorted(items.items(), key=lambda pair: -pair[1])[:k])
        for user, items in lists.items()
    }
    asked = measure if measure in ("recip_rank", "Rprec") else f"{measure}.{k}"
    found = pytrec_eval.RelevanceEvaluator(gains, {asked}).evaluate(first)
    return {user: row[asked.replace(".", "_")] for user, row in found.items()}
