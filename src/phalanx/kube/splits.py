"""Splits: gangs that run and are no longer in one domain as they must be, since the topology changed. They are told."""

from collections.abc import Callable

from phalanx.kube.events import Events
from phalanx.kube.log import Log
from phalanx.model.tree import Level
from phalanx.world.neighbourhood import split_gangs
from phalanx.world.views import topology_changes
from phalanx.world.world import World


class Splits:
    """Looks when nodes were relabelled, or objects that make domains changed; and once at the start."""

    def __init__(self, world: World, events: Events, log: Log, levels: Callable[[], tuple[Level, ...] | None]) -> None:
        """`levels`: those of the policy in force."""
        self._world, self._events, self._log, self._levels = world, events, log, levels
        self._seen = -1
        self._told: dict[str, str] = {}

    def tell(self) -> None:
        """Say of each gang once that it is split, in an event on it and in the log, and when it no longer is."""
        changes = topology_changes(self._world)
        if changes == self._seen:
            return
        self._seen = changes
        found = split_gangs(self._world, self._levels())
        for key, text in found.items():
            if self._told.get(key) != text:
                self._log.say("gang-split", gang=key.partition("/")[2], why=text)
                self._events.tell(key, "Warning", "TopologySplit", "Looking", text)
        for key in self._told.keys() - found.keys():
            self._log.say("gang-together", gang=key.partition("/")[2])
        self._told = found
