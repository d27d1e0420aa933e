"""Block Kit as Slack checks it: what is allowed where, how long, how many.

The limits are those of Slack's Block Kit reference; the messages have the form of
`must be less than 3001 characters [json-pointer:/blocks/0/text/text]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.workspace.wire import Ids, Json

MESSAGE_BLOCKS = 50
VIEW_BLOCKS = 100

_BLOCKS_BY_SURFACE: Mapping[str, frozenset[str]] = {
    "message": frozenset(
        ("section", "header", "context", "divider", "actions", "image", "rich_text", "input")
    ),
    "modal": frozenset(
        ("section", "header", "context", "divider", "actions", "image", "rich_text", "input")
    ),
    "home": frozenset(
        ("section", "header", "context", "divider", "actions", "image", "rich_text", "input")
    ),
}
_BUTTONS = frozenset(("button", "overflow"))
_CHOICES = frozenset(
    (
        "static_select",
        "multi_static_select",
        "users_select",
        "external_select",
        "checkboxes",
        "radio_buttons",
        "datepicker",
        "timepicker",
    )
)
_FIELDS = frozenset(("plain_text_input", "number_input", "email_text_input"))

_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "header": ("text",),
    "context": ("elements",),
    "actions": ("elements",),
    "image": ("alt_text",),
    "rich_text": ("elements",),
    "input": ("label", "element"),
    "button": ("text",),
    "overflow": ("options",),
    "static_select": (),
    "multi_static_select": (),
    "checkboxes": ("options",),
    "radio_buttons": ("options",),
    "number_input": ("is_decimal_allowed",),
}
_OPTIONS_MAX: Mapping[str, int] = {
    "overflow": 5,
    "static_select": 100,
    "multi_static_select": 100,
    "checkboxes": 10,
    "radio_buttons": 10,
}


@dataclass(slots=True)
class BlockCheck:
    """Collects what is wrong with blocks. `ids` gives names to what came without."""

    ids: Ids
    problems: list[str] = field(default_factory=list)
    _block_ids: set[str] = field(default_factory=set)

    def blame(self, what: str, at: str) -> None:
        """Note a problem at a JSON pointer."""
        self.problems.append(f"{what} [json-pointer:{at}]")

    def blocks(self, raw: Any, surface: str, at: str = "/blocks") -> list[Json]:
        """Check a list of blocks; returns it with block and action ids filled in."""
        if not isinstance(raw, list):
            self.blame("must be an array", at)
            return []
        most = MESSAGE_BLOCKS if surface == "message" else VIEW_BLOCKS
        if len(raw) > most:
            self.blame(f"no more than {most} items allowed", at)
        return [self._block(block, surface, f"{at}/{n}") for n, block in enumerate(raw)]

    def _block(self, block: Any, surface: str, at: str) -> Json:
        if not isinstance(block, dict):
            self.blame("must be an object", at)
            return {}
        kind = block.get("type")
        if kind not in _BLOCKS_BY_SURFACE[surface]:
            self.blame(f"unsupported type: {kind}", f"{at}/type")
            return {}
        self._need(block, str(kind), at)
        block = dict(block)
        given = block.get("block_id")
        self.length(given, 255, f"{at}/block_id")
        block["block_id"] = given or self.ids.next("b")
        if block["block_id"] in self._block_ids:
            self.blame(f'`block_id` "{given}" already exists', f"{at}/block_id")
        self._block_ids.add(block["block_id"])
        check = _CHECKS.get(str(kind))
        return check(self, block, at) if check else block

    def _need(self, thing: Json, kind: str, at: str) -> None:
        for name in _REQUIRED.get(kind, ()):
            if name not in thing:
                self.blame(f"missing required field: {name}", at)

    def length(self, value: Any, most: int, at: str, least: int = 1) -> None:
        """Check the length of a string, if there is one."""
        if value is None:
            return
        if not isinstance(value, str):
            self.blame("must be a string", at)
        elif len(value) > most:
            self.blame(f"must be less than {most + 1} characters", at)
        elif len(value) < least:
            self.blame(f"must be more than {least - 1} characters", at)

    def text(self, value: Any, most: int, at: str, *, plain: bool = False) -> None:
        """Check a text object, if there is one."""
        if value is None:
            return
        if not isinstance(value, dict):
            self.blame("must be an object", at)
            return
        allowed = ("plain_text",) if plain else ("plain_text", "mrkdwn")
        if value.get("type") not in allowed:
            self.blame(f"must be one of {', '.join(allowed)}", f"{at}/type")
        if "text" not in value:
            self.blame("missing required field: text", at)
        self.length(value.get("text"), most, f"{at}/text")

    def section(self, block: Json, at: str) -> Json:
        """Text of 3,000, at most 10 fields of 2,000, one accessory."""
        if "text" not in block and "fields" not in block:
            self.blame("missing required field: text or fields", at)
        self.text(block.get("text"), 3000, f"{at}/text")
        fields = block.get("fields", [])
        if len(fields) > 10:
            self.blame("no more than 10 items allowed", f"{at}/fields")
        for n, item in enumerate(fields):
            self.text(item, 2000, f"{at}/fields/{n}")
        if "accessory" in block:
            allowed = _BUTTONS | _CHOICES | {"image"}
            block["accessory"] = self._element(block["accessory"], allowed, f"{at}/accessory")
        return block

    def header(self, block: Json, at: str) -> Json:
        """Plain text of 150."""
        self.text(block.get("text"), 150, f"{at}/text", plain=True)
        return block

    def context(self, block: Json, at: str) -> Json:
        """At most 10 texts and images."""
        elements = block.get("elements", [])
        if not 1 <= len(elements) <= 10:
            some = "no more than 10" if elements else "no fewer than 1"
            self.blame(f"{some} items allowed", f"{at}/elements")
        for n, element in enumerate(elements):
            if isinstance(element, dict) and element.get("type") == "image":
                self.image(element, f"{at}/elements/{n}")
            else:
                self.text(element, 3000, f"{at}/elements/{n}")
        return block

    def image(self, block: Json, at: str) -> Json:
        """An address or a Slack file, and words for who cannot see it."""
        if "image_url" not in block and "slack_file" not in block:
            self.blame("missing required field: image_url or slack_file", at)
        self.length(block.get("alt_text"), 2000, f"{at}/alt_text")
        self.text(block.get("title"), 2000, f"{at}/title", plain=True)
        return block

    def actions(self, block: Json, at: str) -> Json:
        """At most 25 elements, no action id twice."""
        elements = block.get("elements", [])
        if not 1 <= len(elements) <= 25:
            some = "no more than 25" if elements else "no fewer than 1"
            self.blame(f"{some} items allowed", f"{at}/elements")
        block["elements"] = [
            self._element(element, _BUTTONS | _CHOICES, f"{at}/elements/{n}")
            for n, element in enumerate(elements)
        ]
        seen: set[str] = set()
        for n, element in enumerate(block["elements"]):
            name = element.get("action_id", "")
            if name in seen:
                where = f"{at}/elements/{n}/action_id"
                self.blame(f'`action_id` "{name}" already exists for another element', where)
            seen.add(name)
        return block

    def input(self, block: Json, at: str) -> Json:
        """A label of 2,000, a hint, one element that holds a value."""
        self.text(block.get("label"), 2000, f"{at}/label", plain=True)
        self.text(block.get("hint"), 2000, f"{at}/hint", plain=True)
        if "element" in block:
            allowed = _FIELDS | _CHOICES
            block["element"] = self._element(block["element"], allowed, f"{at}/element")
        return block

    def _element(self, raw: Any, allowed: frozenset[str], at: str) -> Json:
        if not isinstance(raw, dict) or raw.get("type") not in allowed:
            kind = raw.get("type") if isinstance(raw, dict) else raw
            self.blame(f"unsupported type: {kind}", f"{at}/type")
            return {}
        element = dict(raw)
        kind = str(element["type"])
        self._need(element, kind, at)
        if kind == "image":
            return self.image(element, at)
        self.length(element.get("action_id"), 255, f"{at}/action_id")
        element["action_id"] = element.get("action_id") or self.ids.next("a")
        self.text(element.get("placeholder"), 150, f"{at}/placeholder", plain=True)
        self._confirm(element.get("confirm"), f"{at}/confirm")
        if kind == "button":
            self.text(element.get("text"), 75, f"{at}/text", plain=True)
            self.length(element.get("value"), 2000, f"{at}/value", least=0)
            self.length(element.get("url"), 3000, f"{at}/url")
            if element.get("style", "primary") not in ("primary", "danger"):
                self.blame("must be one of primary, danger", f"{at}/style")
        elif kind in _OPTIONS_MAX:
            self._options(element, kind, at)
        elif kind == "plain_text_input":
            self.length(element.get("initial_value"), 3000, f"{at}/initial_value", least=0)
        return element

    def offered(self, answer: Json) -> list[Json]:
        """Check what an app offers in an external select: at most 100 options, or none."""
        options = answer.get("options")
        if not isinstance(options, list):
            self.blame("must be an array", "/options")
            return []
        if len(options) > 100:
            self.blame("no more than 100 items allowed", "/options")
        for n, option in enumerate(options):
            self._option(option, f"/options/{n}")
        return options

    def _options(self, element: Json, kind: str, at: str) -> None:
        groups = element.get("option_groups")
        lists = (
            [(f"{at}/options", element.get("options"))]
            if groups is None
            else [
                (f"{at}/option_groups/{n}/options", g.get("options")) for n, g in enumerate(groups)
            ]
        )
        for where, options in lists:
            if not isinstance(options, list) or not options:
                self.blame("no fewer than 1 items allowed", where)
                continue
            if len(options) > _OPTIONS_MAX[kind]:
                self.blame(f"no more than {_OPTIONS_MAX[kind]} items allowed", where)
            for n, option in enumerate(options):
                self._option(option, f"{where}/{n}")

    def _option(self, option: Any, at: str) -> None:
        if not isinstance(option, dict):
            self.blame("must be an object", at)
            return
        if "value" not in option:
            self.blame("missing required field: value", at)
        self.text(option.get("text"), 75, f"{at}/text")
        self.text(option.get("description"), 75, f"{at}/description")
        self.length(option.get("value"), 150, f"{at}/value")

    def _confirm(self, confirm: Any, at: str) -> None:
        if confirm is None:
            return
        self.text(confirm.get("title"), 100, f"{at}/title", plain=True)
        self.text(confirm.get("text"), 300, f"{at}/text")
        self.text(confirm.get("confirm"), 30, f"{at}/confirm", plain=True)
        self.text(confirm.get("deny"), 30, f"{at}/deny", plain=True)


_CHECKS: Mapping[str, Callable[[BlockCheck, Json, str], Json]] = {
    "section": BlockCheck.section,
    "header": BlockCheck.header,
    "context": BlockCheck.context,
    "image": BlockCheck.image,
    "actions": BlockCheck.actions,
    "input": BlockCheck.input,
}


def check_view(view: Any, ids: Ids) -> tuple[Json, list[str]]:
    """Check a modal or a Home tab; returns it with ids filled in, and what is wrong."""
    check = BlockCheck(ids)
    if not isinstance(view, dict) or view.get("type") not in ("modal", "home"):
        return {}, ["must be one of modal, home [json-pointer:/view/type]"]
    surface = str(view["type"])
    view = dict(view)
    if surface == "modal":
        if "title" not in view:
            check.blame("missing required field: title", "/view")
        for part in ("title", "submit", "close"):
            check.text(view.get(part), 24, f"/view/{part}", plain=True)
    check.length(view.get("private_metadata"), 3000, "/view/private_metadata", least=0)
    check.length(view.get("callback_id"), 255, "/view/callback_id", least=0)
    check.length(view.get("external_id"), 255, "/view/external_id", least=0)
    view["blocks"] = check.blocks(view.get("blocks"), surface, "/view/blocks")
    has_input = any(block.get("type") == "input" for block in view["blocks"])
    if surface == "modal" and has_input and "submit" not in view:
        check.blame("missing required field: submit", "/view")
    return view, check.problems
