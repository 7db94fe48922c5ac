"""Filters of verdicts as SQL: their conditions, and the names and values to complete them with."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from recjudge_tui.domain.filters import ALL_PEOPLE, COMPARED, OCCASIONS, Term, VerdictFilter, term_occasions
from recjudge_tui.domain.occasions import OccasionFilter
from recjudge_tui.domain.protocols import PROTOCOLS, THEMES
from recjudge_tui.domain.roles import PEOPLE, WITHOUT_OPINION
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.store.cases import check_contexts, occasion_condition
from recjudge_tui.store.data import check_systems, known_systems
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import about_systems, apart, same_question, sql_list, with_unit_in
from recjudge_tui.store.raters import rater_names

Parameters = dict[str, Any]
OF_PROJECT = "v.project_id = :project"
# the same condition without its index, for queries in which another index is faster or gives the order
ALSO_OF_PROJECT = "+v.project_id = :project"
# filter terms for cases that test a judge; without such a term, only verdicts about systems count
EXACT = {"protocol", "run", "case"}
_OF_ATTENTION = {"flag", "why"}
_NARROW = {"case", "run", "tag", "text", "theme", "user"}
_METRICS = "(SELECT id FROM raters WHERE project_id = :project AND kind = 'metric')"
# ALL_PEOPLE means all people, their consensus included, unless a rater has this name
_NAMED = f"""(name = :value COLLATE NOCASE OR (NOT EXISTS (
    SELECT 1 FROM raters WHERE project_id = :project AND name = :value COLLATE NOCASE)
  AND CASE WHEN lower(:value) = '{ALL_PEOPLE}' THEN kind IN {sql_list(PEOPLE)}
    ELSE instr(lower(name), lower(:value)) END))"""
# A project has few labels, so they are looked up one by one in their index instead of scanning it.
_KNOWN_LABELS = """WITH RECURSIVE known(label) AS (
    SELECT min(label COLLATE NOCASE) FROM verdicts
    WHERE project_id = :project AND (label = '') = 0
    UNION ALL
    SELECT (SELECT min(label COLLATE NOCASE) FROM verdicts
      WHERE project_id = :project AND (label = '') = 0 AND label COLLATE NOCASE > known.label)
    FROM known WHERE known.label IS NOT NULL{limit})
  SELECT label FROM known WHERE label"""
# a label or its beginning: “poor” matches “Poor Match”
WITH_LABEL = f"""(v.label = '') = 0 AND v.label COLLATE NOCASE IN (
  {_KNOWN_LABELS.format(limit="")} = :value COLLATE NOCASE
    OR substr(label, 1, length(:value) + 1) = :value || ' ' COLLATE NOCASE)"""
# the verdicts that a reader decided on; NULL if the verdict was deleted
DECIDED = """SELECT verdict_id FROM v_triage WHERE project_id = :project AND standing
  AND action IN ('accept', 'dismiss', 'override')"""
_WHY = {"swap": "v.order_consistent = 0", "flag": "v.flag_count > 0", "failed": "v.state = 'failed'"}
_TRIAGED = {
    "yes": f"v.id IN ({DECIDED})",
    "no": f"v.id NOT IN ({DECIDED} AND verdict_id IS NOT NULL)",
    "accepted": f"v.id IN ({DECIDED} AND decides AND action = 'accept')",
    "dismissed": f"v.id IN ({DECIDED} AND decides AND action = 'dismiss')",
    "overridden": f"v.id IN ({DECIDED} AND decides AND action = 'override')",
}


def conditions(project_id: int, chosen: VerdictFilter, *, by_case: bool = False) -> tuple[str, Parameters]:
    """A WHERE clause over `verdicts v` and its parameters; `by_case` if the result is sorted by case. Raises UsageError
    for a term about the queue, which is no condition on a single verdict: `queue` reads it."""
    if chosen.queue():
        raise UsageError("“queue:” cannot be used here", next_step="Leave it out of the filter.")
    grouped: dict[str, list[Term]] = defaultdict(list)
    for term in chosen.terms:
        grouped[term.key].append(term)
    parameters: Parameters = {"project": project_id}
    narrow = by_case or any(term.key in _NARROW for term in chosen.terms)
    clauses = [ALSO_OF_PROJECT if narrow else OF_PROJECT]
    if grouped.keys() & _OF_ATTENTION and not grouped.keys() & EXACT:
        clauses.append(about_systems("v.protocol"))
    for key, terms in grouped.items():
        parts = []
        for number, term in enumerate(terms):
            sql, values = _condition(term, f"{key}{number}")
            parameters |= values
            parts.append(f"({sql})")
        clauses.append("(" + (" AND " if key in ("text", *COMPARED) else " OR ").join(parts) + ")")
    return " AND ".join(clauses), parameters


def word_query(chosen: VerdictFilter) -> tuple[str, VerdictFilter] | None:
    """The filter's words as one full-text query, and the filter without them; None without words."""
    searches = [term for term in chosen.terms if term.key == "text" and is_words(term.value)]
    rest = VerdictFilter(tuple(term for term in chosen.terms if term not in searches))
    return (" AND ".join(words(term.value) for term in searches), rest) if searches else None


def words(text: str) -> str:
    """A phrase for FTS5; the last word is a prefix."""
    return '"' + text.replace('"', '""').replace("\0", " ") + '" *'


def is_words(text: str) -> bool:
    """Whether full-text search can find the text: words with spaces, not Chinese, Japanese or Thai."""
    return any(sign.isalnum() for sign in text) and not any(
        unicodedata.east_asian_width(sign) in "WFH" or "\u0e00" <= sign <= "\u0eff" or "\u1000" <= sign <= "\u109f"
        or "\u1780" <= sign <= "\u17ff" for sign in text
    )  # fmt: skip


def _on_the_question() -> str:
    """SQL for the verdicts `o` of raters `q` that answer the question of `v`."""
    return f"""verdicts o JOIN raters q ON q.id = o.rater_id
  WHERE o.case_id = v.case_id AND o.aspect = v.aspect AND o.state = 'ok' AND {same_question()}"""


def _disagree_with() -> str:
    """SQL for a disagreement. A metric has no aspects: it disagrees with everyone who prefers the other list."""
    return f"""v.state = 'ok' AND EXISTS (SELECT 1 FROM verdicts o
  WHERE o.case_id = v.case_id AND o.rater_id <> v.rater_id AND o.state = 'ok' AND {same_question()}
    AND o.rater_id IN (SELECT id FROM raters WHERE project_id = :project AND {_NAMED})
    AND CASE WHEN o.rater_id IN {_METRICS} OR v.rater_id IN {_METRICS}
      THEN {with_unit_in("v.protocol", "pair")} AND o.value * v.value < 0
      ELSE o.aspect = v.aspect AND {apart()} END)"""


def _compared(key: str) -> str:
    """SQL for the number that a comparison refers to; NULL if no one else judged the question. Without metrics: they range
    from 0 to 1."""
    if key == "conf":
        # the index is ordered by the first half
        return "(v.confidence IS NULL) = 0 AND v.confidence"
    if key == "spread":
        return f"""(SELECT max(o.value) - min(o.value) FROM {_on_the_question()}
      AND q.kind NOT IN {sql_list(WITHOUT_OPINION)} HAVING count(*) > 1)"""
    return f"""(SELECT max(abs(o.value - v.value)) FROM {_on_the_question()}
      AND o.rater_id <> v.rater_id AND q.kind = 'ground_truth'
      AND ({with_unit_in("v.protocol", "pair")} OR v.rater_id NOT IN {_METRICS}))"""


def _condition(term: Term, name: str) -> tuple[str, Parameters]:
    """One term as a condition on `verdicts v`; `name` is part of its parameters' names."""
    value, place = term.value, f":{name}"
    if term.key in COMPARED:
        return f"{_compared(term.key)} {term.op} {place}", {name: float(value)}
    if term.key in ("case", "run"):
        return f"v.{term.key}_id = {place}", {name: int(value)}
    if term.key in OCCASIONS:
        sql, values = occasion_condition(term_occasions(term), "c", name=name)
        return f"EXISTS (SELECT 1 FROM cases c WHERE c.id = v.case_id AND {sql})", values
    if term.key in ("state", "protocol", "aspect"):
        return f"v.{term.key} = {place} COLLATE NOCASE", {name: value}
    if (term.key, value) == ("why", "disagree"):
        return (
            f"""v.state = 'ok' AND EXISTS (SELECT 1 FROM {_on_the_question()}
  AND o.rater_id <> v.rater_id AND q.kind NOT IN {sql_list(WITHOUT_OPINION)} AND {apart()})""",
            {},
        )
    if term.key in ("why", "triaged"):
        return (_WHY if term.key == "why" else _TRIAGED)[value], {}
    if term.key == "flag" and value.lower() == "any":
        return "v.flag_count > 0", {}
    if term.key == "text":
        return _text(value, name)
    if term.op == "=":
        return _WHOLE[term.key].replace(":value", place), {name: value}
    if term.key in _SEARCHED:
        return _SEARCHED[term.key].replace(":value", place), {name: _like(value)}
    return _EXACT[term.key]().replace(":value", place), {name: value}


def _text(value: str, name: str) -> tuple[str, Parameters]:
    parts = [_IN_NOTES, _IN_DATA, _IN_REASONING if is_words(value) else _WITHIN_REASONING]
    sql = " UNION ".join(parts).replace(":value", f":{name}").replace(":words", f":{name}words")
    values = {name: _like(value)}
    return f"v.id IN ({sql})", values | ({f"{name}words": words(value)} if is_words(value) else {})


def _like(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def _has(column: str) -> str:
    return f"{column} LIKE :value ESCAPE '\\'"


_ITEMS = f"SELECT item_id FROM items WHERE project_id = :project AND {_has('title')}"
_SLATES = f"""SELECT si.slate_id FROM slates s JOIN slate_items si ON si.slate_id = s.id
  WHERE s.project_id = :project AND (si.item_id IN ({_ITEMS}) OR {_has("si.item_id")})"""
_EXPLANATIONS = f"SELECT id FROM explanations WHERE project_id = :project AND {_has('text')}"
_SYSTEMS = f"({_has('system_a')} OR {_has('system_b')})"

_IN_NOTES = f"""SELECT id FROM verdicts WHERE project_id = :project AND note <> '' AND {_has("note")}
  UNION SELECT verdict_id FROM v_triage WHERE project_id = :project AND standing AND action = 'note' AND {_has("text")}"""
_IN_DATA = f"""SELECT id FROM verdicts WHERE case_id IN (SELECT id FROM cases WHERE project_id = :project AND (
    {_has("user_id")} OR {_has("item_id")} OR item_id IN ({_ITEMS})
    OR slate_a IN ({_SLATES}) OR slate_b IN ({_SLATES}) OR explanation_id IN ({_EXPLANATIONS})))"""
_OF_ANSWERS = """JOIN calls k ON k.id = a.call_id JOIN runs ru ON ru.id = k.run_id AND ru.project_id = :project
  JOIN verdicts w ON w.rater_id = ru.rater_id AND w.case_id = k.case_id AND w.aspect = a.aspect AND w.run_id = ru.id"""
_IN_REASONING = f"""SELECT w.id FROM reasoning_search s CROSS JOIN answers a ON a.id = s.rowid {_OF_ANSWERS}
  WHERE s.reasoning_search MATCH :words"""
_WITHIN_REASONING = f"SELECT w.id FROM answers a {_OF_ANSWERS} WHERE {_has('a.reasoning')}"
# The first hits of the search are in the order of answers, which is nearly the order of verdicts.
FIRST_IN_REASONING = f"""SELECT w.id FROM (
    SELECT rowid AS id FROM reasoning_search WHERE reasoning_search MATCH :first LIMIT :most) s
  CROSS JOIN answers a ON a.id = s.id {_OF_ANSWERS}"""

_OF_THEMES = f"""FROM runs ru JOIN calls k ON k.run_id = ru.id JOIN answers a ON a.call_id = k.id AND a.value <> 0
      WHERE ru.project_id = :project AND ru.protocol = '{THEMES}'"""
_THEME = f"v.case_id IN (SELECT k.case_id {_OF_THEMES} AND {{}})"
# Subqueries without reference to v are run once, not for every verdict.
_SEARCHED = {
    "judge": f"v.rater_id IN (SELECT id FROM raters WHERE project_id = :project AND {_has('name')})",
    # nearly every case matches a system: testing each costs less than a list of all
    "system": f"EXISTS (SELECT 1 FROM cases c WHERE c.id = v.case_id AND {_SYSTEMS})",
    "flag": f"""v.flag_count > 0 AND (
      EXISTS (SELECT 1 FROM flags f WHERE f.verdict_id = v.id AND {_has("f.issue")})
      OR EXISTS (SELECT 1 FROM calls k JOIN flags f ON f.call_id = k.id
        WHERE k.run_id = v.run_id AND k.case_id = v.case_id AND {_has("f.issue")}))""",
    "tag": f"""v.id IN (SELECT verdict_id FROM v_triage
      WHERE project_id = :project AND standing AND action = 'tag' AND {_has("text")})""",
    "theme": _THEME.format(_has("a.aspect")),
}


def _outcome(of_a: str, of_b: str) -> str:
    """Verdicts on pairs with a value that fits the system's side of the pair."""
    return f"""EXISTS (SELECT 1 FROM cases c WHERE c.id = v.case_id AND c.kind = 'pair'
      AND (c.system_a = :value AND v.value {of_a} 0 OR c.system_b = :value AND v.value {of_b} 0))"""


_WHOLE = {
    "judge": "v.rater_id IN (SELECT id FROM raters WHERE project_id = :project AND name = :value)",
    "system": "EXISTS (SELECT 1 FROM cases c WHERE c.id = v.case_id AND :value IN (c.system_a, c.system_b))",
    "tag": """v.id IN (SELECT verdict_id FROM v_triage
      WHERE project_id = :project AND standing AND action = 'tag' AND text = :value)""",
    "theme": _THEME.format("a.aspect = :value"),
}
# made when they are used: protocols may be registered later
_EXACT: dict[str, Callable[[], str]] = {
    "disagree": _disagree_with,
    "label": lambda: WITH_LABEL,
    "won": lambda: _outcome(">", "<"),
    "tied": lambda: _outcome("=", "="),
    "lost": lambda: _outcome("<", ">"),
    "user": lambda: (
        """v.case_id IN (SELECT id FROM cases WHERE project_id = :project
      AND kind IN ('list', 'pair', 'explanation') AND user_id = :value)"""
    ),
}


# ---- filter names ------------------------------------------------------------------------------------------------


_OUTCOMES = ("won", "tied", "lost")
_STORED = {
    "aspect": "SELECT 1 FROM verdicts WHERE project_id = :project AND aspect = :value COLLATE NOCASE",
    "case": "SELECT 1 FROM cases WHERE project_id = :project AND id = :value",
    "label": f"SELECT 1 FROM verdicts v WHERE project_id = :project AND {WITH_LABEL}",
    "run": "SELECT 1 FROM runs WHERE project_id = :project AND id = :value",
    "user": "SELECT 1 FROM cases WHERE project_id = :project AND user_id = :value",
}
# labels of the protocols, which no verdict needs to have
_USUAL_LABELS = {label.casefold() for facts in PROTOCOLS.values() for label in facts.labels.values()}


def check_filter_names(db: Database, project_id: int, chosen: VerdictFilter) -> None:
    """Raises NotFoundError for what the project does not have: a context, system, rater, aspect, label, user, case or run,
    or an unknown protocol; it names those that there are. After `system:`, `judge:`, `disagree:` any part will do."""

    def named(*keys: str, op: str = ":") -> list[str]:
        return [term.value for term in chosen.terms if term.key in keys and term.op == op]

    step = "Change that part of the filter, or leave it out."
    check_contexts(db, project_id, OccasionFilter(tuple(named("context"))), step)
    check_systems(db, project_id, named(*_OUTCOMES), step)
    if parts := named("system"):
        _check("system", parts, known_systems(db, project_id), step)
    check_systems(db, project_id, named("system", op="="), step)
    if whole := named("judge", op="="):
        _check("rater", whole, rater_names(db, project_id), step, str.__eq__)
    if parts := [*named("judge"), *(part for part in named("disagree") if part.casefold() != ALL_PEOPLE)]:
        _check("rater", parts, rater_names(db, project_id), step)
    _check("protocol", named("protocol"), PROTOCOLS, step, lambda part, name: part.casefold() == name)
    for key, sql in _STORED.items():
        for value in named(key):
            stored = db.row(f"{sql} LIMIT 1", {"project": project_id, "value": value})
            first_words = f"{value.casefold()} "
            usual = key == "label" and any(f"{label} ".startswith(first_words) for label in _USUAL_LABELS)
            if stored is None and not usual:
                raise _missing(key, value, filter_values(db, project_id).get(key, ()), step)


def _check(
    kind: str,
    wanted: Iterable[str],
    names: Iterable[str],
    step: str,
    matches: Callable[[str, str], bool] = lambda part, name: part.casefold() in name.casefold(),
) -> None:
    known = sorted(names)
    for part in wanted:
        if not any(matches(part, name) for name in known):
            raise _missing(kind, part, known or ("none",), step)


def _missing(kind: str, value: str, known: Iterable[str], step: str) -> NotFoundError:
    names = ", ".join(one_line(name, 60) for name in known)
    return NotFoundError(
        f"no {kind} “{one_line(value, 60)}” in this project", f"Available: {names}." if names else "", step
    )


# ---- filter values -----------------------------------------------------------------------------------------------


MOST = 200
_LONGEST = 60
_LABELS = f"{_KNOWN_LABELS.format(limit=' LIMIT :most + 1')} IS NOT NULL"
# a rater rarely changes protocol and aspects, so its first verdicts show them
_QUESTIONS = """
SELECT DISTINCT s.{column} FROM raters r, verdicts s
WHERE r.project_id = :project AND s.id IN (SELECT v.id FROM verdicts v WHERE v.rater_id = r.id LIMIT 60)
ORDER BY 1 LIMIT :most"""
_USED_SYSTEMS = """
SELECT system FROM (
  SELECT system_a AS system FROM (SELECT system_a FROM cases WHERE project_id = :project AND kind = 'list' LIMIT 4000)
  UNION SELECT system_a FROM (SELECT system_a FROM cases WHERE project_id = :project AND kind = 'pair' LIMIT 4000)
  UNION SELECT system_b FROM (SELECT system_b FROM cases WHERE project_id = :project AND kind = 'pair' LIMIT 4000)
  UNION SELECT system_a FROM (SELECT system_a FROM cases WHERE project_id = :project AND kind = 'explanation' LIMIT 4000)
) WHERE system <> '' ORDER BY system LIMIT :most"""
_CONTEXTS = """
SELECT DISTINCT context FROM (SELECT context FROM cases WHERE project_id = :project LIMIT 4000)
ORDER BY context LIMIT :most"""
_DAYS = """
SELECT DISTINCT substr(served_at, 1, 10) FROM (
  SELECT served_at FROM cases WHERE project_id = :project AND served_at <> '' LIMIT 4000
) ORDER BY 1 LIMIT :most"""
_ISSUES = """
SELECT json_extract(i.value, '$.name') AS issue FROM prompts pr, json_each(pr.content, '$.issues') i
WHERE pr.id IN (SELECT prompt_id FROM runs WHERE project_id = :project)
UNION SELECT f.issue FROM (
    SELECT id, run_id, case_id FROM verdicts WHERE project_id = :project AND flag_count > 0 ORDER BY id DESC LIMIT 1000
  ) v LEFT JOIN calls k ON k.run_id = v.run_id AND k.case_id = v.case_id
  JOIN flags f ON f.call_id = k.id OR f.verdict_id = v.id
ORDER BY 1 LIMIT :most"""
_TAGS = """
SELECT DISTINCT text FROM (
  SELECT text FROM triage_log WHERE project_id = :project AND action = 'tag' ORDER BY id DESC LIMIT 4000
) ORDER BY text COLLATE NOCASE LIMIT :most"""
_RATERS = "SELECT name FROM raters WHERE project_id = :project ORDER BY name COLLATE NOCASE LIMIT :most"
_RUNS = "SELECT id FROM runs WHERE project_id = :project ORDER BY id DESC LIMIT 50"


def filter_values(db: Database, project_id: int) -> dict[str, tuple[str, ...]]:
    """filter key -> at most MOST values that can be typed on one line; without keys that have no suggestions."""

    def read(sql: str) -> tuple[str, ...]:
        texts = (
            str(value) for value in db.column(sql, {"project": project_id, "most": MOST}) if value is not None
        )
        return tuple(text for text in texts if text and '"' not in text and one_line(text, _LONGEST) == text)

    raters, days, systems = read(_RATERS), read(_DAYS), read(_USED_SYSTEMS)
    return {
        "flag": ("any", *read(_ISSUES)),
        "judge": raters,
        "disagree": (ALL_PEOPLE, *raters),
        "label": read(_LABELS),
        "aspect": read(_QUESTIONS.format(column="aspect")),
        "protocol": read(_QUESTIONS.format(column="protocol")),
        **dict.fromkeys(("system", *_OUTCOMES), systems),
        "context": read(_CONTEXTS),
        "from": days,
        "to": days,
        "tag": read(_TAGS),
        "theme": read(f"SELECT DISTINCT a.aspect {_OF_THEMES} ORDER BY 1 LIMIT :most"),
        "run": read(_RUNS),
    }
