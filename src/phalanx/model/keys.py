"""The keys of Phalanx itself, one table: what objects may carry under `phalanx.dev/`, where, and with which values.

What reads them, what refuses them, every message and the table in the documentation are made from it.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from phalanx.model.quantity import shown

PREFIX = "phalanx.dev/"


class Value(StrEnum):
    """What stands behind a key."""

    NAME = "name"
    COUNT = "count"
    DURATION = "duration"
    #: A duration above zero.
    SPAN = "span"
    FLAG = "flag"
    LEVEL = "level"
    #: A label of pods, with or without its value.
    LABEL = "label"
    #: Models of devices, in order or with weights.
    MODELS = "models"
    #: Bytes.
    MEMORY = "memory"
    #: Devices of a node.
    DEVICES = "devices"
    #: Between 0 and 1.
    FRACTION = "fraction"
    #: How many devices of one node.
    DEVICE_COUNT = "device count"
    #: Layers of islands inside a node.
    TOGETHER = "together"
    #: Ids of groups of pods that share a device.
    GROUPS = "groups"


@dataclass(frozen=True, slots=True)
class Key:
    """One key."""

    key: str
    value: Value
    #: `annotation` or `label`.
    place: str = "annotation"
    #: The kinds that carry it.
    on: tuple[str, ...] = ("Pod",)
    #: It says something of a gang, and means nothing without this key.
    needs: str | None = None

    @property
    def word(self) -> str:
        """Return the key without its prefix."""
        return self.key.removeprefix(PREFIX)


GANG = f"{PREFIX}gang"
MINIMUM = f"{PREFIX}minimum"
MAXIMUM = f"{PREFIX}maximum"
SUBGROUP = f"{PREFIX}subgroup"
SUBGROUP_MINIMUM = f"{PREFIX}subgroup-minimum"
START_TIMEOUT = f"{PREFIX}start-timeout"
EXPECTED_RUNTIME = f"{PREFIX}expected-runtime"
PREEMPTIBLE = f"{PREFIX}preemptible"
TOPOLOGY_REQUIRED = f"{PREFIX}topology-required"
TOPOLOGY_PREFERRED = f"{PREFIX}topology-preferred"
SUBGROUP_TOPOLOGY_REQUIRED = f"{PREFIX}subgroup-topology-required"
SUBGROUP_TOPOLOGY_PREFERRED = f"{PREFIX}subgroup-topology-preferred"
SEGMENT_SIZE = f"{PREFIX}segment-size"
SEGMENT_TOPOLOGY = f"{PREFIX}segment-topology"
SUBGROUP_SEGMENT_SIZE = f"{PREFIX}subgroup-segment-size"
SUBGROUP_SEGMENT_TOPOLOGY = f"{PREFIX}subgroup-segment-topology"
#: No other gang in its domains; of these alone, or of those with a label.
TOPOLOGY_EXCLUSIVE = f"{PREFIX}topology-exclusive"
TOPOLOGY_EXCLUSIVE_AGAINST = f"{PREFIX}topology-exclusive-against"
SUBGROUP_TOPOLOGY_EXCLUSIVE = f"{PREFIX}subgroup-topology-exclusive"
#: Replicas of one service: gangs that say whose replica they are, or subgroups of one gang.
REPLICA_OF = f"{PREFIX}replica-of"
TOPOLOGY_SPREAD = f"{PREFIX}topology-spread"
SUBGROUP_TOPOLOGY_SPREAD = f"{PREFIX}subgroup-topology-spread"
PATIENCE = f"{PREFIX}patience"
MOVABLE = f"{PREFIX}movable"
GPU_MODEL = f"{PREFIX}gpu-model"
GPU_MEMORY_MINIMUM = f"{PREFIX}gpu-memory-minimum"
GPU_TOGETHER = f"{PREFIX}gpu-together"
GPU_FRACTION = f"{PREFIX}gpu-fraction"
GPU_MEMORY = f"{PREFIX}gpu-memory"
GPU_DEVICES = f"{PREFIX}gpu-devices"
#: Written with the binding: which devices of the node it shares.
GPU_GROUP = f"{PREFIX}gpu-group"
#: The same: what the driver calls them.
GPU_IDS = f"{PREFIX}gpu-ids"
#: On a namespace: the default of its pods.
QUEUE = f"{PREFIX}queue"
#: On a namespace: the `spec.schedulerName` that its new pods are given.
SCHEDULER_NAME = f"{PREFIX}scheduler-name"
#: On a node: which of its devices are out of service.
CORDONED_DEVICES = f"{PREFIX}cordoned-devices"
#: On a node: which of its devices have a fast link between them.
DEVICE_LINKS = f"{PREFIX}device-links"

KEYS = (
    Key(GANG, Value.NAME),
    Key(MINIMUM, Value.COUNT, needs=GANG),
    Key(MAXIMUM, Value.COUNT, needs=GANG),
    Key(SUBGROUP, Value.NAME, needs=GANG),
    Key(SUBGROUP_MINIMUM, Value.COUNT, needs=GANG),
    Key(START_TIMEOUT, Value.SPAN),
    Key(EXPECTED_RUNTIME, Value.DURATION),
    Key(PREEMPTIBLE, Value.FLAG),
    Key(TOPOLOGY_REQUIRED, Value.LEVEL),
    Key(TOPOLOGY_PREFERRED, Value.LEVEL),
    Key(SUBGROUP_TOPOLOGY_REQUIRED, Value.LEVEL, needs=SUBGROUP),
    Key(SUBGROUP_TOPOLOGY_PREFERRED, Value.LEVEL, needs=SUBGROUP),
    Key(SEGMENT_SIZE, Value.COUNT, needs=SEGMENT_TOPOLOGY),
    Key(SEGMENT_TOPOLOGY, Value.LEVEL, needs=SEGMENT_SIZE),
    Key(SUBGROUP_SEGMENT_SIZE, Value.COUNT, needs=SUBGROUP_SEGMENT_TOPOLOGY),
    Key(SUBGROUP_SEGMENT_TOPOLOGY, Value.LEVEL, needs=SUBGROUP),
    Key(TOPOLOGY_EXCLUSIVE, Value.LEVEL),
    Key(TOPOLOGY_EXCLUSIVE_AGAINST, Value.LABEL),
    Key(SUBGROUP_TOPOLOGY_EXCLUSIVE, Value.LEVEL, needs=SUBGROUP),
    Key(REPLICA_OF, Value.NAME, needs=TOPOLOGY_SPREAD),
    Key(TOPOLOGY_SPREAD, Value.LEVEL, needs=REPLICA_OF),
    Key(SUBGROUP_TOPOLOGY_SPREAD, Value.LEVEL, needs=SUBGROUP),
    Key(PATIENCE, Value.DURATION),
    Key(MOVABLE, Value.FLAG),
    Key(GPU_MODEL, Value.MODELS),
    Key(GPU_MEMORY_MINIMUM, Value.MEMORY),
    Key(CORDONED_DEVICES, Value.DEVICES, on=("Node",)),
    Key(DEVICE_LINKS, Value.DEVICES, on=("Node",)),
    Key(GPU_TOGETHER, Value.TOGETHER),
    Key(GPU_FRACTION, Value.FRACTION),
    Key(GPU_MEMORY, Value.MEMORY),
    Key(GPU_DEVICES, Value.DEVICE_COUNT),
    Key(GPU_GROUP, Value.GROUPS),
    Key(GPU_IDS, Value.GROUPS),
    Key(QUEUE, Value.NAME, "label", ("Pod", "Namespace")),
    Key(SCHEDULER_NAME, Value.NAME, "label", ("Namespace",)),
)

#: In percent. Two slips in a short word are still found, another word is not.
NEAR = 45


def annotation(key: str) -> str:
    """Return the field of an annotation."""
    return f"metadata.annotations[{key}]"


def label(key: str) -> str:
    """Return the field of a label."""
    return f"metadata.labels[{key}]"


@lru_cache(maxsize=8)
def keys_of(kind: str, place: str) -> tuple[str, ...]:
    """Return the keys that a kind may carry as annotations, or as labels."""
    return tuple(one.key for one in KEYS if kind in one.on and one.place == place)


def mistaken(kind: str, place: str, carried: Iterable[str]) -> tuple[str, str] | None:
    """Return the field of the first key under the prefix that this kind may not carry there, and what is wrong."""
    known = keys_of(kind, place)
    wrong = [key for key in carried if key.startswith(PREFIX) and key not in known]
    if not wrong:
        return None
    key = min(wrong)
    named = key if key.isascii() and key.isprintable() and len(key) < 80 else shown(key)
    return (annotation if place == "annotation" else label)(named), _why(kind, place, key, named)


def astray(place: str, carried: Iterable[str], pods: Container[str], at: str) -> tuple[str, str] | None:
    """Return what `mistaken` does of the first key that stands on what makes pods, and not on its pods.

    `pods`: the keys that they carry; `at`: the path of the pod's fields. Nobody reads a key of ours but on pods.
    """
    wrong = [key for key in carried if key.startswith(PREFIX) and key not in pods]
    if not wrong:
        return None
    meant = next((one for one in KEYS if one.key == min(wrong) and "Pod" in one.on), None)
    if meant is None:
        return mistaken("Pod", place, wrong)
    field = (annotation if place == "annotation" else label)(meant.key)
    return field, f"is read on pods only, allowed is {at}metadata.{meant.place}s"


def _why(kind: str, place: str, key: str, named: str) -> str:
    other = "label" if place == "annotation" else "annotation"
    if key in keys_of(kind, other):
        return f"is read as {other} only, not as {place}"
    kinds = next((one.on for one in KEYS if one.key == key), None)
    if kinds is not None:
        return f"is read on a {kinds[0]} only, not on a {kind}"
    near = nearest(key, keys_of(kind, place) + keys_of(kind, other))
    words = ", ".join(one.removeprefix(PREFIX) for one in keys_of(kind, place))
    return f"unknown key {named}, {f'did you mean {near}' if near else f'allowed under {PREFIX} are {words}'}"


def nearest(key: str, known: Iterable[str]) -> str | None:
    """Return the key that was probably meant.

    Counted is how many of its letters and pairs of letters stand in the unknown one: a rule that the API server's
    expressions can follow too, so that both say the same. The first of equals counts.
    """
    found = key.removeprefix(PREFIX).lower()
    best, most = None, NEAR - 1
    for one in known:
        parts = pieces(one.removeprefix(PREFIX))
        likeness = 200 * sum(part in found for part in parts) // (len(parts) + 2 * len(found) - 1)
        if likeness > most:
            best, most = one, likeness
    return best


@lru_cache(maxsize=64)
def pieces(word: str) -> tuple[str, ...]:
    """Return the letters of a word and its pairs of letters, each once."""
    return tuple(sorted({*word, *(word[at : at + 2] for at in range(len(word) - 1))}))
