"""Builds the request of a call from its run, the same one every time."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.domain.calls import PROFILE, Request
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.material import Material, SlateView
from recjudge_tui.domain.occasions import Occasion
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.protocols import ProtocolFacts
from recjudge_tui.domain.run import RunSettings, form_words, sampling_of
from recjudge_tui.errors import NoProfileError, ReplyFault
from recjudge_tui.protocols.base import Protocol
from recjudge_tui.protocols.registry import profile_request
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.protocols.replies import profile_text
from recjudge_tui.runs.plan.context import shown_user
from recjudge_tui.store.calls import CallKey, profile_reply
from recjudge_tui.store.cases import load_material
from recjudge_tui.store.data import explanation_view, image_contents, slate_top
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.histories import read_history
from recjudge_tui.store.prompts import prompt_by_id


class Setup(NamedTuple):
    """The judge, settings and prompt of a run."""

    spec: JudgeSpec
    settings: RunSettings
    protocol: Protocol
    prompt: Prompt


def setup_of(db: Database, run: StoredRow) -> Setup:
    """The setup of a row of `runs`; the prompt has the run's own words for its variables."""
    settings = RunSettings.model_validate_json(run["settings"])
    prompt = prompt_by_id(db, run["prompt_id"]).with_variables({**form_words(settings), **settings.variables})
    return Setup(
        JudgeSpec.model_validate_json(run["judge"]), settings, protocol_named(run["protocol"]), prompt
    )


def material_now(db: Database, case: StoredRow, facts: ProtocolFacts, settings: RunSettings) -> Material:
    """What a judge would be shown of a case (a row of `cases`) with the present data."""
    project_id, text = case["project_id"], case["explanation_id"]
    history = read_history(db, project_id, case["user_id"])
    occasion = Occasion(case["context"], case["served_at"])
    slates = (slate for slate in (case["slate_a"], case["slate_b"]) if slate is not None)
    return Material(
        kind=facts.unit,
        user=shown_user(history, settings, occasion, needed=facts.needs_history),
        slates=tuple(SlateView(items=slate_top(db, project_id, slate, settings.top_k)) for slate in slates),
        explanation=None if text is None else explanation_view(db, project_id, text),
        top_k=settings.top_k,
    )


def build_request(
    db: Database, run_id: int, settings: RunSettings, protocol: Protocol, prompt: Prompt, key: CallKey
) -> tuple[Material, Request]:
    """The request of a call, and the material its reply is read against.

    Raises NoProfileError, and PromptError for a prompt that cannot be rendered.
    """
    material = load_material(db, run_id, key.case_id, settings.top_k)
    sampling = sampling_of(settings, key.sample)
    if key.aspect == PROFILE:
        return material, profile_request(prompt, material, sampling)
    if settings.profile == "llm":
        user = material.user.model_copy(update={"profile": _written(db, run_id, key.case_id)})
        material = material.model_copy(update={"user": user})
    request = protocol.request(prompt, material, key.order, key.aspect, sampling)
    if key.sample:
        request = request.model_copy(update={"sample": key.sample})
    return material, with_image_contents(db, request)


def with_image_contents(db: Database, request: Request) -> Request:
    """The request with the content of its images. Raises NotFoundError for an image that is not stored any more."""
    digests = {placed.image.digest for message in request.messages for placed in message.images}
    if not digests:
        return request
    contents = image_contents(db, digests)
    messages = tuple(
        message.model_copy(
            update={
                "images": tuple(
                    placed.model_copy(update={"data": contents[placed.image.digest]})
                    for placed in message.images
                )
            }
        )
        for message in request.messages
    )
    return request.model_copy(update={"messages": messages})


def _written(db: Database, run_id: int, case_id: int) -> str:
    reply = profile_reply(db, run_id, case_id)
    if reply is None:
        raise NoProfileError("the profile of this user could not be written")
    try:
        return profile_text(reply)
    except ReplyFault as fault:
        raise NoProfileError(f"the written profile of this user cannot be used: {fault}") from fault
