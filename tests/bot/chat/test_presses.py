"""Values of buttons that were forged, or come from another version."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from bot.chat.actions import AskValue, ExtendValue, LinkValue, OfferValue, StopValue, WishValue

EXTEND = {"v": 1, "request": "R-1042", "by": 7200.0, "ends": 1e9}


@pytest.mark.parametrize(
    "forged",
    [
        {"by": 0},
        {"by": -7200},
        {"by": 400 * 86400},
        {"by": "NaN"},
        {"by": "Infinity"},
        {"ends": -1},
        {"ends": "Infinity"},
        {"request": "R-1042; R-1043"},
        {"request": "R-\u0661"},
        {"v": 2},
        {"more": 1},
    ],
    ids=str,
)
def test_a_forged_extension_is_not_read(forged: dict[str, object]) -> None:
    assert ExtendValue.model_validate_json(json.dumps(EXTEND)).by == 7200.0
    with pytest.raises(ValidationError):
        ExtendValue.model_validate_json(json.dumps({**EXTEND, **forged}))


STOP = {"v": 1, "request": "R-1042", "replace": True, "waiting": False, "grant": 2}


@pytest.mark.parametrize(
    "forged",
    [{"grant": -1}, {"grant": 1.5}, {"grant": 10**10}, {"grant": "R-1"}, {"more": 1}],
    ids=str,
)
def test_a_forged_stop_is_not_read(forged: dict[str, object]) -> None:
    assert StopValue.model_validate_json(json.dumps(STOP)).grant == 2
    with pytest.raises(ValidationError):
        StopValue.model_validate_json(json.dumps({**STOP, **forged}))


OFFER = {"v": 1, "request": "R-1042", "offer": "0123456789abcdef"}


@pytest.mark.parametrize(
    "forged",
    [
        {"offer": "0123456789ABCDEF"},
        {"offer": "0123"},
        {"offer": ""},
        {"offer": "preemptible"},
        {"request": "R-1042 "},
        {"more": 1},
    ],
    ids=str,
)
def test_a_forged_offer_is_not_read(forged: dict[str, object]) -> None:
    assert OfferValue.model_validate_json(json.dumps(OFFER)).request == "R-1042"
    with pytest.raises(ValidationError):
        OfferValue.model_validate_json(json.dumps({**OFFER, **forged}))


def test_a_line_to_ask_for_is_neither_empty_nor_endless() -> None:
    for line in ("", "x" * 401):
        with pytest.raises(ValidationError):
            AskValue.model_validate_json(json.dumps({"v": 1, "line": line}))


WISH = {
    "v": 1,
    "kind": "quota",
    "target": "nlp",
    "reason": "budget",
    "gpus": 8,
    "after": 3600.0,
    "seen": "0123456789abcdef",
}


@pytest.mark.parametrize(
    "forged",
    [
        {"kind": "reboot"},
        {"reason": ""},
        {"reason": "x" * 301},
        {"target": "x" * 101},
        {"after": -1},
        {"after": "Infinity"},
        {"minute": 1440},
        {"gpus": -1},
        {"gpus": 1.5},
        {"beneficiary": "R-1; R-2"},
        {"move": "perhaps"},
        {"seen": "R-1001"},
        {"seen": "0123456789ABCDEF"},
        {"v": 2},
        {"more": 1},
    ],
    ids=str,
)
def test_a_forged_order_is_not_read(forged: dict[str, object]) -> None:
    read = WishValue.model_validate_json(json.dumps(WISH))
    assert WishValue.of(read.wish(), read.seen) == read
    with pytest.raises(ValidationError):
        WishValue.model_validate_json(json.dumps({**WISH, **forged}))


LINK = {"v": 1, "person": "U0ANN", "team": "nlp", "agree": True}


@pytest.mark.parametrize(
    "forged", [{"person": "<!channel>"}, {"team": "x" * 101}, {"agree": "maybe"}, {"v": 2}], ids=str
)
def test_a_forged_answer_of_a_lead_is_not_read(forged: dict[str, object]) -> None:
    assert LinkValue.model_validate_json(json.dumps(LINK)).agree
    with pytest.raises(ValidationError):
        LinkValue.model_validate_json(json.dumps({**LINK, **forged}))
