"""Background jobs of the Prompts screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from recjudge_tui.domain.calls import Order, Request
from recjudge_tui.domain.material import CaseKind
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.errors import NotFoundError, RecjudgeError
from recjudge_tui.prompting.trial import request_now
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.reports.changes import prompt_diff
from recjudge_tui.store.cases import Direction, showable_case
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.prompts import list_prompts, load_shipped, prompt_by_id, prompt_toml


class Step(NamedTuple):
    """The case to show: `case_id` itself, the case `times` before or after it, or the first one."""

    direction: Direction = "first"
    case_id: int = 0
    times: int = 1


class CasePreview(NamedTuple):
    """A prompt's text for a case. `order` is the shown order, `orders` all possible ones; without a case all is empty."""

    prompt_id: int
    case: StoredRow | None
    order: Order = ""
    orders: tuple[Order, ...] = ()
    request: Request | None = None
    kind: str = ""
    error: RecjudgeError | None = None


class PromptText(NamedTuple):
    """A prompt as a file, or a diff (`lines`), or why there is none."""

    prompt_id: int
    text: str = ""
    lines: tuple[str, ...] | None = None
    names: tuple[str, str] = ("", "")
    error: RecjudgeError | None = None


def listed(db: Database) -> list[StoredRow]:
    """Every version of every prompt, the newest of a name first."""
    load_shipped(db)
    return sorted(list_prompts(db), key=lambda row: (row["name"], -row["version"]))


def read_text(db: Database, prompt_id: int) -> PromptText:
    try:
        return PromptText(prompt_id, prompt_toml(prompt_by_id(db, prompt_id)))
    except RecjudgeError as error:
        return PromptText(prompt_id, error=error)


def read_diff(db: Database, before_id: int, prompt_id: int, names: tuple[str, str]) -> PromptText:
    """The differences between the two versions."""
    try:
        before, after = (prompt_toml(prompt_by_id(db, which)) for which in (before_id, prompt_id))
    except RecjudgeError as error:
        return PromptText(prompt_id, names=names, error=error)
    return PromptText(prompt_id, lines=prompt_diff(before, after, *names), names=names)


def read_case(
    db: Database,
    project_id: int,
    prompt_id: int,
    step: Step | None,
    order: Order | None,
    places: Mapping[str, int],
) -> CasePreview:
    """The text of a prompt for a case of the project; at either end a step stays where it is.

    Without a step: the case of `places`, which has one for each kind of case, or else the first. Raises NotFoundError
    for a case number that this prompt cannot show.
    """
    try:
        prompt = prompt_by_id(db, prompt_id)
        rules = protocol_named(prompt.protocol)
    except RecjudgeError as error:
        return CasePreview(prompt_id, None, error=error)
    kind = rules.facts.unit
    case = _stepped(db, project_id, kind, step or Step("at", places.get(kind, 0)))
    if case is None and step is not None and step.direction == "at":
        raise NotFoundError(
            f"prompt “{prompt.name}” cannot show case {step.case_id}",
            f"It needs a case of kind {kind} of this project, with its lists or text.",
        )
    case = case or showable_case(db, project_id, kind, "at", places.get(kind, 0))
    case = case or showable_case(db, project_id, kind)
    if case is None:
        return CasePreview(prompt_id, None, kind=kind)
    chosen = order if order in rules.orders and order is not None else rules.orders[0]
    return _rendered(db, prompt, CasePreview(prompt_id, case, chosen, rules.orders, kind=kind))


def _stepped(db: Database, project_id: int, kind: CaseKind, step: Step) -> StoredRow | None:
    case_row, here = None, step.case_id
    for _ in range(step.times):
        row = showable_case(db, project_id, kind, step.direction, here)
        if row is None:
            break
        case_row, here = row, row["id"]
    return case_row


def _rendered(db: Database, prompt: Prompt, shown: CasePreview) -> CasePreview:
    assert shown.case is not None
    try:
        return shown._replace(request=request_now(db, prompt, shown.case["id"], shown.order))
    except RecjudgeError as error:
        return shown._replace(error=error)
