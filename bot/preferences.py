"""What a person wants to hear, where, when and in which language.

Changes come as (field, value) words; each is read by the reader of its field, which raises
ValueError for what it cannot read. A set of preferences is stored as JSON under the person.
"""

from __future__ import annotations

import datetime as dt
import enum
import re
from collections.abc import Callable, Mapping
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from bot.asks import Preference

DAY = 24 * 60
UTC, AUTO = "UTC", "auto"


class Notices(enum.StrEnum):
    """What disturbs a person: ALL, what costs them something, or NONE.

    Whatever is chosen, channel and threads say the same; only mentions and direct messages
    stay away.
    """

    ALL = "all"
    IMPORTANT = "important"
    NONE = "none"


class Where(enum.StrEnum):
    """Where notices to one person go: a direct message, or their request's thread."""

    DM = "dm"
    THREAD = "thread"


class Digest(enum.StrEnum):
    """How often a person gets the digest."""

    OFF = "off"
    DAILY = "daily"
    WEEKLY = "weekly"


class Language(enum.StrEnum):
    """The language of answers; AUTO is that of the person's Slack."""

    AUTO = "auto"
    ENGLISH = "en"
    CHINESE = "zh"


class QuietHours(BaseModel):
    """When a person is left alone, every day: minutes after midnight where they are.

    `begins` is part of it, `ends` is not; past midnight if it ends before it begins.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    begins: int = Field(ge=0, lt=DAY)
    ends: int = Field(ge=0, lt=DAY)

    def until(self, now: dt.datetime, zone: str) -> dt.datetime | None:
        """When the quiet hours that `now` is in end, in UTC; None outside of them."""
        local = now.astimezone(ZoneInfo(zone))
        passed = (local.hour * 60 + local.minute - self.begins) % DAY
        if passed >= (self.ends - self.begins) % DAY:
            return None
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
        end = midnight.replace(hour=self.ends // 60, minute=self.ends % 60)
        if end <= local:
            end = (midnight + dt.timedelta(days=1)).replace(hour=end.hour, minute=end.minute)
        found = end.astimezone(dt.UTC)
        # A clock that is put back may leave the end before now: then it is over.
        return found if found > now else None

    @property
    def words(self) -> str:
        """As a person would type it."""
        begin, end = (f"{at // 60:02}:{at % 60:02}" for at in (self.begins, self.ends))
        return f"{begin}-{end}"


class Preferences(BaseModel):
    """All of them. What nobody set is the default."""

    model_config = ConfigDict(frozen=True, extra="ignore")  # a later version may know more

    notices: Notices = Notices.ALL
    where: Where = Where.DM
    digest: Digest = Digest.OFF
    language: Language = Language.AUTO
    quiet: QuietHours | None = None
    zone: str | None = None

    @field_validator("zone")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None and value not in available_timezones():
            raise ValueError(f"no time zone {value}")
        return value

    def within(self, zone: str | None) -> Preferences:
        """The same where the time zone is that of their Slack, unless they chose one."""
        known = zone is not None and zone in available_timezones()
        if self.zone is not None or not known:
            return self
        return self.model_copy(update={"zone": zone})

    def quiet_until(self, now: dt.datetime) -> dt.datetime | None:
        """When this person may be disturbed again; None for now."""
        return None if self.quiet is None else self.quiet.until(now, self.zone or UTC)

    @property
    def chosen_language(self) -> str | None:
        """The language they chose; None for that of their Slack."""
        return None if self.language is Language.AUTO else self.language.value

    def shown(self) -> dict[str, str]:
        """Field and value, as words that could be typed to set it."""
        return {
            Preference.NOTICES: self.notices.value,
            Preference.WHERE: self.where.value,
            Preference.DIGEST: self.digest.value,
            Preference.QUIET: "off" if self.quiet is None else self.quiet.words,
            Preference.ZONE: self.zone or AUTO,
            Preference.LANGUAGE: self.language.value,
        }


FIELDS: Mapping[str, tuple[str, ...]] = {
    Preference.NOTICES: tuple(Notices),
    Preference.WHERE: tuple(Where),
    Preference.DIGEST: tuple(Digest),
    Preference.QUIET: ("22:00-07:00", "off"),
    Preference.ZONE: (AUTO, "Europe/Paris", "Asia/Shanghai", UTC),
    Preference.LANGUAGE: tuple(Language),
}
"""What can be set, each with values that are right."""

_SPAN = re.compile(r"(\d{1,2})(?::(\d{2}))?\s*[-–—~到至]\s*(\d{1,2})(?::(\d{2}))?", re.ASCII)
_OFF = frozenset({"off", "none", "no"})


def read_preferences(text: str | None) -> Preferences:
    """What was stored; the defaults for nothing, or for what cannot be read any more."""
    if not text:
        return Preferences()
    try:
        return Preferences.model_validate_json(text)
    except ValidationError:
        return Preferences()


def changed(before: Preferences, name: str, value: str) -> Preferences:
    """The preferences with one field set.

    Raises KeyError for an unknown field, ValueError for a value that it does not take.
    """
    return before.model_copy(update={name: _READERS[name](value.strip())})


def _read_quiet(word: str) -> QuietHours | None:
    if word.lower() in _OFF:
        return None
    found = _SPAN.fullmatch(word)
    if found is None:
        raise ValueError("not a span of the day")
    begins, ends = _minutes(found[1], found[2]), _minutes(found[3], found[4])
    if begins == ends:
        raise ValueError("no time at all, or all day")
    return QuietHours(begins=begins, ends=ends)


def _minutes(hour: str, minute: str | None) -> int:
    """Minutes after midnight, which is also 24:00."""
    at = int(hour) * 60 + int(minute or 0)
    if int(minute or 0) > 59 or at > DAY:
        raise ValueError("not a time of day")
    return at % DAY


def _read_zone(word: str) -> str | None:
    """A time zone in the spelling of the list, whatever its case; None for that of their Slack."""
    if word.lower() == AUTO:
        return None
    known = {name.lower(): name for name in available_timezones()}
    if word.lower() not in known:
        raise ValueError("not a time zone")
    return known[word.lower()]


_READERS: Mapping[str, Callable[[str], object]] = {
    Preference.NOTICES: lambda word: Notices(word.lower()),
    Preference.WHERE: lambda word: Where(word.lower()),
    Preference.DIGEST: lambda word: Digest(word.lower()),
    Preference.QUIET: _read_quiet,
    Preference.ZONE: _read_zone,
    Preference.LANGUAGE: lambda word: Language(word.lower()),
}
