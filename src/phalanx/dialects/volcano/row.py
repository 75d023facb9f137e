"""The row of Volcano."""

from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.dialect import Dialect, Kind, Maker, Version, Wishes
from phalanx.dialects.mistakes import Mistakes
from phalanx.dialects.volcano import jobs, objects, pods
from phalanx.dialects.volcano.groups import VERSION, read_group
from phalanx.dialects.volcano.hyper_nodes import GROUP as TOPOLOGY
from phalanx.dialects.volcano.hyper_nodes import read_hyper_node
from phalanx.dialects.volcano.queues import read_queue
from phalanx.dialects.volcano.status import group_status, queue_status
from phalanx.model.events import DomainGone, GroupsGone, QueueGone


def _wishes(pod: Pod, alone: bool, priority: int, mistakes: Mistakes) -> Wishes | None:
    del priority
    said = pods.preemptible_alone(pod, mistakes) if alone else None
    return None if said is None else Wishes(preemptible=said)


_VERSION = VERSION.rpartition("/")[2]

VOLCANO = Dialect(
    name="volcano",
    kinds=(
        Kind(
            kind="Queue",
            group=pods.GROUP,
            plural="queues",
            namespaced=False,
            gone=QueueGone,
            awaited=True,
            versions=(Version(_VERSION, objects.Queue, read_queue),),
            schedulers=(pods.SCHEDULER,),
            queue_life=queue_status,
        ),
        Kind(
            kind="PodGroup",
            group=pods.GROUP,
            plural="podgroups",
            gone=GroupsGone,
            awaited=True,
            versions=(Version(_VERSION, objects.PodGroup, read_group),),
            schedulers=(pods.SCHEDULER,),
            life=group_status,
            # Its definition has no subresource for the status.
            status_apart=False,
        ),
        Kind(
            kind="HyperNode",
            group=TOPOLOGY,
            plural="hypernodes",
            namespaced=False,
            gone=DomainGone,
            versions=(Version("v1alpha1", objects.HyperNode, read_hyper_node),),
        ),
    ),
    makers=(Maker("Job", f"{jobs.GROUP}/v1alpha1", jobs.made_of),),
    membership=pods.membership,
    otherwise=pods.otherwise,
    references=pods.references,
    queue=pods.queue,
    wishes=_wishes,
)
