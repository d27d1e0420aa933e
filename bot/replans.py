"""A request planned anew when somebody changes it: what stands for an object keeps its pods.

How many pods a Job or JobSet of people's has, and what each needs, stands in that object, which
the bot starts as it is. A workload that said otherwise would be granted what the pods do not fit.
"""

from __future__ import annotations

import dataclasses

from bot.asks import Ask
from bot.plans import laid, model_of, plan, refuse, shape_of
from bot.reask import ask_of
from bot.terms import Terms
from bot.views import RefusalCode, Refused
from scheduler.model import Seconds, Workload
from storage.records import ObjectRef, Person


def replan(
    before: Workload, ref: ObjectRef | None, ask: Ask, person: Person, terms: Terms, now: Seconds
) -> Workload | Refused:
    """The workload of an ask that takes a request's place, under no id yet, or what is wrong.

    `ref` is the object that the request stands for, whose pods are not changed from here.
    """
    if ref is None:
        return plan(ask, person, terms, now)
    others = _wants_other_pods(ask, ask_of(before, terms), terms)
    if isinstance(others, Refused):
        return others
    if others:
        return refuse(
            RefusalCode.OF_OBJECT,
            request=before.id,
            kind=ref.kind,
            namespace=ref.namespace,
            name=ref.name,
        )
    planned = plan(ask, person, terms, now)
    if isinstance(planned, Refused):
        return planned
    pods = laid(before.pod_sets, planned.pod_sets[0].topology, terms.levels().values())
    return dataclasses.replace(planned, pod_sets=pods)


def _wants_other_pods(ask: Ask, old: Ask, terms: Terms) -> bool | Refused:
    shape = shape_of(ask, terms.node_gpus())
    if isinstance(shape, Refused):
        return shape
    return (
        shape != (old.pods, old.gpus_per_pod)
        or model_of(ask, terms) != model_of(old, terms)
        or ask.provision != old.provision
        or ask.minimum not in (None, old.minimum)
    )
