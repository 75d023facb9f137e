"""Sharing: what the parts of devices that pods ask for amount to, given the devices that there are.

A pod says "20 GiB of a GPU". What that is of a GPU depends on the GPUs, so it is worked out here, and anew when nodes
with other GPUs come or go.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from phalanx.model.axis import unit
from phalanx.model.node import Node
from phalanx.model.sharing import DEVICES_MAX, MIB, RESOURCE, WHOLE, Part, Sharing, mebibytes, milli_of
from phalanx.model.task import Hold, Shape, State, Task

NO_PLUGIN = "parts of a GPU are given out only with the plugin shared_devices, which the policy does not have"

#: So many shapes are remembered. Pods of a template have the same one.
_KNOWN_MAX = 4096


class Sharings:
    """Knows whether devices are shared, and which sizes there are."""

    def __init__(self) -> None:
        self.setting: Sharing | None = None
        #: Why who asks is held; empty: nobody is.
        self._why = ""
        #: On a real cluster, where what is given out must be told to the node.
        self.live = False
        #: MiB of the devices of all nodes; of those that do not say, 0.
        self._memories: Counter[int] = Counter()
        #: Whose programs give out the GPUs of nodes; empty: nobody's.
        self._sides: Counter[str] = Counter()
        #: What the shapes in use were worked out with. On a cluster where one kind of program gives out all GPUs, whole
        #: ones are parts that it must be told of.
        self._sizes: tuple[int, ...] = ()
        self._whole_side = ""
        self._wholes: dict[tuple[Shape, Part | None], Shape] = {}
        self._stale = False
        self._known: dict[tuple[Shape, Part, bool], Shape] = {}

    def set(self, setting: Sharing | None, *, live: bool = False) -> None:
        """Say whether devices are shared, when the policy changes; None: not, and who asks is held.

        `live`: on a real cluster, where programs on nodes that share devices themselves must be told who has which.
        """
        why = NO_PLUGIN if setting is None else ""
        if (setting, live, why) != (self.setting, self.live, self._why):
            self.setting, self.live, self._why, self._stale = setting, live, why, True

    def see(self, before: Node | None, now: Node | None) -> None:
        """Take note of the devices of a node; None: it was not there, or is gone."""
        if before is not None:
            self._memories.subtract(_memories(before))
            self._sides.subtract(_sides(before))
        if now is not None:
            self._memories.update(_memories(now))
            self._sides.update(_sides(now))

    def outdated(self, tasks: Mapping[str, Task]) -> list[Task]:
        """Return, once, the tasks whose parts amount to something else now; nobody unless devices or policy changed."""
        if not self._changed():
            return []
        return [task for task in tasks.values() if self.sized(task) != task]

    def _changed(self) -> bool:
        default = 0 if self.setting is None else self.setting.memory // MIB
        sizes = tuple(sorted({memory or default for memory, count in self._memories.items() if count > 0} - {0}))
        sides = [side for side, count in self._sides.items() if count > 0]
        whole = sides[0] if self.live and self.setting is not None and len(sides) == 1 else ""
        found, self._stale = self._stale or (sizes, whole) != (self._sizes, self._whole_side), False
        self._sizes, self._whole_side = sizes, whole
        if found:
            self._known.clear()
        return found

    def sized(self, task: Task) -> Task:
        """Return a task with the shape that its part gives it; held, where parts are not given out."""
        if task.part is None:
            return self._told(task) if self._whole_side or task.shape.part is not None else task
        hold = task.hold
        if hold is not None and hold.message == NO_PLUGIN:
            hold = None
        if self._why and hold is None and task.ours and task.state is State.PENDING:
            hold = Hold(task.part_field, self._why)
        key = (task.shape, task.part, task.part_counted)
        shape = self._known.get(key)
        if shape is None:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            shape = self._known[key] = self._shape(*key)
        return task if shape == task.shape and hold == task.hold else replace(task, shape=shape, hold=hold)

    def _told(self, task: Task) -> Task:
        """Return a task that asks for whole devices with the shape of one that names them, where they must be named."""
        shape, wish = task.shape, task.shape.devices
        count = dict(shape.requests).get(RESOURCE, 0) // WHOLE
        named = task.ours and 0 < count <= DEVICES_MAX and (count == 1 or wish is None or not wish.together)
        side = self._whole_side if named else ""
        key = (shape, Part(count, milli=WHOLE, cores=WHOLE, side=side) if side else None)
        if shape.part == key[1]:
            return task
        if key not in self._wholes:
            if len(self._wholes) >= _KNOWN_MAX:
                self._wholes.clear()
            self._wholes[key] = replace(shape, part=key[1])
        return replace(task, shape=self._wholes[key])

    def _shape(self, shape: Shape, part: Part, counted_there: bool) -> Shape:
        amounts = {name: amount for name, amount in shape.requests if name != RESOURCE}
        if self.setting is None:
            # What reserves the device on the node counts for it; nothing does where a device plugin shares it.
            if counted_there:
                amounts[RESOURCE] = WHOLE * part.devices
            return replace(shape, requests=tuple(sorted(amounts.items())), part=None, counted=0)
        # Amounts are memory alone, which is enough to say what cannot fit; queues count the greater part of the two.
        least, most = self._bounds(part)
        if least:
            amounts[RESOURCE] = least * part.devices
        counted = most * part.devices if most != least else 0
        return replace(shape, requests=tuple(sorted(amounts.items())), part=part, counted=counted)

    def _bounds(self, part: Part) -> tuple[int, int]:
        """Return the least and the most that a part may be of a device, in the resource's smallest unit."""
        assert unit(RESOURCE) == WHOLE
        if not part.memory:
            return part.milli, max(part.milli, part.cores)
        serving = [memory for memory in self._sizes if memory >= mebibytes(part.memory)]
        if not serving:
            return 0, 0
        least = max(WHOLE * mebibytes(part.memory) // serving[-1], part.milli, 1)
        return least, max(milli_of(part, serving[0]), part.cores)


def _sides(node: Node) -> tuple[str, ...]:
    """Return whose program gives out the GPUs of a node, parts and whole ones; nothing where it has none."""
    gpus = [one for one in node.devices if one.resource == RESOURCE]
    if not gpus and not node.allocatable.get(RESOURCE):
        return ()
    return tuple({one.side if one.by_name else "" for one in gpus} or {""})


def _memories(node: Node) -> tuple[int, ...]:
    """Return the MiB of each size of device that a node has."""
    described = {one.memory // MIB for one in node.devices if one.resource == RESOURCE}
    return tuple(sorted(described or ({0} if node.allocatable.get(RESOURCE) else set())))
