"""Who waits for what an admin set is told who did; estimates count on its end."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bot.answers import WhenView
from bot.asks import End
from bot.views import Boost, QueueView, WhyView
from scheduler.byhand import Ending, Hand, Held
from scheduler.model import GPU, Figure, Priority, QueueName, WaitReason, WorkloadId
from tests.bot.byhand import HOUR, K, order, run, two_in_line
from tests.bot.house import ADA, ANA, House


def figures(house: House, request: str, reason: WaitReason) -> Mapping[str, Figure]:
    why = house.desk.card(request).explanation
    assert why is not None
    assert why.verdict.reason is reason
    return why.verdict.figures


def told(found: Mapping[str, Figure]) -> tuple[object, ...]:
    return found.get("by"), found.get("because"), found.get("until")


def test_lowered_quota_names_who_lowered_it_why_and_until_when(house: House) -> None:
    run(house)
    end = house.clock.now() + HOUR
    order(house, K.QUOTA, "nlp", gpus=8, end=End(after=HOUR), confirmed=True)
    waits = house.ask()
    house.step()
    for _ in range(2):
        found = figures(house, waits, WaitReason.QUOTA)
        assert told(found) == (ANA.name, "new switches", end)
        assert (found["set_queue"], found["set_from"], found["set_to"]) == ("team-nlp", 16, 8)
        house.restart()
        house.step()


def test_a_drained_node_names_who_drained_it(house: House) -> None:
    for number in range(1, 9):
        order(house, K.DRAIN, f"h100-{number:04}", end=End(after=HOUR))
    end = house.clock.now() + HOUR
    waits = house.ask()
    house.step()
    found = figures(house, waits, WaitReason.TOPOLOGY)
    assert told(found) == (ANA.name, "new switches", end)
    house.restart()
    house.step()
    assert figures(house, waits, WaitReason.TOPOLOGY)["hand"] == "drain"
    found_again = house.desk.when(ADA.id, waits)
    assert isinstance(found_again, WhenView)
    assert found_again.card.prospect is not None
    assert found_again.card.prospect.forecast.likely == end


def test_a_pause_names_who_paused(house: House) -> None:
    order(house, K.PAUSE, "team-nlp", end=End(after=HOUR), confirmed=True)
    waits = house.ask()
    house.step()
    assert told(figures(house, waits, WaitReason.PAUSED)) == (
        ANA.name, "new switches", house.clock.now() + HOUR,
    )  # fmt: skip


def test_an_order_that_takes_the_place_of_another_is_told_instead(house: House) -> None:
    order(house, K.QUOTA, "nlp", gpus=8, end=End(after=HOUR), confirmed=True)
    order(house, K.QUOTA, "nlp", gpus=8, reason="a longer one", confirmed=True)
    held = Held(Hand.QUOTA, "team-nlp", "reserved-h100", GPU)
    house.step()
    engine = house.control.read(lambda engine: engine.in_force().orders)
    assert (engine[held].reason, engine[held].until) == ("a longer one", None)


@pytest.mark.parametrize(
    ("kind", "target", "held"),
    [
        (K.PAUSE, "team-nlp", Held(Hand.PAUSE, "team-nlp")),
        (K.QUOTA, "nlp", Held(Hand.QUOTA, "team-nlp", "reserved-h100", GPU)),
    ],
)
def test_when_counts_on_its_end_and_says_so(house: House, kind: K, target: str, held: Held) -> None:
    end = house.clock.now() + HOUR
    order(house, kind, target, end=End(after=HOUR), confirmed=True, gpus=0)
    waits = house.ask()
    house.step()
    found = house.desk.when(ADA.id, waits)
    assert isinstance(found, WhenView)
    assert found.card.prospect is not None
    forecast = found.card.prospect.forecast
    assert (forecast.likely, forecast.hinge) == (end, Ending(end, held))


def test_a_boosted_card_shows_the_priority_it_has_now_who_gave_it_and_until_when(
    house: House,
) -> None:
    _, first, second = two_in_line(house)
    order(house, K.BOOST, second, priority=Priority.CRITICAL, end=End(after=HOUR))
    boost = Boost(priority="critical", by=ANA.name, until=house.clock.now() + HOUR)
    for _ in range(2):
        assert house.desk.card(second).boost == boost
        assert house.desk.card(second).priority == "medium"
        assert house.desk.card(first).boost is None
        house.restart()
        house.step()
    queue = house.desk.queue(ADA.id)
    assert isinstance(queue, QueueView)
    assert {row.request: row.counts_as for row in queue.mine}[second] == "critical"
    why = house.desk.why(ADA.id, second)
    assert isinstance(why, WhyView)
    assert [(reason, actor) for _, _, reason, actor in why.story][-1] == ("boosted", ANA.id)


def test_the_end_of_a_boost_is_in_the_story_and_off_the_card(house: House) -> None:
    _, _, second = two_in_line(house)
    order(house, K.BOOST, second, priority=Priority.HIGH, end=End(after=HOUR))
    drawn = len([item for item in house.said("card") if item.notice.request == second])
    house.step(HOUR)
    house.step()
    assert house.desk.card(second).boost is None
    assert house.story(second)[-1].reason == "boost-over"
    assert drawn <= len([item for item in house.said("card") if item.notice.request == second])
    known = house.control.read(lambda engine: engine.in_force().boosts)
    assert WorkloadId(second) not in known
    assert QueueName("team-nlp") not in house.control.read(lambda e: e.in_force().pauses)
