"""Which servers reuse the beginning of a prompt that they have just read, and where they say so. An estimate counts on it
for these servers alone.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple
from urllib.parse import urlsplit

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.judges.registry import server_urls


class PrefixMemory(NamedTuple):
    """A server that remembers prompts: the common beginning of two prompts is reused if it has at least `least` tokens,
    in steps of `step`. `marked_only`: only the system text, which our requests mark.
    """

    server: str
    source: str
    least: int = 1
    step: int = 1
    marked_only: bool = False


_CLAUDE = (4096, 1, True)  # the largest of its models' minimums, which are 1,024 to 4,096
_LLAMA_CPP = PrefixMemory("llama.cpp", "ggml-org/llama.cpp, tools/server/README.md, cache_prompt")
_BY_PROVIDER = {
    "gguf": _LLAMA_CPP,
    "ollama": PrefixMemory("Ollama", "ollama/ollama, runner/ollamarunner/cache.go, LoadCacheSlot"),
    "anthropic": PrefixMemory(
        "Anthropic", "https://docs.claude.com/en/docs/build-with-claude/prompt-caching", *_CLAUDE
    ),
    "bedrock": PrefixMemory(
        "Amazon Bedrock", "https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html", *_CLAUDE
    ),
}
_BY_HOST = {
    "api.openai.com": PrefixMemory(
        "OpenAI", "https://platform.openai.com/docs/guides/prompt-caching", 1024, 128
    ),
    # not DeepSeek: it reuses whole stored units, and an equal beginning alone is none of them (its page on context caching)
}
# by the owner that a server names in its list of models
_BY_OWNER = {
    "llamacpp": _LLAMA_CPP,
    "vllm": PrefixMemory("vLLM", "https://docs.vllm.ai/en/latest/features/automatic_prefix_caching", 16, 16),
    "sglang": PrefixMemory("SGLang", "https://docs.sglang.ai/, RadixAttention"),
}


def prefix_memory(judge: JudgeSpec, owners: Collection[str] = ()) -> PrefixMemory | None:
    """The memory of the judge's servers; None unless all are known to have the same. `owners`: what they called
    themselves in an earlier run.
    """
    if judge.provider in _BY_PROVIDER:
        return _BY_PROVIDER[judge.provider]
    if judge.provider != "openai":
        return None
    memories = {_BY_HOST.get(urlsplit(url).hostname or "") for url in server_urls(judge)}
    if memories == {None}:
        memories = {_BY_OWNER.get(owner) for owner in owners}
    return memories.pop() if len(memories) == 1 else None
