"""Health and figures over HTTP."""

from __future__ import annotations

from collections.abc import Iterable

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from bot.web.health import Gauge, health_app
from bot.web.server import WebError, WebServer


class Told:
    """Vitals that a test sets."""

    def __init__(self) -> None:
        self.fails: tuple[str, ...] = ()
        self.misses: tuple[str, ...] = ()

    def failing(self) -> tuple[str, ...]:
        return self.fails

    def missing(self) -> tuple[str, ...]:
        return self.misses

    def leader(self) -> str | None:
        return "gpubot-0"

    def gauges(self) -> Iterable[Gauge]:
        yield Gauge(name="gpubot_lag", about="Seconds", values={(): 1.5})
        values: dict[tuple[str, ...], float] = {("sent",): 3.0, ('odd "name"\n',): 1.0}
        yield Gauge(name="gpubot_messages", about="By state", labels=("state",), values=values)


def test_live_ready_and_metrics() -> None:
    told = Told()
    server = WebServer(health_app(told), host="127.0.0.1", port=0)
    server.start()
    try:
        base = f"http://127.0.0.1:{server.port}"
        assert httpx.get(f"{base}/live").status_code == 200
        told.misses = ("slack may not reach us",)
        ready = httpx.get(f"{base}/ready")
        assert (ready.status_code, ready.json()["wrong"]) == (503, ["slack may not reach us"])
        assert ready.json()["leader"] == "gpubot-0"
        assert httpx.get(f"{base}/live").status_code == 200
        told.fails = ("tick cycle is late",)
        assert httpx.get(f"{base}/live").status_code == 503
        families = {
            family.name: {tuple(s.labels.values()): s.value for s in family.samples}
            for family in text_string_to_metric_families(httpx.get(f"{base}/metrics").text)
        }
        assert families["gpubot_lag"] == {(): 1.5}
        assert families["gpubot_messages"] == {("sent",): 3.0, ('odd "name"\n',): 1.0}
        taken = WebServer(health_app(told), host="127.0.0.1", port=server.port)
        with pytest.raises(WebError, match=str(server.port)):
            taken.start()
    finally:
        server.stop()
