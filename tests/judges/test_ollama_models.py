from __future__ import annotations

import pytest

from recjudge_tui.errors import JudgeError
from recjudge_tui.judges.ollama import fetch_installed, installed_models
from tests.support.servers.process import ServerProcess
from tests.support.stub_server import answer, serving


def test_the_installed_models_are_listed_by_name(ollama_server: ServerProcess) -> None:
    models = installed_models(ollama_server.url)
    assert [model.name for model in models] == ["hash-judge:latest", "other:1b"]
    assert models[0].size_bytes == 1_200_000
    assert (models[0].parameters, models[0].quantization) == ("1.2M", "F32")


async def test_the_server_is_the_one_that_the_environment_names(
    ollama_server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", ollama_server.url)
    assert len(await fetch_installed()) == 2


def test_no_server_and_another_server_are_told_apart() -> None:
    with serving(lambda line, n: answer(200, b"<html>")) as stub:
        with pytest.raises(JudgeError, match="Something else"):
            installed_models(stub.url)
        url = stub.url
    with pytest.raises(JudgeError, match="ollama serve"):
        installed_models(url)
