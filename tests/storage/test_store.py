"""Transactions: whole or not at all, one writer, a fence, and plain errors."""

from __future__ import annotations

import datetime as dt
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy.exc import IntegrityError, InvalidRequestError

from storage.errors import ReadOnly, StaleLeader, StoreMisconfigured, StoreUnavailable
from storage.records import Audience, EventKind, Setting
from storage.states import RequestState
from storage.store import Store, open_store
from storage.work import Work
from tests.storage.samples import AT, later, notice, request


def _count(store: Store) -> int:
    with store.read() as view:
        setting = view.settings.get("count")
    return int(setting.value) if setting else 0


def _raise_count(work: Work) -> None:
    before = work.settings.get("count")
    value = int(before.value) + 1 if before else 1
    work.settings.put(Setting(name="count", value=str(value), author="U1"))


def test_fifty_threads_that_read_then_write_lose_no_update(store: Store) -> None:
    together = threading.Barrier(50)

    def step() -> None:
        together.wait()
        with store.write() as work:
            _raise_count(work)

    with ThreadPoolExecutor(50) as pool:
        for done in [pool.submit(step) for _ in range(50)]:
            done.result()
    assert _count(store) == 50


def test_two_stores_on_one_database_lose_no_update(store: Store, url: str) -> None:
    """Two processes share no lock of ours: the database's own has to do."""
    other = open_store(url)
    together = threading.Barrier(10)

    def step(mine: Store) -> None:
        together.wait()
        for _ in range(10):
            with mine.write() as work:
                _raise_count(work)

    with ThreadPoolExecutor(10) as pool:
        for done in [pool.submit(step, (store, other)[n % 2]) for n in range(10)]:
            done.result()
    other.close()
    assert _count(store) == 100


def test_an_exception_undoes_the_whole_step(store: Store) -> None:
    with store.write() as work:
        work.requests.add(request("R-1001"))

    def step() -> None:
        with store.write() as work:
            work.requests.move("R-1001", RequestState.ADMITTED, at=AT, actor="x", reason="y")
            work.outbox.put(notice("a", Audience.CHANNEL), AT)
            work.events.add(EventKind.CANCEL, "R-1001", "U1", AT)
            work.requests.next_id()
            work.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        step()
    with store.write() as work:
        assert work.requests.get("R-1001") == request("R-1001")
        assert len(work.transitions.of("R-1001")) == 1
        assert work.outbox.get("a") is None
        assert work.events.unhandled() == ()
        assert work.requests.next_id() == "R-1001"


def test_a_reader_sees_one_moment(store: Store) -> None:
    with store.write() as work:
        _raise_count(work)
    with store.read() as view:
        assert len(view.settings.all()) == 1
        with ThreadPoolExecutor(1) as pool:
            pool.submit(_write_setting, store, "second").result()
        assert len(view.settings.all()) == 1
    with store.read() as view:
        assert len(view.settings.all()) == 2


def _write_setting(store: Store, name: str) -> None:
    with store.write() as work:
        work.settings.put(Setting(name=name, value="1", author="U1"))


def test_a_reader_cannot_write(store: Store) -> None:
    with pytest.raises(ReadOnly), store.read() as view:
        view.inbox.first("Ev1", AT)
    with pytest.raises(ReadOnly), store.read() as view:
        view.outbox.put(notice("a", Audience.CHANNEL), AT)
    with store.read() as view:
        assert view.inbox.answer("Ev1") is None
        assert view.outbox.get("a") is None


def test_a_write_within_a_write_is_a_programming_error(store: Store) -> None:
    with store.write() as work:
        with pytest.raises(RuntimeError, match="one step"), store.write():
            pass
        _raise_count(work)
    assert _count(store) == 1


def test_records_outlive_the_transaction_and_its_view_does_not(store: Store) -> None:
    with store.write() as work:
        work.requests.add(request("R-1001"))
        kept = work.requests.get("R-1001")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: kept and kept.workload.owner).result() == "U1"
    with pytest.raises(InvalidRequestError):
        work.requests.get("R-1001")
    with pytest.raises(InvalidRequestError):
        work.outbox.put(notice("a", Audience.CHANNEL), AT)


def test_a_former_leader_cannot_write(store: Store) -> None:
    with store.write(fence=3) as work:
        _raise_count(work)
    with store.write(fence=4) as work:
        _raise_count(work)
    with store.write(fence=4) as work:
        _raise_count(work)
    with pytest.raises(StaleLeader) as caught, store.write(fence=3) as work:
        _raise_count(work)
    assert (caught.value.fence, caught.value.newest) == (3, 4)
    with store.write() as work:
        _raise_count(work)
    assert _count(store) == 4


def test_a_fence_of_a_step_that_failed_does_not_count(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.write(fence=9):
        raise ZeroDivisionError
    with store.write(fence=1) as work:
        _raise_count(work)
    assert _count(store) == 1


@pytest.mark.parametrize(
    "zone",
    [dt.UTC, dt.timezone(dt.timedelta(hours=-8)), dt.timezone(dt.timedelta(hours=5, minutes=45))],
)
def test_times_come_back_as_the_same_instant_in_utc(store: Store, zone: dt.timezone) -> None:
    moment = dt.datetime(2026, 3, 29, 1, 30, 0, 1, tzinfo=zone)
    with store.write() as work:
        work.requests.add(request("R-1001", created=moment))
    with store.read() as view:
        back = view.requests.get("R-1001")
    assert back is not None
    assert back.created == moment
    assert back.created.tzinfo is dt.UTC


def test_a_time_without_a_zone_is_refused_and_nothing_is_stored(store: Store) -> None:
    naive = dt.datetime(2026, 3, 1, 13, 30)  # noqa: DTZ001  # the very thing to be refused

    def step() -> None:
        with store.write() as work:
            work.requests.add(request("R-1001"))
            work.requests.move("R-1001", RequestState.CANCELLED, at=naive, actor="x", reason="y")

    with pytest.raises(ValueError, match="zone"):
        step()
    with store.read() as view:
        assert view.requests.get("R-1001") is None


def test_characters_that_a_database_cannot_hold_do_not_lose_the_request(store: Store) -> None:
    said = "16 h100 \x00 \ud83d \N{GRINNING FACE} '; DROP TABLE requests; --" + "x" * 10_000
    with store.write() as work:
        work.requests.add(request("R-1001", text=said))
    with store.read() as view:
        back = view.requests.get("R-1001")
    assert back is not None
    assert back.text == said.replace("\x00", "\ufffd").replace("\ud83d", "\ufffd")


def test_what_belongs_to_no_request_is_refused(store: Store) -> None:
    with pytest.raises(IntegrityError), store.write() as work:
        work.events.add(EventKind.CANCEL, "R-4040", "U1", AT)
    with pytest.raises(IntegrityError), store.write() as work:
        work.outbox.put(notice("a", request="R-4040"), AT)


def test_the_same_request_is_not_added_twice(store: Store) -> None:
    with store.write() as work:
        work.requests.add(request("R-1001"))
    with pytest.raises(IntegrityError), store.write() as work:
        work.requests.add(request("R-1001", created=later(5)))
    with store.read() as view:
        assert view.requests.get("R-1001") == request("R-1001")


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("", "like sqlite:///gpubot.db"),
        ("gpubot.db", "like sqlite:///gpubot.db"),
        ("mysql://u:hunter2@host/x", "'mysql'"),
        ("sqlite://", "file"),
        ("sqlite:///:memory:", "file"),
    ],
)
def test_a_url_that_cannot_serve_is_explained_without_its_password(url: str, part: str) -> None:
    with pytest.raises(StoreMisconfigured) as caught:
        open_store(url)
    assert part in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_a_server_that_does_not_answer_is_unavailable(scheme: str) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        open_store(f"{scheme}://user:hunter2@/gpubot?host=/nonexistent")
    assert "hunter2" not in str(caught.value)


def test_each_store_is_another_and_stays_itself(url: str, tmp_path: Path) -> None:
    first = open_store(url)
    identity = first.identity
    first.close()
    again, other = open_store(url), open_store(f"sqlite:///{tmp_path / 'other.db'}")
    assert (again.identity, len(identity)) == (identity, 12)
    assert other.identity != identity
    again.close()
    other.close()
