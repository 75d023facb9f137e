"""Short devices: a node on which pods have more devices than it has left to give out is told.

A device plugin that loses a device says only how many there are now. Whose it was the kubelet alone knows, so nobody is
evicted, and nobody is put there before enough pods have ended.
"""

from phalanx.kube.clock import Clock
from phalanx.kube.events import Events
from phalanx.kube.log import Log
from phalanx.model.axis import unit
from phalanx.model.device import DEVICE_RESOURCES, is_device
from phalanx.model.snapshot import Snapshot

#: A device plugin that starts anew offers nothing for a while.
GRACE = 60.0


class ShortDevices:
    """Remembers which nodes are short since when, and what they were told."""

    def __init__(self, events: Events, clock: Clock, log: Log) -> None:
        self._events = events
        self._clock = clock
        self._log = log
        #: By node and resource.
        self._since: dict[tuple[str, str], float] = {}
        self._told: dict[tuple[str, str], str] = {}

    def see(self, snapshot: Snapshot) -> None:
        """Look at all nodes as one decision saw them."""
        nodes, short = snapshot.nodes, dict[tuple[str, str], tuple[str, str]]()
        for column, resource in enumerate(snapshot.axis.names):
            if "/" not in resource or not is_device(resource, (*DEVICE_RESOURCES, *nodes.devices.resources)):
                continue
            free = nodes.free[:, column] + nodes.leaving[:, column]
            # A loop over the nodes that are short of devices.
            for row in (free < 0).nonzero()[0].tolist():
                most = int(nodes.allocatable[row, column])
                amounts = [f"{amount / unit(resource):g}" for amount in (most - int(free[row]), most)]
                short[nodes.names[row], resource] = amounts[0], amounts[1]
        now = self._clock.monotonic()
        self._since = {place: self._since.get(place, now) for place in short}
        self._told = {place: note for place, note in self._told.items() if place in short}
        for place, (used, there) in short.items():
            note = (
                f"pods have {used} {place[1]} here, and {there} can be given out (others are gone, unhealthy or "
                "cordoned): nobody new is put here until enough pods have ended"
            )
            if now >= self._since[place] + GRACE and self._told.get(place) != note:
                self._told[place] = note
                self._log.say("devices-short", node=place[0], resource=place[1], used=used, there=there)
                regarding = {"kind": "Node", "apiVersion": "v1", "name": place[0], "uid": place[0]}
                self._events.about(regarding, "Warning", "DevicesShort", "Counting", note)
