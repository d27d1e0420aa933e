"""The form and the App Home: labels are short, plain text, never built from what people typed."""

from __future__ import annotations

from dataclasses import replace

from bot.chat.grammar import GrammarError
from bot.chat.markup import Markup, join, literal, plain, say
from bot.chat.words.english.mistakes import Mistakes
from bot.chat.words.english.standing import Standing
from bot.overview import ClusterView, GangView, PoolView
from bot.views import Refused, TeamShare, Verb


class Forms(Standing, Mistakes):
    """Labels, hints and headings."""

    form_title = "Ask for GPUs"
    form_edit_title = "Change a request"
    button_edit = "Change"
    form_submit = "Ask"
    form_close = "Not now"
    form_size = "How many GPUs"
    form_size_hint = "16, 4x8 (pods x GPUs) or 2 nodes"
    form_model = "GPU model"
    form_lease = "For how long"
    form_lease_hint = "8h, 90m or 2d"
    form_team = "Charged to team"
    form_priority = "Priority"
    form_spend = "Spend"
    form_spend_low = "Low: the cluster's own GPUs"
    form_spend_high = "High: GPUs bought on demand"
    form_preemptible = "Preemptible"
    form_preemptible_no = "No: once started it keeps its GPUs"
    form_preemptible_yes = "Yes: may be stopped and requeued, often starts sooner"
    form_topology = "Near each other"
    form_topology_any = "No matter: as it fits best"
    form_topology_spread = "Spread: on any nodes"
    form_minimum = "At least"
    form_minimum_hint = "The smallest start that would do, counted as above"
    form_provision = "Kind of nodes"
    form_provision_any = "No matter"
    form_name = "Name"
    form_name_hint = "What you and others will know it by"
    button_why = "Why?"
    button_cancel = "Cancel"
    button_release = "Release"
    button_refresh = "Refresh"
    button_request = "Ask for GPUs"
    button_previous = "Previous page"
    button_next = "Next page"
    confirm_keep = "Keep it"
    home_title = "Your GPUs"
    home_teams = "Your teams"
    home_cluster = "The cluster"

    def form_error(self, wrong: GrammarError) -> str:
        """An error under its field: plain text, no markup."""
        return _plain(self.mistake(wrong))

    def form_refused(self, refused: Refused) -> str:
        """A refusal under its field; the form itself is what can be tried instead."""
        return _plain(self.refused(replace(refused, instead=None)))

    def form_topology_level(self, said: str) -> str:
        """`Same rack: all of it or wait` and `Prefer rack: if it fits there now`."""
        rest = "or wait until one has room" if said.startswith("same") else "if one has room"
        return f"{said[:1].upper()}{said[1:]}, {rest}"

    def provision_word(self, provision: str) -> str:
        """How nodes are had, as people say it."""
        return {"reserved": "Reserved", "spot": "Spot", "flex-start": "Flex-start"}.get(
            provision, provision
        )

    def priority_word(self, priority: str) -> str:
        """A level of priority as people say it."""
        return priority

    def confirm_cancel_title(self, request: str) -> str:
        """Asks before a request is cancelled."""
        return f"Cancel {request}?"

    def confirm_cancel(self, gpus: int) -> str:
        """What cancelling a waiting request means."""
        return f"It waits for {self.gpus(gpus)}. Cancelling gives up its place in line."

    def confirm_stop_title(self, verb: Verb, request: str) -> str:
        """Asks before something running is stopped."""
        return f"{self.stop_label(verb)} {request}?"

    def stop_label(self, verb: Verb) -> str:
        """What the button says that stops something running."""
        return self.button_release if verb is Verb.RELEASING else self.button_cancel

    def confirm_stop(self, *, gpus: int, nodes: int) -> str:
        """What is stopped by it."""
        where = f" on {self.count(nodes, 'node')}" if nodes else ""
        return (
            f"This stops everything it runs on {self.gpus(gpus)}{where} and gives the GPUs back. "
            "What is not saved is lost."
        )

    def cluster(self, cluster: ClusterView) -> Markup:
        """The cluster in two sentences."""
        lines = say(
            "{used:,} of {gpus} in use, {free:,} free on {nodes}; {running} running, "
            "{pending} waiting.",
            used=cluster.used,
            gpus=self.gpus(cluster.gpus),
            free=cluster.free,
            nodes=self.count(cluster.nodes, "node"),
            running=self.count(cluster.running, "request"),
            pending=f"{cluster.pending:,}",
        )
        room = say(" {whole} wholly free", whole=self._whole_nodes(cluster.whole_free_nodes))
        if cluster.gangs:
            room = say(
                "{room}: the largest gang that fits now has {gangs}.",
                room=room,
                gangs=join(" or ", map(self._gang, cluster.gangs)),
            )
        else:
            room = say("{room}.", room=room)
        stranded = (
            say(" {stranded} stranded on part-used nodes.", stranded=self._are(cluster.stranded))
            if cluster.stranded
            else Markup()
        )
        unready = (
            say(" {count} not ready.", count=self._nodes_are(cluster.unready_nodes))
            if cluster.unready_nodes
            else Markup()
        )
        return Markup(lines + room + stranded + unready)

    def _gang(self, gang: GangView) -> Markup:
        kind = " ".join(filter(None, (gang.provision, gang.model)))
        text = "{gpus} of {kind}" if kind else "{gpus}"
        return say(text, gpus=self.gpus(gang.gpus), kind=kind)

    def _whole_nodes(self, number: int) -> Markup:
        if number == 0:
            return say("No node is")
        return self._nodes_are(number)

    def _nodes_are(self, number: int) -> Markup:
        verb = "is" if number == 1 else "are"
        return say("{nodes} {verb}", nodes=self.count(number, "node"), verb=verb)

    def _are(self, gpus: int) -> Markup:
        return say("{gpus} {verb}", gpus=self.gpus(gpus), verb="is" if gpus == 1 else "are")

    def pool(self, pool: PoolView) -> Markup:
        """One pool in a line."""
        quota = f" of {pool.nominal:,}" if pool.nominal else ""
        borrowed = f" ({pool.borrowed:,} borrowed)" if pool.borrowed else ""
        return say(
            "• *{pool}* {used:,}{quota} GPUs in use{borrowed} · {running:,} running · {waiting}",
            pool=pool.pool,
            used=pool.used,
            quota=quota,
            borrowed=borrowed,
            running=pool.running,
            waiting=say(
                "{pending:,} waiting for {wanted:,} GPUs",
                pending=pool.pending,
                wanted=pool.pending_gpus,
            )
            if pool.pending
            else "none waiting",
        )

    def share(self, share: TeamShare) -> Markup:
        """A team's standing in a line."""
        return say(
            "• *{team}* {used:,} GPUs in use, {nominal:,} guaranteed · {hours:,.0f} GPU-hours "
            "lately · {rank} of {teams:,} to be served in the shared pools",
            team=share.team,
            used=share.used,
            nominal=share.nominal,
            hours=share.chip_hours,
            rank=self.ordinal(share.rank),
            teams=share.teams,
        )


def _plain(sentence: Markup) -> str:
    return plain(literal(Markup(sentence.replace("`", ""))), 240)
