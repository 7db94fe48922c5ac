"""Errors of the toolkit that are no news."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from traceback import walk_tb

from textual._context import active_message_pump
from textual.dom import DOMNode
from textual.driver import Driver
from textual.message_pump import MessagePump

# from the first cell on
_CLEAR = "\x1b[H\x1b[J"


def lenient(driver: type[Driver]) -> type[Driver]:
    """The driver, but a paste or a mouse report in another encoding is ignored instead of ending the app, and a terminal
    without a second screen does not keep the last one of the app among its own lines."""
    read = getattr(driver, "run_input_thread", None)
    if read is None:
        return driver

    class LenientDriver(driver):  # type: ignore[misc, valid-type]
        def run_input_thread(self) -> None:
            while True:
                with suppress(UnicodeDecodeError):
                    super().run_input_thread()
                    return

        def stop_application_mode(self) -> None:
            self.write(_CLEAR)
            super().stop_application_mode()

    return LenientDriver


def is_ours(error: BaseException) -> bool:
    """Whether any code of recjudge below the frame that caught the error had a part in it."""
    frames = list(walk_tb(error.__traceback__))[1:]
    return any(str(frame.f_globals.get("__name__")).startswith("recjudge_tui") for frame, _ in frames)


def is_too_late(error: BaseException) -> bool:
    """Whether an error comes from a screen or widget that is going: the one at work, or one that the traceback names."""
    selves = (frame.f_locals.get("self") for frame, _ in walk_tb(error.__traceback__))
    pumps = [active_message_pump.get(None), *selves]
    return any(is_leaving(pump) for pump in pumps if isinstance(pump, MessagePump))


def is_leaving(pump: MessagePump) -> bool:
    """Whether a screen or widget, or one of its parents, is being closed, so that its remaining children are never
    mounted.
    """
    return not pump.is_attached or any(
        node._closing or (isinstance(node, DOMNode) and node._pruning) for node in _and_above(pump)
    )


def _and_above(pump: MessagePump) -> Iterator[MessagePump]:
    node: MessagePump | None = pump
    while node is not None:
        yield node
        node = node._parent
