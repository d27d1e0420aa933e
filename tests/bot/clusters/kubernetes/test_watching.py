"""What goes wrong on the way to the API server, and that nothing is decided by what is old."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from bot.clusters.base import ClusterUnreachable
from bot.clusters.kubernetes.connection import Connection, Json, Refused, Unanswered
from bot.clusters.kubernetes.mirror import Mirror
from bot.clusters.kubernetes.watched import JOB_SETS
from bot.clusters.kubernetes.watching import Pace, Watcher
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import JOB_SETS as IN_TEAM
from tests.bot.clusters.kubernetes.world import World, wait_until
from tests.kube.rights import JOB_SET_EDIT
from tests.kube.samples import job_set, part, pod
from tests.kube.server import ApiServer


class Heard:
    """A sink that passes all on, and remembers what was said of which pod in which version."""

    def __init__(self, mirror: Mirror) -> None:
        self._pods = mirror.pods
        self.lists = 0
        self.events: list[tuple[str, str, int]] = []

    def replace(self, objects: Iterable[Json]) -> None:
        self._pods.replace(objects)
        self.lists += 1

    def put(self, obj: Json) -> None:
        self._note("put", obj)
        self._pods.put(obj)

    def drop(self, obj: Json) -> None:
        self._note("drop", obj)
        self._pods.drop(obj)

    def _note(self, what: str, obj: Json) -> None:
        meta = obj["metadata"]
        self.events.append((what, meta["name"], int(meta["resourceVersion"])))


class Follower:
    """One watcher of the pods, on a connection of its own."""

    def __init__(self, api: ApiServer, pace: Pace | None = None, silence: float = 30.0) -> None:
        self.mirror = Mirror()
        self.heard = Heard(self.mirror)
        connection = Connection(lambda: api.client("bot"), connect=2.0, read=2.0, silence=silence)
        self.watcher = Watcher(connection, "/api/v1/pods", self.heard, pace=pace)
        self.watcher.start()
        assert self.watcher.wait(20.0)

    def names(self) -> set[str]:
        with self.mirror.lock:
            return {one.name for one in self.mirror.pods.items.values()}

    def wait_for(self, *expected: str) -> None:
        wait_until(lambda: self.names() == set(expected), f"the pods {expected}")


@pytest.fixture
def follower(api: ApiServer) -> Iterator[Follower]:
    made = Follower(api)
    yield made
    made.watcher.stop()


def create(api: ApiServer, name: str) -> None:
    person = Connection(lambda: api.client("alice"))
    person.post("/api/v1/namespaces/team/pods", pod(name))


def remove(api: ApiServer, name: str) -> None:
    Connection(lambda: api.client("alice")).delete(f"/api/v1/namespaces/team/pods/{name}", {})


def test_it_follows_what_comes_changes_and_goes(api: ApiServer, follower: Follower) -> None:
    create(api, "a")
    create(api, "b")
    follower.wait_for("a", "b")
    remove(api, "a")
    follower.wait_for("b")


@pytest.mark.parametrize("broken", [False, True])
def test_a_watch_that_ends_is_taken_up_again(
    api: ApiServer, follower: Follower, broken: bool
) -> None:
    create(api, "a")
    follower.wait_for("a")
    api.drop_watches(broken=broken)
    create(api, "b")
    remove(api, "a")
    follower.wait_for("b")


def test_a_watch_that_breaks_goes_on_after_the_last_it_told(
    api: ApiServer, follower: Follower
) -> None:
    """What has been heard is not heard again: a pod that is gone would be there once more."""
    create(api, "a")
    follower.wait_for("a")
    remove(api, "a")
    create(api, "b")
    follower.wait_for("b")
    api.drop_watches(broken=True)
    create(api, "c")
    follower.wait_for("b", "c")
    versions = [version for _, _, version in follower.heard.events]
    assert versions == sorted(set(versions))
    assert [name for what, name, _ in follower.heard.events if what == "drop"] == ["a"]


def test_waits_grow_only_while_nothing_is_heard(api: ApiServer) -> None:
    """Connections that break now and then, each after news: no break makes the next wait longer."""
    follower = Follower(api, pace=Pace(first=0.001, longest=1e9))
    for number in range(24):  # doubled each time, the last wait would be hours
        api.drop_watches(broken=True)
        create(api, f"p{number}")
        follower.wait_for(*(f"p{one}" for one in range(number + 1)))
    follower.watcher.stop()


def test_gaps_one_after_another_are_no_storm_of_lists(api: ApiServer) -> None:
    """A server that lists what it cannot watch is asked ever less, and that is trouble."""
    follower = Follower(api, pace=Pace(first=0.001, longest=0.01))
    gap = api.faults.fail(410, "GET", path="pods.*watch=true", reason="Expired", times=None)
    api.drop_watches()
    wait_until(lambda: follower.watcher.trouble is not None, "the gaps to be trouble")
    wait_until(lambda: gap.taken > 3, "it to be tried again")
    api.faults.clear()
    create(api, "a")
    follower.wait_for("a")
    wait_until(lambda: follower.watcher.trouble is None, "the trouble to be over")
    follower.watcher.stop()


def test_a_gap_is_filled_by_a_new_list(api: ApiServer, follower: Follower) -> None:
    """410 inside the stream: what was missed is found, also what is gone."""
    create(api, "a")
    follower.wait_for("a")
    api.mute_watches()
    create(api, "b")
    remove(api, "a")
    api.compact()
    api.mute_watches(muted=False)
    follower.wait_for("b")


def test_a_list_whose_pages_have_expired_starts_over(api: ApiServer) -> None:
    """410 as the HTTP status of a page."""
    api.add_running_pods(600, namespace="team")
    gap = api.faults.fail(410, "GET", path="continue=", times=1, reason="Expired")
    follower = Follower(api)
    wait_until(lambda: len(follower.names()) == 600, "all the pods")
    assert gap.taken == 1
    follower.watcher.stop()


def test_silence_ends_a_half_open_watch(api: ApiServer) -> None:
    follower = Follower(api, silence=0.3)
    api.mute_watches()
    create(api, "a")
    wait_until(lambda: follower.watcher.trouble is not None, "the silence to be noticed")
    api.mute_watches(muted=False)
    follower.wait_for("a")
    follower.watcher.stop()


def test_a_server_with_lower_versions_than_were_heard_is_listed_anew(api: ApiServer) -> None:
    """As after its store was restored from a backup: watches are opened and say nothing."""
    follower = Follower(api, silence=1.0)
    create(api, "first")
    follower.wait_for("first")  # so that its watch is open
    follower.watcher._version = "99999999"
    api.drop_watches()
    wait_until(lambda: any("99999999" in one.query for one in api.requests), "the watch")
    create(api, "late")
    api.advance(120.0)
    follower.wait_for("first", "late")
    assert int(follower.watcher.version or 0) < 99999999
    create(api, "later")
    follower.wait_for("first", "late", "later")
    follower.watcher.stop()


def test_that_a_watch_was_opened_is_no_sign_that_it_is_up_to_date(
    api: ApiServer, follower: Follower
) -> None:
    def reopen(*, broken: bool) -> None:
        opened = len(api.requests)
        api.drop_watches(broken=broken)
        wait_until(lambda: len(api.requests) > opened and api.open_watches == 1, "another watch")

    create(api, "first")
    follower.wait_for("first")  # so that its watch is open
    reopen(broken=False)
    told = time.monotonic()
    reopen(broken=True)
    reopen(broken=False)
    wait_until(lambda: follower.watcher.trouble is None, "it to be well")
    assert time.monotonic() - follower.watcher.silent <= told
    create(api, "a")
    follower.wait_for("first", "a")
    wait_until(lambda: time.monotonic() - follower.watcher.silent > told, "it to be heard of")


def test_what_is_quiet_is_listed_again_and_not_doubted(api: ApiServer) -> None:
    """As of a server that sends no bookmarks."""
    follower = Follower(api, silence=0.2)
    create(api, "a")
    follower.wait_for("a")
    lists = follower.heard.lists
    began = time.monotonic()
    wait_until(lambda: follower.heard.lists >= lists + 2, "lists")
    assert time.monotonic() - follower.watcher.silent > began
    assert follower.names() == {"a"}
    follower.watcher.stop()


def test_a_full_comparison_finds_what_a_watch_has_lost(api: ApiServer) -> None:
    follower = Follower(api, pace=Pace(relist=0.0, watch=1))
    create(api, "a")
    follower.wait_for("a")
    with follower.mirror.lock:
        follower.mirror.pods.items.clear()
    api.advance(2.0)
    follower.wait_for("a")
    follower.watcher.stop()


def test_a_kind_that_is_not_there_is_an_empty_list(api: ApiServer) -> None:
    mirror = Mirror()
    connection = Connection(lambda: api.client("admin"))
    watcher = Watcher(connection, JOB_SETS, mirror.job_sets, optional=True)
    watcher.start()
    assert watcher.wait(20.0)
    assert watcher.trouble is None
    assert watcher.silent == 0.0  # nobody is to be heard of
    watcher.stop()


def test_a_kind_that_is_installed_later_is_found(api: ApiServer) -> None:
    mirror = Mirror()
    connection = Connection(lambda: api.client("admin"))
    watcher = Watcher(connection, JOB_SETS, mirror.job_sets, optional=True, pace=Pace(absent=0.02))
    watcher.start()
    assert watcher.wait(20.0)
    api.serve_job_sets()
    connection.post(IN_TEAM, job_set("train", part("workers")))
    wait_until(lambda: len(mirror.job_sets.items) == 1, "the JobSet to be heard of")
    connection.post(IN_TEAM, job_set("more", part("workers")))
    wait_until(lambda: len(mirror.job_sets.items) == 2, "the next one to be heard of")
    assert (watcher.trouble, watcher.silent > 0.0) == (None, True)
    watcher.stop()


def test_a_kind_that_vanishes_leaves_nothing_behind(api: ApiServer) -> None:
    api.serve_job_sets()
    mirror = Mirror()
    connection = Connection(lambda: api.client("admin"))
    connection.post(IN_TEAM, job_set("train", part("workers")))
    watcher = Watcher(connection, JOB_SETS, mirror.job_sets, optional=True, pace=Pace(absent=0.02))
    watcher.start()
    wait_until(lambda: len(mirror.job_sets.items) == 1, "the JobSet to be heard of")
    api.withdraw_job_sets()
    api.drop_watches()
    wait_until(lambda: not mirror.job_sets.items, "the JobSet to be forgotten")
    wait_until(lambda: watcher.trouble is None, "that to be no trouble")
    watcher.stop()


def test_a_kind_that_may_not_be_looked_at_is_absent_until_it_may(api: ApiServer) -> None:
    """Rights from before JobSets were installed must not keep the bot from its other work."""
    api.serve_job_sets()
    api.cluster.gate.grant("viewer-token")
    mirror = Mirror()
    connection = Connection(lambda: api.client("viewer"))
    Connection(lambda: api.client("admin")).post(IN_TEAM, job_set("train", part("workers")))
    watcher = Watcher(connection, JOB_SETS, mirror.job_sets, optional=True, pace=Pace(absent=0.02))
    watcher.start()
    assert watcher.wait(20.0)
    assert watcher.trouble is None
    api.cluster.gate.grant("viewer-token", JOB_SET_EDIT)
    wait_until(lambda: len(mirror.job_sets.items) == 1, "the JobSet to be heard of")
    api.cluster.gate.grant("viewer-token")  # now it is trouble: there is something unseen
    api.drop_watches()
    wait_until(lambda: watcher.trouble is not None, "the trouble to show")
    assert len(mirror.job_sets.items) == 1
    watcher.stop()


def test_an_expired_token_is_read_again(api: ApiServer) -> None:
    who = iter(["viewer-old", "bot"])
    asked: list[str] = []

    def open_client() -> Any:
        asked.append(next(who))
        return api.client(asked[-1])

    connection = Connection(open_client)
    assert len(connection.get("/api/v1/nodes")["items"]) == 6
    assert asked == ["viewer-old", "bot"]


def test_a_token_that_stays_wrong_is_refused(api: ApiServer) -> None:
    connection = Connection(lambda: api.client("nobody"))
    with pytest.raises(Refused) as caught:
        connection.get("/api/v1/nodes")
    assert caught.value.status == 401


def test_a_server_that_sheds_load_says_when_to_come_back(api: ApiServer) -> None:
    api.faults.shed("GET", path="nodes", after=7)
    with pytest.raises(Unanswered) as caught:
        Connection(lambda: api.client("bot")).get("/api/v1/nodes")
    assert caught.value.after == 7.0


def test_a_half_open_connection_is_given_up(api: ApiServer) -> None:
    api.faults.hang("GET", path="nodes")
    with pytest.raises(Unanswered):
        Connection(lambda: api.client("bot"), read=0.2).get("/api/v1/nodes")
    api.release_hanging()


@pytest.mark.parametrize("code", [429, 500, 503, 504])
def test_a_write_goes_through_when_the_server_is_well_again(house: KubeHouse, code: int) -> None:
    if code == 429:
        house.api.faults.shed("PATCH", times=2, after=0)
    else:
        house.api.faults.fail(code, "PATCH", times=2)
    house.create_job("train", pods=2, gpus=8)
    house.run()
    assert house.state("train") is S.RUNNING
    assert house.request("train").attempt == 1


def test_a_write_whose_answer_is_lost_is_done_once(house: KubeHouse) -> None:
    house.api.faults.lose_answer("PATCH", times=3)
    house.create_job("train", pods=2, gpus=8)
    house.run()
    assert house.state("train") is S.RUNNING
    assert len(house.pods()) == 2


def test_a_conflict_is_tried_again_with_what_is_there_now(house: KubeHouse) -> None:
    house.api.faults.conflict_next("PATCH", times=2)
    house.create_job("train", pods=1, gpus=8)
    house.run()
    assert house.state("train") is S.RUNNING


def test_a_job_that_was_changed_meanwhile_is_not_started_as_it_was(house: KubeHouse) -> None:
    """Somebody makes it larger between the decision and the write."""

    def enlarge() -> None:
        path = "/apis/batch/v1/namespaces/team/jobs/train"
        house.person.patch(path, {"spec": {"parallelism": 3, "completions": 3}})

    house.api.faults.before(enlarge, "PATCH", path="jobs/train")
    house.create_job("train", pods=1, gpus=8)
    house.step()
    house.settle()
    house.run(4)
    request = house.request("train")
    assert request.workload.gpus == 24
    assert request.state is S.RUNNING
    assert len(house.bound()) == 3


def test_nothing_is_decided_while_the_api_server_is_away(house: KubeHouse) -> None:
    house.create_job("first")
    house.run()
    house.api.down()
    wait_until(lambda: any(w.trouble for w in house.cluster.watchers), "the trouble to show")
    house.control.step()
    assert house.control.health().cluster_trouble
    with pytest.raises(ClusterUnreachable):
        house.cluster.poll(house.clock.now())
    house.api.up()
    wait_until(lambda: not any(w.trouble for w in house.cluster.watchers), "to be heard again")
    house.create_job("second")
    wait_until(lambda: _round(house) is S.RUNNING, "the second to run")


def _round(house: KubeHouse) -> S | None:
    """The loop waits out its own back-off."""
    house.run(1)
    found = [one.state for one in house.requests() if one.workload.name == "second"]
    return found[0] if found else None


def test_nothing_is_decided_when_nothing_was_heard_for_long(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.cluster.observe(1000.0)
    monkeypatch.setattr("bot.clusters.kubernetes.cluster.SILENT_AT_MOST", -1.0)
    with pytest.raises(ClusterUnreachable, match="nothing was heard"):
        world.cluster.poll(1001.0)
