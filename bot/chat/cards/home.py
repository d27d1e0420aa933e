"""The App Home: own requests, the teams' share, the cluster at a glance."""

from __future__ import annotations

from bot.chat.actions import ActionId, EmptyValue
from bot.chat.cards.lists import ask_button, mine_parts
from bot.chat.markup import join
from bot.chat.message import (
    MOST_HOME_BLOCKS,
    Block,
    Button,
    Buttons,
    Heading,
    Line,
    Lines,
    Note,
    Part,
    blocks_of,
)
from bot.chat.voice import Voice
from bot.views import HomeView

MOST_ENDED = 5
MOST_POOLS = 20


def home(voice: Voice, view: HomeView) -> Block:
    """The view to publish for one person."""
    words = voice.words
    refresh = Button(
        label=words.button_refresh,
        action=ActionId.REFRESH,
        value=EmptyValue().model_dump_json(),
    )
    parts: list[Part] = [
        Heading(words.home_title),
        Buttons((ask_button(voice), refresh)),
        *mine_parts(voice, view.mine, brief=True),
    ]
    if view.mine.ended:
        rows = [words.row(card) for card in view.mine.ended[:MOST_ENDED]]
        parts.append(Lines(join("\n", [words.ended_list_title(), *rows])))
    if view.shares:
        rows = [words.share(share) for share in view.shares]
        parts += [Line(), Heading(words.home_teams), Lines(join("\n", rows))]
    pools = [words.pool(pool) for pool in view.cluster.pools[:MOST_POOLS]]
    parts += [
        Line(),
        Heading(words.home_cluster),
        Lines(words.cluster(view.cluster)),
        Lines(join("\n", pools)),
        Note(words.as_of(view.cluster.at)),
    ]
    kept = [part for part in parts if not (isinstance(part, Lines) and not part.text)]
    return {"type": "home", "blocks": blocks_of(kept, MOST_HOME_BLOCKS)}
