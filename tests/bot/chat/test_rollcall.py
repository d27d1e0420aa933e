"""Who is in Slack, over real HTTP: paged, spread out, and never half."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.rollcall import AGAIN, PAGE, REST, Roll, RollCall, find_user
from bot.chat.schedule import FRESH, GroupDuty
from bot.duty import DutyDoubt, OnCall
from bot.workspace.faults import FaultKind
from bot.workspace.people import Directory, Person, load_people
from bot.workspace.server import WorkspaceServer
from tests.fixtures_workspace import OpenWorkspace, client_of, open_workspace, workspace

__all__ = ["open_workspace", "workspace"]

PEOPLE = 2500


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


def a_crowd() -> Directory:
    known = load_people()
    crowd = {
        f"U9{number:05d}": Person(id=f"U9{number:05d}", name=f"p{number}", real_name=f"P {number}")
        for number in range(PEOPLE - len(known.people))
    }
    return replace(known, people={**known.people, **crowd})


def call(roll_call: RollCall, hand: Hand, most: int = 60) -> tuple[Roll, int]:
    """Tick every three seconds until the roll is there; how many ticks it took."""
    for ticks in range(1, most):
        roll = roll_call.tick()
        if roll is not None:
            return roll, ticks
        hand.time += 3.0
    raise AssertionError("the roll never came")


def test_2500_people_are_all_known_in_pages_one_call_at_a_time(
    open_workspace: OpenWorkspace,
) -> None:
    server = open_workspace(directory=a_crowd())
    hand = Hand()
    roll_call = RollCall(client_of(server), now=hand)
    roll, ticks = call(roll_call, hand)
    assert len({user.id for user in roll.users}) == PEOPLE
    assert ticks == -(-(PEOPLE + 1) // PAGE) + 1  # the bot itself is listed, too
    assert {group.handle for group in roll.groups} >= {"gpu-oncall"}
    assert roll_call.tick() is None  # it rests now
    hand.time += REST
    assert call(roll_call, hand)[0] == roll


def test_a_rate_limit_in_the_middle_is_waited_for_and_nothing_is_lost(
    open_workspace: OpenWorkspace,
) -> None:
    server = open_workspace(directory=a_crowd())
    hand = Hand()
    roll_call = RollCall(client_of(server), now=hand)
    for _ in range(3):
        roll_call.tick()
    server.workspace.faults.add(FaultKind.RATE_LIMITED, match="users.list", seconds=30.0)
    roll_call.tick()
    hand.time += 29.0
    assert roll_call.tick() is None
    assert server.workspace.faults.active() == ()
    roll, _ = call(roll_call, hand)
    assert len(roll.users) == PEOPLE


def test_no_answer_keeps_what_was_read_and_asks_again_later(workspace: WorkspaceServer) -> None:
    hand = Hand()
    roll_call = RollCall(client_of(workspace), now=hand, page=2)
    roll_call.tick()
    workspace.workspace.faults.add(FaultKind.SERVER_ERROR, match="users.list")
    roll_call.tick()
    hand.time += AGAIN
    roll, _ = call(roll_call, hand)
    assert {user.id for user in roll.users} == set(load_people().people)


def test_who_has_left_is_marked_and_one_person_is_looked_up_alone(
    open_workspace: OpenWorkspace,
) -> None:
    server = open_workspace(directory=load_people().without("U0BEN"))
    hand = Hand()
    roll, _ = call(RollCall(client_of(server), now=hand), hand)
    assert [user.id for user in roll.users if user.gone] == ["U0BEN"]
    found = find_user(client_of(server), "U0ADA")
    assert found is not None
    assert found.name == "Ada Moreau"
    assert find_user(client_of(server), "U0NOBODY") is None


# -- on call


@pytest.fixture
def duty_of(workspace: WorkspaceServer) -> tuple[WorkspaceServer, Hand, dict[str, str | None]]:
    return workspace, Hand(), {"substitute": None}


Built = tuple[WorkspaceServer, Hand, dict[str, str | None]]


def a_duty(built: Built, **more: object) -> GroupDuty:
    server, hand, chosen = built
    return GroupDuty(
        client_of(server),
        "S0ONCALL",
        substitute=lambda: chosen["substitute"],
        now=hand,
        wall=lambda: 10_000_000.0,
        **{"fallback": "U0FALL", **more},  # type: ignore[arg-type]  # as GroupDuty takes them
    )


def test_the_group_is_asked_when_it_matters(duty_of: Built) -> None:
    server, hand, _ = duty_of
    duty = a_duty(duty_of)
    first = duty.oncall()
    assert (first.called, first.doubt) == ("S0ONCALL", None)
    assert first.people
    space = server.workspace
    space.directory = space.directory.regrouped("S0ONCALL", ("U0ADA",))
    assert duty.oncall() == first
    hand.time += FRESH
    assert duty.oncall().people == {"U0ADA"}


def test_a_substitute_goes_before_the_group_and_needs_no_answer(duty_of: Built) -> None:
    server, _, chosen = duty_of
    chosen["substitute"] = "U0BEN"
    server.workspace.faults.add(FaultKind.SERVER_ERROR, match="usergroups.*", times=None)
    assert a_duty(duty_of).oncall() == OnCall(called="U0BEN", people=frozenset({"U0BEN"}))


def test_no_answer_names_the_fallback_and_says_so(duty_of: Built) -> None:
    server, hand, _ = duty_of
    duty = a_duty(duty_of)
    known = duty.oncall().people
    hand.time += FRESH
    server.workspace.faults.add(FaultKind.SERVER_ERROR, match="usergroups.*")
    found = duty.oncall()
    assert (found.called, found.doubt, found.people) == ("U0FALL", DutyDoubt.NO_ANSWER, known)
    hand.time += FRESH
    assert duty.oncall().doubt is None


@pytest.mark.parametrize(
    ("people", "changed", "doubt", "called"),
    [
        ((), 9_999_999, DutyDoubt.NOBODY, "U0FALL"),
        (("U0ADA",), 9_000_000, DutyDoubt.STALE, "S0ONCALL"),
        (("U0ADA",), 9_999_000, None, "S0ONCALL"),
    ],
)
def test_an_empty_or_old_group_is_doubted(
    duty_of: Built, people: tuple[str, ...], changed: int, doubt: DutyDoubt | None, called: str
) -> None:
    space = duty_of[0].workspace
    space.directory = space.directory.regrouped("S0ONCALL", people, changed=changed)
    found = a_duty(duty_of, shift=7 * 86400.0).oncall()
    assert (found.doubt, found.called) == (doubt, called)


def test_a_group_that_slack_does_not_have_is_doubted(workspace: WorkspaceServer) -> None:
    duty = GroupDuty(client_of(workspace), "S0GONE", substitute=lambda: None, fallback="U0FALL")
    assert (duty.oncall().called, duty.oncall().doubt) == ("U0FALL", DutyDoubt.NO_GROUP)
