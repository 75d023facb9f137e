"""A request: what a placement is asked for. A value: the same request on the same books has the same answer."""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from phalanx.model.axis import Bool, Int
from phalanx.model.queue import Placement

#: In the place of a gang: none asks (a moved task).
NOBODY = -1


class When(Enum):
    """Which space counts."""

    #: What is free, and promised to nobody else.
    NOW = "now"
    #: What will be free once every leaving task has left.
    LATER = "later"


@dataclass(frozen=True, slots=True)
class Request:
    """Places for `count` copies of a shape."""

    #: Row among the snapshot's shapes.
    shape: int
    count: int = 1
    #: Row of the gang that asks. What is promised to it does not count against it.
    gang: int = NOBODY
    when: When = When.NOW
    #: It must leave the reservation undisturbed: it is not expected to be gone when the reserved place is needed.
    beside: bool = True
    #: How its queue wants its nodes; None: as the policy says.
    placement: Placement | None = None
    #: [node]: the nodes it is confined to; None: any.
    within: Bool | None = field(default=None, compare=False)
    #: Rows that had room when the placement started. Scores are normalised over them.
    candidates: Int = field(default_factory=lambda: np.zeros(0, np.int64), compare=False)
    #: [entry of candidates]: how many copies each of them took then, by every filter.
    room: Int = field(default_factory=lambda: np.zeros(0, np.int64), compare=False)
