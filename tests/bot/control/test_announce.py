"""Who hears of what: one post an event for all, one notice a person, whatever they lose."""

from __future__ import annotations

import dataclasses

from storage.records import Audience
from storage.states import RequestState as S
from tests.bot import house as people_of
from tests.bot.house import ADA, BEN, LEA, START_DELAY, House

NOA = dataclasses.replace(people_of.NOA, teams=("vision",))


def test_one_gang_that_stops_five_of_three_people_tells_each_once(house: House) -> None:
    """Need 72: one post in the channel, one for on-call, three private notices."""
    owners = (BEN, BEN, LEA, LEA, NOA)
    house.core.directory.add([NOA])
    targets = [house.ask(owner, gpus=8, preemptible=True, duration=12 * 3600.0) for owner in owners]
    more = house.ask(BEN, nodes=3, preemptible=True, duration=12 * 3600.0)
    house.step()
    house.step(START_DELAY)
    assert {house.state(each) for each in (*targets, more)} == {S.RUNNING}
    house.ask(ADA, nodes=4)
    house.step()
    stopped = {each for each in (*targets, more) if house.state(each) is S.PREEMPTING}
    people = {house.request(each).workload.owner for each in stopped}
    posts = [item.notice for item in house.said("preempted-group")]
    private = [
        item.notice
        for kind in ("preempted", "preempted-group")
        for item in house.said(kind)
        if item.notice.audience is Audience.PERSON
    ]
    assert len(stopped) > len(people) > 1
    assert sorted(str(notice.target) for notice in private) == sorted(people)
    shared = [n.audience for n in posts if n.audience is not Audience.PERSON]
    assert sorted(shared) == [Audience.CHANNEL, Audience.ONCALL]
