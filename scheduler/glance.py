"""Heads that certainly get nothing now, found out by a few numbers.

Most heads that are tried after something came free ask for one flavor with one pod set, and
neither fit nor may have anybody stopped. For them the full nomination (menus, assignments,
books) would come to what quota and room say at once. `glance` gives the very nomination that
`nominate` would, or None where there is more to look at.
"""

from __future__ import annotations

from scheduler.flavors import Option
from scheduler.gangs import find_empty
from scheduler.layout import Reclaim
from scheduler.model import PodSet, WaitReason
from scheduler.nomination import Nomination, Outcome, charge_for
from scheduler.pending import Shape
from scheduler.preemption import is_hopeless, reach
from scheduler.standing import Waiting
from scheduler.state import State


def glance(state: State, number: int, waiting: Waiting, shape: Shape) -> Nomination | None:
    """The nomination of a head that gets nothing, or None if that takes more to tell."""
    option = shape.only
    if option is None or state.layout.fair_sharing is not None:
        return None
    tree, usage = state.tree, state.future.usage
    (column, amount), pods = option.amounts[0], shape.whole[0]
    if amount > tree.potential[number * tree.width + column]:
        return None
    fits = amount <= tree.available(usage, number, column)
    if fits and state.outlook.has_room(pods, state.flavors[option.flavor]):
        return None
    level, reclaimable = tree.borrow_level(usage, number, column, amount)
    queue = state.layout.queues[number]
    if not fits and not (
        amount <= tree.nominal[number * tree.width + column]
        or reclaimable
        or queue.borrow_within is not None
    ):
        return _nothing(state, number, waiting, shape)
    if _may_attack(state, number, shape, option, pods, fits=fits):
        return None
    return _no_targets(state, number, waiting, shape, level, fits=fits)


def _may_attack(
    state: State, number: int, shape: Shape, option: Option, pods: PodSet, *, fits: bool
) -> bool:
    """Whether looking for targets could lead to any."""
    priority = shape.priority
    if is_hopeless(state, number, priority, option.amounts, (option.amounts[0][0],)):
        return False
    if not state.outlook.may_have(number, priority, option.amounts):
        return False
    flavor = state.flavors[option.flavor]
    if not fits or not flavor.levels:
        return True
    own, others = reach(state, number, priority, option.amounts, (option.amounts[0][0],))
    nodes = state.nodes
    return state.excess(number, others).may_lie(
        number,
        nodes.shape(pods),
        nodes.eligible(flavor, pods),
        pods.count,
        own,
    )


def _nothing(state: State, number: int, waiting: Waiting, shape: Shape) -> Nomination:
    """Quota is short, and no rule would let it be taken from others."""
    found = Nomination(waiting, number, shape, Outcome.NO_FIT, WaitReason.QUOTA, shape.whole)
    found.version = state.future.version
    found.tried = ((0,),)
    return found


def _no_targets(
    state: State, number: int, waiting: Waiting, shape: Shape, level: int, *, fits: bool
) -> Nomination:
    """It would fit if somebody could be stopped, but nobody may be."""
    option = shape.only
    assert option is not None  # noqa: S101 - narrows; the caller has looked
    reason = WaitReason.TOPOLOGY if fits else WaitReason.QUOTA
    found = Nomination(waiting, number, shape, Outcome.NO_TARGETS, reason, shape.whole)
    found.version = state.future.version
    found.level = level
    found.flavors = (dict.fromkeys(option.resources, option.flavor),)
    found.amounts = option.amounts
    found.tried = ((0,),)
    empty = find_empty(state, shape.whole, found.flavors)
    if empty is None:
        found.outcome, found.reason = Outcome.NO_FIT, WaitReason.TOPOLOGY
    elif state.layout.queues[number].reclaim is not Reclaim.ANY:
        found.charge = charge_for(state, found, empty)
    return found
