"""Messages and forms as a person reads them, compared with what is written down.

`GPUBOT_GOLDEN=write` writes the files anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.chat.message import Message

FOLDER = Path(__file__).parents[2] / "golden"


def compare(language: str, name: str, shown: str) -> None:
    path = FOLDER / language / f"{name}.txt"
    if os.environ.get("GPUBOT_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")


def readable(message: Message) -> str:
    """Text first, then what the blocks show, in a form a person can compare."""
    body = [line for block in message.blocks for line in lines_of(block)]
    rule = "─" * 40
    return "\n".join([rule, "text", rule, message.text, rule, "blocks", rule, *body, ""])


def lines_of(block: Mapping[str, Any]) -> list[str]:
    """One block as lines."""
    match block["type"]:
        case "section":
            return [*block["text"]["text"].split("\n"), ""]
        case "context":
            return [f"({element['text']})" for element in block["elements"]]
        case "header":
            return [f"# {plain_of(block['text'])}"]
        case "divider":
            return ["---"]
        case "actions":
            return [line for element in block["elements"] for line in _button(element)]
        case "input":
            return _field(block)
        case other:
            raise AssertionError(f"no reader for {other}: {json.dumps(block)}")


def _button(element: Mapping[str, Any]) -> list[str]:
    style = f" {element['style']}" if "style" in element else ""
    lines = [f"[{plain_of(element['text'])}]{style} {element['action_id']} {element['value']}"]
    if "confirm" in element:
        ask = element["confirm"]
        lines.append(
            f"    asks: {plain_of(ask['title'])} {plain_of(ask['text'])} "
            f"[{plain_of(ask['confirm'])}] [{plain_of(ask['deny'])}]"
        )
    return lines


def _field(block: Mapping[str, Any]) -> list[str]:
    element = block["element"]
    optional = " (optional)" if block.get("optional") else ""
    lines = [f"{block['block_id']}: {plain_of(block['label'])}{optional}"]
    if element["type"] == "plain_text_input":
        lines.append(f"    [{element.get('initial_value', '')}] {plain_of(element['placeholder'])}")
    for option in element.get("options", []):
        mark = "x" if option == element.get("initial_option") else " "
        lines.append(f"    ({mark}) {plain_of(option['text'])}")
    return lines


def plain_of(value: Any) -> str:
    return str(value["text"])


def said_by(block: Mapping[str, Any]) -> list[str]:
    match block["type"]:
        case "section":
            return [str(block["text"]["text"])]
        case "header":
            return [plain_of(block["text"])]
        case "context":
            return [str(element["text"]) for element in block["elements"]]
        case "actions":
            return [plain_of(element["text"]) for element in block["elements"]]
        case "divider":
            return []
        case other:
            raise AssertionError(f"no reader for {other}")
