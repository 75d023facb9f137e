"""Objects that cannot be read, in the log: of a node, a budget or a queue that is not counted nobody else tells."""

from collections.abc import Mapping

from phalanx.kube.log import Log
from phalanx.model.events import Refused
from phalanx.model.reference import Reference


class SetAside:
    """Says once which objects are set aside and why, and when one can be read again or is gone."""

    def __init__(self, refused: Mapping[Reference, Refused], log: Log) -> None:
        """`refused`: the world's own, as it is at any moment."""
        self._refused = refused
        self._log = log
        self._told: dict[Reference, Refused] = {}

    def tell(self) -> None:
        """Say what is new. A pod is another scheduler's: its owner looks elsewhere."""
        if not (self._refused or self._told):
            return
        now = {thing: one for thing, one in self._refused.items() if one.kind != "Pod"}
        for thing, one in now.items():
            if self._told.get(thing) != one:
                self._log.say("object-set-aside", object=str(thing), field=one.field or None, why=one.message)
        for thing in self._told.keys() - now.keys():
            self._log.say("object-back", object=str(thing))
        self._told = now
