"""The verdicts of two raters on the same cases, side by side, and the runs that gave them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from recjudge_tui.domain.occasions import NO_OCCASION, Occasion
from recjudge_tui.store.cases_ import of_several_occasions
from recjudge_tui.store.database import Database, explained


class Answered(NamedTuple):
    """The verdicts of one side: of a rater on a question, or of one of its runs."""

    rater_id: int
    protocol: str
    aspect: str
    run_id: int | None = None


class Cell(NamedTuple):
    """A cell of the grid of changes: a range of values of each side, bounds included."""

    low_a: float
    high_a: float
    low_b: float
    high_b: float


class ChangedCase(NamedTuple):
    """One case with both verdicts: values, labels (may be empty) and ids (None if the rater has a newer verdict).

    `several_occasions`: the user has more than one.
    """

    case_id: int
    user_id: str
    item_id: str
    system_a: str
    system_b: str
    value_a: float
    value_b: float
    label_a: str
    label_b: str
    verdict_a: int | None
    verdict_b: int | None
    occasion: Occasion = NO_OCCASION
    several_occasions: bool = False

    @property
    def labels(self) -> tuple[str, str]:
        """The two labels; a value replaces an empty label."""
        return self.label_a or f"{self.value_a:.3g}", self.label_b or f"{self.value_b:.3g}"

    @property
    def systems(self) -> str:
        return f"{self.system_a} vs {self.system_b}" if self.system_b else self.system_a


class RunConfiguration(NamedTuple):
    """A run with its judge and settings as stored, and its prompt as `NAME@VERSION`."""

    run_id: int
    prompt: str
    judge: dict[str, Any]
    settings: dict[str, Any]


# the verdicts of a run that the rater's newer verdicts may have replaced; replaced ones have no id
_OF_RUN = """(SELECT id, rater_id, case_id, aspect, protocol, value, label FROM verdicts WHERE run_id = :{run}
  UNION ALL SELECT NULL, rater_id, case_id, aspect, protocol, value, label FROM superseded_verdicts WHERE run_id = :{run})"""


class RunCases(NamedTuple):
    """A run and the ids of the cases that it judged; `started` is ISO 8601."""

    id: int
    rater: str
    started: str
    cases: tuple[int, ...]


def changed_cases(db: Database, first: Answered, second: Answered, ids: Sequence[int]) -> list[ChangedCase]:
    """These cases with the verdicts of both sides, in the order of ids."""
    tables = [
        "verdicts" if side.run_id is None else _OF_RUN.format(run=f"run_{name}")
        for name, side in (("a", first), ("b", second))
    ]
    # `rater_id > 0` is always true: it makes SQLite use the index of questions
    cursor = db.execute(
        f"""SELECT a.case_id, c.user_id, c.item_id, c.system_a, c.system_b, a.value, b.value, a.label, b.label, a.id, b.id,
              c.context, c.served_at, {of_several_occasions("c")}
            FROM {tables[0]} a JOIN cases c ON c.id = a.case_id
            JOIN {tables[1]} b ON b.rater_id = :rater_b AND b.case_id = a.case_id AND b.aspect = :aspect_b
              AND b.protocol = :protocol_b
            WHERE a.rater_id > 0 AND a.rater_id = :rater_a AND a.protocol = :protocol_a AND a.aspect = :aspect_a
              AND a.case_id IN (SELECT value FROM json_each(:ids))
            ORDER BY a.case_id""",
        {
            "rater_a": first.rater_id, "protocol_a": first.protocol, "aspect_a": first.aspect, "run_a": first.run_id,
            "rater_b": second.rater_id, "protocol_b": second.protocol, "aspect_b": second.aspect, "run_b": second.run_id,
            "ids": json.dumps(list(ids)),
        },
    )  # fmt: skip
    cursor.row_factory = None
    with explained(db.path):
        return [
            ChangedCase(*row[:11])._replace(occasion=Occasion(*row[11:13]), several_occasions=bool(row[13]))
            for row in cursor
        ]


def run_configurations(
    db: Database, rater_id: int, protocol: str, run_id: int | None = None
) -> list[RunConfiguration]:
    """The rater's runs of a protocol with verdicts, oldest first; with `run_id`, that run only."""
    rows = db.rows(
        """SELECT ru.id, p.name || '@' || p.version AS prompt, ru.judge, ru.settings
           FROM runs ru JOIN prompts p ON p.id = ru.prompt_id
           WHERE ru.rater_id = ?1 AND ru.protocol = ?2 AND (?3 IS NULL OR ru.id = ?3)
             AND (EXISTS (SELECT 1 FROM verdicts v WHERE v.run_id = ru.id)
               OR EXISTS (SELECT 1 FROM superseded_verdicts v WHERE v.run_id = ru.id))
           ORDER BY ru.id""",
        (rater_id, protocol, run_id),
    )
    return [
        RunConfiguration(row["id"], row["prompt"], json.loads(row["judge"]), json.loads(row["settings"]))
        for row in rows
    ]


def cases_by_run(db: Database, project_id: int, protocol: str, aspect: str) -> list[RunCases]:
    """The runs of a protocol by start time, with their cases for one aspect.

    Runs that judged only other aspects or never started are left out.
    """
    rows = db.rows(
        """SELECT ru.id, r.name, ifnull(ru.started_at, ru.created_at) AS started,
             (SELECT json_group_array(v.case_id) FROM (
                SELECT case_id FROM verdicts WHERE run_id = ru.id AND aspect = ?2
                UNION ALL SELECT case_id FROM superseded_verdicts WHERE run_id = ru.id AND aspect = ?2) v) AS cases,
             ru.started_at IS NULL OR EXISTS (SELECT 1 FROM verdicts v WHERE v.run_id = ru.id)
               OR EXISTS (SELECT 1 FROM superseded_verdicts v WHERE v.run_id = ru.id) AS elsewhere
           FROM runs ru JOIN raters r ON r.id = ru.rater_id
           WHERE ru.project_id = ?1 AND ru.protocol = ?3
           ORDER BY started, ru.id""",
        (project_id, aspect, protocol),
    )
    runs = [RunCases(row[0], row[1], row[2], tuple(json.loads(row["cases"]))) for row in rows]
    return [run for run, row in zip(runs, rows, strict=True) if run.cases or not row["elsewhere"]]
