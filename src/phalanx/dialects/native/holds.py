"""Keys under `phalanx.dev/` that hold a pod: what is not honoured yet, and what is misspelled."""

from collections.abc import Iterator
from difflib import get_close_matches

from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.native.annotations import ANNOTATIONS, GANG, SUBGROUP, SUBGROUP_MINIMUM, TOPOLOGY_REQUIRED
from phalanx.model.keys import MAXIMUM, MINIMUM, PREFIX, QUEUE, annotation, label
from phalanx.model.quantity import shown
from phalanx.model.task import Hold


def holds(pod: Pod) -> Iterator[Hold]:
    """Yield what is wrong with the keys of a pod."""
    annotations, labels = pod.metadata.annotations or {}, pod.metadata.labels or {}
    if not annotations and not labels:
        return
    if GANG not in annotations:
        for key in (MINIMUM, MAXIMUM, SUBGROUP, SUBGROUP_MINIMUM):
            if key in annotations:
                yield Hold(annotation(key), f"means nothing without {GANG}")
    for key in sorted(annotations):
        if key == TOPOLOGY_REQUIRED:
            yield Hold(annotation(key), "not honoured by this version")
        elif key.startswith(PREFIX) and key not in ANNOTATIONS:
            yield _unknown("annotation", key, ANNOTATIONS, ("label", (QUEUE,)))
    for key in sorted(labels):
        if key.startswith(PREFIX) and key != QUEUE:
            yield _unknown("label", key, (QUEUE,), ("annotation", ANNOTATIONS))


def _unknown(kind: str, key: str, known: tuple[str, ...], other: tuple[str, tuple[str, ...]]) -> Hold:
    """Return the hold for a key that does not exist: a slip there would lose a whole gang."""
    named = key if key.isascii() and key.isprintable() and len(key) < 80 else shown(key)
    field = annotation(named) if kind == "annotation" else label(named)
    if key in other[1]:
        return Hold(field, f"is read as {other[0]} only, not as {kind}")
    near = get_close_matches(key[:80], known, n=1)
    meant = f", did you mean {near[0]}? Known" if near else "; known"
    names = ", ".join(one.removeprefix(PREFIX) for one in known)
    return Hold(field, f"unknown {kind}{meant} under {PREFIX} are {names}")
