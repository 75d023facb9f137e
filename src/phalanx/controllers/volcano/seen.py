"""What the controller sees: a Job with its pods, its group and the commands for it, as plain values."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Struct

from phalanx.dialects.mistakes import Mistakes
from phalanx.dialects.timestamps import moment
from phalanx.dialects.volcano.pods import TASK

VERSION, RETRIES, INDEX = "volcano.sh/job-version", "volcano.sh/job-retry-count", "volcano.sh/task-index"
PARTITION = "volcano.sh/partition-id"
#: On a pod that its controller takes away: its end is nobody's failure.
MARK = "volcano.sh/controller-out-of-sync"

PENDING, RUNNING, SUCCEEDED, FAILED = PHASES = ("Pending", "Running", "Succeeded", "Failed")
FINISHED = frozenset({SUCCEEDED, FAILED})

_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)


class _Terminated(Struct, rename="camel"):
    exit_code: int = 0
    finished_at: str | None = None


class _State(Struct):
    terminated: _Terminated | None = None


class _Container(Struct, rename="camel"):
    state: _State | None = None
    restart_count: int = 0
    ready: bool = False


class _PodStatus(Struct, rename="camel"):
    phase: str = PENDING
    container_statuses: list[_Container] | None = None
    init_container_statuses: list[_Container] | None = None


class Owner(Struct, rename="camel"):
    """A reference to an owner."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Meta(Struct, rename="camel"):
    """As much of the metadata as counts here."""

    name: str
    uid: str
    namespace: str = ""
    resource_version: str = "0"
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None
    owner_references: list[Owner] | None = None

    @property
    def job(self) -> str | None:
        """Return the uid of the Job that controls it."""
        return next((one.uid for one in self.owner_references or () if one.controller and one.kind == "Job"), None)


class _Pod(Struct):
    metadata: Meta
    status: _PodStatus | None = None


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of a Job."""

    name: str
    task: str
    index: int
    #: The Job's version and retries when it was made.
    version: int = 0
    retries: int = 0
    uid: str = ""
    partition: str | None = None
    phase: str = PENDING
    #: It was told to go.
    leaving: bool = False
    #: Its controller takes it away.
    marked: bool = False
    created: float = 0.0
    #: Of the first container, as Volcano looks at it; None: it has not ended.
    exit_code: int | None = None
    ended: float | None = None
    restarts: int = 0
    #: Every container that has a status is ready.
    ready: bool = True

    @property
    def finished(self) -> bool:
        """Tell whether it has ended by itself."""
        return self.phase in FINISHED


_pod = msgspec.json.Decoder(_Pod)


def read_pod(raw: bytes | msgspec.Raw) -> tuple[Meta, Pod | None]:
    """Return a pod; None: it is no pod of a Job of Volcano's."""
    found = _pod.decode(raw)
    meta, status = found.metadata, found.status or _PodStatus()
    said = meta.annotations or {}
    if meta.job is None or TASK not in said or VERSION not in said:
        return meta, None
    containers = status.container_statuses or []
    ends = [one.state.terminated if one.state else None for one in containers]
    first = ends[0] if ends else None
    times = [at for one in ends if one and (at := time_of(one.finished_at)) is not None]
    restarts = sum(one.restart_count for one in (*containers, *(status.init_container_statuses or ())))
    labels = meta.labels or {}
    return meta, Pod(
        meta.name, said[TASK], _number(said.get(INDEX) or meta.name.rpartition("-")[2]), _number(said[VERSION]),
        _number(said.get(RETRIES, "")), meta.uid, labels.get(PARTITION),
        status.phase if status.phase in PHASES else "Unknown", meta.deletion_timestamp is not None, MARK in said,
        time_of(meta.creation_timestamp) or 0.0, first.exit_code if first else None, max(times, default=None),
        restarts, all(one.ready for one in containers),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    """The PodGroup of a Job."""

    name: str
    uid: str
    phase: str = ""
    spec: Mapping[str, Any] = field(default_factory=dict[str, Any])
    #: (type, message, when) of the last condition that is true.
    condition: tuple[str, str, str] | None = None

    @property
    def admitted(self) -> bool:
        """Tell whether pods may be made."""
        return self.phase not in {"", PENDING}


@dataclass(frozen=True, slots=True)
class Command:
    """What a person asks for."""

    name: str
    uid: str
    action: str
    created: float = 0.0


@dataclass(frozen=True, slots=True)
class View:
    """One Job and all that belongs to it."""

    document: Mapping[str, Any]
    pods: Mapping[str, Pod] = field(default_factory=dict[str, Pod])
    group: Group | None = None
    commands: tuple[Command, ...] = ()
    #: Priority classes by name.
    classes: Mapping[str, int] = field(default_factory=dict[str, int])
    #: Pods that went away since the last look.
    gone: tuple[Pod, ...] = ()
    #: Schedulers whose groups nobody else lets in before they have pods.
    lets_in: frozenset[str] = frozenset()


def time_of(text: str | None) -> float | None:
    """Return a time of the API server in seconds; None: there is none."""
    return moment(text, "", Mistakes(strict=False))


def _number(text: str) -> int:
    return int(text) if _NUMBER.fullmatch(text) else 0
