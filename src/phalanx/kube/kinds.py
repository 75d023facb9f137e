"""The kinds that are watched: where each is served, and whether a cluster may lack it."""

from dataclasses import dataclass

from phalanx.dialects import budgets, kai, kai_groups, queues


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object at one address."""

    kind: str
    api_version: str
    path: str
    #: Absent from many clusters: a 404 is normal, and it may appear later.
    optional: bool = False


PODS = Kind("Pod", "v1", "/api/v1/pods")
NODES = Kind("Node", "v1", "/api/v1/nodes")
NAMESPACES = Kind("Namespace", "v1", "/api/v1/namespaces")

GROUP = "scheduling.k8s.io"
#: The Workload API by version, newest first. A release serves one of them; the object that says how many pods
#: start together is the Workload in the first version and the PodGroup in the later ones.
WORKLOAD_KINDS = tuple(
    Kind(kind, f"{GROUP}/{version}", f"/apis/{GROUP}/{version}/{plural}", optional=True)
    for version, kind, plural in (
        ("v1beta1", "PodGroup", "podgroups"),
        ("v1alpha2", "PodGroup", "podgroups"),
        ("v1alpha1", "Workload", "workloads"),
    )
)

PRIORITY_CLASSES = Kind("PriorityClass", f"{GROUP}/v1", f"/apis/{GROUP}/v1/priorityclasses")
BUDGETS = Kind(budgets.KIND, budgets.VERSION, f"/apis/{budgets.VERSION}/poddisruptionbudgets")

#: Our own queues, and KAI's objects: each is there once its definition was installed.
QUEUES = Kind(queues.KIND, queues.VERSION, f"/apis/{queues.VERSION}/queues", optional=True)
KAI_QUEUES = Kind("Queue", kai.QUEUE_VERSION, f"/apis/{kai.QUEUE_VERSION}/queues", optional=True)
KAI_GROUPS = Kind("PodGroup", kai_groups.GROUP_VERSION, f"/apis/{kai_groups.GROUP_VERSION}/podgroups", optional=True)

WATCHED = (NODES, NAMESPACES, PODS, PRIORITY_CLASSES, BUDGETS, QUEUES, KAI_QUEUES, KAI_GROUPS, *WORKLOAD_KINDS)
