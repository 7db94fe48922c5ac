"""Runs that read texts about cases instead of judging them: each text is a call, with everything that calls have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recjudge_tui.domain.calls import Order, digest
from recjudge_tui.domain.material import CaseViews, ExplanationView, ItemView, UserView
from recjudge_tui.runs.estimate import Sample
from recjudge_tui.store.cases import CaseKey, ShownCase, case_row, save_snapshots
from recjudge_tui.store.database import Database

_NO_ITEM = ItemView(item_id="", title="")


class ReadText(NamedTuple):
    """A text about a case. Of a reason, `order` is that in which its rater saw the lists."""

    case_id: int
    order: Order
    text: str


def digest_of(texts: Iterable[ReadText]) -> str:
    return digest([list(text) for text in texts])


class ReadCase(NamedTuple):
    """A case with the orders of its texts, and what is shown of it."""

    key: CaseKey
    orders: tuple[Order, ...]
    views: CaseViews


def read_cases(db: Database, texts: Sequence[ReadText], top_k: int) -> list[ReadCase]:
    """The cases of the texts, in their order. Of a case with a reason in each order, that of `ba` stands in the place of an
    example."""
    by_case: dict[int, dict[Order, str]] = {}
    for case_id, order, text in texts:
        by_case.setdefault(case_id, {})[order] = text
    cases = []
    for case_id, of in by_case.items():
        row = case_row(db, case_id)
        key = CaseKey(*(row[name] for name in CaseKey._fields))
        orders: tuple[Order, ...] = tuple(sorted(of))
        views = [ExplanationView(item=_NO_ITEM, text=of[order]) for order in orders]
        second = views[1] if len(views) > 1 else None
        user = UserView(user_id=key.user_id)
        cases.append(ReadCase(key, orders, CaseViews(key.kind, user, (), views[0], second, top_k)))
    return cases


def store_read(db: Database, cases: Sequence[ReadCase]) -> list[ShownCase]:
    """Store snapshots of what is shown. Call inside a transaction."""
    users = save_snapshots(db, "user", [case.views.user for case in cases])
    texts = [(case.views.explanation, case.views.example) for case in cases]
    stored = iter(save_snapshots(db, "explanation", [view for both in texts for view in both if view]))
    ids = ([None if view is None else next(stored) for view in both] for both in texts)
    return [
        ShownCase(user, explanation=first, example=second)
        for user, (first, second) in zip(users, ids, strict=True)
    ]


def sample_of(cases: Iterable[ReadCase]) -> Sample:
    sample = Sample(has_images=False)
    for case in cases:
        sample.add(case.views)
    return sample
