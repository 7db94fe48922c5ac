"""Reads the body of an answer: decompresses it within a limit, and decodes it as text or JSON."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence

import httpx

# bytes, compressed and decompressed; the answer to one call usually has a few thousand
MAX_ANSWER = 16 * 1024 * 1024
# the encodings that requests accept; other encodings are refused
ACCEPTED = "gzip, deflate"
_ZLIB_OR_GZIP = 32 + zlib.MAX_WBITS

RawHeaders = Sequence[tuple[bytes, bytes]]


def whole_answer(status: int, headers: RawHeaders, chunks: Iterable[bytes]) -> httpx.Response:
    """An answer whose body is complete and unpacked. Raises httpx.DecodingError, and RemoteProtocolError if it is too
    large."""
    packing = [value for name, value in headers if name.lower() == b"content-encoding"]
    kept = [(name, value) for name, value in headers if name.lower() != b"content-encoding"]
    body = b"".join(chunks)
    for name in reversed(b",".join(packing).lower().split(b",")):
        body = _unpacked(body, name.strip().decode("latin-1"))
    return httpx.Response(status, headers=kept, content=body)


def too_large() -> httpx.RemoteProtocolError:
    return httpx.RemoteProtocolError(f"the answer is larger than {MAX_ANSWER} bytes")


def _unpacked(body: bytes, packing: str) -> bytes:
    """The body with one layer of compression removed. Decompresses at most one byte more than the limit."""
    if packing in ("", "identity"):
        return body
    if packing not in ("gzip", "x-gzip", "deflate"):
        raise httpx.DecodingError(f"the answer is compressed as {packing[:40]!r}, which was not requested")
    unpacker = zlib.decompressobj(_ZLIB_OR_GZIP)
    try:
        try:
            plain = unpacker.decompress(body, MAX_ANSWER + 1)
        except zlib.error:
            if packing != "deflate":
                raise
            unpacker = zlib.decompressobj(-zlib.MAX_WBITS)  # some servers leave out the zlib header
            plain = unpacker.decompress(body, MAX_ANSWER + 1)
    except zlib.error as error:
        raise httpx.DecodingError(f"the answer cannot be decompressed: {error}") from None
    if len(plain) > MAX_ANSWER:
        raise too_large()
    if body and not unpacker.eof:
        raise httpx.DecodingError("the compressed answer was cut short")
    return plain


def body_text(response: httpx.Response) -> str:
    """The body as UTF-8, whatever charset the server names: that may be any of Python's codecs."""
    return response.content.decode("utf-8", "replace")


def body_json(response: httpx.Response) -> object:
    """The body as JSON. Raises ValueError for anything else, also for nesting that is too deep to read."""
    try:
        return json.loads(response.content)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def json_text(value: object) -> str:
    """A part of an answer as JSON text, for display."""
    try:
        return json.dumps(value)
    except RecursionError:
        return "{…}"
