"""Starts that are foretold are compared with those that come."""

from __future__ import annotations

from scheduler.engine import Engine
from scheduler.model import Workload
from scheduler.simulation.cluster import SimulatedNodes
from scheduler.simulation.estimates import Estimates
from scheduler.simulation.replay import Replay, Task
from tests.scheduler.builders import a_layout, a_node, a_queue, a_workload


def a_task(name: str, at: float, run_for: float, priority: int = 0) -> Task:
    workload: Workload = a_workload(
        name, "a", gpus=8, created=at, duration=run_for, priority=priority
    )
    return Task(workload, run_for)


def played(*tasks: Task, every: int = 1) -> Estimates:
    estimates = Estimates(every)
    engine = Engine(a_layout(a_queue("a", 8)))
    Replay(engine, SimulatedNodes([a_node("n1")]), estimates=estimates).run(tasks)
    return estimates


def test_what_is_declared_and_not_overtaken_is_foretold_exactly() -> None:
    found = played(a_task("one", 0.0, 100.0), a_task("two", 10.0, 50.0), a_task("three", 20.0, 1.0))
    everybody = found.accuracy()["all"]
    assert (everybody.asked, everybody.silent) == (2, 0)
    assert (everybody.error, everybody.share, everybody.wait) == (0.0, 0.0, 110.0)
    assert (everybody.inside, everybody.undisturbed) == (1.0, 0.0)
    assert found.accuracy()["8"] == everybody
    assert found.accuracy()["1"].asked == 0


def test_who_is_overtaken_counts_as_an_error_of_its_own_kind() -> None:
    late = played(
        a_task("one", 0.0, 100.0),
        a_task("two", 10.0, 50.0),
        a_task("first", 20.0, 45.0, priority=9),
    )
    everybody = late.accuracy()["all"]
    assert everybody.asked == 2  # two was told 100 and started at 145, first was told right
    assert everybody.error == 22.5
    assert everybody.undisturbed == 0.0
    assert everybody.inside == 0.5


def test_a_wrong_declaration_is_an_error() -> None:
    wrong = Task(a_workload("one", "a", gpus=8, created=0.0, duration=500.0), 100.0)
    found = played(wrong, a_task("two", 0.0, 50.0)).accuracy()["all"]
    assert (found.error, found.wait, found.share) == (400.0, 100.0, 4.0)
    assert found.inside == 0.0


def test_every_second_is_asked_about() -> None:
    tasks = [a_task(f"t{number}", float(number), 100.0) for number in range(7)]
    assert played(*tasks, every=2).accuracy()["all"].asked == 3


def test_who_starts_at_once_is_not_asked_about() -> None:
    assert played(a_task("one", 0.0, 5.0), a_task("two", 10.0, 5.0)).accuracy()["all"].asked == 0


def test_its_figures_have_names() -> None:
    shown = played(a_task("one", 0.0, 100.0), a_task("two", 10.0, 50.0)).accuracy()["all"].as_json()
    assert shown["median_error_s"] == 0.0
    assert shown["median_wait_s"] == 90.0
    assert shown["no_start_foretold"] == 0
