"""Why a change of a request was not made."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.chat.grammar import spell_lease
from bot.chat.markup import Markup, date, say
from bot.chat.words.english.fields import FIELDS
from bot.chat.words.english.units import Units
from bot.chat.words.figures import Figures
from bot.fields import FieldName
from bot.views import RefusalCode, Refused
from storage.states import RequestState

Sentence = Callable[[Refused, Figures], Markup]


class TurnedDown(Units):
    """One sentence a code."""

    def turned_down(self) -> Mapping[RefusalCode, Sentence]:
        """The sentences by code."""
        return {
            RefusalCode.SOMEBODY_WAITS: self._somebody_waits,
            RefusalCode.EXTENDED_TOO_LONG: self._extended_too_long,
            RefusalCode.NOT_ASKED: self._not_asked,
            RefusalCode.NO_LEASE: self._no_lease,
            RefusalCode.NO_PROVISION: self._no_provision,
            RefusalCode.NO_SMALLER_START: self._no_smaller_start,
            RefusalCode.BAD_MARK: self._bad_mark,
            RefusalCode.RAISED_IN_CHAT: self._raised_in_chat,
            RefusalCode.NOT_HELD: self._not_held,
            RefusalCode.MANAGED_ELSEWHERE: self._managed_elsewhere,
            RefusalCode.LINGERS: self._lingers,
            RefusalCode.HOLDS_NOTHING: self._holds_nothing,
            RefusalCode.HOLDS_LESS: self._holds_less,
            RefusalCode.NOT_A_CHECKPOINT: self._not_a_checkpoint,
            RefusalCode.OUTGROWN: self._outgrown,
            RefusalCode.GROUP_SHORT: self._group_short,
            RefusalCode.GROUP_MIXED: self._group_mixed,
            RefusalCode.GROUP_UNLIKE: self._group_unlike,
            RefusalCode.REPLICA: self._replica,
            RefusalCode.OF_OBJECT: self._of_object,
            RefusalCode.LEASE_OVER: self._lease_over,
            RefusalCode.LEASE_MOVED: self._lease_moved,
            RefusalCode.CHANGED_MEANWHILE: self._meanwhile,
            RefusalCode.NOTHING_NEW: self._nothing_new,
            RefusalCode.RUNS: self._runs,
            RefusalCode.NOT_LOWER: self._not_lower,
            RefusalCode.LEASE_PAST: self._lease_past,
            RefusalCode.IN_TRANSIT: self._in_transit,
            RefusalCode.SAME_OWNER: self._same_owner,
            RefusalCode.NOT_IN_TEAM: self._not_in_team,
            RefusalCode.ON_TEAM_QUOTA: self._on_team_quota,
            RefusalCode.RECEIVER_FULL: self._receiver_full,
            RefusalCode.RUNS_ALREADY: self._runs_already,
            RefusalCode.OFFER_STALE: self._offer_stale,
            RefusalCode.OFFER_GONE: self._offer_gone,
            RefusalCode.LOOKING: self._looking,
            RefusalCode.AMBIGUOUS_NAME: self._ambiguous_name,
        }

    def _somebody_waits(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        more = figures.number("more") or 0
        others = say(" and {more}", more=self.count(more, "other")) if more else Markup()
        waits = "wait" if more else "waits"
        return say(
            "{request} cannot be extended: {first} of {owner} (team {team}, {gpus}){others} "
            "{waits} for GPUs that it holds.",
            request=_request(figures),
            first=figures.text("first") or say("another request"),
            owner=figures.text("owner") or say("somebody"),
            team=figures.text("team") or say("another"),
            gpus=self.gpus(figures.number("gpus") or 0),
            others=others,
            waits=waits,
        )

    def _extended_too_long(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        most, left = figures.number("most") or 0.0, figures.number("left") or 0.0
        rest = say(
            "it can have {left} more: `/gpu extend {request} {line}`",
            left=self.span(left),
            request=_request(figures),
            line=spell_lease(left),
        )
        return say(
            "{request} cannot be extended so far: a lease in pool {pool} lasts at most {most} in "
            "all, so {rest}.",
            request=_request(figures),
            pool=figures.text("pool") or say("its pool"),
            most=self.span(most),
            rest=rest if left > 0 else say("it can have no more; ask anew for the time after it"),
        )

    def _ambiguous_name(self, refused: Refused, figures: Figures) -> Markup:
        count = int(figures.number("count") or len(refused.near))
        listed = [say("{one}", one=one) for one in refused.near]
        if count > len(listed):
            listed.append(say("{more:,} more", more=count - len(listed)))
        return say(
            "{count} are called {name}: {listed}. Say which, for example `/gpu why {example}`.",
            count=self.count(count, "request"),
            name=figures.text("name") or say("that"),
            listed=self.several(listed),
            example=figures.text("example") or "R-1042",
        )

    def _bad_mark(self, refused: Refused, figures: Figures) -> Markup:
        near = (
            say(" Right would be {near}.", near=self.or_list(refused.near)) if refused.near else ""
        )
        label, value = figures.text("label") or "gpubot.dev/…", figures.text("value")
        if not value:
            return say("The label `{label}` is missing.{near}", label=label, near=near)
        return say(
            "The label `{label}` cannot be `{value}`.{near}", label=label, value=value, near=near
        )

    def _raised_in_chat(self, refused: Refused, figures: Figures) -> Markup:
        """A class that needs a role, asked for by a label, which anybody can have written."""
        priority, request = figures.text("priority") or "critical", figures.text("request")
        near = self.or_list(refused.near) if refused.near else say("another")
        if figures.number("replica"):
            return say(
                "Priority {priority} needs a role, and nobody can tell who wrote the label. Write "
                "{near}. What waits an admin can raise in chat: "
                "`/gpu boost {request} priority {priority} for 6h reason …`",
                priority=priority,
                near=near,
                request=request or "R-1042",
            )
        team = figures.text("team") or say("its team")
        if request:
            return say(
                "Priority {priority} needs a role, and nobody can tell who wrote the label. Write "
                "{near}, or let a lead of {team} or an admin raise it in chat: "
                "`/gpu edit {request} priority {priority}`",
                priority=priority,
                near=near,
                team=team,
                request=request,
            )
        return say(
            "Priority {priority} needs a role, and nobody can tell who wrote the label. Write "
            "{near}; when it waits, a lead of {team} or an admin can raise it in chat, with the "
            "id that it has then: `/gpu edit R-1042 priority {priority}`",
            priority=priority,
            near=near,
            team=team,
        )

    def _not_held(self, refused: Refused, figures: Figures) -> Markup:
        """A Job whose pods wait for GPUs one by one; `near` are teams where it names none."""
        del figures
        if not refused.near:
            return say(
                "Its pods wait for GPUs, but it is not suspended, and only what is starts whole. "
                "Set `suspend: true`."
            )
        return say(
            "Its pods wait for GPUs, but the label `gpubot.dev/team` is missing. Right would be "
            "{near}. Set it together with `suspend: true`, in one change.",
            near=self.or_list(refused.near),
        )

    def _managed_elsewhere(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "Its pods are made by `{manager}` (`spec.managedBy`), which starts and stops them as "
            "it likes. Make it anew without `managedBy`; or ask for GPUs with `/gpu`, and give its "
            "pods the label `gpubot.dev/request` with that id.",
            manager=figures.text("manager") or "…",
        )

    def _lingers(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "Node {node} has failed and keeps its pod `{pod}`, and no other is made in its place "
            "before that has ended (`podReplacementPolicy: Failed`, as is usual with a "
            "`podFailurePolicy`). It goes on when the node is back, or when an admin deletes it "
            "or, if it is off for good, gives it the taint `node.kubernetes.io/out-of-service`.",
            node=figures.text("node") or "…",
            pod=figures.text("pod") or "…",
        )

    def _holds_nothing(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        request = figures.text("request") or "…"
        return say(
            "Its label `gpubot.dev/request` names {request}, which has no GPUs for pods now: that "
            "waits itself, is over, or is no hold (`/gpu why {request}` tells). It goes on when "
            "{request} has some. If that cannot be, ask with `/gpu hold {count} h100 8h`, and give "
            "it the label with the new id.",
            request=request,
            count=int(figures.number("gpus") or 0) or 8,
        )

    def _holds_less(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "It wants {gpus}, and {request}, which its label `gpubot.dev/request` names, has "
            "{most} at the most on any one node. Make it smaller, or ask for more with "
            "`/gpu hold {count} h100 8h`, and give it the label with the new id.",
            gpus=self.gpus(figures.number("gpus") or 0),
            request=figures.text("request") or "…",
            most=int(figures.number("most") or 0),
            count=int(figures.number("gpus") or 0),
        )

    def _not_a_checkpoint(self, refused: Refused, figures: Figures) -> Markup:
        near = say(" Right would be {near}.", near=self.or_list(refused.near))
        near = near if refused.near else Markup()
        value, ahead = figures.text("value") or Markup(), figures.number("ahead")
        if ahead is None:
            return say(
                "The annotation `gpubot.dev/checkpointed-at` cannot be `{value}`: it is not "
                "counted.{near}",
                value=value,
                near=near,
            )
        return say(
            "The annotation `gpubot.dev/checkpointed-at` is `{value}`, which lies {ahead} ahead: "
            "it is not counted. A time without a zone is taken for UTC.{near}",
            value=value,
            ahead=self.span(ahead),
            near=near,
        )

    def _outgrown(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "It was granted {granted} and has {pods:,} by now: those beyond the grant wait at the "
            "gate. Make it smaller again; or suspend it, and it asks for all of them anew.",
            granted=self.count(int(figures.number("granted") or 0), "pod"),
            pods=int(figures.number("pods") or 0),
        )

    def _group_short(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        there, size = int(figures.number("there") or 0), int(figures.number("size") or 0)
        return say(
            "It has {there:,} of its {size}, and starts only whole. Make the others, or give "
            "the number that there is as `gpubot.dev/group-size`.",
            there=there,
            size=self.count(size, "pod"),
        )

    def _group_mixed(self, refused: Refused, figures: Figures) -> Markup:
        return say(
            "Its pods differ in the label `{label}`: {values}. They are one request, so give all "
            "of them the same.",
            label=figures.text("label") or "gpubot.dev/…",
            values=self.several([_mark(value) for value in refused.near]),
        )

    def _group_unlike(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "Its pods of the role `{role}` differ in what they ask for (GPUs, CPU, memory, node "
            "selector, affinity or tolerations). Pods that ask for different things in one group "
            "are told apart by the label `{label}`, such as `leader` and `worker`.",
            role=figures.text("role") or "main",
            label=figures.text("label") or "gpubot.dev/role",
        )

    def _of_object(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "{request} is the {kind} `{space}/{name}`: its pods, their GPUs and which nodes they "
            "need stand in that. Change it there, or make it anew. Its lease, priority, spend, "
            "nearness and whether it is preemptible can be changed here",
            request=_request(figures),
            kind=figures.text("kind") or Markup("Job"),
            space=figures.text("namespace") or "…",
            name=figures.text("name") or "…",
        )

    def _replica(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        left = figures.number("left")
        text = (
            "{request} is a replica of the {kind} `{space}/{name}`: what it asks for stands in its "
            "template. Change it there: `kubectl -n {space} edit {short}/{name}`"
        )
        if left is not None:
            text = (
                "{request} is a replica of the {kind} `{space}/{name}`, which would make another "
                "at once. Have fewer of them: `kubectl -n {space} scale {short}/{name} "
                "--replicas={left}`"
            )
        kind = figures.text("kind") or Markup("Deployment")
        return say(
            text,
            request=_request(figures),
            kind=kind,
            short=Markup(kind.lower()),
            space=figures.text("namespace") or "…",
            name=figures.text("name") or "…",
            left=int(left or 0),
        )

    def _no_provision(self, refused: Refused, figures: Figures) -> Markup:
        asked, model = figures.text("provision"), figures.text("model")
        near = say(" There are {near}.", near=self.or_list(refused.near)) if refused.near else ""
        return say(
            "There are no {asked} nodes{model} here.{near}",
            asked=asked or say("such"),
            model=say(" with {model}", model=model) if model else "",
            near=near,
        )

    def _no_smaller_start(self, refused: Refused, figures: Figures) -> Markup:
        pods, each = figures.number("pods"), figures.number("per_pod")
        shape = Markup()
        if pods is not None and each is not None:
            shape = say(" of {each}", each=self.gpus(each))
        near = say(" At least {near} would do.", near=self.or_list(refused.near))
        return say(
            "It starts in whole pods{shape}, so that is not a size it could start with.{near}",
            shape=shape,
            near=near if refused.near else say(" Ask for more pods, such as `2x4`."),
        )

    def _not_asked(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        request = figures.text("request") or Markup("?")
        return say("Nobody asks whether {request} is needed: nothing to keep.", request=request)

    def _no_lease(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say("{request} has no end, so nothing can be extended.", request=_request(figures))

    def _lease_over(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        ended = figures.number("ended")
        at = say(", {at}", at=date(ended)) if ended is not None else Markup()
        return say(
            "The lease of {request} is over{at}: it is too late to extend it. Ask for GPUs anew "
            "if you need them longer.",
            request=_request(figures),
            at=at,
        )

    def _lease_moved(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        ends = figures.number("ends")
        at = say(": it ends {at}", at=date(ends)) if ends is not None else Markup()
        return say(
            "The lease of {request} is another since that button was drawn{at}.",
            request=_request(figures),
            at=at,
        )

    def _meanwhile(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        state = figures.text("state")
        now = say(" It is {state} now.", state=_STATES.get(str(state), state)) if state else ""
        return say(
            "{request} was changed or moved on in the same moment.{now} Look at it and say it "
            "again if you still want it.",
            request=_request(figures),
            now=now,
        )

    def _nothing_new(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say("{request} is like that already.", request=_request(figures))

    def _runs(self, refused: Refused, figures: Figures) -> Markup:
        named = self.several([say(FIELDS[FieldName(field)]) for field in refused.near])
        return say(
            "{request} runs, so its {named} cannot change: only its name, its lease and a lower "
            "priority can. Release it and ask anew for the rest.",
            request=_request(figures),
            named=named,
        )

    def _not_lower(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "{request} runs with {has} priority; what runs can only be lowered, not raised to "
            "{priority}: for example `/gpu edit {request} priority low`.",
            request=_request(figures),
            has=figures.text("has") or say("another"),
            priority=figures.text("priority") or say("that"),
        )

    def _lease_past(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "A lease counts from the start, and {request} has run {had} already: {asked} would "
            "be over. `/gpu release {request}` ends it now.",
            request=_request(figures),
            had=self.span(figures.number("had") or 0),
            asked=self.span(figures.number("asked") or 0),
        )

    def _in_transit(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "{request} is just being stopped and goes back into line: change it then, in a "
            "minute or two.",
            request=_request(figures),
        )

    def _same_owner(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "{request} belongs to {person} already.",
            request=_request(figures),
            person=figures.text("person") or say("them"),
        )

    def _not_in_team(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "{request} is charged to team {team}, and {person} is not in it. Give it to somebody "
            "of the team; to others only the lead of {team} or an admin can.",
            request=_request(figures),
            team=figures.text("team") or say("its"),
            person=figures.text("person") or say("that person"),
        )

    def _on_team_quota(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "{request} runs on the own quota of team {team}, which others cannot be charged for. "
            "Release it, and let them ask.",
            request=_request(figures),
            team=figures.text("team") or say("its"),
        )

    def _receiver_full(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "{person} has {most:,} requests waiting already, which is the most for one person.",
            person=figures.text("person") or say("That person"),
            most=int(figures.number("most") or 0),
        )

    def _runs_already(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "{request} runs already: there is nothing left to change for an earlier start.",
            request=_request(figures),
        )

    def _offer_stale(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "That offer was for {request} as it was, or is none of mine. `/gpu when {request}` "
            "shows what would help now.",
            request=_request(figures),
        )

    def _offer_gone(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "That would not start {request} any sooner now. `/gpu when {request}` shows what "
            "would.",
            request=_request(figures),
        )

    def _looking(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "I am just looking ahead for many at once. Press again in a few seconds.",
            request=_request(figures),
        )


def _request(figures: Figures) -> Markup:
    return figures.text("request") or say("That request")


_STATES: dict[str, str] = {
    RequestState.WAITING: "waiting",
    RequestState.ADMITTED: "starting",
    RequestState.RUNNING: "running",
    RequestState.PREEMPTING: "being preempted",
    RequestState.EVICTING: "being evicted",
    RequestState.STOPPING: "stopping",
}


def _mark(value: str) -> Markup:
    return say("`{value}`", value=value) if value else say("none")
