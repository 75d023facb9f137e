"""BadNodes: a gang is not put back where its members failed, or were lost with their node, for a while."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import Plugin, yes_no
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Int
from phalanx.model.duration import Seconds

_HOUR = Seconds(3600.0)
#: So many nodes are named.
_NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class BadNodes(Plugin):
    """Keep a gang off nodes where it failed `failures` times, or was lost once with the node, `span` ago at most.

    What happened counts only if at least half of the gang was up on other nodes then: otherwise it may be the gang's
    own fault, or that of a whole rack. At most the `share` of all nodes is kept from one: those of the last failures.
    """

    span: Seconds = _HOUR
    failures: int = 2
    share: float = 0.2
    name: ClassVar[str] = "bad_nodes"
    #: It looks at no field of a shape; () would mean all of them.
    reads: ClassVar[tuple[str, ...]] = ("requests",)

    def __post_init__(self) -> None:
        """Check the arguments."""
        if self.failures < 1:
            raise ValueError(f"failures: found {self.failures}, allowed is at least 1")
        if not 0 <= self.share <= 1:
            raise ValueError(f"share: found {self.share}, allowed is 0 to 1")

    @property
    def recalls(self) -> float | None:
        """Return for how long failures are remembered."""
        return float(self.span)

    def room(self, session: Session, request: Request) -> Int | None:
        """Return no room on the bad nodes of a gang."""
        bad = self._bad(session, request)
        if not len(bad):
            return None
        room = yes_no(np.ones(len(session.snapshot.nodes), np.bool_))
        room[bad] = 0
        return room

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Name the nodes."""
        del request
        names = [session.snapshot.nodes.names[row] for row in nodes.tolist()]
        more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
        return [(len(names), f"where its members failed lately: {', '.join(names[:_NAMED_MAX])}{more}")]

    def _bad(self, session: Session, request: Request) -> Int:
        if request.gang not in session.fences.singled:
            return np.zeros(0, np.int64)
        return session.once(("bad_nodes", request.gang), lambda: self._found(session, request.gang), static=True)

    def _found(self, session: Session, gang: int) -> Int:
        snapshot = session.snapshot
        said = [one for one in snapshot.failures[snapshot.gangs.gangs[gang].key] if snapshot.now < one.at + self.span]
        times = Counter(one.node for one in said)
        bad = {one.node: one.at for one in sorted(said, key=lambda one: one.at)
               if one.lost or times[one.node] >= self.failures}  # fmt: skip
        rows = {snapshot.nodes.row[node]: at for node, at in bad.items() if node in snapshot.nodes.row}
        last = sorted(rows, key=lambda row: (-rows[row], row))
        return np.array(sorted(last[: int(self.share * len(snapshot.nodes))]), np.int64)
