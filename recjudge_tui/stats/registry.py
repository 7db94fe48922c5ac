"""The agreement statistics: the name of each for people, its scale, and its requirements.

`agreement` computes each by its name. Commands, reports, figures and screens derive from these tables. They do not load
NumPy, so that a list of statistics is cheap.
"""

from __future__ import annotations

from dataclasses import dataclass

SHARE = (0.0, 1.0)
COEFFICIENT = (-1.0, 1.0)

_CONSTANT = "one side is constant"
_ONE_LABEL = "both raters gave the same single label throughout, so no disagreement is expected by chance"
_EQUAL = "all ratings are equal, so no disagreement is expected by chance"
_FEW_LABELS = "the label set has fewer than two labels"
NO_ORDER = "the answers are categories without an order, and this figure needs one"
NO_ROWS = "no item rated by both"
NO_SIDE = "pairs of several systems have no common first side, so a mean difference has no direction; by system it has"


@dataclass(frozen=True)
class Statistic:
    """`undefined`: the reason without a value. `bounds`: None if those of the ratings. `labels`: it needs a label set;
    `directed`: with labels on both sides of 0. `correlation`: of raters whose scales may differ. `symmetric`: the raters
    can be exchanged. `rising`: higher is better. `by_chance`: corrected for chance. `nominal`: needs no order of labels.
    `open_below`: can lie below its scale, with very few ratings."""

    label: str
    undefined: str
    bounds: tuple[float, float] | None = COEFFICIENT
    labels: bool = False
    directed: bool = False
    correlation: bool = False
    symmetric: bool = True
    rising: bool = True
    by_chance: bool = False
    nominal: bool = False
    open_below: bool = False

    @property
    def in_text(self) -> str:
        """The label within a sentence: quadratic weighted κ, Pearson's r."""
        is_name = "'" in self.label.split()[0]
        return self.label if is_name else f"{self.label[0].lower()}{self.label[1:]}"

    @property
    def limits(self) -> tuple[float, float] | None:
        """The lowest and the highest value of the figure; None if there are none that hold on any scale."""
        return None if self.open_below else self.bounds


STATISTICS: dict[str, Statistic] = {
    "percent": Statistic("Percent agreement", NO_ROWS, SHARE, labels=True, nominal=True),
    "kappa": Statistic("Cohen's κ", _ONE_LABEL, labels=True, by_chance=True, nominal=True),
    "kappa_linear": Statistic("Linear weighted κ", _ONE_LABEL, labels=True, by_chance=True),
    "qwk": Statistic("Quadratic weighted κ", _ONE_LABEL, labels=True, by_chance=True),
    "alpha_nominal": Statistic("Krippendorff's α, nominal", _EQUAL, by_chance=True, nominal=True, open_below=True),
    "alpha_ordinal": Statistic("Krippendorff's α, ordinal", _EQUAL, by_chance=True, open_below=True),
    "alpha_interval": Statistic("Krippendorff's α, interval", _EQUAL, by_chance=True, open_below=True),
    "ac1": Statistic("Gwet's AC1", _FEW_LABELS, labels=True, nominal=True),
    "ac2": Statistic("Gwet's AC2", _FEW_LABELS, labels=True, open_below=True),
    "pearson": Statistic("Pearson's r", _CONSTANT, correlation=True),
    "spearman": Statistic("Spearman's ρ", _CONSTANT, correlation=True),
    "kendall": Statistic("Kendall's τ", _CONSTANT, correlation=True),
    "bias": Statistic("Mean difference", NO_ROWS, None, symmetric=False, rising=False),
    "concurrence": Statistic(
        "Concurrence", "the second rater never points in a direction", SHARE, labels=True, directed=True, symmetric=False
    ),
}  # fmt: skip
# for any number of raters, not all of whom rated everything; functions of `many_raters`
MANY_RATERS: dict[str, Statistic] = {
    **{name: STATISTICS[name] for name in ("alpha_nominal", "alpha_ordinal", "alpha_interval")},
    "fleiss": Statistic("Fleiss' κ", _EQUAL, labels=True, by_chance=True, nominal=True),
    "fleiss_linear": Statistic("Fleiss' κ, linear weights", _EQUAL, labels=True, by_chance=True),
    "fleiss_quadratic": Statistic("Fleiss' κ, quadratic weights", _EQUAL, labels=True, by_chance=True),
    "ac1": STATISTICS["ac1"],
    "ac2_linear": Statistic("Gwet's AC2, linear weights", _FEW_LABELS, labels=True),
    "ac2_ordinal": Statistic("Gwet's AC2, ordinal weights", _FEW_LABELS, labels=True),
    "ac2": Statistic("Gwet's AC2, quadratic weights", _FEW_LABELS, labels=True),
}
CORRELATIONS = tuple(name for name, statistic in STATISTICS.items() if statistic.correlation)


def label_of(stat: str) -> str:
    """The name of a statistic for people; an unknown name is returned unchanged."""
    statistic = STATISTICS.get(stat) or MANY_RATERS.get(stat)
    return statistic.label if statistic else stat


def usual_statistic(labels: bool, *, ordered: bool = True) -> str:
    """The statistic reported by default: for answers from a label set, for scores without one, or for categories."""
    return "kappa" if not ordered else "qwk" if labels else "pearson"
