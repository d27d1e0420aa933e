"""Slack's limits on what it is sent, checked the way Slack would refuse it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_TOKEN = re.compile(
    r"<(?:@[UW][A-Z0-9]+|#[CG][A-Z0-9]+|!subteam\^S[A-Z0-9]+|!date\^\d+\^[^|<>]*\|[^<>]*)>"
)


def check_text(text: str) -> None:
    """Only tokens the bot makes; everything else in angle brackets or with & is escaped."""
    assert text
    assert len(text) <= 40_000
    rest = _TOKEN.sub("", text)
    assert "<" not in rest, rest
    assert ">" not in rest, rest
    assert not re.search(r"&(?!amp;|lt;|gt;)", rest), rest
    assert not re.search("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\x00-\x09\x0b-\x1f]", rest)


def check_blocks(blocks: Sequence[Mapping[str, Any]], most: int = 50) -> None:
    """Counts, lengths and shapes."""
    assert len(blocks) <= most
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    assert len(ids) == len(set(ids))
    for block in blocks:
        _CHECKS[block["type"]](block)


def _section(block: Mapping[str, Any]) -> None:
    _mrkdwn(block["text"], 3000)


def _context(block: Mapping[str, Any]) -> None:
    assert 1 <= len(block["elements"]) <= 10
    for element in block["elements"]:
        _mrkdwn(element, 3000)


def _header(block: Mapping[str, Any]) -> None:
    _plain(block["text"], 150)


def _divider(block: Mapping[str, Any]) -> None:
    assert set(block) == {"type"}


def _actions(block: Mapping[str, Any]) -> None:
    assert 1 <= len(block["elements"]) <= 25
    names = [element["action_id"] for element in block["elements"]]
    assert len(names) == len(set(names))
    for element in block["elements"]:
        assert len(element["action_id"]) <= 255
        assert len(element["value"]) <= 2000
        _plain(element["text"], 75)
        assert element.get("style", "primary") in {"primary", "danger"}
        if "confirm" in element:
            for key, limit in {"title": 100, "text": 300, "confirm": 30, "deny": 30}.items():
                _plain(element["confirm"][key], limit)


def _input(block: Mapping[str, Any]) -> None:
    _plain(block["label"], 2000)
    element = block["element"]
    if element["type"] == "static_select":
        assert 1 <= len(element["options"]) <= 100
        assert element["initial_option"] in element["options"]
        for option in element["options"]:
            _plain(option["text"], 75)
            assert 1 <= len(option["value"]) <= 150
    else:
        assert element["type"] == "plain_text_input"
        _plain(element["placeholder"], 150)


def _mrkdwn(text: Mapping[str, Any], limit: int) -> None:
    assert text["type"] == "mrkdwn"
    assert 1 <= len(text["text"]) <= limit
    check_text(text["text"])


def _plain(text: Mapping[str, Any], limit: int) -> None:
    assert text["type"] == "plain_text"
    assert 1 <= len(text["text"]) <= limit


_CHECKS = {
    "section": _section,
    "context": _context,
    "header": _header,
    "divider": _divider,
    "actions": _actions,
    "input": _input,
}
