"""Models on Amazon Bedrock through its Converse API. The optional package botocore finds the credentials and signs."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar
from urllib.parse import quote

from recjudge_tui.domain.address import with_options
from recjudge_tui.domain.calls import Message, Request
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import JudgeError, RecjudgeError
from recjudge_tui.judges import replies, servers
from recjudge_tui.judges.http import Answer
from recjudge_tui.judges.keys import AWS, Key, Sent, pairs_of, require_trust

BEARER = "AWS_BEARER_TOKEN_BEDROCK"
_CREDENTIALS = re.compile(r"accessdenied|token|signature|notauthorized|unrecognizedclient")
_NEXT = "Check the AWS credentials (aws sts get-caller-identity, AWS_PROFILE) and their right to bedrock:InvokeModel."
# models of other vendors answer prompt caching with an error
_CACHING = ("anthropic.", "amazon.nova")


class BedrockJudge(servers.HttpJudge):
    """One model (id or inference profile) at the region's endpoint, unless another one is named. Each request is signed
    with the AWS credential chain, or has the bearer token of the environment."""

    default_key = ""
    signs = True
    expected = "a Converse answer"
    schema_part = "outputConfig"
    droppable = ("outputConfig", "temperature", "cachePoint")
    counts: ClassVar[dict[str, str]] = {
        "input": "usage.inputTokens+usage.cacheReadInputTokens+usage.cacheWriteInputTokens",
        "output": "usage.outputTokens",
        "cached_input": "usage.cacheReadInputTokens",
        "cache_written": "usage.cacheWriteInputTokens",
    }

    def __init__(self, spec: JudgeSpec) -> None:
        super().__init__(spec)
        self.chat_path = f"/model/{quote(self._model, safe='')}/converse"
        self._given, self._key_variable = self.urls, ""
        self._region = ""
        # botocore's, which renews them when they expire; None: the bearer token is sent
        self._credentials: Any = None
        self._aws_secrets: list[Key] = []

    def secrets(self) -> tuple[Sent, ...]:
        """The credential chain, if an address is given; else the region's own server gets it."""
        return (*pairs_of((AWS,), self._given), *super().secrets())

    def check_trust(self) -> None:
        require_trust(pairs_of((AWS,), self._given))
        super().check_trust()

    async def prepare(self, workload: Workload) -> Identity:
        """Find credentials and region. Only the first call shows whether the model can be used. Raises JudgeError when
        botocore is not installed, or there are no credentials or no region."""
        self.check_trust()
        await asyncio.to_thread(self._find_credentials)
        return await super().prepare(workload)

    def _find_credentials(self) -> None:
        try:
            from botocore.session import Session
        except ModuleNotFoundError:
            step = "Install it with: pip install 'recjudge[bedrock]'"
            raise JudgeError(
                "The judge bedrock needs the package botocore", "It is not installed here.", step
            ) from None
        with _readable_credentials():
            session = Session()
            # botocore does not read AWS_REGION
            self._region = os.environ.get("AWS_REGION") or session.get_config_variable("region") or ""
            found = session.get_credentials()
            self._aws_secrets = _secrets_in(found.get_frozen_credentials()) if found else []
        if not self._region:
            raise JudgeError(
                "No AWS region is set", "Bedrock needs one.", "Set it: export AWS_REGION=us-east-1"
            )
        if bearer := os.environ.get(BEARER):
            key = Key(BEARER, bearer)
            self._aws_secrets.append(key)
            self._headers.update(key.bearer())
        elif found is None:
            raise JudgeError(
                "No AWS credentials found",
                "There are none in the environment, in ~/.aws, or from this machine's role.",
                "Run aws configure or aws sso login, or set AWS_PROFILE or AWS_ACCESS_KEY_ID.",
            )
        else:
            self._credentials = found
        own = f"https://bedrock-runtime.{self._region}.amazonaws.com"
        self._endpoints = servers.Endpoints(self._given or (own,))

    def _secrets(self) -> list[Key]:
        return [*self._aws_secrets, *super()._secrets()]

    async def _headers_for(self, url: str, content: bytes) -> Mapping[str, str]:
        if self._credentials is None:
            return self._headers
        # renewing credentials may ask the network
        return await asyncio.to_thread(self._signed, url, content)

    def _signed(self, url: str, content: bytes) -> dict[str, str]:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        request = AWSRequest("POST", url, headers=dict(self._headers), data=content)
        with _readable_credentials():
            keys = self._credentials.get_frozen_credentials()
            SigV4Auth(keys, "bedrock", self._region).add_auth(request)
        self._aws_secrets = _secrets_in(keys)
        return dict(request.headers)

    def _wanted(self, request: Request) -> dict[str, Any]:
        schema = {
            "schema": json.dumps(servers.without_bounds(request.reply_schema)),
            "name": request.schema_name,
        }
        wanted = {
            "maxTokens": request.sampling.max_tokens,
            "temperature": request.sampling.temperature,
            # this API takes the schema as text
            "outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}},
        }
        return wanted | ({"cachePoint": "default"} if any(maker in self._model for maker in _CACHING) else {})

    def _content(self, request: Request, sent: dict[str, Any]) -> dict[str, Any]:
        system, others = servers.split_system(request.messages)
        blocks: list[dict[str, Any]] = [{"text": replies.sound_text(text)} for text in system]
        if blocks and "cachePoint" in sent:
            blocks.append({"cachePoint": {"type": "default"}})
        inference = {name: sent[name] for name in ("maxTokens", "temperature") if name in sent}
        body: dict[str, Any] = {
            "messages": [{"role": m.role, "content": _blocks(m)} for m in others],
            "inferenceConfig": inference,
        }
        options = {name: value for name, value in sent.items() if name not in ("cachePoint", *inference)}
        return with_options(body | ({"system": blocks} if blocks else {}), options)

    def _said(self, answer: dict[str, Any], target: replies.CallTarget) -> replies.VendorReply:
        message = replies.part_of(replies.part_of(answer, "output"), "message")
        if not message:
            raise replies.bad_body(target.server, self.expected, "It has no message.")
        blocks = replies.objects_of(message, "content")
        thoughts = (replies.part_of(block, "reasoningContent") for block in blocks)
        thinking = (replies.part_of(thought, "reasoningText") for thought in thoughts)
        return replies.VendorReply(
            text="".join(replies.sound_text(block.get("text")) for block in blocks),
            thinking="".join(replies.sound_text(part.get("text")) for part in thinking),
            model=self._model,
            stop=replies.sound_text(answer.get("stopReason")),
        )

    def _meaning(
        self, url: str, response: Answer, error: replies.ServerError, request: Request | None = None
    ) -> RecjudgeError:
        if response.status_code in (401, 403) or _CREDENTIALS.search(error.code):
            kind = replies.amazon_kind(response) or response.status_code
            title = f"Bedrock refused the AWS credentials ({kind})"
            return JudgeError(title, self._scrub(error.message), _NEXT)
        return super()._meaning(url, response, error, request)


@contextmanager
def _readable_credentials() -> Iterator[None]:
    from botocore.exceptions import BotoCoreError

    try:
        yield
    except BotoCoreError as error:
        raise JudgeError("The AWS credentials cannot be used", one_line(error, 300), _NEXT) from None


def _secrets_in(keys: Any) -> list[Key]:
    named = (("AWS secret key", keys.secret_key), ("AWS session token", keys.token))
    return [Key(name, secret) for name, secret in named if secret]


def _image(base64: str) -> dict[str, Any]:
    return {"image": {"format": "jpeg", "source": {"bytes": base64}}}


def _blocks(message: Message) -> list[dict[str, Any]]:
    content = servers.content_of(message, _image)
    parts = [{"text": content}] if isinstance(content, str) else content
    return [{"text": part["text"]} if "text" in part else part for part in parts]
