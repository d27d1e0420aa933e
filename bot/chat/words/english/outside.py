"""Pods that hold GPUs and that no request stands for, and why one is not adopted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from bot import notices
from bot.chat.markup import Markup, say
from bot.chat.words.english.units import Units
from bot.chat.words.figures import Figures
from bot.maps import OutsidePod
from bot.views import RefusalCode, Refused

_WHY: dict[RefusalCode, str] = {
    RefusalCode.NOTHING_TO_ADOPT: (
        "The cluster here is simulated: it has no pods but those of "
        "requests, so there is nothing to adopt."
    ),
    RefusalCode.NO_SUCH_POD: (
        "There is no pod `{where}`. `kubectl get pods -A` lists what "
        "there is; say its namespace and name, such as "
        "`nlp/notebook-0`."
    ),
    RefusalCode.POD_TAKEN: ("The pod `{where}` belongs to {request} already."),
    RefusalCode.POD_WITHOUT_GPUS: ("The pod `{where}` has no GPUs: nothing to adopt."),
    RefusalCode.POD_NOT_RUNNING: (
        "The pod `{where}` does not run. One that waits becomes a "
        "request by the label `gpubot.dev/team`."
    ),
    RefusalCode.POD_KEPT: (
        "The pod `{where}` is kept by the {kind} `{name}`, which "
        "would make others like it. Give the label `gpubot.dev/team` "
        "to the template of the {kind} instead: its next pods are "
        "requests."
    ),
    RefusalCode.POD_NOT_YOURS: (
        "The pod `{where}` is not yours to adopt: its namespace is called after none of your "
        "teams, or somebody else is named as its owner. That person, the lead of its team or an "
        "admin may."
    ),
    RefusalCode.POD_WITHOUT_QUOTA: (
        "Team {team} has no quota left in {queue} for the {gpus} of "
        "`{where}`. Its GPUs stay counted as occupied; it could be "
        "adopted as `preemptible`."
    ),
}


class Outside(Units):
    """Sentences about them."""

    def outside_title(self, pods: Sequence[OutsidePod]) -> Markup:
        """Leads them, with how many there are."""
        gpus = self.gpus(sum(pod.gpus for pod in pods))
        return say(
            "*Outside the bot* · {pods} with {gpus}", pods=self.count(len(pods), "pod"), gpus=gpus
        )

    def outside(self, pod: OutsidePod) -> Markup:
        """One of them, in a line."""
        gpus = self.gpus(pod.gpus)
        return say("• {where} · {gpus} on {node}", where=pod.where, gpus=gpus, node=pod.node)

    def outside_hint(self, command: str) -> Markup:
        """How to make a request of one."""
        return say(
            "They count as occupied and are never touched. One of yours becomes a request with "
            "`{command}adopt NAMESPACE/POD`.",
            command=command,
        )

    def taken(self, args: notices.TakenArgs) -> Markup:
        """Who is on GPUs that a hold has no pods on, and what becomes of that."""
        return say(
            "*GPUs taken* · {request}{name}: GPUs that it holds on {node}, and had no pods on, "
            "were taken by {who}, for which no request stands. {follows}",
            request=args.request,
            name=say(" ({name})", name=args.name) if args.name else "",
            who=self._pods_outside(args.by),
            node=args.node,
            follows=self._follows(args),
        )

    def _pods_outside(self, pods: Sequence[tuple[str, int]]) -> Markup:
        each = [say("`{pod}` ({gpus})", pod=pod, gpus=self.gpus(gpus)) for pod, gpus in pods]
        return self.several(each, 6)

    def _follows(self, args: notices.TakenArgs) -> Markup:
        if args.to:
            nodes = self.several([say("{name}", name=name) for name in args.to], 6)
            return say("It is held on {nodes} now.", nodes=nodes)
        if args.waits:
            return say("No other node has room, so it waits at its old place in line.")
        return say(
            "It stays where it is: pods of it run that go to no other node, or no other has room. "
            "What it has not used there can be used when they end."
        )

    def foreign(self, args: notices.ForeignArgs) -> Markup:
        """What runs that a bot with another database let start."""
        return say(
            "*Work of another database* · {count} with {gpus} {run} that a bot with the database "
            "`{bot}` let start, and this one is `{mine}`: {objects}. Nobody stops them: they "
            "count as outside use.",
            count=self.count(args.count, "object"),
            gpus=self.gpus(args.gpus),
            run="runs" if args.count == 1 else "run",
            bot=args.bot,
            mine=args.mine,
            objects=self._objects(args),
        )

    def _objects(self, args: notices.ForeignArgs) -> Markup:
        each = [
            say("{kind} `{where}`", kind=kind, where=f"{space}/{name}")
            for kind, space, name in args.objects
        ]
        if args.count > len(each):
            each.append(say("{count:,} more", count=args.count - len(each)))
        return self.several(each, len(each))

    def foreign_next(self) -> Markup:
        """What on-call may do about it."""
        return say(
            "Was the bot to keep what it knew? Stop it, name an empty database, run `gpubot db "
            "import` with the address of the old one, and start it again. Else leave them be: a "
            "Job or JobSet becomes a request when it is suspended (`kubectl -n NAMESPACE patch job "
            'NAME --type merge -p \'{{"spec":{{"suspend":true}}}}\'`), a pod when it is adopted.'
        )

    def taken_next(self) -> Markup:
        """What on-call may do about such pods."""
        return say(
            "Pods outside the bot are never touched. Where their namespace has the label "
            "`gpubot.dev/managed=true`, the next ones wait at the gate; `status` lists those that "
            "run."
        )

    def not_adopted(self) -> Mapping[RefusalCode, Callable[[Refused, Figures], Markup]]:
        """Why a pod is not adopted, by code."""
        return {code: partial(self._not_adopted, text) for code, text in _WHY.items()}

    def _not_adopted(self, text: str, refused: Refused, figures: Figures) -> Markup:
        del refused
        known = ("where", "request", "kind", "name", "namespace", "team", "queue")
        said = {name: figures.text(name) or "…" for name in known}
        return say(text, gpus=self.gpus(figures.number("gpus") or 0), **said)
