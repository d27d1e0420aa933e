"""The form (a Slack modal) that makes an Ask, and what its fields say back.

The cheap checks reuse the grammar: what may be typed in a line may be typed in a field.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.asks import Ask, Nearness, Provision, Together
from bot.chat import grammar
from bot.chat.actions import EDIT_FORM, FORM, FormPlace, Input
from bot.chat.grammar.errors import Expected
from bot.chat.grammar.request import LONGEST_NAME
from bot.chat.grammar.spelling import spell_lease, spell_size, spell_topology
from bot.chat.message import Block, plain_text
from bot.chat.voice import Voice
from bot.views import Choices, RefusalCode, Refused
from scheduler.model import LimitKind, Priority, Spend

MOST_OPTIONS = 100
_YES, _NO = "yes", "no"
_NO_MATTER = "any"


def form(voice: Voice, choices: Choices, place: FormPlace, prefill: Ask | None = None) -> Block:
    """The modal, prefilled from what was typed; a field without anything to choose is left out."""
    words, ask = voice.words, prefill or Ask()
    size = spell_size(ask) if prefill else ""
    lease = spell_lease(ask.duration or choices.default_lease)
    preemptible = {_NO: words.form_preemptible_no, _YES: words.form_preemptible_yes}
    spends = {Spend.LOW.value: words.form_spend_low, Spend.HIGH.value: words.form_spend_high}
    levels = {each: words.priority_word(each) for each in choices.priorities}
    fields = [
        _typed(Input.SIZE, words.form_size, words.form_size_hint, size),
        _chosen(Input.MODEL, words.form_model, _same(choices.models), ask.model),
        _typed(Input.LEASE, words.form_lease, words.form_lease_hint, lease),
        _chosen(Input.TEAM, words.form_team, _same(choices.teams), ask.team),
        _chosen(Input.PRIORITY, words.form_priority, levels, _priority(ask)),
        _chosen(
            Input.PREEMPTIBLE, words.form_preemptible, preemptible, _YES if ask.preemptible else _NO
        ),
        _chosen(Input.SPEND, words.form_spend, spends, ask.spend.value),
        _chosen(
            Input.TOPOLOGY,
            words.form_topology,
            _nearness(voice, choices.levels),
            spell_topology(ask.topology) if ask.topology else _NO_MATTER,
        ),
        _typed(
            Input.MINIMUM,
            words.form_minimum,
            words.form_minimum_hint,
            str(ask.minimum or ""),
            optional=True,
        ),
        _chosen(
            Input.PROVISION,
            words.form_provision,
            _provisions(voice, choices.provisions),
            ask.provision.value if ask.provision else _NO_MATTER,
        ),
        _typed(Input.NAME, words.form_name, words.form_name_hint, ask.name or "", optional=True),
    ]
    edits = place.request is not None
    return {
        "type": "modal",
        "callback_id": EDIT_FORM if edits else FORM,
        "private_metadata": place.model_dump_json(),
        "title": plain_text(words.form_edit_title if edits else words.form_title, 24),
        "submit": plain_text(words.button_edit if edits else words.form_submit, 24),
        "close": plain_text(words.form_close, 24),
        "blocks": [field for field in fields if field is not None],
    }


@dataclass(frozen=True, slots=True)
class Filled:
    """A form as it came back: an ask, or an error for each field that is wrong."""

    ask: Ask
    errors: Mapping[str, str]


def read_form(voice: Voice, state: Mapping[str, object]) -> Filled:
    """Check what was filled in, without any I/O. `state` is Slack's `view.state.values`."""
    errors: dict[str, str] = {}
    size = _value(state, Input.SIZE)
    read = grammar.parse(f"request {size}" if size else "request gpus")
    ask = Ask(gpus=1)
    if isinstance(read, grammar.Request):
        ask = read.ask
    else:
        wrong = read.missing if isinstance(read, grammar.Form) else read
        errors[Input.SIZE.value] = _say(voice, wrong, only=Expected.SIZE)
    least = _value(state, Input.MINIMUM)
    if least and not errors:
        read = grammar.parse(f"request {size} at least {least}")
        if isinstance(read, grammar.Request):
            ask = read.ask
        else:
            errors[Input.MINIMUM.value] = _say(voice, read)
    lease = _value(state, Input.LEASE)
    if lease:
        timed = grammar.parse(f"1 gpu {lease}")
        if isinstance(timed, grammar.Request) and timed.ask.duration is not None:
            ask = replace(ask, duration=timed.ask.duration)
        else:
            late = timed if isinstance(timed, grammar.GrammarError) else grammar.parse("1 gpu 0h")
            errors[Input.LEASE.value] = _say(voice, late, only=Expected.DURATION)
    name = " ".join((_value(state, Input.NAME) or "").split())
    if len(name) > LONGEST_NAME:
        errors[Input.NAME.value] = _say(voice, grammar.parse(f"1 gpu name {'x' * 61}"))
    ask = replace(
        ask,
        model=_value(state, Input.MODEL) or ask.model,
        team=_value(state, Input.TEAM) or ask.team,
        priority=_as_priority(_value(state, Input.PRIORITY)),
        preemptible=_value(state, Input.PREEMPTIBLE) == _YES,
        spend=Spend.HIGH if _value(state, Input.SPEND) == Spend.HIGH.value else Spend.LOW,
        name=name or None,
        topology=_as_topology(_value(state, Input.TOPOLOGY)),
        provision=_as_provision(_value(state, Input.PROVISION)),
    )
    return Filled(replace(ask, text=grammar.spell(ask)), errors)


_FIELDS: dict[RefusalCode, Input] = {
    RefusalCode.NO_TEAM: Input.TEAM,
    RefusalCode.UNKNOWN_TEAM: Input.TEAM,
    RefusalCode.NOT_YOUR_TEAM: Input.TEAM,
    RefusalCode.UNKNOWN_MODEL: Input.MODEL,
    RefusalCode.UNKNOWN_LEVEL: Input.TOPOLOGY,
    RefusalCode.NO_PROVISION: Input.PROVISION,
    RefusalCode.NO_SMALLER_START: Input.MINIMUM,
    RefusalCode.LEASE_TOO_LONG: Input.LEASE,
    RefusalCode.LEASE_TOO_SHORT: Input.LEASE,
    RefusalCode.PRIORITY_NOT_ALLOWED: Input.PRIORITY,
    RefusalCode.NAME_TOO_LONG: Input.NAME,
}
_OF_SIZE = frozenset(
    {
        RefusalCode.NOT_A_SIZE,
        RefusalCode.NOT_DIVISIBLE,
        RefusalCode.NEVER_FITS,
        RefusalCode.NO_SMALLER_START,
        RefusalCode.NO_PROVISION,
    }
)
_FIELD_OF_LIMIT: dict[LimitKind, Input] = {
    LimitKind.LEASE: Input.LEASE,
    LimitKind.BUDGET: Input.PRIORITY,
    LimitKind.DOMAIN: Input.TOPOLOGY,
    LimitKind.SLICES: Input.TOPOLOGY,
}


def of_a_field(refused: Refused) -> bool:
    """Whether a refusal is about what one field says, not about the state of the request."""
    return refused.code in _FIELDS or refused.code in _OF_SIZE


def mark_refused(
    voice: Voice, refused: Sequence[Refused], fields: Container[str]
) -> dict[str, str]:
    """What the desk refuses, each at its field; at the size where the form has no such field."""
    marked: dict[str, str] = {}
    for each in refused:
        field = _FIELDS.get(each.code, Input.SIZE)
        if each.code is RefusalCode.NEVER_FITS and each.limit is not None:
            field = _FIELD_OF_LIMIT.get(each.limit, Input.SIZE)
        where = field if field in fields else Input.SIZE
        marked.setdefault(where.value, voice.words.form_refused(each))
    return marked


def _say(voice: Voice, wrong: object, *, only: Expected | None = None) -> str:
    """A mistake, at its field; `only` is what that field takes of all that a line may hold."""
    if not isinstance(wrong, grammar.GrammarError):
        raise TypeError(f"not an error of the grammar: {wrong!r}")
    if only is not None and wrong.expected is Expected.OPTION:
        wrong = replace(wrong, expected=only)
    return voice.words.form_error(wrong)


def _value(state: Mapping[str, object], field: Input) -> str | None:
    """The typed text or the chosen value of one field, None when it is empty or missing."""
    block = state.get(field.value)
    element = block.get(field.value) if isinstance(block, Mapping) else None
    if not isinstance(element, Mapping):
        return None
    chosen = element.get("selected_option")
    value = chosen.get("value") if isinstance(chosen, Mapping) else element.get("value")
    return value.strip() or None if isinstance(value, str) else None


def _as_priority(value: str | None) -> Priority | None:
    return Priority(value) if value in set(Priority) else None


def _nearness(voice: Voice, levels: Sequence[str]) -> dict[str, str]:
    """What can be chosen about nearness: nothing where the policy knows no levels."""
    if not levels:
        return {}
    words = voice.words
    shown = {_NO_MATTER: words.form_topology_any}
    for level in reversed(levels):
        for nearness in (Nearness.SAME, Nearness.PREFER):
            said = spell_topology(Together(nearness, level))
            shown[said] = words.form_topology_level(said)
    shown[Nearness.SPREAD.value] = words.form_topology_spread
    return shown


def _provisions(voice: Voice, provisions: Sequence[str]) -> dict[str, str]:
    """What can be chosen about how nodes are had: nothing where there is one way only."""
    if len(provisions) < 2:
        return {}
    words = voice.words
    shown = {each: words.provision_word(each) for each in provisions}
    return {_NO_MATTER: words.form_provision_any, **shown}


def _as_provision(value: str | None) -> Provision | None:
    return Provision(value) if value in set(Provision) else None


def _as_topology(value: str | None) -> Together | None:
    if value is None or value == _NO_MATTER:
        return None
    nearness, _, level = value.partition(" ")
    return Together(Nearness(nearness), level or None) if nearness in set(Nearness) else None


def _priority(ask: Ask) -> str:
    return (ask.priority or Priority.MEDIUM).value


def _same(values: Sequence[str]) -> dict[str, str]:
    return {value: value for value in values}


def _typed(
    field: Input, label: str, hint: str, initial: str, *, optional: bool = False
) -> Block | None:
    element: Block = {
        "type": "plain_text_input",
        "action_id": field.value,
        "placeholder": plain_text(hint, 150),
        "max_length": 200,
    }
    if initial:
        element["initial_value"] = initial[:200]
    return _input(field, label, element, optional=optional)


def _chosen(
    field: Input, label: str, options: Mapping[str, str], initial: str | None
) -> Block | None:
    shown = [
        {"text": plain_text(text, 75), "value": value[:150]}
        for value, text in list(options.items())[:MOST_OPTIONS]
    ]
    if not shown:
        return None
    first = next((option for option in shown if option["value"] == initial), shown[0])
    element: Block = {
        "type": "static_select",
        "action_id": field.value,
        "options": shown,
        "initial_option": first,
    }
    return _input(field, label, element)


def _input(field: Input, label: str, element: Block, *, optional: bool = False) -> Block:
    return {
        "type": "input",
        "block_id": field.value,
        "label": plain_text(label, 100),
        "optional": optional,
        "element": element,
    }
