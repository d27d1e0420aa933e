"""A refusal as the inbox keeps it, so that a second delivery gets the first answer."""

from __future__ import annotations

import dataclasses

from pydantic import TypeAdapter

from bot.views import Refused
from storage.records import Json


def write_refusal(refused: Refused) -> Json:
    """What the inbox remembers of it; has the key `refused`."""
    return {
        "refused": refused.code,
        "args": dict(refused.args),
        "near": list(refused.near),
        "limit": refused.limit,
        "instead": None if refused.instead is None else dataclasses.asdict(refused.instead),
    }


def read_refusal(answer: Json) -> Refused:
    """What `write_refusal` wrote. Raises pydantic's ValidationError on anything else."""
    fields = {**answer, "code": answer["refused"]}
    del fields["refused"]
    return _REFUSED.validate_python(fields)


_REFUSED = TypeAdapter(Refused)
