"""Values of buttons that were forged, or come from another version."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from bot.chat.actions import ExtendValue

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
