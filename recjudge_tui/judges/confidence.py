"""The probability that a model gave its label, from the probabilities of the tokens it wrote."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from recjudge_tui.domain.calls import Request

_LEAST_LOGPROB = -1e6  # practically impossible; an integer may be too large for a float
TOP_LOGPROBS = 5  # every server that returns alternatives returns at least this many
_DECODER = json.JSONDecoder()


class Token(NamedTuple):
    """A token of the reply, and the alternatives to it (itself included): bytes -> log-probability."""

    written: bytes
    alternatives: Mapping[bytes, float]


def label_confidence(request: Request, text: str, entries: object) -> float | None:
    """The probability of the label in `text` among all labels of its enum, in (0, 1], or None.

    `entries` is the server's list of `{token, logprob, bytes?, top_logprobs: [{token, logprob, bytes?}]}`. The label is
    the value of the top-level property `request.label_field` of the JSON object that `text` is. Its tokens are read in
    order. At each token, the open labels are those that begin like the text so far. Every listed alternative is the
    beginning (or the whole) of some of them, or of none:

    - for: the token that was written, and every other that leaves only the written label open,
    - against: those that leave open one or more other labels, but not the written one,
    - left out: those of no label, and those that do not tell the written label from another.

    p(token) = sum of exp(logprob) over `for` / sum over `for` and `against`; the confidence is the product of p over the
    tokens until only the written label is open. A label that is not among the listed alternatives counts 0, as its
    probability is below all of theirs.

    None if there are no entries or no alternatives; if the request names no label; if `text` is not a JSON object, has no
    such property, or its value is not in the enum; if the tokens do not join to the text; or if the token written is not
    among the alternatives (a grammar chose it, not the model)."""
    if not entries:
        return None
    field = request.reply_schema.get("properties", {}).get(request.label_field)
    labels = field.get("enum") if isinstance(field, dict) else None
    if not isinstance(labels, list) or (place := _value_place(text, request.label_field, labels)) is None:
        return None
    tokens = _tokens(entries)
    # thinking may stand before the text
    begin = b"".join(token.written for token in tokens).rfind(text.encode("utf-8", "replace"))
    if begin < 0:
        return None
    start = begin + len(text[: place[0]].encode("utf-8", "replace"))
    return _probability(tokens, start, _canonical(place[1]), list(map(_canonical, labels)))


def _probability(tokens: Sequence[Token], start: int, chosen: bytes, labels: list[bytes]) -> float | None:
    """The product described above. `start` is where the value begins in the joined tokens."""
    confidence, end = 1.0, 0
    for written, alternatives in tokens:
        at, end = end, end + len(written)
        if end <= start:
            continue
        lead, head = written[: max(start - at, 0)], chosen[: max(at - start, 0)]
        if written not in alternatives:
            return None
        mass_for, mass_against = math.exp(alternatives[written]), 0.0
        for alternative, logprob in alternatives.items():
            if alternative == written or not alternative.startswith(lead):
                continue
            left = [label for label in labels if _fits(label, head + alternative[len(lead) :])]
            if left == [chosen]:
                mass_for += math.exp(logprob)
            elif left and chosen not in left:
                mass_against += math.exp(logprob)
        if not mass_for > 0.0:
            return None
        confidence *= mass_for / (mass_for + mass_against)
        labels = [label for label in labels if _fits(label, head + written[len(lead) :])]
        if chosen not in labels or labels == [chosen]:
            return confidence if labels == [chosen] else None
    return None


def _fits(label: bytes, text: bytes) -> bool:
    """Whether `text` is the beginning of the label, or the label and what may follow it in JSON."""
    if len(text) <= len(label):
        return label.startswith(text)
    return text.startswith(label) and not text[len(label) : len(label) + 1].isalnum()


def _canonical(label: object) -> bytes:
    return json.dumps(label, ensure_ascii=False).encode("utf-8", "replace")


def _value_place(text: str, field: str, labels: list[Any]) -> tuple[int, Any] | None:
    """Where the label of a JSON object begins in its text, and the label; the last of equal names."""
    place = None
    with suppress(ValueError, RecursionError):
        if isinstance(json.loads(text), dict):
            # within a text the quotes are escaped
            for name in re.finditer(rf"(?<!\\){re.escape(json.dumps(field))}\s*:\s*", text):
                value, _ = _DECODER.raw_decode(text, name.end())
                place = (name.end(), value) if value in labels else place
    return place


def _tokens(entries: object) -> list[Token]:
    """The tokens that the server listed; empty if one entry is malformed."""
    tokens = []
    for entry in entries if isinstance(entries, list) else ():
        if (written := _written(entry)) is None:
            return []
        listed = entry.get("top_logprobs")
        alternatives = {}
        for other in listed if isinstance(listed, list) else ():
            name = _written(other)
            logprob = other.get("logprob") if name is not None else None
            if isinstance(logprob, int | float) and not isinstance(logprob, bool) and logprob <= 0.0:
                alternatives[name or b""] = float(max(logprob, _LEAST_LOGPROB))
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
