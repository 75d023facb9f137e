"""Devices: GPUs and their like, which differ in more than their number.

The device plugin of a node counts them as a resource. What more is known of each one (model, memory, place) comes from
labels and annotations of the node; where nothing more is known, a device is a place of its resource and no more.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache

import numpy as np

from phalanx.model.axis import Amounts, Bool, Int, unit

_WORD = re.compile(r"[a-z0-9.]+", re.ASCII)

#: Nothing is known of it.
UNKNOWN = -1
#: In the place of a side: its program gives out parts, but which devices it has is not known.
UNLISTED = "unlisted"

#: More of one resource on one node are no devices but a count.
DEVICES_MAX = 256

#: Resources that are devices, unless the policy has a table of its own. A `*` stands for any letters.
DEVICE_RESOURCES: tuple[str, ...] = (
    "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-*", "volcano.sh/vgpu-number", "amd.com/gpu",
    "gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi", "aws.amazon.com/neuron", "google.com/tpu",
    "huawei.com/Ascend*", "cambricon.com/mlu", "hygon.com/dcunum", "metax-tech.com/gpu", "mthreads.com/gpu",
)  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class Device:
    """One device of a node: a GPU, or a slice of one that has a resource name of its own."""

    #: What pods ask for, such as `nvidia.com/gpu`.
    resource: str
    #: Its number on the node among those of its resource.
    index: int
    #: How its vendor names this very one; empty: not known.
    id: str = ""
    #: As the node writes it, such as `NVIDIA-H100-80GB-HBM3`; empty: not known.
    model: str = ""
    #: Bytes; 0: not known.
    memory: int = 0
    #: NUMA node, and group of devices with a fast link between them.
    numa: int = UNKNOWN
    group: int = UNKNOWN
    #: To how many pods the device plugin gives it out (time slicing, split count).
    replicas: int = 1
    healthy: bool = True
    #: An administrator took it out of service.
    cordoned: bool = False
    #: Whose program on the node gives out parts of it, or counts it by another name: whoever asks the kubelet for one
    #: of its resource does not get this very one whole. Empty: nobody's.
    side: str = ""
    #: That program gives a whole one to who asks for it by the name of the resource.
    by_name: bool = False
    #: To how many pods that program gives a part of it; 0: any number.
    seats: int = 0

    @property
    def usable(self) -> bool:
        """Tell whether pods may be placed on it."""
        return self.healthy and not self.cordoned


@dataclass(frozen=True, slots=True)
class DeviceWish:
    """Which devices a pod wants, beside how many."""

    #: Models that serve, with how much each is worth to it; none: any.
    models: tuple[tuple[str, float], ...] = ()
    #: Bytes that each device has at least; 0: any.
    memory: int = 0
    #: What the name of no model that serves has in it, so that none is unknown.
    excluded: tuple[str, ...] = ()
    #: Layers in which all of them must be of one island (`model.island`).
    together: tuple[str, ...] = ()

    @property
    def by_model(self) -> bool:
        """Tell whether it depends on the model which devices serve."""
        return bool(self.models or self.excluded)

    @property
    def model_names(self) -> str:
        """Return the models as a person would say them."""
        wanted = _either([name for name, _ in self.models])
        return f"{wanted} other than {_either(self.excluded)}".lstrip() if self.excluded else wanted

    def worth(self, model: str) -> float | None:
        """Return how much a model is worth; None: it does not serve."""
        if self.excluded and (not model or any(text.lower() in model.lower() for text in self.excluded)):
            return None
        if not self.models:
            return 1.0
        return max((worth for name, worth in self.models if is_model(name, model)), default=None)


def _either(names: Sequence[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


@dataclass(frozen=True, slots=True)
class DeviceTable:
    """Every device, one row each, sorted by node, resource and index."""

    #: The devices of node row n are rows first[n] … first[n + 1] - 1. Empty where no node has any.
    first: Int
    #: Row of the node table.
    node: Int
    #: Positions in `resources` and `models`, which are sorted. A model that is not known is the empty one.
    resource: Int
    model: Int
    index: Int
    #: As of a `Device`.
    memory: Int
    numa: Int
    group: Int
    replicas: Int
    seats: Int
    #: Position in `sides`, which are sorted.
    side: Int
    usable: Bool
    ids: tuple[str, ...]
    resources: tuple[str, ...]
    models: tuple[str, ...]
    sides: tuple[str, ...]
    _kinds: "list[DeviceKinds]" = field(default_factory=list["DeviceKinds"], repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.node)

    def of_resource(self, name: str) -> Bool:
        """Return which rows are devices of a resource."""
        chosen: Bool = self.resource == (self.resources.index(name) if name in self.resources else UNKNOWN)
        return chosen

    def serving(self, wish: DeviceWish) -> Bool:
        """Return which usable devices serve a wish."""
        model = np.array([wish.worth(model) is not None for model in self.models], np.bool_)
        return self.usable & model[self.model] & (self.memory >= wish.memory)

    def per_node(self, chosen: Bool, nodes: int) -> Int:
        """Return how many of these devices each node has."""
        return np.bincount(self.node[chosen], minlength=nodes).astype(np.int64)

    @property
    def kinds(self) -> "DeviceKinds":
        """Return the usable devices by what wishes can tell apart; worked out once and remembered."""
        if not self._kinds:
            self._kinds.append(_kinds_of(self))
        return self._kinds[0]


@dataclass(frozen=True, slots=True)
class DeviceKinds:
    """Usable devices by kind: a cluster has few kinds, and a node has mostly one."""

    #: [kind]: positions in `resources` and `models` as in the table, and bytes.
    resource: Int
    model: Int
    memory: Int
    #: One entry for each kind on each node, sorted by node: to how many pods its devices are given out.
    node: Int
    kind: Int
    places: Int
    resources: tuple[str, ...]
    models: tuple[str, ...]


def _kinds_of(table: DeviceTable) -> DeviceKinds:
    chosen = np.flatnonzero(table.usable)
    memories, memory = np.unique(table.memory[chosen], return_inverse=True)
    width, models = max(len(memories), 1), max(len(table.models), 1)
    # One number for each kind, and one for each kind on each node, because sorting rows is slow.
    code = (table.resource[chosen] * models + table.model[chosen]) * width + memory.reshape(-1)
    codes, kind = np.unique(code, return_inverse=True)
    pairs, entry = np.unique(table.node[chosen] * max(len(codes), 1) + kind.reshape(-1), return_inverse=True)
    places = np.zeros(len(pairs), np.int64)
    np.add.at(places, entry.reshape(-1), table.replicas[chosen])
    columns = {
        "resource": codes // width // models, "model": codes // width % models, "memory": memories[codes % width],
        "node": pairs // max(len(codes), 1), "kind": pairs % max(len(codes), 1), "places": places,
    }  # fmt: skip
    return DeviceKinds(
        **{name: _frozen(column) for name, column in columns.items()}, resources=table.resources, models=table.models
    )


def _frozen(array: Int) -> Int:
    array.flags.writeable = False
    return array


_NONE = _frozen(np.zeros(0, np.int64))
NO_DEVICES = DeviceTable(
    first=_NONE, node=_NONE, resource=_NONE, model=_NONE, index=_NONE, memory=_NONE, numa=_NONE, group=_NONE,
    replicas=_NONE, seats=_NONE, side=_NONE, usable=np.zeros(0, np.bool_), ids=(), resources=(), models=(), sides=(),
)  # fmt: skip


@lru_cache(maxsize=1024)
def is_device(resource: str, listed: tuple[str, ...]) -> bool:
    """Tell whether a resource is in a table of devices."""
    return any(resource == one or fnmatchcase(resource, one) for one in listed)


@lru_cache(maxsize=4096)
def is_model(asked: str, model: str) -> bool:
    """Tell whether a model is the one that is asked for: its words stand in the model's, side by side.

    `A100` is `NVIDIA-A100-SXM4-80GB`, and so is `a100-sxm4`; it is not `A1000`.
    """
    want, have = _WORD.findall(asked.lower()), _WORD.findall(model.lower())
    return any(have[at : at + len(want)] == want for at in range(len(have) - len(want) + 1)) if want else False


def devices_of(described: tuple[Device, ...], allocatable: Amounts, resources: tuple[str, ...]) -> tuple[Device, ...]:
    """Return the devices of a node: those that it describes, and plain ones of the other resources in the table."""
    known = {one.resource for one in described}
    counts = tuple(
        (name, amount // unit(name))
        for name, amount in allocatable.items()
        if "/" in name and name not in known and amount // unit(name) <= DEVICES_MAX and is_device(name, resources)
    )
    return _with_plain(described, counts)


@lru_cache(maxsize=16_384)
def _with_plain(described: tuple[Device, ...], counts: tuple[tuple[str, int], ...]) -> tuple[Device, ...]:
    """Return devices and so many plain ones of each resource. Nodes of one kind share the answer: clusters have few."""
    plain = [Device(name, index) for name, count in counts for index in range(count)]
    return tuple(sorted((*described, *plain))) if plain else described
