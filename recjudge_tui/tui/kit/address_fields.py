"""The fields of a form that say where a judge answers, as `domain.address` declares them. Contains no widget."""

from __future__ import annotations

from collections.abc import Mapping

from recjudge_tui.domain.address import ADDRESS_OPTIONS
from recjudge_tui.domain.judge import JudgeAddress

ADDRESS = tuple(ADDRESS_OPTIONS)


def address_texts(address: JudgeAddress) -> dict[str, str]:
    """The content of each field, by the name of its option."""
    return {name: " ".join(words) for name, words in address.words.items()}


def read_address(texts: Mapping[str, str]) -> JudgeAddress:
    """The address in the fields; commas and spaces separate words. Raises AddressError naming the option."""
    address = JudgeAddress.of_words({name: texts[name].replace(",", " ").split() for name in ADDRESS})
    address.check()
    return address
