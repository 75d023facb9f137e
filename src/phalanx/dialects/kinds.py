"""How objects are called in messages and books.

Several systems have a Queue and a PodGroup. Kubernetes' own and ours go by the bare kind; another system's has its
API group behind it, as in `kubectl get queues.scheduling.run.ai`.
"""

#: The API groups of other systems whose objects are read.
_FOREIGN = frozenset({"scheduling.run.ai"})


def called(kind: str, api_version: object) -> str:
    """Return the name of a kind: `Queue`, `Queue.scheduling.run.ai`."""
    group = api_version.rpartition("/")[0] if isinstance(api_version, str) else ""
    return f"{kind}.{group}" if group in _FOREIGN else kind
