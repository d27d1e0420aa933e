"""Orders beyond Kueue's: users of a team take turns, and who waited too long is not overtaken.

Order inside such a queue:
1. where the queue is ordered by usage: the team's usage, lower first;
2. priority (raised by waiting), higher first;
3. where users take turns: what the user holds and held lately, lower first;
4. creation time, older first;
5. the workload id.

What a user holds and held are both GPUs: those held now, and those held on average, with the
half-life of the policy's usage rules (without rules, only those held now count).

Where the queue holds, work that waiting has raised and that finds no room holds back those
behind it that could use the same flavors. Nothing runs ahead of it, however short.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import copy
from heapq import heapify, heappop, heappush

from scheduler.layout import Layout, Queue
from scheduler.model import GPU, FlavorName, Seconds, TeamName, Workload, WorkloadId
from scheduler.pending import Key, Line, PendingQueue, Score, Shape

Rank = tuple[float, int, float, float, WorkloadId]


def account_of(workload: Workload) -> TeamName:
    """A user inside a team, as an account of his own."""
    return TeamName(f"{workload.team}/{workload.owner}")


class UserLedger:
    """GPUs that each user holds and held. `now` is the time at which scores are asked for."""

    def __init__(self, layout: Layout) -> None:
        self._on = any(queue.fair_users for queue in layout.queues)
        self._half_life = layout.usage.half_life if layout.usage is not None else 0.0
        self._held: dict[TeamName, int] = {}
        self._average: dict[TeamName, tuple[float, Seconds]] = {}
        self.now: Seconds = -math.inf

    def copy(self) -> UserLedger:
        """An independent ledger with the same use."""
        other: UserLedger = copy(self)
        other._held, other._average = self._held.copy(), self._average.copy()
        return other

    def hold(self, workload: Workload, sign: int, at: Seconds) -> None:
        """A workload's GPUs are counted for its user from `at` on, or with sign -1 no more."""
        if not self._on:
            return
        account, gpus = account_of(workload), sign * workload.gpus
        self._average[account] = (self._at(account, at), at)
        self._held[account] = self._held.get(account, 0) + gpus

    def score(self, account: TeamName) -> float:
        """GPUs held now and, on average, lately."""
        return self._held.get(account, 0) + self._at(account, self.now)

    def _at(self, account: TeamName, now: Seconds) -> float:
        average, at = self._average.get(account, (0.0, now))
        if self._half_life <= 0:
            return 0.0
        kept = 0.5 ** (max(0.0, now - at) / self._half_life)
        return float(average * kept + self._held.get(account, 0) * (1.0 - kept))


class TurnsQueue(PendingQueue):
    """The waiting side of a queue with `fair_users` or an `aging` that holds."""

    def __init__(self, queue: Queue, users: UserLedger) -> None:
        super().__init__(queue)
        self._users = users
        self._fair = queue.fair_users
        self._holds = queue.aging is not None and queue.aging.hold

    def fork(self, twin: Callable[[Shape], Shape], users: UserLedger) -> TurnsQueue:
        """An independent queue, over a copy of the ledger; see `PendingQueue.copy`."""
        other: TurnsQueue = copy(self)
        other._users = users
        other.split(twin)
        return other

    def account(self, workload: Workload) -> TeamName:
        """Who stands in line: each user for himself, where they take turns."""
        return account_of(workload) if self._fair else super().account(workload)

    def head(self, score: Score) -> tuple[Key, Shape] | None:
        """The first that should be tried. Asked anew each time: scores move with time."""
        self.fresh = False
        return super().head(score)

    def _head(self, score: Score) -> tuple[Key, Shape] | None:
        return self._first_of_lines(score)

    def _head_per_flavor(self, score: Score) -> tuple[Key, Shape] | None:
        return self._first_of_lines(score)

    def _first_of_lines(self, score: Score) -> tuple[Key, Shape] | None:
        firsts = sorted(
            ((self._rank(line, line.keys[0], score), line) for line in self.lines()),
            key=lambda first: first[0],
        )
        held: set[FlavorName] = set()
        for _, line in firsts:
            shape, first = line.shape, line.first
            if shape.resting:
                continue
            if not shape.active:
                if self.per_flavor or (self._holds and shape.raised and shape.home is None):
                    held |= shape.flavors
            elif first is not None and not held & shape.flavors:
                return first, shape
        return None

    def _rank(self, line: Line, key: Key, score: Score, taken: int = 0) -> Rank:
        """See the module; with `taken` GPUs more for the user than he holds."""
        of_team = score(self._team(line)) if self.by_usage else 0.0
        of_user = taken + self._users.score(line.team) if self._fair else 0.0
        return (of_team, key[0], of_user, key[1], key[2])

    def _team(self, line: Line) -> TeamName:
        return TeamName(line.team.split("/", maxsplit=1)[0]) if self._fair else line.team

    def keys(self, score: Score) -> Iterator[WorkloadId]:
        """All who have their home here, in the order in which they would start one by one."""
        mine: dict[TeamName, list[tuple[Key, Line]]] = {}
        for line in self.lines():
            if line.shape.home is None:
                mine.setdefault(line.team, []).extend((key, line) for key in line.keys)
        heap: list[tuple[Rank, TeamName, int, int]] = []
        for account, entries in mine.items():
            entries.sort(key=lambda entry: entry[0])
            heap.append((self._rank(entries[0][1], entries[0][0], score), account, 0, 0))
        heapify(heap)
        while heap:
            rank, account, at, taken = heappop(heap)
            yield rank[-1]
            entries = mine[account]
            taken += _gpus(entries[at][1].shape)
            if at + 1 < len(entries):
                key, line = entries[at + 1]
                heappush(heap, (self._rank(line, key, score, taken), account, at + 1, taken))


def _gpus(shape: Shape) -> int:
    return sum(pods.count * pods.requests.get(GPU, 0) for pods in shape.pod_sets)


def line_of(queue: Queue, users: UserLedger) -> PendingQueue:
    """The waiting side of a queue, in the order that its policy asks for."""
    holds = queue.aging is not None and queue.aging.hold
    return TurnsQueue(queue, users) if queue.fair_users or holds else PendingQueue(queue)
