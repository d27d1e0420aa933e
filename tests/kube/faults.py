"""What goes wrong on purpose, between the client and the emulated server."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from tests.kube.statuses import Refusal


class Effect(Enum):
    """What a fault does to a request."""

    ANSWER = "answer"  # answered with a refusal, nothing done
    SLOW = "slow"  # done after a delay of real time
    HANG = "hang"  # nothing done, no answer: a half-open connection
    LOST = "lost"  # done, but the connection breaks before the answer
    CUT = "cut"  # nothing done, the connection breaks
    CONFLICT = "conflict"  # answered with 409, nothing done
    BEFORE = "before"  # something else happens first, then it is done


@dataclass
class Fault:
    """One effect on the next `times` requests that match; None is all of them."""

    effect: Effect
    methods: frozenset[str]
    path: re.Pattern[str]
    times: int | None = 1
    seconds: float = 0.0
    refusal: Refusal | None = None
    action: Callable[[], None] | None = None
    taken: int = 0

    def matches(self, method: str, path: str, query: str) -> bool:
        """Whether it acts on a request: `$` is the end of the path or of the query."""
        spent = self.times is not None and self.taken >= self.times
        fits = not self.methods or method in self.methods
        return fits and not spent and any(map(self.path.search, (path, f"{path}?{query}")))


WRITES = ("POST", "PUT", "PATCH", "DELETE")


def too_many_requests(seconds: int = 1) -> Refusal:
    """The server's own 429 is plain text."""
    return Refusal(
        429,
        "TooManyRequests",
        "Too many requests, please try again later.",
        headers={"Retry-After": str(seconds)},
        plain="Too many requests, please try again later.\n",
    )


@dataclass
class Faults:
    """The faults in force; the first that matches a request acts on it."""

    active: list[Fault] = field(default_factory=list)

    def add(
        self,
        effect: Effect,
        *methods: str,
        path: str = "",
        times: int | None = 1,
        seconds: float = 0.0,
        refusal: Refusal | None = None,
        action: Callable[[], None] | None = None,
    ) -> Fault:
        fault = Fault(effect, frozenset(methods), re.compile(path), times, seconds, refusal, action)
        self.active.append(fault)
        return fault

    def take(self, method: str, path: str, query: str) -> Fault | None:
        """The fault that acts on a request, counted as taken."""
        fault = next((each for each in self.active if each.matches(method, path, query)), None)
        if fault is not None:
            fault.taken += 1
        return fault

    def slow(self, seconds: float, *methods: str, path: str = "", times: int | None = 1) -> Fault:
        return self.add(Effect.SLOW, *methods, path=path, times=times, seconds=seconds)

    def shed(self, *methods: str, path: str = "", times: int | None = 1, after: int = 1) -> Fault:
        """429 by priority and fairness: plain text, Retry-After."""
        return self.add(
            Effect.ANSWER, *methods, path=path, times=times, refusal=too_many_requests(after)
        )

    def fail(
        self, code: int, *methods: str, path: str = "", times: int | None = 1, reason: str = ""
    ) -> Fault:
        """A Status with this code, usually 500, 503 or 504."""
        names = {500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}
        refusal = Refusal(code, reason or names.get(code, ""), "the server is failing on purpose")
        return self.add(Effect.ANSWER, *methods, path=path, times=times, refusal=refusal)

    def hang(self, *methods: str, path: str = "", times: int | None = 1) -> Fault:
        """A half-open connection: no answer ever comes (until `clear`)."""
        return self.add(Effect.HANG, *methods, path=path, times=times)

    def lose_answer(self, *methods: str, path: str = "", times: int | None = 1) -> Fault:
        """The request takes effect, the answer is lost."""
        return self.add(Effect.LOST, *(methods or WRITES), path=path, times=times)

    def cut(self, *methods: str, path: str = "", times: int | None = 1) -> Fault:
        """The connection breaks before the request takes effect."""
        return self.add(Effect.CUT, *methods, path=path, times=times)

    def before(self, action: Callable[[], None], *methods: str, path: str = "") -> Fault:
        """Somebody else acts just before the next matching request is served."""
        return self.add(Effect.BEFORE, *methods, path=path, action=action)

    def conflict_next(self, *methods: str, path: str = "", times: int | None = 1) -> Fault:
        """409 Conflict on the next write: somebody wrote in between."""
        return self.add(Effect.CONFLICT, *(methods or ("PUT", "PATCH")), path=path, times=times)

    def clear(self) -> None:
        """End all faults; requests that hang are cut."""
        self.active.clear()
