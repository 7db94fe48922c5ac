"""A real instruct model, as weak as they come: it repeats itself and breaks off, and each call ends with a true reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.protocols import offered
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.load import import_files
from recjudge_tui.runs.engine import work
from recjudge_tui.settings import data_dir
from recjudge_tui.store.database import Database
from tests.support.real_model import model_path
from tests.support.runs import calls, command, planned, ran
from tests.support.servers.process import start as start_server
from tests.support.waiting import wait_until

pytestmark = pytest.mark.model
# It reads 100 to 250 and writes 30 tokens a second on two idle cores: a short prompt that one slot reads once, and a reply
# with room for all of it, or a cap that is soon reached where it would go round in a loop
SHORT = {"history": 5, "history_days": 7, "top_k": 5, "max_tokens": 240, "concurrency": 1}
OF: dict[str, dict[str, Any]] = {
    "pointwise": {"systems": ("text",), "max_tokens": 60},
    "pairwise": {"max_tokens": 110},
    "arena": {"swap": False, "max_tokens": 48},
    "absolute": {"systems": ("text",)},
    "explanation": {"systems": ("similar_item",)},
}
FILES: dict[ImportKind, tuple[str, ...]] = {
    "items": ("items.csv",), "users": ("users.csv",), "events": ("events.csv",),
    "lists": ("lists_cooccurrence.csv", "lists_text.csv"), "explanations": ("explanations.csv",),
}  # fmt: skip
# what a model may do wrong; a fault of the server, of the process or of the time is none of these
TRUE_REASONS = {"length", "bad_reply", "loop", "thinking"}


@pytest.fixture
def shop(db: Database) -> Database:
    folder = data_dir("sample_data") / "shop"
    for kind, names in FILES.items():
        import_files(db, "films", [folder / name for name in names], kind)
    return db


def _check_ended(db: Database, run_id: int) -> list[dict[str, Any]]:
    """Every call is done with its raw reply, or failed with a true reason."""
    ended = [dict(call) for call in calls(db, run_id)]
    assert ended
    for call in ended:
        told = {name: call[name] for name in ("state", "error_kind", "error", "reply", "attempts")}
        if call["state"] == "done":
            assert all((call["reply"], call["tokens_in"], call["tokens_out"])), told
        else:
            assert (call["state"], bool(call["error"])) == ("failed", True), told
            assert call["error_kind"] in TRUE_REASONS, told
    return ended


@pytest.mark.parametrize("protocol", offered())
def test_every_protocol_on_one_case(shop: Database, protocol: str) -> None:
    judge = JudgeSpec(spec=f"gguf:{model_path()}")
    run_id = planned(shop, judge, protocol, limit=1, **SHORT | OF.get(protocol, {}))
    work(shop.path, run_id)
    ended = _check_ended(shop, run_id)
    identity = json.loads(shop.value("SELECT identity FROM runs WHERE id = ?", (run_id,)))
    assert (bool(identity["digest"]), identity["context_length"]) == (True, 8192)
    again = work(shop.path, run_id)
    assert again.done + again.failed == len(ended)
    assert [dict(call) for call in calls(shop, run_id)] == ended


def test_a_killed_run_asks_nothing_twice(shop: Database, project_db: Path) -> None:
    with start_server("llama_cpp", "--model", model_path(), "--ctx", 4096, "--parallel", 1) as server:
        judge = JudgeSpec(spec="openai:tiny-stair", base_urls=(f"{server.url}/v1",))
        run_id = planned(shop, judge, "pairwise", limit=1, **SHORT | OF["pairwise"])

        def done() -> dict[int, Any]:
            return {call["id"]: tuple(call) for call in calls(shop, run_id) if call["state"] != "planned"}

        process = command("runs", "resume", run_id, "--db", project_db)
        wait_until(done)
        process.kill()
        process.communicate()
        before = done()
        assert len(before) == 1
        code, _, err = ran("runs", "resume", run_id, "--db", project_db)
        assert code in (0, 1), err
    after = done()
    assert len(after) == 2
    assert {call: after[call] for call in before} == before
    _check_ended(shop, run_id)
