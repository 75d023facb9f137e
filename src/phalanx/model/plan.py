"""The plan: the immutable value that a cycle returns. It can be printed, compared and sent as JSON."""

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple

from phalanx.model.sharing import RESOURCE
from phalanx.model.volume import Chosen


def devices_json(groups: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the devices of a task as the public contract has them."""
    return {RESOURCE: list(groups)} if groups else {}


def _devices_text(groups: tuple[str, ...]) -> str:
    return f" {RESOURCE}={','.join(groups)}" if groups else ""


def _volumes_text(chosen: tuple[Chosen, ...]) -> str:
    return "".join(f" {one.claim.rpartition('/')[2]}={one.volume or '(new)'}" for one in chosen)


class Code(Enum):
    """Why a gang waits, in one word that machines act on."""

    #: Only a change of its spec or of the nodes helps. Eviction does not.
    NEVER = "never"
    #: It would fit if others were not there.
    FULL = "full"
    #: A gate, members missing, a constraint that this version does not honour.
    HELD = "held"
    #: Ours.
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Refusals:
    """How many nodes one filter left without room, and its word for why."""

    plugin: str
    nodes: int
    text: str


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a gang waits, as data: every output renders this one record."""

    code: Code
    text: str
    #: Tasks that must be placed together, and how many of them would fit now.
    wanted: int = 0
    fit: int = 0
    nodes: int = 0
    refusals: tuple[Refusals, ...] = ()
    #: What else is to say, in order: a reservation, a search that stopped early, a start timeout that passed.
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "; ".join((self.text, *self.notes))

    def adding(self, note: str) -> "Reason":
        """Return the reason with one more note."""
        return replace(self, notes=(*self.notes, note))


class Bind(NamedTuple):
    """Put a task on a node, now."""

    task: str
    uid: str
    node: str
    gang: str
    gang_key: str
    #: The ids of the groups whose devices it shares there.
    devices: tuple[str, ...] = ()
    #: Its claims that get a volume with the node.
    volumes: tuple[Chosen, ...] = ()

    def text(self) -> str:
        """Return the step as one line."""
        return f"bind {self.task} {self.node}{_devices_text(self.devices)}{_volumes_text(self.volumes)}"

    def json(self) -> dict[str, Any]:
        """Return the step as the public contract has it."""
        devices = devices_json(self.devices)
        said = {"step": "bind", "pod": self.task, "node": self.node, "gang": self.gang, "devices": devices}
        return said | ({"volumes": {one.claim: one.volume for one in self.volumes}} if self.volumes else {})


class Nominate(NamedTuple):
    """Keep a place for a task that will take it once it is free."""

    task: str
    uid: str
    node: str
    gang: str
    gang_key: str
    #: The ids of the groups whose devices it shares there.
    devices: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the step as one line."""
        return f"nominate {self.task} {self.node}{_devices_text(self.devices)}"

    def json(self) -> dict[str, Any]:
        """Return the step as the public contract has it."""
        return {"step": "nominate", "pod": self.task, "node": self.node, "gang": self.gang}


class Release(NamedTuple):
    """Give up a nomination, and say why: the place is nobody's from now on."""

    task: str
    uid: str
    node: str
    gang: str
    gang_key: str
    reason: str

    def text(self) -> str:
        """Return the step as one line."""
        return f"release {self.task} {self.node}: {self.reason}"

    def json(self) -> dict[str, Any]:
        """Return the step as the public contract has it."""
        return {"step": "release", "pod": self.task, "node": self.node, "gang": self.gang, "reason": self.reason}


class Evict(NamedTuple):
    """Ask a task to leave its node, and say for whom and by which rule."""

    task: str
    uid: str
    node: str
    action: str
    beneficiary: str | None
    reason: str
    #: The key of the gang for which it is done, and of the gang that it leaves.
    gang_key: str | None = None
    victim_key: str = ""

    def text(self) -> str:
        """Return the step as one line."""
        whom = "" if self.beneficiary is None else f" for {self.beneficiary}"
        return f"evict {self.task} {self.node}{whom}: {self.reason}"

    def json(self) -> dict[str, Any]:
        """Return the step as the public contract has it."""
        return {
            "step": "evict", "pod": self.task, "node": self.node, "action": self.action,
            "for": self.beneficiary, "reason": self.reason,
        }  # fmt: skip


class Wait(NamedTuple):
    """A gang has members without a place, and this is why."""

    gang: str
    gang_key: str
    missing: int
    reason: Reason

    def text(self) -> str:
        """Return the step as one line."""
        return f"wait {self.gang} {self.missing} {self.reason.code.value}: {self.reason}"

    def json(self) -> dict[str, Any]:
        """Return the step as the public contract has it."""
        return {
            "step": "wait", "gang": self.gang, "missing": self.missing,
            "code": self.reason.code.value, "reason": str(self.reason),
        }  # fmt: skip


Step = Bind | Nominate | Release | Evict | Wait


@dataclass(frozen=True, slots=True)
class Search:
    """What one search for room looked at."""

    gang: str
    action: str
    #: Steps of the search budget that it took, and whether it stopped before it had looked at everything.
    steps: int
    stopped: bool
    found: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do now, in the order of decision."""

    now: float
    steps: tuple[Step, ...]
    #: Those that do something: all but the waits, which may be thousands.
    acts: tuple[Bind | Nominate | Release | Evict, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "acts", tuple([step for step in self.steps if type(step) is not Wait]))

    @property
    def binds(self) -> tuple[Bind, ...]:
        """Return the binds alone."""
        return tuple(step for step in self.acts if isinstance(step, Bind))

    @property
    def waits(self) -> tuple[Wait, ...]:
        """Return the waits alone."""
        return tuple(step for step in self.steps if isinstance(step, Wait))

    def text(self) -> str:
        """Return one line per step."""
        return "\n".join(step.text() for step in self.steps)

    def json(self) -> list[dict[str, Any]]:
        """Return the steps as the public contract has them."""
        return [step.json() for step in self.steps]

    def diff(self, other: "Plan") -> str:
        """Return what changes from this plan to the other, as a unified diff; empty when nothing does."""
        from difflib import unified_diff  # noqa: PLC0415 (no scheduler compares plans)

        lines = unified_diff(self.text().splitlines(), other.text().splitlines(), "before", "after", lineterm="", n=0)
        return "\n".join(lines)
