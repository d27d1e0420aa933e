"""What happened to an object, as remarks on the object itself.

They say what the thread of its request is told, for those who look with kubectl and not in
Slack: refused, admitted, preempted, waiting again. Nothing is said of what only waits.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from functools import partial

from bot import notices
from bot.clusters.base import ClusterEvent, NotPlaced, NotSaved, Outgrown, Remark, RemarkReason
from bot.control.ledger import Ledger
from bot.plans import refuse
from bot.views import RefusalCode, Refused
from scheduler.quantities import write_quantity
from storage.records import ObjectRef

Sentence = Callable[[notices.NoticeArgs | Refused], str]
"""One paragraph without markup."""

_A_TIME = "2026-01-05T10:00:00Z"
_SHOWN_AT_MOST = 60  # characters of what people wrote

_REASONS: dict[notices.NoticeKind, tuple[RemarkReason, bool]] = {
    notices.NoticeKind.ADMITTED: (RemarkReason.ADMITTED, False),
    notices.NoticeKind.PREEMPTED: (RemarkReason.PREEMPTED, True),
    notices.NoticeKind.REQUEUED: (RemarkReason.REQUEUED, True),
}


def of_ledger(ledger: Ledger, sentence: Sentence) -> list[Remark]:
    """What a step has told threads of objects, in the order in which it was told."""
    found = []
    for key, kind, request, args in ledger.threads():
        what = _REASONS.get(kind)
        if what is None or request.ref is None:
            continue
        reason, warning = what
        said = partial(_say, sentence, kind, args)
        found.append(Remark(ref=request.ref, reason=reason, state=key, warning=warning, note=said))
    return found


def of_refusals(
    refused: Iterable[tuple[ObjectRef, notices.NotTakenArgs]], sentence: Sentence
) -> list[Remark]:
    """Why objects cannot become requests; said again when they are others than they were."""
    return [
        Remark(
            ref=ref,
            reason=RemarkReason.REFUSED,
            state=f"{ref.form} {args.refusal!r}",
            warning=True,
            note=partial(sentence, args),
        )
        for ref, args in refused
    ]


def of_misstatements(seen: Iterable[ClusterEvent], sentence: Sentence) -> list[Remark]:
    """What objects say of themselves, or have become, that cannot be, and is not counted."""
    found = [
        (event.ref, _reason(event), state, refusal)
        for event in seen
        if isinstance(event, NotSaved | Outgrown | NotPlaced)
        for state, refusal in (_ignored(event),)
    ]
    return [
        Remark(
            ref=ref,
            reason=reason,
            state=state,
            warning=True,
            note=partial(sentence, refusal),
        )
        for ref, reason, state, refusal in found
    ]


def _reason(event: NotSaved | Outgrown | NotPlaced) -> RemarkReason:
    return RemarkReason.UNPLACED if isinstance(event, NotPlaced) else RemarkReason.IGNORED


def _ignored(event: NotSaved | Outgrown | NotPlaced) -> tuple[str, Refused]:
    """What tells it from others that are said of the same object, and what is wrong."""
    if isinstance(event, NotPlaced):
        return f"{event.rules} {event.larger} {event.said}", _not_placed(event)
    if isinstance(event, NotSaved):
        return event.value, _not_saved(event)
    refusal = refuse(RefusalCode.OUTGROWN, granted=event.granted, pods=event.pods)
    return f"{event.granted} of {event.pods}", refusal


def _not_placed(event: NotPlaced) -> Refused:
    if event.larger is None:
        return refuse(RefusalCode.NOT_PLACED, event.rules, said=event.said)
    name, asked, granted = event.larger
    return refuse(
        RefusalCode.NOT_PLACED,
        event.rules,
        said=event.said,
        resource=name,
        asked=write_quantity(name, asked),
        granted=write_quantity(name, granted),
    )


def _not_saved(event: NotSaved) -> Refused:
    value = event.value[:_SHOWN_AT_MOST]
    if event.ahead is None:
        return refuse(RefusalCode.NOT_A_CHECKPOINT, (_A_TIME,), value=value)
    now = dt.datetime.fromtimestamp(event.at, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return refuse(RefusalCode.NOT_A_CHECKPOINT, (now,), value=value, ahead=event.ahead)


def _say(sentence: Sentence, kind: notices.NoticeKind, args: object) -> str:
    return sentence(notices.read_args(kind, args))
