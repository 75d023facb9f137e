"""Indexes: a pod's number among the pods of its controller, where that writes it down."""

from phalanx.dialects.core.pod_objects import Pod

#: Which of several equal jobs, or groups of pods, it belongs to; and its number inside.
_OUTER = (
    "jobset.sigs.k8s.io/job-global-index",
    "jobset.sigs.k8s.io/job-index",
    "leaderworkerset.sigs.k8s.io/group-index",
)
_INNER = (
    "batch.kubernetes.io/job-completion-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
    "training.kubeflow.org/replica-index",
    "kueue.x-k8s.io/pod-group-pod-index",
    "apps.kubernetes.io/pod-index",
)
_SAID = frozenset((*_OUTER, *_INNER))
#: As many digits as any controller counts with.
_DIGITS_MAX = 9


def index_of(pod: Pod) -> tuple[int, ...]:
    """Return its numbers, the outer one first; empty: nobody says them."""
    labels, annotations = pod.metadata.labels or {}, pod.metadata.annotations or {}
    if _SAID.isdisjoint(labels) and _SAID.isdisjoint(annotations):
        return ()
    found = []
    for keys in (_OUTER, _INNER):
        said = (labels.get(key) or annotations.get(key) for key in keys)
        found += [next((int(one) for one in said if one and one.isdecimal() and len(one) <= _DIGITS_MAX), None)]
    outer, inner = found
    if inner is None:
        return ()
    return (inner,) if outer is None else (outer, inner)
