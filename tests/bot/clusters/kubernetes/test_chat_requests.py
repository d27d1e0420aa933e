"""Requests made in chat: holds redeemed by a label, and what /gpu run and /gpu debug make."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.clusters.kubernetes.templates import TemplateError, read_templates
from bot.views import Submitted
from storage.records import Recipe, RecipeKind
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import ADA, an_ask
from tests.kube.kinds import JOB
from tests.kube.server import ApiServer

ELSEWHERE = """
debug: &made
  metadata: {namespace: a}
  spec:
    managedBy: example.com/else
    template: {spec: {restartPolicy: Never, containers: [{name: main}]}}
run: *made
"""


def ask(house: KubeHouse, key: str, recipe: Recipe | None = None, **more: object) -> str:
    found = house.desk.submit(ADA.id, an_ask(**more), key=key, recipe=recipe)
    assert isinstance(found, Submitted), found
    house.run()
    return found.card.request


def state(house: KubeHouse, request: str) -> S:
    with house.store.read() as view:
        found = view.requests.get(request)
    assert found is not None
    return found.state


def nodes(house: KubeHouse) -> dict[str, str]:
    """The node of each pod, by name; empty while it waits at the gate."""
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in house.pods()}


def test_a_hold_runs_from_its_grant_and_pods_pass_up_to_its_size(house: KubeHouse) -> None:
    request = ask(house, "k1", gpus=4)
    assert state(house, request) is S.RUNNING
    for name in ("a", "b", "c"):
        house.create_pod(name, 2, request=request)
    house.create_pod("stranger", 2)
    house.run()
    there = nodes(house)
    assert [bool(there[name]) for name in ("a", "b", "c", "stranger")] == [True, True, False, False]
    assert there["a"] == there["b"]


def test_it_is_known_whose_a_pod_is(house: KubeHouse) -> None:
    hold = ask(house, "k1", gpus=4)
    house.create_pod("a", 2, request=hold)
    house.create_pod("stranger", 2, request="R-9")
    house.create_job("train", pods=1, gpus=8)
    house.run()
    seen = {name: house.cluster.find_pod(TEAM, name) for name in nodes(house)}
    whose = {name: None if pod is None else pod.request for name, pod in seen.items()}
    (trained,) = [request for name, request in whose.items() if name.startswith("train-")]
    assert (whose["a"], whose["stranger"], trained) == (hold, None, house.request("train").id)
    assert house.cluster.find_pod(TEAM, "nobody") is None


def test_a_pod_that_ends_makes_room_for_the_next(house: KubeHouse) -> None:
    request = ask(house, "k1", gpus=4)
    for name in ("a", "b"):
        house.create_pod(name, 4, request=request)
    house.run()
    assert not nodes(house)["b"]
    house.api.kubelet.finish(f"{TEAM}/a")
    house.run()
    assert nodes(house)["b"]


def test_a_hold_that_is_released_takes_its_pods_away(house: KubeHouse) -> None:
    request = ask(house, "k1", gpus=4)
    house.create_pod("a", 4, request=request)
    house.run()
    house.desk.release(ADA.id, request, key="k2")
    house.run()
    assert state(house, request) is S.STOPPING
    assert nodes(house)["a"]  # its grace is not over
    house.pass_time(301.0)
    house.run()
    assert state(house, request) is S.RELEASED
    assert nodes(house) == {}


def test_a_hold_outlives_a_restart_without_a_pod_and_with_one(house: KubeHouse) -> None:
    empty, used = ask(house, "k1", gpus=4), ask(house, "k2", gpus=4)
    house.create_pod("a", 4, request=used)
    house.run()
    house.restart()
    house.run()
    assert (state(house, empty), state(house, used)) == (S.RUNNING, S.RUNNING)
    house.create_pod("late", 4, request=empty)
    house.create_pod("more", 1, request=used)
    house.run()
    assert nodes(house)["late"]
    assert not nodes(house)["more"]


def test_run_makes_a_job_that_ends_by_itself(house: KubeHouse) -> None:
    recipe = Recipe(kind=RecipeKind.RUN, image="registry.example/train:2", command="python t.py")
    house.api.add_namespace("nlp")
    request = ask(house, "k1", recipe, nodes=2)
    assert state(house, request) is S.RUNNING
    (first, second) = house.pods()
    container = first["spec"]["containers"][0]
    assert container["image"] == "registry.example/train:2"
    assert container["command"] == ["/bin/sh", "-c", "python t.py"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "8"
    assert first["metadata"]["name"].startswith(f"gpubot-{request.lower()}-1-")
    assert first["metadata"]["labels"]["gpubot.dev/admitted"] == request  # people find it by that
    assert first["spec"]["nodeName"] != second["spec"]["nodeName"]
    house.finish_pods()
    house.run()
    assert state(house, request) is S.FINISHED


def test_gpus_of_what_was_made_count_once_also_when_its_pods_are_heard_of_with_it(
    house: KubeHouse,
) -> None:
    house.api.add_namespace("nlp")
    ask(house, "k1", Recipe(kind=RecipeKind.RUN, image="x"), gpus=4)
    assert house.pods()[0]["status"]["phase"] == "Running"
    assert [dict(node.outside) for node in house.control.read(lambda e: e.nodes())] == [{}] * 6


@pytest.mark.parametrize("restarted", [False, True])
def test_what_was_made_is_deleted_when_it_is_released(house: KubeHouse, restarted: bool) -> None:
    house.api.add_namespace("nlp")
    request = ask(house, "k1", Recipe(kind=RecipeKind.DEBUG), gpus=2)
    assert state(house, request) is S.RUNNING
    if restarted:
        house.restart()
        house.run()
    house.desk.release(ADA.id, request, key="k2")
    house.run()
    house.pass_time(301.0)
    house.run(4)
    assert state(house, request) is S.RELEASED
    assert house.pods() == []


@pytest.mark.parametrize("away", [False, True])
def test_what_was_made_and_others_suspend_is_deleted_and_made_anew(
    house: KubeHouse, *, away: bool
) -> None:
    house.api.add_namespace("nlp")
    request = ask(house, "k1", Recipe(kind=RecipeKind.RUN, image="x"), gpus=4)
    (before,) = made(house)
    if away:
        house.cluster.close()
    house.person.patch(before, {"spec": {"suspend": True}})
    if away:
        house.restart()
    house.run(2)
    house.pass_time(61.0)
    house.run(6)
    (after,) = made(house)
    assert after != before  # nobody can resume it beside the other
    assert state(house, request) is S.RUNNING
    assert len(nodes(house)) == 1


def test_what_was_made_and_deleted_before_it_was_heard_of_is_made_anew(house: KubeHouse) -> None:
    house.api.add_namespace("nlp")
    recipe = Recipe(kind=RecipeKind.RUN, image="x")
    found = house.desk.submit(ADA.id, an_ask(gpus=4), key="k1", recipe=recipe)
    assert isinstance(found, Submitted)
    house.control.step()
    assert house.cluster.writer.wait(10.0)
    (path,) = made(house)
    house.person.delete(path, {"propagationPolicy": "Background"})
    house.run(2)
    house.pass_time(house.layout.readiness.ready_in + 1.0)
    house.run(3)
    house.pass_time(3601.0)  # its rest is over
    house.run(3)
    assert state(house, found.card.request) is S.RUNNING
    assert all(nodes(house).values())


def made(house: KubeHouse) -> list[str]:
    """The paths of the Jobs there are."""
    with house.api.cluster.store.lock:
        keys = [one.key for one in house.api.cluster.store.all(JOB)]
    return [f"/apis/batch/v1/namespaces/{space}/jobs/{name}" for space, name in keys]


def test_what_cannot_be_made_fails_and_is_not_tried_for_ever(house: KubeHouse) -> None:
    request = ask(house, "k1", Recipe(kind=RecipeKind.DEBUG), gpus=2)  # no namespace nlp
    house.run()
    assert state(house, request) is S.FAILED


def test_everything_passes_the_shipped_admission_policies(api: ApiServer, tmp_path: Path) -> None:
    api.policies.install_shipped()
    api.add_namespace("nlp", **{"gpubot.dev/managed": "true"})
    house = KubeHouse(api, tmp_path)
    hold = ask(house, "k1", gpus=4)
    house.create_pod("a", 4, request=hold)
    house.create_job("train", pods=2, gpus=8)
    made = ask(house, "k2", Recipe(kind=RecipeKind.RUN, image="x"), gpus=4)
    house.run(5)
    assert {state(house, hold), state(house, made), house.state("train")} == {S.RUNNING}
    assert all(nodes(house).values())
    house.close()


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("run: {}", "debug"),
        ("debug: [", "expected"),
        (
            "{debug: &t {metadata: {namespace: a}, spec: {template: {spec: {}}}}, run: *t}",
            "needs a container",
        ),
        (ELSEWHERE, "spec has no managedBy"),
    ],
)
def test_a_wrong_template_is_named(tmp_path: Path, text: str, field: str) -> None:
    path = tmp_path / "templates.yaml"
    path.write_text(text)
    with pytest.raises(TemplateError, match=field):
        read_templates(path)
