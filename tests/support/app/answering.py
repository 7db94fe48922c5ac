"""The app as a process that says when it is at rest, so that a test in its terminal never has to guess how long to wait.

Run with the database and the port of `tests.support.app.pty`. What comes by that connection is the number of keys
typed so far, and what goes back is AT_REST, as soon as these keys are handled and nothing is left to do, or the error
that came of them.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from os import get_terminal_size
from pathlib import Path

from textual import events
from textual.driver import Driver
from textual.message import Message
from textual.timer import Timer

import recjudge_tui.tui.app
from tests.support.app.driving import start_timer, until_at_rest

NUMBER_BYTES = 4
AT_REST = b"."
TRIES = 20


class AnsweringApp(recjudge_tui.tui.app.RecjudgeApp):
    port = 0
    keys_read = 0

    def get_driver_class(self) -> type[Driver]:
        driver = super().get_driver_class()

        class CountingDriver(driver):  # type: ignore[misc, valid-type]
            def process_message(self, message: Message) -> None:
                super().process_message(message)
                AnsweringApp.keys_read += isinstance(message, events.Key)

        return CountingDriver

    async def on_ready(self) -> None:
        self._answering = asyncio.create_task(self._answer())

    async def _answer(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        while asked := await reader.read(NUMBER_BYTES):
            writer.write(await self._at_rest(int.from_bytes(asked, "big")))
            await writer.drain()

    async def _at_rest(self, keys: int) -> bytes:
        """What is looked at may go at that moment: an error is one if it stays."""
        for _ in range(TRIES):
            try:
                await self._rest(keys)
                return AT_REST
            except Exception:  # noqa: BLE001 - whatever it is, the test shows it
                error = traceback.format_exc()
                await asyncio.sleep(0.1)
        return error.encode()

    async def _rest(self, keys: int) -> None:
        while AnsweringApp.keys_read < keys or self.size != get_terminal_size():
            await asyncio.sleep(0.002)
        await until_at_rest(self)
        while not self._driver._writer_thread._queue.empty():
            await asyncio.sleep(0.001)


if __name__ == "__main__":
    AnsweringApp.port = int(sys.argv[2])
    recjudge_tui.tui.app.RecjudgeApp = AnsweringApp  # type: ignore[misc]
    Timer._start = start_timer  # type: ignore[method-assign]
    recjudge_tui.tui.app.run_app(Path(sys.argv[1]))
