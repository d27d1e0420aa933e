"""Takes a measurement of every pool that has a rule about idle GPUs, and hands it to the loop.

The network is asked first and outside of every transaction; without an answer nothing is
concluded about any GPU, and nobody is asked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from bot.control.idleness import IdleSweep
from bot.control.loop import Control
from bot.idle.measure import FindPod, measure, query
from bot.idle.prometheus import Prometheus, PrometheusError

log = logging.getLogger(__name__)


class IdleWatch:
    """One look is one query for each pool with a rule."""

    def __init__(
        self,
        control: Control,
        prometheus: Prometheus,
        find_pod: FindPod,
        leads: Callable[[str], Sequence[str]],
    ) -> None:
        self._control, self._prometheus = control, prometheus
        self._find_pod, self._leads = find_pod, leads
        self._silent = False

    def look(self) -> None:
        """Measure and judge; a server that does not answer is told once, and tried again later."""
        terms, now = self._control.terms, self._control.clock.now()
        uses = {}
        for pool in terms.layout.pools:
            if pool.idle is None:
                continue
            try:
                samples = self._prometheus.query(query(pool.idle.after))
            except PrometheusError as error:
                self._hear(error)
                return
            since = now - pool.idle.after
            uses[str(pool.name)] = measure(samples, self._find_pod, pool.idle.below, since)
        self._hear(None)
        if uses:
            self._control.propose(IdleSweep(terms, self._control.store, self._leads, uses))

    def _hear(self, error: PrometheusError | None) -> None:
        """Tell that nothing is known of idle GPUs, and that it is again, once each."""
        silent, self._silent = self._silent, error is not None
        if error is not None and not silent:
            log.warning("idle GPUs are not known, and nobody is asked: %s", error)
        elif error is None and silent:
            log.info("idle GPUs are known again")
