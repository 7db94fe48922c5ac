from __future__ import annotations

from pathlib import Path

from recjudge_tui.domain.judge import Capabilities, JudgeSpec
from recjudge_tui.store.runs import judge_capabilities, save_capabilities, seconds_a_call
from recjudge_tui.store.schema import connect

SPEC = JudgeSpec(spec="openai:m", base_urls=("http://b:1/", "http://a:1"))
FOUND = Capabilities(
    model="m",
    endpoints=("http://a:1/v1",),
    refused=("temperature",),
    logprobs=True,
    latency_s=0.6,
    concurrency=8,
)


def test_a_record_is_found_under_its_judge_and_servers_only(project_db: Path) -> None:
    with connect(project_db) as db:
        assert judge_capabilities(db, SPEC) is None
        save_capabilities(db, SPEC, FOUND)
        assert judge_capabilities(db, SPEC) == FOUND
        turned = SPEC.model_copy(update={"base_urls": ("http://a:1", "http://b:1"), "api_key_env": "K"})
        assert judge_capabilities(db, turned) == FOUND
        assert judge_capabilities(db, SPEC.model_copy(update={"base_urls": ()})) is None
        assert judge_capabilities(db, SPEC.model_copy(update={"spec": "openai:n"})) is None


def test_a_new_probe_takes_the_place_of_the_old_one(project_db: Path) -> None:
    with connect(project_db) as db:
        save_capabilities(db, SPEC, FOUND)
        save_capabilities(db, SPEC, Capabilities(model="m2"))
        found = judge_capabilities(db, SPEC)
        assert found is not None
        assert (found.model, found.refused) == ("m2", ())
        assert db.value("SELECT count(*) FROM capabilities") == 1


def test_a_record_of_another_version_counts_as_none(project_db: Path) -> None:
    with connect(project_db) as db:
        save_capabilities(db, SPEC, FOUND)
        db.execute("""UPDATE capabilities SET record = '{"of": "the future"}'""")
        assert judge_capabilities(db, SPEC) is None


def test_the_latency_is_the_pace_until_there_is_a_run(project_db: Path) -> None:
    with connect(project_db) as db:
        assert seconds_a_call(db, "openai:m") is None
        save_capabilities(db, SPEC, Capabilities(model="m"))
        assert seconds_a_call(db, "openai:m") is None
        save_capabilities(db, SPEC, FOUND)
        assert seconds_a_call(db, "openai:m") == 0.6 / 8
        assert seconds_a_call(db, "openai:n") is None


def test_a_record_applies_only_to_its_servers_and_model() -> None:
    there = Capabilities(endpoints=("u", "v"), digest="d")
    assert there.hold_for(("v", "u"), "d")
    assert there.hold_for(("v", "u"))
    assert not there.hold_for(("v", "u"), "e")
    assert not there.hold_for(("v",), "d")
    assert Capabilities().hold_for(("anything",), "d")
