"""What the core asks for: writes, the status, what people are told, and when it wants to look again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from phalanx.controllers.volcano.seen import Command, Group, Pod
from phalanx.controllers.volcano.status import Status

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Create:
    """Make an object; one of the Job's own that is there already will do."""

    object: Object
    #: Its `data` must be as given here, also where it is there already.
    exact: bool = False


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    """Merge into the group."""

    group: Group
    patch: Object


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Take a pod away."""

    pod: Pod
    #: Say so on the pod first: the Job's version does not tell it.
    mark: bool = False


@dataclass(frozen=True, slots=True)
class DeleteGroup:
    """Take the group away."""

    group: Group


@dataclass(frozen=True, slots=True)
class Discard:
    """Take away what a plugin has made, if it is the Job's."""

    object: Object


@dataclass(frozen=True, slots=True)
class DeleteCommand:
    """A command has been carried out."""

    command: Command


@dataclass(frozen=True, slots=True)
class DeleteJob:
    """Its time after its end is over."""


Write = Create | ChangeGroup | DeletePod | DeleteGroup | Discard | DeleteCommand | DeleteJob


@dataclass(frozen=True, slots=True)
class Note:
    """What people are told, as an event of the Job."""

    reason: str
    text: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """What is kept between looks. Without it nothing is done twice, and a delay may begin anew."""

    #: Nothing was looked at yet.
    fresh: bool = True
    #: When causes that do not say so were seen first.
    since: Mapping[str, float] = field(default_factory=dict[str, float])
    #: The table of names as it was written last.
    table: Mapping[str, str] | None = None
    #: The condition of the group that was told.
    told: tuple[str, str, str] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step: first the writes, then the status; then another look, if there was anything to do."""

    memory: Memory
    writes: tuple[Write, ...] = ()
    status: Status | None = None
    notes: tuple[Note, ...] = ()
    #: When to look again though nothing happens.
    wake: float | None = None
    #: The pods must be read from the server before more is decided.
    look: bool = False
    #: Pods that went away and are still a cause.
    keep: tuple[Pod, ...] = ()

    @property
    def idle(self) -> bool:
        """Tell whether there is nothing to do now."""
        return not (self.writes or self.status or self.look)
