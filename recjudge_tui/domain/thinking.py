"""Thinking in the text of a reply: most servers give it apart, the others leave the tags of the family in the text."""

from __future__ import annotations

import html
import re

_THINKING = re.compile(
    r"""(?=[<[◁])(?:  # first of all, because it stands nowhere in most texts
      (?:<\|?|\[|◁)\s{0,3}(?P<end>/\s{0,3}|end[_ ]?(?:of[_ ]?)?)?(?:[a-z]{1,12}[:_]){0,3}
        (?:think(?:ing)?|thoughts?)\s{0,3}(?:\|?>|\]|▷)
      |(?P<final>(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>\s{0,3}final\b[^<{]{0,40}
        (?:<\|constrain\|>\s{0,3}\w{1,20}\s{0,3})?<\|message\|>|<channel\|>)
      |(?:<\|start\|>assistant)?<\|channel\|?>\s{0,3}(?:analysis|commentary|thought)\b[^<{]{0,80}(?:<\|message\|>)?)""",
    re.IGNORECASE | re.VERBOSE,
)
# the block with which a reply may begin, whatever the family calls it, and what ends it
_BLOCK = re.compile(
    r"""\s*(?:<(?P<name>[\w:-]{0,20}(?:think|thought|reason|reflect|scratch|analy[sz]|monolog|plan|deliberat|ponder|draft)[\w:-]{0,20})
        (?:\s[^<>]{0,80})?>|<\|inner_prefix\|>(?P<inner>)|<unused94>(?P<unused>)
        |<details\b[^<>]{0,80}>(?P<folded>)(?=\s{0,9}<summary>[^<]{0,80}(?:think|thought|reason)))""",
    re.IGNORECASE | re.VERBOSE,
)
_BLOCK_ENDS = {"inner": "<|inner_suffix|>", "unused": "<unused95>", "folded": "</details>"}
# the channel form as servers print it that leave out the special tokens
_BARE_CHANNELS = re.compile(r"\Aanalysis(?=[^a-z]).*?assistantfinal(?:\s?json)?", re.DOTALL)
# the tokens at the end of a turn
_END_TOKEN = re.compile(
    r"(?:<\|(?:return|end\w{0,12}|im_end|eot_id)\|>|</s>|<eos>|<end_of_turn>)\Z", re.IGNORECASE
)
IN_THE_MIDDLE = "it has thinking (a tag such as <think>) in the middle; the answer must come after it"
NO_ANSWER = "it has thinking and no answer after it"


def without_end(text: str) -> str:
    """The text without space around it and tokens that end a turn."""
    text = text.strip()
    while end := _END_TOKEN.search(text, max(len(text) - 20, 0)):
        text = text[: end.start()].rstrip()
    return text


def is_ended(text: str) -> bool:
    """Whether a tag ends the thinking in a text."""
    return any(mark["end"] or mark["final"] for mark in _THINKING.finditer(text))


def split_thinking(text: str) -> tuple[str, str, str]:
    """The answer, the thinking in front of it, and what is wrong (empty: nothing). Thinking without an end, or without
    anything behind it, leaves no answer; if text stands before or between, all of it is the answer. What stands before an
    end without a beginning is thinking too: a server may have sent the beginning."""
    whole = rest = without_end(text)
    if rest.startswith("&lt;"):
        rest = html.unescape(rest)
    thoughts: list[str] = []
    while (block := _BLOCK.match(rest)) and not _THINKING.match(block[0].strip()):
        ends = _BLOCK_ENDS.get(block.lastgroup or "", f"</{block['name']}>")
        end = re.compile(re.escape(ends), re.IGNORECASE).search(rest, block.end())
        thoughts.append(rest[block.end() : end.start() if end else None])
        rest = rest[end.end() :] if end else ""
    bare = _BARE_CHANNELS.match(rest)
    place, thinking = bare.end() if bare else 0, False
    thoughts.append(bare[0] if bare else "")
    for mark in _THINKING.finditer(rest, place):
        opens = not (mark["end"] or mark["final"])
        before = rest[place : mark.start()].strip()
        if opens and not thinking and before:
            return whole, "", IN_THE_MIDDLE
        thoughts.append(before)
        thinking, place = opens, mark.end()
    answer = rest[place:].strip()
    if thinking:
        thoughts, answer = [*thoughts, answer], ""
    thought = "\n".join(filter(None, map(str.strip, thoughts)))
    return answer, thought, NO_ANSWER if not answer and (thought or place) else ""
