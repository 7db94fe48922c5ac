"""Signals that come while a program is started wait until it is known."""

from __future__ import annotations

import signal

from recjudge_tui.tui.signals import SIGNALS, signals_held


def test_a_signal_within_the_block_is_handled_after_it() -> None:
    handled: list[int] = []
    before = {number: signal.signal(number, lambda caught, _: handled.append(caught)) for number in SIGNALS}
    try:
        with signals_held():
            for number in SIGNALS:
                signal.raise_signal(number)
            assert handled == []
        assert handled == list(SIGNALS)
        signal.raise_signal(signal.SIGTERM)
        assert handled[-1] == signal.SIGTERM
        assert len(handled) == len(SIGNALS) + 1
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
