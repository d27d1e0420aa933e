"""Prometheus' HTTP API, as far as an instant query goes."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

import urllib3
from pydantic import BaseModel, ConfigDict, ValidationError

CONNECT, READ = 3.0, 15.0
_CHUNK = 1 << 16
LONGEST = 20.0  # seconds for a whole answer, however it drips


class PrometheusError(Exception):
    """No answer that could be used; nothing may be concluded about any GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One series' value at one moment (epoch seconds)."""

    labels: Mapping[str, str]
    value: float
    at: float


class _Series(BaseModel):
    model_config = ConfigDict(extra="ignore")

    metric: dict[str, str]
    value: tuple[float, str]


class _Data(BaseModel):
    model_config = ConfigDict(extra="ignore")

    resultType: str  # noqa: N815 - Prometheus' own name
    result: list[object]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore")

    status: str
    data: _Data | None = None
    error: str = ""


class Prometheus:
    """One server. Safe to use from any thread; a token goes with each query, if there is one."""

    def __init__(self, url: str, *, token: str | None = None) -> None:
        self._url = url.rstrip("/") + "/api/v1/query"
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        timeout = urllib3.Timeout(connect=CONNECT, read=READ)
        self._pool = urllib3.PoolManager(timeout=timeout, retries=False)

    def query(self, text: str) -> tuple[Sample, ...]:
        """The series of an instant query; those that are no number are left out.

        Raises PrometheusError.
        """
        begun = time.monotonic()
        try:
            answer = self._pool.request(
                "POST",
                self._url,
                fields={"query": text},
                headers=self._headers,
                preload_content=False,
            )
            body = _read(answer, begun + LONGEST)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise PrometheusError(f"no answer: {error}") from error
        try:
            read = _Answer.model_validate_json(body)
        except ValidationError as error:
            raise PrometheusError(f"HTTP {answer.status}, which is no answer to a query") from error
        if read.status != "success" or read.data is None:
            raise PrometheusError(read.error or f"HTTP {answer.status}")
        if read.data.resultType != "vector":
            raise PrometheusError(f"the query gives a {read.data.resultType}, not a vector")
        try:
            series = [_Series.model_validate(one) for one in read.data.result]
            samples = [
                Sample(labels=one.metric, value=float(one.value[1]), at=one.value[0])
                for one in series
            ]
        except ValueError as error:  # a ValidationError is one, too
            raise PrometheusError(f"a series that cannot be read: {error}") from error
        return tuple(sample for sample in samples if math.isfinite(sample.value))


def _read(answer: urllib3.BaseHTTPResponse, until: float) -> bytes:
    """All of an answer that is there by a time of the monotonic clock. Raises PrometheusError."""
    found = []
    while part := answer.read1(_CHUNK):
        found.append(part)
        if time.monotonic() > until:
            answer.close()
            raise PrometheusError("the answer takes too long")
    answer.release_conn()
    return b"".join(found)
