"""What nodes say of their devices: labels of feature discovery, annotations of sharing device plugins, the cordon.

The device plugin's count decides how many there are to give out. What contradicts it, or cannot be read, becomes a
remark on the node and no more: a wrong label must not take a node out of service.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from phalanx.dialects.core.device_links import link
from phalanx.dialects.core.device_registers import REGISTERS, RegisterError, registered
from phalanx.dialects.core.device_splits import joined
from phalanx.dialects.core.percented_devices import percented, with_percented
from phalanx.model.axis import GPU, Amounts, is_extended, unit
from phalanx.model.device import DEVICES_MAX, UNLISTED, Device
from phalanx.model.keys import CORDONED_DEVICES, DEVICE_LINKS, annotation, label, mistaken
from phalanx.model.quantity import QuantityError, capacity, shown

#: After the name of the resource. NVIDIA's feature discovery writes the first of each, AMD's node labeller the second.
_MODELS = (".product", ".product-name")
_MEMORIES = (".memory", ".vram")
_COUNT = ".count"
_REPLICAS = ".replicas"
#: Time slicing adds this to the resource, if it is told to rename it, and to the model.
_SHARED, _SHARED_MODEL = ".shared", "-SHARED"

#: Annotations that name devices, which the node may not have.
_NAMING = frozenset({CORDONED_DEVICES, DEVICE_LINKS})
CORDON_ALLOWED = "RESOURCE=INDEX,INDEX…, several with ';' between them, such as nvidia.com/gpu=3,5"


@dataclass(frozen=True, slots=True)
class Described:
    """What is known of the devices of one node."""

    devices: tuple[Device, ...]
    #: What may be given out of all its resources.
    allocatable: Amounts
    remarks: tuple[str, ...]


def described(
    labels: Mapping[str, str], annotations: Mapping[str, str], capacity_: Amounts, allocatable: Amounts
) -> Described:
    """Return the devices of which a node says more than their number, and what may be given out."""
    resources = [name for name in allocatable if is_extended(name)]
    wrong = mistaken("Node", "annotation", annotations)
    if not resources and wrong is None and _NAMING.isdisjoint(annotations):
        return Described((), allocatable, ())
    counted, allocatable = allocatable, with_percented(labels, allocatable)
    resources = [name for name in allocatable if is_extended(name)]
    reading = _Reading(labels, annotations, capacity_, allocatable)
    if wrong is not None:
        reading.remarks.append(": ".join(wrong))
    found = reading.registers()
    for resource in resources:
        if resource not in found and (listed := reading.labelled(resource) or reading.percented(resource)):
            found[resource] = listed
        reading.compare(resource, found.get(resource))
    reading.cordon(found)
    link(found, labels, annotations, reading.places, reading.remarks)
    left = reading.left(found)
    for resource, side in reading.shared.items():
        found, left = joined(resource, side, found, left, reading.places(resource))
    for resource in reading.unread:
        found[resource] = reading.uncounted(resource, found.get(resource, []))
    if GPU in found and GPU in allocatable and GPU not in counted:
        # Which is which only its object says.
        found[GPU] = [replace(one, side=UNLISTED) for one in found[GPU]]
    devices = tuple(sorted(one for listed in found.values() for one in listed))
    return Described(devices, left, tuple(reading.remarks))


@lru_cache(maxsize=4096)
def _alike(resource: str, count: int, model: str, memory: int, replicas: int) -> tuple[Device, ...]:
    """Return devices that differ in their index alone. Nodes have the same ones, so each is kept once."""
    return tuple(Device(resource, index, model=model, memory=memory, replicas=replicas) for index in range(count))


class _Reading:
    """Reads one node; every sentence about what is wrong is kept."""

    def __init__(
        self, labels: Mapping[str, str], annotations: Mapping[str, str], capacity_: Amounts, allocatable: Amounts
    ) -> None:
        self.labels, self.annotations, self.allocatable = labels, annotations, allocatable
        #: Files often have the one without the other; a plugin that withholds a device lowers the allocatable ones.
        self.capacity = {name: max(amount, capacity_.get(name, 0)) for name, amount in allocatable.items()}
        self.remarks: list[str] = []
        #: Of which a device plugin gives out parts, with whose it is; and those of which nobody can say how many its
        #: places are.
        self.shared: dict[str, str] = {}
        self.unread: list[str] = []

    def registers(self) -> dict[str, list[Device]]:
        """Read the annotations in which device plugins list every device."""
        found = {}
        for key, (resource, side, _) in REGISTERS.items():
            text = self.annotations.get(key)
            if text is None or resource not in self.allocatable or resource in found:
                continue
            try:
                found[resource], sliced = registered(key, text)
                if not sliced:
                    self.shared[resource] = side
            except RegisterError as error:
                self.remarks.append(f"{annotation(key)}: {error}; its {resource} are counted and no more")
                self.unread.append(resource)
        return found

    def labelled(self, resource: str) -> list[Device]:
        """Make devices out of labels that say what all devices of a resource are."""
        prefix = resource.removesuffix(_SHARED)
        model = next((self.labels[prefix + end] for end in _MODELS if self.labels.get(prefix + end)), "")
        memory = self._memory(prefix)
        replicas = max(self._number(prefix + _REPLICAS) or 1, 1)
        count = self.places(resource)
        if count > DEVICES_MAX or not (model or memory or prefix + _COUNT in self.labels):
            return []
        if count % replicas:
            self.remarks.append(
                f"{label(prefix + _REPLICAS)}: says {replicas} for each device, the device plugin gives out {count}"
            )
            replicas = 1
        model = model.removesuffix(_SHARED_MODEL)
        return list(_alike(resource, count // replicas, model, memory, replicas))

    def percented(self, resource: str) -> list[Device]:
        """Make devices out of Koordinator's percentages, where the device plugin counts as many."""
        listed = percented(self.labels, self.allocatable) if resource == GPU else []
        return listed if len(listed) == self.places(resource) else []

    def places(self, resource: str) -> int:
        """Return how many the device plugin counts."""
        return self.capacity.get(resource, 0) // unit(resource)

    def uncounted(self, resource: str, listed: list[Device]) -> list[Device]:
        """Return all places as those of one device: they may be of few GPUs, so no part of one is given out."""
        like = listed[0] if listed else Device(resource, 0)
        return [Device(resource, 0, model=like.model, memory=like.memory, replicas=max(self.places(resource), 1))]

    def _memory(self, prefix: str) -> int:
        for end in _MEMORIES:
            text = self.labels.get(prefix + end)
            if not text:
                continue
            try:
                return capacity(f"{text}Mi" if text.isdecimal() else text, "memory")
            except QuantityError:
                self.remarks.append(f"{label(prefix + end)}: found {shown(text)}, allowed is a number of MiB")
        return 0

    def _number(self, key: str) -> int | None:
        text = self.labels.get(key)
        if text is None:
            return None
        if text.isascii() and text.isdecimal() and len(text) < 6:
            return int(text)
        self.remarks.append(f"{label(key)}: found {shown(text)}, allowed is a number")
        return None

    def compare(self, resource: str, listed: list[Device] | None) -> None:
        """Note where labels or annotations and the device plugin do not say the same number."""
        there, given = self.places(resource), self.allocatable[resource] // unit(resource)
        if listed is not None and (many := sum(one.replicas for one in listed)) != there:
            self.remarks.append(f"its annotations list {many} of {resource}, the device plugin {there}")
        key = resource.removesuffix(_SHARED) + _COUNT
        count = self._number(key) if listed is not None else None
        replicas = listed[0].replicas if listed else 1
        # Of the mixed strategy the label counts the GPUs that are cut into slices too.
        mixed = any(name.startswith("nvidia.com/mig-") for name in self.allocatable)
        if count is not None and listed is not None and len(listed) != count and not mixed:
            each = f" of {replicas} places each" if replicas > 1 else ""
            self.remarks.append(f"{label(key)}: says {count}{each}, the device plugin {there} of {resource}")
        if given < there and all(one.healthy for one in listed or ()) and there <= DEVICES_MAX:
            self.remarks.append(
                f"{there - given} of its {there} {resource} {'is' if there - given == 1 else 'are'} withheld by the "
                "device plugin, which does not say which"
            )

    def cordon(self, found: dict[str, list[Device]]) -> None:
        """Mark the devices that an administrator took out of service."""
        for part in filter(None, (one.strip() for one in self.annotations.get(CORDONED_DEVICES, "").split(";"))):
            resource, _, names = (one.strip() for one in part.partition("="))
            wanted = [one.strip() for one in names.split(",")]
            if resource not in self.allocatable or not all(wanted):
                none = resource not in self.allocatable
                self._wrong_cordon(part, "it has none of these" if none else f"allowed is {CORDON_ALLOWED}")
                continue
            if resource not in found and self.places(resource) <= DEVICES_MAX:
                found[resource] = [Device(resource, index) for index in range(self.places(resource))]
            listed = found.get(resource, [])
            names_of = [{str(one.index), one.id} for one in listed]
            for name in wanted:
                if not any(name in names for names in names_of):
                    self._wrong_cordon(f"{resource}={name}", f"it has {len(listed)} of these, counted from 0")
            found[resource] = [
                replace(one, cordoned=True) if names & set(wanted) else one
                for one, names in zip(listed, names_of, strict=True)
            ]

    def left(self, found: Mapping[str, list[Device]]) -> Amounts:
        """Return what may be given out. What the plugin withholds is most likely what is away: not taken off twice."""
        left = dict(self.allocatable)
        for resource, listed in found.items():
            away = sum(one.replicas for one in listed if not one.usable) * unit(resource)
            if away:
                left[resource] = min(left[resource], max(self.capacity[resource] - away, 0))
        return left

    def _wrong_cordon(self, part: str, why: str) -> None:
        self.remarks.append(f"{annotation(CORDONED_DEVICES)}: found {shown(part)}, {why}; it cordons nothing")
