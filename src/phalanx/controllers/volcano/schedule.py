"""Schedules of CronJobs in the words of cron, as Volcano reads them: five fields, `@daily` and such, `@every 1h`."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from phalanx.dialects.timestamps import duration
from phalanx.model.quantity import shown

_MONTHS = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11,
    "dec": 12,
}  # fmt: skip
_DAYS = dict(zip(["sun", "mon", "tue", "wed", "thu", "fri", "sat"], range(7), strict=True))
#: Name, bounds, words.
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}), ("hour", 0, 23, {}), ("day of month", 1, 31, {}), ("month", 1, 12, _MONTHS),
    ("day of week", 0, 6, _DAYS),
)  # fmt: skip
_WORDS = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip
_ZONES = ("TZ=", "CRON_TZ=")
#: A schedule that never comes in so many days never does: the 29th of February comes in eight years at the latest.
_DAYS_MAX = 8 * 366 + 1
#: How far is looked back, one step after the other, for the last time that was missed.
_BACK = tuple(timedelta(days=days) for days in (1 / 24, 1, 32, 370, _DAYS_MAX))


class ScheduleError(ValueError):
    """A schedule that is none; the text says what was found and what is allowed."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The times of a schedule. Those that a clock leaves out in spring are left out."""

    zone: ZoneInfo
    fields: tuple[frozenset[int], ...] = ()
    #: Days of month and of week are both bound, or either will do.
    both: bool = True
    #: `@every`, in seconds.
    period: float = 0.0

    def after(self, moment: float) -> float | None:
        """Return the first time after a moment; None: it never comes."""
        if self.period:
            return int(moment) + self.period
        return next(self._times(moment), None)

    def last(self, since: float, now: float) -> float | None:
        """Return the last time that is after `since` and not after now; None: there is none."""
        if self.period:
            count = int((now - int(since)) // self.period)
            return int(since) + count * self.period if count > 0 else None
        for back in _BACK:
            found = None
            for found_at in self._times(max(since, now - back.total_seconds())):
                if found_at > now:
                    break
                found = found_at
            if found is not None or now - back.total_seconds() <= since:
                return found
        return None

    def _times(self, moment: float) -> Iterator[float]:
        minutes, hours, days, months, weekdays = self.fields
        start = datetime.fromtimestamp(int(moment), self.zone)
        day = start.date()
        for _ in range(_DAYS_MAX):
            on_day, on_week = day.day in days, (day.weekday() + 1) % 7 in weekdays
            if day.month in months and (on_day and on_week if self.both else on_day or on_week):
                for hour in sorted(hours):
                    for minute in sorted(minutes):
                        local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.zone)
                        found = local.timestamp()
                        there = datetime.fromtimestamp(found, self.zone).hour == hour
                        if found > moment and there:
                            yield found
            day += timedelta(days=1)


def parse(text: str, zone: str | None) -> Schedule:
    """Return a schedule, or raise what is wrong with it."""
    head, _, rest = text.strip().partition(" ")
    for word in _ZONES:
        if head.startswith(word):
            text, zone = rest.strip(), head.removeprefix(word)
    place = _zone(zone)
    if text.startswith("@every "):
        try:
            period = duration(text.removeprefix("@every ").strip())
        except ValueError as error:
            raise ScheduleError(f"@every: {error}") from None
        return Schedule(place, period=max(float(int(period)), 1.0))
    words = _WORDS.get(text.strip(), text).split()
    if len(words) != len(_FIELDS):
        raise ScheduleError(f"found {shown(text)}, allowed is five fields, {', '.join(_WORDS)} or @every with a time")
    fields = tuple(_field(word, *rule) for word, rule in zip(words, _FIELDS, strict=True))
    return Schedule(place, fields, both=any(_star(word) for word in (words[2], words[4])))


def _zone(name: str | None) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ScheduleError(f"found the time zone {shown(name)}, allowed is one such as Europe/Berlin") from None


def _star(word: str) -> bool:
    return word.partition("/")[0] in {"*", "?"}


def _field(word: str, name: str, low: int, high: int, words: dict[str, int]) -> frozenset[int]:
    found: set[int] = set()
    for part in word.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        every = _number(step, name, 1, high, {}) if slash else 1
        if span in {"*", "?"}:
            begin, end = low, high
        else:
            begin = _number(first, name, low, high, words)
            # One number with a step means from there on.
            end = _number(last, name, low, high, words) if dash else high if slash else begin
        if begin > end:
            raise ScheduleError(f"{name}: found {shown(part)}, allowed is a range that rises")
        found.update(range(begin, end + 1, every))
    return frozenset(found)


def _number(text: str, name: str, low: int, high: int, words: dict[str, int]) -> int:
    number = words.get(text.lower(), -1)
    if text.isascii() and text.isdigit() and len(text) < 4:
        number = int(text)
    if not low <= number <= high:
        raise ScheduleError(f"{name}: found {shown(text)}, allowed is a number from {low} to {high}")
    return number


def rfc3339(moment: float, zone: ZoneInfo) -> str:
    """Return a time in a zone as RFC 3339 has it."""
    local = datetime.fromtimestamp(moment, zone)
    return (
        local.isoformat().replace("+00:00", "Z") if local.utcoffset() else f"{local.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    )
