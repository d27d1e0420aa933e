"""`same rack` and its like, from the words to the nodes and back to the card."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.asks import Nearness, Together
from bot.views import RefusalCode, Refused
from scheduler.layout import Layout
from scheduler.model import LimitKind, TopologyMode, TopologyRequest, WaitReason
from scheduler.policy import compile_policy, load_policy
from tests.bot.house import ADA, POLICY, House, an_ask

RACK = Together(Nearness.SAME, "rack")


def layered() -> Layout:
    """The house's policy with its eight nodes in racks of two and blocks of four."""
    levels = "levels: [gpubot.dev/block, gpubot.dev/rack, kubernetes.io/hostname]"
    spans = "levels: {gpubot.dev/block: 4, gpubot.dev/rack: 2}"
    text = POLICY.replace("provision: reserved\n", f"provision: reserved\n    {levels}\n", 1)
    text = text.replace("gpus: 8, labels", f"gpus: 8, {spans}, labels", 1)
    return compile_policy(load_policy(text, "layered.yaml"))


@pytest.fixture
def racks(tmp_path: Path) -> Iterator[House]:
    folder = tmp_path / "racks"
    folder.mkdir()
    house = House(folder, layered())
    house.step()
    yield house
    house.close()


@pytest.mark.parametrize(
    ("said", "mode", "level"),
    [
        (RACK, TopologyMode.REQUIRED, "gpubot.dev/rack"),
        (Together(Nearness.SAME, "racks"), TopologyMode.REQUIRED, "gpubot.dev/rack"),
        (Together(Nearness.PREFER, "BLOCK"), TopologyMode.PREFERRED, "gpubot.dev/block"),
        (Together(Nearness.PREFER, "gpubot.dev/rack"), TopologyMode.PREFERRED, "gpubot.dev/rack"),
        (Together(Nearness.SAME, "host"), TopologyMode.REQUIRED, "kubernetes.io/hostname"),
        (Together(Nearness.SPREAD), TopologyMode.UNCONSTRAINED, None),
    ],
)
def test_words_become_what_the_engine_asks_of_the_topology(
    racks: House, said: Together, mode: TopologyMode, level: str | None
) -> None:
    request = racks.ask(pods=2, gpus_per_pod=4, topology=said)
    (pods,) = racks.request(request).workload.pod_sets
    assert pods.topology == TopologyRequest(mode=mode, level=level)


def test_without_a_word_nothing_is_demanded(racks: House) -> None:
    (pods,) = racks.request(racks.ask(nodes=2)).workload.pod_sets
    assert pods.topology is None


def test_a_level_that_is_not_there_is_refused_with_those_that_are(racks: House) -> None:
    wanted = an_ask(nodes=2, topology=Together(Nearness.SAME, "rak"))
    refused = racks.desk.submit(ADA.id, wanted, key="k")
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.UNKNOWN_LEVEL
    assert set(refused.near) == {"rack", "block", "node"}
    assert refused.instead is not None
    assert refused.instead.topology == RACK
    assert racks.desk.submit(ADA.id, wanted, key="k") == refused


def test_what_no_rack_could_hold_is_refused_at_once_with_the_largest_that_could(
    racks: House,
) -> None:
    refused = racks.desk.submit(ADA.id, an_ask(nodes=3, topology=RACK), key="k")
    assert isinstance(refused, Refused)
    assert (refused.code, refused.limit) == (RefusalCode.NEVER_FITS, LimitKind.DOMAIN)
    assert (refused.args["where"], refused.args["asked"], refused.args["most"]) == ("rack", 24, 16)
    assert refused.instead is not None
    assert (refused.instead.gpus, refused.instead.topology) == (16, RACK)


def test_the_card_names_the_domain_that_all_nodes_share(racks: House) -> None:
    request = racks.ask(nodes=2, topology=RACK)
    racks.step()
    card = racks.desk.card(request)
    assert card.topology == "same rack"
    told = racks.said("admitted")[0].notice.args
    assert told["domain"] == [list(pair) for pair in card.domain]
    (block_level, block), (rack_level, rack) = card.domain
    assert (block_level, rack_level) == ("block", "rack")
    nodes = {str(n.name): n for n in racks.cluster.observe(racks.clock.now()).nodes}
    assert len(card.nodes) == 2
    for name, _ in card.nodes:
        labels = nodes[name].labels
        assert (labels["gpubot.dev/block"], labels["gpubot.dev/rack"]) == (block, rack)


def test_a_gang_in_two_racks_shares_only_its_block(racks: House) -> None:
    request = racks.ask(nodes=3, topology=Together(Nearness.PREFER, "rack"))
    racks.step()
    card = racks.desk.card(request)
    assert [level for level, _ in card.domain] == ["block"]
    assert sum(gpus for _, gpus in card.nodes) == 24


def test_why_names_the_level_the_best_rack_and_what_it_lacks(racks: House) -> None:
    fillers = [racks.ask(nodes=2, preemptible=True, topology=RACK) for _ in range(4)]
    racks.step()
    kept = {racks.desk.card(request).domain for request in fillers}
    assert len(kept) == 4
    for request in fillers[:2]:
        racks.desk.cancel(ADA.id, request, key=racks.key())
    for _ in range(4):
        racks.step(10.0)
    small = [racks.ask(pods=1, gpus_per_pod=5, team=team) for team in ("nlp", "nlp", "vision")]
    racks.step()
    assert len({racks.desk.card(one).nodes for one in small}) == 3
    wanted = racks.ask(nodes=2, topology=RACK, preemptible=True)
    racks.step()
    why = racks.desk.card(wanted).explanation
    assert why is not None
    assert why.verdict.reason is WaitReason.TOPOLOGY
    assert why.verdict.figures["level"] == "gpubot.dev/rack"
    assert why.verdict.figures["in_domain"] == 1
    assert "/h100-rack-00" in str(why.verdict.figures["domain"])


def test_the_form_offers_the_levels_of_the_policy(racks: House, house: House) -> None:
    assert racks.desk.choices(ADA.id).levels == ("block", "rack")
    assert house.desk.choices(ADA.id).levels == ()
