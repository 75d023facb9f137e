"""UserFairness: inside a queue, who used and has less of the cluster goes first; what was used long ago fades."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import Plugin
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Units
from phalanx.model.axis import CPU, GPU, MEMORY, Bool, Float, Int
from phalanx.model.duration import Seconds
from phalanx.model.usage import ByUser, UserTable

_FOUR_HOURS = Seconds(4 * 3600.0)
#: Decimals of a key: less than this part of the cluster decides nothing.
_DECIMALS = 6
#: So much more than what a user has now counts what it used: then a user of a little more weight goes first now and
#: then, even where everybody has a few large jobs. What it has now keeps one user from taking all that becomes free.
_PAST = 8


@dataclass(frozen=True, slots=True)
class UserFairness(Plugin):
    """Order the units of a queue by what their users used, have, and would get first, in parts of the cluster.

    The largest of the parts over the resources counts, divided by the user's weight. Nobody is evicted for it.
    """

    #: The label, or the annotation, of pods that says whose they are; both empty: the namespace.
    label: str = ""
    annotation: str = ""
    half_life: Seconds = _FOUR_HOURS
    resources: tuple[str, ...] = (GPU, CPU, MEMORY)
    #: By user; absent: 1.
    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    name: ClassVar[str] = "user_fairness"

    def __post_init__(self) -> None:
        if not self.resources:
            raise ValueError("resources: found none, allowed is at least one")
        self.by_user()
        for user, weight in self.weights.items():
            if not 0.001 <= weight <= 1_000_000:
                raise ValueError(f"weights.{user}: found {weight}, allowed is 0.001 to 1000000")

    def by_user(self) -> ByUser | None:
        """Return whose use counts."""
        return ByUser(self.label, self.annotation, self.half_life, self.resources)

    def gang_key(self, session: Session, units: Units) -> Int | Float:
        """Return the part of the cluster that a unit's user used, has, and gets with the units before this one."""
        users, of = session.snapshot.users, session.snapshot.gangs.user[units.gang]
        if users is None or not len(users.users):
            return np.zeros(len(units))
        asks = _asks(session, units, users)
        earlier = _earlier(units, of, np.where(_may_fit(session, users, asks)[:, None], asks, 0.0))
        now = (users.has / np.maximum(users.total, 1))[of] + earlier + asks / 2
        weight = np.array([self.weights.get(name, 1.0) for _, name in users.users])
        key = (users.used[of] + now / _PAST).max(axis=1) / weight[of]
        return np.asarray(np.where(of < 0, 0.0, key).round(_DECIMALS), np.float64)


def _asks(session: Session, units: Units, users: UserTable) -> Float:
    """Return [unit, resource]: what each unit asks for, in parts of the cluster."""
    snapshot = session.snapshot
    shapes = snapshot.tasks.shape[units.rows]
    asks = np.zeros((len(units), len(users.resources)))
    for place, name in enumerate(users.resources):
        column = snapshot.axis.index.get(name)
        if column is not None:
            running = np.append(0, np.cumsum(snapshot.charges[:, column][shapes]))
            asks[:, place] = running[units.first + units.count] - running[units.first]
    return asks / np.maximum(users.total, 1)


def _may_fit(session: Session, users: UserTable, asks: Float) -> Bool:
    """Tell which units ask for no more than is free on all nodes: a hopeless one must not hold up its user's others."""
    snapshot = session.snapshot
    free = np.zeros(len(users.resources))
    for place, name in enumerate(users.resources):
        column = snapshot.axis.index.get(name)
        if column is not None:
            free[place] = np.maximum(snapshot.nodes.free[snapshot.nodes.ready, column], 0).sum()
    return np.asarray((asks <= free / np.maximum(users.total, 1)).all(axis=1), np.bool_)


def _earlier(units: Units, of: Int, asks: Float) -> Float:
    """Return [unit, resource]: what the units of the same user that go before it ask for."""
    order = np.lexsort([units.gang, units.created, units.beyond, -units.priority, of])
    sums = np.cumsum(asks[order], axis=0) - asks[order]
    start = np.append(True, of[order][1:] != of[order][:-1])
    at = np.maximum.accumulate(np.where(start, np.arange(len(order)), 0))
    earlier = np.empty_like(sums)
    earlier[order] = sums - sums[at]
    return earlier
