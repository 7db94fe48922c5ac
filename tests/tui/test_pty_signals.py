"""However the app ends, the terminal is as it was: its modes, its settings, its screen; and runs go on."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import time
from base64 import b64encode
from pathlib import Path
from urllib.parse import quote

import pexpect
import pytest

from recjudge_tui.store.schema import connect
from tests.support.app.projects import make_project, start_run
from tests.support.app.pty import ROOT, app, drain, ended, settings, uncontrolling_terminal
from tests.support.waiting import HANG_S

_MODES = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
# cursor and line wrap are on in a terminal that nobody touched, everything else is off
AT_REST = {b"25": b"h", b"7": b"h"}
SIGNALS = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 130}


def left_on(raw: bytes) -> set[bytes]:
    """The private modes that are not as they are in a terminal at rest after all that was written."""
    state: dict[bytes, bytes] = {}
    for numbers, way in _MODES.findall(raw):
        for number in numbers.split(b";"):
            state[number] = way
    return {number for number, way in state.items() if way != AT_REST.get(number, b"l")}


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_leaves_the_terminal_as_it_was(project_db: Path, number: signal.Signals) -> None:
    make_project(project_db)
    with app(project_db) as child:
        before = settings(child)
        child.expect(b"movies")
        raw = child.before + child.after + drain(child)
        assert settings(child) != before
        assert {b"1049", b"25", b"1000", b"1003", b"1006", b"2004"} <= left_on(raw)
        child.kill(number)
        code, rest = ended(child)
        raw += rest
        assert code == SIGNALS[number]
        assert settings(child) == before
        assert left_on(raw) == set()
        assert raw.count(b"\x1b[>") == raw.count(b"\x1b[<u")
        assert b"Traceback" not in raw


def test_an_app_that_hangs_can_still_be_ended(project_db: Path) -> None:
    make_project(project_db)
    hang = "__import__('time').sleep(600)"
    with running_code(project_db, f"RecjudgeApp.action_show_keys = lambda self: {hang}") as child:
        before = settings(child)
        child.expect(b"movies")
        raw = child.before + child.after + drain(child)
        child.send(b"?")
        drain(child, 0.2)
        child.kill(signal.SIGTERM)
        code, rest = ended(child)
        assert code == 143
        assert settings(child) == before
        assert left_on(raw + rest) == set()


def test_the_app_ends_when_its_terminal_vanishes(project_db: Path) -> None:
    make_project(project_db)
    with app(project_db) as child:
        child.expect(b"movies")
        drain(child)
        child.ptyproc.fileobj.close()
        end = time.monotonic() + HANG_S
        while time.monotonic() < end:
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.05)
        assert pid, "the app lives on without a terminal"
        assert os.WIFEXITED(status)
        assert os.WEXITSTATUS(status) in (129, 120)
        child.terminated = child.ptyproc.closed = child.ptyproc.terminated = True


def read_until(terminal: int, awaited: bytes) -> None:
    seen, end = b"", time.monotonic() + HANG_S
    while awaited not in seen:
        assert time.monotonic() < end, seen
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 1 << 16)


def test_the_app_ends_when_its_terminal_vanishes_without_a_signal(project_db: Path) -> None:
    project = make_project(project_db)
    run = start_run(project_db, project)
    with uncontrolling_terminal(project_db) as (child, terminal):
        read_until(terminal, b"movies")
        os.write(terminal, b"\r")
        read_until(terminal, b"accept")
        os.write(terminal, b"c")
        read_until(terminal, b"2/5")
        os.close(terminal)
        assert child.wait(HANG_S) == 129
    with connect(project_db) as db:
        assert db.value("SELECT count(*) FROM triage_log WHERE action = 'accept'") == 1
        assert db.value("SELECT state FROM runs WHERE id = ?", (run,)) == "running"


LENT = """
command = ["sh", "-c", "echo LENT; sleep 0.3; echo GIVEN BACK"]
RecjudgeApp.action_show_keys = lambda self: self.lend(command)"""
# a program that does not end when it is asked to
DEAF = LENT.replace("echo LENT; sleep 0.3", "trap '' TERM; echo LENT; while :; do sleep 0.3; done")


def test_an_interrupt_belongs_to_the_program_the_terminal_is_lent_to(project_db: Path) -> None:
    make_project(project_db)
    with running_code(project_db, LENT) as child:
        before = settings(child)
        child.expect(b"movies")
        drain(child)
        child.send(b"?")
        child.expect(b"LENT")
        child.kill(signal.SIGINT)
        child.expect(b"GIVEN BACK")
        child.expect(b"movies")
        drain(child)
        child.send(b"qq")
        assert ended(child)[0] == 0
        assert settings(child) == before


def test_a_signal_to_leave_ends_the_program_the_terminal_is_lent_to(project_db: Path) -> None:
    make_project(project_db)
    with running_code(project_db, DEAF) as child:
        before = settings(child)
        child.expect(b"movies")
        raw = child.before + child.after + drain(child)
        child.send(b"?")
        child.expect(b"LENT")
        raw += child.before + child.after
        child.kill(signal.SIGTERM)
        code, rest = ended(child)
        assert code == 143
        assert settings(child) == before
        assert left_on(raw + rest) == set()


PLANTED = "planted/key+0123456789="
CRASH = """
def broken(self): key = os.environ["OPENAI_API_KEY"]; raise ZeroDivisionError('[/planted] fault')
RecjudgeApp.action_show_keys = broken"""
DRAWN = """
def broken(self): key = os.environ["OPENAI_API_KEY"]; raise ZeroDivisionError('[/planted] fault')
from textual.widget import Widget
class Bad(Widget):
    render = broken
RecjudgeApp.action_show_keys = lambda self: self.screen.mount(Bad())"""


@pytest.mark.parametrize("code", [CRASH, DRAWN], ids=["handler", "render"])
@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
def test_a_crash_prints_one_line_and_restores_the_terminal(project_db: Path, code: str, debug: bool) -> None:
    project = make_project(project_db)
    run = start_run(project_db, project)
    with running_code(project_db, code, *(["--debug"] if debug else [])) as child:
        before = settings(child)
        child.expect("▶".encode())
        raw = child.before + child.after + drain(child)
        child.send(b"?")
        code, rest = ended(child)
        raw += rest
        assert code == 1
        assert settings(child) == before
        assert left_on(raw) == set()
    for form in (PLANTED, quote(PLANTED, safe=""), b64encode(PLANTED.encode()).decode()):
        assert form.encode() not in raw
    assert b"\x1b[H\x1b[J" in raw  # nor does a terminal without a second screen keep the last one
    said = raw[raw.rindex(b"\x1b[?1049l") :].decode()
    assert f"Run {run} continues without the app" in said
    assert "ZeroDivisionError" in said
    assert "[/planted] fault" in said
    assert ("Traceback" in said) is debug
    if not debug:
        assert said.count("ZeroDivisionError") == 1
        assert "--debug" in said


def running_code(path: Path, code: str, *words: str) -> pexpect.spawn[bytes]:
    """`recjudge` with a fault in it, by the way of the command line."""
    start = (
        "import os, sys\nfrom recjudge_tui.tui.app import RecjudgeApp\nfrom recjudge_tui.cli.app import main\n"
        f"{code}\nmain(sys.argv[1:])"
    )
    environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    environment["OPENAI_API_KEY"] = PLANTED
    return pexpect.spawn(
        sys.executable,
        ["-c", start, "--db", str(path), *words],
        env=environment,
        dimensions=(24, 80),
        timeout=60,
    )
