"""Takes a measurement of every pool that has a rule about idle GPUs, and hands it to the loop.

The network is asked first and outside of every transaction; without an answer nothing is
concluded about any GPU, and nobody is asked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from bot.control.idleness import IdleSweep
from bot.control.loop import Control
from bot.idle.measure import QUERY, RequestOf, measure, window
from bot.idle.prometheus import Prometheus, PrometheusError

log = logging.getLogger(__name__)


class IdleWatch:
    """One look is one query for each pool with a rule."""

    def __init__(
        self,
        control: Control,
        prometheus: Prometheus,
        request_of: RequestOf,
        leads: Callable[[str], Sequence[str]],
    ) -> None:
        self._control, self._prometheus = control, prometheus
        self._request_of, self._leads = request_of, leads

    def look(self) -> None:
        """Measure and judge; a server that does not answer is logged and tried again later."""
        terms = self._control.terms
        uses = {}
        for pool in terms.layout.pools:
            if pool.idle is None:
                continue
            try:
                samples = self._prometheus.query(QUERY.format(window=window(pool.idle.after)))
            except PrometheusError as error:
                log.warning("idle GPUs are not known: %s", error)
                return
            uses[str(pool.name)] = measure(samples, self._request_of, pool.idle.below)
        if uses:
            self._control.propose(IdleSweep(terms, self._control.store, self._leads, uses))
