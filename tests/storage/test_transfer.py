"""A store that is copied into another database is the same store there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, delete, select
from sqlmodel import col

from storage.engines import read_url
from storage.records import Audience, EventKind, Person, Role, Setting, UsageSample
from storage.states import RequestState
from storage.store import Store, open_store
from storage.tables import EventRow, metadata
from storage.transfer import NotEmpty
from tests.storage.samples import AT, admission, later, notice, request


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Store]:
    """A store in use."""
    store = open_store(f"sqlite:///{tmp_path / 'old.db'}")
    with store.write(fence=7) as work:
        for _ in range(3):
            one = work.requests.next_id()
            work.requests.add(request(one))
            work.events.add(EventKind.SUBMIT, one, "U1", AT)
        work.requests.move(
            one,
            RequestState.ADMITTED,
            at=later(60),
            actor="engine",
            reason="admitted",
            attempt=1,
            admission=admission(one),
        )
        work.outbox.put(notice(f"card:{one}", Audience.CARD, request=one, args={"n": 1}), AT)
        work.inbox.first("Ev1", AT)
        work.usage.put(UsageSample(team="nlp", chip_hours=1.5, at=AT))
        work.people.put(Person(id="U1", name="Ada\x00\U0001f600", teams=("nlp",), role=Role.LEAD))
        work.settings.put(Setting(name="pause:q", value="on", author="U1", until=later(60)))
    yield store
    store.close()


def rows(url: str) -> dict[str, list[str]]:
    """All there is, by table, in an order of its own."""
    engine = create_engine(read_url(url))
    with engine.connect() as connection:
        found = {
            table.name: sorted(map(repr, connection.execute(select(table)).all()))
            for table in metadata.sorted_tables
        }
    engine.dispose()
    return found


def where(store: Store) -> str:
    return store.url.render_as_string(hide_password=False)


def test_all_there_is_comes_along(old: Store, url: str) -> None:
    new = open_store(url)
    before = new.identity
    copied = old.copy_into(new)
    assert rows(url) == rows(where(old))
    assert copied == sum(map(len, rows(url).values()))
    assert before != new.identity == old.identity
    new.close()


def test_numbers_go_on_where_they_were(old: Store, url: str) -> None:
    """Also those of rows that are gone since."""
    with old.write() as work:
        last = work.events.add(EventKind.RELEASE, "R-1001", "U1", AT).id
    engine = create_engine(read_url(where(old)))
    with engine.begin() as connection:
        connection.execute(delete(EventRow).where(col(EventRow.id) == last))
    engine.dispose()
    new = open_store(url)
    old.copy_into(new)
    with new.write() as work:
        assert work.requests.next_id() == "R-1004"
        assert work.events.add(EventKind.RELEASE, "R-1001", "U1", AT).id == last + 1
    new.close()


def test_what_holds_something_is_not_overwritten(old: Store, url: str) -> None:
    new = open_store(url)
    with new.write() as work:
        work.settings.put(Setting(name="pause:q", value="off", author="U2"))
    before, identity = rows(url), new.identity
    with pytest.raises(NotEmpty, match="settings"):
        old.copy_into(new)
    assert (rows(url), new.identity) == (before, identity)
    new.close()


def test_back_again(old: Store, url: str, tmp_path: Path) -> None:
    there, back = open_store(url), open_store(f"sqlite:///{tmp_path / 'back.db'}")
    old.copy_into(there)
    there.copy_into(back)
    assert rows(where(back)) == rows(where(old))
    with back.write() as work:
        assert work.events.add(EventKind.RELEASE, "R-1001", "U1", AT).id == 4
    there.close()
    back.close()
