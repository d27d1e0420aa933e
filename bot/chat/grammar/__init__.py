"""What people say, read by a tokenizer and a table: `parse(text)` gives a command or an error.

One grammar serves the slash command, mentions and direct messages. It knows words, not
policy: whether a team or GPU model exists is the desk's to say.
"""

from bot.chat.grammar.commands import (
    Cancel,
    Command,
    Expected,
    Form,
    GrammarError,
    Help,
    Map,
    Mine,
    Mistake,
    Queue,
    Release,
    Request,
    Status,
    Verb,
    Why,
)
from bot.chat.grammar.parser import parse
from bot.chat.grammar.spelling import spell
from bot.chat.grammar.table import EXAMPLES

__all__ = [
    "EXAMPLES",
    "Cancel",
    "Command",
    "Expected",
    "Form",
    "GrammarError",
    "Help",
    "Map",
    "Mine",
    "Mistake",
    "Queue",
    "Release",
    "Request",
    "Status",
    "Verb",
    "Why",
    "parse",
    "spell",
]
