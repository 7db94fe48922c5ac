"""`recjudge import`: what it says, and its progress on a terminal and elsewhere."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recjudge_tui.cli.app import recjudge
from recjudge_tui.store.schema import connect


def run(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(
        recjudge, ["import", *words, "-p", "p", "--db", str(folder / "a.db")], catch_exceptions=False
    )


LISTS = "userID,itemID,prediction,note\n1,10,4.5,x\n1,11,4.75,y\n2,10,3.25,z\n"


def test_a_dry_run_shows_five_rows_and_stores_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "als.csv").write_text(LISTS)
    (folder / "knn.csv").write_text(LISTS.replace("10", "12"))
    (folder / "items.csv").write_text(
        "item_id,title,colour\n" + "".join(f"{n},Lamp {n},red\n" for n in range(20))
    )
    (folder / "users.csv").write_text("user_id,age\n1,33\n2,\n")
    (folder / "clicks.csv").write_text(
        "user,item,type,time,stars\n1,10,click,2024-05-01,\n1,12,rating,,4.5\n"
    )
    (folder / "texts.csv").write_text("user,item,model,explanation\n1,10,gpt,Because\n")
    (folder / "labels.csv").write_text(
        "annotator,user,system_a,system_b,value,context\nann,1,als,knn,A,home\nann,1,,,5,\n"
    )
    result = run(tmp_path, str(folder), "--dry-run")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "items, the first 5:",
        *(f"  item {n} · Lamp {n} · colour = red" for n in range(5)),
        "users, the first 2:",
        "  user 1 · age = 33",
        "  user 2",
        "events, the first 2:",
        "  user 1 · click · item 10 · 2024-05-01T00:00:00+00:00",
        "  user 1 · rating 4.5 · item 12",
        "lists, the first 4:",
        "  user 1 · system als · 2 items: 11, 10",
        "  user 2 · system als · 1 item: 10",
        "  user 1 · system knn · 2 items: 11, 12",
        "  user 2 · system knn · 1 item: 12",
        "explanations, the first 1:",
        "  user 1 · item 10 · system gpt · “Because”",
        "labels, the first 2:",
        "  user 1 · als (A) against knn (B) · ann says A on overall · pairwise · context home",
        "  user 1 · ann says 5 on overall · explanation",
        "This was a dry run: nothing was stored.",
    ]
    assert (
        "items.csv: 20 rows read, 20 would be stored, 0 skipped, 0 unchanged · layout plain\n"
        in result.stderr
    )
    assert not (tmp_path / "a.db").exists()
    assert run(tmp_path, str(folder / "users.csv")).exit_code == 0
    before = (tmp_path / "a.db").read_bytes()
    result = run(tmp_path, str(folder), "--dry-run")
    assert "users: nothing new" in result.stdout
    assert (tmp_path / "a.db").read_bytes() == before


@pytest.mark.parametrize("packed", [False, True])
def test_the_standard_input(tmp_path: Path, packed: bool) -> None:
    content = gzip.compress(LISTS.encode()) if packed else LISTS.encode()
    words = ["-", "-p", "p", "--system", "als", "--db", str(tmp_path / "a.db")]
    result = CliRunner().invoke(recjudge, ["import", *words], input=content, catch_exceptions=False)
    assert result.stderr.startswith("stdin: 3 rows read, 3 stored")
    with connect(tmp_path / "a.db") as db:
        assert tuple(db.rows("SELECT path, layout, rows_stored FROM imports")[0]) == (
            "stdin",
            "plain, system als",
            3,
        )
