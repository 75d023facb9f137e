"""The kinds that are watched: where each is served, and whether a cluster may lack it."""

from dataclasses import dataclass


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

WATCHED = (NODES, NAMESPACES, PODS, *WORKLOAD_KINDS)
