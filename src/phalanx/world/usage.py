"""What each queue used over a window of the past, and what there was to use.

The window is divided into slots. A slot holds the integral of the amount over its time; with a half-life that
integral is already faded to the slot's end (of the slot that is being filled: to now), so that afterwards the whole
slot fades by one factor and nothing is lost by keeping only its sum. The oldest slot counts by the part of it that is
still inside the window: what was used leaves it steadily, not in steps.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from phalanx.model.axis import Float, Int
from phalanx.model.usage import Memory
from phalanx.world.usage_text import SLOTS, Series, Stored, exported, parse

#: One more than the window has: the slot that is being filled.
_RING = SLOTS + 1


class Usage:
    """Integrates amounts that stay the same between two samples. Time only ever goes on here."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._width = memory.window / SLOTS
        self._names: dict[str, str] = {}
        self._resources: tuple[str, ...] = ()
        #: [queue, resource, slot] and [resource, slot]. Slot n of all time is column n % _RING.
        self._used: Float = np.zeros((0, 0, _RING))
        self._total: Float = np.zeros((0, _RING))
        #: When the last sample was taken, on a clock that does not go back: `_ahead` of the one we are told.
        self._time: float | None = None
        self._ahead = 0.0
        #: What is used and what there is since then.
        self._using: Float = np.zeros((0, 0))
        self._having: Float = np.zeros(0)
        self._stored: list[Stored] = []

    def align(self, names: Mapping[str, str], resources: tuple[str, ...]) -> None:
        """Go on with these queues, uid by name. One that has another uid than before starts anew."""
        queues = [(row, name) for row, name in enumerate(names) if self._names.get(name) == names[name]]
        columns = [(column, name) for column, name in enumerate(resources) if name in self._resources]
        old_rows = {name: row for row, name in enumerate(self._names)}
        to = np.ix_([row for row, _ in queues], [column for column, _ in columns])
        kept = [self._resources.index(name) for _, name in columns]
        of = np.ix_([old_rows[name] for _, name in queues], kept)
        used, using = np.zeros((len(names), len(resources), _RING)), np.zeros((len(names), len(resources)))
        total, having = np.zeros((len(resources), _RING)), np.zeros(len(resources))
        used[to], using[to] = self._used[of], self._using[of]
        total[to[1][0]], having[to[1][0]] = self._total[kept], self._having[kept]
        self._used, self._using, self._total, self._having = used, using, total, having
        self._names, self._resources = dict(names), resources

    def sample(self, now: float, names: Sequence[str], using: Int, having: Int) -> Float:
        """Say what is used from now on, by these queues; return the part of the cluster that each used until now."""
        if self._time is None:
            self._begin(now)
        assert self._time is not None
        self._ahead = max(self._ahead, self._time - now)
        self._advance(now + self._ahead)
        rows = self._rows(names)
        self.correct(names, using)
        self._having = having.astype(np.float64)
        weight = self._weights()
        total = (self._total * weight).sum(axis=-1)
        used = (self._used[rows] * weight).sum(axis=-1)
        share = np.divide(used, total, out=np.zeros(used.shape), where=np.broadcast_to(total > 0, used.shape))
        bounded: Float = np.minimum(share, 1.0)
        return bounded

    def correct(self, names: Sequence[str], using: Int) -> None:
        """Correct what is used since the last sample: a decision was made on it."""
        self._using = np.zeros(self._using.shape)
        self._using[self._rows(names)] = using

    def load(self, text: object, queue: str | None = None, uid: str = "") -> str | None:
        """Take in what was exported, of all queues or of one; return a sentence if it cannot be used.

        It counts from the first sample on: what was measured here is not mixed with what others say.
        """
        if self._time is not None:
            return "usage: comes after the first sample, so it is not used"
        stored = parse(text, self.memory, queue, uid)
        if isinstance(stored, str):
            return stored
        self._stored.append(stored)
        return None

    def export(self, queue: str | None = None) -> dict[str, object] | None:
        """Return what is remembered of all queues, or of one, as JSON can hold it; None before the first sample."""
        if self._time is None:
            return None
        # Oldest first; the last one is the slot that is being filled.
        order = (np.arange(_RING) + math.floor(self._time / self._width) + 1) % _RING
        total = self._series(self._total[:, order])
        rows = self._rows(self._names)
        used = {
            name: (uid, self._series(self._used[row][:, order]))
            for row, (name, uid) in zip(rows, self._names.items(), strict=True)
            if queue is None or queue == name
        }
        return exported(Stored(self._time, total, used), self.memory, queue)

    def _series(self, values: Float) -> Series:
        return {name: row for name, row in zip(self._resources, values.tolist(), strict=True) if any(row)}

    def _rows(self, names: "Sequence[str] | Mapping[str, str]") -> list[int]:
        row = {name: position for position, name in enumerate(self._names)}
        return [row[name] for name in names]

    def _begin(self, now: float) -> None:
        """Start the clock, where others stopped if something was stored."""
        # What says it comes from long after now is no memory.
        usable = sorted((one for one in self._stored if one.at <= now + self.memory.window), key=lambda one: one.at)
        self._stored = []
        self._time = max([one.at for one in usable], default=now)
        for one in usable:
            for resource, values in one.total.items():
                if resource in self._resources:
                    self._total[self._resources.index(resource)] = self._placed(one.at, values)
            for row, (name, uid) in enumerate(self._names.items()):
                of, series = one.used.get(name, ("", {}))
                for resource, values in series.items():
                    if of == uid and resource in self._resources:
                        self._used[row, self._resources.index(resource)] = self._placed(one.at, values)

    def _placed(self, at: float, values: Sequence[float]) -> Float:
        """Return the columns for a series that was stored at a time that is not after the clock's."""
        assert self._time is not None
        placed: Float = np.zeros(_RING)
        newest, current = math.floor(at / self._width), math.floor(self._time / self._width)
        for age, value in enumerate(reversed(values)):
            if newest - age > current - _RING:
                placed[(newest - age) % _RING] = value
        if newest > current - _RING:
            end = min(self._time, (newest + 1) * self._width)
            placed[newest % _RING] *= self._fade(end - at)
        return placed

    def _advance(self, to: float) -> None:
        """Integrate what is used since the last sample. However long that was, only the slots of the window are."""
        assert self._time is not None
        first, last = math.floor(self._time / self._width), math.floor(to / self._width)
        for slot in range(max(first, last - _RING + 1), last + 1):
            begin, end = max(self._time, slot * self._width), min(to, (slot + 1) * self._width)
            span, column = max(end - begin, 0.0), slot % _RING
            fade = self._fade(span)
            half = self.memory.half_life
            gain = span if half is None else half / math.log(2) * (1 - fade)
            for past, amount in ((self._used, self._using), (self._total, self._having)):
                before = 0.0 if slot > first else past[..., column] * fade
                past[..., column] = before + amount * gain
        self._time = to

    def _weights(self) -> Float:
        """Return how much each column counts now."""
        assert self._time is not None
        current = math.floor(self._time / self._width)
        weights: Float = np.zeros(_RING)
        for age in range(_RING):
            weights[(current - age) % _RING] = self._fade(self._time - (current - age + 1) * self._width)
        weights[current % _RING] = 1.0
        weights[(current - SLOTS) % _RING] *= 1 - (self._time / self._width - current)
        return weights

    def _fade(self, span: float) -> float:
        return 1.0 if self.memory.half_life is None else 0.5 ** (max(span, 0.0) / self.memory.half_life)
