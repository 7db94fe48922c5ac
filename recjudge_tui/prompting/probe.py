"""Find out what a judge supports, with three small calls and one with an image."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
from io import BytesIO
from typing import Any

from recjudge_tui.domain.calls import Message, PlacedImage, Reply, Request, Sampling
from recjudge_tui.domain.judge import Capabilities, Identity, JudgeSpec, Workload
from recjudge_tui.domain.roles import is_language_model
from recjudge_tui.domain.run_options import TIMEOUT_S
from recjudge_tui.errors import CallError, JudgeError, SightError
from recjudge_tui.importers.images import prepared
from recjudge_tui.judges.base import Judge, takes_images
from recjudge_tui.judges.registry import make_judge

COUNTRIES = ("France", "Japan", "Egypt")
MAX_TOKENS = 1024  # room for thinking
# no model names these words as a capital unless the server enforces the schema
_LABELS = ("quokka-17", "teapot-42")
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "answer": {"type": "string", "enum": list(_LABELS)},
    },
    "required": ["reasoning", "answer"],
    "additionalProperties": False,
}
_TEXT_SCHEMA: dict[str, Any] = {
    **_SCHEMA,
    "properties": {"reasoning": {"type": "string"}, "answer": {"type": "string"}},
}
# no model says one of these words unless it has read it in the image
WORDS = ("WALNUT", "LANTERN", "PELICAN", "TROMBONE", "GLACIER", "SAFFRON", "VOLCANO", "BADGER")
SIZE = (512, 192)
_LETTERS = 88


def probe(spec: JudgeSpec, timeout_s: float = TIMEOUT_S, *, images: bool = True) -> Capabilities:
    """Prepare the judge and ask it three times for the capital of a country.

    The schema allows only two odd words, so if a model answers with one of them, the server enforces the schema.
    Temperature 0, a seed and a request for log-probabilities are sent; `refused` lists what the server refuses. A
    judge that is not a language model, or answers from a recording, is prepared and not asked. With `images` a fourth
    call asks for a word that is written in an image. Raises JudgeError when it cannot be used, or when none of the
    calls is answered.
    """
    return asyncio.run(_probe(spec, timeout_s, images))


async def _probe(spec: JudgeSpec, timeout_s: float, images: bool) -> Capabilities:
    judge = make_judge(spec)
    workload = Workload(
        calls=len(COUNTRIES),
        longest_prompt_tokens=256,
        max_tokens=MAX_TOKENS,
        concurrency=1,
        timeout_s=timeout_s,
        known=Capabilities(logprobs=True),
    )
    try:
        identity = await judge.prepare(workload)
        if not is_language_model(judge.rater_kind) or spec.provider == "replay":
            return _not_asked(judge, identity)
        return await _measure(judge, identity, images)
    finally:
        await judge.close()


async def _measure(judge: Judge, identity: Identity, images: bool) -> Capabilities:
    replies: list[Reply] = []
    problems: list[str] = []
    for country in COUNTRIES:
        try:
            replies.append(await judge.ask(_question(country)))
        except CallError as error:
            problems.append(str(error))
    if not replies:
        raise JudgeError(
            f"{judge.name} answered none of {len(COUNTRIES)} calls",
            " ".join(dict.fromkeys(problems)),
            "Fix the cause and test it again.",
        )
    sees = await _sees_images(judge, problems) if images else None
    last = replies[-1]
    latencies = [reply.latency_s for reply in replies if reply.latency_s is not None]
    return Capabilities(
        model=last.model or identity.name,
        digest=identity.digest,
        endpoints=identity.endpoints,
        schema_enforced=all(map(_fits, replies)),
        temperature=_was_sent(last, "temperature"),
        seed=_was_sent(last, "seed"),
        logprobs=any(reply.logprobs for reply in replies),
        images=sees,
        refused=tuple(dict.fromkeys(name for reply in replies for name in reply.dropped)),
        context_length=identity.context_length,
        latency_s=statistics.median(latencies) if latencies else None,
        concurrency=judge.concurrency,
        problems=tuple(dict.fromkeys(problems)),
    )


async def _sees_images(judge: Judge, problems: list[str]) -> bool | None:
    """Whether the judge reads a word in an image; None if it does not accept images, or if this cannot be tested."""
    if not takes_images(judge):
        return False
    word = random.choice(WORDS)
    image = image_of_word(word)
    if image is None:
        problems.append("Whether it sees images was not tested: it needs pip install 'recjudge[images]'.")
        return None
    try:
        reply = await judge.ask(_question_about(image))
    except SightError:
        return False
    except CallError as error:
        problems.append(str(error))
        return None
    return word in reply.text.upper()


def _question_about(image: PlacedImage) -> Request:
    text = "Image: [image 1]\nWhich word is written in this image? Answer with the word, or with NONE if you see no image."
    placed = image.model_copy(update={"at": text.index("]") + 1})
    return Request(
        messages=(
            Message(role="system", content="You answer questions in JSON, with a short reasoning."),
            Message(role="user", content=text, images=(placed,)),
        ),
        reply_schema=_TEXT_SCHEMA,
        schema_name="word",
        sampling=Sampling(max_tokens=MAX_TOKENS),
    )


def _not_asked(judge: Judge, identity: Identity) -> Capabilities:
    return Capabilities(
        language_model=False,
        model=identity.name,
        digest=identity.digest,
        endpoints=identity.endpoints,
        concurrency=judge.concurrency,
    )


def _question(country: str) -> Request:
    return Request(
        messages=(
            Message(role="system", content="You answer questions in JSON, with a short reasoning."),
            Message(role="user", content=f"What is the capital of {country}? Answer with its name."),
        ),
        reply_schema=_SCHEMA,
        schema_name="capital",
        label_field="answer",
        sampling=Sampling(max_tokens=MAX_TOKENS),
    )


def _fits(reply: Reply) -> bool:
    try:
        answer = json.loads(reply.text)
    except (ValueError, RecursionError):
        return False
    return isinstance(answer, dict) and answer.get("answer") in _LABELS


def _was_sent(reply: Reply, name: str) -> bool:
    """Whether the parameter was sent, directly or in Ollama's options, and not refused."""
    options = reply.sent.get("options")
    return name in reply.sent or (isinstance(options, dict) and name in options)


def image_of_word(word: str) -> PlacedImage | None:
    """The word in black letters on white, as images of items are sent; None without the extra “images”."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ModuleNotFoundError:
        return None
    picture = Image.new("RGB", SIZE, "white")
    letters = ImageFont.load_default(_LETTERS)
    middle = (SIZE[0] / 2, SIZE[1] / 2)
    ImageDraw.Draw(picture).text(middle, word, fill="black", font=letters, anchor="mm")
    written = BytesIO()
    picture.save(written, "PNG")
    image = prepared(written.getvalue())
    return PlacedImage(at=0, image=image.view, data=image.content)
