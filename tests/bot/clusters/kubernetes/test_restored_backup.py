"""A backup from before an upgrade is restored: its store gets another identity, and all is known.

What the store knows of goes on as it was. What was let start since is as of another bot.
"""

from __future__ import annotations

import shutil
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

import pytest

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json
from bot.clusters.kubernetes.leader import DURATION
from storage.records import Recipe, RecipeKind, Request
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.copying import FREE, copy_job, copy_pod, running
from tests.bot.clusters.kubernetes.grouping import create
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.meddling import change_job
from tests.bot.clusters.kubernetes.replicas import two
from tests.bot.clusters.kubernetes.serving import deploy, keep_groups
from tests.bot.clusters.kubernetes.test_another_store import GRACE, free, told
from tests.bot.clusters.kubernetes.test_chat_requests import ask
from tests.bot.clusters.kubernetes.test_two_bots import requests, take_over
from tests.bot.house import ADA, LEA
from tests.kube.samples import part
from tests.kube.server import ApiServer

RUN = Recipe(kind=RecipeKind.RUN, image="i", command="c")


@pytest.fixture
def api(api: ApiServer) -> ApiServer:
    """With JobSet and LeaderWorkerSet installed, a namespace for what is made, and a free one."""
    api.serve_job_sets()
    api.serve_leader_worker_sets()
    api.add_namespace("nlp")
    api.add_namespace(FREE)
    return api


def draw_anew(file: Path) -> None:
    """Do to a database what the upgrade does that first gives it an identity."""
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE identity SET id = ?", (uuid.uuid4().hex[:12],))


def back_up(house: KubeHouse) -> None:
    """Keep the database as it is now."""
    with (
        closing(sqlite3.connect(house.folder / "gpubot.db")) as now,
        closing(sqlite3.connect(house.folder / "backup")) as kept,
    ):
        now.backup(kept)


def restore(house: KubeHouse, rounds: int = 4) -> None:
    """Go back to the version before with its backup, and upgrade again."""
    before = house.store.identity
    house.store.close()
    for file in house.folder.glob("gpubot.db*"):
        file.unlink()
    shutil.copy(house.folder / "backup", house.folder / "gpubot.db")
    draw_anew(house.folder / "gpubot.db")
    house.restart()
    assert house.store.identity != before
    house.run(rounds)


def stored(house: KubeHouse) -> dict[str, Request]:
    with house.store.read() as view:
        return {one.id: one for one in view.requests.find()}


def seals(*objects: Json) -> list[tuple[str, bool]]:
    """The identity on each object, and whether it is sealed as this very one."""
    found = []
    for one in objects:
        bot, _, about = one["metadata"]["annotations"][names.SEAL].partition("/")
        found.append((bot, about == one["metadata"]["uid"]))
    return found


def decisions(house: KubeHouse) -> dict[str, tuple[str | None, str | None]]:
    """What each pod, as the bot takes it, says of by which decision it runs or ran."""
    return {
        uid: (pod.annotations.get(names.DECISION), pod.annotations.get(names.LEFT))
        for uid, pod in house.cluster.mirror.pods.items.items()
    }


def start_all(house: KubeHouse) -> None:
    """Jobs on one node and on several, a JobSet, pods, a group, what is made, a hold's pod."""
    house.create_job("one", gpus=2)
    house.create_job("two", pods=2, gpus=2)
    house.create_job_set("rl", part("workers", pods=2, gpus=2))
    house.create_pod("single", 2, team="nlp")
    create(house, {"a": 2, "b": 2})
    house.run(5)
    ask(house, "run", RUN, gpus=2)
    hold = ask(house, "hold", gpus=2)
    house.create_pod("redeemer", 2, request=hold)
    house.run(5)
    assert len(running(house)) == 10


def release_all(house: KubeHouse) -> None:
    for request in stored(house).values():
        who = ADA.id if request.workload.owner == ADA.id else LEA.id
        house.desk.release(who, request.id, key=f"x{request.id}")
    house.run(2)


def test_all_that_runs_goes_on_as_it_was(house: KubeHouse) -> None:
    start_all(house)
    before, known, left = running(house), stored(house), free(house)
    marks = decisions(house)
    assert {one.state for one in known.values()} == {S.RUNNING}
    back_up(house)
    for _ in range(2):
        restore(house)
        house.step(GRACE)
        house.run(4)
        assert (running(house), stored(house), free(house)) == (before, known, left)
        assert (decisions(house), told(house)) == (marks, [])


def test_replicas_go_on_as_they_were(house: KubeHouse) -> None:
    deploy(house, 2)
    keep_groups(house, 1, 2, team="nlp")
    house.run(6)
    before, known, left = running(house), stored(house), free(house)
    assert (len(before), {one.state for one in known.values()}) == (4, {S.RUNNING})
    back_up(house)
    restore(house)
    house.step(GRACE)
    house.run(4)
    assert (running(house), stored(house), free(house)) == (before, known, left)
    assert told(house) == []


def test_what_runs_can_be_stopped_as_before(house: KubeHouse) -> None:
    start_all(house)
    back_up(house)
    restore(house)
    release_all(house)
    house.restart()
    house.step(GRACE)
    house.run(5)
    assert {one.state for one in stored(house).values()} == {S.RELEASED}
    assert (running(house), free(house)) == ({}, 48)


def test_objects_are_sealed_anew(house: KubeHouse) -> None:
    house.create_job("one", gpus=2)
    house.create_job_set("rl", part("workers", pods=2, gpus=2))
    house.run(4)
    ask(house, "run", RUN, gpus=2)
    house.run(2)
    back_up(house)
    restore(house)
    (made,) = house.person.get("/apis/batch/v1/namespaces/nlp/jobs")["items"]
    mine = (house.store.identity, True)
    assert seals(house.job("one"), house.job_set("rl"), made) == [mine] * 3


def test_what_waits_keeps_its_place(house: KubeHouse) -> None:
    """It ran once, and was stopped for others: its object still tells of that decision."""
    house.create_job("low", pods=4, labels={"preemptible": "true", "priority": "low"})
    house.run(4)
    house.create_job("high", pods=4, labels={"priority": "high"})
    house.run(2)
    house.step(GRACE)
    house.run(4)
    known = stored(house)
    assert (house.state("low"), house.request("low").attempt) == (S.WAITING, 1)
    back_up(house)
    restore(house)
    assert stored(house) == known
    house.desk.release(LEA.id, house.request("high").id, key="x")
    house.run(2)
    house.step(GRACE)
    house.run(4)
    assert (house.state("low"), house.request("low").attempt) == (S.RUNNING, 2)


def test_what_was_let_start_since_is_as_of_another(house: KubeHouse) -> None:
    house.create_job("train", gpus=2)
    house.run(3)
    back_up(house)
    house.create_job("since", gpus=2)
    house.run(3)
    before, left = running(house), free(house)
    restore(house)
    house.step(GRACE)
    house.run(4)
    assert (running(house), free(house)) == (before, left)
    assert [(one.workload.name, one.state) for one in house.requests()] == [("train", S.RUNNING)]
    (args,) = told(house)
    assert args["objects"] == [["Job", "team", "since"]]
    house.create_job("next", gpus=2)
    house.run(3)
    assert (house.request("next").id, house.state("next")) == ("R-1003", S.RUNNING)


def test_a_decision_of_that_name_about_another_object_is_anothers(house: KubeHouse) -> None:
    """A Job that was made anew under its name, and a pod elsewhere: each is sealed as itself."""
    house.create_job("train", gpus=2)
    house.create_pod("single", 2, team="nlp")
    house.run(4)
    marks, bot = house.job("train")["metadata"]["annotations"], house.store.identity
    back_up(house)
    house.delete_job("train")
    house.run(3)
    house.create_job("train", gpus=2)
    house.run(3)
    copy_pod(house, "single", "single", FREE)
    house.run(1)
    house.cluster.close()
    about = house.job("train")["metadata"]["uid"]
    change_job(
        house, "train", {"metadata": {"annotations": {**marks, names.SEAL: f"{bot}/{about}"}}}
    )
    path = f"/api/v1/namespaces/{FREE}/pods/single"
    about = house.person.get(path)["metadata"]["uid"]
    house.person.patch(path, {"metadata": {"annotations": {names.SEAL: f"{bot}/{about}"}}})
    restore(house)
    house.step(GRACE)
    house.run(4)
    (args,) = told(house)
    assert args["objects"] == [["Job", "team", "train"], ["Pod", FREE, "single"]]
    assert {one.workload.name: one.state for one in house.requests()} == {
        "train": S.CANCELLED,
        "single": S.RUNNING,
    }


def test_pods_that_have_left_are_known(house: KubeHouse) -> None:
    create(house, {"a": 2, "b": 2})
    house.run(4)
    body = {"metadata": {"labels": {names.TEAM: None}}}
    house.person.patch("/api/v1/namespaces/team/pods/a", body)
    house.run(3)
    before, known, left = decisions(house), stored(house), free(house)
    assert set(before.values()) == {(None, "R-1001/1"), ("R-1001/1", None)}
    back_up(house)
    restore(house)
    assert (decisions(house), stored(house), free(house)) == (before, known, left)


def test_copies_are_as_of_another(house: KubeHouse) -> None:
    """Of a Job and its pod, of a pod of a group and of a hold."""
    house.create_job("one", gpus=1)
    create(house, {"a": 1, "b": 1})
    house.run(4)
    hold = ask(house, "hold", gpus=1)
    house.create_pod("redeemer", 1, request=hold)
    house.run(4)
    (of_job,) = (name for name in running(house) if name.startswith("one-"))
    known = stored(house)
    copy_job(house, "one", "copy", FREE)
    for name in (of_job, "a", "redeemer"):
        copy_pod(house, name, f"copy-of-{name}", FREE)
    house.run(3)
    copies = {name: uid for name, uid in running(house).items() if name.startswith("copy-")}
    assert len(copies) == 4
    back_up(house)
    restore(house)
    assert stored(house) == known
    release_all(house)
    house.step(GRACE)
    house.run(5)
    assert (running(house), free(house)) == (copies, 48 - 4)


def test_of_two_bots_the_one_that_leads_seals_it(api: ApiServer, tmp_path: Path) -> None:
    """Who looks on knows it as well, and goes on with it when it leads."""
    url = f"sqlite:///{tmp_path / 'gpubot.db'}"
    former = two(api, url)
    former[0].create_job("train", pods=2, gpus=2)
    for _ in range(4):
        former[0].settle()
        former[0].step()
        former[0].let_pods_run()
    old = former[0].store.identity
    for one in former:
        one.close()
    draw_anew(tmp_path / "gpubot.db")
    first, second = (one.again() for one in former)
    try:
        second.candidate.attend()
        second.hand.now += DURATION
        second.candidate.attend()
        first.candidate.attend()
        first.step()
        assert not first.control.health().leads
        first.settle()
        assert seals(first.job("train")) == [(old, True)]
        second.step()
        second.settle()
        assert seals(second.job("train")) == [(second.store.identity, True)]
        take_over(second, first)
        for _ in range(3):
            first.step()
            first.settle()
        (request,) = requests(first)
        assert (request.state, request.attempt, len(first.bound())) == (S.RUNNING, 1, 2)
    finally:
        first.close()
        second.close()
