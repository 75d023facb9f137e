"""Objects that cannot be read, in the log: of a node, a budget or a queue that is not counted nobody else tells.

And those of which a part is left out, since others contradict it.
"""

from collections.abc import Mapping

from phalanx.kube.log import Log
from phalanx.model.events import Refused
from phalanx.model.reference import Reference
from phalanx.world.views import left_out, refused_of
from phalanx.world.world import World


class SetAside:
    """Says once which objects are set aside and why, and when one can be read again or is gone."""

    def __init__(self, world: World, log: Log) -> None:
        self._world = world
        self._refused: Mapping[Reference, Refused] = refused_of(world)
        self._log = log
        self._told: dict[Reference, Refused] = {}
        self._odd: tuple[Refused, ...] = ()

    def tell(self) -> None:
        """Say what is new. A pod is another scheduler's: its owner looks elsewhere."""
        odd = left_out(self._world)
        if odd is not self._odd:
            for one in odd:
                if one not in self._odd:
                    self._log.say("object-left-out", object=str(one.object), field=one.field, why=one.message)
            self._odd = odd
        if not (self._refused or self._told):
            return
        now = {thing: one for thing, one in self._refused.items() if one.kind != "Pod"}
        for thing, one in now.items():
            if self._told.get(thing) != one:
                self._log.say("object-set-aside", object=str(thing), field=one.field or None, why=one.message)
        for thing in self._told.keys() - now.keys():
            self._log.say("object-back", object=str(thing))
        self._told = now
