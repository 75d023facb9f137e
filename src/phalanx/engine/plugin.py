"""The extension points, and how the answers of several plugins combine.

A plugin is a frozen dataclass that derives from `Plugin` and offers one or more of the methods below; a
method that is there is used. Its fields are its arguments in the policy file.

| point  | method                                              | combined by                              |
|--------|-----------------------------------------------------|------------------------------------------|
| Filter | `room(session, request) -> int[node] or None`       | MIN                                      |
| Score  | `score(session, request, nodes, copies) -> [entry]` | weighted sum, rounded to a grid          |
| Order  | `gang_key(session, units) -> column[unit]`          | lexicographic, in policy order, row last |
| Order  | `queue_key(session, queues, heads) -> columns`      | lexicographic, in policy order, age last |
| Veto   | `check(session, unit, taken) -> Reason or None`     | first wins                               |
| Victim | `mask(session, gang) -> bool[resident]`             | AND                                      |
| Take   | `take(session, request, devices) -> [entry]`        | weighted sum, rounded to a grid          |
| Share  | `deserved(snapshot) -> int[queue, resource]`        | exactly one                              |
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from phalanx.engine.kernels.by_caps import Caps
from phalanx.engine.kernels.copy_by_copy import Count
from phalanx.engine.session.column import Column
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Taken, Unit, Units
from phalanx.model.axis import Bool, Float, Int
from phalanx.model.plan import Reason
from phalanx.model.sharing import Sharing
from phalanx.model.snapshot import Snapshot
from phalanx.model.usage import ByUser, Memory

#: The room of a yes/no filter where the answer is yes. Small enough that sums over all nodes cannot wrap.
UNLIMITED = 2**31

#: How far one placement reaches: `node` means that placing on A never changes the answer for B.
Reach = Literal["node", "domain", "cluster"]

#: Of a shape: how many copies each node would take if nobody else were there, by all filters of the policy.
Ceiling: TypeAlias = Callable[[int], Int]


class Plugin:
    """What every plugin declares about itself. Override what differs."""

    __slots__ = ()

    name: ClassVar[str]
    #: Fields of a Shape that `room` looks at: shapes equal in them share its work. () means all of them.
    reads: ClassVar[tuple[str, ...]] = ()
    #: Labels of tasks that it looks at; a shape keeps no others.
    reads_labels: ClassVar[tuple[str, ...]] = ()
    #: It looks at the images of tasks and nodes; where no plugin does, a snapshot has none.
    reads_images: ClassVar[bool] = False
    reach: ClassVar[Reach] = "node"
    #: The answer to `room` does not depend on what this session placed: it is asked once per `reads`.
    static: ClassVar[bool] = False
    #: Its `room` follows from the spare amounts alone: as many copies as fit into them.
    by_amounts: ClassVar[bool] = False
    #: Gangs are whole units only when some plugin of the policy says so.
    groups: ClassVar[bool] = False
    #: Orders a gang anew after each full start timeout, which its reason then tells.
    requeues: ClassVar[bool] = False
    #: Its `queue_key` only lets some queues go first. Unless another plugin ranks them, all stand in one line.
    only_lifts: ClassVar[bool] = False
    #: Its `queue_key` also tells, read backwards, from which queue victims are taken first.
    finds_victims: ClassVar[bool] = False
    #: The layer of islands inside nodes that it looks at; the session then keeps their books.
    layer: ClassVar[str] = ""
    #: An order key of a whole band: growth of a gang waits for every minimum of the same band.
    band: ClassVar[bool] = False

    def columns(self, snapshot: Snapshot) -> Sequence[Column]:
        """Return the columns it needs: what a placement takes beside amounts. The ledger keeps them."""
        del snapshot
        return ()

    @property
    def label_keys(self) -> Sequence[str]:
        """Return the labels of tasks that it looks at, with these arguments."""
        return self.reads_labels

    @property
    def asks(self) -> Sequence[str]:
        """Return the kinds of objects that are read for it alone, with these arguments."""
        return ()

    def caps(self, session: Session, request: Request) -> Sequence[Caps]:
        """Return how its copies may lie in domains, where placing one changes what `room` says of other nodes."""
        del session, request
        return ()

    def opens(self, session: Session, request: Request) -> bool:
        """Tell whether copies may make room for each other on nodes that have none for the first.

        `room` then says where one of `request.count` copies may be, and `caps` says the rest.
        """
        del session, request
        return False

    def tally(self, session: Session, request: Request) -> "Tally | None":
        """Return its score as counts in domains, where each copy of this request adds to them; None: none does."""
        del session, request
        return None

    def reaches(self, session: Session, request: Request) -> bool:
        """Tell whether it must be asked again after each copy of this request. Asked where `reach` is not `node`.

        It need not where `room` for the first copy, and for the others `caps` and `tally`, say all.
        """
        del session, request
        return self.reach != "node"

    def sharing(self) -> Sharing | None:
        """Return how parts are put on devices, if it is this plugin that decides it."""
        return None

    def by_user(self) -> ByUser | None:
        """Return whose use is to be remembered inside queues, for `Snapshot.users`; None: nobody's."""
        return None

    @property
    def recalls(self) -> float | None:
        """Return for how many seconds it wants to know where members of gangs failed; None: it does not."""
        return None

    def hears_refusal(self, session: Session, units: Units) -> Bool:
        """Return, per unit, whether `refused` is to be called where it finds no place."""
        del session
        return np.ones(len(units), np.bool_)

    def refused(self, session: Session, unit: Unit, reason: Reason, ceiling: Ceiling) -> Reason:
        """Take note that the minimum of a gang found no place; return the reason, with a note or as it is."""
        del session, unit, ceiling
        return reason


@runtime_checkable
class Filter(Protocol):
    """How many more copies of the shape each node may take: 0 or UNLIMITED for a yes/no filter.

    None: it has nothing to say about this request, and costs nothing. Read the books through `session.spare`: it
    answers for now or for later, as the request says, and what is promised to the request's own gang does not count.

    `ceiling(session, request) -> int[node]`, the room if nobody else were there, is asked for where it
    exists: it tells `never` from `full`. A static filter's ceiling is its room; without one there is no limit.
    `limits(session, request, nodes) -> str`, what bounds the number of copies on nodes that take some, is asked for
    where it exists.
    """

    name: ClassVar[str]
    static: ClassVar[bool]
    reads: ClassVar[tuple[str, ...]]
    reach: ClassVar[Reach]
    by_amounts: ClassVar[bool]

    def caps(self, session: Session, request: Request) -> Sequence[Caps]:
        """Return how copies of this request may lie in domains; nothing where `room` says all."""
        ...

    def room(self, session: Session, request: Request) -> Int | None:
        """Return int[node], or None."""
        ...

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Explain why these nodes have no room: (how many, a few words), the commonest first."""
        ...


@runtime_checkable
class Score(Protocol):
    """How good one more copy on `nodes[i]` is when it already got `copies[i]` in this placement.

    None: it has nothing to say about this request, and costs nothing.
    """

    name: ClassVar[str]
    reach: ClassVar[Reach]

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float | None:
        """Return float[entry] in [0, 1], or None. Normalise over `request.candidates`."""
        ...


@runtime_checkable
class Take(Protocol):
    """How good single devices of a node are for a copy that takes part of one: the best that has room is taken.

    Of equals the tightest is taken, or the emptiest, as the policy says. It is asked once for all copies that are
    placed at once, and must not look at what was placed before.
    """

    name: ClassVar[str]

    def take(self, session: Session, request: Request, devices: Int) -> Float | None:
        """Return float[entry] in [0, 1] for these rows of `session.snapshot.nodes.devices`, or None."""
        ...


@runtime_checkable
class Order(Protocol):
    """A column that sorts ascending: the smallest goes first."""

    name: ClassVar[str]
    band: ClassVar[bool]

    def gang_key(self, session: Session, units: Units) -> Int | Float:
        """Return one key per unit."""
        ...


@runtime_checkable
class QueueOrder(Protocol):
    """Columns that sort ascending: of sibling queues, the one with the smallest goes first."""

    name: ClassVar[str]

    def queue_key(self, session: Session, queues: Int, heads: "Heads") -> Sequence[Int | Float | Bool]:
        """Return columns with one entry per queue. `heads` has the unit that stands first in each of them."""
        ...


@runtime_checkable
class Veto(Protocol):
    """A last word: asked before the search (`taken` is None) and after it, for every placement, now or later.

    A veto that only counts, and never looks at where tasks were placed, also has `copies(session, gang, shape) ->
    int`: how many more tasks of this shape of the gang's queue it would let pass; and `objects(session, units, asks)
    -> bool[unit]`: which units it would refuse now. Equal tasks are then decided at once.
    """

    name: ClassVar[str]

    def check(self, session: Session, unit: Unit, taken: Taken | None) -> Reason | None:
        """Return why this must not be, or None."""
        ...


@runtime_checkable
class Victim(Protocol):
    """Who may be evicted or moved for a waiting gang. A unit leaves only if all its tasks may."""

    name: ClassVar[str]

    def mask(self, session: Session, gang: int) -> Bool:
        """Return, per row of `session.residents`, whether it may leave for this row of the gang table."""
        ...


@runtime_checkable
class Share(Protocol):
    """Divides the cluster among queues. A frozen dataclass; its fields are its arguments in the policy file."""

    name: ClassVar[str]

    @property
    def memory(self) -> Memory | None:
        """Return which past use it wants to see in `QueueTable.usage`; None: it looks at the present alone."""
        ...

    def deserved(self, snapshot: Snapshot) -> Int:
        """Return int[queue, resource] over `snapshot.queues`: what each queue is entitled to now."""
        ...


@dataclass(frozen=True, slots=True)
class Tally:
    """A score that follows from what domains count, so that nobody need be asked after each copy that is counted."""

    counts: tuple[Count, ...]
    #: (of each count what each entry has, the entries over which it is normalised) -> float[entry] in [0, 1].
    score: Callable[[Sequence[Int], Int], Float]


@dataclass(frozen=True, slots=True)
class Heads:
    """The unit that stands first in each of some queues, and what it asks for."""

    #: None where they are victims and not waiting units.
    units: Units | None
    #: [queue]: index of the unit.
    index: Int
    #: [queue, resource], on the resources of the queue table.
    asks: Int


class PluginError(Exception):
    """A plugin gave an answer that cannot be used; the text names it."""


def yes_no(allowed: Bool) -> Int:
    """Return the room of a yes/no filter."""
    return np.where(allowed, np.int64(UNLIMITED), np.int64(0))
