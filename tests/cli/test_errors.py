"""How the command ends: exit codes, errors in plain words, and what `--help` may load."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import get_args

import click
import pytest

from recjudge_tui.cli.output import command as command_of
from recjudge_tui.steps import Action, Step
from recjudge_tui.store.schema import connect
from tests.support.commands import commands
from tests.support.hostile import HOSTILE
from tests.support.runs import command, make_project, planned, ran
from tests.support.servers.process import ROOT, start
from tests.support.waiting import HANG_S, wait_until

HEAVY = tuple("textual rich httpx ollama pydantic numpy scipy sqlite_utils jinja2 sqlite3".split())


def test_every_command_has_help_with_an_example_of_itself() -> None:
    for words, found in commands():
        text = found.get_help(click.Context(found, info_name=f"recjudge {words}".strip()))
        assert re.search(rf"Example:\n +recjudge {words}", text), words
        assert all(o.help for o in found.params if isinstance(o, click.Option)), words


def test_help_loads_nothing_heavy_and_no_other_command() -> None:
    words = [["--version"], *([*name.split(), "--help"] for name, _ in commands() if name != "export")]
    program = (
        "import sys; from recjudge_tui.cli.app import main\n"
        f"for words in {words}:\n"
        "    try: main(words)\n"
        "    except SystemExit as end: assert end.code == 0, words\n"
        f"    heavy = set({HEAVY}) & set(sys.modules)\n"
        "    assert not heavy, (words, heavy)\n"
        "    assert 'recjudge_tui.cli.running' not in sys.modules, words\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("code", "words", "says"),
    [
        (2, ["nonsense"], "No such command 'nonsense'"),
        (2, ["run", "pointwise"], "no judge is named"),
        (2, ["run", "pointwise", "-p", "films", "--judge", "oracle"], "no judge “oracle”"),
        (
            1,
            ["run", "pointwise", "-p", "films", "--judge", "rules", "--systems", "x"],
            "no system “x” in this project",
        ),
        (
            2,
            ["run", "pointwise", "-p", "films", "--judge", "rules", "--as-of", "soon"],
            "“soon” is not a time",
        ),
        (2, [], "needs a terminal"),
        (1, ["run", "pointwise", "-p", "books", "--judge", "rules"], "Available: films"),
        (1, ["run", "pointwise", "-p", "films", "--judge", "rules", "--prompt", "x"], "no prompt “x”"),
        (1, ["runs", "resume", "99"], "no run 99"),
        (1, ["runs", "retry", "99"], "no run 99"),
        (1, ["runs", "show", "99"], "no run 99"),
        (1, ["runs", "delete", "99", "--yes"], "no run 99"),
        (1, ["cases", "show", "99"], "no case 99"),
        (0, ["runs", "list"], ""),
    ],
)
def test_exit_codes(tmp_path: Path, code: int, words: list[str], says: str) -> None:
    path = tmp_path / "recjudge.db"
    with connect(path) as db:
        make_project(db, users=2)
    found, out, err = ran(*words, env={"RECJUDGE_DB": str(path)})
    assert (found, says in err) == (code, True), err
    assert "Traceback" not in err
    assert code == 0 or out == ""


def test_an_error_shows_its_traceback_only_with_debug(project_db: Path) -> None:
    project_db.write_text("not a database at all, but long enough to look at", encoding="utf-8")
    code, out, err = ran("runs", "list", "--db", project_db)
    assert (code, out) == (1, "")
    assert err.splitlines()[0] == f"error: {project_db} is not a recjudge database"
    assert len(err.splitlines()) == 3
    code, _, err = ran("runs", "list", "--db", project_db, "--debug")
    assert (code, "Traceback" in err, "StoreError" in err) == (1, True, True)


def test_an_unexpected_error_is_one_line_unless_debug_is_on(tmp_path: Path) -> None:
    program = (
        "import sys; import recjudge_tui.cli.options as options\n"
        "def broken(*_, **__): raise ZeroDivisionError('by \\x1b[31mzero')\n"
        "import recjudge_tui.store.schema as schema; schema.connect = broken\n"
        "from recjudge_tui.cli.app import main; main(sys.argv[1:])"
    )
    words = [sys.executable, "-c", program, "runs", "list", "--db", str(tmp_path / "x.db")]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    first, second = done.stderr.splitlines()
    assert (done.returncode, first) == (1, "error: unexpected error: ZeroDivisionError: by [31mzero")
    assert "--debug" in second
    done = subprocess.run([*words, "--debug"], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, "Traceback" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    "words", [["cases", "list", "-p", "films"], ["export", "-p", "films", "cases"], ["--help"]]
)
def test_closing_the_output_early_is_not_an_error(tmp_path: Path, words: list[str]) -> None:
    path = tmp_path / "recjudge.db"
    with connect(path) as db:
        make_project(db, users=60)
        planned(db)
    ours, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
    # what does not fit into the pipe is written when nobody reads any more
    process = command(*words, env={"RECJUDGE_DB": str(path)}, stdout=theirs)
    os.close(theirs)
    assert os.read(ours, 1)
    os.close(ours)
    _, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, err) == (0, "" if words == ["--help"] or "list" in words else err)
    assert "Traceback" not in err
    assert "error" not in err.casefold()


def test_hostile_words_reach_the_terminal_only_as_safe_text(tmp_path: Path) -> None:
    fit = (text for text in HOSTILE if len(text) < 1000 and "\x00" not in text)
    text = "".join(fit).encode("utf-8", "replace").decode()
    for words in (["runs", "list", "-p", text], [text], ["run", text], ["runs", "list", "--format", text]):
        code, out, err = ran(*words, "--db", tmp_path / "x.db")
        assert (code, out, "Traceback" in err) in ((1, "", False), (2, "", False))
        assert not set(map(ord, err)) & {0x1B, 0x07, 0x08, 0x7F, 0x9B, 0x9D, 0x202E, 0x2066}, repr(err)


def test_an_interrupt_before_the_run_began_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "recjudge.db"
    with connect(path) as db, start("openai_api", "--delay-ms", 200) as server:
        make_project(db, users=300)
        judge = ("--judge", "openai:hash-judge", "--base-url", server.url)
        process = command("run", "pairwise", "-p", "films", *judge, "--db", path)
        wait_until(lambda: db.value("SELECT count(*) FROM snapshots") or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=HANG_S)
        assert (process.returncode, "Traceback" in err) == (130, False), err
        if db.value("SELECT count(*) FROM runs"):
            assert db.value("SELECT state FROM runs") in ("planned", "stopped"), (
                "the interrupt came after the plan"
            )


def test_the_app_also_needs_a_terminal_on_stderr(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    try:
        process = command("--db", tmp_path / "x.db", stdin=theirs, stdout=theirs)
        _, err = process.communicate(timeout=HANG_S)
    finally:
        os.close(ours)
        os.close(theirs)
    assert (process.returncode, "needs a terminal" in err) == (2, True)


def test_an_error_with_a_next_step_names_a_command_that_exists(project_db: Path) -> None:
    connect(project_db).close()
    code, _, err = ran("runs", "show", 99, "--db", project_db)
    assert code == 1
    assert "error: no run 99\n  Next: recjudge runs list\n" in err
    known = [name for name, _ in commands()]
    for action in get_args(Action):
        for words in re.findall(r"recjudge ([a-z ]+)", command_of(Step(action))):
            assert any(f"{words} ".startswith(f"{name} ") for name in known), (action, words)
