"""What is remembered of the past, as it is kept in a queue's status or in a file."""

from collections.abc import Mapping
from typing import NamedTuple, TypeGuard

from phalanx.model.usage import Memory

#: Parts of a window.
SLOTS = 32
#: More digits than a sample can tell apart.
_DIGITS = 9
#: Later than this is no time that anybody has seen.
_TIME_MAX = 2.0**37

_NUMBER_MAX = 1e200

#: Per resource, the integrals of the slots, the newest last; older ones that are not there are zero.
Series = Mapping[str, list[float]]


class Stored(NamedTuple):
    """What was remembered at a time: what there was, and per queue its uid and what it used."""

    at: float
    total: Series
    used: Mapping[str, tuple[str, Series]]


def exported(stored: Stored, memory: Memory, queue: str | None) -> dict[str, object]:
    """Return it as JSON can hold it; of one queue: its own part, which its status keeps."""
    common: dict[str, object] = {
        "at": stored.at, "window": memory.window, "halfLife": memory.half_life, "total": _short(stored.total),
    }  # fmt: skip
    if queue is not None:
        return {**common, "used": _short(stored.used[queue][1]) if queue in stored.used else {}}
    queues = {name: {"uid": uid, "used": _short(series)} for name, (uid, series) in stored.used.items() if series}
    return {**common, "queues": queues}


def parse(text: object, memory: Memory, queue: str | None, uid: str) -> Stored | str:
    """Return what was exported, of all queues or of one; a sentence where it cannot be used."""
    if not isinstance(text, Mapping):
        return f"usage: found {type(text).__name__}, allowed is what was exported"
    at = text.get("at")
    if not _number(at) or at > _TIME_MAX:
        return "usage.at: found no time in seconds"
    found = (text.get("window"), text.get("halfLife"))
    if found != (memory.window, memory.half_life):
        return "usage: was kept for another window or half-life than the policy's, so it is not used"
    total = _series(text.get("total"))
    queues = {queue: {"uid": uid, "used": text.get("used")}} if queue is not None else text.get("queues")
    if total is None or not isinstance(queues, Mapping):
        return "usage.total: found no numbers per resource" if total is None else "usage.queues: found no queues"
    used: dict[str, tuple[str, Series]] = {}
    for name, said in queues.items():
        series = _series(said.get("used")) if isinstance(said, Mapping) else None
        if series is None or not isinstance(said, Mapping):
            return f"usage of Queue {name}: found no numbers per resource"
        used[str(name)] = (str(said.get("uid", "")), series)
    return Stored(float(at), total, used)


def _short(series: Series) -> dict[str, list[float]]:
    """Leave out the zeros before the first use and the digits that say nothing."""
    short = {}
    for name, values in series.items():
        first = next((position for position, value in enumerate(values) if value), len(values))
        short[name] = [float(f"{value:.{_DIGITS}g}") for value in values[first:]]
    return short


def _series(text: object) -> Series | None:
    if not isinstance(text, Mapping):
        return None
    found: dict[str, list[float]] = {}
    for name, values in text.items():
        if not isinstance(values, list) or len(values) > SLOTS + 1 or not all(_number(value) for value in values):
            return None
        found[str(name)] = [float(value) for value in values]
    return found


def _number(value: object) -> TypeGuard[float]:
    """Tell whether it is a number that a float can hold, not below zero."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _NUMBER_MAX
