"""A run that shows images: what is stored, what is sent, what is counted, and who is refused."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import undo_import
from recjudge_tui.store.projects import delete_project
from tests.support.images import illustrated
from tests.support.requests import sent_request
from tests.support.runs import calls, intact, load, make_project, plan, planned, server_judge
from tests.support.stub_server import answer, completion, serving

OPENAI = JudgeSpec(spec="openai:m", base_urls=("http://127.0.0.1:9/v1",))
REPLY = json.dumps({"reasoning": "r", "category": "Good Match", "flagged_items": []})


@pytest.fixture
def shop(db: Database, tmp_path: Path) -> Database:
    make_project(db, users=2)
    illustrated(db, tmp_path / "data", count=30)
    return db


def script(line: str, _: int) -> bytes:
    return answer(404, {}) if line.startswith("GET") else answer(200, completion(REPLY))


def test_what_is_sent_is_what_is_stored(shop: Database) -> None:
    with serving(script) as stub:
        run = planned(shop, server_judge(stub.url), images=True)
        assert work(shop.path, run).state == "done"
        bodies = [json.loads(body) for body in stub.bodies if body]
    rows = calls(shop, run)
    assert len(bodies) == len(rows) == 4
    asked = {sent_request(shop, row["id"]).content_hash(): row["content_hash"] for row in rows}
    assert all(now == then for now, then in asked.items())
    contents = dict(map(tuple, shop.rows("SELECT digest, content FROM images")))
    sent = 0
    for body in bodies:
        system, user = body["messages"]
        assert isinstance(system["content"], str)
        for before, part in zip(user["content"], user["content"][1:], strict=False):
            if part["type"] == "image_url":
                sent += 1
                head, data = part["image_url"]["url"].split(",")
                assert head == "data:image/jpeg;base64"
                assert base64.b64decode(data) in contents.values()
                assert before["text"].endswith("]")
    assert sent == sum(len(sent_request(shop, row["id"]).messages[1].images) for row in rows) > 8
    assert intact(shop)


def test_images_are_counted_in_the_estimate(shop: Database) -> None:
    names, seen = (plan(shop, OPENAI, dry_run=True, images=on).estimate for on in (False, True))
    run = planned(shop, OPENAI, images=True)
    images = sum(len(sent_request(shop, row["id"]).messages[1].images) for row in calls(shop, run))
    assert (names.images, seen.images) == (0, images)
    marks = len(" [image 1]") * images
    assert seen.tokens_in_low - names.tokens_in_low == pytest.approx(85 * images, abs=marks)
    assert seen.tokens_in_high - names.tokens_in_high == pytest.approx(340 * images, abs=marks)
    assert seen.longest_prompt_tokens > names.longest_prompt_tokens


@pytest.mark.parametrize("spec", ["rules", "random"])
def test_a_judge_that_takes_no_images_is_refused(shop: Database, spec: str) -> None:
    with pytest.raises(UsageError, match="does not accept images"):
        plan(shop, JudgeSpec(spec=spec), images=True)
    assert shop.value("SELECT count(*) FROM runs") == 0


def test_a_run_without_any_image_is_refused(db: Database) -> None:
    make_project(db, users=1)
    with pytest.raises(RunError, match="none of the items"):
        plan(db, OPENAI, images=True)


def test_what_was_shown_stays_when_the_import_is_undone(shop: Database) -> None:
    run = planned(shop, OPENAI, images=True)
    before = [sent_request(shop, row["id"]).content_hash() for row in calls(shop, run)]
    undo_import(shop, shop.value("SELECT max(id) FROM imports WHERE kind = 'items'"))
    assert [sent_request(shop, row["id"]).content_hash() for row in calls(shop, run)] == before
    assert 0 < shop.value("SELECT count(*) FROM images") <= 6
    delete_project(shop, "films")
    assert shop.value("SELECT count(*) FROM images") == 0
    assert intact(shop)


def test_explanations_show_the_image_of_their_item(shop: Database) -> None:
    load(
        shop,
        "explanations",
        [("user_id", "item_id", "system", "text"), ("u00", "i1", "als", "Like the others.")],
    )
    run = planned(shop, OPENAI, "explanation", images=True)
    message = sent_request(shop, calls(shop, run)[0]["id"]).messages[1]
    assert len(message.images) == 1
    assert "[image 1]" in message.content
