"""In vain: why evicting the less important would not help who waits, as kube-scheduler's users read it."""

from dataclasses import dataclass, field

import numpy as np

from phalanx.engine.explain import ceiling
from phalanx.engine.policy import Policy
from phalanx.engine.session.session import Session
from phalanx.model.axis import Bool, Int

#: The priority that counts for a node on which nobody is.
_NOBODY = np.iinfo(np.int64).max


@dataclass(slots=True)
class InVain:
    """Counts the nodes by why preemption does not help there, once for each kind of unit."""

    session: Session
    policy: Policy
    #: [node]: the lowest priority of the pods on it, whichever scheduler placed them; those that leave do not count.
    lowest: Int = field(init=False)
    _known: dict[tuple[int, int], str] = field(init=False, default_factory=dict[tuple[int, int], str])

    def __post_init__(self) -> None:
        """Look at who is on the nodes."""
        table, shapes = self.session.snapshot.occupancy, self.session.snapshot.shapes
        here = table.here > 0
        priority = np.array([shape.priority for shape in shapes], np.int64)
        self.lowest = np.full(len(self.session.snapshot.nodes), _NOBODY)
        np.minimum.at(self.lowest, table.node[here], priority[table.shape[here]])

    def above_somebody(self, priority: Int) -> Bool:
        """Return, per priority, whether somebody of a lower one is on a node: else nobody expects to be preempted."""
        return np.asarray(priority > self.lowest.min(initial=_NOBODY))

    def note(self, shape: int, priority: int) -> str:
        """Say why preemption helps nowhere, for a unit that was refused."""
        key = (shape, priority)
        if key not in self._known:
            helpful = ceiling(self.session, self.policy, shape) > 0
            below = helpful & (self.lowest < priority)
            counts = {
                "where it would not help": int(np.count_nonzero(~helpful)),
                "with nobody of lower priority": int(np.count_nonzero(helpful & ~below)),
                "where those of lower priority may not leave or would not free enough": int(np.count_nonzero(below)),
            }
            said = ", ".join(f"{count} {text}" for text, count in counts.items() if count)
            self._known[key] = f"preemption: 0/{len(helpful)} nodes: {said}"
        return self._known[key]
