"""The answers to `fair` and `report`, and the digest."""

from __future__ import annotations

from collections.abc import Sequence

from bot.chat.markup import Markup, join
from bot.chat.message import Lines, Message, Note, Part, build
from bot.chat.replies import Picture
from bot.chat.voice import Voice
from bot.fairness import FairView
from bot.reports import Account, ReportView

MOST_TEAMS = 30
MOST_ACCOUNTS = 15
MOST_BORROWERS = 10


def fair(voice: Voice, view: FairView) -> Message:
    """Teams in the order in which shared queues take them, then who borrows."""
    words = voice.words
    waiting, weights = dict(view.waiting), dict(view.weights)
    rows = [
        words.fair_team(
            share,
            waiting.get(share.team, 0),
            weights.get(share.team, 1.0),
            mine=share.team in view.mine,
        )
        for share in view.teams[:MOST_TEAMS]
    ]
    left = len(view.teams) - len(rows)
    teams = join("\n", [words.fair_title(view), *rows, words.more(left) if left else Markup()])
    some = view.borrowers[:MOST_BORROWERS]
    borrowers = words.fair_borrowers(some, len(view.borrowers) - len(some))
    return build([Lines(teams), Lines(borrowers), Note(words.as_of(view.at))])


def report(voice: Voice, view: ReportView, *, digest: bool = False) -> Message:
    """A period in words: what the plots show, and what they do not."""
    words = voice.words
    title = words.digest_lead(view) if digest else words.report_title(view)
    parts: list[Part] = [Lines(join("\n", [title, words.report_summary(view)]))]
    if not view.gpu_hours and not view.points:
        return build([Lines(title), Lines(words.report_nothing())])
    parts.append(Lines(_accounts(voice, words.report_pools, view.pools)))
    if view.team is None:
        parts.append(Lines(_accounts(voice, words.report_teams, view.teams)))
    if view.people and not digest:
        named = [(voice.people.name(one.name), one) for one in view.people]
        parts.append(Lines(words.report_people(named)))
    parts += [Note(words.report_spends(view.spends)), Note(words.as_of(view.until))]
    return build(parts)


def report_picture(voice: Voice, view: ReportView) -> Picture:
    """The plots that go with a report."""
    # What draws takes half a second to load: nobody has to wait for it at a start.
    from bot.chat.lettering import labels  # noqa: PLC0415 - see above
    from bot.chat.plots import draw_report  # noqa: PLC0415 - see above

    words = voice.words
    return Picture(
        name=f"gpu-report-{view.period.value}.png",
        title=words.report_file_title,
        alt=words.report_alt(view),
        content=draw_report(view, labels(words)),
    )


def _accounts(voice: Voice, title: str, accounts: Sequence[Account]) -> Markup:
    used = [one for one in accounts if one.gpu_hours or one.waits.starts]
    some = used[:MOST_ACCOUNTS]
    return voice.words.report_accounts(title, some, len(used) - len(some)) if some else Markup()
