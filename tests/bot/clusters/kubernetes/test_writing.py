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
