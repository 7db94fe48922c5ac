"""The terminal's driver, which continues after bytes that are not UTF-8."""

from __future__ import annotations

from contextlib import suppress

from textual.driver import Driver


def lenient(driver: type[Driver]) -> type[Driver]:
    """The driver, but a paste or a mouse report in another encoding is ignored instead of ending the app."""
    read = getattr(driver, "run_input_thread", None)
    if read is None:
        return driver

    class LenientDriver(driver):  # type: ignore[misc, valid-type]
        def run_input_thread(self) -> None:
            while True:
                with suppress(UnicodeDecodeError):
                    super().run_input_thread()
                    return

    return LenientDriver
