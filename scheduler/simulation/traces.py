"""Reads the job tables of real GPU clusters into jobs the simulator can play.

Two formats are known, told apart by the header:

- ITP (Microsoft, 2021): `cluster, job_id, submission_time, duration, num_gpu`, times in
  seconds since the collection began;
- Philly (Microsoft, 2017): `timestamp, duration, num_gpus, gpu_time, cluster`, the
  timestamp being local time without a zone, taken as UTC.

Both may be gzipped; that is told by the first two bytes, not by a name. Each value of the
column `cluster` is a tenant and becomes a team. Nothing here opens a file: the caller hands
over the bytes, in pieces of any size, and a name to use in errors.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isfinite

from scheduler.model import Seconds

_GZIP_MAGIC = b"\x1f\x8b"
_LONGEST_LINE = 65_536
_ID = "job_id"


class TraceError(Exception):
    """A trace that cannot be read: where, what was found, and what was expected.

    `line` counts from 1 (the header); `line` and `column` are None where the whole file
    is at fault.
    """

    def __init__(
        self,
        source: str,
        expected: str,
        *,
        line: int | None = None,
        column: str | None = None,
        value: str | None = None,
    ) -> None:
        self.source = source
        self.line = line
        self.column = column
        self.value = value
        self.expected = expected
        where = source
        if line is not None:
            where += f", line {line}"
        if column is not None:
            where += f", column {column}"
        found = "" if value is None else f"found {_short(value)}, "
        super().__init__(f"{where}: {found}expected {expected}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceJob:
    """One job: a gang of `gpus` GPUs that runs for `duration` once it has started."""

    id: str
    tenant: str
    submitted: Seconds
    duration: Seconds
    gpus: int


@dataclass(frozen=True, slots=True)
class _Format:
    """Which columns hold what, and how the submission time is written."""

    submitted: str
    gpus: str
    columns: tuple[str, ...]
    read_time: Callable[[str], float]
    time_expected: str


def _read_number(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(text)
    return value


def _read_timestamp(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


_ITP = _Format(
    submitted="submission_time",
    gpus="num_gpu",
    columns=("cluster", "job_id", "submission_time", "duration", "num_gpu"),
    read_time=_read_number,
    time_expected="a number of seconds, 0 or more, such as 1999",
)
_PHILLY = _Format(
    submitted="timestamp",
    gpus="num_gpus",
    columns=("timestamp", "duration", "num_gpus", "gpu_time", "cluster"),
    read_time=_read_timestamp,
    time_expected="a date and time such as 2017-10-03 14:05:59",
)
_FORMATS = (_ITP, _PHILLY)


def read_trace(chunks: Iterable[bytes], source: str) -> list[TraceJob]:
    """Read a whole trace, in order of submission (ties: order in the file).

    `chunks` are the bytes of the file in pieces of any size (an open binary file will
    do). Ids are `J` and the line number, unique within the file. A job that is there twice,
    by the trace's own ids, is a mistake. Raises TraceError.
    """
    rows = _rows(_lines(_plain(chunks, source), source), source)
    first = next(rows, None)
    if first is None:
        raise TraceError(source, f"a header such as {','.join(_ITP.columns)}", value="")
    kind, places = _format_of(first[1], source)
    known: dict[str, int] = {}
    jobs = []
    for line, row in rows:
        if row:
            _note_id(row, line, places, known, source)
            jobs.append(_job(row, line, kind, places, source))
    if not jobs:
        raise TraceError(source, "at least one job below the header", line=1)
    jobs.sort(key=lambda job: job.submitted)
    return jobs


def overlay(jobs: list[TraceJob], copies: int) -> list[TraceJob]:
    """Lay `copies` copies of a trace over each other, to load a larger cluster.

    Copy k is shifted by k/copies of the trace's span, and what would fall behind its end
    comes round to its beginning, so the span stays and the load is `copies` times as high.
    Copies from the second on are tenants of their own (`name-2`, `name-3`, …).
    """
    if copies < 1:
        raise ValueError("copies must be 1 or more")
    if copies == 1 or not jobs:
        return list(jobs)
    start = jobs[0].submitted
    span = max(jobs[-1].submitted - start, 1.0)
    laid = list(jobs)
    for copy in range(1, copies):
        shift = span * copy / copies
        laid.extend(
            replace(
                job,
                id=f"{job.id}-{copy + 1}",
                tenant=f"{job.tenant}-{copy + 1}",
                submitted=start + (job.submitted - start + shift) % span,
            )
            for job in jobs
        )
    laid.sort(key=lambda job: job.submitted)
    return laid


def _short(value: str) -> str:
    return repr(value if len(value) <= 40 else value[:37] + "...")


def _plain(chunks: Iterable[bytes], source: str) -> Iterator[bytes]:
    """The bytes themselves, or what they unzip to (several gzip members are joined)."""
    parts = iter(chunks)
    head = b""
    for part in parts:
        head += part
        if len(head) >= len(_GZIP_MAGIC):
            break
    if not head.startswith(_GZIP_MAGIC):
        yield head
        yield from parts
        return
    yield from _unzipped(head, parts, source)


def _unzipped(head: bytes, parts: Iterator[bytes], source: str) -> Iterator[bytes]:
    whole = "a whole gzip file"
    unzip = zlib.decompressobj(wbits=31)
    piece: bytes | None = head
    while piece is not None:
        try:
            yield unzip.decompress(piece)
        except zlib.error as error:
            raise TraceError(source, f"{whole}; it is damaged", value=str(error)) from error
        if unzip.eof and unzip.unused_data.strip(b"\0"):
            piece, unzip = unzip.unused_data, zlib.decompressobj(wbits=31)
            continue
        piece = next(parts, None)
    if not unzip.eof:
        raise TraceError(source, f"{whole}; it is cut off, fetch it again")


def _lines(chunks: Iterable[bytes], source: str) -> Iterator[str]:
    """Decoded lines with their ends. Raises TraceError for what is not text."""
    rest = b""
    number = 0
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            number += 1
            yield _decoded(line, number, source) + "\n"
        if len(rest) > _LONGEST_LINE:
            raise TraceError(source, "lines of text (CSV)", line=number + 1)
    if rest:
        yield _decoded(rest, number + 1, source)


def _decoded(line: bytes, number: int, source: str) -> str:
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        found = line[:20].decode("latin-1")
        raise TraceError(source, "UTF-8 text (CSV)", line=number, value=found) from error
    if "\0" in text:
        raise TraceError(source, "text (CSV), not binary", line=number, value=text[:20])
    return text


def _rows(lines: Iterable[str], source: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            line = reader.line_num
            raise TraceError(
                source, "comma-separated values", line=line, value=str(error)
            ) from error
        if row is None:
            return
        yield reader.line_num, row


def _format_of(header: list[str], source: str) -> tuple[_Format, dict[str, int]]:
    """The format whose columns are all there; else an error naming the first one missing."""
    places = {name.strip(): place for place, name in enumerate(header)}
    for kind in _FORMATS:
        if all(column in places for column in kind.columns):
            return kind, places
    nearest = max(_FORMATS, key=lambda kind: sum(c in places for c in kind.columns))
    if not any(column in places for column in nearest.columns):
        known = " or ".join(",".join(kind.columns) for kind in _FORMATS)
        raise TraceError(source, f"a header {known}", line=1, value=",".join(header))
    missing = next(column for column in nearest.columns if column not in places)
    raise TraceError(
        source,
        f"this column in a header {','.join(nearest.columns)}",
        line=1,
        column=missing,
        value=",".join(header),
    )


def _note_id(
    row: list[str], line: int, places: dict[str, int], known: dict[str, int], source: str
) -> None:
    """Refuse a job that is there twice; a trace without ids has nothing to tell by."""
    place = places.get(_ID)
    if place is None or place >= len(row):
        return
    job_id = row[place].strip()
    if job_id in known:
        expected = f"an id of its own, this one is in line {known[job_id]}, too"
        raise TraceError(source, expected, line=line, column=_ID, value=job_id)
    known[job_id] = line


def _job(row: list[str], line: int, kind: _Format, places: dict[str, int], source: str) -> TraceJob:
    def cell(column: str) -> str:
        place = places[column]
        if place >= len(row):
            expected = f"{len(places)} columns in this line, it has {len(row)}"
            raise TraceError(source, expected, line=line, column=column)
        return row[place].strip()

    def number(column: str, read: Callable[[str], float], expected: str) -> float:
        text = cell(column)
        try:
            value = read(text)
        except (ValueError, OverflowError) as error:
            raise TraceError(source, expected, line=line, column=column, value=text) from error
        if value < 0:
            raise TraceError(source, expected, line=line, column=column, value=text)
        return value

    tenant = cell("cluster")
    if not tenant:
        raise TraceError(source, "a name", line=line, column="cluster", value="")
    whole_gpus = "a whole number of GPUs, 1 or more"
    gpus = number(kind.gpus, _read_number, whole_gpus)
    if gpus < 1 or gpus != int(gpus):
        found = cell(kind.gpus)
        raise TraceError(source, whole_gpus, line=line, column=kind.gpus, value=found)
    return TraceJob(
        id=f"J{line:07d}",
        tenant=tenant,
        submitted=number(kind.submitted, kind.read_time, kind.time_expected),
        duration=number("duration", _read_number, "a number of seconds, 0 or more, such as 3600"),
        gpus=int(gpus),
    )
