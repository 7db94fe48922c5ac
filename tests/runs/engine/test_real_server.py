"""All five protocols against a real llama.cpp server: its grammar, its chat template, its tokens."""

from __future__ import annotations

from typing import Any

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from tests.support.runs import intact, load, make_project, planned
from tests.support.servers.process import start

ASPECTS = {"pointwise": 1, "pairwise": 1, "arena": 7, "absolute": 1, "explanation": 4}
SETTINGS: dict[str, dict[str, Any]] = {
    "arena": {"profile": "llm", "sample": 1},
    "explanation": {"aspects": "single", "shots": "personal"},
}


def test_every_protocol_is_answered_in_its_form(db: Database) -> None:
    make_project(db, users=2)
    texts = [("u00", "i1", "als", "You rated one like it."), ("u00", "i2", "als", "因为你喜欢科幻电影")]
    load(db, "explanations", [("user_id", "item_id", "system", "text"), *texts])
    load(db, "labels", [
        ("rater", "user_id", "item_id", "system", "aspect", "value", "protocol", "rater_kind"),
        *(
            ("user", *text[:3], aspect, 4, "explanation", "ground_truth") for text in texts
            for aspect in ("persuasiveness", "transparency", "accuracy", "satisfaction")
        ),
    ])  # fmt: skip
    with start("llama_cpp", "--ctx", 8192) as server:
        judge = JudgeSpec(spec="openai:tiny-stair", base_urls=(f"{server.url}/v1",))
        for protocol, aspects in ASPECTS.items():
            run = planned(db, judge, protocol, rater=protocol, **{"sample": 2, **SETTINGS.get(protocol, {})})
            ended = work(db.path, run)
            failed = _out_of_range(db, run) if protocol == "absolute" else 0
            assert (ended.state, ended.failed) == ("done", failed), protocol
            rows = db.rows("SELECT case_id, aspect, state, value FROM verdicts WHERE run_id = ?", (run,))
            cases = {row["case_id"] for row in rows}
            assert len(rows) == aspects * len(cases) > 0
            assert [row["state"] for row in rows].count("failed") == failed
            low, high = {"pointwise": (0, 2), "absolute": (0, 1), "explanation": (1, 5)}.get(
                protocol, (-1, 1)
            )
            assert all(low <= row["value"] <= high for row in rows if row["state"] == "ok")
    assert intact(db)


def _out_of_range(db: Database, run: int) -> int:
    """How many calls failed because of their number: no grammar bounds it, and what a random model writes depends on
    the processor it runs on."""
    count: int = db.value(
        "SELECT count(*) FROM calls WHERE run_id = ? AND error_kind = 'bad_reply' AND error LIKE ?",
        (run, "%must be a number from 0 to 1, not%"),
    )
    return count
