"""What an earlier process acknowledged and did not carry out is carried out at the start."""

from __future__ import annotations

import threading

from slack_bolt import App, BoltRequest

from bot.chat.discreet import discreet_logger
from bot.chat.spool import Spool


class CatchUp:
    """Dispatches what is left in a spool, in a thread of its own, once."""

    def __init__(self, app: App, spool: Spool | None) -> None:
        self._app, self._spool = app, spool
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._log = discreet_logger("gpubot.chat.catchup")

    def start(self) -> None:
        """Begin, if there is something to do."""
        if self._spool is not None and self._spool.left():
            self._thread = threading.Thread(
                target=self._run, args=(self._spool,), name="gpubot-spool"
            )
            self._thread.start()

    def stop(self) -> None:
        """Finish the delivery in hand; the others wait for the next start."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, spool: Spool) -> None:
        left = spool.left()
        self._log.warning("%d deliveries of an earlier run are carried out now", len(left))
        for one in left:
            if self._stopping.is_set():
                return
            with spool.keeping(one):
                headers = {name: [value] for name, value in one.headers.items()}
                self._app.dispatch(
                    BoltRequest(mode="socket_mode", body=dict(one.payload), headers=dict(headers))
                )
