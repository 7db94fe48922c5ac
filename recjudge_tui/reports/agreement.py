"""How well raters agree on the cases that both judged: two at a time, label by label, all together, and in sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from recjudge_tui.domain.options import RATERS, TRUTH
from recjudge_tui.domain.protocols import OVERALL, compares_lists, protocol_facts
from recjudge_tui.domain.published import MISSING_JUDGE, MISSING_TRUTH
from recjudge_tui.domain.roles import COMBINED, FIRST_HAND, REFERENCES
from recjudge_tui.domain.scales import MOST_LABELS
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.estimate_cells import estimate_cells, interval_cells, interval_columns
from recjudge_tui.reports.common.scales import combined_notes, label_names, rules_notes, scale_notes
from recjudge_tui.reports.common.table import Column, Note, Row, Table, definition
from recjudge_tui.reports.declare import Options, Report, table_of
from recjudge_tui.reports.rater_pairs import (
    ALL,
    Ceiling,
    People,
    between_labels,
    by_labels,
    fitting,
    label_sets,
    pair_estimates,
    unfit,
)
from recjudge_tui.reports.sanity import sanity
from recjudge_tui.reports.words import (
    borrowed_notes,
    few_cases,
    lacking_notes,
    left_out_notes,
    orientation_notes,
)
from recjudge_tui.shapes import Base, Meeting, Met, Orientation, Pairs, Side, meet, pairs, under_protocol
from recjudge_tui.stats.agreement import (
    ac2,
    confusion,
    kendall,
    label_scores,
    many_raters_estimates,
    pearson,
    percent,
    spearman,
)
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.combining.ensembles import MOST_RATERS, subset_figures
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.registry import CORRELATIONS, MANY_RATERS, NO_ORDER, STATISTICS, label_of
from recjudge_tui.store.cases import untimed_note
from recjudge_tui.store.ratings import Question

SYSTEM = "system"
TABLES = ("confusion", "by_label", "together", "ensembles", "benchmark")
_WHO = (
    Column("rater_a", "Rater"),
    Column("rater_b", "Against"),
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect"),
)


def agreement(project: Project, choose: Options) -> Table:
    """One of the tables on agreement. Raises UsageError for a statistic, a level or options that do not fit the table."""
    chosen = [name for name in TABLES if choose[name]]
    _check_options(choose, chosen)
    if choose.benchmark:
        return table_of(project, _BENCHMARK, raters=choose.raters, truth=choose.truth)
    if choose.as_published:
        choose = choose.but(missing_truth=MISSING_TRUTH, missing_judge=MISSING_JUDGE)
    tables: dict[str, Callable[[Project, Options], Table]] = {
        "confusion": confusion_table, "by_label": by_label_table, "together": together_table, "ensembles": ensembles_table,
    }  # fmt: skip
    made = tables[chosen[0]](project, choose) if chosen else pairs_table(project, choose)
    filled = {name: choose[name] for name in ("missing_truth", "missing_judge") if choose[name] is not None}
    return replace(made, settings={**made.settings, **filled})


_BENCHMARK = Report(
    "benchmark", "One judge against people, as SAER reports it.", "benchmark:benchmark", (RATERS, TRUTH)
)

# the options that a table has no use for
_UNFIT = {
    "confusion": ("by",),
    "by_label": ("stats", "levels", "by"),
    "together": ("truth", "levels", "missing_truth", "missing_judge", "as_published", "by"),
    "ensembles": ("by",),
    "benchmark": (
        "protocol", "aspect", "stats", "levels", "missing_truth", "missing_judge", "as_published", "systems", "by",
        "contexts", "served_from", "served_to", "fine",
    ),
}  # fmt: skip


def _check_options(choose: Options, chosen: Sequence[str]) -> None:
    if len(chosen) > 1:
        raise UsageError(
            f"{' and '.join(_hyphens(name) for name in chosen)} are different tables: choose one"
        )
    for name in _UNFIT.get(chosen[0], ()) if chosen else ():
        given = choose[name] == SYSTEM if name == "by" and not choose.benchmark else choose[name]
        if given not in (None, "", (), False, ("dataset",)):
            raise UsageError(f"{_hyphens(chosen[0])} cannot be combined with {name.replace('_', ' ')}")
    known = MANY_RATERS if choose.together else STATISTICS
    for stat in choose.stats:
        if stat not in (*known, ALL):
            raise UsageError(f"no statistic “{stat}”", f"Available: {', '.join((*known, ALL))}.")
    fills = (choose.missing_truth, choose.missing_judge)
    if choose.as_published and fills != (None, None):
        raise UsageError("as published sets the values for missing verdicts; leave these out")
    if choose.missing_truth is not None and choose.truth is None:
        raise UsageError("a value for a missing truth requires a truth", next_step="Name the truth.")
    for fill in fills:
        if fill is not None and not math.isfinite(fill):
            raise UsageError(f"{fill} is not a finite score, so it cannot replace a missing one")
    if SYSTEM in choose.levels and choose.by == SYSTEM:
        raise UsageError("the level system compares systems, so it cannot be split by system")


def _hyphens(name: str) -> str:
    return name.replace("_", "-")


def _met(project: Project, choose: Options) -> Met:
    """The raters that meet. Raises UsageError for a value of a missing truth that lies off a scale."""
    met = meet(project, choose.selection(), choose.truth, fills=(choose.missing_truth, choose.missing_judge))
    for meeting, labels in label_sets(met).items() if choose.missing_truth is not None else ():
        facts = protocol_facts(meeting.protocol)
        ends = (labels[0], labels[-1]) if labels else None if facts.labels else facts.ends
        if ends and not ends[0] <= choose.missing_truth <= ends[1]:
            raise UsageError(
                f"{choose.missing_truth:g} cannot replace a missing truth: the scale of {meeting.protocol} is"
                f" {ends[0]:g} to {ends[1]:g}",
                next_step="Give a value on the scale, or choose the protocol.",
            )
    return met


# ---- two raters ------------------------------------------------------------------------------------------------------

_COLUMNS = (
    *_WHO,
    Column("system", "System"),
    Column("stat", "Statistic", "statistic"),
    Column("level", "Level"),
    Column("value", "Value", "float"),
    *interval_columns(),
    Column("ceiling", "People", "float", minor=True),
    *interval_columns(of="ceiling", minor=True),
    Column("ceiling_n", "People n", "int", minor=True),
    Column("ceiling_rest", "One with the rest", "float", minor=True),
    Column("n", "n", "int"),
    Column("users", "Users", "int", minor=True),
    Column("groups", "Groups", "int"),
    Column("groups_undefined", "Undefined", "int"),
    Column("note", "Note"),
)
_LOW_KAPPA, _HIGH_AGREEMENT = 0.2, 0.6


def pairs_table(project: Project, choose: Options) -> Table:
    """One row per two raters, aspect, statistic and level (and system, by system), interval over users.

    `ceiling`: the same figure among the people behind the reference, on the same cases.
    """
    met, by_system = _met(project, choose), choose.by == SYSTEM
    labels, people = label_sets(met), People(met, by_system)
    rows: list[Row] = []
    lacks: list[tuple[Meeting, str, Pairs]] = []
    seen: dict[str, Orientation] = {}
    for meeting in met.meetings:
        stats = fitting(meeting, met, labels[meeting], choose.stats)
        for system, outer in met.parts(meeting) if by_system else (("", met.pairs(meeting)),):
            lacks.append((meeting, system, outer))
            if not system:
                seen[where_of(meeting)] = outer.complete.seen
            for level in choose.levels:
                found = _of_systems(outer.complete, choose.stats)
                if level != SYSTEM:
                    found = _figures(met, meeting, outer.complete, labels[meeting], stats, level, people)
                about = _who(meeting) | ({"system": system} if by_system else {}) | {"level": level}
                rows += [about | row for row in found]
    between: dict[str, float] = {}
    for meeting in met.meetings if not choose.stats else ():
        between |= between_labels(meeting, met, labels[meeting])
    fractions = [
        Note(
            f"{rater} gives values between the labels (such as {value:.3g}): correlations are shown, because percent"
            " agreement and kappas compare labels"
        )
        for rater, value in sorted(between.items())
    ]
    notes = [*_sanity_notes(met), *lacking_notes(lacks), *_about(met), *fractions]
    notes += [*orientation_notes(seen), *_definitions(rows)]
    if rows and "pair" in choose.levels and not met.ratings.cases.has_item.any():
        notes.append(Note("no case is about a single item, so the level pair equals the level user"))
    if not rows:
        notes.append(Note(nothing(met)))
    columns = tuple(column for column in _COLUMNS if by_system or column.name != "system")
    table = Table("Agreement", columns, tuple(rows), tuple(notes))
    return replace(table, answer=_answer(rows, met), brief=_brief(rows, met)) if rows else table


def _who(meeting: Meeting) -> Row:
    return {
        "rater_a": meeting.a.rater,
        "rater_b": meeting.b.rater,
        "protocol": meeting.protocol,
        "aspect": meeting.aspect,
    }


def where_of(meeting: Meeting) -> str:
    """The names of what is compared, for a note."""
    return f"{meeting.a.rater} and {meeting.b.rater} ({meeting.protocol}, {meeting.aspect})"


def _figures(
    met: Met,
    meeting: Meeting,
    both: Pairs,
    labels: Sequence[float] | None,
    stats: Sequence[str],
    level: str,
    people: People,
) -> Iterator[Row]:
    reasons = {stat: unfit(stat, meeting, met) for stat in stats}
    able = tuple(stat for stat in stats if not reasons[stat])
    figures = pair_estimates(both, labels, able, level)
    top = people.ceiling(meeting, both, labels, able, level)
    skewed = _skew(meeting, both, labels)
    for stat in stats:
        figure = figures.get(stat) or undefined(reasons[stat], both.n)
        yield {
            "stat": stat,
            "value": figure.value,
            **interval_cells(figure),
            **_ceiling_cells(top, stat),
            "n": figure.n,
            "users": both.users,
            "groups": figure.groups,
            "groups_undefined": None if figure.groups is None else figure.groups_undefined,
            "note": join_notes(
                figure.note, few_cases(figure.n), _remark(meeting, both.seen, stat, figure, skewed),
                *_ceiling_remarks(top, stat, figure, meeting.b.rater),
            ),
        }  # fmt: skip


def _ceiling_cells(top: Ceiling, stat: str) -> Row:
    among, others = top.people.get(stat), top.others.get(stat)
    ends = {"ceiling": None, "ceiling_low": None, "ceiling_high": None, "ceiling_n": None} if among is None else {
        "ceiling": among.value, "ceiling_low": among.ci_low, "ceiling_high": among.ci_high, "ceiling_n": among.n,
    }  # fmt: skip
    return {**ends, "ceiling_rest": others.value if others else None}


def _ceiling_remarks(top: Ceiling, stat: str, figure: Estimate, reference: str) -> Iterator[str]:
    among = top.people.get(stat)
    if among is not None and among.ci_low is None and among.note not in figure.note:
        yield f"People: {among.note}"
    if among is not None and top.undecided:
        cases = quantity(top.undecided, "case")
        yield f"People leaves out {cases} on which its raters differ, because {reference} has no verdict there"


def _remark(meeting: Meeting, seen: Orientation, stat: str, figure: Estimate, skewed: str) -> str:
    """What might confuse the reader of one figure."""
    if figure.value is None:
        return ""
    if stat == "bias" and seen.view:
        favoured = seen.a or f"the systems against {seen.b}"
        return f"above 0: {meeting.a.rater} favours {favoured} more than {meeting.b.rater} does"
    if figure.groups is not None:
        return ""
    if STATISTICS[stat].directed:
        hits = round(figure.value * figure.n)
        return f"agrees on {hits:,} of the {figure.n:,} cases where the reference preferred a system"
    return skewed if STATISTICS[stat].by_chance and figure.value < _LOW_KAPPA else ""


def _skew(meeting: Meeting, both: Pairs, labels: Sequence[float] | None) -> str:
    """Why chance-corrected figures are low although agreement is high: most values would be equal by chance."""
    x, y = both.x, both.y
    if labels is None or both.n == 0 or not np.isin(both.matrix, labels).all():
        return ""
    equal, credited = percent(x, y) or 0.0, ac2(x, y, labels) or 0.0
    chance = sum(float((x == label).mean() * (y == label).mean()) for label in labels)
    high = [f"AC2 is {credited:.2f}"] if credited >= _HIGH_AGREEMENT else []
    high += [f"{equal:.0%} of the values are equal"] if equal >= _HIGH_AGREEMENT else []
    if not high or chance <= 0.5:
        return ""
    gave = []
    for rater, side in ((meeting.a.rater, x), (meeting.b.rater, y)):
        values, counts = np.unique(side, return_counts=True)
        gave.append(f"{rater} gave {values[np.argmax(counts)]:g} in {counts.max() / side.size:.0%}")
    return (
        f"low although {' and '.join(high)}: {', '.join(gave)}, so {chance:.0%} of the values would be equal by chance"
        " (skewed marginals); see percent and ac2 beside it"
    )


def _sanity_notes(met: Met) -> list[Note]:
    """Warnings about judges whose verdicts say nothing."""
    about = Base(met.project, met.selection, met.ratings, (), met.left_out)
    asked = dict.fromkeys(question for meeting in met.meetings for question in meeting[:2])
    return [Note(line, "warning") for question in asked for line in sanity(about, question).lines]


def _about(met: Met) -> Iterator[Note]:
    """What was left out, whose labels are borrowed, and what the raters are."""
    yield from borrowed_notes((m.protocol, q) for m in met.meetings for q in m[:2])
    raters = [met.ratings.raters[q.rater] for meeting in met.meetings for q in meeting[:2]]
    yield from (Note(text) for text in (*combined_notes(raters), *rules_notes(raters)))
    yield from left_out_notes(met.left_out)
    if met.ratings.untimed:
        yield Note(untimed_note(met.ratings.untimed, "cases"))
    asked = ((meeting.protocol, meeting.aspect) for meeting in met.meetings)
    yield from (Note(text) for text in scale_notes(met.project.db, met.project.id, asked))


def _definitions(rows: Sequence[Row]) -> Iterator[Note]:
    if any(row.get("ceiling") is not None for row in rows):
        yield definition(
            "People: the human ceiling, the mean agreement between the people behind the reference (for a person: with each"
            " other person) on the cases of the row, weighted by n"
        )
    if any(row.get("ceiling_rest") is not None for row in rows):
        yield definition(
            "One with the rest: each of them against the consensus of the others by the same rule, as the judge is"
        )
    if any(row["level"] == SYSTEM for row in rows):
        yield definition(
            "level system: the systems' mean scores, or win rates, by one rater against those by the other, on the cases"
            " that both judged; n: systems, interval by Fisher's z"
        )
    if rows:
        yield definition(
            "interval: over users, by the jackknife; missing and failed verdicts are left out and counted"
        )


def nothing(met: Met) -> str:
    """Why no two raters meet."""
    wanted = (*met.selection.raters, met.truth)
    asked = under_protocol(met.questions, met.ratings.raters, met.selection.protocol)
    names = sorted({q.rater for q in asked if not met.selection.raters or q.rater in wanted})
    if not names:
        return "there are no verdicts on this yet: import labels or start a run"
    if len(names) == 1:
        return f"only {names[0]} has judged this; agreement needs a second rater"
    return f"no two of these raters answered the same question: {', '.join(names)}"


# ---- systems ---------------------------------------------------------------------------------------------------------

_CORRELATION: dict[str, Callable[[FloatArray, FloatArray], float | None]] = {
    "pearson": pearson, "spearman": spearman, "kendall": kendall,
}  # fmt: skip
_FEWEST_SYSTEMS = 4


def _of_systems(both: Pairs, asked: Sequence[str]) -> Iterator[Row]:
    """The correlations of the systems' means, or win rates, by two raters; others asked for are undefined."""
    stats = CORRELATIONS if ALL in asked or not asked else tuple(dict.fromkeys(asked))
    x, y = (_by_system(both, both.stored[at]) for at in range(2))
    for stat in stats:
        figure = undefined("systems are compared by correlations", x.size)
        if stat in CORRELATIONS:
            figure = _correlated(stat, x, y)
        yield {
            "stat": stat, "value": figure.value, **interval_cells(figure), **_ceiling_cells(Ceiling(), stat),
            "n": figure.n, "users": both.users, "groups": None, "groups_undefined": None, "note": figure.note,
        }  # fmt: skip


def _by_system(both: Pairs, stored: FloatArray) -> FloatArray:
    """Each system's mean of the values as stored, of pairs its win rate (ties are half a win)."""
    first, second = both.cases.system_a[both.row], both.cases.system_b[both.row]
    is_pair = both.cases.is_pair[both.row]
    system = np.concatenate([first, second[is_pair]])
    value = np.concatenate([np.where(is_pair, (1 + stored) / 2, stored), (1 - stored[is_pair]) / 2])
    _, code = np.unique(system, return_inverse=True)
    mean: FloatArray = np.bincount(code, value) / np.maximum(np.bincount(code), 1)
    return mean


def _correlated(stat: str, x: FloatArray, y: FloatArray) -> Estimate:
    """A correlation over systems, with Fisher's z: variance 1 / (n - 3), of Spearman (1 + r² / 2) / (n - 3) (Bonett and
    Wright), of Kendall .437 / (n - 4) (Fieller, Hartley and Pearson)."""
    n = x.size
    if n < 3:
        return undefined("needs three systems: over two every correlation is 1 or -1", n)
    value = _CORRELATION[stat](x, y)
    if value is None:
        return undefined(STATISTICS[stat].undefined, n)
    if n < _FEWEST_SYSTEMS + (stat == "kendall"):
        return Estimate(value, None, None, n, note=f"no interval: {quantity(n, 'system')}, too few")
    if abs(value) > 1 - 1e-9:
        return Estimate(
            value, None, None, n, note="no interval: a perfect correlation has none by Fisher's z"
        )
    variance = {
        "pearson": 1 / (n - 3), "spearman": (1 + value**2 / 2) / (n - 3), "kendall": 0.437 / max(n - 4, 1),
    }[stat]  # fmt: skip
    half = NormalDist().inv_cdf((1 + LEVEL) / 2) * math.sqrt(variance)
    z = math.atanh(value)
    return Estimate(value, math.tanh(z - half), math.tanh(z + half), n)


# ---- the answer ------------------------------------------------------------------------------------------------------

# Landis and Koch's words for a kappa (1977), one step plainer
_WORDS = (
    (0.8, "almost perfectly"),
    (0.6, "substantially"),
    (0.4, "moderately"),
    (0.2, "fairly"),
    (0.0, "barely"),
)
_SYMBOLS = {"qwk": "κ", "kappa": "κ", "kappa_linear": "κ", "pearson": "r", "spearman": "ρ", "kendall": "τ"}
# columns that fit 80 cells
_WIDEST = 5
_UNITS = {"list": "list", "pair": "pair", "explanation": "text"}


def short(value: float) -> str:
    """A coefficient with two decimals and no leading zero: .06, -.12, 1.00."""
    text = f"{value:.2f}" if round(value, 2) else "0.00"
    return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text


def _against_people(rows: Sequence[Row], met: Met) -> list[Row]:
    """The rows about machines and, of each protocol, the best kind of reference that there is; without any, all rows."""
    kinds = {name: rater.kind for name, rater in met.ratings.raters.items()}
    of_machines = [row for row in rows if kinds[str(row["rater_a"])] not in REFERENCES]
    best: dict[object, int] = {}
    for row in of_machines:
        if (kind := kinds[str(row["rater_b"])]) in REFERENCES:
            place = REFERENCES.index(kind)
            best[row["protocol"]] = min(place, best.get(row["protocol"], place))
    told = [
        row
        for row in of_machines
        if row["protocol"] in best and kinds[str(row["rater_b"])] == REFERENCES[best[row["protocol"]]]
    ]
    return told or list(rows)


def _spread(values: Sequence[float]) -> str:
    low, high = short(min(values)), short(max(values))
    return low if low == high else f"{low} to {high}"


def _answer(rows: Sequence[Row], met: Met) -> str:
    """Who agrees how well with whom, on how many users and cases; of one statistic, the first of each row's scale."""
    told = _against_people(rows, met)
    stat, level, protocol = told[0]["stat"], told[0]["level"], told[0]["protocol"]
    told = [r for r in told if (r["stat"], r["level"], r["protocol"]) == (stat, level, protocol)]
    by_raters: dict[tuple[str, str], list[Row]] = {}
    for row in told:
        if isinstance(row["value"], float):
            by_raters.setdefault((str(row["rater_a"]), str(row["rater_b"])), []).append(row)
    if not by_raters:
        return f"No agreement can be computed: {told[0]['note']}."
    ordered = sorted(by_raters.values(), key=lambda mine: -sum(_values(mine)) / len(mine))
    said = [_said(mine, met) for mine in (ordered if len(ordered) < 3 else ordered[:1])]
    if len(ordered) > 2:
        worst = ordered[-1]
        names = f"{worst[0]['rater_a']} and {worst[0]['rater_b']}"
        said.append(
            f"{len(ordered) - 1} more, down to {names} ({_symbol(worst[0])} {_spread(_values(worst))})"
        )
    tops = [row["ceiling"] for row in told if isinstance(row.get("ceiling"), float)]
    said += [f"people reach {_spread([float(str(top)) for top in tops])}"] if tops else []
    return f"{'; '.join(said)}. {_size(told, str(protocol), str(level))}."


def _values(rows: Sequence[Row]) -> list[float]:
    return [float(str(row["value"])) for row in rows]


def _symbol(row: Row) -> str:
    return _SYMBOLS.get(str(row["stat"]), label_of(str(row["stat"])))


def _said(rows: Sequence[Row], met: Met) -> str:
    """How well two raters agree: in Landis and Koch's words if a figure's interval excludes 0, or none has one."""
    a, b, stat = (str(rows[0][name]) for name in ("rater_a", "rater_b", "stat"))
    values, lows = _values(rows), [row["ci_low"] for row in rows if isinstance(row["ci_low"], float)]
    top, mean = max(values), sum(values) / len(values)
    figure = f"{_symbol(rows[0])} {f'at most {short(top)}' if len(values) > 1 and top < _LOW_KAPPA else _spread(values)}"
    other = "the users" if met.ratings.raters[b].kind == "ground_truth" else b
    if rows[0]["level"] == SYSTEM:
        return f"{a} and {other} rank the systems alike with {figure}"
    if not STATISTICS[stat].symmetric or stat == "percent":
        return f"{a} and {other}: {figure}"
    if lows and max(float(str(low)) for low in lows) <= 0:
        return f"{a} does not agree with {other} beyond chance ({figure}, every interval includes 0)"
    word = next((word for least, word in _WORDS if (top if top < _LOW_KAPPA else mean) >= least), "hardly")
    return f"{a} {f'{word} agrees' if word in ('barely', 'hardly') else f'agrees {word}'} with {other} ({figure})"


def _size(rows: Sequence[Row], protocol: str, level: str) -> str:
    users, n = (max((int(str(row[name])) for row in rows), default=0) for name in ("users", "n"))
    unit = SYSTEM if level == SYSTEM else _UNITS.get(protocol_facts(protocol).unit, "case")
    return f"{quantity(users, 'user')}, {quantity(n, unit)}"


def _brief(rows: Sequence[Row], met: Met) -> Table:
    """One row a rater, one column an aspect, or of one aspect a column for each statistic; then what people reach. What
    would be too wide has one row a rater and aspect."""
    told = _against_people(rows, met)
    aspects = list(dict.fromkeys(str(row["aspect"]) for row in told))
    by_stat = len(aspects) == 1
    if not by_stat:
        firsts: dict[tuple[object, ...], object] = {}
        told = [row for row in told if firsts.setdefault(_pair(row), row["stat"]) == row["stat"]]
    several = ("rater_b", "protocol", "system", "level", *(() if by_stat else ("stat",)))
    about = [name for name in several if len({row.get(name) for row in told}) > 1]
    long = "protocol" in about or (not by_stat and len(aspects) + len(about) > _WIDEST)
    about = [name for name in about if name != "protocol"] + (["aspect"] if long else [])
    lines: dict[tuple[object, ...], Row] = {}
    tops: dict[tuple[object, ...], Row] = {}
    names: dict[str, None] = {}
    for row in told:
        where = tuple(_question(row, told) if name == "aspect" else row.get(name) for name in about)
        same: Row = dict(zip(about, where, strict=True))
        column = label_of(str(row["stat"])) if by_stat else "agreement" if long else str(row["aspect"])
        line = lines.setdefault((row["rater_a"], *where), {"rater_a": row["rater_a"], **same, "note": ""})
        line[column] = _cell(row, "value", "ci")
        little = few_cases(int(str(row["n"]))) if row["level"] != SYSTEM else ""
        line["note"] = join_notes(str(line["note"]), str(row["note"]) if row["value"] is None else little)
        names[column] = None
        if row.get("ceiling") is not None:
            if long and isinstance(row["ceiling"], float):
                line["people"] = short(row["ceiling"])
            else:
                tops.setdefault(where, {"rater_a": "people", **same})[column] = _cell(
                    row, "ceiling", "ceiling"
                )
    shown: list[Row] = []
    for where in dict.fromkeys(key[1:] for key in lines):
        shown += [line for key, line in lines.items() if key[1:] == where]
        shown += [tops[where]] if where in tops else []
    names |= {"people": None} if any("people" in line for line in shown) else {}
    stats = list(dict.fromkeys(label_of(str(row["stat"])) for row in told))
    by_name = {column.name: column for column in _COLUMNS}
    columns = [*(by_name[name] for name in ("rater_a", *about)), *(Column(name, name) for name in names)]
    columns += [by_name["note"]] if any(line.get("note") for line in shown) else []
    known = {column.name for column in columns}
    title = f"Agreement · {stats[0]}" if not by_stat and len(stats) == 1 else "Agreement"
    title += "" if "rater_b" in about else f" with {told[0]['rater_b']}"
    kept = tuple({name: value for name, value in line.items() if name in known} for line in shown)
    return Table(title, tuple(columns), kept)


def _question(row: Row, rows: Sequence[Row]) -> str:
    """A short name of what was asked: the aspect, or of an overall question the protocol; both where that is not enough."""
    aspect, protocol = str(row["aspect"]), str(row["protocol"])
    if aspect == OVERALL:
        return protocol
    return (
        aspect if len({r["protocol"] for r in rows if r["aspect"] == aspect}) == 1 else f"{protocol} {aspect}"
    )


def _cell(row: Row, name: str, ends: str) -> str:
    """A figure with its interval: .06 [-.02 .08]."""
    value, low, high = (row.get(key) for key in (name, f"{ends}_low", f"{ends}_high"))
    if not isinstance(value, float):
        return "–"
    if not isinstance(low, float) or not isinstance(high, float):
        return short(value)
    return f"{short(value)} [{short(low)} {short(high)}]"


# ---- label by label --------------------------------------------------------------------------------------------------

_CONFUSION = (
    *_WHO,
    Column("label_a", "Gave"),
    Column("label_b", "Against gave"),
    Column("value_a", "Value", "float", minor=True),
    Column("value_b", "Against value", "float", minor=True),
    Column("count", "Count", "int"),
    Column("share", "Share", "share"),
    Column("n", "n", "int"),
)
_BY_LABEL = (
    *_WHO,
    Column("label", "Label"),
    Column("average", "Average"),
    Column("label_value", "Label value", "float", minor=True),
    Column("stat", "Statistic"),
    Column("value", "Value", "float"),
    *interval_columns(),
    Column("n", "n", "int"),
    Column("note", "Note"),
)


class _Labelled:
    """Two raters' labels (cases,), of pairs without a common side from both sides; `values`: every label, rising."""

    def __init__(self, met: Met, meeting: Meeting, both: Pairs, labels: Sequence[float] | None) -> None:
        self.meeting, self.both = meeting, both
        self.a, self.b = (both.seen.both_sides(side) for side in (both.x, both.y))
        self.user = np.concatenate([both.user] * 2) if both.seen.mirrored else both.user
        given = np.array(both.seen.labels(labels) or [], dtype=np.float64)
        self.values = np.unique(np.concatenate([given, self.a, self.b]))
        project, fine = met.project, met.selection.fine
        self.names = (
            label_names(project.db, project.id, meeting.protocol, meeting.aspect, self.values, fine=fine)
            or {}
        )

    def name(self, value: float) -> str:
        return self.names.get(value, f"{value:.3g}")


def _labelled(met: Met) -> tuple[list[_Labelled], list[Note]]:
    """The raters who meet with at most MOST_LABELS different values, and notes on all."""
    labels = label_sets(met)
    out: list[_Labelled] = []
    notes: list[Note] = []
    lacks: list[tuple[Meeting, str, Pairs]] = []
    for meeting in met.meetings:
        outer = met.pairs(meeting)
        found = _Labelled(met, meeting, outer.complete, labels[meeting])
        if not by_labels(meeting, met) or found.values.size > MOST_LABELS:
            notes.append(Note(f"{where_of(meeting)}: a scale without labels has no confusion table"))
            continue
        lacks.append((meeting, "", outer))
        if found.both.n:
            out.append(found)
            continue
        chosen = met.selection.cases.systems
        alone = len(chosen) == 1 and compares_lists(meeting.protocol)
        why = (
            f"{chosen[0]} alone makes no pair: name two systems"
            if alone
            else "no case has a verdict from both"
        )
        notes.append(Note(f"{where_of(meeting)}: {why}"))
    notes += [*lacking_notes(lacks), *_about(met)]
    notes += orientation_notes({where_of(found.meeting): found.both.seen for found in out})
    if any(found.both.seen.mirrored for found in out):
        notes.append(
            Note("counts: each of the n pairs is in the table twice, from the side of either system")
        )
    return out, [*notes, *([] if met.meetings else [Note(nothing(met))])]


def confusion_table(project: Project, choose: Options) -> Table:
    """One row per cell of each two raters, empty ones too: labels and values of both, count, share of n; highest first."""
    found, notes = _labelled(_met(project, choose))
    rows: list[Row] = []
    for labelled in found:
        counts = confusion(labelled.a, labelled.b, labelled.values.tolist())
        places = range(labelled.values.size - 1, -1, -1)
        for at_a, at_b in ((at_a, at_b) for at_a in places for at_b in places):
            a, b = float(labelled.values[at_a]), float(labelled.values[at_b])
            count = int(counts[at_a, at_b])
            rows.append({
                **_who(labelled.meeting), "label_a": labelled.name(a), "label_b": labelled.name(b), "value_a": a,
                "value_b": b, "count": count, "share": count / int(counts.sum()), "n": labelled.both.n,
            })  # fmt: skip
    return Table("Confusion", _CONFUSION, tuple(rows), tuple(notes), answer=_commonest_error(rows))


def _commonest_error(rows: Sequence[Row]) -> str:
    """How often the first two raters gave the same label, and how they differ most."""
    mine = sorted(
        (row for row in rows if _pair(row) == _pair(rows[0])), key=lambda row: -int(str(row["count"]))
    )
    if not mine:
        return ""
    total, same = (
        sum(int(str(row["count"])) for row in some) for some in (mine, [r for r in mine if _same(r)])
    )
    text = f"{mine[0]['rater_a']} and {mine[0]['rater_b']} give the same label in {same:,} of {total:,} cases"
    worst = next((row for row in mine if row["count"] and not _same(row)), None)
    if worst is not None:
        text += (
            f"; most often they differ as {worst['label_a']} against {worst['label_b']} ({worst['count']:,})"
        )
    return f"{text}."


def _same(row: Row) -> bool:
    return row["value_a"] == row["value_b"]


def _pair(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in ("rater_a", "rater_b", "protocol", "aspect"))


def cell_cases(project: Project, row: Row, choose: Options) -> list[int]:
    """The ids of the cases that one row of `confusion_table` counts; `choose`: the table's own options."""
    met = meet(
        project,
        choose.selection(raters=(str(row["rater_a"]), str(row["rater_b"])), aspect=str(row["aspect"])),
        choose.truth,
        fills=(choose.missing_truth, choose.missing_judge),
    )
    ids: list[int] = []
    for meeting in met.meetings:
        if tuple(_who(meeting).values()) == _pair(row):
            both = met.pairs(meeting).complete
            here = (both.x == row["value_a"]) & (both.y == row["value_b"])
            if both.seen.mirrored:
                here |= (-both.x == row["value_a"]) & (-both.y == row["value_b"])
            ids += both.cases.ids[both.row[here]].tolist()
    return ids


def by_label_table(project: Project, choose: Options) -> Table:
    """One row per two raters, aspect, label (then average) and statistic, highest label first; the second is the reference.

    An undefined figure is None with the reason in `note`; it is left out of the averages.
    """
    found, notes = _labelled(_met(project, choose))
    rows: list[Row] = []
    for labelled in found:
        scores = label_scores(labelled.a, labelled.b, labelled.user, labelled.values)
        lines: list[tuple[Row, Mapping[str, Estimate]]] = [
            ({"label": labelled.name(value), "average": None, "label_value": value}, by_stat)
            for value, by_stat in reversed(scores.by_label.items())
        ]
        lines += [
            ({"label": None, "average": name, "label_value": None}, by)
            for name, by in scores.averages.items()
        ]
        for about, by_stat in lines:
            for stat, figure in by_stat.items():
                rows.append({**_who(labelled.meeting), **about, "stat": stat, **estimate_cells(figure)})
    if rows:
        notes.append(
            definition(
                "precision: of the cases where the rater gave the label, the share where the reference (Against) did too;"
                " recall: of the cases where the reference gave it; f1: their harmonic mean; macro: the mean over labels;"
                " weighted: the mean weighted by the reference's cases of each label; interval over users"
            )
        )
    answer = "; ".join(
        f"{row['rater_a']} against {row['rater_b']}: macro F1 {short(row['value'])}"
        for row in [row for row in rows if (row["average"], row["stat"]) == ("macro", "f1")][:2]
        if isinstance(row["value"], float)
    )
    return Table("Agreement by label", _BY_LABEL, tuple(rows), tuple(notes), answer=answer and f"{answer}.")


# ---- all raters together ---------------------------------------------------------------------------------------------

_TOGETHER = (
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect"),
    Column("raters", "Raters", "int"),
    Column("names", "Names", minor=True),
    Column("stat", "Statistic"),
    Column("value", "Value", "float"),
    *interval_columns(),
    Column("n", "n", "int"),
    Column("ratings", "Verdicts", "int"),
    Column("users", "Users", "int", minor=True),
    Column("note", "Note"),
)
_USUAL_TOGETHER = ("alpha_ordinal", "fleiss", "ac2")


def together_table(project: Project, choose: Options) -> Table:
    """One row per question and statistic of all people together, or of the chosen raters if any are; failed verdicts are
    left out. Raises UsageError if only one rater is chosen."""
    if len(choose.raters) == 1:
        raise UsageError("agreement needs at least two raters", next_step="Name two or more.")
    met = meet(project, choose.selection())
    raters = met.ratings.raters
    alike: dict[tuple[str, str], dict[str, Question]] = {}
    scales: dict[tuple[str, str], Sequence[float] | None] = {}
    for meeting, labels in label_sets(met).items():
        of_people = all(raters[question.rater].kind in FIRST_HAND for question in meeting[:2])
        if by_labels(meeting, met) and (choose.raters or of_people):
            scales[meeting.protocol, meeting.aspect] = labels
            for question in meeting[:2]:
                alike.setdefault((meeting.protocol, meeting.aspect), {}).setdefault(question.rater, question)
    rows: list[Row] = []
    notes: list[Note] = []
    seen: dict[str, Orientation] = {}
    for (protocol, aspect), by_rater in alike.items():
        known, about = scales[protocol, aspect], f"{protocol}, {aspect}"
        if known is None or len(known) > MOST_LABELS:
            notes.append(Note(f"{about}: scores without labels have no figure of all raters together"))
            continue
        stats, refused = _fitting_together(choose.stats, (protocol, aspect) in met.nominal)
        if refused:
            notes.append(Note(f"{about}: no {', '.join(refused)}: {NO_ORDER}"))
        outer = pairs(
            met.ratings.cases, [Side(met.ratings.verdicts[question]) for question in by_rater.values()]
        )
        judged = outer.judged_by(1)
        seen[about] = judged.seen
        items = np.broadcast_to(judged.row, judged.matrix.shape).ravel()
        figures = many_raters_estimates(
            judged.matrix.ravel(), items, judged.cases.user[items], judged.seen.labels(known) or known, stats,
            mirrored=judged.seen.mirrored,
        )  # fmt: skip
        who: Row = {
            "protocol": protocol, "aspect": aspect, "raters": len(by_rater), "names": ", ".join(by_rater),
            "ratings": int((~np.isnan(judged.stored)).sum()), "users": judged.users,
        }  # fmt: skip
        rows += [{**who, "stat": stat, **estimate_cells(figures[stat])} for stat in stats]
    notes += [*_about(met), *orientation_notes(seen)]
    if rows:
        notes.append(
            definition(
                "of all raters together; n: the cases that two or more of them judged; interval over users"
            )
        )
    else:
        people = {q.rater for q in met.questions if raters[q.rater].kind in FIRST_HAND}
        few = not choose.raters and len(people) < 2
        notes.append(
            Note("fewer than two people have judged this project: choose raters" if few else nothing(met))
        )
    first = next((row for row in rows if isinstance(row["value"], float)), None)
    answer = "" if first is None else (
        f"{first['raters']} raters of {first['aspect']}: {label_of(str(first['stat']))} {_cell(first, 'value', 'ci')}."
    )  # fmt: skip
    return Table("Agreement of all together", _TOGETHER, tuple(rows), tuple(notes), answer=answer)


def _fitting_together(asked: Sequence[str], nominal: bool) -> tuple[tuple[str, ...], list[str]]:
    """The statistics that fit a question, and those asked for that do not (categories have the nominal ones)."""
    stats = tuple(MANY_RATERS) if ALL in asked else tuple(dict.fromkeys(asked)) or _USUAL_TOGETHER
    if not nominal:
        return stats, []
    of_categories = tuple(stat for stat in (stats if asked else MANY_RATERS) if MANY_RATERS[stat].nominal)
    return of_categories, [stat for stat in stats if asked and stat not in of_categories]


# ---- sets of raters --------------------------------------------------------------------------------------------------

# above this number of rows only Pearson is fast enough, because it needs no pass over the rows for each subset
_MOST_WORK = 300_000_000
_ENSEMBLES = (
    Column("aspect", "Aspect"),
    Column("protocol", "Protocol", minor=True),
    Column("level", "Level"),
    Column("stat", "Statistic", "statistic"),
    Column("size", "Raters", "int"),
    Column("subsets", "Subsets", "int"),
    Column("min", "Lowest", "float"),
    Column("q1", "25 %", "float", minor=True),
    Column("median", "Median", "float", minor=True),
    Column("q3", "75 %", "float", minor=True),
    Column("mean", "Mean", "float"),
    Column("max", "Highest", "float"),
    Column("best", "Best set", minor=True),
    Column("worst", "Worst set", minor=True),
    Column("n", "n", "int"),
    Column("note", "Note"),
)


def ensembles_table(project: Project, choose: Options) -> Table:
    """One row per aspect, level, statistic and size: the figures of the means of all subsets of that many raters with the
    truth. Raises UsageError without a truth, for a metric, another statistic, a set too small, or too much work."""
    members = _members(project, choose)
    met = _met(project, choose.but(raters=members))
    alike: dict[tuple[str, Question, str], list[Meeting]] = {}
    for meeting in met.meetings:
        alike.setdefault((meeting.protocol, meeting.b, meeting.aspect), []).append(meeting)
    rows: list[Row] = []
    notes: list[Note] = []
    seen: dict[str, Orientation] = {}
    for (protocol, truth, aspect), several in alike.items():
        where = f"{protocol}, {aspect}"
        if len(several) < 2:
            continue
        if (protocol, aspect) in met.nominal:
            notes.append(Note(f"{where}: {NO_ORDER}"))
            continue
        _bounded(len(several))
        asked = [*(meeting.a for meeting in several), truth]
        outer = pairs(met.ratings.cases, [met.side(question) for question in asked])
        both = outer.complete
        known = int((~np.isnan(outer.stored[-1])).sum())
        if known > both.n:
            lacking = f"{known - both.n:,} of {known:,} cases with a truth ({(known - both.n) / known:.1%})"
            notes.append(Note(f"{where}: {lacking} left out because one of the raters has no value"))
        notes += [Note(f"{where}: {sentence}") for sentence in outer.left_out]
        seen[where] = both.seen
        about: Row = {"aspect": aspect, "protocol": protocol}
        rows += [about | row for row in _subsets(both, [question.rater for question in asked[:-1]], choose)]
    notes += [*_about(met), *orientation_notes(seen)]
    if not rows and not notes:
        notes.append(Note("no two raters answered a question that the truth answered"))
    notes.append(
        definition(
            "only cases with a value from the truth and all these raters count, so that all sizes use the same cases"
        )
    )
    settings = {"raters": list(members)}
    return Table("Ensembles", _ENSEMBLES, tuple(rows), tuple(notes), settings, answer=_best_set(rows))


def _members(project: Project, choose: Options) -> tuple[str, ...]:
    """The raters whose sets are looked at: those named, else everyone on the truth's scale who is not made from others."""
    if choose.truth is None:
        raise UsageError("ensembles need a truth to compare with", next_step="Name the truth.")
    for stat in choose.stats:
        if stat not in (*CORRELATIONS, ALL):
            raise UsageError(
                f"“{stat}” does not apply to means of raters", f"Correlations do: {', '.join(CORRELATIONS)}."
            )
    if SYSTEM in choose.levels:
        raise UsageError("ensembles have no level system", "Available: dataset, user, pair.")
    if choose.truth in choose.raters:
        raise UsageError(f"“{choose.truth}” cannot be both the truth and a member")
    if len(choose.raters) == 1:
        raise UsageError("an ensemble needs at least two raters")
    _bounded(len(choose.raters))
    raters = meet(project, choose.selection(), choose.truth).ratings.raters
    if scaled := [name for name in choose.raters if raters[name].of_metrics]:
        raise UsageError(
            f"{', '.join(scaled)}: a metric has its own scale and cannot be averaged with other raters"
        )
    return choose.raters or tuple(
        r.name for r in raters.values() if r.kind not in COMBINED and not r.of_metrics
    )


def _bounded(raters: int) -> None:
    if raters > MOST_RATERS:
        raise UsageError(
            f"{raters} raters have {2**raters - 1:,} subsets: too many to compute",
            f"Every further rater doubles them; {MOST_RATERS} have {2**MOST_RATERS - 1:,}.",
            f"Name at most {MOST_RATERS}.",
        )


def _subsets(both: Pairs, names: Sequence[str], choose: Options) -> Iterator[Row]:
    stats = CORRELATIONS if ALL in choose.stats else tuple(dict.fromkeys(choose.stats)) or ("pearson",)
    values = both.seen.both_sides(both.matrix)
    for level in choose.levels:
        groups: IntArray | None = both.groups(level)
        if groups is not None and both.seen.mirrored:
            groups = np.concatenate([groups, groups])
        for stat in stats:
            if stat != "pearson" and (2 ** len(names) - 1) * both.n > _MOST_WORK:
                raise UsageError(
                    f"{stat} of {2 ** len(names) - 1:,} subsets over {both.n:,} cases would take too long",
                    next_step="Use pearson, or name fewer raters.",
                )
            for figures in subset_figures(stat, values[:-1], values[-1], groups):
                first, middle, third = figures.quartiles or (None, None, None)
                lacking = (
                    f"{figures.undefined} of {figures.subsets} sets undefined" if figures.undefined else ""
                )
                best, worst = (
                    " + ".join(names[at] for at in found) for found in (figures.best, figures.worst)
                )
                yield {
                    "level": level, "stat": stat, "size": figures.size, "subsets": figures.subsets, "min": figures.low,
                    "q1": first, "median": middle, "q3": third, "mean": figures.mean, "max": figures.high, "best": best,
                    "worst": worst, "n": both.n, "note": lacking,
                }  # fmt: skip


def _best_set(rows: Sequence[Row]) -> str:
    """The best set of the first aspect beside the best single rater."""
    mine = [row for row in rows if isinstance(row["max"], float)]
    mine = [
        row
        for row in mine
        if all(row[key] == mine[0][key] for key in ("aspect", "protocol", "level", "stat"))
    ]
    if not mine:
        return ""
    best = max(mine, key=lambda row: (float(str(row["max"])), -int(str(row["size"]))))
    single = next(row for row in mine if row["size"] == min(int(str(r["size"])) for r in mine))
    symbol = _SYMBOLS[str(best["stat"])]
    alone = "" if best is single else f"; alone at best {single['best']} ({short(float(str(single['max'])))})"
    return f"On {best['aspect']} the best set is {best['best']} ({symbol} {short(float(str(best['max'])))}){alone}."
