"""The team's label taken off what runs: it goes on outside the bot, which counts it and says so."""

from __future__ import annotations

import pytest

from bot.control.ledger import LOOP
from bot.views import OUTSIDE
from scheduler.model import GPU
from scheduler.rest import Readiness
from storage.records import Audience, Recipe, RecipeKind
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.meddling import JOBS, PODS
from tests.bot.clusters.kubernetes.serving import deploy
from tests.bot.clusters.kubernetes.test_adopting import adopt, run_outside
from tests.bot.clusters.kubernetes.test_chat_requests import ask, state
from tests.bot.clusters.kubernetes.test_given_back import api, start  # noqa: F401 - a fixture
from tests.bot.clusters.kubernetes.test_meddling import AWAY, go_on, meddle
from tests.bot.clusters.kubernetes.test_progress import used
from tests.bot.clusters.kubernetes.world import JOB_SETS, Doom
from tests.bot.house import LEA

READY_WITHIN = Readiness().ready_in
LONG = 700.0  # more than any grace
KINDS = pytest.mark.parametrize("kind", ["group", "job", "jobset"])
PATHS = {
    "job": (f"{JOBS}/train",),
    "jobset": (f"{JOB_SETS}/train",),
    "group": tuple(f"{PODS}/{name}" for name in "abc"),
    "pod": (f"{PODS}/a",),
}


def label(house: KubeHouse, kind: str, team: str | None) -> None:
    """Write the team's label, or take it off."""
    for path in PATHS[kind]:
        house.person.patch(path, {"metadata": {"labels": {"gpubot.dev/team": team}}})


def running(house: KubeHouse) -> set[str]:
    """The uids of pods that run and that nobody has deleted."""
    metas = [one["metadata"] for one in house.pods() if one["status"]["phase"] == "Running"]
    return {meta["uid"] for meta in metas if "deletionTimestamp" not in meta}


def outside(house: KubeHouse) -> int:
    nodes = house.control.read(lambda engine: engine.nodes())
    return sum(node.outside.get(GPU, 0) for node in nodes)


@AWAY
@KINDS
def test_it_runs_on_and_counts_as_others(house: KubeHouse, kind: str, away: bool) -> None:
    name = start(house, kind)
    before = running(house)
    meddle(house, lambda: label(house, kind, None), away=away)
    go_on(house)
    request = house.request(name)
    assert (request.state, request.ended_by) == (S.RELEASED, OUTSIDE)
    assert (used(house), outside(house)) == (0, 24)
    ended = house.said("ended")
    assert {one.notice.audience for one in ended} == {Audience.THREAD, Audience.ONCALL}
    assert {one.notice.args["by"] for one in ended} == {OUTSIDE}
    assert house.said("requeued") == []
    for _ in range(2):
        house.step(LONG)
        go_on(house)
    assert running(house) == before
    house.restart()
    house.step(LONG)
    go_on(house)
    assert running(house) == before
    assert len(house.said("ended")) == 2
    assert len(house.requests()) == 1


@AWAY
@KINDS
def test_put_back_on_it_changes_nothing(house: KubeHouse, kind: str, away: bool) -> None:
    name = start(house, kind)
    before = running(house)
    meddle(house, lambda: label(house, kind, None), away=away)
    go_on(house)
    meddle(house, lambda: label(house, kind, "nlp"), away=away)
    go_on(house)
    house.restart()
    house.step(LONG)
    go_on(house)
    assert running(house) == before
    assert (house.state(name), len(house.requests())) == (S.RELEASED, 1)
    assert (used(house), outside(house)) == (0, 24)


@pytest.mark.parametrize("kind", ["job", "jobset"])
def test_with_the_label_it_is_asked_for_anew_when_it_waits(house: KubeHouse, kind: str) -> None:
    start(house, kind)
    label(house, kind, None)
    go_on(house)
    label(house, kind, "nlp")
    house.person.patch(PATHS[kind][0], {"spec": {"suspend": True}})
    go_on(house)
    assert [one.state for one in house.requests()] == [S.RELEASED, S.RUNNING]
    assert (used(house), outside(house)) == (24, 0)


@AWAY
def test_one_pod_of_a_group_leaves_and_the_others_go_on(house: KubeHouse, away: bool) -> None:
    start(house, "group")
    before = running(house)
    meddle(house, lambda: label(house, "pod", None), away=away)
    go_on(house)
    for _ in range(3):
        house.step(READY_WITHIN)
        go_on(house)
    assert (house.state("g"), house.request("g").attempt) == (S.RUNNING, 1)
    assert running(house) == before
    assert (used(house), outside(house)) == (16, 8)


@AWAY
@KINDS
def test_what_was_told_to_stop_is_stopped_all_the_same(
    house: KubeHouse, kind: str, away: bool
) -> None:
    name = start(house, kind)
    house.desk.release(LEA.id, house.request(name).id, key="k")
    house.step()
    assert house.state(name) is S.STOPPING
    before = running(house)
    meddle(house, lambda: label(house, kind, None), away=away)
    go_on(house)
    assert running(house) == before  # its grace is not over
    house.step(LONG)
    go_on(house)
    assert running(house) == set()
    assert house.state(name) is S.RELEASED
    assert house.request(name).ended_by not in {OUTSIDE, LOOP}
    assert (used(house), outside(house)) == (0, 0)


@AWAY
@pytest.mark.parametrize("kind", ["job", "jobset"])
def test_what_was_deleted_meanwhile_is_gone(house: KubeHouse, kind: str, away: bool) -> None:
    """Also while its pods still end, when only the label might be missing."""
    name = start(house, kind)
    remove = house.delete_job if kind == "job" else house.delete_job_set
    meddle(house, lambda: remove("train"), away=away)
    go_on(house)
    assert house.state(name).final
    assert house.request(name).ended_by != OUTSIDE
    assert (used(house), outside(house), running(house)) == (0, 0, set())


@AWAY
def test_what_the_bot_has_made_runs_on_too(house: KubeHouse, away: bool) -> None:
    house.api.add_namespace("nlp", **{"gpubot.dev/managed": "true"})
    request = ask(house, "k1", Recipe(kind=RecipeKind.RUN, image="x"), gpus=8)
    house.run(2)
    assert state(house, request) is S.RUNNING
    before = running(house)
    assert len(before) == 1
    jobs = "/apis/batch/v1/namespaces/nlp/jobs"
    (name,) = (job["metadata"]["name"] for job in house.person.get(jobs)["items"])
    body = {"metadata": {"labels": {"gpubot.dev/team": None}}}
    meddle(house, lambda: house.person.patch(f"{jobs}/{name}", body), away=away)
    go_on(house)
    for _ in range(2):
        house.step(READY_WITHIN)
        go_on(house)
    assert state(house, request) is S.RELEASED
    assert (running(house), used(house), outside(house)) == (before, 0, 8)


@AWAY
def test_an_adopted_pod_leaves_in_the_same_way(house: KubeHouse, away: bool) -> None:
    house.api.add_namespace("nlp")
    run_outside(house, "notebook", 4)
    adopt(house, LEA.id, "notebook")
    (request,) = house.requests()
    assert request.state is S.RUNNING
    body = {"metadata": {"labels": {"gpubot.dev/team": None}}}
    path = "/api/v1/namespaces/nlp/pods/notebook"
    meddle(house, lambda: house.person.patch(path, body), away=away)
    go_on(house)
    assert state(house, request.id) is S.RELEASED
    assert (used(house), outside(house), len(running(house))) == (0, 4, 1)


@KINDS
@pytest.mark.parametrize("sent", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_the_bot_may_die_at_any_write_of_that(
    house: KubeHouse, kind: str, at: int, sent: bool
) -> None:
    name = start(house, kind)
    before = running(house)
    house.doom = Doom(at, sent=sent)
    label(house, kind, None)
    for _ in range(2):
        house.step()
        house.settle()
    assert house.doom.dead or kind != "group"
    house.restart()
    go_on(house)
    assert (house.state(name), house.request(name).ended_by) == (S.RELEASED, OUTSIDE)
    label(house, kind, "nlp")
    go_on(house)
    house.restart()
    go_on(house)
    assert running(house) == before
    assert (used(house), outside(house)) == (0, 24)


def test_a_replica_leaves_alone_and_its_deployment_goes_on(house: KubeHouse) -> None:
    deploy(house, replicas=2)
    house.run(4)
    before = running(house)
    assert len(before) == 2
    first = min(one["metadata"]["name"] for one in house.pods())
    house.person.patch(f"{PODS}/{first}", {"metadata": {"labels": {"gpubot.dev/team": None}}})
    go_on(house)
    assert sorted(one.state for one in house.requests()) == [S.RELEASED, S.RUNNING]
    assert running(house) == before
    house.restart()
    go_on(house)
    assert running(house) == before
    assert sum(one.notice.audience is Audience.ONCALL for one in house.said("ended")) == 1
