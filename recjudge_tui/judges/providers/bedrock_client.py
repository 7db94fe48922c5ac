"""boto3's clients for Bedrock, and the errors for their failures."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, JudgeError, RecjudgeError
from recjudge_tui.judges.http.failures import CallTarget, ServerError, UnreachableError, failure, retry_after
from recjudge_tui.judges.http.keys import Key
from recjudge_tui.judges.http.request import CONNECT_S
from recjudge_tui.judges.providers.images import is_blind
from recjudge_tui.judges.providers.refusals import refused_parameter

BEARER = "AWS_BEARER_TOKEN_BEDROCK"
_DROPPABLE = ("outputConfig", "temperature", "cachePoint")
_CACHING_REFUSED = re.compile(r"prompt caching|cachePoint", re.IGNORECASE)
_TOO_LONG = re.compile(r"input is too long|too many input tokens", re.IGNORECASE)
_NO_MODEL = re.compile(r"model identifier is invalid|on-demand throughput|end of its life", re.IGNORECASE)
_CREDENTIALS = {
    "AccessDeniedException", "ExpiredToken", "ExpiredTokenException", "IncompleteSignature",
    "InvalidClientTokenId", "InvalidSignatureException", "MissingAuthenticationTokenException",
    "NotAuthorized", "SignatureDoesNotMatch", "UnrecognizedClientException",
}  # fmt: skip
_NEXT = "Check the AWS credentials (aws sts get-caller-identity, AWS_PROFILE) and their right to bedrock:InvokeModel."


class Secrets(NamedTuple):
    """The secret parts of the AWS credentials. The repr holds their names only."""

    keys: tuple[Key, ...] = ()

    def scrub(self, text: str) -> str:
        for key in self.keys:
            text = key.scrub(text)
        return text


def no_boto() -> JudgeError:
    return JudgeError(
        "The judge bedrock needs the package boto3",
        "It is not installed here.",
        "Install it with: pip install 'recjudge[bedrock]'",
    )


def open_clients(urls: tuple[str, ...], timeout_s: float, concurrency: int) -> tuple[dict[str, Any], Secrets]:
    """A client for each URL (by default the region's own), and the secrets they sign with.

    Raises ModuleNotFoundError without boto3, JudgeError without credentials or region.
    """
    import boto3
    import botocore.exceptions
    from botocore.config import Config

    config = Config(
        connect_timeout=min(CONNECT_S, timeout_s),
        read_timeout=timeout_s,
        max_pool_connections=concurrency,
        retries={"mode": "standard", "total_max_attempts": 1},
    )
    try:
        session = boto3.session.Session(region_name=os.environ.get("AWS_REGION"))  # boto3 does not read it
        secrets = _secrets_of(session)
        made = [
            session.client("bedrock-runtime", endpoint_url=url, config=config) for url in (urls or (None,))
        ]
    except botocore.exceptions.BotoCoreError as error:
        raise _not_ready(error) from None
    return {client.meta.endpoint_url: client for client in made}, secrets


def _secrets_of(session: Any) -> Secrets:
    """The secrets that the session signs with. Raises NoCredentialsError if there are none."""
    import botocore.exceptions

    bearer = os.environ.get(BEARER, "")
    credentials = session.get_credentials()
    if credentials is None and not bearer:
        raise botocore.exceptions.NoCredentialsError
    frozen = credentials.get_frozen_credentials() if credentials else None
    parts = [(BEARER, bearer)]
    if frozen is not None:
        parts += [("AWS secret key", frozen.secret_key), ("AWS session token", frozen.token)]
    return Secrets(tuple(Key(name, secret) for name, secret in parts if secret))


def _not_ready(error: Exception) -> JudgeError:
    import botocore.exceptions

    if isinstance(error, botocore.exceptions.NoRegionError):
        return JudgeError("No AWS region is set", "Bedrock needs one.", "Set it: export AWS_REGION=us-east-1")
    if isinstance(error, botocore.exceptions.NoCredentialsError):
        return JudgeError(
            "No AWS credentials found",
            "There are none in the environment, in ~/.aws, or from this machine's role.",
            "Run aws configure or aws sso login, or set AWS_PROFILE or AWS_ACCESS_KEY_ID.",
        )
    return JudgeError("The AWS credentials cannot be used", one_line(error, 300), _NEXT)


def refused_parameter_of(error: Exception, sent: Mapping[str, Any]) -> str | None:
    """The parameter that the server, or an old boto3, refuses; None for any other error."""
    import botocore.exceptions

    if isinstance(error, botocore.exceptions.ParamValidationError):
        return "outputConfig" if "outputConfig" in sent and "outputConfig" in str(error) else None
    if not isinstance(error, botocore.exceptions.ClientError):
        return None
    code, message, status, _ = _parts(error)
    if "cachePoint" in sent and _CACHING_REFUSED.search(message):
        return "cachePoint"
    if code != "ValidationException":
        return None
    return refused_parameter(400 if status >= 400 else status, ServerError(message), sent, _DROPPABLE)


def blindness_of(error: Exception) -> str:
    """The server's message if it refuses images because the model cannot see them; empty for any other error."""
    import botocore.exceptions

    if not isinstance(error, botocore.exceptions.ClientError):
        return ""
    _, message, status, _ = _parts(error)
    return one_line(message, 400) if is_blind(status, ServerError(message)) else ""


def failure_of(error: Exception, url: str, model: str, secrets: Secrets) -> RecjudgeError:
    """The error for a failure of boto3: a JudgeError if every further call would fail too, else a CallError."""
    import botocore.exceptions as boto
    from botocore.parsers import ResponseParserError

    why = one_line(secrets.scrub(str(error)), 300)
    if isinstance(error, boto.ClientError):
        return _answered(error, url, model, secrets)
    if isinstance(error, boto.ReadTimeoutError):
        return CallError("timeout", f"No answer from {url} in time", why, retry=True)
    if isinstance(error, boto.EndpointConnectionError | boto.ConnectTimeoutError | boto.ProxyConnectionError):
        return UnreachableError(f"No connection to {url}", why)
    if isinstance(error, boto.HTTPClientError):
        return CallError("connection", f"The connection to {url} was lost", why, retry=True)
    if isinstance(error, ResponseParserError):
        return CallError("bad_body", f"The answer of {url} is not from Bedrock", why, retry=True)
    if isinstance(error, boto.ParamValidationError):
        return CallError("bad_request", "boto3 refused to send this request", why)
    return _not_ready(error)


def _answered(error: Any, url: str, model: str, secrets: Secrets) -> RecjudgeError:
    code, message, status, headers = _parts(error)
    cause = secrets.scrub(one_line(message, 400))
    if code in _CREDENTIALS:
        return JudgeError(f"Bedrock refused the AWS credentials ({code})", cause, _NEXT)
    if _NO_MODEL.search(message):
        return JudgeError(
            f"Bedrock cannot serve “{model}” under this name",
            cause,
            "Write a model id or inference profile of this region: aws bedrock list-inference-profiles.",
        )
    if code == "ServiceQuotaExceededException":
        return CallError("rate_limit", "A Bedrock quota is used up", cause, retry=True)
    if code == "ModelNotReadyException":
        return CallError(
            "overloaded", "The model is not ready", cause, retry=True, retry_after=retry_after(headers)
        )
    if code == "ModelErrorException":
        return CallError("server_error", "The model failed", cause, retry=True)
    kind = "exceed_context_size_error" if _TOO_LONG.search(message) else ""
    return failure(
        status, headers, ServerError(message, kind=kind), CallTarget(url, model, "", secrets.scrub)
    )


def _parts(error: Any) -> tuple[str, str, int, httpx.Headers]:
    """Code, message, status and headers of an error that the service answered with."""
    details = error.response.get("Error", {})
    meta = error.response.get("ResponseMetadata", {})
    status = meta.get("HTTPStatusCode")
    # errors that boto3 makes itself have a code but no status
    by_code = 429 if details.get("Code") == "ThrottlingException" else 500
    return (
        str(details.get("Code") or ""),
        str(details.get("Message") or ""),
        status if isinstance(status, int) and status >= 400 else by_code,
        httpx.Headers(meta.get("HTTPHeaders") or {}),
    )
