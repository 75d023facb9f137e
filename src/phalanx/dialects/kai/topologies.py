"""Topology objects: KAI's (`kai.scheduler/v1alpha1`), and Kueue's, which has the same form."""

from collections.abc import Callable

from phalanx.dialects.kai import objects as api
from phalanx.dialects.mistakes import LABEL_KEY, FieldError, check_name
from phalanx.model.events import TopologySeen
from phalanx.model.quantity import shown
from phalanx.model.reference import Reference
from phalanx.model.tree import NODE

GROUP = "kai.scheduler"
KUEUE = "kueue.x-k8s.io"
TOPOLOGY_KIND = f"Topology.{GROUP}"

LEVELS_MAX = 16


def reader(group: str) -> Callable[[api.Topology], TopologySeen]:
    """Return what reads the Topology objects of an API group."""

    def read(topology: api.Topology) -> TopologySeen:
        meta, keys = topology.metadata, list[str]()
        check_name(meta.name, "metadata.name")
        listed = topology.spec.levels or ()
        if not 1 <= len(listed) <= LEVELS_MAX:
            raise FieldError("spec.levels", f"found {len(listed)} levels, allowed is 1 to {LEVELS_MAX}")
        for at, level in enumerate(listed):
            field = f"spec.levels[{at}].nodeLabel"
            if level.node_label is None or not LABEL_KEY.fullmatch(level.node_label):
                raise FieldError(field, f"found {shown(level.node_label)}, allowed is the key of a node label")
            if level.node_label in keys:
                raise FieldError(field, f"found {level.node_label} again, allowed is a level that no other is")
            if level.node_label == NODE.key and at + 1 < len(listed):
                raise FieldError(field, f"found {NODE.key}, allowed only as the lowest level")
            keys.append(level.node_label)
        return TopologySeen(Reference(f"Topology.{group}", meta.name), tuple(keys), meta.uid or "")

    return read
