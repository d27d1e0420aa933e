"""Whether the bot lives, whether it is of use right now, and its figures.

`/live` fails when a restart would help: a tick that does not come through any more, or a
socket that stayed deaf. `/ready` fails while people would talk to a wall: Slack does not
reach us, the store or the engine is not there, or no bot decides; it names the one that
does. `/metrics` is for Prometheus.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """One figure: what it means, and its values, each under its labels."""

    name: str
    about: str
    labels: tuple[str, ...] = ()
    values: Mapping[tuple[str, ...], float] = field(default_factory=dict)


class Vitals(Protocol):
    """What the bot knows of itself. Safe to call from any thread."""

    def failing(self) -> tuple[str, ...]:
        """What a restart would mend; nothing while it lives."""
        ...

    def missing(self) -> tuple[str, ...]:
        """What keeps it from being of use now."""
        ...

    def leader(self) -> str | None:
        """Which bot decides; None while none is known to."""
        ...

    def gauges(self) -> Iterable[Gauge]:
        """Its figures."""
        ...


class _Figures(Collector):
    def __init__(self, vitals: Vitals) -> None:
        self._vitals = vitals

    def collect(self) -> Iterable[Metric]:
        """Read all figures."""
        for gauge in self._vitals.gauges():
            family = GaugeMetricFamily(gauge.name, gauge.about, labels=gauge.labels)
            for labels, value in sorted(gauge.values.items()):
                family.add_metric(labels, value)
            yield family


def health_routes(vitals: Vitals) -> list[Route]:
    """The three addresses."""

    async def live(_: Request) -> Response:
        return _verdict(await run_in_threadpool(vitals.failing))

    async def ready(_: Request) -> Response:
        wrong = await run_in_threadpool(vitals.missing)
        return _verdict(wrong, leader=await run_in_threadpool(vitals.leader))

    async def metrics(_: Request) -> Response:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Figures(vitals))
        return Response(await run_in_threadpool(generate_latest, registry), media_type=CONTENT_TYPE)

    return [Route("/live", live), Route("/ready", ready), Route("/metrics", metrics)]


def health_app(vitals: Vitals) -> Starlette:
    """An app with nothing but its health."""
    return Starlette(routes=health_routes(vitals))


def _verdict(wrong: tuple[str, ...], **more: str | None) -> Response:
    found = {"ok": not wrong, "wrong": list(wrong), **more}
    return JSONResponse(found, status_code=503 if wrong else 200)
