"""The input of metrics: texts with their references, lists, and their cases."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from recjudge_tui.domain.material import CaseKind
from recjudge_tui.domain.occasions import Occasion, meant_occasions
from recjudge_tui.stats.retrieval import RankedList
from recjudge_tui.store.cases_ import ADVERSARIAL_CASE, CaseKey, current_keys, ensure_case, ensure_cases
from recjudge_tui.store.data.heldout import ranked_lists
from recjudge_tui.store.data_ import current_explanations, current_slates
from recjudge_tui.store.database import Database


class ReferredText(NamedTuple):
    """An explanation and what the user wrote; `reference` is empty if none was imported."""

    explanation_id: int
    text: str
    reference: str


class MeasuredCase(NamedTuple):
    """A case and the text, list or two lists that it is about; None for one that a label named and nobody imported."""

    case_id: int
    kind: CaseKind
    contents: tuple[int | None, ...]


class CaseText(NamedTuple):
    """The text of an explanation case; `reference` is empty if the user wrote nothing."""

    case_id: int
    text: str
    reference: str


def referred_texts(db: Database, project_id: int) -> list[ReferredText]:
    """The current explanations, and older ones that a case still refers to."""
    rows = db.rows(
        """SELECT id, text, reference FROM explanations WHERE project_id = ?1 AND (
             id IN (SELECT explanation_id FROM v_current_explanations WHERE project_id = ?1)
             OR id IN (SELECT explanation_id FROM cases WHERE project_id = ?1 AND kind = 'explanation'))
           ORDER BY id""",
        (project_id,),
    )
    return [ReferredText(*row) for row in rows]


_EVERY_LIST = """SELECT slate_id FROM v_current_slates WHERE project_id = ?1
  UNION SELECT slate_a FROM cases WHERE project_id = ?1 AND slate_a IS NOT NULL
  UNION SELECT slate_b FROM cases WHERE project_id = ?1 AND slate_b IS NOT NULL"""


def ranked_slates(
    db: Database, project_id: int, slates: Collection[int] | None = None
) -> Iterator[tuple[int, RankedList]]:
    """Slate id and list: of these slates, else the current lists and older ones that a case still refers to."""
    wanted = _EVERY_LIST if slates is None else "SELECT value FROM json_each(?2)"
    cursor = db.execute(
        f"""WITH wanted(id) AS ({wanted})
           SELECT s.id, s.user_id, s.context, s.served_at, si.item_id, si.score
           FROM wanted w JOIN slates s ON s.id = w.id AND s.project_id = ?1
           LEFT JOIN slate_items si ON si.slate_id = s.id ORDER BY s.id, si.rank""",
        (project_id, *([] if slates is None else [json.dumps(sorted(slates))])),
    )
    yield from ranked_lists(cursor)


def current_list_ids(db: Database, project_id: int) -> dict[str, tuple[int, ...]]:
    """System -> the ids of its current lists."""
    rows = db.rows(
        "SELECT system, slate_id FROM v_current_slates WHERE project_id = ? ORDER BY system, slate_id",
        (project_id,),
    )
    return {system: tuple(row[1] for row in of_system) for system, of_system in groupby(rows, itemgetter(0))}


def ensure_text_cases(db: Database, project_id: int) -> list[MeasuredCase]:
    """Every explanation case; creates one for each current explanation. Call inside a transaction."""
    keys = [
        CaseKey(
            "explanation", text.user_id, text.system, "", text.item_id, None, None, text.id, *text.occasion
        )
        for text in current_explanations(db, project_id)
    ]
    ensure_cases(db, project_id, keys)
    rows = db.rows(
        "SELECT id, explanation_id FROM cases WHERE project_id = ? AND kind = 'explanation' ORDER BY id",
        (project_id,),
    )
    return [MeasuredCase(case, "explanation", (text,)) for case, text in rows]


def ensure_list_cases(db: Database, project_id: int) -> list[MeasuredCase]:
    """Every case of lists: creates one for each current list, and adds the existing pairs. Call inside a transaction.

    Pairs that labels named before their lists were known get the current lists, as in a run.
    """
    keys = [
        CaseKey("list", user_id, slate.system, "", "", slate.slate_id, None, None, *slate.occasion)
        for user_id, slates in current_slates(db, project_id).items()
        for slate in slates
    ]
    ensure_cases(db, project_id, keys)
    bare = db.rows(
        """SELECT user_id, system_a, system_b, context, served_at FROM cases
           WHERE project_id = ? AND kind = 'pair' AND item_id = '' AND slate_a IS NULL AND slate_b IS NULL""",
        (project_id,),
    )
    for user_id, a, b, context, served_at in bare:
        known = current_keys(db, project_id, CaseKey("pair", user_id, a, b))
        meant = meant_occasions(Occasion(context, served_at), known)
        if len(meant) == 1:
            ensure_case(db, project_id, known[meant[0]])
    rows = db.rows(
        f"""SELECT id, kind, slate_a, slate_b FROM cases
           WHERE project_id = ? AND kind IN ('list', 'pair') AND NOT {ADVERSARIAL_CASE}
             AND ifnull(slate_a, 0) NOT IN (SELECT slate_id FROM planted_faults) ORDER BY id""",
        (project_id,),
    )
    return [MeasuredCase(case, kind, (a, b) if kind == "pair" else (a,)) for case, kind, a, b in rows]


def explanation_texts(db: Database, project_id: int) -> list[CaseText]:
    """The text of each explanation case, by case; without cases whose text is unknown."""
    rows = db.rows(
        """SELECT c.id, e.text, e.reference FROM cases c JOIN explanations e ON e.id = c.explanation_id
           WHERE c.project_id = ? AND c.kind = 'explanation' ORDER BY c.id""",
        (project_id,),
    )
    return [CaseText(*row) for row in rows]
