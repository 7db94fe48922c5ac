"""What the machine refuses: output that cannot be written, files that cannot be opened."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recjudge_tui.cli.app import main
from recjudge_tui.errors import StoreError
from recjudge_tui.store.schema import connect
from recjudge_tui.system import file_system, is_shared
from tests.support.servers.process import ROOT


@contextmanager
def no_more_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_too_many_open_files_are_not_reported_as_a_fault_of_the_folder(tmp_path: Path) -> None:
    connect(tmp_path / "films.db").close()
    with no_more_files(), pytest.raises(StoreError) as caught:
        connect(tmp_path / "films.db")
    assert caught.value.cause == "Too many files are open."
    assert "ulimit" in caught.value.next_step


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["prompt", "list"]])
def test_a_full_output_is_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str]
) -> None:
    monkeypatch.setenv("RECJUDGE_DB", str(tmp_path / "films.db"))
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(SystemExit) as ended:
            main(words)
    said = capsys.readouterr().err
    assert ended.value.code == 1
    assert said.startswith("error: the standard output cannot be written\n  No space left on device.\n")


def test_streams_that_were_closed_before_the_start_are_no_surprise() -> None:
    words = f"{sys.executable} -m recjudge_tui"
    closed = subprocess.run(f"{words} --version >&-", shell=True, capture_output=True, text=True, cwd=ROOT)
    assert (closed.returncode, closed.stderr.splitlines()[1:2]) == (1, ["  It is closed."])
    assert subprocess.run(f"{words} nonsense 2>&- <&-", shell=True, cwd=ROOT).returncode == 2


MOUNTS = """\
overlay / overlay rw 0 0
/dev/sda1 /home ext4 rw 0 0
server:/data /home/me/net nfs4 rw 0 0
me@box: /home/me/with\\040space fuse.sshfs rw 0 0
tmpfs /mnt/twice tmpfs rw 0 0
//nas/x /mnt/twice cifs rw 0 0
broken
"""


@pytest.mark.parametrize(
    ("path", "kind", "shared"),
    [
        ("/home/me/a.db", "ext4", False),
        ("/home/me/net/deep/a.db", "nfs4", True),
        ("/home/me/network/a.db", "ext4", False),
        ("/home/me/with space/a.db", "fuse.sshfs", True),
        ("/mnt/twice/a.db", "cifs", True),
        ("/elsewhere/a.db", "overlay", False),
    ],
)
def test_the_file_system_is_that_of_the_nearest_mount(path: str, kind: str, shared: bool) -> None:
    found = file_system(Path(path), MOUNTS)
    assert (found, is_shared(found)) == (kind, shared)


def test_windows_is_refused_in_plain_words() -> None:
    """Before anything is imported that Windows does not have."""
    code = """
import sys, signal
for name in ("termios", "fcntl", "resource", "pwd", "grp", "pty", "tty"):
    sys.modules[name] = None
del signal.SIGHUP, signal.SIGALRM
from recjudge_tui.cli.app import main
sys.platform = "win32"
main(["demo"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("recjudge needs Linux, macOS or WSL.")
    assert "Traceback" not in done.stderr
