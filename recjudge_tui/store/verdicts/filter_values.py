"""Suggestions for the values of a filter: the names and words that occur in a project.

Read through indexes and from samples, so that a million verdicts cost no more than a thousand. Rare values may be
missing and must then be typed.
"""

from __future__ import annotations

from collections.abc import Iterable

from recjudge_tui.domain.filters import ALL_PEOPLE
from recjudge_tui.domain.text import one_line
from recjudge_tui.store.database import Database

MOST = 200
_LONGEST = 60
_LABELS = """
WITH RECURSIVE found(label) AS (
  SELECT * FROM (SELECT label FROM verdicts WHERE project_id = :p AND (label = '') = 0
    ORDER BY label COLLATE NOCASE LIMIT 1)
  UNION ALL
  SELECT (SELECT v.label FROM verdicts v WHERE v.project_id = :p AND (v.label = '') = 0
      AND v.label COLLATE NOCASE > found.label COLLATE NOCASE ORDER BY v.label COLLATE NOCASE LIMIT 1)
  FROM found WHERE found.label IS NOT NULL
  LIMIT :most + 1
)
SELECT label FROM found WHERE label IS NOT NULL"""
# a rater rarely changes protocol and aspects, so its first verdicts show them
_QUESTIONS = """
SELECT DISTINCT s.{column} FROM raters r, verdicts s
WHERE r.project_id = :p AND s.id IN (SELECT v.id FROM verdicts v WHERE v.rater_id = r.id LIMIT 60)
ORDER BY 1 LIMIT :most"""
_SYSTEMS = """
SELECT system FROM (
  SELECT system_a AS system FROM (SELECT system_a FROM cases WHERE project_id = :p AND kind = 'list' LIMIT 4000)
  UNION SELECT system_a FROM (SELECT system_a FROM cases WHERE project_id = :p AND kind = 'pair' LIMIT 4000)
  UNION SELECT system_b FROM (SELECT system_b FROM cases WHERE project_id = :p AND kind = 'pair' LIMIT 4000)
  UNION SELECT system_a FROM (SELECT system_a FROM cases WHERE project_id = :p AND kind = 'explanation' LIMIT 4000)
) WHERE system <> '' ORDER BY system LIMIT :most"""
_CONTEXTS = """
SELECT DISTINCT context FROM (SELECT context FROM cases WHERE project_id = :p LIMIT 4000) ORDER BY context LIMIT :most"""
_DAYS = """
SELECT DISTINCT substr(served_at, 1, 10) FROM (
  SELECT served_at FROM cases WHERE project_id = :p AND served_at <> '' LIMIT 4000
) ORDER BY 1 LIMIT :most"""
_ISSUES = """
SELECT json_extract(i.value, '$.name') AS issue FROM prompts pr, json_each(pr.content, '$.issues') i
WHERE pr.id IN (SELECT prompt_id FROM runs WHERE project_id = :p)
UNION SELECT f.issue FROM (
    SELECT id, run_id, case_id FROM verdicts WHERE project_id = :p AND flag_count > 0 ORDER BY id DESC LIMIT 1000
  ) v LEFT JOIN calls k ON k.run_id = v.run_id AND k.case_id = v.case_id
  JOIN flags f ON f.call_id = k.id OR f.verdict_id = v.id
ORDER BY 1 LIMIT :most"""
_TAGS = """
SELECT DISTINCT text FROM (
  SELECT text FROM triage_log WHERE project_id = :p AND action = 'tag' ORDER BY id DESC LIMIT 4000
) ORDER BY text COLLATE NOCASE LIMIT :most"""
_RATERS = "SELECT name FROM raters WHERE project_id = :p ORDER BY name COLLATE NOCASE LIMIT :most"
_RUNS = "SELECT id FROM runs WHERE project_id = :p ORDER BY id DESC LIMIT 50"


def filter_values(db: Database, project_id: int) -> dict[str, tuple[str, ...]]:
    """filter key -> at most MOST values that can be typed on one line; without keys that have no suggestions."""

    def read(sql: str) -> tuple[str, ...]:
        return _typable(row[0] for row in db.rows(sql, {"p": project_id, "most": MOST}))

    raters, days, systems = read(_RATERS), read(_DAYS), read(_SYSTEMS)
    return {
        "flag": ("any", *read(_ISSUES)),
        "judge": raters,
        "disagree": (ALL_PEOPLE, *raters),
        "label": read(_LABELS),
        "aspect": read(_QUESTIONS.format(column="aspect")),
        "protocol": read(_QUESTIONS.format(column="protocol")),
        "system": systems,
        "won": systems,
        "tied": systems,
        "lost": systems,
        "context": read(_CONTEXTS),
        "from": days,
        "to": days,
        "tag": read(_TAGS),
        "run": read(_RUNS),
    }


def _typable(values: Iterable[object]) -> tuple[str, ...]:
    texts = (str(value) for value in values if value is not None)
    return tuple(text for text in texts if text and '"' not in text and one_line(text, _LONGEST) == text)
