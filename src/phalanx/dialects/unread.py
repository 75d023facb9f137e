"""Systems whose gangs this version does not read: a pod that is marked for one of them is held, not placed alone."""

from collections.abc import Iterator

from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.dialect import Dialect
from phalanx.model.keys import annotation, label
from phalanx.model.task import Hold

_ANNOTATIONS = {
    "gang.scheduling.koordinator.sh/name": "Koordinator",
    "yunikorn.apache.org/task-group-name": "YuniKorn",
    "yunikorn.apache.org/task-groups": "YuniKorn",
}
_LABELS = {
    "kueue.x-k8s.io/pod-group-name": "Kueue",
    "pod-group.scheduling.sigs.k8s.io": "coscheduling",
    "pod-group.scheduling.sigs.k8s.io/name": "coscheduling",
    "scheduling.x-k8s.io/pod-group": "coscheduling",
}


def _holds(pod: Pod) -> Iterator[Hold]:
    annotations, labels = pod.metadata.annotations, pod.metadata.labels
    if annotations and not _ANNOTATIONS.keys().isdisjoint(annotations):
        key = min(_ANNOTATIONS.keys() & annotations)
        yield Hold(annotation(key), f"gangs of {_ANNOTATIONS[key]} are not read by this version")
    if labels and not _LABELS.keys().isdisjoint(labels):
        key = min(_LABELS.keys() & labels)
        yield Hold(label(key), f"gangs of {_LABELS[key]} are not read by this version")


UNREAD = Dialect(name="unread", holds=_holds)
