"""Trace readers: the real files, and every way a file can be wrong."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.simulation.traces import TraceError, TraceJob, overlay, read_trace

DATA = Path(__file__).parents[2] / "data"
ITP = "cluster,job_id,submission_time,duration,num_gpu\n"
PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n"


def read(text: str | bytes) -> list[TraceJob]:
    data = text.encode() if isinstance(text, str) else text
    return read_trace([data], "trace.csv")


def test_the_itp_slice() -> None:
    with (DATA / "itp_slice.csv").open("rb") as file:
        jobs = read_trace(file, "itp_slice.csv")
    assert len(jobs) == 400
    assert jobs[0] == TraceJob(
        id="J0000002", tenant="cluster04", submitted=1553563.0, duration=811.0, gpus=2
    )
    assert sum(job.gpus == 8 for job in jobs) == 7
    assert [job.submitted for job in jobs] == sorted(job.submitted for job in jobs)


def test_the_philly_slice_is_unzipped_and_its_timestamps_are_seconds() -> None:
    with (DATA / "philly_slice.csv.gz").open("rb") as file:
        jobs = read_trace(file, "philly_slice.csv.gz")
    assert len(jobs) == 400
    assert sum(job.gpus == 4 for job in jobs) == 19
    (job,) = read(PHILLY + "2017-10-03 00:00:59,60.0,2,120.0,7f04ca\n")
    assert job.submitted == 1506988859.0
    assert (job.tenant, job.duration, job.gpus) == ("7f04ca", 60.0, 2)


def test_jobs_are_put_in_order_of_submission() -> None:
    jobs = read(ITP + "a,x,30,1,1\nb,y,10,1,1\nc,z,10,1,1\n")
    assert [job.tenant for job in jobs] == ["b", "c", "a"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_byte_order_mark_and_column_order_do_not_matter(ending: str, mark: str) -> None:
    header = "num_gpu,duration,extra,submission_time,job_id,cluster"
    jobs = read(mark + ending.join([header, "8,60,?,5,x,a", "", "1,2,?,6,y,b"]))
    assert [(job.tenant, job.gpus, job.duration, job.submitted) for job in jobs] == [
        ("a", 8, 60.0, 5.0),
        ("b", 1, 2.0, 6.0),
    ]


@given(size=st.integers(min_value=1, max_value=200), zipped=st.booleans())
def test_the_size_of_the_pieces_does_not_matter(size: int, zipped: bool) -> None:
    text = (ITP + "".join(f"t{n % 3},id{n},{n},{n + 1},{n % 8 + 1}\n" for n in range(20))).encode()
    data = gzip.compress(text) if zipped else text
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert read_trace(pieces, "x") == read_trace([text], "x")


def test_joined_gzip_files_read_as_one() -> None:
    first, second = (ITP + "a,x,1,2,3\n").encode(), b"b,y,4,5,6\n"
    assert len(read(gzip.compress(first) + gzip.compress(second))) == 2


HEAD = ITP.encode()
ROWS = b"".join(b"a,%d,1,5,1\n" % number for number in range(50))
BROKEN = {
    "empty": (b"", ["trace.csv: found '', expected a header such as cluster,job_id"]),
    "no header": (b"1,2,3\n", ["line 1", "'1,2,3'", "submission_time"]),
    "header only": (HEAD, ["line 1", "at least one job"]),
    "missing column": (
        b"cluster,job_id,submission_time,num_gpu\na,x,1,1\n",
        ["line 1, column duration", "expected this column"],
    ),
    "short line": (HEAD + b"a,x,1\n", ["line 2, column num_gpu", "5 columns", "it has 3"]),
    "no number": (HEAD + b"a,x,1,2,3\na,y,1,soon,3\n", ["line 3, column duration: found 'soon'"]),
    "not a number": (HEAD + b"a,x,1,nan,3\n", ["line 2, column duration: found 'nan'"]),
    "infinite": (HEAD + b"a,x,inf,1,3\n", ["line 2, column submission_time: found 'inf'"]),
    "negative": (HEAD + b"a,x,1,-5,3\n", ["column duration: found '-5'", "0 or more"]),
    "zero GPUs": (HEAD + b"a,x,1,5,0\n", ["column num_gpu: found '0'", "1 or more"]),
    "half a GPU": (HEAD + b"a,x,1,5,0.5\n", ["column num_gpu: found '0.5'", "whole number"]),
    "no tenant": (HEAD + b" ,x,1,5,1\n", ["line 2, column cluster: found ''"]),
    "bad time": (
        PHILLY.encode() + b"yesterday,1,1,1,a\n",
        ["column timestamp: found 'yesterday'", "2017"],
    ),
    "truncated gzip": (
        gzip.compress(HEAD + b"".join(b"a,%d,1,5,1\n" % n for n in range(50)))[:-12],
        ["cut off"],
    ),
    "damaged gzip": (b"\x1f\x8b\x08\x00rubbish that is no deflate", ["a whole gzip file"]),
    "binary": (bytes(range(128, 256)) * 10, ["line 1", "UTF-8 text"]),
    "null bytes": (b"cluster\0,job_id\n", ["line 1", "not binary"]),
    "one endless line": (b"a" * 200_000, ["lines of text"]),
    "open quote": (HEAD + b'"a,x,1,5,1\n' + b"b\n" * 140_000, ["expected"]),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_trace_is_refused_with_what_and_where(kind: str) -> None:
    data, said = BROKEN[kind]
    with pytest.raises(TraceError) as refused:
        read(data)
    message = str(refused.value)
    assert message.startswith("trace.csv")
    for part in said:
        assert part in message
    assert "\n" not in message


@given(st.binary(max_size=300))
def test_rubbish_is_refused_never_a_crash(data: bytes) -> None:
    with pytest.raises(TraceError):
        read(data)


def test_copies_keep_the_span_and_multiply_the_load() -> None:
    jobs = read(ITP + "a,x,0,5,1\na,y,40,5,2\nb,z,100,5,4\n")
    laid = overlay(jobs, 2)
    assert [(job.submitted, job.id, job.tenant) for job in laid] == [
        (0.0, "J0000002", "a"),
        (40.0, "J0000003", "a"),
        (50.0, "J0000002-2", "a-2"),
        (50.0, "J0000004-2", "b-2"),
        (90.0, "J0000003-2", "a-2"),
        (100.0, "J0000004", "b"),
    ]
    assert overlay(jobs, 1) == jobs
    with pytest.raises(ValueError, match="1 or more"):
        overlay(jobs, 0)


def test_a_job_that_is_there_twice_is_named_with_both_lines() -> None:
    rows = "a,j1,1,60,1\na,j2,2,60,1\nb,j1,3,60,1\n"
    with pytest.raises(TraceError) as caught:
        read(ITP + rows)
    assert (caught.value.line, caught.value.column, caught.value.value) == (4, "job_id", "j1")
    assert "line 2" in str(caught.value)


def test_copies_of_a_trace_are_no_jobs_twice() -> None:
    jobs = overlay(read(ITP + "a,j1,1,60,1\na,j2,2,60,1\n"), 3)
    assert len({job.id for job in jobs}) == 6
