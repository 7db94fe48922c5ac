"""The context length of a run at an Ollama server, and signs that a prompt did not fit into it."""

from __future__ import annotations

from typing import Any

from recjudge_tui.domain.calls import Request, estimate_prompt_tokens, whole
from recjudge_tui.domain.judge import Workload
from recjudge_tui.judges.http.failures import overflow

MIN_CONTEXT = 4096
MARGIN = 256  # chat template, role marks
THINKING_ROOM = 4

# no tokenizer encodes ordinary text in fewer tokens than this
_CHARACTERS_PER_TOKEN = 8
# a prompt that was entirely in the server's cache is counted as one token or a few
_WHOLE_PROMPT_CACHED = 64


def context_for(workload: Workload, context_length: int | None, *, thinks: bool = False) -> int:
    """The context length of a run: longest prompt, reply cap and a margin, rounded up to a multiple of 1,024.

    At least 4,096 and at most the model's maximum. A prompt that is too long for the model fails on its own and does
    not affect the other calls. A model that thinks gets room for the larger cap that is used when a call is repeated
    because thinking used up the first cap.
    """
    reply = workload.max_tokens * (THINKING_ROOM if thinks else 1)
    need = workload.longest_prompt_tokens + reply + MARGIN
    rounded = max(MIN_CONTEXT, -(-need // 1024) * 1024)
    return rounded if context_length is None else min(rounded, context_length)


def estimated_size(request: Request) -> str:
    """The request's size as a sentence for an error message."""
    low, high = estimate_prompt_tokens(request.messages)
    return f"By estimate it has {low} to {high} tokens, and its reply may take {request.sampling.max_tokens}"


def check_room(answer: dict[str, Any], stop: str, num_ctx: int) -> None:
    """Raise CallError `overflow` for an answer that ended because prompt and reply filled the context."""
    prompt, reply = whole(answer.get("prompt_eval_count")), whole(answer.get("eval_count"))
    if stop == "length" and prompt is not None and reply is not None and prompt + reply >= num_ctx:
        raise overflow(
            f"Prompt ({prompt} tokens) and reply ({reply} so far) filled the context of {num_ctx}.",
            prompt,
            num_ctx,
        )


def check_prompt_count(request: Request, answer: dict[str, Any], num_ctx: int) -> dict[str, Any]:
    """A flag if the server's count of prompt tokens suggests truncation; empty when nothing looks wrong.

    Servers before 0.5, and some of 2026, count only the tokens that were not in their cache, so a low count
    alone proves nothing. CallError `overflow` is raised if

    - the prompt fills the context,
    - the count includes the cached tokens by the server's word, and is too low nevertheless,
    - the count is too low even for the last message, which is new in every call, but not so low that the whole
      prompt must have been cached.

    Any other low count is returned as `prompt_count_suspicious`, which is stored with the call.
    """
    counted = whole(answer.get("prompt_eval_count"))
    if counted is None:
        return {}
    least = sum(len(m.content) for m in request.messages) // _CHARACTERS_PER_TOKEN
    least_last = len(request.messages[-1].content) // _CHARACTERS_PER_TOKEN
    includes_cache = whole(answer.get("prompt_eval_cached_count")) is not None
    too_low = counted < least
    if counted >= num_ctx or (too_low and includes_cache) or (_WHOLE_PROMPT_CACHED <= counted < least_last):
        raise overflow(
            f"Ollama read {counted} tokens of a prompt that has at least {least}. Its context is {num_ctx} tokens."
        )
    return {"prompt_count_suspicious": {"counted": counted, "at_least": least}} if too_low else {}
