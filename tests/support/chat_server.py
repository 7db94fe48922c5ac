"""A chat server whose answers are made from the two messages of a request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.support.stub_server import answer, completion, serving


@contextmanager
def chatting(says: Callable[[str, str], object]) -> Iterator[str]:
    """The address of a server of OpenAI's form; an answer that is no text is sent as JSON."""

    def script(line: str, number: int) -> bytes:
        if line.startswith("GET"):
            return answer(404, {})
        said = says(*(message["content"] for message in stub.sent(number)["messages"][:2]))
        content = said if isinstance(said, str) else json.dumps(said)
        return answer(200, {**completion(content), "usage": {"prompt_tokens": 9, "completion_tokens": 9}})

    with serving(script) as stub:
        yield f"{stub.url}/v1"
