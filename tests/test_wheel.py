"""The wheel carries everything: built, installed elsewhere, and run there."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return next(out.glob("recjudge-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel in it; its dependencies are those of this one, its own code is not."""
    home = tmp_path_factory.mktemp("elsewhere")
    venv.create(home / "venv", with_pip=False)
    python = home / "venv" / "bin" / "python"
    words = f"-m pip --python {python} install -q --no-deps --no-index {wheel}".split()
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    site = said_by(home, "import sysconfig; print(sysconfig.get_path('purelib'))")
    Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return home


def environment(home: Path) -> dict[str, str]:
    """That of this process without what would lead to the checkout or to the reader's own files."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RECJUDGE", "PYTHON"))}
    return kept | {
        "COLUMNS": "80",
        "HOME": str(home),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_CONFIG_HOME": str(home / "config"),
    }


def said_by(home: Path, code: str) -> str:
    command = [str(home / "venv" / "bin" / "python"), "-c", code]
    done = subprocess.run(
        command, cwd=home, env=environment(home), capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def run(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(home / "venv" / "bin" / "recjudge"), *words]
    return subprocess.run(
        command, cwd=home, env=environment(home), capture_output=True, text=True, timeout=300
    )


def test_the_data_folders_are_inside_the_package_and_nowhere_else(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"recjudge_tui"}
    for expected in (
        "migrations/0001_initial.sql",
        "prompts/pairwise-media.toml",
        "sample_data/shop/items.csv",
    ):
        assert f"recjudge_tui/_data/{expected}" in names
    assert {"recjudge_tui/reports/methods.md.jinja", "recjudge_tui/reports/references.bib"} < set(names)
    assert not [name for name in names if "__pycache__" in name]


def test_the_demo_runs_from_the_wheel_alone(installed: Path) -> None:
    assert str(installed) in said_by(installed, "import recjudge_tui; print(recjudge_tui.__file__)")
    demo = run(installed, "demo", "--no-tui")
    assert demo.returncode == 0, demo.stderr
    for part in ("cooccurrence", "Synthetic data", "not a language model"):
        assert part in demo.stdout
    # what the README says that the demo prints
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert (
        demo.stdout[demo.stdout.index("cooccurrence leads") : demo.stdout.index("\nnext:")].rstrip() in readme
    )
    assert len(demo.stdout.splitlines()) <= 30
    assert max(map(len, demo.stdout.splitlines())) <= 80
    tables = run(installed, "demo", "--no-tui", "--tables")
    assert tables.returncode == 0, tables.stderr
    for part in ("annotator_1", "annotator_2", "Leaderboard: arena", "Agreement"):
        assert part in tables.stdout
    assert (installed / "data" / "recjudge" / "recjudge.db").exists()
