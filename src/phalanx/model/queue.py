"""A queue: a node in the tree that owns quota. Without any Queue object there is one, `default`, without bounds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from phalanx.model.axis import SUM_MAX
from phalanx.model.reference import Reference

#: A quota or a limit that bounds nothing. Sums stop here too, so two of them must never be added unchecked.
UNLIMITED = SUM_MAX
#: Weights are counted in thousandths: people write 0.5.
WEIGHT_ONE = 1000

Placement = Literal["pack", "spread"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a queue owns of one resource, in smallest units."""

    #: Guaranteed.
    quota: int = 0
    limit: int = UNLIMITED
    #: In thousandths: its part of what others leave idle.
    weight: int = WEIGHT_ONE
    #: Nobody else may use so much of the parent's, not even while it is idle.
    reserved: int = 0


@dataclass(frozen=True, slots=True)
class Queue:
    """A node in the tree. A resource that it does not list is not governed here."""

    name: str
    #: None: directly under the root.
    parent: str | None = None
    priority: int = 0
    terms: Mapping[str, Terms] = field(default_factory=dict[str, Terms])
    #: May use more than its quota when others leave it idle.
    borrowing: bool = True
    #: Its work, and that of the queues below it, may be moved to other nodes.
    consolidation: bool = True
    #: Other queues may reclaim what its work uses beyond what it is entitled to.
    reclaimable: bool = True
    #: Why nothing may start in it, or in the queues below it: the field and a sentence. What runs goes on.
    hold: str | None = None
    #: Queues that its system has without an object.
    companions: tuple["Queue", ...] = ()
    #: Seconds; None: its parent's.
    preempt_min_runtime: float | None = None
    reclaim_min_runtime: float | None = None
    #: Whose pods may use it; None: everybody's.
    namespaces: frozenset[str] | None = None
    #: Only who was granted the right may put work into it, which the API server asks when the work is applied.
    granted: bool = False
    #: None: its parent's, and in the end the policy's.
    placement: Placement | None = None
    #: Infinity where nobody knows yet: an object that was not made is younger than all that were.
    created: float = 0.0
    uid: str = ""
    #: As in `Reference`.
    kind: str = "Queue"
    #: The object's field that names the parent, for messages alone.
    parent_field: str = field(default="spec.parent", compare=False)

    @property
    def object(self) -> Reference:
        """Return which object it is."""
        return Reference(self.kind, self.name)


DEFAULT_QUEUE = Queue("default")
