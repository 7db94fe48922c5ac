"""A small project by way of the importers: three shoppers, two systems, two annotators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect
from tests.support.runs import load, plan_run

TITLES = (
    "Dark Roast Coffee 500 g",
    "Oat Milk 1 l",
    "Kettle Steel 1.7 l",
    "Rye Bread",
    "Olive Oil 1 l",
    "Green Tea 50",
)
SYSTEMS = ("als", "text")
# annotator -> labels of the pairs of u0, u1, u2, ...
GIVEN = {"anna": ("A", "B", "Tie", "A", "B", "A"), "bert": ("A", "B", "B", "A", "Tie", "A")}


def import_lists(path: Path, name: str = "shop", users: int = 3, text: str = "") -> int:
    """A project with items, events and the lists of two systems for each user; `text` goes into every name."""
    items = [(f"i{at}", title + text, "grocery" + text) for at, title in enumerate(TITLES)]
    events = [
        (f"u{user}", f"i{(user + step) % 6}", "purchase", f"2025-0{step + 1}-1{user % 9}T10:00:00Z")
        for user in range(users)
        for step in range(3)
    ]
    lists = [
        (f"u{user}", system + text, f"i{(user + at + rank) % 6}", rank)
        for user in range(users)
        for at, system in enumerate(SYSTEMS)
        for rank in (1, 2, 3, 4)
    ]
    with connect(path) as db:
        load(db, "items", [("item_id", "title", "category"), *items], name)
        load(db, "events", [("user_id", "item_id", "type", "timestamp"), *events], name)
        load(db, "lists", [("user_id", "system", "item_id", "rank"), *lists], name)
        return project_id(db, name)


def import_labels(path: Path, name: str = "shop", given: Mapping[str, Sequence[str]] = GIVEN) -> None:
    """Pairwise labels of annotators for the pairs of the first users."""
    rows = [
        (rater, f"u{user}", *SYSTEMS, "overall", label, "pairwise", "annotator")
        for rater, labels in given.items()
        for user, label in enumerate(labels)
    ]
    head = ("rater", "user_id", "system_a", "system_b", "aspect", "value", "protocol", "rater_kind")
    with connect(path) as db:
        load(db, "labels", [head, *rows], name)


def judge(path: Path, project: int, protocol: str = "pairwise", spec: str = "rules", rater: str = "") -> int:
    """A run of a judge that needs no server, done in this process; gives its number."""
    with connect(path) as db:
        settings = RunSettings.model_validate({"protocol": protocol})
        planned = plan_run(db, RunRequest(project, JudgeSpec(spec=spec), settings, rater=rater))
    assert planned.run_id is not None
    with ThreadPoolExecutor(1) as aside:  # a test's own event loop runs in this thread
        aside.submit(work, path, planned.run_id).result()
    return planned.run_id


def plan(path: Path, project: int, url: str, concurrency: int = 2) -> int:
    """A pairwise run against a chat server, written down and not started."""
    with connect(path) as db:
        settings = RunSettings(protocol="pairwise", concurrency=concurrency, use_cache=False)
        spec = JudgeSpec(spec="openai:hash-judge", base_urls=(f"{url}/v1",))
        planned = plan_run(db, RunRequest(project, spec, settings))
    assert planned.run_id is not None
    return planned.run_id
