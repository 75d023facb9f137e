"""Charges: what queues count a resource as beside itself. A slice of a GPU is a part of one, whatever its name is."""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from phalanx.model.axis import AMOUNT_MAX, GPU, SUM_MAX, Axis, Bool, Int, unit
from phalanx.model.device import is_model
from phalanx.model.task import Shape

#: Stands for a whole number: in the name of a resource, and then in its amount.
NUMBER = "<n>"
#: Numerators and denominators are at most this, so that no product below leaves an int64.
PARTS_MAX = 1_000_000
_AMOUNT = re.compile(r"(<n>|[0-9]{1,7})(?:/([0-9]{1,7}))?")
#: So many names are remembered at once: strangers make them up.
_NAMES_MAX = 4096


class Worth(NamedTuple):
    """What a resource counts as: each smallest unit of it as up/down smallest units of another one."""

    resource: str
    up: int
    down: int

    def of(self, amount: int) -> int:
        """Return what an amount counts as, rounded down: seven sevenths of a GPU are never more than a GPU."""
        return min(amount, self._most) * self.up // self.down

    def of_all(self, amounts: Int) -> Int:
        """Return the same of every amount."""
        known = np.minimum(amounts, self._most)
        counted: Int = known // self.down * self.up + known % self.down * self.up // self.down
        return counted

    @property
    def _most(self) -> int:
        return min(AMOUNT_MAX * self.down // self.up, SUM_MAX)


@lru_cache(maxsize=256)
def _pattern(resource: str) -> re.Pattern[str]:
    text = re.escape(resource).replace(re.escape("*"), ".*").replace(re.escape(NUMBER), "(?P<n>[0-9]{1,4})", 1)
    return re.compile(text)


@lru_cache(maxsize=256)
def _numbers(amount: str) -> tuple[int | None, int] | None:
    """Return numerator (None: the number in the name) and denominator; None: it is no amount."""
    found = _AMOUNT.fullmatch(amount)
    if found is None:
        return None
    times, parts = None if found[1] == NUMBER else int(found[1]), int(found[2] or 1)
    return (times, parts) if (times or 0) <= PARTS_MAX and 1 <= parts <= PARTS_MAX else None


@dataclass(frozen=True, slots=True)
class Charge:
    """One line of the table."""

    #: `*` stands for any letters, `<n>` for a whole number.
    resource: str
    counts_as: str
    #: A whole number or a fraction: `2`, `1/7`; with an `<n>` in the name also `<n>`, `<n>/7`.
    amount: str
    #: Only for who asks for devices of this model; empty: for everybody.
    model: str = ""

    def __post_init__(self) -> None:
        numbers = _numbers(self.amount)
        if numbers is None or (numbers[0] is None and NUMBER not in self.resource):
            raise ValueError(f"found {self.amount}, allowed is a number or a fraction")

    def asked(self, models: tuple[tuple[str, float], ...]) -> bool:
        """Tell whether one of these wishes means its model, or may."""
        return any(is_model(self.model, name) or is_model(name, self.model) for name, _ in models)

    def worth(self, name: str) -> Worth | None:
        """Return what a resource of this name counts as; None: the line is not about it."""
        found = _pattern(self.resource).fullmatch(name)
        numbers = _numbers(self.amount)
        if found is None or numbers is None or name == self.counts_as:
            return None
        times, parts = numbers
        up = int(found["n"]) if times is None else times
        return Worth(self.counts_as, up * unit(self.counts_as), parts * unit(name))


@dataclass(frozen=True, slots=True)
class Apart:
    """A model of devices that some queue counts apart."""

    model: str
    #: What it counts as there.
    resource: str
    #: [node]: whether it has such devices. [shape]: whether a task asks for devices, and not for this model by name.
    nodes: Bool
    strangers: Bool


#: Most GPUs have seven slices. Those with four come first, by the profiles that no other GPU has.
CHARGES: tuple[Charge, ...] = (
    Charge("nvidia.com/mig-1g.6gb*", GPU, "1/4"),
    Charge("nvidia.com/mig-2g.12gb*", GPU, "1/2"),
    Charge("nvidia.com/mig-4g.24gb*", GPU, "1"),
    Charge("nvidia.com/mig-2g.48gb*", GPU, "1/2"),
    Charge("nvidia.com/mig-4g.96gb*", GPU, "1"),
    Charge("nvidia.com/mig-<n>g.*", GPU, "<n>/7"),
)


#: Nobody asked for a resource of this name yet.
_UNKNOWN = Worth("", 0, 1)


@dataclass(frozen=True, slots=True)
class Charges:
    """The table of a policy. The first line about a resource counts."""

    lines: tuple[Charge, ...] = CHARGES
    _known: dict[str, Worth | None] = field(default_factory=dict[str, Worth | None], compare=False, repr=False)

    def of(self, name: str) -> Worth | None:
        """Return what a resource counts as beside itself; None: as nothing."""
        if name not in self._known:
            if len(self._known) >= _NAMES_MAX:
                self._known.clear()
            own = (line.worth(name) for line in self.lines if not line.model)
            found = next((worth for worth in own if worth is not None), None)
            self._known[name] = found if found is not None and found.up else None
        return self._known[name]

    def on(self, axis: Axis, listed: tuple[str, ...]) -> list[tuple[int, Worth]]:
        """Return the columns that count as a resource which some queue lists, and as what."""
        if not listed:
            return []
        found = ((column, self.of(name)) for column, name in enumerate(axis.names))
        return [(column, worth) for column, worth in found if worth is not None and worth.resource in listed]

    @property
    def models(self) -> tuple[Charge, ...]:
        """Return the lines about devices of one model."""
        return tuple(line for line in self.lines if line.model)

    def of_shape(self, shape: Shape) -> tuple[tuple[str, int], ...]:
        """Return what queues count for a task of this shape."""
        amounts = self.charged(shape.charged)
        wanted = shape.devices.models if shape.devices is not None else ()
        if not wanted or not (lines := [line for line in self.models if line.asked(wanted)]):
            return amounts
        counted = dict(amounts)
        for line in lines:
            for name, amount in shape.charged:
                if (worth := line.worth(name)) is not None:
                    counted[worth.resource] = min(counted.get(worth.resource, 0) + worth.of(amount), AMOUNT_MAX)
        return tuple(counted.items())

    def charged(self, amounts: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
        """Return what queues count for these amounts."""
        # Most tasks ask for nothing that counts as something else, and this is asked for every task.
        known = self._known
        for name, _ in amounts:
            if known.get(name, _UNKNOWN) is not None:
                return self._counted(amounts)
        return amounts

    def _counted(self, amounts: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
        counted = dict(amounts)
        for name, amount in amounts:
            worth = self.of(name)
            if worth is not None:
                counted[worth.resource] = min(counted.get(worth.resource, 0) + worth.of(amount), AMOUNT_MAX)
        return tuple(counted.items())
