"""The plain values a map is drawn from: every GPU once, with its owner and its place."""

from __future__ import annotations

from pathlib import Path

from bot.maps import Grouping
from scheduler.model import NodeName
from scheduler.simulation.cluster import Outage
from tests.bot.house import ADA, BEN, House
from tests.bot.test_nearness import layered


def test_gpus_are_counted_by_pool_and_by_team(house: House) -> None:
    house.step()
    house.ask(ADA, gpus=3, team="nlp")
    house.ask(BEN, nodes=2)
    house.step()
    by_pool, by_team = house.desk.map(), house.desk.map(Grouping.TEAM)
    assert dict(by_pool.owners) == {"team": 3, "shared-multi": 16}
    assert dict(by_team.owners) == {"nlp": 3, "vision": 16}
    for view in (by_pool, by_team):
        assert (view.gpus, view.used, view.free) == (64, 19, 45)
        assert view.whole == 5
    held = {node.name: node.used for node in by_pool.nodes if node.held}
    assert held == house.holds()


def test_nodes_lie_in_the_order_of_their_domains_and_know_their_place(tmp_path: Path) -> None:
    house = House(tmp_path, layered())
    house.step()
    view = house.desk.map()
    house.close()
    assert view.domains() == {"block": 2, "rack": 4}
    places = [tuple(value for _, value in node.path) for node in view.nodes]
    assert places == sorted(places)
    assert view.nodes[2].path == (("block", "h100-block-001"), ("rack", "h100-rack-002"))


def test_a_failed_node_is_neither_free_nor_whole(house: House) -> None:
    now = house.clock.now()
    name = house.desk.map().nodes[0].name
    house.cluster.fail_node(Outage(node=NodeName(name), at=now, until=now + 3600.0), now)
    house.step(1.0)
    view = house.desk.map()
    assert [node.name for node in view.failed] == [name]
    assert (view.gpus, view.free, view.whole) == (64, 56, 7)


def test_the_status_says_what_is_whole_at_each_level(tmp_path: Path) -> None:
    house = House(tmp_path, layered())
    house.step()
    house.ask(ADA, gpus=1)
    house.step()
    cluster = house.desk.home(ADA.id).cluster
    house.close()
    found = [(one.level, one.domains, one.whole_free, one.largest) for one in cluster.levels]
    assert found == [("block", 2, 1, 32), ("rack", 4, 3, 16)]
