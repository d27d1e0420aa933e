"""What Slack user groups mean: teams in the file's order, the highest role, who is left out."""

from __future__ import annotations

import pytest

from bot.groups import SlackGroup, SlackUser, people_of, read_groups, unknown_groups
from bot.people import Directory, PeopleError
from storage.records import Person, Role

FILE = """
nlp-research: {team: nlp}
vision-research: {team: vision}
nlp-leads: {team: nlp, role: lead}
S0ADMINS: {role: admin}
"""
USERS = (
    SlackUser(id="U1", name="Ann"),
    SlackUser(id="U2", name="Bob"),
    SlackUser(id="U3", name="Cat", gone=True),
    SlackUser(id="U4", name="Dan"),
)
GROUPS = (
    SlackGroup(id="S1", handle="vision-research", members=("U1", "U3")),
    SlackGroup(id="S2", handle="nlp-research", members=("U1", "U2")),
    SlackGroup(id="S3", handle="nlp-leads", members=("U2",)),
    SlackGroup(id="S0ADMINS", handle="gpu-admins", members=("U2",)),
)


def test_groups_give_teams_in_the_files_order_and_the_highest_role() -> None:
    assert people_of(read_groups(FILE, "groups.yaml"), GROUPS, USERS) == (
        Person(id="U1", name="Ann", teams=("nlp", "vision")),
        Person(id="U2", name="Bob", teams=("nlp",), role=Role.ADMIN),
        Person(id="U4", name="Dan"),
    )


def test_a_group_that_slack_lacks_is_named() -> None:
    rules = read_groups("nlp-reserach: {team: nlp}\nnlp-leads: {role: lead}", "groups.yaml")
    assert list(unknown_groups(rules, GROUPS)) == ["nlp-reserach"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("nlp: {}", "nlp: entry: names neither"),
        ("nlp: {team: nlp, role: boss}", "nlp: role"),
        ("nlp: {teams: [nlp]}", "nlp: teams"),
        ("- nlp", "one entry per user group"),
        ("a: [", "not YAML"),
    ],
)
def test_a_wrong_entry_is_named(text: str, named: str) -> None:
    with pytest.raises(PeopleError, match=named):
        read_groups(text, "groups.yaml")


def test_the_file_decides_then_what_leads_confirmed_then_groups() -> None:
    directory = Directory([Person(id="U1", name="Ann File", teams=("rl",), role=Role.LEAD)])
    directory.learn(people_of(read_groups(FILE, "g"), GROUPS, USERS), gone=["U3"])
    directory.confirm({"U1": ("nlp",), "U4": ("speech", "nlp"), "U2": ("vision",)})
    assert directory.person("U1") == Person(id="U1", name="Ann File", teams=("rl",), role=Role.LEAD)
    assert directory.person("U2").teams == ("vision", "nlp")
    assert directory.person("U2").role is Role.ADMIN
    assert directory.person("U4") == Person(id="U4", name="Dan", teams=("speech", "nlp"))
    assert directory.filed("U1")
    assert not directory.filed("U2")
    assert directory.gone == {"U3"}


def test_an_entry_without_teams_leaves_them_to_the_others() -> None:
    directory = Directory([Person(id="U1", name="Ann File", role=Role.ADMIN)])
    directory.learn(people_of(read_groups(FILE, "g"), GROUPS, USERS))
    expected = Person(id="U1", name="Ann File", teams=("nlp", "vision"), role=Role.ADMIN)
    assert directory.person("U1") == expected
    assert not directory.filed("U1")
