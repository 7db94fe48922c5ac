"""The users of a run's cases as a judge will see them, as of the time of each occasion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from recjudge_tui.domain.material import UserView
from recjudge_tui.domain.occasions import Occasion
from recjudge_tui.domain.protocols import ProtocolFacts
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.runs.plan.context import is_empty, no_history, shown_user
from recjudge_tui.runs.plan.selection import Selection
from recjudge_tui.store.cases import CaseKey
from recjudge_tui.store.data import ItemViews
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import read_histories

NOT_BEFORE = "event at or after the time the list was served: not shown"
_USERS_AT_ONCE = 100

UserCases = tuple[UserView, list[CaseKey]]


def cases_of_users(
    db: Database,
    project_id: int,
    selection: Selection,
    settings: RunSettings,
    facts: ProtocolFacts,
    items: ItemViews,
    undated: Counter[str] | None = None,
) -> Iterator[UserCases]:
    """Each user as of each time with the cases of that time, in the order of the selection.

    Users without the history that is needed are left out. These cases, and events that are not shown because they are
    not before the time the list was served, are counted in the selection's `left_out`. `undated` gets the number of
    events without a time of each user whose lists have one.
    """
    needed = facts.needs_history
    history_needed = (needed or settings.profile == "llm") and not settings.no_history
    left_out: Counter[str] = selection.left_out
    for start in range(0, len(selection.by_user), _USERS_AT_ONCE):
        chunk = selection.by_user[start : start + _USERS_AT_ONCE]
        histories = read_histories(db, project_id, {user for user, _ in chunk}, items)
        for user_id, all_keys in chunk:
            history = histories[user_id]
            if undated is not None and history.undated and any(key.served_at for key in all_keys):
                undated[user_id] = history.undated
            as_of = _occasion if history.differs_by_context else _time
            for occasion, group in groupby(all_keys, key=as_of):
                keys = list(group)
                user = shown_user(history, settings, occasion, needed=needed)
                if later := history.count_from(occasion.served_at):
                    left_out[NOT_BEFORE] += later
                if history_needed and is_empty(user):
                    left_out[no_history(occasion.served_at)] += len(keys)
                else:
                    yield user, keys


# the key that decides which events are shown with a case: its time, and its context if an event is held out for a
# context
def _occasion(key: CaseKey) -> Occasion:
    return key.occasion


def _time(key: CaseKey) -> Occasion:
    return Occasion("", key.served_at)
