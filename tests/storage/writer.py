"""A program to be killed: writes steps of ten requests and their cards, and says how far it is.

It prints `middle N` when step N is half written and `done N` when it is committed. Given a
step number it stops in the middle of that step until it is killed.
"""

from __future__ import annotations

import sys

from storage.records import Audience, Setting
from storage.store import open_store
from tests.storage.samples import AT, notice, request

PER_STEP = 10


def write_steps(url: str, halt_in: int | None) -> None:
    store = open_store(url)
    step = 0
    while True:
        step += 1
        with store.write() as work:
            ids = work.requests.next_ids(PER_STEP)
            work.requests.add_all(request(i) for i in ids)
            work.flush()
            print(f"middle {step}", flush=True)  # noqa: T201  # how the test follows it
            if step == halt_in:
                sys.stdin.read()
            for i in ids:
                work.outbox.put(notice(f"card:{i}", Audience.CARD, request=i), AT)
            work.settings.put(Setting(name="step", value=str(step), author="writer"))
        print(f"done {step}", flush=True)  # noqa: T201  # likewise


if __name__ == "__main__":
    write_steps(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
