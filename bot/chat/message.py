"""Messages by construction: from parts to blocks and text that say the same, inside Slack's limits.

A part is a piece of meaning (a heading, lines, a note, buttons). `build` makes both the
Block Kit blocks and the plain `text` of the same parts, so that neither can say less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.chat.actions import ActionId
from bot.chat.markup import Markup, join, plain, shorten

Block = dict[str, object]

MOST_BLOCKS = 50
MOST_HOME_BLOCKS = 100
LONGEST_SECTION = 3000
LONGEST_TEXT = 12000
LONGEST_NOTE = 1000
LONGEST_HEADING = 150
LONGEST_LABEL = 75
MOST_BUTTONS = 5


@dataclass(frozen=True, slots=True)
class Heading:
    """A plain-text heading."""

    text: str


@dataclass(frozen=True, slots=True)
class Lines:
    """A paragraph, or several, in mrkdwn."""

    text: Markup


@dataclass(frozen=True, slots=True)
class Note:
    """A small line: when, as of, which page."""

    text: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    """A dialog before something is done; Slack's limits are 100, 300 and 30 characters."""

    title: str
    text: str
    confirm: str
    deny: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """One button. `value` is JSON of a model of `bot.chat.actions`."""

    label: str
    action: ActionId
    value: str
    style: str | None = None
    confirm: Confirm | None = None


@dataclass(frozen=True, slots=True)
class Buttons:
    """A row of buttons."""

    buttons: tuple[Button, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A rule between what stands above and below."""


Part = Heading | Lines | Note | Buttons | Line


@dataclass(frozen=True, slots=True)
class Message:
    """What Slack is sent. `text` alone must tell everything: phones and screen readers use it."""

    text: str
    blocks: tuple[Block, ...]

    def bare(self) -> Message:
        """The same in words only, for when Slack rejects the blocks."""
        return Message(self.text, ())


def build(parts: Sequence[Part]) -> Message:
    """Blocks and text of the parts, each inside its limit; empty parts are left out."""
    kept = [part for part in parts if not (isinstance(part, Lines | Note) and not part.text)]
    text = shorten(join("\n", [_text(part) for part in kept]), LONGEST_TEXT)
    return Message(str(text), tuple(blocks_of(kept, MOST_BLOCKS)))


def append(message: Message, parts: Sequence[Part]) -> Message:
    """The message with more parts at its end, which stay whatever has to be cut before them."""
    text = join("\n", [_text(part) for part in parts])
    if not text:
        return message
    more = [block for part in parts for block in _blocks(part)]
    before = shorten(Markup(message.text), LONGEST_TEXT - len(text) - 1)
    blocks = (*message.blocks[: MOST_BLOCKS - len(more)], *more)
    return Message(str(join("\n", [before, text])), blocks if message.blocks else ())


def blocks_of(parts: Sequence[Part], most: int = MOST_BLOCKS) -> list[Block]:
    """The blocks of the parts; past `most` the rest is counted."""
    blocks = [block for part in parts for block in _blocks(part)]
    if len(blocks) > most:
        left = len(blocks) - most + 1
        blocks = [*blocks[: most - 1], _context(Markup(f"… +{left}"))]
    return blocks


def _blocks(part: Part) -> list[Block]:
    match part:
        case Heading(text):
            return [{"type": "header", "text": plain_text(text, LONGEST_HEADING)}]
        case Lines(text):
            return [_section(piece) for piece in _pieces(text)]
        case Note(text):
            return [_context(shorten(text, LONGEST_NOTE))]
        case Buttons(buttons):
            elements = [_button(button) for button in buttons[:MOST_BUTTONS]]
            # Slack gives each drawing's blocks new ids. One by place would stand for other
            # buttons once offers move these, while somebody is about to press.
            return [{"type": "actions", "elements": elements}] if elements else []
        case Line():
            return [{"type": "divider"}]


def _pieces(text: Markup) -> list[Markup]:
    """`text` cut at line ends so that each piece fits a section; a longer line is shortened."""
    pieces: list[list[Markup]] = [[]]
    size = 0
    for raw in text.split("\n") if len(text) > LONGEST_SECTION else [text]:
        line = shorten(Markup(raw), LONGEST_SECTION)
        if pieces[-1] and size + len(line) + 1 > LONGEST_SECTION:
            pieces.append([])
            size = 0
        pieces[-1].append(line)
        size += len(line) + 1
    return [join("\n", lines) for lines in pieces if any(lines)]


def _section(text: Markup) -> Block:
    return {"type": "section", "text": {"type": "mrkdwn", "text": str(text), "verbatim": True}}


def _context(text: Markup) -> Block:
    element = {"type": "mrkdwn", "text": str(text), "verbatim": True}
    return {"type": "context", "elements": [element]}


def plain_text(text: str, limit: int) -> Block:
    """A plain_text object of at most `limit` characters."""
    return {"type": "plain_text", "text": plain(text, limit), "emoji": False}


def _button(button: Button) -> Block:
    block: Block = {
        "type": "button",
        "text": plain_text(button.label, LONGEST_LABEL),
        "action_id": button.action.value,
        "value": button.value,
    }
    if button.style is not None:
        block["style"] = button.style
    if button.confirm is not None:
        block["confirm"] = {
            "title": plain_text(button.confirm.title, 100),
            "text": plain_text(button.confirm.text, 300),
            "confirm": plain_text(button.confirm.confirm, 30),
            "deny": plain_text(button.confirm.deny, 30),
            "style": "danger",
        }
    return block


def _text(part: Part) -> Markup:
    match part:
        case Heading(text):
            return Markup(f"*{plain(text, LONGEST_HEADING)}*")
        case Lines(text) | Note(text):
            return text
        case Buttons(buttons):
            return Markup(" ".join(f"[{button.label}]" for button in buttons))
        case Line():
            return Markup()
