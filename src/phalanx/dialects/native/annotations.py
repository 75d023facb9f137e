"""Gangs by annotation (`phalanx.dev/*`), for people who use no other system."""

import re
from dataclasses import replace
from functools import lru_cache

from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.dialect import QueueName, Wishes
from phalanx.dialects.mistakes import NAME_ALLOWED, FieldError, Mistakes, is_name, one_of
from phalanx.dialects.native.device_wishes import DEVICE_KEYS, device_wish
from phalanx.dialects.native.parts import PART_KEYS
from phalanx.dialects.timestamps import duration
from phalanx.model.gang import Membership
from phalanx.model.keys import (
    EXPECTED_RUNTIME,
    GANG,
    MAXIMUM,
    MINIMUM,
    MOVABLE,
    PATIENCE,
    PREEMPTIBLE,
    QUEUE,
    REPLICA_OF,
    SEGMENT_SIZE,
    SEGMENT_TOPOLOGY,
    START_TIMEOUT,
    SUBGROUP,
    SUBGROUP_MINIMUM,
    SUBGROUP_SEGMENT_SIZE,
    SUBGROUP_SEGMENT_TOPOLOGY,
    SUBGROUP_TOPOLOGY_EXCLUSIVE,
    SUBGROUP_TOPOLOGY_PREFERRED,
    SUBGROUP_TOPOLOGY_REQUIRED,
    SUBGROUP_TOPOLOGY_SPREAD,
    TOPOLOGY_EXCLUSIVE,
    TOPOLOGY_EXCLUSIVE_AGAINST,
    TOPOLOGY_PREFERRED,
    TOPOLOGY_REQUIRED,
    TOPOLOGY_SPREAD,
    annotation,
    keys_of,
    label,
)
from phalanx.model.quantity import shown

ANNOTATIONS = keys_of("Pod", "annotation")
#: These say which gang a pod is in and what makes it whole; the first two are needed.
DEFINING = (GANG, MINIMUM, MAXIMUM, SUBGROUP, SUBGROUP_MINIMUM)
#: What a gang says of itself; the same strings mean the same membership.
_OF_GANG = tuple(key for key in ANNOTATIONS if key not in {GANG, EXPECTED_RUNTIME, MOVABLE, *DEVICE_KEYS, *PART_KEYS})

#: What may be wished for a gang whoever says who belongs to it.
_WISHES = (
    START_TIMEOUT, PREEMPTIBLE, TOPOLOGY_REQUIRED, TOPOLOGY_PREFERRED, SEGMENT_SIZE, SEGMENT_TOPOLOGY,
    TOPOLOGY_EXCLUSIVE, TOPOLOGY_EXCLUSIVE_AGAINST, REPLICA_OF, TOPOLOGY_SPREAD, PATIENCE,
)  # fmt: skip
#: What is said of a subgroup.
_OF_SUBGROUP = (
    SUBGROUP_MINIMUM, SUBGROUP_TOPOLOGY_REQUIRED, SUBGROUP_TOPOLOGY_PREFERRED, SUBGROUP_SEGMENT_SIZE,
    SUBGROUP_SEGMENT_TOPOLOGY, SUBGROUP_TOPOLOGY_EXCLUSIVE, SUBGROUP_TOPOLOGY_SPREAD,
)  # fmt: skip

#: What a pod says of itself.
_OF_POD = frozenset({MOVABLE, EXPECTED_RUNTIME, PREEMPTIBLE, PATIENCE, *DEVICE_KEYS})

COUNT_MAX = 2**31 - 1
COUNT = re.compile(r"[0-9]{1,10}", re.ASCII)
LEVEL = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_./]{0,315}[A-Za-z0-9])?", re.ASCII)
#: A label of pods, or a label with its value.
LABEL = re.compile(
    r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
    r"(?:=(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?)?",
    re.ASCII,
)
LABEL_ALLOWED = "a label of pods: KEY or KEY=VALUE"
COUNT_ALLOWED = f"a whole number from 1 to {COUNT_MAX}"
LEVEL_ALLOWED = "a node label key or the name of a level"
FLAGS = ("true", "false")


def membership(pod: Pod, namespace: str, mistakes: Mistakes) -> Membership | None:
    """Return what a pod says of its gang, or None without one (or, noted, with a bad one)."""
    annotations = pod.metadata.annotations or {}
    gang = annotations.get(GANG)
    try:
        if gang is None:
            return None
        return _membership(namespace, gang, tuple(map(annotations.get, _OF_GANG)))
    except FieldError as mistake:
        mistakes.note(mistake.field, mistake.message)
        return None


def refine(said: Membership, pod: Pod, mistakes: Mistakes) -> Membership:
    """Return what another dialect says of a pod's gang, with the wishes that its annotations add."""
    annotations = pod.metadata.annotations or {}
    given = {key: annotations[key] for key in _WISHES if key in annotations}
    if not given:
        return said
    try:
        return replace(
            said,
            start_timeout=_start_timeout(given) or said.start_timeout,
            preemptible=_flag(PREEMPTIBLE, given),
            topology_required=_level(TOPOLOGY_REQUIRED, given),
            topology_preferred=_level(TOPOLOGY_PREFERRED, given),
            segment_size=_count(SEGMENT_SIZE, given),
            segment_topology=_level(SEGMENT_TOPOLOGY, given),
            topology_exclusive=_level(TOPOLOGY_EXCLUSIVE, given),
            topology_exclusive_against=_label(given),
            replica_of=_name(REPLICA_OF, given),
            topology_spread=_level(TOPOLOGY_SPREAD, given),
            patience=_seconds(PATIENCE, given),
        )
    except FieldError as mistake:
        mistakes.note(mistake.field, mistake.message)
        return said


def descriptions(pod: Pod) -> list[str]:
    """Return the annotations that describe a gang, unless there are enough to compare it with what an object says."""
    annotations = pod.metadata.annotations
    given = [key for key in DEFINING if key in annotations] if annotations else []
    return [] if given[:2] == [GANG, MINIMUM] else [annotation(key) for key in given]


def wishes(pod: Pod, alone: bool, priority: int, mistakes: Mistakes) -> Wishes | None:
    """Return what a pod says of itself. One whose word on being moved cannot be read stays where it is."""
    del priority
    annotations = pod.metadata.annotations
    if not annotations or _OF_POD.isdisjoint(annotations):
        return None
    # The members of a gang say these two in their membership.
    preemptible = _noted_flag(PREEMPTIBLE, annotations, mistakes) if alone else None
    patience = _noted_seconds(PATIENCE, annotations, mistakes) if alone else None
    movable = MOVABLE not in annotations or _noted_flag(MOVABLE, annotations, mistakes) is True
    expected = _noted_seconds(EXPECTED_RUNTIME, annotations, mistakes)
    return Wishes(movable, expected, preemptible, patience, device_wish(annotations, mistakes))


def _noted_flag(key: str, annotations: dict[str, str], mistakes: Mistakes) -> bool | None:
    if key not in annotations:
        return None
    try:
        return _flag(key, annotations)
    except FieldError as mistake:
        mistakes.note(mistake.field, mistake.message)
        return None


def _noted_seconds(key: str, annotations: dict[str, str], mistakes: Mistakes) -> float | None:
    if key not in annotations:
        return None
    try:
        return _seconds(key, annotations)
    except FieldError as mistake:
        mistakes.note(mistake.field, mistake.message)
        return None


def queue(pod: Pod, mistakes: Mistakes) -> QueueName | None:
    """Return the queue that a pod names."""
    name = (pod.metadata.labels or {}).get(QUEUE)
    if name is None or is_name(name):
        return QueueName(name, label(QUEUE)) if name else None
    mistakes.note(label(QUEUE), f"found {shown(name)}, allowed is {NAME_ALLOWED}")
    return None


@lru_cache(maxsize=8192)
def _membership(namespace: str, gang: str, values: tuple[str | None, ...]) -> Membership:
    """Read the annotations of one gang. Its pods say the same, so it is done once."""
    given = {key: value for key, value in zip(_OF_GANG, values, strict=True) if value is not None}
    _check_name(GANG, gang)
    minimum, maximum = _count(MINIMUM, given), _count(MAXIMUM, given)
    if minimum is not None and maximum is not None and maximum < minimum:
        raise _mistake(MAXIMUM, f"found {maximum}, allowed is at least {MINIMUM}, which is {minimum}")
    subgroup, subgroup_minimum = given.get(SUBGROUP), _count(SUBGROUP_MINIMUM, given)
    if subgroup is not None:
        _check_name(SUBGROUP, subgroup)
    else:
        for key in _OF_SUBGROUP:
            if key in given:
                raise _mistake(key, f"found {given[key]}, allowed only with {SUBGROUP}")
    return Membership(
        gang=f"{namespace}/{gang}",
        minimum=minimum,
        maximum=maximum,
        subgroup=subgroup,
        subgroup_minimum=subgroup_minimum,
        start_timeout=_start_timeout(given),
        preemptible=_flag(PREEMPTIBLE, given),
        topology_required=_level(TOPOLOGY_REQUIRED, given),
        topology_preferred=_level(TOPOLOGY_PREFERRED, given),
        subgroup_topology_required=_level(SUBGROUP_TOPOLOGY_REQUIRED, given),
        subgroup_topology_preferred=_level(SUBGROUP_TOPOLOGY_PREFERRED, given),
        segment_size=_count(SEGMENT_SIZE, given),
        segment_topology=_level(SEGMENT_TOPOLOGY, given),
        subgroup_segment_size=_count(SUBGROUP_SEGMENT_SIZE, given),
        subgroup_segment_topology=_level(SUBGROUP_SEGMENT_TOPOLOGY, given),
        topology_exclusive=_level(TOPOLOGY_EXCLUSIVE, given),
        topology_exclusive_against=_label(given),
        subgroup_topology_exclusive=_level(SUBGROUP_TOPOLOGY_EXCLUSIVE, given),
        replica_of=_name(REPLICA_OF, given),
        topology_spread=_level(TOPOLOGY_SPREAD, given),
        subgroup_topology_spread=_level(SUBGROUP_TOPOLOGY_SPREAD, given),
        patience=_seconds(PATIENCE, given),
    )


def _mistake(key: str, message: str) -> FieldError:
    return FieldError(annotation(key), message)


def _check_name(key: str, name: str) -> None:
    if not is_name(name):
        raise _mistake(key, f"found {shown(name)}, allowed is {NAME_ALLOWED}")


def _name(key: str, given: dict[str, str]) -> str | None:
    if key in given:
        _check_name(key, given[key])
    return given.get(key)


def _label(given: dict[str, str]) -> str | None:
    text = given.get(TOPOLOGY_EXCLUSIVE_AGAINST)
    if text is not None and not LABEL.fullmatch(text):
        raise _mistake(TOPOLOGY_EXCLUSIVE_AGAINST, f"found {shown(text)}, allowed is {LABEL_ALLOWED}")
    return text


def _count(key: str, given: dict[str, str]) -> int | None:
    text = given.get(key)
    if text is None:
        return None
    if not COUNT.fullmatch(text) or not 1 <= int(text) <= COUNT_MAX:
        raise _mistake(key, f"found {shown(text)}, allowed is {COUNT_ALLOWED}")
    return int(text)


def _seconds(key: str, given: dict[str, str]) -> float | None:
    text = given.get(key)
    if text is None:
        return None
    try:
        return duration(text)
    except ValueError as error:
        raise _mistake(key, str(error)) from None


def _start_timeout(given: dict[str, str]) -> float | None:
    seconds = _seconds(START_TIMEOUT, given)
    if seconds == 0:
        raise _mistake(START_TIMEOUT, "found 0, allowed is more than zero")
    return seconds


def _flag(key: str, given: dict[str, str]) -> bool:
    text = given.get(key, "true")
    if text not in FLAGS:
        raise _mistake(key, one_of(text, FLAGS))
    return text == "true"


def _level(key: str, given: dict[str, str]) -> str | None:
    text = given.get(key)
    if text is not None and not LEVEL.fullmatch(text):
        raise _mistake(key, f"found {shown(text)}, allowed is {LEVEL_ALLOWED}")
    return text
