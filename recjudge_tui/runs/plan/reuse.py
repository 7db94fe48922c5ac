"""How much of a run's prompts its server has just read: the share that it need not read again."""

from __future__ import annotations

from itertools import islice, pairwise

from recjudge_tui.domain.calls import Message, Order, estimate_tokens, shared_start
from recjudge_tui.domain.material import CaseViews, Material
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.run import RunSettings, sampling_of
from recjudge_tui.judges.prefix_memory import PrefixMemory
from recjudge_tui.protocols.base import Protocol
from recjudge_tui.runs.plan.call_order import CaseCalls, guidelines_are_shared, ordered_calls
from recjudge_tui.store.cases import ShownCase

MOST_CALLS = 200


def reused_share(
    memory: PrefixMemory,
    protocol: Protocol,
    prompt: Prompt,
    settings: RunSettings,
    aspects: tuple[str, ...],
    orders: tuple[Order, ...],
    sample: list[CaseViews],
) -> float:
    """The share of prompt tokens that the server reuses, 0 to 1: over the first calls about the sampled cases, in the
    order of the plan, what each prompt shares with the one before. Tokens by the low estimate; parts below the server's
    minimum do not count.
    """
    cases = [CaseCalls(place, _ids(views), orders) for place, views in enumerate(sample)]
    prompts = []
    shared = guidelines_are_shared(prompt, settings.top_k, aspects)
    calls = ordered_calls(cases, aspects, settings.repeats, aspect_last=shared)
    for call in islice(calls, MOST_CALLS):
        material = Material(**sample[call.case_id]._asdict())
        request = protocol.request(
            prompt, material, call.order, call.aspect, sampling_of(settings, call.sample)
        )
        prompts.append(request.messages)
    read = sum(_tokens(message.content) for messages in prompts for message in messages)
    return sum(_reused(memory, before, after) for before, after in pairwise(prompts)) / read


def _ids(views: CaseViews) -> ShownCase:
    """Equal parts have the same id, because neighbouring cases share their parts."""
    slate_a, slate_b, *_ = [*map(id, views.slates), None, None]
    example = None if views.example is None else id(views.example)
    return ShownCase(id(views.user), slate_a, slate_b, None, example)


def _reused(memory: PrefixMemory, before: tuple[Message, ...], after: tuple[Message, ...]) -> int:
    """The tokens at the beginning of a prompt that the server knows from the one before."""
    tokens = 0
    for first, second in zip(before, after, strict=True):
        if memory.marked_only and second.role != "system":
            break
        same = shared_start(first.content, second.content)
        if memory.marked_only and same < len(second.content):
            break
        tokens += _tokens(second.content[:same])
        if same < len(second.content):
            break
    return tokens // memory.step * memory.step if tokens >= memory.least else 0


def _tokens(text: str) -> int:
    return estimate_tokens(text)[0]
