"""Who is in the local workspace: people, user groups, channels and the app itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from bot.workspace.wire import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who can be at the page. `teams` and `role` are for the bot's own records."""

    id: str
    name: str
    real_name: str
    title: str = ""
    email: str = ""
    role: str = "researcher"
    teams: tuple[str, ...] = ()
    tz: str = "Etc/UTC"
    locale: str = "en-US"
    deleted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A user group, mentioned as `@handle`; `changed` is an epoch second, 0 for never."""

    id: str
    handle: str
    name: str
    people: tuple[str, ...]
    changed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelInfo:
    """A channel that exists from the start; everybody and the bot are in it."""

    id: str
    name: str
    topic: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """The workspace as Slack names it: a team with a domain."""

    id: str
    name: str
    domain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppInfo:
    """The app whose bot speaks here."""

    id: str
    bot_id: str
    user_id: str
    name: str
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """Everything above, by id."""

    team: Team
    app: AppInfo
    people: dict[str, Person]
    groups: dict[str, Group]
    channels: tuple[ChannelInfo, ...]

    def user(self, user_id: str) -> Json | None:
        """A person or the bot as `users.info` shows them; None if there is nobody."""
        if user_id == self.app.user_id:
            return self._bot_user()
        person = self.people.get(user_id)
        return None if person is None else self._person(person)

    def users(self) -> list[Json]:
        """Everybody, the bot first, then by id."""
        return [self._bot_user(), *(self._person(self.people[key]) for key in sorted(self.people))]

    def without(self, user_id: str) -> Directory:
        """The same with one person's account deactivated."""
        person = replace(self.people[user_id], deleted=True)
        return replace(self, people={**self.people, user_id: person})

    def regrouped(self, group_id: str, people: tuple[str, ...], *, changed: int = 0) -> Directory:
        """The same with other members of a group."""
        group = replace(self.groups[group_id], people=people, changed=changed)
        return replace(self, groups={**self.groups, group_id: group})

    def _person(self, person: Person) -> Json:
        return {
            "id": person.id,
            "team_id": self.team.id,
            "name": person.name,
            "real_name": person.real_name,
            "deleted": person.deleted,
            "tz": person.tz,
            "locale": person.locale,
            "is_bot": False,
            "is_admin": person.role == "admin",
            "is_restricted": False,
            "updated": 1_700_000_000,
            "profile": {
                "real_name": person.real_name,
                "display_name": person.name,
                "title": person.title,
                "email": person.email,
                "team": self.team.id,
            },
        }

    def _bot_user(self) -> Json:
        return {
            "id": self.app.user_id,
            "team_id": self.team.id,
            "name": self.app.name,
            "real_name": self.app.name,
            "deleted": False,
            "tz": "Etc/UTC",
            "locale": "en-US",
            "is_bot": True,
            "is_admin": False,
            "updated": 1_700_000_000,
            "profile": {
                "real_name": self.app.name,
                "display_name": self.app.name,
                "title": self.app.about,
                "bot_id": self.app.bot_id,
                "api_app_id": self.app.id,
                "team": self.team.id,
            },
        }


def load_people(path: Path | None = None) -> Directory:
    """Read the people file; without a path the one that comes with the package.

    Raises:
        ValueError: the file is not such a file, or a group names nobody known.

    """
    source = path or resources.files("bot.workspace").joinpath("people.yaml")
    raw: Any = yaml.safe_load(source.read_text(encoding="utf-8"))
    try:
        people = [Person(**{**p, "teams": tuple(p.get("teams", ()))}) for p in raw["people"]]
        groups = [Group(**{**g, "people": tuple(g["people"])}) for g in raw["groups"]]
        directory = Directory(
            team=Team(**raw["team"]),
            app=AppInfo(**raw["app"]),
            people={person.id: person for person in people},
            groups={group.id: group for group in groups},
            channels=tuple(ChannelInfo(**channel) for channel in raw["channels"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a people file: {error}") from error
    for group in groups:
        unknown = [person for person in group.people if person not in directory.people]
        if unknown:
            raise ValueError(f"group {group.handle} names {', '.join(unknown)}, who is not listed")
    return directory
