"""The row of Kueue: what its users' pods wish of topology. Kueue's own objects are not read."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.dialect import Dialect
from phalanx.dialects.mistakes import LABEL_KEY, Mistakes
from phalanx.model.gang import Membership
from phalanx.model.keys import annotation
from phalanx.model.quantity import shown
from phalanx.model.task import Hold

_PODSET = "kueue.x-k8s.io/podset-"
REQUIRED = f"{_PODSET}required-topology"
PREFERRED = f"{_PODSET}preferred-topology"
SLICE_REQUIRED = f"{_PODSET}slice-required-topology"
SLICE_SIZE = f"{_PODSET}slice-size"
#: Slices in slices.
LAYERS = f"{_PODSET}slice-required-topology-constraints"
_COUNT = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_READ = frozenset({REQUIRED, PREFERRED, SLICE_REQUIRED, SLICE_SIZE})


def refine(said: Membership, pod: Pod, mistakes: Mistakes) -> Membership:
    """Return a membership with the wish of the pod's pod set: its subgroup's, or else that of the whole gang.

    A wish in the words of Phalanx counts before it.
    """
    annotations = pod.metadata.annotations
    if not annotations or _READ.isdisjoint(annotations):
        return said
    required, preferred, level = (_level(key, annotations, mistakes) for key in (REQUIRED, PREFERRED, SLICE_REQUIRED))
    size = _size(annotations, mistakes) if level is not None else None
    if said.subgroup is None:
        return replace(
            said,
            topology_required=said.topology_required or required,
            topology_preferred=said.topology_preferred or preferred,
            segment_size=said.segment_size or size,
            segment_topology=said.segment_topology or level,
        )
    return replace(
        said,
        subgroup_topology_required=said.subgroup_topology_required or required,
        subgroup_topology_preferred=said.subgroup_topology_preferred or preferred,
        subgroup_segment_size=said.subgroup_segment_size or size,
        subgroup_segment_topology=said.subgroup_segment_topology or level,
    )


def holds(pod: Pod) -> Iterator[Hold]:
    """Yield what this version does not honour, and half a wish."""
    annotations = pod.metadata.annotations or {}
    if LAYERS in annotations:
        yield Hold(annotation(LAYERS), "slices in slices are not honoured by this version")
    for one, other in ((SLICE_REQUIRED, SLICE_SIZE), (SLICE_SIZE, SLICE_REQUIRED)):
        if one in annotations and other not in annotations:
            yield Hold(annotation(one), f"means nothing without {other}")


def _level(key: str, annotations: Mapping[str, str], mistakes: Mistakes) -> str | None:
    level = annotations.get(key)
    if level is None or LABEL_KEY.fullmatch(level):
        return level
    mistakes.note(annotation(key), f"found {shown(level)}, allowed is the key of a node label")
    return None


def _size(annotations: Mapping[str, str], mistakes: Mistakes) -> int | None:
    text = annotations.get(SLICE_SIZE)
    if text is None or _COUNT.fullmatch(text):
        return None if text is None else int(text)
    mistakes.note(annotation(SLICE_SIZE), f"found {shown(text)}, allowed is a whole number from 1 to 999999999")
    return None


KUEUE = Dialect(name="kueue", refine=refine, holds=holds)
