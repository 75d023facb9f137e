"""Keys under `phalanx.dev/` that hold a pod: what is misspelled, what stands alone, and what is not honoured yet."""

from collections.abc import Iterator, Mapping

from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.native.parts import GROUPS, GROUPS_ALLOWED
from phalanx.model.keys import (
    GANG,
    KEYS,
    REPLICA_OF,
    SEGMENT_SIZE,
    SEGMENT_TOPOLOGY,
    SUBGROUP,
    SUBGROUP_SEGMENT_SIZE,
    SUBGROUP_SEGMENT_TOPOLOGY,
    SUBGROUP_TOPOLOGY_EXCLUSIVE,
    TOPOLOGY_EXCLUSIVE,
    TOPOLOGY_EXCLUSIVE_AGAINST,
    TOPOLOGY_SPREAD,
    Value,
    annotation,
    mistaken,
)
from phalanx.model.quantity import shown
from phalanx.model.task import Hold

_OF_GANGS = tuple(one.key for one in KEYS if one.needs in {GANG, SUBGROUP})
#: Each says half of something, and which says the other half.
_OTHER_HALF = {
    SEGMENT_SIZE: SEGMENT_TOPOLOGY,
    SUBGROUP_SEGMENT_SIZE: SUBGROUP_SEGMENT_TOPOLOGY,
    SEGMENT_TOPOLOGY: SEGMENT_SIZE,
    SUBGROUP_SEGMENT_TOPOLOGY: SUBGROUP_SEGMENT_SIZE,
    REPLICA_OF: TOPOLOGY_SPREAD,
    TOPOLOGY_SPREAD: REPLICA_OF,
}
_EXCLUSIVE = (TOPOLOGY_EXCLUSIVE, SUBGROUP_TOPOLOGY_EXCLUSIVE)
#: Ids that stand on pods with a device of their own.
_IDS = tuple(one.key for one in KEYS if one.value is Value.GROUPS)
#: Most pods have none of these.
_MORE = frozenset((*_OTHER_HALF, TOPOLOGY_EXCLUSIVE_AGAINST, *_IDS))


def holds(pod: Pod) -> Iterator[Hold]:
    """Yield what is wrong with the keys of a pod. A wrong key comes first: often it is why another one is missing."""
    annotations, labels = pod.metadata.annotations or {}, pod.metadata.labels or {}
    for place, carried in (("annotation", annotations), ("label", labels)):
        wrong = mistaken("Pod", place, carried) if carried else None
        if wrong is not None:
            yield Hold(*wrong)
    if GANG not in annotations:
        for key in _OF_GANGS:
            if key in annotations:
                yield Hold(annotation(key), f"means nothing without {GANG}")
    if not _MORE.isdisjoint(annotations):
        yield from _rarer(annotations)


def _rarer(annotations: Mapping[str, str]) -> Iterator[Hold]:
    """Yield what is wrong with keys that most pods do not have."""
    for one, other in _OTHER_HALF.items():
        if one in annotations and other not in annotations:
            yield Hold(annotation(one), f"means nothing without {other}")
    if TOPOLOGY_EXCLUSIVE_AGAINST in annotations and annotations.keys().isdisjoint(_EXCLUSIVE):
        yield Hold(annotation(TOPOLOGY_EXCLUSIVE_AGAINST), f"means nothing without {TOPOLOGY_EXCLUSIVE}")
    for key in _IDS:
        if not GROUPS.fullmatch(annotations.get(key, "0")):
            yield Hold(annotation(key), f"found {shown(annotations[key])}, allowed is {GROUPS_ALLOWED}")
