"""What a person filled in: values as the page sends them, checked as Slack's client does."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from bot.workspace.wire import Json

REQUIRED = "Please complete this required field."


def inputs(blocks: list[Json]) -> list[Json]:
    """The input blocks among blocks."""
    return [block for block in blocks if block.get("type") == "input"]


def _filled(value: Json) -> Any:
    for name in ("value", "selected_option", "selected_user", "selected_date", "selected_time"):
        if value.get(name):
            return value[name]
    return value.get("selected_options") or None


def initial_values(blocks: list[Json]) -> Json:
    """The state of untouched elements: what their `initial_…` says."""
    values: Json = {}
    for block in blocks:
        elements = [block.get("element"), block.get("accessory"), *(block.get("elements") or ())]
        for element in elements:
            if isinstance(element, dict) and "action_id" in element:
                state = _initial(element)
                if state is not None:
                    values.setdefault(block["block_id"], {})[element["action_id"]] = state
    return values


def _initial(element: Json) -> Json | None:
    kind = str(element.get("type"))
    if kind in ("button", "overflow", "image"):
        return None
    names = {
        "static_select": ("selected_option", "initial_option"),
        "external_select": ("selected_option", "initial_option"),
        "radio_buttons": ("selected_option", "initial_option"),
        "checkboxes": ("selected_options", "initial_options"),
        "multi_static_select": ("selected_options", "initial_options"),
        "users_select": ("selected_user", "initial_user"),
        "datepicker": ("selected_date", "initial_date"),
        "timepicker": ("selected_time", "initial_time"),
    }
    key, source = names.get(kind, ("value", "initial_value"))
    empty: Any = [] if key == "selected_options" else None
    return {"type": kind, key: element.get(source, empty)}


def merge_values(blocks: list[Json], given: Json) -> Json:
    """Values by block and action id: what was given, else the initial ones."""
    values = initial_values(blocks)
    for block_id, actions in given.items():
        if isinstance(actions, dict):
            values.setdefault(str(block_id), {}).update(actions)
    return values


def form_errors(blocks: list[Json], values: Json) -> dict[str, str]:
    """What the client itself refuses, by block id: a field left empty, or no number."""
    errors: dict[str, str] = {}
    for block in inputs(blocks):
        element = block["element"]
        value = values.get(block["block_id"], {}).get(element["action_id"], {})
        filled = _filled(value)
        if filled is None:
            if not block.get("optional", False):
                errors[block["block_id"]] = REQUIRED
            continue
        problem = _problem(element, filled)
        if problem:
            errors[block["block_id"]] = problem
    return errors


def _problem(element: Json, filled: Any) -> str | None:
    if element["type"] == "plain_text_input":
        least, most = element.get("min_length", 0), element.get("max_length", 3000)
        if len(filled) < least:
            return f"Must be at least {least} characters."
        if len(filled) > most:
            return f"Must be no more than {most} characters."
    if element["type"] == "number_input":
        return _number_problem(element, str(filled))
    if element["type"] == "email_text_input" and "@" not in filled:
        return "Enter a valid email address."
    return None


def _number_problem(element: Json, text: str) -> str | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return "Enter a number."
    if not number.is_finite():
        return "Enter a number."
    if not element.get("is_decimal_allowed") and number != number.to_integral_value():
        return "Enter a whole number."
    if "min_value" in element and number < Decimal(str(element["min_value"])):
        return f"Enter a number of at least {element['min_value']}."
    if "max_value" in element and number > Decimal(str(element["max_value"])):
        return f"Enter a number of at most {element['max_value']}."
    return None
