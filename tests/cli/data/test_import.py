"""`recjudge import`: what it says, and its progress on a terminal and elsewhere."""

from __future__ import annotations

import gzip
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recjudge_tui.cli import progress
from recjudge_tui.cli.data.imports import import_
from recjudge_tui.errors import InputError
from recjudge_tui.store.schema import connect
from tests.support import samples
from tests.support.waiting import HANG_S


def run(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(
        import_, [*words, "-p", "p", "--db", str(folder / "a.db")], catch_exceptions=False
    )


def test_a_folder_in_one_command(tmp_path: Path) -> None:
    folder = tmp_path / "ml-1m"
    folder.mkdir()
    (folder / "movies.dat").write_bytes(samples.MOVIES_DAT)
    (folder / "users.dat").write_text(samples.USERS_DAT)
    (folder / "ratings.dat").write_text(samples.RATINGS_DAT)
    result = run(tmp_path, str(folder))
    assert (result.exit_code, result.stdout) == (0, "")
    assert [line.partition(" · ")[0] for line in result.stderr.splitlines()] == [
        f"{kind}: {folder / name}: 3 rows read, 3 stored, 0 skipped, 0 unchanged"
        for kind, name in (("items", "movies.dat"), ("users", "users.dat"), ("events", "ratings.dat"))
    ]


def test_one_kind_says_no_kind(tmp_path: Path) -> None:
    (tmp_path / "u.user").write_text(samples.U_USER)
    result = run(tmp_path, str(tmp_path / "u.user"), "--as", "users")
    assert result.stderr.startswith(f"{tmp_path / 'u.user'}: 2 rows read, 2 stored")
    assert "layout movielens-100k" in result.stderr


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
    result = CliRunner().invoke(import_, words, input=content, catch_exceptions=False)
    assert result.stderr.startswith("stdin: 3 rows read, 3 stored")
    with connect(tmp_path / "a.db") as db:
        assert tuple(db.rows("SELECT path, layout, rows_stored FROM imports")[0]) == (
            "stdin",
            "plain, system als",
            3,
        )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            b"user,item\n1,2\n",
            r"cannot tell what stdin contains .*recjudge import - -p p --as lists --system NAME",
        ),
        (b"item_id,title\n1,\n", r"nothing in stdin could be imported as items .*stdin:2: title is empty"),
        (b"", r"stdin is empty"),
    ],
)
def test_errors_call_the_standard_input_by_its_name(tmp_path: Path, content: bytes, says: str) -> None:
    words = ["-", "-p", "p", "--db", str(tmp_path / "a.db")]
    with pytest.raises(InputError, match=f"(?s){says}") as raised:
        CliRunner().invoke(import_, words, input=content, catch_exceptions=False)
    assert "/" not in str(raised.value).replace("docs/mapping.md", "")


def test_progress_is_plain_lines_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.reading("events") as tell:
        tell(1000, 0.2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "PLAIN_FIRST_S", 0.0)
    monkeypatch.setattr(progress, "PLAIN_EVERY_S", 0.0)
    monkeypatch.setattr(progress, "TICK_S", HANG_S)
    with progress.reading("events") as tell:
        tell(1000, 0.2)
        tell(5000, 1.0)
    said = [line.split("%")[0] for line in capsys.readouterr().err.splitlines()]
    assert said == ["reading events: 1,000 rows, 20", "reading events: 5,000 rows, 100"]


def test_a_bar_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "u.data").write_text(samples.U_DATA * 20_000)
    ours, theirs = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "recjudge_tui",
        "import",
        "u.data",
        "-p",
        "p",
        "--as",
        "events",
        "--db",
        "a.db",
    ]
    environment = {
        **os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3]), "TERM": "xterm", "COLUMNS": "100",
    }  # fmt: skip
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    while block := _read(ours):
        shown += block
    os.close(ours)
    assert process.communicate()[0] == b""
    assert process.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert re.search(r"reading events [━╸╺ ]+ +\d+% [\d,]+ rows", text)
    assert "60,000 rows read, 60,000 stored" in text


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # EIO: the other side is closed
        return b""
