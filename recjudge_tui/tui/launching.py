"""What the launch form does in the background: look for judges, estimate, ask the judge, plan and start."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import NamedTuple

from recjudge_tui.errors import JudgeError, RecjudgeError, RunError
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.model.judge import JudgeSpec, Workload
from recjudge_tui.model.run import Estimate, RunSettings
from recjudge_tui.running.launch import start_detached
from recjudge_tui.running.plan import Plan, plan_run
from recjudge_tui.store.catalogue import systems
from recjudge_tui.store.database import Database
from recjudge_tui.store.explanations import explanation_systems
from recjudge_tui.store.prompts import list_prompts, load_shipped
from recjudge_tui.store.run_watch import judges_used
from recjudge_tui.tui.launch_form import RunWish


class KnownJudge(NamedTuple):
    """A judge one may pick; `source` says where it is known from."""

    spec: str
    source: str
    base_urls: tuple[str, ...] = ()
    api_key_env: str = ""


class Choices(NamedTuple):
    """What the form can offer. `systems` made lists, `explainers` explanations; `prompts` are (protocol,
    NAME@VERSION), newest versions first."""

    judges: tuple[KnownJudge, ...]
    systems: tuple[str, ...]
    explainers: tuple[str, ...]
    prompts: tuple[tuple[str, str], ...]


class Begun(NamedTuple):
    """`run_id` is None when nothing was planned; with both, the run is planned but did not start."""

    run_id: int | None
    error: RecjudgeError | None


CHECK_WITHIN_S = 15.0
BUILT_IN = (KnownJudge("rules", "built in, no model"), KnownJudge("random", "built in, a baseline"))


def choices(db: Database, project_id: int) -> Choices:
    load_shipped(db)
    used = [
        KnownJudge(
            row["spec"], "used before", tuple(json.loads(row["base_urls"] or "[]")), row["api_key_env"] or ""
        )
        for row in judges_used(db, project_id)
        if row["spec"] not in ("rules", "random")
    ]
    prompts = sorted(list_prompts(db), key=lambda row: (row["name"], -row["version"]))
    return Choices(
        (*used, *BUILT_IN),
        tuple(systems(db, project_id)),
        tuple(explanation_systems(db, project_id)),
        tuple((row["protocol"], f"{row['name']}@{row['version']}") for row in prompts),
    )


def ollama_models(base_url: str) -> list[KnownJudge] | RecjudgeError:
    """The models of the Ollama server at `base_url` (empty: the default one), or why there are none."""
    from recjudge_tui.judges.listing import installed_models

    try:
        models = installed_models(base_url, timeout_s=3.0)
    except RecjudgeError as error:
        return error
    urls = (base_url,) if base_url else ()
    return [
        KnownJudge(f"ollama:{model.name}", _described(model.parameters, model.quantization), urls)
        for model in models
    ]


def _described(*parts: str) -> str:
    return " ".join(("on Ollama", *filter(None, parts)))


def dry_run(
    db: Database, project_id: int, wish: RunWish, progress: Callable[[int], None]
) -> Plan | RecjudgeError:
    """The plan without writing it, or why there can be none."""
    try:
        return plan_run(
            db,
            project_id,
            wish.judge,
            wish.settings,
            rater=wish.rater,
            prompt=wish.prompt,
            dry_run=True,
            progress=progress,
        )
    except RecjudgeError as error:
        return error


def begin(db: Database, project_id: int, wish: RunWish, progress: Callable[[int], None]) -> Begun:
    """Ask the judge whether it can work, write the plan, and start a process of its own on it."""
    try:
        plan = dry_run(db, project_id, wish, progress)
        if isinstance(plan, RecjudgeError):
            return Begun(None, plan)
        asyncio.run(check_judge(wish.judge, wish.settings, plan.estimate))
        plan = plan_run(
            db, project_id, wish.judge, wish.settings, rater=wish.rater, prompt=wish.prompt, progress=progress
        )
    except RecjudgeError as error:
        return Begun(None, error)
    assert plan.run_id is not None
    try:
        start_detached(db, plan.run_id)
    except RunError as error:
        return Begun(plan.run_id, error)
    return Begun(plan.run_id, None)


async def check_judge(judge: JudgeSpec, settings: RunSettings, estimate: Estimate) -> None:
    """Reach the judge once, so that a wrong model or a missing server is said before anything is planned.

    Raises JudgeError saying what to start, pull or set.
    """
    face = make_judge(judge)
    workload = Workload(
        calls=estimate.calls,
        longest_prompt_tokens=estimate.longest_prompt_tokens,
        max_tokens=settings.max_tokens,
        concurrency=settings.concurrency or face.concurrency,
        timeout_s=settings.timeout_s,
    )
    try:
        await asyncio.wait_for(face.prepare(workload), CHECK_WITHIN_S)
    except asyncio.TimeoutError:
        raise JudgeError(
            f"“{judge.spec}” did not answer", f"Nothing came within {CHECK_WITHIN_S:g} s."
        ) from None
    finally:
        await face.close()
