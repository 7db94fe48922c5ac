"""A judge's passport: one page about one judge and its prompts."""

from __future__ import annotations

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.biases import FORMULA
from recjudge_tui.reports.common.page import Page
from recjudge_tui.reports.common.scales import is_judging, origin_notes, rater_notes
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.documents.passport_parts import (
    PassportSource,
    adversarial_rows,
    agreement_rows,
    confidence_rows,
    consistency_rows,
    failure_rows,
    identity_rows,
    judged_protocols,
    position_rows,
    preference_rows,
    price_rows,
    strictness_rows,
)
from recjudge_tui.reports.documents.passport_rows import COLUMNS, Commands, sections
from recjudge_tui.stats.defaults import level_text
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects.projects import project_names
from recjudge_tui.store.raters.raters import rater_row
from recjudge_tui.store.runs.call_statistics import rater_runs
from recjudge_tui.store.verdicts.ratings import project_questions, project_raters

_PARTS = (
    identity_rows,
    agreement_rows,
    strictness_rows,
    position_rows,
    adversarial_rows,
    consistency_rows,
    confidence_rows,
    failure_rows,
    preference_rows,
    price_rows,
)
_INTERVALS = f"intervals are {level_text()}, over users; a figure that was not measured names the command that measures it"


def passport_table(db: Database, project_id: int, rater: str) -> Table:
    """One row per figure: the judge's identity, agreement with people, position, adversarial pairs, self-consistency,
    confidence, failures by reason, preferences, price and latency.

    `unit` says what a value is: share, usd, seconds, text (then it is in `text`), or nothing. A figure that was not
    measured is None, and its note names the command that would measure it. Raises NotFoundError for an unknown rater,
    UsageError for one without runs: a person, a consensus, a metric.
    """
    row = rater_row(db, project_id, rater)
    runs = rater_runs(db, row["id"])
    raters = project_raters(db, project_id)
    if not runs:
        judges = [name for name, rater_of in raters.items() if is_judging(rater_of)]
        raise UsageError(
            f"“{rater}” has no passport because it has no runs",
            f"It is of the kind {row['kind']}.",
            f"Judges: {', '.join(judges) or 'none yet'}.",
        )
    judge = JudgeSpec.model_validate_json(runs[-1].judge)
    commands = Commands(dict(project_names(db))[project_id], rater, judge)
    protocols = judged_protocols(db, project_id, rater)
    holder = PassportSource(db, project_id, raters[rater], runs, protocols, commands)
    rows: list[Row] = [row for part in _PARTS for row in part(holder)]
    questions = [question for question in project_questions(db, project_id) if question.rater == rater]
    compared = {rater, *(str(row.get("against")) for row in rows)}
    notes = [
        *rater_notes(raters[name] for name in compared if name in raters),
        *origin_notes(db, project_id, questions),
        _INTERVALS,
        FORMULA,
    ]
    settings = {"rater": rater, "judge": judge.spec}
    return Table(f"Passport of {rater}", COLUMNS, tuple(rows), tuple(notes), settings)


def passport_page(table: Table) -> Page:
    """A passport as people read it: a table for each part."""
    return Page(table.title, table.notes, sections(table), table.settings)
