"""Azure as docs/servers.md connects it, by a server that knows one deployment, one version and one key.

The server is reached as a proxy, so that it is asked by Azure's own name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from recjudge_tui.store.database import Database
from tests.support.runs import make_project, ran
from tests.support.servers.answers import fit, seed_of
from tests.support.stub_server import Stub, answer, completion, serving

KEY = "planted-azure-key-0123456789"
HOST = "contoso.openai.azure.com"
DEPLOYMENT = f"http://{HOST}/openai/deployments/judge-4o"
VERSION = "api-version=2024-10-21"
JUDGE = ("openai:judge-4o", "--api-key-env", "AZURE_OPENAI_API_KEY")


@pytest.fixture
def azure() -> Iterator[Stub]:
    def script(line: str, number: int) -> bytes:
        method, _, target = line.removesuffix(" HTTP/1.1").partition(" ")
        place, head = urlsplit(target), stub.heads[number]
        if f"api-key: {KEY}" not in head or "authorization:" in head.lower():
            return answer(
                401, {"error": {"code": "401", "message": "Access denied due to invalid subscription key."}}
            )
        if (method, place.query) != ("POST", VERSION) or not place.path.endswith("/chat/completions"):
            return answer(404, {"error": {"code": "404", "message": "Resource not found"}})
        if (place.hostname, place.path) != (HOST, "/openai/deployments/judge-4o/chat/completions"):
            gone = "The API deployment for this resource does not exist."
            return answer(404, {"error": {"code": "DeploymentNotFound", "message": gone}})
        body = stub.sent(number)
        form = body.get("response_format", {}).get("json_schema", {}).get("schema", {"type": "object"})
        return answer(200, completion(json.dumps(fit(form, seed_of(body["messages"])))))

    with serving(script) as stub:
        yield stub


def asked(azure: Stub, *words: object) -> tuple[int, str, str]:
    environment = {"http_proxy": azure.url, "no_proxy": "", "AZURE_OPENAI_API_KEY": KEY}
    return ran(*words, env=environment)


def test_judge_test_run_and_batch_run_reach_the_deployment(azure: Stub, db: Database, tmp_path: Path) -> None:
    code, out, err = asked(azure, "judge", "test", *JUDGE, "--base-url", f"{DEPLOYMENT}?{VERSION}")
    assert (code, "schema enforced  yes" in out) == (0, True), err
    make_project(db, users=2)
    # the address as the portal shows it
    words = ("-p", "films", "--db", db.path, "--base-url", f"{DEPLOYMENT}/chat/completions?{VERSION}")
    code, out, err = asked(azure, "run", "pairwise", "--judge", *JUDGE, *words)
    assert (code, out[:24]) == (0, "run 1 done: 4 done, 0 fa"), err
    assert KEY not in db.path.read_bytes().decode("latin-1")
    source, results = tmp_path / "calls.jsonl", tmp_path / "results.jsonl"
    line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions",
            "body": {"model": "judge-4o", "messages": [{"role": "user", "content": "hello"}]}}  # fmt: skip
    source.write_text(json.dumps(line) + "\n", encoding="utf-8")
    batch = ("batch", "run", source, "-o", results, "--api-key-env", "AZURE_OPENAI_API_KEY")
    code, out, err = asked(azure, *batch, "--base-url", f"{DEPLOYMENT}?{VERSION}")
    assert (code, out.split(",")[0]) == (0, "1 answered"), err


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (f"http://{HOST}/openai/deployments/judge-5?{VERSION}", "has no such deployment"),
        (
            f"http://{HOST}",
            "Azure's are https://RESOURCE.openai.azure.com/openai/deployments/DEPLOYMENT?api-version=",
        ),
        (f"{DEPLOYMENT}?{VERSION}&key=secret", f"Write it as {DEPLOYMENT}?api-version=VERSION."),
    ],
)
def test_a_wrong_address_is_reported_with_the_right_form(azure: Stub, url: str, says: str) -> None:
    code, _, err = asked(azure, "judge", "test", *JUDGE, "--base-url", url)
    assert code in (1, 2)
    assert says in err
    assert "secret" not in err
