"""A key stays where it belongs: in the environment and in requests to its own server, over a verified connection.

What a server sends back on purpose is tests/judges/test_secrets.py.
"""

from __future__ import annotations

import os
import signal
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.reports.common.table import FORMATS
from recjudge_tui.reports.common.writers.data import EXPORT_FORMATS
from recjudge_tui.store.schema import connect
from tests.support.runs import make_project, ran
from tests.support.servers.process import start
from tests.support.stub_server import answer, serving
from tests.support.waiting import wait_until

PLANTED = "planted-key-0123456789"
CERTIFICATE = Path(__file__).parent / "support" / "servers" / "self_signed.pem"
FAULTS = "429:.1,500:.1,529:.05,reset:.1,html:.1,refusal:.1,cut:.1,garbage:.1,length:.05"
SERVERS = {
    "openai:hash-judge": ("openai_api", "OPENAI_API_KEY"),
    "anthropic:hash-judge": ("anthropic_api", "ANTHROPIC_API_KEY"),
}
ALL = {**SERVERS, "ollama:hash-judge": ("ollama_api", "OLLAMA_API_KEY")}
Told = tuple[int, str, str]


@pytest.fixture
def films(project_db: Path) -> Path:
    with connect(project_db) as db:
        make_project(db, users=15)
    return project_db


def clean(told: Told) -> Told:
    """The same, once it is sure that the key is not in it."""
    _, out, err = told
    assert PLANTED not in out
    assert PLANTED not in err
    return told


def wait_until_ended(path: Path, run: int) -> None:
    with connect(path) as db:
        wait_until(
            lambda: db.value("SELECT state FROM runs WHERE id = ?", (run,)) not in ("planned", "running"),
            "the run goes on and on",
        )


@pytest.mark.parametrize("judge", SERVERS)
def test_a_run_full_of_faults_leaves_no_trace_of_the_key(films: Path, judge: str, tmp_path: Path) -> None:
    server_name, variable = SERVERS[judge]
    environment: dict[str, Any] = {"env": {variable: PLANTED}}
    at = ("--db", films, "--debug")
    with start(server_name, "--api-key", PLANTED, "--faults", FAULTS, "--retry-after", "0") as server:
        judging = ("run", "pointwise", "-p", "films", "--judge", judge, "--base-url", server.url)
        code, out, _ = clean(ran(*judging, *at, **environment))
        assert (code, out.startswith("run 1 done: ")) == (0, True), "the server knows the key"
        clean(ran("judge", "test", judge, "--base-url", server.url, *at, **environment))
        clean(ran(*judging, "--name", "later", "--no-cache", "--detach", *at, **environment))
        wait_until_ended(films, 2)
        # a wrong key: refused by the server, so the run ends with its traceback
        wrong: dict[str, Any] = {"env": {variable: f"{PLANTED}-wrong"}}
        code, _, err = clean(ran(*judging, "--name", "wrong", "--no-cache", *at, **wrong))
        assert (code, "Traceback" in err, variable in err) == (1, True, True)
        clean(ran("runs", "resume", 3, "--detach", *at, **wrong))
        log = films.with_name(f"{films.name}.runs.log")
        wait_until(
            lambda: variable in log.read_text(encoding="utf-8"),
            "the refusal is written to the log, by the name of the key",
        )
    with connect(films) as db:
        failed = db.value("SELECT count(*) FROM calls WHERE state = 'failed'")
        retried = db.value("SELECT count(*) FROM calls WHERE state = 'done' AND attempts > 1")
    assert failed
    assert retried, "there were faults of both sorts"
    exports = [("calls", kind) for kind in EXPORT_FORMATS]
    exports += [(what, EXPORT_FORMATS[0]) for what in ("verdicts", "flags", "cases", "labels")]
    for what, kind in exports:
        out_file = tmp_path / f"{what}.{kind}"
        assert clean(ran("export", "-p", "films", what, "-o", out_file, *at, **environment))[0] == 0
    for fmt in FORMATS:
        out_file = tmp_path / f"run.{fmt}"
        assert clean(ran("runs", "show", 3, "--format", fmt, "-o", out_file, *at, **environment))[0] == 0
    for words in (("runs", "list"), ("judge", "list"), ("doctor",), ("doctor", "-p", "films")):
        clean(ran(*words, "--format", "json", *at, **environment))
    files = [path for path in sorted(films.parent.rglob("*")) if path.is_file()]
    assert {films.name, f"{films.name}.runs.log", "calls.jsonl", "run.html"} <= {path.name for path in files}
    for path in files:
        assert PLANTED.encode() not in path.read_bytes(), path.name


def test_the_list_of_processes_and_core_dumps_hold_no_key(films: Path) -> None:
    """The same for a detached run, which is another process."""
    environment = {"env": {"OPENAI_API_KEY": PLANTED}}
    with serving(
        lambda line, n: answer(200, {"data": [{"id": "m"}]}) if line.startswith("GET") else b""
    ) as stub:
        words = f"run pointwise -p films --judge openai:m --base-url {stub.url} --detach".split()
        clean(ran(*words, "--db", films, **environment))
        running = [path for path in Path("/proc").glob("[0-9]*") if str(films) in _words_of(path)]
        assert len(running) == 1
        try:
            assert PLANTED not in _words_of(running[0])
            limits = (running[0] / "limits").read_text(encoding="utf-8").splitlines()
            core = next(line for line in limits if line.startswith("Max core file size"))
            assert core.split()[4:6] == ["0", "0"]
        finally:
            os.kill(int(running[0].name), signal.SIGKILL)


def _words_of(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


@pytest.mark.parametrize("judge", ALL)
def test_a_redirect_is_not_followed_with_the_key(films: Path, judge: str) -> None:
    with serving(lambda line, number: answer(200, {})) as elsewhere:
        to = f"Location: {elsewhere.url}/v1/chat/completions"
        with serving(lambda line, number: answer(307, b"", to)) as stub:
            words = ("--judge", judge, "--base-url", stub.url, "--db", films, "--debug")
            _, out, err = clean(
                ran("run", "pointwise", "-p", "films", "--limit", 2, *words, env={ALL[judge][1]: PLANTED})
            )
            shown = ran("runs", "show", 1, "--format", "json", "--db", films)
        assert any(PLANTED in head for head in stub.heads), "its own server did get the key"
    assert elsewhere.connections == 0
    assert "redirect" in (out + err + "".join(clean(shown)[1:])).lower()


class _Handler(BaseHTTPRequestHandler):
    """Refuses every key, and so shows that it was reached."""

    def __init__(self, seen: list[str], *connection: Any) -> None:
        self.seen = seen
        super().__init__(*connection)

    def parse_request(self) -> bool:
        if super().parse_request():
            self.seen.append(str(self.headers))
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            self.wfile.write(answer(401, {"error": {"message": "reached"}}, "Connection: close"))
        return False

    def log_message(self, *_: object) -> None: ...


@contextmanager
def https_server() -> Iterator[tuple[str, list[str]]]:
    """A server with a certificate that nobody vouches for: its URL, and the heads of what reached it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    seen: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, seen))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("judge", ALL)
def test_an_untrusted_certificate_is_refused(films: Path, judge: str) -> None:
    with https_server() as (url, seen):
        words = ("judge", "test", judge, "--base-url", url, "--db", films)
        code, _, err = clean(ran(*words, env={ALL[judge][1]: PLANTED}))
        assert (code, seen) == (1, []), "not a byte of HTTP was sent"
        # the same server, once its certificate is trusted, does get the key and answers: nothing else was wrong
        trusted = {ALL[judge][1]: PLANTED, "SSL_CERT_FILE": str(CERTIFICATE)}
        code, _, trusted_err = clean(ran(*words, env=trusted))
        assert any(PLANTED in head for head in seen), trusted_err
    assert url in err
    assert judge.startswith("ollama:") or "certificate" in err.lower()
