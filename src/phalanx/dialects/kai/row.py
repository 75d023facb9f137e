"""The row of KAI."""

from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.dialect import Dialect, Kind, Version, Wishes
from phalanx.dialects.kai import containers, objects, parts, pods, sharing
from phalanx.dialects.kai.groups import GROUP_VERSION, read_group
from phalanx.dialects.kai.queues import GROUP, QUEUE_VERSION, read_queue
from phalanx.dialects.kai.topologies import GROUP as OWN
from phalanx.dialects.kai.topologies import reader
from phalanx.dialects.mistakes import Mistakes
from phalanx.model.events import GroupsGone, QueueGone, TopologyGone


def _wishes(pod: Pod, alone: bool, priority: int, mistakes: Mistakes) -> Wishes | None:
    return Wishes(preemptible=pods.preemptible_alone(pod, priority, mistakes)) if alone else None


KAI = Dialect(
    name="kai",
    kinds=(
        Kind(
            kind="Queue",
            group=GROUP,
            plural="queues",
            namespaced=False,
            gone=QueueGone,
            awaited=True,
            versions=(Version(QUEUE_VERSION.rpartition("/")[2], objects.Queue, read_queue),),
        ),
        Kind(
            kind="PodGroup",
            group=GROUP,
            plural="podgroups",
            gone=GroupsGone,
            awaited=True,
            versions=(Version(GROUP_VERSION.rpartition("/")[2], objects.PodGroup, read_group),),
        ),
        Kind(
            kind="Topology",
            group=OWN,
            plural="topologies",
            namespaced=False,
            gone=TopologyGone,
            awaited=True,
            versions=(Version("v1alpha1", objects.Topology, reader(OWN)),),
        ),
    ),
    membership=pods.membership,
    references=pods.references,
    queue=pods.queue,
    wishes=_wishes,
    part=parts.part,
    groups=parts.groups,
    holds=containers.holds,
    config_maps=sharing.config_maps,
)
