"""One request to a judge, its reply, the answers read from it, and estimates of their tokens."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.material import ImageView, Material

_canonical = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode

Order = Literal["", "ab", "ba"]
ParsedBy = Literal["schema", "json", "text", "reask"]

# the aspect of a call that writes a user's profile
PROFILE = "@profile"


class PlacedImage(Model):
    """An image that stands before character `at` of a message's text. `data` is empty until the request is sent."""

    at: int
    image: ImageView
    data: bytes = Field(default=b"", repr=False)


class Message(Model):
    """A text with `images` at their positions, in order."""

    role: Literal["system", "user", "assistant"]
    content: str
    images: tuple[PlacedImage, ...] = ()

    def parts(self) -> Iterator[str | PlacedImage]:
        """The text and the images in the order in which they are read; no text is empty."""
        begin = 0
        for placed in self.images:
            if placed.at > begin:
                yield self.content[begin : placed.at]
            yield placed
            begin = placed.at
        if begin < len(self.content):
            yield self.content[begin:]


class Sampling(Model):
    """`extra` is sent to the server beside these, as the user gave it."""

    temperature: float = 0.0
    seed: int | None = 7
    max_tokens: int = 2048
    extra: dict[str, Any] = {}


class Request(Model):
    """One call. `messages[0]` (system) is identical in every call of a run. `material` is for judges that read data
    (`rules`). `schema_name` is for servers that require one. `label_field`: the property with an enum whose probability is
    wanted. `seat` numbers requests that follow each other about one user: a slot or server remembers what it read."""

    messages: tuple[Message, ...]
    reply_schema: dict[str, Any]
    schema_name: str = "verdict"
    label_field: str = ""
    sampling: Sampling = Sampling()
    sample: int = 0
    material: Material | None = None
    seat: int | None = None

    def content_hash(self) -> str:
        """SHA-256 (hex) of the question to the judge: text, images, schema and sample number, without the model."""
        whole = hashlib.sha256(digest(self.reply_schema, self.sample).encode())
        for message in self.messages:
            text = message.content.encode("utf-8", "surrogatepass")
            # the length before each text separates it from the next
            whole.update(f"{message.role}:{len(text)}:".encode() + text)
            for placed in message.images:
                whole.update(f"image:{placed.at}:{placed.image.digest}:".encode())
        return whole.hexdigest()

    def request_hash(self, model_identity: str, content_hash: str | None = None) -> str:
        """SHA-256 (hex) of the content, the model it goes to and the sampling options: the cache key."""
        # without options the hash is as before options existed, so that older stored replies are found
        options = self.sampling.model_dump(exclude=None if self.sampling.extra else {"extra"})
        return digest(content_hash or self.content_hash(), model_identity, options)


# no call has more tokens, and none costs more dollars
MOST_TOKENS = 10**9
MOST_DOLLARS = 10.0**6


def whole(value: object) -> int | None:
    """The value if it is a possible count of tokens (an integer from 0 to a billion), else None."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= MOST_TOKENS else None


def dollars(value: object) -> float | None:
    """The value if it is a possible cost of a call (finite, not negative, at most a million dollars), else None."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value <= MOST_DOLLARS else None


class Usage(Model):
    """Tokens as counted by the server. `input` includes `cached_input`, which its cache served, and `cache_written`, which
    it stored there and may charge more for. Impossible numbers count as not given."""

    input: Annotated[int | None, BeforeValidator(whole)] = None
    output: Annotated[int | None, BeforeValidator(whole)] = None
    cached_input: Annotated[int | None, BeforeValidator(whole)] = None
    cache_written: Annotated[int | None, BeforeValidator(whole)] = None
    reasoning: Annotated[int | None, BeforeValidator(whole)] = None
    cost_usd: Annotated[float | None, BeforeValidator(dollars)] = None


def _storable(text: str) -> str:
    """The text with “?” for lone surrogates, which no database can hold: a judge of any kind may have written them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


StorableText = Annotated[str, AfterValidator(_storable)]


class Reply(Model):
    """What the judge returned. `structured`: the server enforced the schema. `stop`: its stop reason. `logprobs`: it
    returned token probabilities, from which `label_confidence` is. `sent`, `dropped`: the parameters that were sent, and
    those refused."""

    text: StorableText
    thinking: StorableText = ""
    model: StorableText = ""
    stop: StorableText = ""
    structured: bool = False
    usage: Usage = Usage()
    latency_s: float | None = None
    logprobs: bool = False
    label_confidence: float | None = None
    sent: dict[str, Any] = Field(default_factory=dict)
    dropped: tuple[str, ...] = ()


class Flag(Model):
    """A flagged item. `issue` is one of the prompt's issue types; `refuted` is why the data shown contradict it, if so."""

    item_id: str
    issue: str
    reason: str = ""
    refuted: str = ""


class Answer(Model):
    """What one call said about one aspect. `value` and `label` refer to the systems, not to the order shown."""

    aspect: str
    value: float
    label: str
    reasoning: str = ""
    confidence: float | None = None


class ParsedReply(Model):
    answers: tuple[Answer, ...]
    flags: tuple[Flag, ...] = ()
    parsed_by: ParsedBy


class CallResult(NamedTuple):
    """The result of a call: `parsed`, or `error_kind`; neither where it is to be asked once more in another batch.
    `cached_from`: the call whose stored reply was used. `cost_usd`: the known cost of all attempts, `unknown_usd` the most
    that others may have cost. `earlier`: kind and text of answers that could not be used."""

    attempts: int
    reply: Reply | None = None
    parsed: ParsedReply | None = None
    error_kind: str | None = None
    error: str | None = None
    cached_from: int | None = None
    cost_usd: float | None = None
    unknown_usd: float = 0.0
    earlier: tuple[tuple[str, str], ...] = ()


class VerdictDraft(Model):
    """A verdict that has no rater yet: made from the answers about one case and aspect by the named `rule`."""

    aspect: str
    state: Literal["ok", "failed"]
    value: float | None = None
    label: str = ""
    rule: str
    order_consistent: bool | None = None
    confidence: float | None = None
    note: str = ""


def digest(*parts: object) -> str:
    """SHA-256 (hex) of the parts as canonical JSON."""
    return hashlib.sha256(_canonical(parts).encode("utf-8", "surrogatepass")).hexdigest()


class Trial(NamedTuple):
    """A call that tries out a prompt: neither stored nor a verdict. `cost_usd` is None when the price is unknown or there
    was no reply."""

    judge: str
    rater_kind: str
    case_id: int
    order: Order
    request: Request
    attempts: int
    reply: Reply | None
    parsed: ParsedReply | None
    cost_usd: float | None = None
    error_kind: str = ""
    error: str = ""


# ---- tokens ------------------------------------------------------------------------------------------------------


PATCH_PIXELS = 32
LEAST_OF_AN_IMAGE = 85
PATCHES_TIMES = 4
# an image of 512 x 512; images are never shown larger
MOST_OF_AN_IMAGE = 1024
TOKENS_AROUND_A_MESSAGE = 16


def estimate_tokens(text: str) -> tuple[int, int]:
    """(low, high) for a text: 4.5 and 3 characters of Latin script a token, 1.8 and 0.8 of any other; tokenizers lie
    between these for English, titles and Chinese."""
    latin = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    other = len(text) - latin
    return int(latin / 4.5 + other / 1.8) + 1, int(latin / 3 + other / 0.8) + 1


def least_tokens(text: str) -> int:
    """A number of tokens that every current model exceeds for this text: half of the low estimate, which is 9 characters
    of Latin script, or 3.6 of any other, per token."""
    return estimate_tokens(text)[0] // 2


def estimate_image_tokens(image: ImageView) -> tuple[int, int]:
    """(low, high) for an image: one and four tokens a square of 32 pixels, at least 85. Large vendors bill 255 to 350 for
    512 x 512, most local models 256 to 576, an older small one 8,500."""
    patches = -(-image.width // PATCH_PIXELS) * -(-image.height // PATCH_PIXELS)
    low = max(patches, LEAST_OF_AN_IMAGE)
    return low, low * PATCHES_TIMES


def estimate_prompt_tokens(messages: Iterable[Message]) -> tuple[int, int]:
    """(low, high) for all texts and images of the messages."""
    low = high = 0
    for message in messages:
        counts = [estimate_tokens(message.content), *(estimate_image_tokens(i.image) for i in message.images)]
        low += sum(count[0] for count in counts)
        high += sum(count[1] for count in counts)
    return low, high


def most_prompt_tokens(messages: Iterable[Message]) -> int:
    """An upper bound on the tokens of the messages: at most one token per byte, and a few for the chat template."""
    return sum(
        len(message.content.encode("utf-8", "replace"))
        + sum(MOST_OF_AN_IMAGE for _ in message.images)
        + TOKENS_AROUND_A_MESSAGE
        for message in messages
    )
