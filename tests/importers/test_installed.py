"""Another package's layout, really installed: a wheel that pip unpacks, found by a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

MODULE = '''
"""Clicks as `#clicks`, then two words a line."""
from recjudge_tui.importers.layout import Layout
from recjudge_tui.importers.reader import text_lines


def fits(sample, kind):
    return sample.text.startswith("#clicks")


def rows(request):
    for line, text in enumerate(text_lines(request.path), start=1):
        if not text.startswith("#"):
            user, item = text.split()
            yield line, {"user_id": user, "item_id": item, "type": "click"}


CLICKS = Layout("clicks", ("events",), "two words a line after #clicks", fits, rows)
'''
INFO = "recjudge_clicks-1.0.dist-info"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that pip installed the package into."""
    folder = tmp_path_factory.mktemp("clicks")
    wheel = folder / "recjudge_clicks-1.0-py3-none-any.whl"
    files = {
        "recjudge_clicks.py": MODULE,
        f"{INFO}/METADATA": "Metadata-Version: 2.1\nName: recjudge-clicks\nVersion: 1.0\n",
        f"{INFO}/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{INFO}/entry_points.txt": "[recjudge.importers]\nclicks = recjudge_clicks:CLICKS\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr(f"{INFO}/RECORD", "".join(f"{name},,\n" for name in [*files, f"{INFO}/RECORD"]))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target"]
    subprocess.run([*command, str(folder / "site"), str(wheel)], check=True, capture_output=True)
    return folder / "site"


def _import(site: Path | None, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`recjudge import log.txt …`, with the package's folder on the path or without."""
    (folder / "log.txt").write_text("#clicks\nu 1\nu 0012\n")
    path = [str(Path(__file__).resolve().parents[2]), *([str(site)] if site else [])]
    return subprocess.run(
        [sys.executable, "-m", "recjudge_tui", "import", "log.txt", "-p", "p", "--db", "a.db", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_is_guessed_and_named(site: Path, tmp_path: Path) -> None:
    done = _import(site, tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert "log.txt: 2 rows read, 2 stored, 0 skipped, 0 unchanged · layout clicks" in done.stderr
    again = _import(site, tmp_path, "--as", "events", "--layout", "clicks")
    assert "as import 1 of this project, nothing changed" in again.stderr


def test_its_file_is_refused_as_something_else(site: Path, tmp_path: Path) -> None:
    done = _import(site, tmp_path, "--as", "items")
    assert done.returncode == 1
    assert "log.txt contains events, not items" in done.stderr
    assert "two words a line after #clicks" in done.stderr


def test_without_the_package(tmp_path: Path) -> None:
    done = _import(None, tmp_path, "--as", "events", "--layout", "clicks")
    assert done.returncode == 2
    assert "no layout “clicks”" in done.stderr
