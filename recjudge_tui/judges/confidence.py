"""The probability that a model gave its label, from the probabilities of the tokens it wrote."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from recjudge_tui.domain.calls import Request

_LEAST_LOGPROB = -1e6  # practically impossible; an integer may be too large for a float
TOP_LOGPROBS = 5  # every server that returns alternatives returns at least this many
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Token(NamedTuple):
    """A token of the reply, and the alternatives to it (itself included): bytes -> log-probability."""

    written: bytes
    alternatives: Mapping[bytes, float]


def label_confidence(request: Request, text: str, entries: object) -> float | None:
    """The probability of the label in `text` among all labels of its enum, in (0, 1], or None.

    `entries` is the server's list of `{token, logprob, bytes?, top_logprobs: [{token, logprob, bytes?}]}`. The
    label is the value of the top-level property `request.label_field` of the JSON object that `text` is.
    Its tokens are read in order. At each token, the open labels are those that begin like the text so far. Every
    listed alternative is the beginning (or the whole) of some of them, or of none:

    - for: the token that was written, and every other that leaves only the written label open,
    - against: those that leave open one or more other labels, but not the written one,
    - left out: those of no label, and those that do not tell the written label from another.

    p(token) = sum of exp(logprob) over `for` / sum over `for` and `against`; the confidence is the product of
    p over the tokens until only the written label is open. A label that is not among the listed
    alternatives counts 0, as its probability is below all of theirs.

    None if there are no entries or no alternatives; if the request names no label; if `text` is not a JSON object,
    has no such property, or its value is not in the enum; if the tokens do not join to the text; or if the token
    written is not among the alternatives (a grammar chose it, not the model).
    """
    if not entries:
        return None
    labels = _labels(request)
    place = _value_place(text, request.label_field) if labels else None
    if place is None:
        return None
    start, value = place
    if value not in labels:
        return None
    tokens = _tokens(entries)
    before = _bytes_before(text, start, tokens)
    if before is None:
        return None
    return _probability(tokens, before, _canonical(value), [_canonical(label) for label in labels])


def _probability(tokens: Sequence[Token], start: int, chosen: bytes, labels: Sequence[bytes]) -> float | None:
    """The product described above. `start` is where the value begins in the joined tokens."""
    confidence = 1.0
    open_labels = list(labels)
    for at, token in _from(tokens, start):
        lead = token.written[: max(start - at, 0)]
        head = chosen[: max(at - start, 0)]
        if token.written not in token.alternatives:
            return None
        mass_for = math.exp(token.alternatives[token.written])
        mass_against = 0.0
        for alternative, logprob in token.alternatives.items():
            if alternative == token.written or not alternative.startswith(lead):
                continue
            left = [label for label in open_labels if _fits(label, head + alternative[len(lead) :])]
            if left == [chosen]:
                mass_for += math.exp(logprob)
            elif left and chosen not in left:
                mass_against += math.exp(logprob)
        if not mass_for > 0.0:
            return None
        confidence *= mass_for / (mass_for + mass_against)
        open_labels = [label for label in open_labels if _fits(label, head + token.written[len(lead) :])]
        if open_labels == [chosen]:
            return confidence
        if chosen not in open_labels:
            return None
    return None


def _fits(label: bytes, text: bytes) -> bool:
    """Whether `text` is the beginning of the label, or the label and what may follow it in JSON."""
    if len(text) <= len(label):
        return label.startswith(text)
    return text.startswith(label) and not text[len(label) : len(label) + 1].isalnum()


def _from(tokens: Sequence[Token], start: int) -> Iterator[tuple[int, Token]]:
    """The tokens that end after `start`, each with its beginning."""
    at = 0
    for token in tokens:
        if at + len(token.written) > start:
            yield at, token
        at += len(token.written)


def _labels(request: Request) -> list[Any]:
    field = request.reply_schema.get("properties", {}).get(request.label_field)
    labels = field.get("enum") if isinstance(field, dict) else None
    return list(labels) if isinstance(labels, list) else []


def _canonical(label: object) -> bytes:
    return json.dumps(label, ensure_ascii=False).encode("utf-8", "replace")


def _value_place(text: str, field: str) -> tuple[int, Any] | None:
    """Where the value of a top-level property begins in a JSON object, and the value; the last of equal names."""
    match = None
    at = _past_space(text, 0)
    if text[at : at + 1] != "{":
        return None
    try:
        while text[at : at + 1] in ("{", ","):
            name, at = _DECODER.raw_decode(text, _past_space(text, at + 1))
            at = _past_space(text, at)
            if text[at : at + 1] != ":":
                return None
            begin = _past_space(text, at + 1)
            value, at = _DECODER.raw_decode(text, begin)
            at = _past_space(text, at)
            if name == field:
                match = begin, value
    except (ValueError, RecursionError):
        return None
    return match if text[at : at + 1] == "}" else None


def _past_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return at if space is None else space.end()


def _bytes_before(text: str, start: int, tokens: Sequence[Token]) -> int | None:
    """Where character `start` of the text lies in the joined tokens, which may hold thinking before the text."""
    joined = b"".join(token.written for token in tokens)
    at = joined.rfind(text.encode("utf-8", "replace"))
    return None if at < 0 else at + len(text[:start].encode("utf-8", "replace"))


def _tokens(entries: object) -> list[Token]:
    """The tokens that the server listed; empty if one entry is malformed."""
    tokens = []
    for entry in entries if isinstance(entries, list) else ():
        written = _written(entry)
        if written is None:
            return []
        listed = entry.get("top_logprobs")
        alternatives = {
            name: float(max(other["logprob"], _LEAST_LOGPROB))
            for other in (listed if isinstance(listed, list) else ())
            if (name := _written(other)) is not None and _is_logprob(other.get("logprob"))
        }
        tokens.append(Token(written, alternatives))
    return tokens


def _written(entry: object) -> bytes | None:
    if not isinstance(entry, dict):
        return None
    raw = entry.get("bytes")
    if isinstance(raw, list) and all(type(b) is int and 0 <= b < 256 for b in raw):
        return bytes(raw)
    token = entry.get("token")
    return token.encode("utf-8", "replace") if isinstance(token, str) else None


def _is_logprob(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value <= 0.0
