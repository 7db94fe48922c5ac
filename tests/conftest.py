"""Fixtures that every room's tests share: real servers as processes of their own, and material that bites."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings

from recjudge_tui.store import schema
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import check_schema, connect
from tests.support import late_progress  # noqa: F401 - imported for what it does
from tests.support.hostile import HOSTILE
from tests.support.real_model import model_path
from tests.support.servers.process import ServerProcess, start

# nobody's own settings, keys and servers are read or changed, in other processes either
_SETTINGS = TemporaryDirectory(prefix="recjudge-settings-")
os.environ["XDG_CONFIG_HOME"] = _SETTINGS.name
for _name in """OPENAI_API_KEY OPENAI_BASE_URL ANTHROPIC_API_KEY ANTHROPIC_BASE_URL OLLAMA_API_KEY OLLAMA_HOST AWS_PROFILE
    AWS_ACCESS_KEY_ID SSL_CERT_FILE SSL_CERT_DIR RECJUDGE_READER TMUX""".split():
    os.environ.pop(_name, None)

TESTS = Path(__file__).parent
SHORT = ("annotation", "domain", "importers", "judges", "prompting", "protocols", "raters", "stats", "store")

# a busy machine is no failure; the same examples each time in CI, fresh ones at a developer's desk
settings.register_profile("recjudge", max_examples=40, deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("recjudge")


def pytest_configure() -> None:
    """Where the tests are started in the background, shells let them ignore SIGINT, and every process they start too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests on research data where RECJUDGE_DATA does not say where these lie, those of Ray, of a
    real model and of a browser without it.

    Files that start processes and wait go first, so that at the end no worker is left alone with a long one.
    """
    missing = {
        "data": not os.environ.get("RECJUDGE_DATA"),
        "model": model_path() is None,
        "ray": find_spec("ray") is None,
        "browser": which("chromium") is None,
    }
    apart = [
        item for item in items if any(gone and item.get_closest_marker(m) for m, gone in missing.items())
    ]
    if apart:
        config.hook.pytest_deselected(items=apart)
        items[:] = [item for item in items if item not in apart]
    items.sort(key=lambda item: item.path.relative_to(TESTS).parts[0] in SHORT)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what was imported and collected out of garbage collection, and collect less often: a third of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 5, 5)


@pytest.fixture(scope="session")
def llama_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """llama.cpp with a tiny random model; `.url` has no `/v1` at its end."""
    with start("llama_cpp", "--model-dir", tmp_path_factory.mktemp("model")) as server:
        yield server


@pytest.fixture(scope="module")
def ollama_server() -> Iterator[ServerProcess]:
    """Ollama's API with the models `hash-judge:latest` and `other:1b`."""
    with start("ollama_api", "--models", "hash-judge,other:1b") as server:
        yield server


@pytest.fixture(scope="module")
def openai_server() -> Iterator[ServerProcess]:
    """Chat completions without delay or faults; `.url` has no `/v1` at its end."""
    with start("openai_api") as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def copied_schema() -> Iterator[None]:
    """New files get the schema that the migration made once in this process: making it takes ten times as long.

    Other processes make theirs as ever.
    """
    make = schema._make

    def copied(database: Database) -> None:
        if check_schema(database):
            made.connection.backup(database.connection)

    memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    memory.row_factory = sqlite3.Row
    with Database(memory, Path(":memory:")) as made, pytest.MonkeyPatch.context() as patch:
        make(made)
        patch.setattr(schema, "_make", copied)
        yield


@pytest.fixture
def project_db(tmp_path: Path) -> Path:
    """Where this test's database goes; no file is there yet."""
    return tmp_path / "recjudge.db"


@pytest.fixture
def db(project_db: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Database]:
    """An empty database; nobody's settings are read."""
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path / "config"))
    with connect(project_db) as database:
        yield database


@pytest.fixture(scope="session")
def hostile_strings() -> tuple[str, ...]:
    return HOSTILE


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Bytes are named by their place: an archive holds the time it was made at, so even the length of one within another
    may differ between the workers, which must agree on names."""
    return argname if isinstance(val, bytes) else None
