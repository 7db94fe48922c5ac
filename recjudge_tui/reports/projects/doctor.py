"""Checks the installation, one row per check. Keys are mentioned by name only."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, NamedTuple

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import JudgeError, RecjudgeError, StoreError
from recjudge_tui.judges.http.keys import is_usable
from recjudge_tui.judges.registry import built_in
from recjudge_tui.network import certificates, proxies, tls_context, usable_network
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.store.database import SQLITE_VERSION
from recjudge_tui.store.inspection import (
    FileReport,
    RunningRun,
    can_write,
    file_system,
    inspect_file,
    is_shared,
    read_mounts,
)

State = Literal["ok", "warning", "problem"]
_LEAST_SQLITE = (3, 37, 0)  # STRICT tables
_LEAST_SCREEN = (80, 24)
_EXTRAS = {
    "bedrock": ("boto3", "judges on Amazon Bedrock"),
    "chinese": ("jieba", "Chinese words of BLEU and ROUGE"),
    "images": ("pillow", "images of items"),
    "keyring": ("keyring", "keys from the system keyring"),
    "parquet": ("pyarrow", "import of Parquet files"),
    "ray": ("ray", "batch files over a cluster"),
    "socks": ("socksio", "SOCKS proxies"),
    "text": ("sacrebleu", "BLEU and ROUGE raters"),
}
_COLUMNS = (
    Column("what", "What"),
    Column("state", "State"),
    Column("detail", "Detail"),
    Column("next_step", "Next step"),
)


class Check(NamedTuple):
    """`problem`: something required does not work. `warning`: it works or is optional, but deserves a look."""

    what: str
    state: State
    detail: str
    next_step: str = ""


class Surroundings(NamedTuple):
    """The inputs of the checks that are given by the caller. `size` is (columns, lines), None without a terminal."""

    path: Path
    stale: tuple[RunningRun, ...]
    prices: Path
    prices_fault: RecjudgeError | None
    environment: Mapping[str, str]
    encoding: str
    size: tuple[int, int] | None


def doctor_table(checks: Iterable[Check]) -> Table:
    """The checks as a table; text from outside is made safe and put on one line."""
    rows: tuple[Row, ...] = tuple(
        {
            "what": one_line(check.what, 80),
            "state": check.state,
            "detail": one_line(check.detail, 400),
            "next_step": one_line(check.next_step, 300),
        }
        for check in checks
    )
    counts = {state: sum(row["state"] == state for row in rows) for state in ("problem", "warning")}
    summary = ", ".join(f"{n} {state}{'s' if n > 1 else ''}" for state, n in counts.items() if n)
    return Table(
        "Checks",
        _COLUMNS,
        rows,
        (f"{summary or 'no problems'}; -p PROJECT checks the texts of a project instead",),
    )


def local_checks(around: Surroundings, report: FileReport | StoreError | None) -> list[Check]:
    """Every check that needs no network, in reading order."""
    names = report.key_names if isinstance(report, FileReport) else ()
    return [
        *database_checks(around.path, report),
        file_system_check(around.path, read_mounts()),
        python_check(),
        sqlite_check(),
        terminal_check(around.environment, around.encoding, around.size),
        proxy_check(around.environment),
        certificates_check(),
        *key_checks(names),
        *extra_checks(),
        *(stale_check(run) for run in around.stale),
        prices_check(around.prices, around.prices_fault),
    ]


def inspected_file(path: Path) -> FileReport | StoreError | None:
    """The result of `store.inspection.inspect_file`, or its error."""
    try:
        return inspect_file(path)
    except StoreError as error:
        return error


def database_checks(path: Path, report: FileReport | StoreError | None) -> list[Check]:
    if isinstance(report, StoreError):
        return [Check("database", "problem", f"{report.title}. {report.cause}", report.next_step)]
    if not can_write(path):
        cure = "Make the file and its folder writable, or choose another with --db."
        if report is None or report.faults or report.schema < report.known_schema:
            return [Check("database", "problem", f"{path} cannot be written", cure)]
        return [
            Check(
                "database", "warning", f"{path} cannot be written: reports work, everything else fails", cure
            )
        ]
    if report is None:
        return [
            Check(
                "database",
                "ok",
                f"{path}: not created yet",
                "“recjudge import” or “recjudge demo” creates it.",
            )
        ]
    if report.faults:
        cure = "Restore a copy made by “recjudge db backup”; keep the damaged file."
        return [Check("database", "problem", f"{path} is damaged: {'; '.join(report.faults)}", cure)]
    schema = f"schema {report.schema} of {report.known_schema}"
    detail = f"{path}: {size_text(report.size)}, {schema}, intact, journal {report.journal}"
    if report.schema < report.known_schema:
        return [
            Check(
                "database", "warning", detail, "The next command brings it up to date, after a backup copy."
            )
        ]
    return [Check("database", "ok", detail)]


def file_system_check(path: Path, mounts: str | None) -> Check:
    """Whether a write-ahead log is safe at the database's place; `mounts` is None if the system does not list them."""
    kind = file_system(path, mounts) if mounts else ""
    if not kind:
        return Check("file system", "ok", "unknown on this system", "Keep the database on a local disk.")
    if is_shared(kind):
        return Check(
            "file system",
            "warning",
            f"{kind}: a write-ahead log may not be safe on it",
            "Choose a local disk with --db or RECJUDGE_DB; else use it from one machine at a time.",
        )
    return Check("file system", "ok", f"{kind}: a local disk")


def python_check() -> Check:
    return Check("Python", "ok", f"{platform.python_version()} ({sys.executable})")


def sqlite_check() -> Check:
    if tuple(map(int, SQLITE_VERSION.split("."))) < _LEAST_SQLITE:
        least = ".".join(map(str, _LEAST_SQLITE))
        return Check("SQLite", "problem", SQLITE_VERSION, f"Use a Python with SQLite {least} or newer.")
    return Check("SQLite", "ok", SQLITE_VERSION)


def terminal_check(environment: Mapping[str, str], encoding: str, size: tuple[int, int] | None) -> Check:
    """The capabilities of the terminal for the app."""
    utf8 = encoding.lower().replace("-", "") == "utf8"
    term = environment.get("TERM", "")
    facts = [encoding or "no encoding", _colours(environment, term)]
    facts += [f"{size[0]}x{size[1]}"] if size else ["not a terminal"]
    facts += ["in tmux"] if environment.get("TMUX") else []
    facts += ["over SSH"] if environment.get("SSH_CONNECTION") else []
    if not utf8:
        return Check("terminal", "warning", ", ".join(facts), "Set a UTF-8 locale: export LANG=C.UTF-8")
    if size and term == "dumb":
        return Check("terminal", "warning", ", ".join(facts), "Set TERM to the type of the terminal.")
    if size and (size[0] < _LEAST_SCREEN[0] or size[1] < _LEAST_SCREEN[1]):
        return Check("terminal", "warning", ", ".join(facts), "The app is made for 80x24 and more.")
    tmux = "To copy through tmux: tmux set -g set-clipboard on" if environment.get("TMUX") else ""
    return Check("terminal", "ok", ", ".join(facts), tmux)


def _colours(environment: Mapping[str, str], term: str) -> str:
    if environment.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environment.get("COLORTERM") in ("truecolor", "24bit"):
        return "24-bit colours"
    if "256" in term:
        return "256 colours"
    return "no colours" if term in ("", "dumb", "unknown") else "few colours"


def proxy_check(environment: Mapping[str, str]) -> Check:
    """The proxies in force, without user names and passwords, and whether a client can be made for them."""
    import httpx

    named = proxies()
    if not named:
        return Check("proxy", "ok", "none")
    parts = [f"{kind.upper()}_PROXY {proxy}" for kind, proxy in named.items()]
    excepted = environment.get("no_proxy") or environment.get("NO_PROXY")
    detail = ", ".join([*parts, *([f"not for {excepted}"] if excepted else [])])
    try:
        with usable_network():
            httpx.Client(verify=False).close()  # nothing is sent
    except JudgeError as error:
        return Check("proxy", "problem", f"{detail}: {error.title}", error.next_step)
    return Check("proxy", "ok", detail)


def certificates_check() -> Check:
    """The certificates in force, and whether they can be read."""
    try:
        with usable_network():
            tls_context()
    except JudgeError as error:
        return Check("certificates", "problem", f"{error.title}: {error.cause}", error.next_step)
    return Check("certificates", "ok", str(certificates()))


def key_checks(more: Iterable[str] = ()) -> list[Check]:
    """A row for each variable from which a judge may take its key, and for those that runs name."""
    forms = {name: provider.form for provider in built_in() for name in provider.key_variables}
    return [_key_check(name, forms.get(name, "")) for name in dict.fromkeys([*forms, *more])]


def _key_check(name: str, form: str) -> Check:
    try:
        found = is_usable(name)
    except JudgeError as error:
        return Check(f"key {name}", "problem", f"{error.title}. {error.cause}", error.next_step)
    if not found:
        use = f"Set it to use {form}." if form else "Set it to resume the runs that name it."
        return Check(f"key {name}", "ok", "not set", use)
    return Check(f"key {name}", "ok", "set" if os.environ.get(name) else "in the keyring")


def extra_checks() -> list[Check]:
    return [_extra_check(extra, package, use) for extra, (package, use) in _EXTRAS.items()]


def _extra_check(extra: str, package: str, use: str) -> Check:
    try:
        return Check(f"extra {extra}", "ok", f"{package} {version(package)}")
    except PackageNotFoundError:
        return Check(f"extra {extra}", "ok", f"not installed: {use}", f"pip install 'recjudge[{extra}]'")


def stale_check(run: RunningRun) -> Check:
    return Check(
        f"run {run.id}",
        "warning",
        f"{run.rater} in {run.project} was active, but its process is gone; {run.outstanding} calls are left",
        f"recjudge runs resume {run.id}",
    )


def prices_check(path: Path, fault: RecjudgeError | None) -> Check:
    if fault is not None:
        return Check("prices", "problem", f"{fault.title}. {fault.cause}", fault.next_step)
    if not path.exists():
        return Check(
            "prices",
            "ok",
            f"built-in list prices; no table of your own at {path}",
            "Create it for models without a list price or with a different price.",
        )
    return Check("prices", "ok", str(path))


def size_text(size: int) -> str:
    """Bytes as people read them, in powers of 1024."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"
