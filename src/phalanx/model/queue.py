"""A queue owns quota. Without any Queue object there is one, `default`, and it has no bounds."""

from dataclasses import dataclass, field

from phalanx.model.axis import Amounts


@dataclass(frozen=True, slots=True)
class Queue:
    """A node in the tree that owns quota. A resource that is not listed is not governed here."""

    name: str
    parent: str | None = None
    priority: int = 0
    quota: Amounts = field(default_factory=dict[str, int])
    limit: Amounts = field(default_factory=dict[str, int])


DEFAULT_QUEUE = Queue("default")
