"""Interventions: orders that are carried out once, and the audit of what they changed."""

from __future__ import annotations

import dataclasses

from storage.audit import Intervention, InterventionKind, InterventionState
from storage.records import Setting
from storage.store import Store
from storage.work import Work
from tests.storage.samples import AT, later


def ordered(work: Work, kind: InterventionKind = InterventionKind.PAUSE) -> Intervention:
    return work.interventions.add(
        kind,
        "shared-multi",
        actor="U1",
        reason="new switches \x00",
        at=AT,
        until=later(3600),
        wish={"gpus": 8},
    )


def test_an_order_waits_until_it_is_written_down_what_became_of_it(store: Store) -> None:
    with store.write() as work:
        first, second = ordered(work), ordered(work, InterventionKind.PREEMPT)
        assert [one.id for one in work.interventions.ordered()] == [first.id, second.id]
    assert first.until == later(3600)
    with store.write() as work:
        in_force = dataclasses.replace(
            first, state=InterventionState.IN_FORCE, before={"gpus": 16}, after={"gpus": 8}
        )
        work.interventions.write(in_force)
        work.interventions.write(dataclasses.replace(second, state=InterventionState.DONE))
    with store.write() as work:
        assert work.interventions.ordered() == ()
        (kept,) = work.interventions.in_force()
        assert (kept.before, kept.after, kept.wish) == ({"gpus": 16}, {"gpus": 8}, {"gpus": 8})
        assert kept.reason == "new switches �"
        gone = dataclasses.replace(
            kept, state=InterventionState.ENDED, ended=later(60), ended_by="U2"
        )
        work.interventions.write(gone)
    with store.read() as view:
        assert view.interventions.in_force() == ()
        found = view.interventions.get(first.id)
        assert found is not None
        assert (found.ended, found.ended_by) == (later(60), "U2")
        assert [one.id for one in view.interventions.latest(1)] == [second.id]
        assert view.interventions.get(999) is None


def test_a_week_counts_what_was_done_but_not_what_could_not_be(store: Store) -> None:
    with store.write() as work:
        ordered(work)
        failed = dataclasses.replace(ordered(work), state=InterventionState.FAILED)
        work.interventions.write(failed)
        assert work.interventions.count(AT, later(60)) == 1
        assert work.interventions.count(later(1), later(60)) == 0
        (one,) = work.interventions.latest(1)
        assert work.interventions.count(AT, later(60), but_by=one.actor) == 0


def test_settings_are_found_by_how_their_names_begin(store: Store) -> None:
    with store.write() as work:
        for name in ("pause:b", "pause:a", "pause_x", "drain:n1"):
            work.settings.put(Setting(name=name, value="{}", author="U1", until=later(60)))
        assert [one.name for one in work.settings.under("pause:")] == ["pause:a", "pause:b"]
