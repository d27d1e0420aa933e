"""What admins have set and has not ended: stored settings, brought into the engine.

A setting is named after what it changes: `pause:<queue>`, `boost:<request>`,
`drain:<node>`, `quota:<queue>:<flavor>`. What the engine has is compared with what is stored at
each step, so a setting holds from the moment it is stored until it is gone, whatever happens in
between.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from bot.clusters.base import Cordon
from bot.control.ledger import Ledger
from bot.terms import Terms
from scheduler import events
from scheduler.byhand import UNTOLD, Hand, Held, Order
from scheduler.engine import Engine
from scheduler.layout import FlavorResource
from scheduler.model import GPU, FlavorName, NodeName, QueueName, WorkloadId
from storage.audit import Intervention
from storage.records import Setting
from storage.work import Work

PAUSE, BOOST, DRAIN, QUOTA = "pause:", "boost:", "drain:", "quota:"
_PREFIXES = (PAUSE, BOOST, DRAIN, QUOTA)


@dataclass(slots=True)
class ByHand:
    """Orders of admins that wait to be carried out, and the settings of earlier ones by name."""

    ordered: tuple[Intervention, ...]
    settings: dict[str, Setting]


def name_of(prefix: str, target: str) -> str:
    """The name of a setting about a queue, a request, a node, or a queue's flavor."""
    return f"{prefix}{target}"


def read_by_hand(view: Work) -> ByHand:
    """What is stored now."""
    found = {setting.name: setting for setting in view.settings.under(*_PREFIXES)}
    return ByHand(view.interventions.ordered(), found)


def value_of(setting: Setting) -> Mapping[str, object]:
    """What a setting says beyond its name; a plain word says nothing."""
    try:
        value = json.loads(setting.value)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def order_of(setting: Setting) -> Order:
    """Who set it, why, and until when."""
    says = value_of(setting)
    by = says.get("who", setting.author)
    until = None if setting.until is None else setting.until.timestamp()
    return Order(by=str(by), reason=setting.reason, until=until)


def bring_into_force(
    engine: Engine, ledger: Ledger, terms: Terms, settings: Mapping[str, Setting]
) -> None:
    """Let the engine, and the cluster where it has to know, be as the settings say."""
    _pause(engine, terms, _under(settings, PAUSE))
    _set_quotas(engine, terms, _under(settings, QUOTA))
    _boost(engine, _under(settings, BOOST))
    _cordon(engine, ledger, _under(settings, DRAIN))


def _under(settings: Mapping[str, Setting], prefix: str) -> dict[str, Setting]:
    return {
        name.removeprefix(prefix): setting
        for name, setting in sorted(settings.items())
        if name.startswith(prefix)
    }


def _pause(engine: Engine, terms: Terms, wanted: Mapping[str, Setting]) -> None:
    paused = dict(engine.in_force().pauses)
    for queue in paused:
        if queue not in wanted:
            engine.apply(events.QueueResumed(queue=queue))
    for name, setting in wanted.items():
        queue = QueueName(name)
        order = order_of(setting)
        pause = events.QueuePaused(queue=queue, by=order.by, reason=order.reason, until=order.until)
        if terms.knows(queue) and paused.get(queue) != pause.order.figures:
            engine.apply(pause)


def _set_quotas(engine: Engine, terms: Terms, wanted: Mapping[str, Setting]) -> None:
    quotas: dict[QueueName, dict[FlavorResource, int]] = {}
    orders: dict[QueueName, dict[FlavorResource, Order]] = {}
    for name, setting in wanted.items():
        queue, _, flavor = name.rpartition(":")
        gpus = value_of(setting).get("gpus")
        pair = (FlavorName(flavor), GPU)
        known = (
            terms.knows(QueueName(queue)) and pair in terms.layout.queue(QueueName(queue)).quotas
        )
        if known and isinstance(gpus, int) and gpus >= 0:
            quotas.setdefault(QueueName(queue), {})[pair] = gpus
            orders.setdefault(QueueName(queue), {})[pair] = order_of(setting)
    has, known_orders = dict(engine.in_force().quotas), engine.in_force().orders
    for queue_name in dict.fromkeys((*has, *quotas)):
        nominal, wanted_by = quotas.get(queue_name, {}), orders.get(queue_name, {})
        ordered = {pair: known_orders.get(Held(Hand.QUOTA, queue_name, *pair)) for pair in nominal}
        if has.get(queue_name, {}) != nominal or ordered != wanted_by:
            engine.apply(events.QuotaChanged(queue=queue_name, nominal=nominal, orders=wanted_by))


def _boost(engine: Engine, wanted: Mapping[str, Setting]) -> None:
    has = dict(engine.in_force().boosts)
    for request_id in dict.fromkeys((*has, *map(WorkloadId, wanted))):
        setting = wanted.get(request_id)
        by = 0 if setting is None else value_of(setting).get("by")
        if engine.workload(request_id) is None or not isinstance(by, int):
            continue
        held = engine.in_force().orders.get(Held(Hand.BOOST, request_id))
        order = None if setting is None else order_of(setting)
        if has.get(request_id, 0) != by or held != order:
            boosted = events.Boosted(workload=request_id, by=by, order=order or UNTOLD)
            engine.apply(boosted)


def _cordon(engine: Engine, ledger: Ledger, wanted: Mapping[str, Setting]) -> None:
    has = set(engine.in_force().cordons)
    for node in sorted(has - set(map(NodeName, wanted))):
        engine.apply(events.NodeUncordoned(node=node))
        ledger.act(Cordon(node=node, closed=False))
    for name, setting in wanted.items():
        node, order = NodeName(name), order_of(setting)
        if engine.in_force().orders.get(Held(Hand.DRAIN, node)) != order:
            engine.apply(events.NodeCordoned(node=node, order=order))
        if node not in has:
            ledger.act(Cordon(node=node, closed=True))
