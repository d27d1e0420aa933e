"""When work that is protected by its minimum run time can be stopped for somebody who waits.

The earliest end of a minimum run time at which a nomination finds targets is searched for by
bisection: the later, the more may be stopped. It holds as long as nobody else starts or ends;
until then nothing has to be looked at again.
"""

from __future__ import annotations

from scheduler.model import Seconds
from scheduler.nomination import Nomination, Outcome, nominate
from scheduler.protection import safe_times
from scheduler.standing import Running
from scheduler.state import State


def find_recall(state: State, nomination: Nomination) -> tuple[Seconds, Nomination] | None:
    """When it could preempt, and whom it would; None if time alone does not help."""
    if not nomination.spared or nomination.useful:
        return None
    times = safe_times(state, nomination.queue)
    now, found = state.now, None
    low, high = 0, len(times)
    while low < high:
        middle = (low + high) // 2
        state.now = times[middle]
        attempt = nominate(state, nomination.queue, nomination.waiting, nomination.shape)
        if attempt.outcome is Outcome.PREEMPT:
            found, high = (times[middle], attempt), middle
        else:
            low = middle + 1
    state.now = now
    return found


def find_truce(state: State, nomination: Nomination) -> tuple[Running, ...]:
    """Whom it would have stopped, did the two of them not flip too often."""
    mine = nomination.waiting.workload.id
    if nomination.useful or not state.flips.concern(mine):
        return ()
    state.flips.lifted = True
    attempt = nominate(state, nomination.queue, nomination.waiting, nomination.shape)
    state.flips.lifted = False
    targets = (target.running for target in attempt.targets)
    return tuple(r for r in targets if state.flips.forbid(mine, r.workload.id))


def remember_recall(state: State, nomination: Nomination) -> None:
    """Have the queue looked at again when those it needs may be stopped."""
    found = find_recall(state, nomination)
    if found is not None:
        state.alarms.for_realm(state.realm[nomination.queue], found[0])
