"""Replicas: found by their family and by the one whose card is theirs, on both databases."""

from __future__ import annotations

import dataclasses

from storage.records import FamilyRef, ObjectRef
from storage.states import FINAL, RequestState
from storage.store import Store
from tests.storage.samples import later, request

S = RequestState
OPEN = [state for state in S if state not in FINAL]
CHAT = FamilyRef(kind="Deployment", name="chat", revision="5c1f2")


def _ref(name: str, family: FamilyRef | None = CHAT, namespace: str = "nlp") -> ObjectRef:
    return ObjectRef(kind="Pod", namespace=namespace, name=name, uid=name, family=family)


def test_the_newest_of_a_family_is_found_whatever_its_template(store: Store) -> None:
    newer = dataclasses.replace(CHAT, revision="7d4b9")
    with store.write() as work:
        ids = work.requests.next_ids(4)
        refs = (_ref("a"), _ref("b", newer), _ref("c", namespace="rl"), _ref("d", None))
        work.requests.add_all(
            request(one, ref=ref, head=ids[0]) for one, ref in zip(ids, refs, strict=True)
        )
        found = work.requests.newest_of({"Deployment/nlp/chat", "Deployment/rl/chat", "x"})
    assert {key: one.id for key, one in found.items()} == {
        "Deployment/nlp/chat": ids[1],
        "Deployment/rl/chat": ids[2],
    }
    assert found["Deployment/nlp/chat"].ref == refs[1]


def test_replicas_are_found_by_their_head_in_the_order_they_came(store: Store) -> None:
    with store.write() as work:
        ids = work.requests.next_ids(4)
        work.requests.add_all(request(one, ref=_ref(one), head=ids[0]) for one in ids[:3])
        work.requests.add(request(ids[3]))
        work.requests.move(ids[1], S.CANCELLED, at=later(1), actor="x", reason="ordered")
    with store.read() as view:
        found = view.requests.replicas([ids[0], ids[3]], OPEN)
        everything = view.requests.replicas([ids[0]], list(S))
    assert {head: [one.id for one in family] for head, family in found.items()} == {
        ids[0]: [ids[0], ids[2]],
        ids[3]: [],
    }
    assert len(everything[ids[0]]) == 3


def test_a_family_has_begun_once_any_replica_held_gpus(store: Store) -> None:
    with store.write() as work:
        ids = work.requests.next_ids(2)
        work.requests.add_all(request(one, ref=_ref(one), head=ids[0]) for one in ids)
        assert not work.requests.has_begun(ids[0])
        work.requests.move(ids[1], S.ADMITTED, at=later(1), actor="x", reason="y", attempt=1)
        assert work.requests.has_begun(ids[0])
        work.requests.move(ids[1], S.FINISHED, at=later(2), actor="x", reason="y")
    with store.read() as view:
        assert view.requests.has_begun(ids[0])


def test_an_object_that_is_changed_is_found_by_its_family_then(store: Store) -> None:
    with store.write() as work:
        (one,) = work.requests.next_ids(1)
        work.requests.add(request(one, ref=_ref("a", None)))
        work.requests.amend(one, ref=_ref("a"))
        assert list(work.requests.newest_of({"Deployment/nlp/chat"})) == ["Deployment/nlp/chat"]
