"""Play the requests of a recording against the emulator and compare what comes back.

The real cluster ran by itself between two requests. Here the replay tries, before each step, the
states it may have been in: settled, exactly as it is, or some time later; the first state in which
the answer is the recorded one is kept. What a kubelet did out of sight is tried as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.kube.children import is_active, put_changed
from tests.kube.cluster import Target
from tests.kube.dispatch import Answer, Call, serve
from tests.kube.documents import Json, dig
from tests.kube.kinds import CONFIG_MAP, MUTATING_BINDING, POD, VALIDATING_BINDING
from tests.kube.operations import create
from tests.kube.recording import (
    Bindings,
    Mismatch,
    Scenario,
    Step,
    clean,
    project,
)
from tests.kube.replay_setup import HINTS
from tests.kube.rights import BOT_RULES, Rule
from tests.kube.routing import parse_path
from tests.kube.server import ApiServer
from tests.kube.snapshots import restore, snapshot
from tests.kube.store import Stored
from tests.kube.watching import Watch, look

_AGENTS = {"admin": "kubectl", "alice": "kubectl", "bot": "gpubot"}
_SAME_TOKENS = {"wrong-token": "Bearer nobody", "anonymous": ""}


# What may have happened between two requests: containers started, ended (with this code), stopped
# for good, and time passed.
_OUT_OF_SIGHT: tuple[tuple[bool, int | None, bool, int], ...] = (
    (True, None, False, 0),
    (False, None, False, 2),
    (False, None, False, 11),
    (True, 0, False, 0),
    (True, 1, False, 0),
    (True, None, False, 11),
    (False, None, False, 21),
    (False, None, False, 61),
    (False, None, True, 0),
    (True, None, True, 0),
    (False, None, False, 140),
    (False, None, False, 700),
)


@dataclass
class _OpenWatch:
    step: Step
    watch: Watch
    seen: list[Json] = field(default_factory=list)
    over: bool = False


class Replay:
    """One run of a scenario; `problems` maps step numbers to what differed."""

    def __init__(self, scenario: Scenario, api: ApiServer) -> None:
        self.scenario = scenario
        self.api = api
        self.bindings = Bindings()
        self.problems: dict[int, str] = {}
        self._watches: list[_OpenWatch] = []
        self._future = {  # versions that no list gave but that are asked for: from the future
            (step.request.get("query") or {}).get("resourceVersion")
            for step in scenario.steps
            if step.events is None
        }

    def run(self) -> dict[int, str]:
        for step in self.scenario.steps:
            self.api.clock.advance(0.001)  # so that two times with fractions differ
            if step.events is not None:
                self._open(step)
            else:
                self._ask(step)
            self._drain()
            self._close_due(step.number)
        self.api.controllers.settle()
        self._drain()
        for each in self._watches:
            self._compare_events(each)
        return self.problems

    def _moods(self, before: Callable[[], None], *, first_as_is: bool) -> Iterator[None]:
        """States the cluster may have been in, the likeliest first; each is set up when asked."""
        api = self.api
        if first_as_is:
            yield
        api.controllers.settle()
        yield
        if not first_as_is:
            restore(api.cluster, before)
            yield
        for runs, code, confirms, seconds in _OUT_OF_SIGHT:
            if runs:
                api.controllers.settle()
                api.kubelet.start_all()
                api.controllers.settle()
            if code is not None:
                self._finish_all(code)
                api.controllers.settle()
            if confirms:
                api.kubelet.confirm_all()
            if seconds:
                api.advance(seconds / 2)
                api.controllers.settle()
                api.advance(seconds / 2)
            api.controllers.settle()
            yield

    def _finish_all(self, code: int) -> None:
        cluster = self.api.cluster
        for pod in cluster.store.all(POD):
            if pod.body["spec"].get("nodeName") and is_active(pod.body):
                self.api.kubelet.finish("/".join(pod.key), exit_code=code)

    def _ask(self, step: Step) -> None:
        first: tuple[str, Any] | None = None
        hinted = self._follow_hints(step.number)
        before = snapshot(self.api.cluster)
        for _ in self._moods(before, first_as_is=hinted or step.request["as"] == "kubelet"):
            call = self._call(step)  # may learn names, so before the copy
            trial = self.bindings.copy()
            answer = serve(self.api.cluster, call)
            try:
                self._compare(step, answer, trial)
            except Mismatch as problem:
                if first is None:
                    first = (str(problem), None)
                restore(self.api.cluster, before)
                continue
            self.bindings = trial
            return
        self.problems[step.number] = first[0] if first else "no answer"
        self.api.controllers.settle()
        answer = serve(self.api.cluster, self._call(step))
        self._bind_what_fits(step, answer)

    def _bind_what_fits(self, step: Step, answer: Answer | Watch) -> None:
        """After a mismatch, still learn the names and uids that later steps speak of."""
        if not isinstance(answer, Answer) or not answer.body or step.body is None:
            return
        try:
            actual = json.loads(answer.body)
        except ValueError:
            return
        for expected, found in _pairs(step.body, actual):
            for path in ("metadata.uid", "metadata.resourceVersion", "metadata.name"):
                wanted, value = dig(expected, path), dig(found, path)
                if isinstance(wanted, str) and isinstance(value, str):
                    try:
                        self.bindings.match_text(wanted, value, path)
                    except Mismatch:
                        continue

    def _follow_hints(self, number: int) -> bool:
        """Do what a kubelet did just before a step, out of sight; whether there was anything."""
        acts = HINTS.get(self.scenario.name, {}).get(number, ())
        doings: dict[str, Callable[..., object]] = {
            "start": self.api.kubelet.start_all,
            "settle": self.api.controllers.settle,
            "silence": self.api.kubelet.silence,
            "compact": self.api.compact,
            "wait": lambda seconds: self.api.advance(float(seconds)),
            "succeed": lambda prefix: self._finish_one(prefix, 0),
            "fail": lambda prefix: self._finish_one(prefix, 1),
            "admit": self._admit,
            "make": self._make,
            "bind": lambda policy: self._bind(policy, on=True),
            "unbind": lambda policy: self._bind(policy, on=False),
            "grant": self._grant,
            "as": lambda *_: None,  # as it is: try the step before anything settles
        }
        for act in acts:
            word, *about = act.split()
            doings[word](*about)
        return bool(acts)

    def _grant(self) -> None:
        rule = Rule(("admit",), ("gpubot.dev",), ("admissions",))
        self.api.cluster.gate.grant("bot-token", *BOT_RULES, rule)

    def _admit(self, prefix: str, *nodes: str) -> None:
        """Take the gates off pods and pin them, one to each node, as the bot did unrecorded."""
        cluster = self.api.cluster
        gated = [
            pod
            for pod in sorted(cluster.store.all(POD), key=_birth)
            if pod.key[1].startswith(prefix) and pod.body["spec"].get("schedulingGates")
        ]
        for pod, node in zip(gated, nodes, strict=False):
            spec = {k: v for k, v in pod.body["spec"].items() if k != "schedulingGates"}
            put_changed(
                cluster, pod, spec={**spec, "nodeSelector": {"kubernetes.io/hostname": node}}
            )

    def _bind(self, policy: str, *, on: bool) -> None:
        cluster, kind = self.api.cluster, MUTATING_BINDING
        if policy == "gpubot-admit":
            kind = VALIDATING_BINDING
        if on:
            body: Json = {"metadata": {"name": policy}, "spec": {"policyName": policy}}
            create(cluster, cluster.as_controller(Target(kind), "kubectl"), body)
        else:
            cluster.store.remove(kind, ("", policy))

    def _make(self, *names: str) -> None:
        """ConfigMaps of the label s=x, or without it where the name begins with 'later'."""
        space = self.scenario.name[:8]
        target = Target(CONFIG_MAP, space)
        for name in names:
            labels = {} if name.startswith(("later", "kube", "open")) else {"s": "x"}
            body: Json = {"metadata": {"name": name, "labels": labels}, "data": {"k": "0"}}
            create(self.api.cluster, self.api.cluster.as_controller(target, "kubectl"), body)

    def _finish_one(self, prefix: str, code: int) -> None:
        for pod in self.api.cluster.store.all(POD):
            if pod.key[1].startswith(prefix) and is_active(pod.body):
                self.api.kubelet.finish("/".join(pod.key), exit_code=code)
                return

    def _meet(self, path: str) -> None:
        """A pod whose generated name first appears in a request: one that fits, the oldest."""
        found = re.search(r"/pods/([^/]*<sfx-\d+>)", self.bindings.fill(path, {}))
        if found is None:
            return
        used = set(self.bindings.values.values())
        for pod in sorted(self.api.cluster.store.all(POD), key=_birth):
            if pod.key[1].rpartition("-")[2] in used:
                continue
            try:
                self.bindings.match_text(found.group(1), pod.key[1], "path")
            except Mismatch:
                continue
            return

    def _meet_uid(self, request: Json) -> None:
        """The kubelet knows the uid of the pod that it removes."""
        token = dig(request, "body.preconditions.uid")
        path = str(self.bindings.fill(request["path"], {})).split("/")
        pod = self.api.cluster.get(POD, path[4], path[6])
        if token is not None and pod is not None:
            self.bindings.values.setdefault(token, pod.body["metadata"]["uid"])

    def _meet_version(self, request: Json) -> None:
        """A version that was read unrecorded: the present one of the object in the path."""
        token = dig(request, "body.metadata.resourceVersion")
        if not isinstance(token, str) or not token.startswith("<rv-"):
            return
        route = parse_path(str(self.bindings.fill(request["path"], {})))
        kind = route and self.api.cluster.kinds.find(route.group, route.version, route.plural)
        found = kind and route and self.api.cluster.get(kind, route.namespace, route.name)
        if found and token not in self.bindings.lists:
            self.bindings.values.setdefault(token, str(found.version))

    def _call(self, step: Step) -> Call:
        request = step.request
        self._meet(request["path"])
        unknown = {
            "rv": str(self.api.cluster.store.version + 1_000_000),
            "uid": "deadbeef-0000-4000-8000-000000000000",
            "time": self.api.cluster.now(),
            "microtime": self.api.cluster.micro(),
            "pod-ip": "10.0.0.5",
            "node-ip": "10.1.0.5",
            "continue": "nonsense",
        }
        who = request["as"]
        headers = {"user-agent": f"{_AGENTS.get(who, who)}/1.36"}
        token = _SAME_TOKENS.get(who, f"Bearer {who}-token")
        if token:
            headers["authorization"] = token
        if request.get("content_type"):
            headers["content-type"] = request["content_type"]
        for name, value in (request.get("headers") or {}).items():
            headers[name.lower()] = value
        self._meet_version(request)
        if who == "kubelet" and request["method"] == "DELETE":
            self._meet_uid(request)
        body = b""
        if request.get("body") is not None:
            filled = self.bindings.fill(request["body"], unknown)
            body = (filled if isinstance(filled, str) else json.dumps(filled)).encode()
            headers.setdefault("content-type", "application/json")
        return Call(
            request["method"],
            self.bindings.fill(request["path"], unknown),
            self.bindings.fill(request.get("query") or {}, unknown),
            headers,
            body,
        )

    def _compare(self, step: Step, answer: Answer | Watch, bindings: Bindings) -> None:
        if isinstance(answer, Watch) and step.body is None and step.status == 200:
            return
        if isinstance(answer, Watch):
            raise Mismatch("a watch instead of an answer")
        if answer.code != step.status:
            raise Mismatch(f"status {answer.code} instead of {step.status}: {answer.body[:300]!r}")
        if step.body is None:
            return
        if isinstance(step.body, str):
            bindings.match_text(step.body, answer.body.decode(), "body")
        else:
            try:
                read = json.loads(answer.body)
            except ValueError:
                raise Mismatch(f"no JSON: {answer.body[:100]!r}") from None
            actual = clean(project(step.trimmed, read, step.body))
            bindings.match(_loose(clean(step.body)), _loose(actual), "body")
            _learn_version(bindings, step.body, actual)
        for name in ("Warning", "Retry-After"):
            expected, got = step.headers.get(name), answer.headers.get(name)
            if expected != got:
                raise Mismatch(f"header {name}: {got!r} instead of {expected!r}")

    def _open(self, step: Step) -> None:
        if not self._follow_hints(step.number):
            self.api.controllers.settle()
        token = (step.request.get("query") or {}).get("resourceVersion", "")
        if token not in self._future:
            self.bindings.lists.setdefault(token, str(self.api.cluster.store.version))
        opened = serve(self.api.cluster, self._call(step))
        if isinstance(opened, Answer):
            self.problems[step.number] = f"status {opened.code}: {opened.body[:300]!r}"
            return
        self._watches.append(_OpenWatch(step, opened))

    def _drain(self) -> None:
        for each in self._watches:
            if not each.over:
                lines, each.over = look(self.api.cluster, each.watch)
                each.seen += [json.loads(line) for line in b"".join(lines).splitlines()]

    def _close_due(self, number: int) -> None:
        """Watches that were closed here saw everything that settles before the next step."""
        due = [w for w in self._watches if w.step.closed_after == number and not w.over]
        if not due:
            return
        for each in due:
            if each.step.closed_by == "server" and each.watch.ends is not None:
                ahead = (each.watch.ends - self.api.clock.now()).total_seconds()
                self.api.advance(max(ahead, 0))
        if any(w.step.events and len(w.seen) < len(w.step.events) for w in due):
            self.api.controllers.settle()
        self._drain()
        for each in due:
            each.over = True

    def _compare_events(self, opened: _OpenWatch) -> None:
        """Each object's own events, in order; how those of several mix is chance."""
        expected = _by_object(opened.step.events or [])
        actual = _by_object(opened.seen)
        if len(expected) != len(actual):
            problem = f"events of {len(actual)} objects instead of {len(expected)}"
            self.problems[opened.step.number] = problem
            return
        for wanted in expected:
            try:
                self._compare_one_of(opened.step, wanted, actual)
            except Mismatch as mismatch:
                self.problems[opened.step.number] = str(mismatch)

    def _compare_one_of(self, step: Step, wanted: list[Json], groups: list[list[Json]]) -> None:
        """Find the object that a recorded one stands for among those not yet taken."""
        problem = Mismatch("no object")
        for group in tuple(groups):
            before = self.bindings
            self.bindings = before.copy()
            try:
                self._compare_object(step, wanted, group)
            except Mismatch as error:
                self.bindings, problem = before, error
                continue
            groups.remove(group)
            return
        raise problem

    def _compare_object(self, step: Step, wanted: list[Json], seen: list[Json]) -> None:
        kinds = [each["type"] for each in wanted]
        if kinds != [each["type"] for each in seen]:
            raise Mismatch(f"events {[each['type'] for each in seen]} instead of {kinds}")
        for number, each in enumerate(wanted):
            actual = clean(project(step.trimmed, seen[number]["object"]))
            trial = self.bindings.copy()
            trial.match(_loose(clean(each["object"])), _loose(actual), f"event {number}")
            self.bindings = trial


def _birth(pod: Stored) -> str:
    return str(pod.body["metadata"]["uid"])


def _by_object(events: list[Json]) -> list[list[Json]]:
    """Events grouped by object, in the order in which the objects appear."""
    groups: dict[str, list[Json]] = {}
    for event in events:
        if _is_foreign_event(event):
            continue
        name = str(dig(event, "object.metadata.name", event["type"]))
        if event["type"] == "BOOKMARK":
            name += str(dig(event, "object.metadata.annotations", ""))
            groups.setdefault(name, [event])  # how many come is a matter of time
            continue
        groups.setdefault(name, []).append(event)
    return list(groups.values())


def _is_foreign_event(event: Json) -> bool:
    return str(dig(event, "object.metadata.name")) == "openshift-service-ca.crt"


def _loose(body: Any) -> Any:
    """Without the version of a list: here it is that of the whole store."""
    if isinstance(body, dict) and "items" in body and isinstance(body.get("metadata"), dict):
        metadata = {k: v for k, v in body["metadata"].items() if k != "resourceVersion"}
        return {**body, "metadata": metadata}
    return body


def _learn_version(bindings: Bindings, expected: Json, actual: Json) -> None:
    """The version of a list, which a watch starts from."""
    token = dig(expected, "metadata.resourceVersion")
    if "items" in expected and isinstance(token, str):
        bindings.lists.setdefault(token, str(dig(actual, "metadata.resourceVersion")))


def _pairs(expected: Any, actual: Any) -> Iterator[tuple[Json, Json]]:
    if not isinstance(expected, dict) or not isinstance(actual, dict):
        return
    yield expected, actual
    yield from zip(expected.get("items", []), actual.get("items", []), strict=False)
