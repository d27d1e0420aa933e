"""One method for each thing a person can ask for; Slack, the CLI and tests all come here.

The desk stores what is wanted and reads what is so; it never changes the engine and
never speaks to a cluster. `key` makes an order idempotent: the same delivery again gets
the first answer again. No network call happens here and no transaction stays open while
the desk waits for the loop. Each counter (making requests, ordering, looking, reporting) is a class
in its own module over what `Office` shares.
"""

from __future__ import annotations

from bot.desk.adopting import Adopting
from bot.desk.estimates import Estimates
from bot.desk.identity import Identity
from bot.desk.idling import Idling
from bot.desk.interventions import Interventions
from bot.desk.office import PATIENCE, Office
from bot.desk.ordering import Ordering
from bot.desk.preferences import Preferring
from bot.desk.reading import Reading
from bot.desk.reporting import Reporting

__all__ = ["PATIENCE", "Desk", "Office"]


class Desk(
    Estimates,
    Ordering,
    Adopting,
    Reading,
    Reporting,
    Interventions,
    Preferring,
    Identity,
    Idling,
):
    """Everything a person can ask for. Safe to call from any thread."""
