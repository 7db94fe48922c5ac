"""A request to run SAER: every list alone, then lists in pairs (Liu et al., SIGIR 2026)."""

from __future__ import annotations

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.protocols import SAER
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.run_options import settings_that
from recjudge_tui.errors import UsageError
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.runs.plan.plan import default_prompt
from recjudge_tui.runs.plan.selection import chosen_systems
from recjudge_tui.runs.plan.settings import settings_for
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import get_prompt, load_shipped
from recjudge_tui.store.runs import prompt_label

STAGES = SAER
FIRST, SECOND = SAER
# how a run is worked on, not what it asks: a request that differs only in these resumes the same runs
OPERATION = settings_that("work") - {"use_cache"} | {"again"}


class SaerRequest(Model):
    """Both stages as the user requests them.

    `settings` and `prompts` (NAME[@VERSION]) are by stage; the budget is that of both stages together. Systems whose
    share of the lowest label in the first stage is larger than `drop_poor_over` are left out of the second.
    """

    judge: JudgeSpec
    settings: dict[str, RunSettings]
    prompts: dict[str, str]
    drop_poor_over: float | None = None


def saer_request(
    db: Database,
    project_id: int,
    judge: JudgeSpec,
    *,
    prompts: tuple[str, ...] = (),
    drop_poor_over: float | None = None,
    **options: object,
) -> SaerRequest:
    """The request from `options` as `settings_for` takes them.

    Here `limit` and `sample` count users: every list and every pair of a user is judged. `until` and `baseline`
    belong to the second stage. Raises UsageError for a prompt of another protocol, and what `chosen_systems` raises.
    """
    load_shipped(db)
    named: dict[str, str] = {}
    for prompt in prompts:
        protocol = get_prompt(db, prompt)[2].protocol
        if protocol not in STAGES or protocol in named:
            raise UsageError(
                f"prompt “{prompt}” is for {protocol}",
                "SAER takes one prompt for pointwise and one for pairwise.",
            )
        named[protocol] = prompt
    settings = {stage: settings_for(stage, **options) for stage in STAGES}
    systems = len(chosen_systems(db, project_id, settings[SECOND], "pair"))
    pairs = systems - 1 if settings[SECOND].baseline else systems * (systems - 1) // 2
    return SaerRequest(
        judge=judge,
        settings={
            FIRST: _single_lists(_of_users(settings[FIRST], systems)),
            SECOND: _of_users(settings[SECOND], pairs),
        },
        prompts={
            stage: named.get(stage)
            or default_prompt(db, project_id, protocol_named(stage), settings[stage].domain)
            for stage in STAGES
        },
        drop_poor_over=drop_poor_over,
    )


def _of_users(settings: RunSettings, cases_a_user: int) -> RunSettings:
    """`limit` and `sample` converted from numbers of users to numbers of cases."""
    counts = {"limit": settings.limit, "sample": settings.sample}
    return settings.model_copy(update={name: n and n * cases_a_user for name, n in counts.items()})


def _single_lists(settings: RunSettings) -> RunSettings:
    """The settings without options that only pairs have; the baseline becomes one of the systems."""
    systems = tuple(dict.fromkeys((*settings.systems, settings.baseline))) if settings.systems else ()
    return settings.model_copy(
        update={"until": "", "margin": None, "baseline": "", "systems": tuple(filter(None, systems))}
    )


def with_versions(db: Database, request: SaerRequest) -> SaerRequest:
    """The request with the current version of each prompt that has none."""
    labels = {stage: prompt_label(db, get_prompt(db, name)[0]) for stage, name in request.prompts.items()}
    return request.model_copy(update={"prompts": labels})


def same_question(first: SaerRequest, second: SaerRequest) -> bool:
    """Whether two requests ask the same question, even with different operation settings. Prompts must have versions."""
    return _question(first) == _question(second)


def _question(request: SaerRequest) -> dict[str, object]:
    return request.model_dump(exclude={"settings": {stage: set(OPERATION) for stage in STAGES}})
