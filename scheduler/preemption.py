"""Whom to stop, and the proof that no smaller set would do.

Kueue's classic algorithm, node placement included. Candidates (`scheduler.candidates`) are
taken in their order until the preemptor fits on named nodes; then, from the last but one to
the first, each is put back if it still fits without.

The search is made with borrowing allowed and/or without; the first that succeeds counts.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from scheduler.candidates import (
    Attack,
    Source,
    Sources,
    Target,
    Variant,
    find_sources,
    in_order,
    of_queue,
    within_quota,
)
from scheduler.excess import NOBODY
from scheduler.outlook import limits
from scheduler.quota import Amounts
from scheduler.state import State


def find_targets(attack: Attack) -> tuple[Target, ...]:
    """A minimal set of targets, in the order taken; empty if nothing would help."""
    state, priority = attack.state, attack.workload.priority
    if is_hopeless(state, attack.queue, priority, attack.amounts, attack.short):
        return ()
    sources = find_sources(attack)
    for borrowing in _attempts(attack, sources):
        targets = _take(attack, sources, borrowing=borrowing)
        if targets:
            return targets
    return ()


def is_hopeless(
    state: State, number: int, priority: int, amounts: Amounts, short: Container[int]
) -> bool:
    """Whether a look at the quota alone shows that nobody may be stopped.

    Mostly because nobody is within `reach`; where only the queue's own work is, without all
    of it quota would have to suffice.
    """
    own, others = reach(state, number, priority, amounts, short)
    if others > NOBODY:
        return False
    freed = () if own == NOBODY else state.outlook.soft_of(number, own)
    if not any(amount for _, amount in freed):
        return True
    usage = list(state.future.usage)
    state.tree.discharge(usage, number, freed)
    return not state.tree.fits(usage, number, amounts)


def reach(
    state: State, number: int, priority: int, amounts: Amounts, short: Container[int]
) -> tuple[float, float]:
    """Below which priority work of the own queue, and of others, could be stopped at most.

    There are hierarchy candidates only if the request lies inside the quota of the own queue
    or of a cohort below the root. Else the work of others falls if the preemptor does not
    borrow in the end, which only the own queue's work can bring about; or, while it borrows,
    by `borrow_within`.
    """
    queue = state.layout.queues[number]
    own, others = limits(queue, priority)
    if others == NOBODY or _may_stay_inside(state, number, own, amounts, short):
        return own, others
    if queue.borrow_within is None:
        return own, NOBODY
    most = queue.borrow_within.max_priority
    return own, min(others, priority, priority if most is None else most + 1)


def _may_stay_inside(
    state: State, number: int, own: float, amounts: Amounts, short: Container[int]
) -> bool:
    """Whether others might be stopped by right of quota: see `reach`."""
    tree, usage = state.tree, state.future.usage
    if all(
        tree.borrow_level(usage, number, column, amount)[1]
        for column, amount in amounts
        if column in short
    ):
        return True
    if own == NOBODY:
        return False
    freed, first = dict(state.outlook.soft_of(number, own)), number * tree.width
    return all(
        usage[first + column] - freed.get(column, 0) + amount <= tree.subtree[first + column]
        for column, amount in amounts
    )


def _attempts(attack: Attack, sources: Sources) -> tuple[bool, ...]:
    """With borrowing allowed and/or without, in the order to try."""
    forbidden = attack.policy.borrow_within is None
    hierarchy = _has_any(attack, sources.hierarchy)
    others = hierarchy or _has_any(attack, sources.priority)
    if not others or (forbidden and not _under_nominal(attack)):
        return (True,)
    if forbidden and not hierarchy:
        return (False, True)
    return (True, False)


def _has_any(attack: Attack, sources: Sequence[Source]) -> bool:
    for source in sources:
        for _ in of_queue(attack, source):
            return True
    return False


def _under_nominal(attack: Attack) -> bool:
    tree, usage = attack.state.tree, attack.state.future.usage
    first = attack.queue * tree.width
    return all(usage[first + column] < tree.nominal[first + column] for column in attack.short)


class Trial:
    """The future book with some candidates gone. Its caller undoes it by checkpoint.

    Where only quota is asked about, the nodes are left alone. Places are counted from the
    first time somebody asks for them.
    """

    __slots__ = ("_attack", "_book", "_borrowing", "_counted", "_seating")

    def __init__(self, attack: Attack, *, borrowing: bool) -> None:
        self._attack = attack
        self._book = attack.state.future
        self._seating = attack.seating
        self._borrowing = borrowing
        self._counted = False

    @property
    def cheap(self) -> bool:
        """Whether asking for a placement costs next to nothing."""
        return self._seating is None or self._seating.exact

    def take(self, target: Target) -> None:
        """A candidate is gone."""
        charge, book = target.running.charge, self._book
        if self._seating is None:
            book.tree.discharge(book.usage, charge.queue, charge.amounts)
            return
        book.discharge(charge)
        if self._counted:
            self._seating.look(charge.places)

    def put_back(self, target: Target) -> None:
        """A candidate is there again."""
        charge, book = target.running.charge, self._book
        if self._seating is None:
            book.tree.charge(book.usage, charge.queue, charge.amounts)
            return
        book.charge(charge)
        if self._counted:
            self._seating.look(charge.places)

    def fits_quota(self) -> bool:
        """Whether quota suffices."""
        return fits_quota(self._attack, borrowing=self._borrowing)

    def placeable(self) -> bool:
        """Whether the gang has a placement."""
        if self._seating is None:
            return True
        if not self._counted:
            self._seating.count()
            self._counted = True
        return self._seating.suffices()


def _take(attack: Attack, sources: Sources, *, borrowing: bool) -> tuple[Target, ...]:
    """Take candidates in order until the preemptor fits, then put back whom it can spare.

    Once quota suffices, placement is looked at after ever longer stretches where looking is
    dear: room only grows.
    """
    takes_own = limits(attack.policy, attack.workload.priority)[0] > NOBODY
    if not borrowing and not takes_own and _exceeds_own(attack):
        return ()
    book = attack.state.future
    mark = book.checkpoint()
    trial = Trial(attack, borrowing=borrowing)
    taken: list[Target] = []
    failed, look_at = -1, 0
    for target in _fair_game(attack, sources, borrowing=borrowing):
        trial.take(target)
        taken.append(target)
        if failed < 0 and trial.fits_quota():
            failed = len(taken) - 1
            look_at = len(taken)
        if failed >= 0 and len(taken) == look_at:
            if trial.placeable():
                break
            look_at += 1 if trial.cheap else 2 * (len(taken) - failed)
            failed = len(taken)
    tried = len(taken)
    if failed >= 0 and len(taken) > failed and trial.placeable():
        taken = _shorten(trial, taken, failed + 1)
        taken = _spare(trial, taken)
    else:
        taken = []
    book.rollback(mark)
    attack.state.toil += tried
    return tuple(taken)


def _exceeds_own(attack: Attack) -> bool:
    """Whether the own queue would borrow, whoever is stopped elsewhere."""
    tree, usage = attack.state.tree, attack.state.future.usage
    return any(tree.exceeds(usage, attack.queue, c, amount) for c, amount in attack.amounts)


def _fair_game(attack: Attack, sources: Sources, *, borrowing: bool) -> Iterator[Target]:
    """Candidates in order, each looked at after those before it were taken.

    A queue that has come down to its quota, or is below a cohort that has, is passed over
    for good: use only falls during a search.
    """
    spent: set[int] = set()
    forbidden = borrowing and attack.policy.borrow_within is None
    for group in (sources.hierarchy, () if forbidden else sources.priority):
        for target in in_order(attack, group, spent):
            queue = target.running.charge.queue
            if queue in spent or (borrowing and target.variant is Variant.WITHOUT_BORROWING):
                continue
            if _borrows(attack, queue, target.ancestor):
                yield target
            else:
                spent.add(queue)
    yield from in_order(attack, sources.own, frozenset())


def _borrows(attack: Attack, queue: int, ancestor: int) -> bool:
    """Whether a queue, and all above it up to the ancestor, use more than their quota."""
    if within_quota(attack, queue):
        return False
    for node in attack.state.tree.path[queue]:
        if node == ancestor:
            return True
        if within_quota(attack, node):
            return False
    return True


def _shorten(trial: Trial, taken: list[Target], least: int) -> list[Target]:
    """The shortest beginning of `taken`, of `least` or more, with which there is a placement.

    All of `taken` is gone from the book, and has one.
    """
    low, high, at = least, len(taken), len(taken)
    while low < high:
        middle = (low + high) // 2
        for target in taken[middle:at]:
            trial.put_back(target)
        for target in taken[at:middle]:
            trial.take(target)
        at = middle
        if trial.placeable():
            high = middle
        else:
            low = middle + 1
    for target in taken[at:high]:
        trial.take(target)
    return taken[:high]


def put_back(attack: Attack, taken: list[Target], *, borrowing: bool) -> list[Target]:
    """Those of `taken`, all gone from the book, whom the preemptor cannot spare."""
    return _spare(Trial(attack, borrowing=borrowing), taken)


def _spare(trial: Trial, taken: list[Target]) -> list[Target]:
    """From the last but one to the first, spare everybody without whom it still fits.

    Whole stretches are tried at once: if all of one can be spared, then each can. Where asking is
    dear, all of them first; else they grow as long as they can be spared, for in most
    searches nearly everybody is needed.
    """
    if trial.cheap:
        return _spare_growing(trial, taken)
    needed = [taken[-1]]
    stretches = [taken[:-1]]
    while stretches:
        stretch = stretches.pop()
        if not stretch:
            continue
        for target in stretch:
            trial.put_back(target)
        if trial.fits_quota() and trial.placeable():
            continue
        for target in stretch:
            trial.take(target)
        if len(stretch) == 1:
            needed.append(stretch[0])
        else:
            half = len(stretch) // 2
            stretches += [stretch[:half], stretch[half:]]
    return needed[::-1]


def _spare_growing(trial: Trial, taken: list[Target]) -> list[Target]:
    """The same by stretches of one, two, four and so on, and half of one that is needed."""
    needed = [taken[-1]]
    end, size = len(taken) - 1, 1
    while end:
        stretch = taken[max(0, end - size) : end]
        for target in stretch:
            trial.put_back(target)
        if trial.fits_quota() and trial.placeable():
            end -= len(stretch)
            size *= 2
            continue
        for target in stretch:
            trial.take(target)
        if len(stretch) == 1:
            needed.append(stretch[0])
            end -= 1
        else:
            size = len(stretch) // 2
    return needed[::-1]


def fits_quota(attack: Attack, *, borrowing: bool) -> bool:
    """Whether quota suffices in the book as it stands."""
    tree, usage = attack.state.tree, attack.state.future.usage
    for column, amount in attack.amounts:
        if not borrowing and tree.exceeds(usage, attack.queue, column, amount):
            return False
        if amount > tree.available(usage, attack.queue, column):
            return False
    return True
