"""Requests to the test servers from the tests themselves, which need no certificates: loading them takes 30 ms a client."""

from __future__ import annotations

import ssl
from typing import Any

import httpx2 as httpx

from tests.support.waiting import HANG_S

_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def get(address: str, **more: Any) -> httpx.Response:
    return httpx.get(address, timeout=HANG_S, trust_env=False, verify=_NO_CERTIFICATES, **more)


def post(address: str, **more: Any) -> httpx.Response:
    return httpx.post(address, timeout=HANG_S, trust_env=False, verify=_NO_CERTIFICATES, **more)
