"""What a vendor's cache stored is kept with each call: the costs can be computed again from the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.domain.calls import Reply
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.prices import price_of
from recjudge_tui.store.database import Database
from recjudge_tui.store.exports import CALL_COLUMNS, call_rows
from recjudge_tui.store.projects import project_id
from tests.support.runs import calls, make_project, planned
from tests.support.servers.process import start

PRICES = '["anthropic:hash-judge"]\ninput = 3.0\noutput = 15.0\ncached_input = 0.3\ncache_write = 3.75\n'


def test_the_costs_of_a_run_follow_from_what_is_stored_and_exported(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    (tmp_path / "prices.toml").write_text(PRICES, encoding="utf-8")
    make_project(db, users=3)
    with start("anthropic_api") as server:
        judge = JudgeSpec(spec="anthropic:hash-judge", base_urls=(server.url,))
        run = planned(db, judge, concurrency=1)
        ended = work(db.path, run)
    price, rows = price_of(judge), calls(db, run)
    assert price is not None
    written = [row["tokens_cache_written"] for row in rows]
    assert written[0] > 0 == sum(written[1:]), "the guidelines are stored once"
    counts = ("tokens_in", "tokens_out", "tokens_cached", "tokens_cache_written")
    assert [price.cost(*(row[name] for name in counts)) for row in rows] == [row["cost_usd"] for row in rows]
    assert ended.cost_usd == pytest.approx(sum(row["cost_usd"] for row in rows))

    place = CALL_COLUMNS.index("reply")
    replies = [Reply.model_validate(row[place]) for row in call_rows(db, project_id(db, "films"))]
    assert [reply.usage.cache_written for reply in replies] == written
