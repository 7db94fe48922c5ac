"""Work that must not block the screen: a job in a thread, with a database connection that no other job uses meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from textual.dom import DOMNode
from textual.worker import Worker, get_current_worker

from recjudge_tui.errors import RecjudgeError
from recjudge_tui.store.database import Database
from recjudge_tui.tui.kit.dialogs import Confirm
from recjudge_tui.tui.kit.spare_connections import SpareConnections

Result = TypeVar("Result")
ShowError = Callable[[RecjudgeError], object]
# a longer question would not be shown whole
_LONGEST_QUESTION = 600


class Background:
    """The jobs of one screen, widget or app.

    A job runs in a thread. Its result, or its error, is delivered on the app's thread. Nothing is delivered when
    the job was cancelled or the node is gone, or when a newer job of the same name was started, which also interrupts
    the statement that the older job is waiting for.
    """

    def __init__(self, node: DOMNode, path: Path, show_error: ShowError) -> None:
        self._node = node
        self._connections = SpareConnections(path)
        self._show_error = show_error
        self._lock = Lock()
        self._open: dict[str, Database] = {}
        self._newest: dict[str, Worker[Any]] = {}

    def start(
        self,
        name: str,
        job: Callable[[Database], Result],
        show: Callable[[Result], object],
        failed: ShowError | None = None,
    ) -> None:
        """Run `job` and hand its result to `show`, or a RecjudgeError to `failed` (None: the error dialog).

        A job that would send secrets to a server that the user has not confirmed is started again once the user has.
        """
        self._interrupt(name)
        worker = self._node.run_worker(
            lambda: self._work(name, job, show, failed or self._show_error),
            group=name,
            exclusive=True,
            thread=True,
        )
        self._newest[name] = worker

    def stop(self) -> None:
        """End every job without a result, when the node goes away."""
        self._newest.clear()
        self._node.workers.cancel_node(self._node)
        for name in list(self._open):
            self._interrupt(name)
        self._connections.close()

    def _interrupt(self, name: str) -> None:
        with self._lock:
            if name in self._open:
                self._open[name].interrupt()

    def _work(
        self,
        name: str,
        job: Callable[[Database], Result],
        show: Callable[[Result], object],
        failed: ShowError,
    ) -> None:
        worker = get_current_worker()
        deliver = partial(self._node.call_later, self._deliver, name, worker)
        try:
            with self._connections.lend() as db:
                result = self._run(worker, name, db, job)
        except RecjudgeError as error:
            # a statement interrupted on purpose also ends here
            again = partial(self.start, name, job, show, failed)
            deliver(partial(self._ask_or_fail, again=again, failed=failed), error)
        except Exception as error:  # noqa: BLE001 - the top of a thread
            deliver(self._show_error, _own_fault(error))
        else:
            deliver(show, result)

    def _deliver(self, name: str, worker: Worker[Any], show: Callable[[Any], object], found: object) -> None:
        if self._newest.get(name) is worker and not worker.is_cancelled:
            show(found)

    def _ask_or_fail(self, error: RecjudgeError, again: Callable[[], None], failed: ShowError) -> None:
        from recjudge_tui.judges.trust import UntrustedError, remember  # loads the HTTP client

        if not isinstance(error, UntrustedError) or len(error.listed) > _LONGEST_QUESTION:
            failed(error)
            return
        untrusted = error

        def answered(sure: bool | None) -> None:
            if sure:
                remember(untrusted.sent)
                again()
            elif failed != self._show_error:
                failed(untrusted)

        text = f"You have not confirmed this before.\n\nSend {untrusted.listed}?"
        self._node.app.push_screen(Confirm("Send your secrets?", text, "send them", "send nothing"), answered)

    def _run(self, worker: Worker[Any], name: str, db: Database, job: Callable[[Database], Result]) -> Result:
        with self._lock:
            if worker.is_cancelled:
                raise RecjudgeError("cancelled")
            self._open[name] = db
        try:
            return job(db)
        finally:
            with self._lock:
                if self._open.get(name) is db:
                    del self._open[name]


def _own_fault(error: Exception) -> RecjudgeError:
    """Report a bug in recjudge without ending the app."""
    return RecjudgeError(
        "something went wrong inside recjudge",
        f"{type(error).__name__}: {error}",
        "The app is still running. Please report this with the keys you pressed before.",
    )
