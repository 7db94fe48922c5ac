"""How well raters agree on the cases that both judged: two at a time, label by label, all together, and in sets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import NormalDist

import numpy as np

from recjudge_tui import shapes
from recjudge_tui.domain import protocols
from recjudge_tui.domain.roles import COMBINED, FIRST_HAND, REFERENCES
from recjudge_tui.domain.scales import MOST_LABELS
from recjudge_tui.domain.text import quantity, short
from recjudge_tui.errors import UsageError, check_known
from recjudge_tui.project import Project
from recjudge_tui.reports import rater_pairs, words
from recjudge_tui.reports.common.rows import real, reals, whole
from recjudge_tui.reports.common.table import Column, Note, Row, Table, columns, definition, definitions
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.sanity import sanity
from recjudge_tui.stats import agreement as measures
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.combining import MOST_RATERS, subset_figures
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.registry import CORRELATIONS, MANY_RATERS, NO_ORDER, STATISTICS, label_of
from recjudge_tui.store.answers import Cell
from recjudge_tui.store.cases import untimed_note

SYSTEM = "system"
_WHO = "rater_a rater_b protocol aspect"


def agreement(project: Project, choose: Options) -> Table:
    """One of the tables on agreement. Raises UsageError for a statistic, a level or options that do not fit the table."""
    chosen = [name for name in _UNFIT if choose[name]]
    _check_options(choose, chosen)
    if choose.benchmark:
        from recjudge_tui.reports.papers.runner import human_benchmark

        return human_benchmark(project, (*choose.raters, *filter(None, (choose.truth or "").split(","))))
    if choose.as_published:
        choose = choose.but(missing_truth=protocols.MISSING_TRUTH, missing_judge=protocols.MISSING_JUDGE)
    tables = {
        "confusion": confusion_table, "by_label": by_label_table, "together": together_table, "ensembles": ensembles_table,
    }  # fmt: skip
    made = tables.get(chosen[0] if chosen else "", pairs_table)(project, choose)
    filled = {name: choose[name] for name in ("missing_truth", "missing_judge") if choose[name] is not None}
    return replace(made, settings={**made.settings, **filled})


# the options that a table, named by its own option, has no use for
_UNFIT = {
    "confusion": ("by",),
    "by_label": ("stat", "level", "by"),
    "together": ("truth", "level", "missing_truth", "missing_judge", "as_published", "by"),
    "ensembles": ("by",),
    "benchmark": (
        "protocol", "aspect", "stat", "level", "missing_truth", "missing_judge", "as_published", "systems", "by",
        "context", "from_", "to", "fine",
    ),
}  # fmt: skip


def _check_options(choose: Options, chosen: Sequence[str]) -> None:
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(map(_hyphens, chosen))} are different tables: choose one")
    for name in _UNFIT.get(chosen[0], ()) if chosen else ():
        given = choose[name] == SYSTEM if name == "by" and not choose.benchmark else choose[name]
        if given not in (None, "", (), False, ("dataset",)):
            raise UsageError(f"{_hyphens(chosen[0])} cannot be combined with {name.replace('_', ' ')}")
    known = MANY_RATERS if choose.together else STATISTICS
    check_known("statistic", choose.stat, (*known, rater_pairs.ALL))
    fills = (choose.missing_truth, choose.missing_judge)
    if choose.as_published and fills != (None, None):
        raise UsageError("as published sets the values for missing verdicts; leave these out")
    if choose.missing_truth is not None and choose.truth is None:
        raise UsageError("a value for a missing truth requires a truth", next_step="Name the truth.")
    for fill in fills:
        if fill is not None and not math.isfinite(fill):
            raise UsageError(f"{fill} is not a finite score, so it cannot replace a missing one")
    if SYSTEM in choose.level and choose.by == SYSTEM:
        raise UsageError("the level system compares systems, so it cannot be split by system")


def _hyphens(name: str) -> str:
    return name.replace("_", "-")


def _met(project: Project, choose: Options) -> shapes.Met:
    """The raters that meet. Raises UsageError for a value of a missing truth that lies off a scale."""
    fills = choose.missing_truth, choose.missing_judge
    met = shapes.meet(project, choose.selection(), choose.truth, fills=fills)
    for meeting, labels in rater_pairs.label_sets(met).items() if choose.missing_truth is not None else ():
        facts = protocols.protocol_facts(meeting.protocol)
        ends = (labels[0], labels[-1]) if labels else None if facts.labels else facts.ends
        if ends and not ends[0] <= choose.missing_truth <= ends[1]:
            scale = f"the scale of {meeting.protocol} is {ends[0]:g} to {ends[1]:g}"
            reason = f"{choose.missing_truth:g} cannot replace a missing truth: {scale}"
            raise UsageError(reason, next_step="Give a value on the scale, or choose the protocol.")
    return met


# ---- two raters ------------------------------------------------------------------------------------------------------

_COLUMNS = columns(
    _WHO, "system stat", "level|Level", "value ci_low ci_high", "ceiling|(People)|float",
    "ceiling_*|(CI)|ci", "ceiling_n|(People n)|int", "ceiling_rest|(One with the rest)|float",
    "n users?", "groups|Groups|int", "groups_undefined|Undefined|int", "note",
)  # fmt: skip
_LOW_KAPPA, _HIGH_AGREEMENT = 0.2, 0.6
_PEOPLE, _REST, _OF_SYSTEMS, _INTERVAL = definitions("""\
People: the human ceiling, the mean agreement between the people behind the reference (for a person: with each other\
 person) on the cases of the row, weighted by n
One with the rest: each of them against the consensus of the others by the same rule, as the judge is
level system: the systems' mean scores, or win rates, by one rater against those by the other, on the cases that both\
 judged; n: systems, interval by Fisher's z
interval: over users, by the jackknife; missing and failed verdicts are left out and counted""")


def pairs_table(project: Project, choose: Options) -> Table:
    """One row per two raters, aspect, statistic and level (and system, by system), interval over users. `ceiling`:
    the same figure among the people behind the reference, on the same cases."""
    met, by_system = _met(project, choose), choose.by == SYSTEM
    labels, people = rater_pairs.label_sets(met), rater_pairs.People(met, by_system)
    shown = tuple(column for column in _COLUMNS if by_system or column.name != "system")
    empty: Row = dict.fromkeys(column.name for column in shown)
    rows: list[Row] = []
    lacks: list[tuple[shapes.Meeting, str, shapes.Pairs]] = []
    seen: dict[str, shapes.Orientation] = {}
    for meeting in met.meetings:
        stats = rater_pairs.fitting(meeting, met, labels[meeting], choose.stat)
        for system, outer in met.parts(meeting) if by_system else (("", met.pairs(meeting)),):
            lacks.append((meeting, system, outer))
            if not system:
                seen[where_of(meeting)] = outer.complete.seen
            for level in choose.level:
                found = _of_systems(outer.complete, choose.stat)
                if level != SYSTEM:
                    found = _figures(people, meeting, outer.complete, labels[meeting], stats, level)
                about = empty | _who(meeting) | ({"system": system} if by_system else {}) | {"level": level}
                rows += [about | row for row in found]
    between: dict[str, float] = {}
    for meeting in met.meetings if not choose.stat else ():
        between |= rater_pairs.between_labels(meeting, met, labels[meeting])
    asked = dict.fromkeys(question for meeting in met.meetings for question in meeting[:2])
    notes: list[str] = [Note(line, "warning") for question in asked for line in sanity(met, question).lines]
    notes += [*words.lacking_notes(lacks), *_about(met)]
    why = "correlations are shown, because percent agreement and kappas compare labels"
    for rater, value in sorted(between.items()):
        notes.append(f"{rater} gives values between the labels (such as {value:.3g}): {why}")
    notes += words.orientation_notes(seen)
    kinds = (("ceiling", _PEOPLE), ("ceiling_rest", _REST))
    notes += [note for name, note in kinds if any(row[name] is not None for row in rows)]
    notes += [_OF_SYSTEMS] if any(row["level"] == SYSTEM for row in rows) else []
    notes += [_INTERVAL] if rows else []
    if rows and "pair" in choose.level and not met.ratings.cases.has_item.any():
        notes.append("no case is about a single item, so the level pair equals the level user")
    if not rows:
        notes.append(nothing(met))
    table = Table("Agreement", shown, tuple(rows), tuple(notes))
    if not rows:
        return table
    known = any(row["value"] is not None for row in rows)
    brief = _brief(rows, met) if known else Table("Agreement", (), ())
    return replace(table, answer=_answer(rows, met), brief=brief)


def _who(meeting: shapes.Meeting) -> Row:
    cells = (meeting.a.rater, meeting.b.rater, meeting.protocol, meeting.aspect)
    return dict(zip(_WHO.split(), cells, strict=True))


def where_of(meeting: shapes.Meeting) -> str:
    """The names of what is compared, for a note."""
    return f"{meeting.a.rater} and {meeting.b.rater} ({meeting.where})"


def _figures(
    people: rater_pairs.People, meeting: shapes.Meeting, both: shapes.Pairs, labels: Sequence[float] | None,
    stats: Sequence[str], level: str,
) -> Iterator[Row]:  # fmt: skip
    reasons = {stat: rater_pairs.unfit(stat, meeting, people.met) for stat in stats}
    able = tuple(stat for stat in stats if not reasons[stat])
    figures = rater_pairs.pair_estimates(both, labels, able, level)
    top = people.ceiling(meeting, both, labels, able, level)
    skewed = _skew(both, labels)
    for stat in stats:
        figure = figures.get(stat) or undefined(reasons[stat], both.n)
        row = {"stat": stat, **figure.cells, "users": both.users}
        if figure.groups is not None:
            row |= {"groups": figure.groups, "groups_undefined": figure.groups_undefined}
        remarks = [figure.note, words.few_cases(figure.n), _remark(meeting, both.seen, stat, figure, skewed)]
        if top.undecided:
            # on the cases that are left they agree because a consensus was found there
            cases = quantity(top.undecided, "case")
            remarks.append(f"People: its raters differ on {cases}, where {meeting.b.rater} has no verdict")
        elif (among := top.people.get(stat)) is not None:
            row |= {"ceiling": among.value, **among.ends("ceiling"), "ceiling_n": among.n}
            if among.ci_low is None and among.note not in figure.note:
                remarks.append(f"People: {among.note}")
        if (others := top.others.get(stat)) is not None:
            row["ceiling_rest"] = others.value
        yield row | {"note": join_notes(*remarks)}


def _remark(
    meeting: shapes.Meeting, seen: shapes.Orientation, stat: str, figure: Estimate, skewed: str
) -> str:
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


def _skew(both: shapes.Pairs, labels: Sequence[float] | None) -> str:
    """Why chance-corrected figures are low although agreement is high: most values would be equal by chance."""
    x, y = both.x, both.y
    if labels is None or both.n == 0 or not np.isin(both.matrix, labels).all():
        return ""
    chance = sum(float((x == label).mean() * (y == label).mean()) for label in labels)
    if chance <= 0.5:
        return ""
    equal, credited = measures.percent(x, y) or 0.0, measures.ac2(x, y, labels) or 0.0
    high = [f"AC2 is {credited:.2f}"] if credited >= _HIGH_AGREEMENT else []
    high += [f"{equal:.0%} of the values are equal"] if equal >= _HIGH_AGREEMENT else []
    by_chance = f"{chance:.0%} of the values would be equal by chance (skewed marginals)"
    return f"low although {' and '.join(high)}: {by_chance}; see percent and ac2 beside it" if high else ""


def _about(met: shapes.Met) -> Iterator[str]:
    """What was left out, whose labels are borrowed, and what the raters are."""
    yield from words.borrowed_notes((m.protocol, q) for m in met.meetings for q in m[:2])
    raters = [met.ratings.raters[q.rater] for meeting in met.meetings for q in meeting[:2]]
    yield from words.rater_notes(raters)
    yield from words.left_out_notes(met.left_out)
    if met.ratings.untimed:
        yield untimed_note(met.ratings.untimed, "cases")
    yield from words.scale_notes(met.project, (meeting[2:] for meeting in met.meetings))


def nothing(met: shapes.Met) -> str:
    """Why no two raters meet."""
    wanted = (*met.selection.raters, met.truth)
    asked = shapes.under_protocol(met.questions, met.ratings.raters, met.selection.protocol)
    names = sorted({q.rater for q in asked if not met.selection.raters or q.rater in wanted})
    if not names:
        return "there are no verdicts on this yet: import labels or start a run"
    if len(names) == 1:
        return f"only {names[0]} has judged this; agreement needs a second rater"
    return f"no two of these raters answered the same question: {', '.join(names)}"


# ---- systems ---------------------------------------------------------------------------------------------------------

_FEWEST_SYSTEMS = 4


def _of_systems(both: shapes.Pairs, asked: Sequence[str]) -> Iterator[Row]:
    """The correlations of the systems' means, or win rates, by two raters; others asked for are undefined."""
    stats = CORRELATIONS if rater_pairs.ALL in asked or not asked else tuple(dict.fromkeys(asked))
    x, y = (_by_system(both, both.stored[at]) for at in range(2))
    for stat in stats:
        figure = undefined("systems are compared by correlations", x.size)
        if stat in CORRELATIONS:
            figure = _correlated(stat, x, y)
        yield {"stat": stat, **figure.cells, "users": both.users}


def _by_system(both: shapes.Pairs, stored: FloatArray) -> FloatArray:
    """Each system's mean of the values as stored, of pairs its win rate (ties are half a win)."""
    first, second = both.cases.system_a[both.row], both.cases.system_b[both.row]
    is_pair = both.cases.is_pair[both.row]
    system = np.concatenate([first, second[is_pair]])
    value = np.concatenate([np.where(is_pair, (1 + stored) / 2, stored), (1 - stored[is_pair]) / 2])
    _, code = np.unique(system, return_inverse=True)
    return np.asarray(np.bincount(code, value) / np.maximum(np.bincount(code), 1))


def _correlated(stat: str, x: FloatArray, y: FloatArray) -> Estimate:
    """A correlation over systems, with Fisher's z: variance 1 / (n - 3), of Spearman (1 + r² / 2) / (n - 3) (Bonett and
    Wright), of Kendall .437 / (n - 4) (Fieller, Hartley and Pearson)."""
    n = x.size
    if n < 3:
        return undefined("needs three systems: over two every correlation is 1 or -1", n)
    named = {"pearson": measures.pearson, "spearman": measures.spearman, "kendall": measures.kendall}
    value = named[stat](x, y)
    if value is None:
        return undefined(STATISTICS[stat].undefined, n)
    few = f"{quantity(n, 'system')}, too few" if n < _FEWEST_SYSTEMS + (stat == "kendall") else ""
    if few or abs(value) > 1 - 1e-9:
        why = few or "a perfect correlation has none by Fisher's z"
        return Estimate(value, None, None, n, note=f"no interval: {why}")
    variance = {
        "pearson": 1 / (n - 3), "spearman": (1 + value**2 / 2) / (n - 3), "kendall": 0.437 / max(n - 4, 1),
    }[stat]  # fmt: skip
    half = NormalDist().inv_cdf((1 + LEVEL) / 2) * math.sqrt(variance)
    z = math.atanh(value)
    return Estimate(value, math.tanh(z - half), math.tanh(z + half), n)


# ---- the answer ------------------------------------------------------------------------------------------------------

# Landis and Koch's words for a kappa (1977), one step plainer
_WORDS = {0.8: "almost perfectly", 0.6: "substantially", 0.4: "moderately", 0.2: "fairly", 0.0: "barely"}
_SYMBOLS = {"qwk": "κ", "kappa": "κ", "kappa_linear": "κ", "pearson": "r", "spearman": "ρ", "kendall": "τ"}
# columns that fit 80 cells
_WIDEST = 5
_UNITS = {"list": "list", "pair": "pair", "explanation": "text"}


def _against_people(rows: Sequence[Row], met: shapes.Met) -> list[Row]:
    """The rows about machines and, of each protocol, the best kind of reference that there is; without any, all rows."""
    kinds = {name: rater.kind for name, rater in met.ratings.raters.items()}
    of_machines = [row for row in rows if kinds[str(row["rater_a"])] not in REFERENCES]
    met_by = shapes.grouped((row["protocol"], kinds[str(row["rater_b"])]) for row in of_machines)
    best = {of: next((kind for kind in REFERENCES if kind in kinds_), None) for of, kinds_ in met_by.items()}
    told = [row for row in of_machines if kinds[str(row["rater_b"])] == best.get(row["protocol"])]
    return told or list(rows)


def _spread(values: Sequence[float]) -> str:
    low, high = short(min(values)), short(max(values))
    return low if low == high else f"{low} to {high}"


def _answer(rows: Sequence[Row], met: shapes.Met) -> str:
    """Who agrees how well with whom, on how many users and cases; of one statistic, the first of each row's scale."""
    told = _against_people(rows, met)
    stat, level, protocol = told[0]["stat"], told[0]["level"], told[0]["protocol"]
    told = [r for r in told if (r["stat"], r["level"], r["protocol"]) == (stat, level, protocol)]
    known = [row for row in told if isinstance(row["value"], float)]
    by_raters = shapes.grouped(((row["rater_a"], row["rater_b"]), row) for row in known)
    if not by_raters:
        return f"No agreement can be computed: {told[0]['note']}."
    ordered = sorted(by_raters.values(), key=lambda mine: -sum(reals(mine, "value")) / len(mine))
    said = [_said(mine, met) for mine in (ordered if len(ordered) < 3 else ordered[:1])]
    if len(ordered) > 2:
        last = ordered[-1][0]
        figure = f"{_symbol(last)} {_spread(reals(ordered[-1], 'value'))}"
        said.append(f"{len(ordered) - 1} more, down to {last['rater_a']} and {last['rater_b']} ({figure})")
    tops = [top for row in told if isinstance(top := row.get("ceiling"), float)]
    said += [f"people reach {_spread(tops)}"] if tops else []
    users, n = (max(whole(row, name) for row in told) for name in ("users", "n"))
    unit = SYSTEM if level == SYSTEM else _UNITS.get(protocols.protocol_facts(str(protocol)).unit, "case")
    return f"{'; '.join(said)}. {quantity(users, 'user')}, {quantity(n, unit)}."


def _symbol(row: Row) -> str:
    return _SYMBOLS.get(str(row["stat"]), label_of(str(row["stat"])))


def _said(rows: Sequence[Row], met: shapes.Met) -> str:
    """How well two raters agree: in Landis and Koch's words if a figure's interval excludes 0, or none has one."""
    a, b, stat = (str(rows[0][name]) for name in ("rater_a", "rater_b", "stat"))
    values, lows = reals(rows, "value"), [low for row in rows if isinstance(low := row["ci_low"], float)]
    top, mean = max(values), sum(values) / len(values)
    figure = f"{_symbol(rows[0])} {f'at most {short(top)}' if len(values) > 1 and top < _LOW_KAPPA else _spread(values)}"
    other = "the users" if met.ratings.raters[b].kind == "ground_truth" else b
    if rows[0]["level"] == SYSTEM:
        return f"{a} and {other} rank the systems alike with {figure}"
    if not STATISTICS[stat].symmetric or stat == "percent":
        return f"{a} and {other}: {figure}"
    if lows and max(lows) <= 0:
        return f"{a} does not agree with {other} beyond chance ({figure}, every interval includes 0)"
    told = top if top < _LOW_KAPPA else mean
    word = next((word for least, word in _WORDS.items() if told >= least), "hardly")
    return f"{a} {f'{word} agrees' if word in ('barely', 'hardly') else f'agrees {word}'} with {other} ({figure})"


def _brief(rows: Sequence[Row], met: shapes.Met) -> Table:
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
    missing: dict[tuple[object, ...], dict[str, list[str]]] = {}
    for row in told:
        where = tuple(_question(row, told) if name == "aspect" else row.get(name) for name in about)
        same: Row = dict(zip(about, where, strict=True))
        column = label_of(str(row["stat"])) if by_stat else "agreement" if long else str(row["aspect"])
        key = (row["rater_a"], *where)
        line = lines.setdefault(key, {"rater_a": row["rater_a"], **same, "note": ""})
        line[column] = words.figure_text(row, "value")
        little = words.few_cases(whole(row, "n")) if row["level"] != SYSTEM else ""
        if row["value"] is None:
            missing.setdefault(key, {}).setdefault(str(row["note"]), []).append(column)
        else:
            parts = str(row["note"]).split("; ")
            withheld = next((part for part in parts if part.startswith("no interval")), little)
            line["note"] = join_notes(str(line["note"]), withheld)
        names[column] = None
        if long and row["ceiling"] is not None:
            line["people"] = short(real(row, "ceiling"))
        elif row["ceiling"] is not None:
            top = tops.setdefault(where, {"rater_a": "people", **same})
            top[column] = words.figure_text(row, "ceiling", ends="ceiling")
    for key, whys in missing.items():
        # a column without any figure is not shown
        named = (why if len(names) == 1 else f"{', '.join(of)}: {why}" for why, of in whys.items())
        lines[key]["note"] = join_notes(*named, str(lines[key]["note"]))
    shown: list[Row] = []
    for where in dict.fromkeys(key[1:] for key in lines):
        shown += [line for key, line in lines.items() if key[1:] == where]
        shown += [tops[where]] if where in tops else []
    names |= {"people": None} if any("people" in line for line in shown) else {}
    stats = list(dict.fromkeys(label_of(str(row["stat"])) for row in told))
    by_name = {column.name: column for column in _COLUMNS}
    heads = [*(by_name[name] for name in ("rater_a", *about)), *(Column(name, name) for name in names)]
    heads += [by_name["note"]] if any(line.get("note") for line in shown) else []
    title = f"Agreement · {stats[0]}" if not by_stat and len(stats) == 1 else "Agreement"
    title += "" if "rater_b" in about else f" with {told[0]['rater_b']}"
    lined = tuple({head.name: line.get(head.name) for head in heads} for line in shown)
    return Table(title, tuple(heads), lined)


def _question(row: Row, rows: Sequence[Row]) -> str:
    """A short name of what was asked: the aspect, or of an overall question the protocol; both where that is not enough."""
    aspect, protocol = str(row["aspect"]), str(row["protocol"])
    if aspect == protocols.OVERALL:
        return protocol
    alone = len({r["protocol"] for r in rows if r["aspect"] == aspect}) == 1
    return aspect if alone else f"{protocol} {aspect}"


# ---- label by label --------------------------------------------------------------------------------------------------

_CONFUSION = columns(
    _WHO, "label_a|Gave", "label_b|Against gave", "value_a|(Value)|float", "value_b|(Against value)|float",
    "count share n",
)  # fmt: skip
_BY_LABEL = columns(
    _WHO, "label", "average|Average", "label_value|(Label value)|float", "stat|Statistic",
    "value ci_low ci_high n note",
)  # fmt: skip


_LABEL_FIGURES = definition(
    "precision: of the cases where the rater gave the label, the share where the reference (Against) did too; recall: of the"
    " cases where the reference gave it; f1: their harmonic mean; macro: the mean over labels; weighted: the mean weighted"
    " by the reference's cases of each label; interval over users"
)


def _grids(met: shapes.Met) -> tuple[list[tuple[shapes.Meeting, rater_pairs.Grid]], list[str]]:
    """The raters who meet with at most MOST_LABELS different values, and notes on all."""
    out: list[tuple[shapes.Meeting, rater_pairs.Grid]] = []
    notes: list[str] = []
    lacks: list[tuple[shapes.Meeting, str, shapes.Pairs]] = []
    for meeting, labels in rater_pairs.label_sets(met).items():
        outer = met.pairs(meeting)
        values = np.concatenate([outer.complete.matrix.ravel(), np.array(labels or ())])
        levels, labelled = rater_pairs.levels_of(met.project, meeting, values, fine=met.selection.fine)
        if not rater_pairs.by_labels(meeting, met) or any(level.low < level.high for level in levels):
            notes.append(f"{where_of(meeting)}: a scale without labels has no confusion table")
            continue
        lacks.append((meeting, "", outer))
        if outer.complete.n:
            out.append((meeting, rater_pairs.Grid(outer.complete, levels, labelled)))
            continue
        why, chosen = "no case has a verdict from both", met.selection.cases.systems
        if len(chosen) == 1 and protocols.compares_lists(meeting.protocol):
            why = f"{chosen[0]} alone makes no pair: name two systems"
        notes.append(f"{where_of(meeting)}: {why}")
    notes += [*words.lacking_notes(lacks), *_about(met)]
    notes += words.orientation_notes({where_of(meeting): grid.both.seen for meeting, grid in out})
    if any(grid.both.seen.mirrored for _, grid in out):
        notes.append("counts: each of the n pairs is in the table twice, from the side of either system")
    return out, [*notes, *([] if met.meetings else [nothing(met)])]


def confusion_table(project: Project, choose: Options) -> Table:
    """One row per cell of each two raters, empty ones too: labels and values of both, count, share of n; highest first."""
    found, notes = _grids(_met(project, choose))
    rows: list[Row] = []
    for meeting, grid in found:
        total = int(grid.counts.sum())
        for (at_a, a), (at_b, b) in product(enumerate(grid.levels), repeat=2):
            count = int(grid.counts[at_a, at_b])
            rows.append({
                **_who(meeting), "label_a": a.name, "label_b": b.name, "value_a": a.low, "value_b": b.low,
                "count": count, "share": count / total, "n": grid.both.n,
            })  # fmt: skip
    return Table("Confusion", _CONFUSION, tuple(rows), tuple(notes), answer=_commonest_error(rows))


def _commonest_error(rows: Sequence[Row]) -> str:
    """How often the first two raters gave the same label, and how they differ most."""
    mine = sorted((row for row in rows if _pair(row) == _pair(rows[0])), key=lambda row: -whole(row, "count"))
    if not mine:
        return ""
    total = sum(whole(row, "count") for row in mine)
    apart = [row for row in mine if row["count"] and row["value_a"] != row["value_b"]]
    same = total - sum(whole(row, "count") for row in apart)
    text = f"{mine[0]['rater_a']} and {mine[0]['rater_b']} give the same label in {same:,} of {total:,} cases"
    if apart:
        most = apart[0]
        text += f"; most often they differ as {most['label_a']} against {most['label_b']} ({most['count']:,})"
    return f"{text}."


def _pair(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in _WHO.split())


def cell_cases(project: Project, row: Row, choose: Options) -> list[int]:
    """The ids of the cases that one row of `confusion_table` counts; `choose`: the table's own options."""
    among = choose.selection(raters=(str(row["rater_a"]), str(row["rater_b"])), aspect=str(row["aspect"]))
    met = shapes.meet(project, among, choose.truth, fills=(choose.missing_truth, choose.missing_judge))
    a, b = real(row, "value_a"), real(row, "value_b")
    mine = (meeting for meeting in met.meetings if tuple(_who(meeting).values()) == _pair(row))
    grids = (rater_pairs.Grid(met.pairs(meeting).complete, (), True) for meeting in mine)
    return [case for grid in grids for case in grid.cases(Cell(a, a, b, b)).tolist()]


def by_label_table(project: Project, choose: Options) -> Table:
    """One row per two raters, aspect, label (then average) and statistic, highest label first; the second is the
    reference. An undefined figure is None with the reason in `note`; it is left out of the averages."""
    found, notes = _grids(_met(project, choose))
    rows: list[Row] = []
    for meeting, grid in found:
        a, b = grid.both.seen.both_sides(grid.both.matrix)
        users = np.tile(grid.both.user, a.size // grid.both.n)
        scores = measures.label_scores(a, b, users, np.array([level.low for level in reversed(grid.levels)]))
        # label, average, value of the label
        lines: list[tuple[tuple[object, ...], Mapping[str, Estimate]]] = [
            ((level.name, None, level.low), scores.by_label.get(level.low, {})) for level in grid.levels
        ]
        for about, by_stat in [*lines, *(((None, name, None), by) for name, by in scores.averages.items())]:
            cells = _who(meeting) | dict(zip(("label", "average", "label_value"), about, strict=True))
            rows += [cells | {"stat": stat} | figure.cells for stat, figure in by_stat.items()]
    notes += [_LABEL_FIGURES] if rows else []
    f1 = [row for row in rows if (row["average"], row["stat"]) == ("macro", "f1")][:2]
    known = [(f"{row['rater_a']} against {row['rater_b']}", row["value"]) for row in f1]
    answer = "; ".join(f"{who}: macro F1 {short(x)}" for who, x in known if isinstance(x, float))
    return Table("Agreement by label", _BY_LABEL, tuple(rows), tuple(notes), answer=answer and f"{answer}.")


# ---- all raters together ---------------------------------------------------------------------------------------------

_TOGETHER = columns(
    "protocol aspect", "raters|Raters|int", "names|(Names)", "stat|Statistic", "value ci_low ci_high n",
    "ratings|Verdicts|int", "users? note",
)  # fmt: skip
_USUAL_TOGETHER = ("alpha_ordinal", "fleiss", "ac2")


def together_table(project: Project, choose: Options) -> Table:
    """One row per question and statistic of all people together, or of the chosen raters if any are; failed verdicts are
    left out. Raises UsageError if only one rater is chosen."""
    if len(choose.raters) == 1:
        raise UsageError("agreement needs at least two raters", next_step="Name two or more.")
    met = shapes.meet(project, choose.selection())
    raters = met.ratings.raters
    labels = rater_pairs.label_sets(met)
    every = [meeting for meeting in met.meetings if rater_pairs.by_labels(meeting, met)]
    if not choose.raters:
        every = [meeting for meeting in every if all(raters[q.rater].kind in FIRST_HAND for q in meeting[:2])]
    alike = shapes.grouped((meeting[2:], meeting) for meeting in every)
    rows: list[Row] = []
    notes: list[str] = []
    seen: dict[str, shapes.Orientation] = {}
    for (protocol, aspect), several in alike.items():
        asked = shapes.grouped((q.rater, q) for meeting in several for q in meeting[:2])
        known, about = labels[several[-1]], f"{protocol}, {aspect}"
        if known is None or len(known) > MOST_LABELS:
            notes.append(f"{about}: scores without labels have no figure of all raters together")
            continue
        stats = tuple(dict.fromkeys(choose.stat)) or _USUAL_TOGETHER
        stats = tuple(MANY_RATERS) if rater_pairs.ALL in choose.stat else stats
        if (protocol, aspect) in met.nominal:
            able = [stat for stat in (stats if choose.stat else MANY_RATERS) if MANY_RATERS[stat].nominal]
            if refused := [stat for stat in stats if choose.stat and stat not in able]:
                notes.append(f"{about}: no {', '.join(refused)}: {NO_ORDER}")
            stats = tuple(able)
        sides = [shapes.Side(met.ratings.verdicts[own[0]]) for own in asked.values()]
        judged = shapes.pairs(met.ratings.cases, sides).judged_by(1)
        seen[about] = judged.seen
        items = np.broadcast_to(judged.row, judged.matrix.shape).ravel()
        figures = measures.many_raters_estimates(
            judged.matrix.ravel(), items, judged.cases.user[items], judged.seen.labels(known) or known, stats,
            mirrored=judged.seen.mirrored,
        )  # fmt: skip
        who: Row = {
            "protocol": protocol, "aspect": aspect, "raters": len(asked), "names": ", ".join(asked),
            "ratings": int((~np.isnan(judged.stored)).sum()), "users": judged.users,
        }  # fmt: skip
        rows += [{**who, "stat": stat, **figures[stat].cells} for stat in stats]
    notes += [*_about(met), *words.orientation_notes(seen)]
    if rows:
        about = "of all raters together; n: the cases that two or more of them judged; interval over users"
        notes.append(definition(about))
    else:
        people = {q.rater for q in met.questions if raters[q.rater].kind in FIRST_HAND}
        few = not choose.raters and len(people) < 2
        notes.append("fewer than two people have judged this project: choose raters" if few else nothing(met))
    answer = ""
    if (first := next((row for row in rows if row["value"] is not None), None)) is not None:
        figure = f"{label_of(str(first['stat']))} {words.figure_text(first, 'value')}"
        answer = f"{first['raters']} raters of {first['aspect']}: {figure}."
    return Table("Agreement of all together", _TOGETHER, tuple(rows), tuple(notes), answer=answer)


# ---- sets of raters --------------------------------------------------------------------------------------------------

# above this number of rows only Pearson is fast enough, because it needs no pass over the rows for each subset
_MOST_WORK = 300_000_000
_ENSEMBLES = columns(
    "aspect protocol?", "level|Level", "stat", "size|Raters|int", "subsets|Subsets|int", "min|Lowest|float",
    "q1|(25 %)|float", "median|(Median)|float", "q3|(75 %)|float", "mean|Mean|float", "max|Highest|float",
    "best|(Best set)", "worst|(Worst set)", "n note",
)  # fmt: skip


def ensembles_table(project: Project, choose: Options) -> Table:
    """One row per aspect, level, statistic and size: the figures of the means of all subsets of that many raters with the
    truth. Raises UsageError without a truth, for a metric, another statistic, a set too small, or too much work."""
    members = _members(project, choose)
    met = _met(project, choose.but(raters=members))
    alike = shapes.grouped((meeting[1:], meeting) for meeting in met.meetings)
    rows: list[Row] = []
    notes: list[str] = []
    seen: dict[str, shapes.Orientation] = {}
    for (truth, protocol, aspect), several in alike.items():
        where = f"{protocol}, {aspect}"
        if len(several) < 2:
            continue
        if (protocol, aspect) in met.nominal:
            notes.append(f"{where}: {NO_ORDER}")
            continue
        _bounded(len(several))
        asked = [*(meeting.a for meeting in several), truth]
        outer = shapes.pairs(met.ratings.cases, [met.side(question) for question in asked])
        both = outer.complete
        known = int((~np.isnan(outer.stored[-1])).sum())
        if known > both.n:
            lacking = f"{known - both.n:,} of {known:,} cases with a truth ({(known - both.n) / known:.1%})"
            notes.append(f"{where}: {lacking} left out because one of the raters has no value")
        notes += [f"{where}: {sentence}" for sentence in outer.left_out]
        seen[where] = both.seen
        about: Row = {"aspect": aspect, "protocol": protocol}
        rows += [about | row for row in _subsets(both, [question.rater for question in asked[:-1]], choose)]
    notes += [*_about(met), *words.orientation_notes(seen)]
    if not rows and not notes:
        notes.append("no two raters answered a question that the truth answered")
    same = "only cases with a value from the truth and all these raters count, so that all sizes use the same cases"
    notes.append(definition(same))
    settings = {"raters": list(members)}
    return Table("Ensembles", _ENSEMBLES, tuple(rows), tuple(notes), settings, answer=_best_set(rows))


def _members(project: Project, choose: Options) -> tuple[str, ...]:
    """The raters whose sets are looked at: those named, else everyone on the truth's scale who is not made from others."""
    if choose.truth is None:
        raise UsageError("ensembles need a truth to compare with", next_step="Name the truth.")
    for stat in choose.stat:
        if stat not in (*CORRELATIONS, rater_pairs.ALL):
            cause = f"Correlations do: {', '.join(CORRELATIONS)}."
            raise UsageError(f"“{stat}” does not apply to means of raters", cause)
    if SYSTEM in choose.level:
        raise UsageError("ensembles have no level system", "Available: dataset, user, pair.")
    if choose.truth in choose.raters:
        raise UsageError(f"“{choose.truth}” cannot be both the truth and a member")
    if len(choose.raters) == 1:
        raise UsageError("an ensemble needs at least two raters")
    _bounded(len(choose.raters))
    raters = shapes.meet(project, choose.selection(), choose.truth).ratings.raters
    if scaled := ", ".join(name for name in choose.raters if raters[name].of_metrics):
        raise UsageError(f"{scaled}: a metric has its own scale and cannot be averaged with other raters")
    singles = (r.name for r in raters.values() if r.kind not in COMBINED and not r.of_metrics)
    return choose.raters or tuple(singles)


def _bounded(raters: int) -> None:
    if raters > MOST_RATERS:
        raise UsageError(
            f"{raters} raters have {2**raters - 1:,} subsets: too many to compute",
            f"Every further rater doubles them; {MOST_RATERS} have {2**MOST_RATERS - 1:,}.",
            f"Name at most {MOST_RATERS}.",
        )


def _subsets(both: shapes.Pairs, names: Sequence[str], choose: Options) -> Iterator[Row]:
    named = tuple(dict.fromkeys(choose.stat)) or ("pearson",)
    stats = CORRELATIONS if rater_pairs.ALL in choose.stat else named
    values = both.seen.both_sides(both.matrix)
    for level in choose.level:
        groups: IntArray | None = both.groups(level)
        if groups is not None and both.seen.mirrored:
            groups = np.concatenate([groups, groups])
        for stat in stats:
            if stat != "pearson" and (2 ** len(names) - 1) * both.n > _MOST_WORK:
                what = f"{stat} of {2 ** len(names) - 1:,} subsets over {both.n:,} cases"
                raise UsageError(f"{what} would take too long", "", "Use pearson, or name fewer raters.")
            for figures in subset_figures(stat, values[:-1], values[-1], groups):
                first, middle, third = figures.quartiles or (None, None, None)
                lacking = f"{figures.undefined} of {figures.subsets} sets undefined"
                best, worst = (" + ".join(names[at] for at in ends) for ends in (figures.best, figures.worst))
                yield {
                    "level": level, "stat": stat, "size": figures.size, "subsets": figures.subsets, "min": figures.low,
                    "q1": first, "median": middle, "q3": third, "mean": figures.mean, "max": figures.high, "best": best,
                    "worst": worst, "n": both.n, "note": lacking if figures.undefined else "",
                }  # fmt: skip


def _best_set(rows: Sequence[Row]) -> str:
    """The best set of the first aspect beside the best single rater."""
    known = [row for row in rows if isinstance(row["max"], float)]
    about = ("aspect", "protocol", "level", "stat")
    mine = [row for row in known if all(row[key] == known[0][key] for key in about)]
    if not mine:
        return ""
    best = max(mine, key=lambda row: (real(row, "max"), -whole(row, "size")))
    single = min(mine, key=lambda row: whole(row, "size"))
    alone = "" if best is single else f"; alone at best {single['best']} ({short(real(single, 'max'))})"
    return f"On {best['aspect']} the best set is {best['best']} ({_symbol(best)} {short(real(best, 'max'))}){alone}."
