"""Images in the bodies of every vendor, and what it means when a server refuses them."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from recjudge_tui.domain.calls import Request
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import JudgeError
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.judges.replies import ServerError, is_blind
from tests.support.images import asking_with_images
from tests.support.judge_calls import workload
from tests.support.servers.process import ServerProcess
from tests.support.stub_server import Stub, answer, completion, serving

GOOD = json.dumps({"reasoning": "r", "category": "Good Match"})
ANTHROPIC_REPLY = {"type": "message", "content": [{"type": "text", "text": GOOD}], "stop_reason": "end_turn"}
OLLAMA_REPLY = {"model": "m", "message": {"role": "assistant", "content": GOOD}, "done_reason": "stop"}
BEDROCK_REPLY = {
    "output": {"message": {"role": "assistant", "content": [{"text": GOOD}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 900, "outputTokens": 5, "totalTokens": 905},
    "metrics": {"latencyMs": 5},
}
TEXTS = ("1. Film 0 [image 1]", "\n2. Film 1 [image 2]", "\nJudge it.")


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted/secret+key0123456789")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


async def asked(spec: str, response: bytes, request: Request, **changes: Any) -> Stub:
    """What the judge sent to a server that answers every request with `response`."""

    def script(line: str, _: int) -> bytes:
        if line.startswith("GET /api/version"):
            return answer(200, {"version": "0.12.0"})
        if line.startswith("GET /api/tags"):
            return answer(200, {"models": [{"model": "m", "name": "m", "digest": "d"}]})
        if line.startswith("POST /api/show"):
            return answer(200, {"model_info": {}, "capabilities": ["completion", "vision"]})
        return answer(404, {"error": {"message": "no list"}}) if line.startswith("GET") else response

    with serving(script) as stub:
        judge = make_judge(JudgeSpec(spec=spec, base_urls=(stub.url,)))
        await judge.prepare(workload(**changes))
        await judge.ask(request)
    return stub


def data(request: Request) -> list[str]:
    return [base64.b64encode(placed.data).decode() for placed in request.messages[1].images]


def _jpeg(vendor: str, data: str) -> dict[str, Any]:
    """The part of an image in this vendor's form."""
    source = {"type": "base64", "media_type": "image/jpeg", "data": data}
    return {
        "openai": {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}"}},
        "anthropic": {"type": "image", "source": source},
        "bedrock": {"image": {"format": "jpeg", "source": {"bytes": data}}},
    }[vendor]


@pytest.mark.parametrize(
    ("vendor", "reply"),
    [("openai", completion(GOOD)), ("anthropic", ANTHROPIC_REPLY), ("bedrock", BEDROCK_REPLY), ("ollama", OLLAMA_REPLY)],
    ids=["openai", "anthropic", "bedrock", "ollama"],
)  # fmt: skip
async def test_texts_and_images_go_out_in_their_order(vendor: str, reply: dict[str, Any]) -> None:
    request = asking_with_images()
    body = (await asked(f"{vendor}:m", answer(200, reply), request, images=True)).sent()
    if vendor == "ollama":  # it takes the images beside the numbered text
        assert body["messages"][1] == {"role": "user", "content": "".join(TEXTS), "images": data(request)}
        return
    typed = {} if vendor == "bedrock" else {"type": "text"}
    one, two, three = ({**typed, "text": text} for text in TEXTS)
    first, second = (_jpeg(vendor, image) for image in data(request))
    assert body["messages"][-1] == {"role": "user", "content": [one, first, two, second, three]}


@pytest.mark.parametrize(
    ("spec", "status", "message"),
    [
        ("openai:m", 500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
        ("openai:m", 500, "image input is not supported by this server"),
        ("openai:m", 500, 'Failed to parse messages: Unsupported content part type: "image_url"'),
        ("openai:m", 400, "Invalid content type. image_url is only supported by certain models."),
        ("openai:m", 422, "messages[1]: unknown variant `image_url`, expected `text`"),
        ("openai:m", 404, "No endpoints found that support image input"),
        ("openai:m", 400, "m is not a multimodal model"),
        ("openai:m", 400, "At most 0 image(s) may be provided in one prompt."),
        ("openai:m", 400, "'messages.1.content' must be a string"),
        ("anthropic:m", 400, "messages.0.content.1: image input is not supported by this model"),
        ("bedrock:m", 400, "This model doesn't support the image content block that you provided."),
        ("ollama:m", 500, "this model is missing data required for image input: not supported"),
    ],
)  # fmt: skip
async def test_a_model_that_does_not_see_ends_the_run_at_once(spec: str, status: int, message: str) -> None:
    error = {"message": message, "type": "invalid_request_error"}
    body: Any = {"message": message} if spec.startswith("bedrock") else {"error": error}
    headers = ("x-amzn-ErrorType: ValidationException",) if spec.startswith("bedrock") else ()
    with pytest.raises(JudgeError, match="The model “m” does not see images") as caught:
        await asked(spec, answer(status, body, *headers), asking_with_images())
    assert "--images" in caught.value.next_step


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Could not process image"),
        (400, "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes, not supported"),
        (400, "Unsupported parameter: 'temperature' is not supported with this model."),
        (400, "messages.0.content.3.image.source.base64: Invalid base64 data: corrupt, not supported"),
        (500, "this model only supports one image while more than one image requested"),
        (429, "image input is not supported"),
        (200, "image input is not supported"),
    ],
)
def test_other_errors_are_not_blindness(status: int, message: str) -> None:
    assert not is_blind(status, ServerError(message))


async def test_openrouter_says_beforehand_what_the_model_takes() -> None:
    entry = {"id": "m", "architecture": {"input_modalities": ["text"]}}
    with serving(lambda *_: answer(200, {"data": [entry]})) as stub:
        judge = make_judge(JudgeSpec(spec="openai:m", base_urls=(stub.url,)))
        with pytest.raises(JudgeError, match="does not see images"):
            await judge.prepare(workload(images=True))
        entry["architecture"] = {"input_modalities": ["text", "image"]}
        await judge.prepare(workload(images=True))


async def test_a_real_llama_cpp_without_vision_reports_it(llama_server: ServerProcess) -> None:
    judge = make_judge(JudgeSpec(spec="openai:tiny-stair", base_urls=(llama_server.url,)))
    with pytest.raises(JudgeError, match="The model “tiny-stair” does not see images"):
        await judge.prepare(workload(images=True))
    await judge.prepare(workload())
    with pytest.raises(JudgeError, match="The model “tiny-stair” does not see images") as error:
        await judge.ask(asking_with_images())
    assert "image" in error.value.cause
