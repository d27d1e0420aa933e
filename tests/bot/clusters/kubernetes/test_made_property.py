"""Over random steps and faults: what /gpu run and debug make is there once, and whole."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json
from storage.records import Recipe, RecipeKind, Request
from tests.bot.clusters.kubernetes.asking import (
    ASKED,
    SPACE,
    ChatPlay,
    is_let_go,
)
from tests.bot.clusters.kubernetes.playing import (
    ROUND,
    Acts,
    Do,
    label_of,
    name_of,
    play,
    playing,
    steps_of,
)
from tests.kube.documents import condition_of
from tests.kube.kinds import JOB
from tests.kube.server import ApiServer

JOBS = f"/apis/batch/v1/namespaces/{SPACE}/jobs"
MORE = ["finish", "fail-pods", "delete-job", "suspend", "resume", "refuse"]
STEPS = steps_of([*ASKED, *MORE], ["ask", "go-on", "go-on", *ROUND], first=["ask", "go-on"])


class MadePlay(ChatPlay):
    """Jobs that the bot makes; people delete, suspend and resume them."""

    wrong = "/(pods|jobs)"

    def __init__(self, api: ApiServer, folder: Path) -> None:
        super().__init__(api, folder)
        self.whole: set[str] = set()

    @classmethod
    def prepare(cls, api: ApiServer) -> None:
        for space in (SPACE, "vision"):
            api.add_namespace(space)

    def acts(self, which: int) -> Acts:
        faults = self.api.faults
        return super().acts(which) | {
            "delete-job": lambda: self.delete_job(which),
            "suspend": lambda: self.change_job(which, suspend=True),
            "resume": lambda: self.change_job(which, suspend=False),
            "lose-answer": lambda: faults.lose_answer("POST", "DELETE", path=self.wrong, times=1),
            "server-error": lambda: faults.fail(503, "POST", "PATCH", path=self.wrong, times=2),
            "refuse": lambda: faults.fail(403, "POST", path="/jobs", times=1, reason="Forbidden"),
        }

    def recipe(self, which: int) -> Recipe:
        kind = RecipeKind.DEBUG if which % 4 == 1 else RecipeKind.RUN
        return Recipe(kind=kind, image="registry.example/train:2")

    def jobs(self) -> list[Json]:
        """The Jobs that the bot has made."""
        with self.api.cluster.store.lock:
            return [dict(one.body) for one in self.api.cluster.store.all(JOB)]

    def job_at(self, which: int) -> str | None:
        found = sorted(f"{one['metadata']['namespace']}/jobs/{name_of(one)}" for one in self.jobs())
        return f"/apis/batch/v1/namespaces/{found[which % len(found)]}" if found else None

    def delete_job(self, which: int) -> None:
        path = self.job_at(which)
        if path is not None:
            options = {"propagationPolicy": ("Background", "Foreground")[which % 2]}
            self.do(lambda: self.house.person.delete(path, options))

    def change_job(self, which: int, **spec: object) -> None:
        path = self.job_at(which)
        if path is not None:
            self.do(lambda: self.house.person.patch(path, {"spec": spec}))

    # ---- what must be so

    def check(self) -> None:
        """Besides: what is of several pods is let go when they are all there."""
        super().check()
        pods = self.there()
        for job in self.jobs():
            decision = mark(job, names.DECISION)
            mine = [one for one in pods if is_child(one, job)]
            if len(mine) >= job["spec"]["parallelism"]:
                self.whole.add(decision)
            if any(map(is_let_go, mine)):
                assert decision in self.whole, f"{decision} began before it was whole"
        standing = [mark(one, names.ADMITTED) for one in self.jobs() if is_standing(one)]
        assert len(standing) == len(set(standing)), f"made twice: {standing}"

    def is_right(self, request: Request) -> bool:
        """Whether its Job stands, and all pods of that are ready."""
        standing = [one for one in self.jobs() if is_standing(one) and is_by(one, request)]
        if len(standing) != 1 or standing[0]["spec"]["suspend"]:
            return False
        pods = [one for one in self.there() if is_child(one, standing[0])]
        return len(pods) == standing[0]["spec"]["parallelism"] and all(map(is_ready, pods))

    def is_settled(self) -> bool:
        """Besides: no Job stands for what does not run."""
        running = {one.decision for one in self.requests() if one.state.holding}
        standing = {mark(one, names.DECISION) for one in self.jobs() if is_standing(one)}
        return standing <= running and super().is_settled()

    def is_of(self, request: Request, one: Json) -> bool:
        return label_of(one, names.ADMITTED) == request.id


@playing(15)
@given(steps=STEPS)
def test_what_is_made_is_there_once_and_whole(steps: list[Do]) -> None:
    play(MadePlay, steps)


def mark(one: Json, name: str) -> str:
    return str((one["metadata"].get("annotations") or {}).get(name))


def is_by(job: Json, request: Request) -> bool:
    return mark(job, names.DECISION) == request.decision


def is_child(one: Json, job: Json) -> bool:
    owners = one["metadata"].get("ownerReferences") or ()
    return any(owner["uid"] == job["metadata"]["uid"] for owner in owners)


def is_standing(job: Json) -> bool:
    """Whether a Job has not ended, and is not about to go."""
    ended = any(
        (condition_of(job, kind) or {}).get("status") == "True" for kind in ("Complete", "Failed")
    )
    return not ended and not job["metadata"].get("deletionTimestamp")


def is_ready(one: Json) -> bool:
    return (condition_of(one, "Ready") or {}).get("status") == "True"
