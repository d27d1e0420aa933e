"""Writes behind the decision: in order for each object, in parallel, until they are told."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from bot.clusters.kubernetes import writing
from bot.clusters.kubernetes.connection import Refused, Unanswered
from bot.clusters.kubernetes.writing import MOST_CONFLICTS, Write, Writer
from bot.leading import NotLeading


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Writer]:
    monkeypatch.setattr(writing, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(writing, "LONGEST_PAUSE", 0.01)
    made = Writer(at_once=4)
    yield made
    made.stop()


def test_the_writes_of_one_object_keep_their_order(writer: Writer) -> None:
    done: list[int] = []
    for number in range(50):
        writer.put(Write(about="a", what="x", send=lambda n=number: done.append(n)))  # type: ignore[misc]  # bound now
    assert writer.wait(10.0)
    assert done == list(range(50))


def test_one_object_does_not_wait_for_another(writer: Writer) -> None:
    go, done = threading.Event(), threading.Event()
    writer.put(Write(about="slow", what="x", send=lambda: go.wait(10.0)))
    writer.put(Write(about="quick", what="x", send=done.set))
    assert done.wait(10.0)
    assert writer.busy("slow")
    go.set()
    assert writer.wait(10.0)


def test_a_write_without_an_answer_is_sent_until_it_has_one(writer: Writer) -> None:
    tries: list[int] = []

    def send() -> None:
        tries.append(1)
        if len(tries) < 4:
            raise Unanswered("not yet", after=0.001)

    writer.put(Write(about="a", what="x", send=send))
    assert writer.wait(10.0)
    assert len(tries) == 4
    assert writer.stuck == 0.0


def test_a_final_no_is_handed_back_and_not_repeated(writer: Writer) -> None:
    heard: list[Refused] = []
    tries: list[int] = []

    def send() -> None:
        tries.append(1)
        raise Refused(422, "Invalid", "no")

    writer.put(Write(about="a", what="x", send=send, refused=heard.append))
    assert writer.wait(10.0)
    assert (len(tries), [one.status for one in heard]) == (1, [422])


def test_a_conflict_is_tried_again_but_not_for_ever(writer: Writer) -> None:
    heard: list[Refused] = []
    tries: list[int] = []

    def send() -> None:
        tries.append(1)
        raise Refused(409, "Conflict", "another was quicker")

    writer.put(Write(about="a", what="x", send=send, refused=heard.append))
    assert writer.wait(10.0)
    assert (len(tries), len(heard)) == (MOST_CONFLICTS, 1)


@pytest.mark.parametrize("status", [404, 409])
def test_what_is_about_something_that_is_no_more_is_not_tried_again(
    writer: Writer, status: int
) -> None:
    heard: list[Refused] = []
    tries: list[int] = []

    def send() -> None:
        tries.append(1)
        raise Refused(status, "", "the UID in the precondition does not match")

    write = Write(about="a", what="x", send=send, refused=heard.append, moot=lambda: bool(tries))
    writer.put(write)
    assert writer.wait(10.0)
    assert (tries, heard) == ([1], [])


@pytest.mark.parametrize("error", [NotLeading("other"), ZeroDivisionError()])
def test_what_goes_wrong_with_one_write_does_not_stop_the_next(
    writer: Writer, error: Exception
) -> None:
    done = threading.Event()

    def send() -> None:
        raise error

    writer.put(Write(about="a", what="x", send=send))
    writer.put(Write(about="a", what="y", send=done.set))
    assert done.wait(10.0)


def test_what_is_tried_again_holds_up_nobody_else(writer: Writer) -> None:
    """Twice as many fail as can be under way at once."""
    well, done = threading.Event(), threading.Event()

    def send() -> None:
        if not well.is_set():
            raise Unanswered("a webhook is away", after=0.001, apart=True)

    for number in range(8):
        writer.put(Write(about=f"bad-{number}", what="x", send=send))
    writer.put(Write(about="good", what="x", send=done.set))
    assert done.wait(10.0)
    assert writer.stuck == 0.0
    well.set()
    assert writer.wait(10.0)


def test_in_a_storm_one_write_is_tried_at_a_time(writer: Writer) -> None:
    lock = threading.Lock()
    tries: list[str] = []
    done: list[str] = []
    under_way, most = 0, 0

    def send(about: str) -> None:
        nonlocal under_way, most
        with lock:
            tries.append(about)
            storm = len(tries) <= 40
            under_way += 1
            if 12 < len(tries) <= 40:  # before, some are under way that began when all was well
                most = max(most, under_way)
        try:
            if storm:
                raise Unanswered("too many requests")
            done.append(about)
        finally:
            with lock:
                under_way -= 1

    for number in range(200):
        about = f"object-{number}"
        writer.put(Write(about=about, what="x", send=lambda about=about: send(about)))  # type: ignore[misc]  # bound now
    assert writer.wait(20.0)
    assert most == 1
    assert sorted(done) == sorted({f"object-{number}" for number in range(200)})
    assert writer.stuck == 0.0


def test_a_storm_is_left_as_long_as_the_server_says(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("bot.clusters.kubernetes.writing.time.monotonic", lambda: now[0])
    tries: list[float] = []

    def send() -> None:
        tries.append(now[0])
        if now[0] < 1060.0:
            raise Unanswered("too many requests", after=30.0)

    for number in range(20):
        writer.put(Write(about=f"object-{number}", what="x", send=send))
    assert not writer.wait(0.1)
    assert len(tries) <= 8  # those under way when it began
    assert writer.stuck == 0.0
    now[0] = 1029.0
    assert not writer.wait(0.1)
    assert set(tries) == {1000.0}
    assert writer.stuck == 29.0


def test_a_token_that_has_run_out_is_no_final_no(writer: Writer) -> None:
    heard: list[Refused] = []
    tries: list[int] = []

    def send() -> None:
        tries.append(1)
        if len(tries) < 4:
            raise Refused(401, "Unauthorized", "who are you")

    writer.put(Write(about="a", what="x", send=send, refused=heard.append))
    assert writer.wait(10.0)
    assert (len(tries), heard) == (4, [])
