"""The example package of docs/judges.md, really installed, judges a real run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recjudge_tui.store.schema import connect
from tests.support.runs import make_project, ran, verdicts
from tests.support.servers.process import ROOT
from tests.support.waiting import HANG_S

PACKAGE = Path(__file__).parent / "example_package"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the example package is importable."""
    site = tmp_path_factory.mktemp("site")
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    subprocess.run([*install, "--target", site, PACKAGE], check=True, capture_output=True, timeout=120)
    return {"PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}


def test_a_judge_of_another_package_judges_a_run(project_db: Path, installed: dict[str, str]) -> None:
    with connect(project_db) as db:
        make_project(db)
    words = ["run", "pointwise", "-p", "films", "--judge", "example:Poor Match", "--db", project_db]
    code, _, err = ran(*words, env=installed)
    assert code == 0, err
    with connect(project_db) as db:
        labels = {row[7] for row in verdicts(db, 1)}
        assert labels == {"Poor"}
        assert db.value("SELECT kind FROM raters WHERE name = 'Poor Match'") == "judge"


def test_it_is_listed_and_tested_like_the_others(project_db: Path, installed: dict[str, str]) -> None:
    code, out, err = ran("judge", "list", "--format", "csv", "--db", project_db, env=installed)
    assert code == 0, err
    assert "example:…,another package,,recjudge-example" in out
    code, out, err = ran("judge", "test", "example:x", "--format", "csv", "--db", project_db, env=installed)
    assert code == 0, err
    assert "model,example-1" in out


def test_where_it_is_not_installed_it_is_not_known(project_db: Path) -> None:
    code, _, err = ran("judge", "test", "example:x", "--db", project_db)
    assert code == 2
    assert "no judge “example:x”" in err


# ---- bad plugins ---------------------------------------------------------------------------------------------


MODULE = """
import time
from recjudge_tui.domain.judge import Identity

class Judge:
    rater_kind, cacheable, concurrency = "judge", False, 1
    def __init__(self, spec):
        self.name = spec.spec
    async def prepare(self, workload):
        return Identity(name="blocks", digest="1")
    async def ask(self, request):
        print("asked", flush=True)
        {ask}
    async def close(self):
        pass
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Four judges: `broken` and `exits` fail on import, `raises` and `blocks` when they are asked."""
    info = tmp_path / "bad_judges-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad-judges\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[recjudge.judges]\n"
        + "".join(f"{name} = {name}_judge:Judge\n" for name in ("broken", "exits", "blocks", "raises"))
    )
    (tmp_path / "broken_judge.py").write_text("import no_such_package\n")
    (tmp_path / "exits_judge.py").write_text("raise SystemExit(7)\n")
    (tmp_path / "blocks_judge.py").write_text(MODULE.format(ask="while True: time.sleep(3600)"))
    (tmp_path / "raises_judge.py").write_text(MODULE.format(ask="raise ZeroDivisionError('by nothing')"))
    with connect(tmp_path / "r.db") as db:
        make_project(db)
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
        "RECJUDGE_DB": str(tmp_path / "r.db"),
        "OLLAMA_HOST": "http://127.0.0.1:9",
    }


# what is asked again after an error is asked soon, and a judge that does not close is left soon
SOON = """
from recjudge_tui.judges import registry
from recjudge_tui.runs import calls
calls.FIRST_WAIT_S, registry.CLOSED_WITHIN_S = 0.01, 0.1
from recjudge_tui.cli.app import main
main()
"""


def _command(*words: str) -> list[str]:
    return [sys.executable, "-c", SOON, *words]


RUN = ("run", "pointwise", "-p", "films", "--limit", "1", "--judge")


def _ran(environment: dict[str, str], *words: str) -> tuple[int, str]:
    done = subprocess.run(_command(*words), env=environment, capture_output=True, text=True, timeout=HANG_S)
    return done.returncode, done.stdout + done.stderr


def test_what_cannot_be_loaded_is_named_and_the_rest_works(environment: dict[str, str]) -> None:
    for name, why in (("broken", "no_such_package"), ("exits", "SystemExit: 7")):
        code, said = _ran(environment, *RUN, f"{name}:x")
        assert code == 2
        assert f"“{name}” of the package bad-judges cannot be loaded" in said
        assert why in said
        assert "Traceback" not in said
    assert _ran(environment, *RUN, "rules")[0] == 0
    _, said = _ran(environment, "doctor", "--format", "csv")
    assert "judge broken,warning" in said
    assert "judge blocks,ok" in said


def test_what_a_judge_raises_ends_its_run(environment: dict[str, str]) -> None:
    code, said = _ran(environment, *RUN, "raises:x")
    assert code != 0
    assert "The judge of the package bad-judges failed" in said
    assert "ZeroDivisionError: by nothing" in said
    assert "Traceback" not in said


def test_a_judge_that_blocks_ends_with_the_time_limit(environment: dict[str, str]) -> None:
    begin = time.monotonic()
    code, said = _ran(environment, *RUN, "blocks:x", "--timeout", "0.5")
    assert code == 1
    assert "no answer within 0.5 s" in said
    assert time.monotonic() - begin < HANG_S / 2


def test_a_judge_that_blocks_ends_with_sigterm(environment: dict[str, str]) -> None:
    with subprocess.Popen(
        _command(*RUN, "blocks:x", "--timeout", "600"),
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as child:  # fmt: skip
        assert child.stdout is not None
        while "asked" not in (line := child.stdout.readline()):
            assert line, child.communicate()[1]
        child.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        child.send_signal(signal.SIGTERM)  # the first one waits for calls in flight
        child.communicate(timeout=HANG_S)
        assert child.returncode not in (0, -signal.SIGKILL)
