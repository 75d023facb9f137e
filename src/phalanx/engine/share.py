"""The extension point that divides the cluster among queues. A policy has exactly one."""

from typing import ClassVar, Protocol, runtime_checkable

from phalanx.model.axis import Int
from phalanx.model.snapshot import Snapshot
from phalanx.model.usage import Memory


@runtime_checkable
class Share(Protocol):
    """A frozen dataclass; its fields are its arguments in the policy file."""

    name: ClassVar[str]

    @property
    def memory(self) -> Memory | None:
        """Return which past use it wants to see in `QueueTable.usage`; None: it looks at the present alone."""
        ...

    def deserved(self, snapshot: Snapshot) -> Int:
        """Return int[queue, resource] over `snapshot.queues`: what each queue is entitled to now."""
        ...
