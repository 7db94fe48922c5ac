"""What statistics, levels and rankings are called where people read them."""

from __future__ import annotations

STAT_NAMES = {
    "percent": "Percent agreement",
    "kappa": "Cohen's κ",
    "kappa_linear": "Linear weighted κ",
    "qwk": "Quadratic weighted κ",
    "alpha_nominal": "Krippendorff's α, nominal",
    "alpha_ordinal": "Krippendorff's α, ordinal",
    "alpha_interval": "Krippendorff's α, interval",
    "ac2": "Gwet's AC2",
    "pearson": "Pearson's r",
    "spearman": "Spearman's ρ",
    "kendall": "Kendall's τ",
    "bias": "Mean difference",
    "concurrence": "Concurrence",
}
LEVEL_NAMES = {"dataset": "all cases", "user": "mean over users", "pair": "mean over user-item pairs"}
METHOD_NAMES = {
    "q": "Q",
    "winrate": "Win rate",
    "bt": "Bradley–Terry",
    "elo": "Elo",
    "mean": "mean score",
    "share": "Shares of labels",
}
