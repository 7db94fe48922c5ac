"""Snapshots of what a judge was shown: content-addressed and immutable."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Literal, NamedTuple

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.material import CaseKind, ExplanationView, Material, SlateView, UserView, json_text
from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.database import Database

_COMPACT = attrgetter("compact_json")
SnapshotKind = Literal["user", "slate", "explanation"]


class ShownCase(NamedTuple):
    """The ids of the snapshots of one case in one run."""

    user: int
    slate_a: int | None = None
    slate_b: int | None = None
    explanation: int | None = None
    example: int | None = None


def save_snapshots(db: Database, kind: SnapshotKind, views: Iterable[Model]) -> Sequence[int]:
    """The id of each content, in order; stores those that are new. Call inside a transaction.

    Each text is stored before the next one is made, so that one of them at a time is in memory.
    """
    digests: list[str] = []

    def rows() -> Iterator[tuple[str, SnapshotKind, str]]:
        for view in views:
            text = snapshot_text(view)
            digest = hashlib.sha256(f"{kind}:{text}".encode("utf-8", "surrogatepass")).hexdigest()
            digests.append(digest)
            yield digest, kind, text

    last: int = db.value("SELECT ifnull(max(id), 0) FROM snapshots")
    before = db.connection.total_changes
    db.execute_many(
        "INSERT INTO snapshots (digest, kind, content) VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING",
        rows(),
    )
    if db.connection.total_changes - before == len(digests):
        # all rows are new, and their ids are consecutive because the write lock is held
        return range(last + 1, last + 1 + len(digests))
    known = dict(
        tuple(row)
        for row in db.execute(
            "SELECT digest, id FROM snapshots WHERE digest IN (SELECT value FROM json_each(?))",
            (json.dumps(digests),),
        )
    )
    return [known[digest] for digest in digests]


def snapshot_text(view: Model) -> str:
    """The content of a snapshot: the view as JSON without its defaults.

    A user's or a list's content is assembled from the texts of its events and items, which many snapshots
    share.
    """
    if isinstance(view, SlateView):
        return f'{{"items":[{",".join(map(_COMPACT, view.items))}]}}'
    if isinstance(view, UserView):
        return f"{{{','.join(_fields(view))}}}"
    return view.model_dump_json(exclude_defaults=True)


def _fields(user: UserView) -> Iterator[str]:
    """The fields in the order of the model."""
    yield f'"user_id":{json_text(user.user_id)}'
    if user.attributes:
        yield f'"attributes":{json_text(user.attributes)}'
    if user.as_of:
        yield f'"as_of":{json_text(user.as_of)}'
    for name in ("history", "searches", "clicks", "others"):
        if events := getattr(user, name):
            yield f'"{name}":[{",".join(map(_COMPACT, events))}]'
    for name in ("browsed", "preferences", "profile"):
        if text := getattr(user, name):
            yield f'"{name}":{json_text(text)}'


def load_material(db: Database, run_id: int, case_id: int, top_k: int) -> Material:
    """What the run shows of a case, as stored when the run was planned. Raises NotFoundError."""
    row = db.row(
        """SELECT c.kind, u.content AS user, a.content AS slate_a, b.content AS slate_b, e.content AS explanation,
             x.content AS example
           FROM run_cases rc JOIN cases c ON c.id = rc.case_id
           JOIN snapshots u ON u.id = rc.user_snapshot
           LEFT JOIN snapshots a ON a.id = rc.slate_a_snapshot
           LEFT JOIN snapshots b ON b.id = rc.slate_b_snapshot
           LEFT JOIN snapshots e ON e.id = rc.explanation_snapshot
           LEFT JOIN snapshots x ON x.id = rc.example_snapshot
           WHERE rc.run_id = ? AND rc.case_id = ?""",
        (run_id, case_id),
    )
    if row is None:
        raise NotFoundError(f"run {run_id} does not contain case {case_id}", "It was deleted.")
    kind: CaseKind = row["kind"]
    return Material(
        kind=kind,
        user=_user(row["user"]),
        slates=tuple(_slate(row[n]) for n in ("slate_a", "slate_b") if row[n]),
        explanation=_explanation(row["explanation"]),
        example=_explanation(row["example"]),
        top_k=top_k,
    )


# neighbouring cases of a run share the user and some of the lists
@lru_cache(maxsize=64)
def _user(content: str) -> UserView:
    return UserView.model_validate_json(content)


@lru_cache(maxsize=256)
def _slate(content: str) -> SlateView:
    return SlateView.model_validate_json(content)


def _explanation(content: str | None) -> ExplanationView | None:
    return None if content is None else ExplanationView.model_validate_json(content)
