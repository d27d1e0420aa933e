"""`gpubot doctor`: what is wrong with this installation, and what to do about each thing."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.error import URLError

import yaml
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web import SlackResponse

from bot.chat.rollcall import groups_in
from bot.cli.doctor_cluster import examine_cluster
from bot.cli.finding import Finding
from bot.cli.serve import own_namespace
from bot.clusters.kubernetes.opening import NoCluster, open_connection
from bot.groups import read_groups, unknown_groups
from bot.people import Directory, PeopleError
from bot.promises import doubts_as_described, hollow_as_described, say_doubts, say_hollow
from bot.settings import ClusterKind, Settings, SettingsError, read_settings
from bot.shipped import MANIFEST, read_policy, shipped
from scheduler.policy import PolicyError, compile_policy
from storage.errors import StoreError
from storage.store import open_store

SKEW = 60.0  # seconds by which our clock may differ from Slack's
TIMEOUT = 10  # seconds for each call to Slack
_NO_APP = {"bot_token": "xoxb-", "app_token": "xapp-", "signing_secret": ""}


def examine() -> Iterator[Finding]:
    """Look at everything, in the order in which to repair it."""
    settings, wrong = _settings()
    for line in wrong:
        yield Finding(what="settings", well=False, seen=line, cure="set the variable")
    if settings is None:
        return
    if not wrong:
        yield Finding(what="settings", well=True, seen="all variables can be used")
    yield _database(settings)
    yield from _policy(settings)
    yield _people(settings)
    if settings.cluster is ClusterKind.KUBERNETES:
        yield from _cluster(settings)
    if not wrong:
        yield from _slack(settings)


def _settings() -> tuple[Settings | None, list[str]]:
    """The settings and what is wrong with them; none where more than Slack's cannot be used.

    Without an app in Slack all the rest can be looked at, such as the cluster before an install.
    """
    try:
        return read_settings(), []
    except SettingsError as error:
        wrong = str(error).splitlines()
    try:
        return read_settings(**_NO_APP), wrong
    except SettingsError:
        return None, wrong


def _database(settings: Settings) -> Finding:
    try:
        store = open_store(settings.database_url)
        with store.read() as view:
            open_requests = sum(n for state, n in view.requests.tally().items() if not state.final)
        store.close()
    except StoreError as error:
        cure = (
            "check that GPUBOT_DATABASE_URL names the right file or server, and that the folder or"
            " the server can be written to"
        )
        return Finding(what="database", well=False, seen=str(error), cure=cure)
    return Finding(what="database", well=True, seen=f"{open_requests} open requests")


def _policy(settings: Settings) -> Iterator[Finding]:
    try:
        layout = compile_policy(read_policy(settings.policy))
    except PolicyError as error:
        yield Finding(
            what="policy", well=False, seen=str(error), cure="run `gpubot policy check FILE`"
        )
        return
    yield Finding(
        what="policy",
        well=True,
        seen=f"{len(layout.queues)} queues in {len(layout.pools)} pools, {len(layout.teams)} teams",
    )
    for line in say_hollow(hollow_as_described(layout)):
        cure = "correct the policy file, and run `gpubot policy check FILE`"
        yield Finding(what="quota", well=True, seen=line, cure=cure)
    for line in say_doubts(doubts_as_described(layout)):
        cure = "correct the labels or the capacity of that node"
        yield Finding(what="nodes", well=True, seen=line, cure=cure)


def _cluster(settings: Settings) -> Iterator[Finding]:
    try:
        layout = compile_policy(read_policy(settings.policy))
    except PolicyError:  # told as such
        layout = None
    try:
        connection = open_connection()
    except NoCluster as error:
        cure = "run it in the bot's pod, or set KUBECONFIG to a file that exists"
        yield Finding(what="api server", well=False, seen=str(error), cure=cure)
        return
    yield from examine_cluster(connection, layout, own_namespace())


def _people(settings: Settings) -> Finding:
    if settings.people is None and settings.groups is not None:
        return Finding(what="people", well=True, seen="no people file; user groups decide")
    if settings.people is None:
        cure = "set GPUBOT_PEOPLE or GPUBOT_GROUPS: nobody belongs to a team before they link"
        return Finding(what="people", well=False, seen="no people file", cure=cure)
    try:
        count = len(Directory(path=settings.people).people())
    except PeopleError as error:
        return Finding(what="people", well=False, seen=str(error), cure="correct that entry")
    return Finding(what="people", well=True, seen=f"{count} people")


def _groups(client: WebClient, path: Path) -> Finding:
    """The groups file, and whether Slack has every group that it names."""
    try:
        rules = read_groups(path.read_text(encoding="utf-8"), str(path))
    except (OSError, PeopleError) as error:
        return Finding(what="groups", well=False, seen=str(error), cure="correct that entry")
    cure = "let the app read user groups (scope usergroups:read)"
    answer = _ask("groups", lambda: client.usergroups_list(include_users=True), cure)
    if isinstance(answer, Finding):
        return answer
    missing = unknown_groups(rules, groups_in(answer))
    if missing:
        seen = "Slack has no user group " + ", ".join(missing)
        return Finding(what="groups", well=False, seen=seen, cure="correct the handle in the file")
    return Finding(what="groups", well=True, seen=f"{len(rules)} user groups")


def _slack(settings: Settings) -> Iterator[Finding]:
    client = WebClient(
        token=settings.bot_token.get_secret_value(),
        base_url=settings.slack_api_url,
        timeout=TIMEOUT,
    )
    began = time.time()
    answer = _ask("bot token", client.auth_test, "reinstall the app and copy SLACK_BOT_TOKEN again")
    if isinstance(answer, Finding):
        yield answer
        return
    yield Finding(what="bot token", well=True, seen=f"{answer.get('user')} in {answer.get('team')}")
    yield _scopes(answer)
    yield _clock(answer, began)
    if settings.groups is not None:
        yield _groups(client, settings.groups)
    if settings.app_token is None:
        yield Finding(what="requests", well=True, seen=f"over HTTP, port {settings.http_port}")
        return
    token = settings.app_token.get_secret_value()
    opened = _ask(
        "app token",
        lambda: client.apps_connections_open(app_token=token),
        "make an app-level token with the scope connections:write for SLACK_APP_TOKEN",
    )
    if isinstance(opened, Finding):
        yield opened
    else:
        yield Finding(what="app token", well=True, seen="Socket Mode can be opened")


def _ask(what: str, call: Callable[[], SlackResponse], cure: str) -> SlackResponse | Finding:
    try:
        return call()
    except SlackApiError as error:
        return Finding(
            what=what, well=False, seen=f"Slack says {error.response['error']}", cure=cure
        )
    except (SlackClientError, URLError, OSError) as error:
        reach = "check GPUBOT_SLACK_API_URL and the way to it (proxy, firewall)"
        return Finding(what=what, well=False, seen=f"no answer: {error}", cure=reach)


def _scopes(answer: SlackResponse) -> Finding:
    granted = {
        scope.strip()
        for name, value in answer.headers.items()
        if name.lower() == "x-oauth-scopes"
        for scope in value.split(",")
    }
    missing = sorted(wanted_scopes() - granted)
    if missing:
        cure = "add them as in deploy/slack-manifest.yaml and reinstall the app"
        return Finding(what="scopes", well=False, seen="missing: " + ", ".join(missing), cure=cure)
    return Finding(what="scopes", well=True, seen=f"{len(granted)} granted, none missing")


def wanted_scopes(manifest: Path | None = None) -> set[str]:
    """The bot scopes of the app manifest."""
    source = shipped(MANIFEST) if manifest is None else manifest
    parsed = yaml.safe_load(source.read_text(encoding="utf-8"))
    return set(parsed["oauth_config"]["scopes"]["bot"])


def _clock(answer: SlackResponse, began: float) -> Finding:
    stamp = next((v for k, v in answer.headers.items() if k.lower() == "date"), None)
    if stamp is None:
        return Finding(what="clock", well=True, seen="Slack told no time to compare with")
    theirs = parsedate_to_datetime(stamp)
    ours = dt.datetime.fromtimestamp((began + time.time()) / 2, tz=dt.UTC)
    skew = abs((ours - theirs).total_seconds())
    if skew > SKEW:
        cure = "set the machine's clock (NTP): leases and signatures depend on it"
        return Finding(what="clock", well=False, seen=f"{skew:.0f} s off Slack's", cure=cure)
    return Finding(what="clock", well=True, seen=f"within {max(1.0, skew):.0f} s of Slack's")
