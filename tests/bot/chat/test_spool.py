"""What was acknowledged stays in the file until it is carried out, and no longer."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from bot.chat import spool as module
from bot.chat.spool import MOST_TRIES, Delivery, Spool, SpoolError, Workers


def a_delivery(name: str = "E1", text: str = "4 h100") -> Delivery:
    return Delivery(envelope_id=name, payload={"text": text, "trigger_id": "1.2"}, headers={})


def left_after_kill(path: Path) -> list[str]:
    """What a new process would find; the old one is gone and holds nothing any more."""
    copy = path.with_name("copy.spool")
    copy.write_bytes(path.read_bytes())
    spool = Spool(copy)
    names = [one.envelope_id for one in spool.left()]
    spool.close()
    return names


def test_a_delivery_is_in_the_file_while_it_is_under_way_and_then_gone(tmp_path: Path) -> None:
    path = tmp_path / "s.spool"
    spool = Spool(path)
    with spool.keeping(a_delivery()):
        assert left_after_kill(path) == ["E1"]
    assert path.read_bytes() == b""
    spool.close()


def test_it_stays_until_the_work_given_to_the_threads_is_over(tmp_path: Path) -> None:
    path = tmp_path / "s.spool"
    spool, go_on = Spool(path), threading.Event()
    with Workers(1) as workers:
        with spool.keeping(a_delivery()):
            working = workers.submit(go_on.wait)
        assert left_after_kill(path) == ["E1"]
        go_on.set()
        working.result(timeout=10)
    assert path.read_bytes() == b""
    spool.close()


def test_one_that_is_done_is_not_taken_up_beside_one_that_is_not(tmp_path: Path) -> None:
    path = tmp_path / "s.spool"
    spool = Spool(path)
    with spool.keeping(a_delivery("E1")):
        with spool.keeping(a_delivery("E2")):
            assert left_after_kill(path) == ["E1", "E2"]
        assert left_after_kill(path) == ["E1"]
    spool.close()


def test_what_is_left_is_whole_and_taken_up_with_its_payload(tmp_path: Path) -> None:
    path = tmp_path / "s.spool"
    first = Spool(path)
    first.keeping(a_delivery(text="é <!channel>")).__enter__()
    first.close()
    second = Spool(path)
    (one,) = second.left()
    assert (one.payload, one.tries) == ({"text": "é <!channel>", "trigger_id": "1.2"}, 1)
    with second.keeping(one):
        assert left_after_kill(path) == ["E1"]
    assert path.read_bytes() == b""
    second.close()


def test_one_that_cannot_be_handed_over_waits_for_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "s.spool"
    spool = Spool(path)
    workers = Workers(1)
    workers.shutdown()
    with pytest.raises(RuntimeError), spool.keeping(a_delivery()):
        workers.submit(print)
    assert left_after_kill(path) == ["E1"]
    spool.close()


def test_one_that_ends_every_process_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "s.spool"
    first = Spool(path)
    first.keeping(a_delivery()).__enter__()
    first.close()
    seen = []
    for _ in range(MOST_TRIES + 1):
        spool = Spool(path)
        seen.append(len(spool.left()))
        for one in spool.left():
            spool.keeping(one).__enter__()
        spool.close()
    assert seen == [1] * MOST_TRIES + [0]


def test_a_torn_line_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "s.spool"
    spool = Spool(path)
    spool.keeping(a_delivery("E1")).__enter__()
    with path.open("ab") as file:
        file.write(b'\n{"envelope_id": "E2", "payl')
    spool.keeping(a_delivery("E3")).__enter__()
    assert left_after_kill(path) == ["E1", "E3"]
    spool.close()


def test_the_file_is_ours_alone_and_for_one_process(tmp_path: Path) -> None:
    path = tmp_path / "s.spool"
    path.touch(mode=0o644)
    spool = Spool(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(SpoolError, match=r"GPUBOT_SPOOL: .* that no other bot uses"):
        Spool(path)
    spool.close()
    with pytest.raises(SpoolError, match="No such file"):
        Spool(tmp_path / "nowhere" / "s.spool")


def test_a_long_file_is_rewritten_while_something_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REWRITE_BYTES", 1000)
    path = tmp_path / "s.spool"
    spool = Spool(path)
    with spool.keeping(a_delivery("long")):
        for number in range(50):
            with spool.keeping(a_delivery(f"E{number}")):
                pass
        assert path.stat().st_size < 2000
        assert left_after_kill(path) == ["long"]
    spool.close()
