"""What Slack user groups mean here: which team and role their members have.

The mapping is a YAML file that an admin owns, by handle or id of the group:

    nlp-research: {team: nlp}
    nlp-leads: {team: nlp, role: lead}
    gpu-admins: {role: admin}

Somebody in several groups is in all their teams, in the order of the file, and has the
highest of their roles.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from bot.people import PeopleError
from storage.records import Person, Role

_EXAMPLE = "for example  nlp-leads: {team: nlp, role: lead}"
_RANK = tuple(Role)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRule:
    """What members of a group are. `group` is its handle, without the @, or its id."""

    group: str
    team: str | None = None
    role: Role = Role.RESEARCHER


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackUser:
    """Somebody as Slack knows them; `gone` once their account is deactivated."""

    id: str
    name: str
    gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackGroup:
    """A user group with its members' ids. `changed` is an epoch second, if Slack tells it."""

    id: str
    handle: str
    members: tuple[str, ...]
    changed: float | None = None


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    team: str | None = None
    role: Role = Role.RESEARCHER

    @model_validator(mode="after")
    def _says_something(self) -> _Entry:
        if self.team is None and self.role is Role.RESEARCHER:
            raise ValueError("names neither a team nor a role")
        return self


def read_groups(text: str, source: str) -> tuple[GroupRule, ...]:
    """The rules of a file. Raises PeopleError that names the entry."""
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PeopleError(f"{source}: not YAML: {error}") from error
    if raw is None:
        return ()
    if not isinstance(raw, dict):
        raise PeopleError(f"{source}: expected one entry per user group, {_EXAMPLE}")
    rules = []
    for group, entry in raw.items():
        try:
            checked = _Entry.model_validate(entry)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"]) or "entry"
            problem = first["msg"].removeprefix("Value error, ")
            raise PeopleError(f"{source}: {group}: {field}: {problem}; {_EXAMPLE}") from error
        name = str(group).removeprefix("@")
        rules.append(GroupRule(group=name, team=checked.team, role=checked.role))
    return tuple(rules)


def people_of(
    rules: Sequence[GroupRule], groups: Collection[SlackGroup], users: Collection[SlackUser]
) -> tuple[Person, ...]:
    """Everybody whose account is active, with the teams and the role that groups give them."""
    by_name = {name: group for group in groups for name in (group.handle, group.id)}
    teams: dict[str, list[str]] = {}
    roles: dict[str, Role] = {}
    for rule in rules:
        group = by_name.get(rule.group)
        for member in () if group is None else group.members:
            if rule.team is not None and rule.team not in teams.setdefault(member, []):
                teams[member].append(rule.team)
            roles[member] = max(roles.get(member, Role.RESEARCHER), rule.role, key=_RANK.index)
    return tuple(
        Person(
            id=user.id,
            name=user.name,
            teams=tuple(teams.get(user.id, ())),
            role=roles.get(user.id, Role.RESEARCHER),
        )
        for user in sorted(users, key=lambda user: user.id)
        if not user.gone
    )


def unknown_groups(
    rules: Sequence[GroupRule], groups: Collection[SlackGroup]
) -> Mapping[str, GroupRule]:
    """The rules about groups that Slack does not have, by the name in the file."""
    known = {name for group in groups for name in (group.handle, group.id)}
    return {rule.group: rule for rule in rules if rule.group not in known}
