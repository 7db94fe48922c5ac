"""The changes between two raters as tables: a summary with a test, the transitions, and the cases."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from recjudge_tui.domain.protocols import compares_lists, protocol_facts
from recjudge_tui.reports.common.estimate_cells import interval_columns
from recjudge_tui.reports.common.pairing import Pair
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.compare.changes import Changes, Part
from recjudge_tui.reports.compare.tests import SIGN_OVER_USERS, fitting_test
from recjudge_tui.stats.hypotheses import holm
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.changes import Cell, ChangedCase, changed_cases

_WHO = (
    Column("rater_a", "From"),
    Column("rater_b", "To"),
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect"),
)
_SYSTEM = Column("system", "System")
_SUMMARY = (
    Column("n", "n", "int"),
    Column("changed", "Changed", "int"),
    Column("share", "Share", "share"),
    Column("up", "Up", "int"),
    Column("down", "Down", "int"),
    Column("users_up", "Users up", "int", minor=True),
    Column("users_down", "Users down", "int", minor=True),
    Column("up_is", "Up is"),
    Column("down_is", "Down is"),
    Column("test", "Test"),
    Column("statistic", "Statistic", "float", minor=True),
    Column("df", "df", "int", minor=True),
    Column("p", "P", "float", decimals=4),
    Column("p_holm", "P (Holm)", "float", minor=True, decimals=4),
    Column("p_symmetry", "P (symmetry)", "float", minor=True, decimals=4),
    Column("p_symmetry_holm", "P (symmetry, Holm)", "float", minor=True, decimals=4),
    Column("mean_a", "Mean from", "float", minor=True),
    Column("mean_b", "Mean to", "float", minor=True),
    Column("difference", "Difference", "float"),
    *interval_columns(),
    Column("only_a", "Only from", "int"),
    Column("only_b", "Only to", "int"),
    Column("failed", "Failed", "int"),
    Column("note", "Note"),
)
_TRANSITIONS = (
    Column("from", "Said"),
    Column("to", "Now says"),
    Column("direction", "Direction"),
    Column("count", "Count", "int"),
    Column("share", "Share", "share"),
    Column("n", "n", "int"),
    Column("value_from", "Value said", "float", minor=True),
    Column("value_to", "Value now", "float", minor=True),
)
_CASES = (
    Column("case_id", "Case"),
    Column("user", "User"),
    Column("context", "Context"),
    Column("served_at", "Served", "time"),
    Column("item", "Item", minor=True),
    Column("systems", "Systems"),
    Column("from", "Said"),
    Column("to", "Now says"),
    Column("direction", "Direction"),
    Column("value_from", "Value said", "float", minor=True),
    Column("value_to", "Value now", "float", minor=True),
    Column("verdict_a", "Verdict", minor=True),
    Column("verdict_b", "Verdict now", minor=True),
)


def direction_words(protocol: str) -> tuple[str, str]:
    """The meaning of a rise and a fall of the value: `milder` and `harsher`, `towards A` and `towards B`."""
    if compares_lists(protocol):
        return "towards A", "towards B"
    return protocol_facts(protocol).directions


def summary_table(changes: Changes) -> Table:
    """One row per question (and system): how many changed and in which direction, a test, and the means.

    `test` is McNemar's exact test if all changes are between two labels, Stuart and Maxwell's (with Bowker's test of
    symmetry) if they are between more, and the exact sign test on scores without labels. Where users have several
    cases, it is the exact sign test over users, each counted once. `difference` is the mean of `to` minus the mean of
    `from` with an interval over users; `p_holm` and `p_symmetry_holm` adjust for the rows of the table.
    """
    rows = [_summary(changes, part) for part in changes.parts]
    adjusted, symmetric = (
        holm([p if isinstance(p := row[name], float) else None for row in rows])
        for name in ("p", "p_symmetry")
    )
    notes = list(changes.notes)
    if changes.differences:
        notes.append(f"the runs differ in {'; '.join(changes.differences)}")
    if any(row["test"] == SIGN_OVER_USERS for row in rows):
        notes.append(
            f"{SIGN_OVER_USERS}: some users have several cases, so each user counts once, as up with more cases up than"
            " down, and the symmetry of changes is not tested"
        )
    filled = tuple(
        row | {"p_holm": p, "p_symmetry_holm": symmetry}
        for row, p, symmetry in zip(rows, adjusted, symmetric, strict=True)
    )
    return _table("Changes", _SUMMARY, filled, changes, tuple(notes))


def _summary(changes: Changes, part: Part) -> Row:
    tally = part.tally
    test = fitting_test(tally, part.note)
    up, down = direction_words(part.pair.protocol)
    comparable = not part.note
    directed = comparable and tally.directed
    return _who(changes, part.pair, part.system) | {
        "n": tally.n,
        "changed": tally.changed if comparable else None,
        "share": tally.changed / tally.n if comparable and tally.n else None,
        "up": tally.up if directed else None,
        "down": tally.down if directed else None,
        "users_up": tally.users_up if directed else None,
        "users_down": tally.users_down if directed else None,
        "up_is": up if directed else None,
        "down_is": down if directed else None,
        "test": test.name,
        "statistic": test.statistic,
        "df": test.df,
        "p": test.p,
        "p_symmetry": test.p_symmetry,
        "mean_a": tally.means.earlier if directed else None,
        "mean_b": tally.means.later if directed else None,
        "difference": tally.means.change.value if directed else None,
        "ci_low": tally.means.change.ci_low if directed else None,
        "ci_high": tally.means.change.ci_high if directed else None,
        "only_a": tally.only_a,
        "only_b": tally.only_b,
        "failed": tally.failed,
        "note": test.note,
    }


def transitions_table(changes: Changes) -> Table:
    """One row per cell of the grid, including empty ones: the first verdict, the second verdict, and the count.

    The values are those of the labels; of a band of scores, its lower end. Pairs of several systems without a common
    one are counted from either side, so twice; `n` counts them once.
    """
    rows = tuple(row for part in changes.parts for row in _transitions(changes, part))
    notes = [f"{p.pair.protocol}, {p.pair.aspect}: {p.note}" for p in changes.parts if p.note]
    return _table("Transitions", _TRANSITIONS, rows, changes, (*notes, *changes.notes))


def _transitions(changes: Changes, part: Part) -> list[Row]:
    up, down = direction_words(part.pair.protocol)
    n, total = part.tally.n, int(part.tally.counts.sum())
    return [
        _who(changes, part.pair, part.system)
        | {
            "from": a.name,
            "to": b.name,
            "direction": "" if at_a == at_b or not part.tally.ordered else up if at_b < at_a else down,
            "count": int(part.tally.counts[at_a, at_b]),
            "share": int(part.tally.counts[at_a, at_b]) / total if total else None,
            "n": n,
            "value_from": a.low,
            "value_to": b.low,
        }
        for at_a, a in enumerate(part.levels)
        for at_b, b in enumerate(part.levels)
    ]


def cases_table(db: Database, changes: Changes, cell: Cell | None = None, limit: int | None = None) -> Table:
    """One row per changed case, by question and case; with a cell, the cases in it. `limit` is per question."""
    rows: list[Row] = []
    for pair, of_pair in groupby(changes.parts, key=lambda part: part.pair):
        same = list(of_pair)
        if any(part.levels for part in same):
            who = _who(changes, pair)
            cases = changed_cases(db, changes.compared(pair), cell, limit=limit)
            rows += [who | _case(pair, case, ordered=same[0].tally.ordered) for case in cases]
    plain = replace(changes, options=replace(changes.options, by_system=False))
    return _table("Changed cases", _CASES, tuple(rows), plain, changes.notes)


def _case(pair: Pair, case: ChangedCase, *, ordered: bool) -> Row:
    before, now = case.labels
    return {
        "case_id": str(case.case_id),
        "user": case.user_id,
        "context": case.occasion.context,
        "served_at": case.occasion.served_at,
        "item": case.item_id,
        "systems": case.systems,
        "from": before,
        "to": now,
        "direction": direction_of(pair.protocol, case) if ordered else "",
        "value_from": case.value_a,
        "value_to": case.value_b,
        "verdict_a": None if case.verdict_a is None else str(case.verdict_a),
        "verdict_b": None if case.verdict_b is None else str(case.verdict_b),
    }


def direction_of(protocol: str, case: ChangedCase) -> str:
    up, down = direction_words(protocol)
    if compares_lists(protocol):
        up, down = f"towards {case.system_a}", f"towards {case.system_b}"
    return "" if case.value_a == case.value_b else up if case.value_b > case.value_a else down


def _who(changes: Changes, pair: Pair, system: str = "") -> Row:
    row: Row = {
        "rater_a": changes.first.name,
        "rater_b": changes.second.name,
        "protocol": pair.protocol,
        "aspect": pair.aspect,
    }
    return row | {"system": system} if system else row


def _table(
    title: str, columns: tuple[Column, ...], rows: tuple[Row, ...], changes: Changes, notes: tuple[str, ...]
) -> Table:  # fmt: skip
    options = changes.options
    system = (_SYSTEM,) if options.by_system else ()
    settings = {
        "rater_a": changes.first.name,
        "rater_b": changes.second.name,
        "prompt_a": changes.prompt.first,
        "prompt_b": changes.prompt.second,
        "protocol": options.protocol,
        "aspect": options.aspect,
    }
    return Table(f"{title}: {changes.first.name} to {changes.second.name}", (*_WHO, *system, *columns), rows, notes,
                 settings)  # fmt: skip
