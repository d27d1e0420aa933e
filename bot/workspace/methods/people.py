"""auth.*, apps.*, users.*, usergroups.*, team.* and bots.*: who is who."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.workspace.methods.arguments import flag, need, page
from bot.workspace.people import Group
from bot.workspace.wire import Json, SlackError
from bot.workspace.workspace import Workspace


def api_test(_: Workspace, args: Json) -> Json:
    """api.test: gives back what it got, or the error asked for."""
    if args.get("error"):
        raise SlackError(str(args["error"]), extra={"args": args})
    return {"args": args}


def auth_test(space: Workspace, _: Json) -> Json:
    """auth.test."""
    team, app = space.directory.team, space.directory.app
    return {
        "url": f"{space.base_url}/",
        "team": team.name,
        "user": app.name,
        "team_id": team.id,
        "user_id": app.user_id,
        "bot_id": app.bot_id,
        "is_enterprise_install": False,
    }


def connections_open(space: Workspace, _: Json) -> Json:
    """apps.connections.open: where to connect for Socket Mode, once."""
    address = space.base_url.replace("http://", "ws://", 1)
    return {"url": f"{address}/link/?ticket={space.sockets.issue_ticket()}"}


def user_info(space: Workspace, args: Json) -> Json:
    """users.info."""
    user = space.user(need(args, "user", "user_not_found"))
    if not flag(args, "include_locale"):
        user.pop("locale", None)
    return {"user": user}


def user_list(space: Workspace, args: Json) -> Json:
    """users.list."""
    some, cursor = page(args, space.directory.users())
    return {"members": some, "cache_ts": 1_700_000_000, "response_metadata": cursor}


def user_by_email(space: Workspace, args: Json) -> Json:
    """users.lookupByEmail."""
    email = need(args, "email", "users_not_found").lower()
    for person in space.directory.people.values():
        if person.email.lower() == email and not person.deleted:
            return {"user": space.user(person.id, missing="users_not_found")}
    raise SlackError("users_not_found")


def _group(space: Workspace, group: Group, *, with_users: bool) -> Json:
    shown: Json = {
        "id": group.id,
        "team_id": space.directory.team.id,
        "is_usergroup": True,
        "name": group.name,
        "handle": group.handle,
        "date_delete": 0,
        "date_update": group.changed,
        "user_count": len(group.people),
    }
    return {**shown, "users": list(group.people)} if with_users else shown


def group_list(space: Workspace, args: Json) -> Json:
    """usergroups.list."""
    with_users = flag(args, "include_users")
    groups = sorted(space.directory.groups.values(), key=lambda group: group.id)
    return {"usergroups": [_group(space, group, with_users=with_users) for group in groups]}


def group_users(space: Workspace, args: Json) -> Json:
    """usergroups.users.list."""
    group = space.directory.groups.get(need(args, "usergroup", "no_such_subteam"))
    if group is None:
        raise SlackError("no_such_subteam")
    return {"users": list(group.people)}


def team_info(space: Workspace, _: Json) -> Json:
    """team.info."""
    team = space.directory.team
    return {"team": {"id": team.id, "name": team.name, "domain": team.domain}}


def bot_info(space: Workspace, args: Json) -> Json:
    """bots.info."""
    app = space.directory.app
    if args.get("bot") not in (None, "", app.bot_id):
        raise SlackError("bot_not_found")
    shown = {"id": app.bot_id, "deleted": False, "name": app.name, "app_id": app.id}
    return {"bot": {**shown, "user_id": app.user_id}}


METHODS: Mapping[str, Callable[[Workspace, Json], Json]] = {
    "api.test": api_test,
    "apps.connections.open": connections_open,
    "auth.test": auth_test,
    "bots.info": bot_info,
    "team.info": team_info,
    "usergroups.list": group_list,
    "usergroups.users.list": group_users,
    "users.info": user_info,
    "users.list": user_list,
    "users.lookupByEmail": user_by_email,
}
