"""The row of Kueue: what its users' pods wish of topology. Kueue's own objects are not read."""

from dataclasses import replace

from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.dialect import Dialect
from phalanx.dialects.mistakes import LABEL_KEY, Mistakes
from phalanx.model.gang import Membership
from phalanx.model.keys import annotation
from phalanx.model.quantity import shown

REQUIRED = "kueue.x-k8s.io/podset-required-topology"
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"


def refine(said: Membership, pod: Pod, mistakes: Mistakes) -> Membership:
    """Return a membership with the wish of the pod's pod set: its subgroup's, or else that of the whole gang.

    A wish in the words of Phalanx counts before it.
    """
    annotations = pod.metadata.annotations
    if not annotations or (REQUIRED not in annotations and PREFERRED not in annotations):
        return said
    required, preferred = (_level(key, annotations, mistakes) for key in (REQUIRED, PREFERRED))
    if said.subgroup is None:
        return replace(
            said,
            topology_required=said.topology_required or required,
            topology_preferred=said.topology_preferred or preferred,
        )
    return replace(
        said,
        subgroup_topology_required=said.subgroup_topology_required or required,
        subgroup_topology_preferred=said.subgroup_topology_preferred or preferred,
    )


def _level(key: str, annotations: dict[str, str], mistakes: Mistakes) -> str | None:
    level = annotations.get(key)
    if level is None or LABEL_KEY.fullmatch(level):
        return level
    mistakes.note(annotation(key), f"found {shown(level)}, allowed is the key of a node label")
    return None


KUEUE = Dialect(name="kueue", refine=refine)
