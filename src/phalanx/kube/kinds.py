"""The kinds that are watched: where each is served, and whether a cluster may lack it."""

from collections.abc import Container
from dataclasses import dataclass, field, replace

from phalanx.dialects import dialect, table
from phalanx.dialects.native import queues

#: The releases of Kubernetes that this is tried on.
KUBERNETES = ("1.35", "1.36", "1.37")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object at one address."""

    kind: str
    api_version: str
    #: Where all of them are, or those of one namespace.
    path: str = field(compare=False)
    #: Absent from many clusters: a 404 is normal, and it may appear later.
    optional: bool = False
    #: The same objects in an older version, to be watched where this one is not served.
    older: "Kind | None" = field(default=None, compare=False)
    #: Only objects with such labels are looked at.
    selector: str = field(default="", compare=False)

    @property
    def title(self) -> str:
        """Return what it is called in the log and in answers: there are several PodGroups."""
        return f"{self.kind} ({self.api_version})"


def _address(kind: dialect.Kind, versions: tuple[dialect.Version, ...]) -> Kind:
    """Return a kind in the first of these versions, which are newest first."""
    api_version = kind.api_version(versions[0])
    path = f"/{'apis' if kind.group else 'api'}/{api_version}/{kind.plural}"
    older = _address(kind, versions[1:]) if versions[1:] else None
    return Kind(kind.kind, api_version, path, kind.optional, older)


def watched(asks: Container[str] = ()) -> tuple[Kind, ...]:
    """Return every kind that some dialect reads on a cluster; some only where the policy `asks` for them."""
    every = (kind for row in table.TABLE.rows for kind in row.kinds if not kind.asked or kind.kind in asks)
    return tuple(one for kind in every for one in _watched(kind))


def _watched(kind: dialect.Kind) -> list[Kind]:
    versions = tuple(version for version in kind.versions if version.watched)
    return [_address(kind, versions)] if versions else []


def within(kind: Kind, namespace: str) -> Kind:
    """Return a kind as far as one namespace has it; what is in no namespace stays as it is."""
    known = table.TABLE.kind(kind.kind, kind.api_version)
    if known is None or not known.namespaced:
        return kind
    group_version, _, plural = kind.path.rpartition("/")
    older = within(kind.older, namespace) if kind.older else None
    return replace(kind, path=f"{group_version}/namespaces/{namespace}/{plural}", older=older)


def watched_kind(group: str, kind: str) -> Kind:
    """Return one of the watched kinds, by API group and kind."""
    return next(one for one in watched() if one.kind == kind and one.api_version.rpartition("/")[0] == group)


PODS = watched_kind("", "Pod")
NODES = watched_kind("", "Node")
NAMESPACES = watched_kind("", "Namespace")
CLAIMS = watched_kind("", "PersistentVolumeClaim")
VOLUMES = watched_kind("", "PersistentVolume")
BUDGETS = watched_kind("policy", "PodDisruptionBudget")
#: What is known of volumes.
STORAGE = frozenset(one for row in table.TABLE.rows for kind in row.kinds if kind.storage for one in _watched(kind))
#: Not watched: the API server has written what a runtime class costs into every pod that it took.
RUNTIME_CLASSES = Kind("RuntimeClass", "node.k8s.io/v1", "/apis/node.k8s.io/v1/runtimeclasses", optional=True)
#: Phalanx keeps the status of its own Queues.
QUEUES = watched_kind(queues.GROUP, queues.KIND)
