"""Takes a measurement of every pool that has a rule about idle GPUs, and hands it to the loop.

The network is asked first and outside of every transaction; without an answer nothing is
concluded about any GPU that has a pod. That a hold's have none is known without it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from bot.control.idleness import IdleSweep
from bot.control.loop import Control
from bot.idle.measure import FindPod, Vacancies, measure, query, with_vacant
from bot.idle.prometheus import Prometheus, PrometheusError, Sample
from scheduler.model import Seconds

log = logging.getLogger(__name__)


class IdleWatch:
    """One look is one query for each pool with a rule, where there is somebody to ask."""

    def __init__(
        self,
        control: Control,
        prometheus: Prometheus | None,
        find_pod: FindPod,
        vacancies: Vacancies,
        leads: Callable[[str], Sequence[str]],
    ) -> None:
        self._control, self._prometheus = control, prometheus
        self._find_pod, self._vacancies, self._leads = find_pod, vacancies, leads
        self._silent = False

    def look(self) -> None:
        """Measure and judge; a server that does not answer is told once, and tried again later."""
        terms, now = self._control.terms, self._control.clock.now()
        rules = {str(pool.name): pool.idle for pool in terms.layout.pools if pool.idle is not None}
        if not rules:
            return
        vacancies = self._vacancies()
        samples = self._ask({rule.after for rule in rules.values()})
        uses = {}
        for pool, rule in rules.items():
            since = now - rule.after
            seen = measure(samples.get(rule.after, ()), self._find_pod, rule.below, since)
            uses[pool] = with_vacant(seen, vacancies, since)
        self._control.propose(IdleSweep(terms, self._control.store, self._leads, uses))

    def _ask(self, windows: Iterable[Seconds]) -> Mapping[Seconds, Sequence[Sample]]:
        """The figures of each window; none at all without all of them."""
        if self._prometheus is None:
            return {}
        try:
            found = {after: self._prometheus.query(query(after)) for after in sorted(windows)}
        except PrometheusError as error:
            self._hear(error)
            return {}
        self._hear(None)
        return found

    def _hear(self, error: PrometheusError | None) -> None:
        """Tell that nothing is known of idle GPUs, and that it is again, once each."""
        silent, self._silent = self._silent, error is not None
        if error is not None and not silent:
            log.warning("idle GPUs are not known, and nobody is asked: %s", error)
        elif error is None and silent:
            log.info("idle GPUs are known again")
