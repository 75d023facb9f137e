"""Taking: which devices the tasks of a placement share. The filter said how many copies fit; here each gets its own."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from phalanx.engine.session.devices import WHOLE_DEVICES, Devices
from phalanx.engine.session.islands import Islands
from phalanx.engine.session.parts import Offers
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.rows import distinct
from phalanx.model.axis import Float, Int
from phalanx.model.sharing import NOWHERE, Sharing

if TYPE_CHECKING:
    from phalanx.engine.session.session import Session

T = TypeVar("T")


def offered(session: "Session", request: Request) -> Offers:
    """Return what all nodes offer to copies of a request for parts."""
    assert session.devices is not None
    wholes = session.spare(request, 0, WHOLE_DEVICES)
    return session.devices.offers(request.shape, request.when, wholes, beside=request.beside)


def take_devices(session: "Session", request: Request, tasks: Int, nodes: Int, given: Int | None) -> Int | None:
    """Take the devices of tasks of one shape, rather those that were promised to them; return [entry, device].

    `given`: these and no others, without a question.
    """
    for layer in session.islands:
        _take_islands(session, layer, request, tasks, nodes)
    books, shape = session.devices, request.shape
    if books is None or books.parts[shape] is None:
        return None
    wished = None
    if len(tasks):
        before = books.tasks[tasks]
        there = (before[:, 0] != NOWHERE).all() and (books.table.node[before[:, 0]] == nodes).all()
        wished = before if there else None

    def found() -> Int:
        wholes = session.spare(request, 0, WHOLE_DEVICES)
        return books.place(request, nodes, wholes, wished)

    devices = with_own_devices(session, request.gang, found) if given is None else given
    (books.promise if request.when is When.LATER else books.occupy)(shape, devices)
    if len(tasks):
        rows = np.full((len(tasks), books.tasks.shape[1]), NOWHERE)
        rows[:, : devices.shape[1]] = devices
        session.write(books.tasks, tasks, rows)
    return devices


def _take_islands(session: "Session", books: Islands, request: Request, tasks: Int, nodes: Int) -> None:
    """Take the islands on which tasks of one shape will lie."""
    divided = np.diff(books.table.first)[nodes] > 0
    if not divided.any() or not books.table.asks[request.shape].any():
        return
    found = np.full((len(nodes), books.table.width), NOWHERE)
    place = lambda: books.place(request.shape, request.when, nodes[divided])  # noqa: E731
    found[divided] = with_own_devices(session, request.gang, place)
    (books.promise if request.when is When.LATER else books.occupy)(request.shape, found)
    if len(tasks):
        session.write(books.tasks, tasks, found)


def with_own_devices(session: "Session", gang: int, answer: Callable[[], T]) -> T:
    """Return an answer for which the devices that are promised to a gang, and not in use by this plan, are free."""
    tasks = session.promised_tasks(gang)
    tasks = tasks[session.place[tasks] < 0]
    shapes = session.snapshot.tasks.shape[tasks].tolist()
    shared = session.devices is not None and any(session.devices.parts[shape] is not None for shape in shapes)
    if not shared and not (session.islands and shapes):
        return answer()
    start = session.checkpoint()
    session.drop_promise(tasks)
    found = answer()
    session.rollback(start)
    return found


def islands_of(session: "Session", layer: str) -> Islands | None:
    """Return the books of a layer; None: no node is divided so."""
    return next((books for books in session.islands if books.table.layer == layer), None)


def island_room(session: "Session", layer: str, request: Request, *, insist: bool = False) -> Int | None:
    """Return how many copies may be on each node for the sake of one layer; None: nobody minds."""
    books = islands_of(session, layer)
    if books is None:
        return None
    return with_own_devices(
        session,
        request.gang,
        lambda: books.room(request.shape, request.when, beside=request.beside, insist=insist),
    )


def aligned(session: "Session", layer: str, request: Request, nodes: Int, copies: Int) -> Float | None:
    """Return 1 where the next copy is known to lie on as few islands as it can, else 0; None: it does not matter."""
    books = islands_of(session, layer)
    if books is None or not books.spans(request.shape):
        return None
    key = ("aligned", layer, request.shape, session.view(request))
    find = lambda: books.aligned(request.shape, request.when)  # noqa: E731
    found = session.once(key, lambda: with_own_devices(session, request.gang, find))
    return np.asarray(copies < found[nodes], np.float64)


def release_devices(session: "Session", tasks: Int) -> None:
    """Give back the devices that are promised to these tasks."""
    books = _books(session)
    shapes = session.snapshot.tasks.shape[tasks] if books else tasks
    # A loop over the shapes of one unit, or of those that land together.
    for shape in distinct(shapes).tolist() if books else ():
        for one in books:
            one.release(shape, tasks[shapes == shape])


def vacate_devices(session: "Session", running: Int) -> None:
    """Let tasks of the running table leave the devices that they share, and the islands on which they lie."""
    for books in _books(session):
        books.vacate(session.snapshot.running.shape[running], running)


def _books(session: "Session") -> list[Islands | Devices]:
    return [*session.islands] if session.devices is None else [*session.islands, session.devices]


def open_devices(session: "Session", sharing: Sharing | None, layers: tuple[str, ...], promised: Int) -> Devices | None:
    """Open the books of islands, and those of devices, where some are shared.

    Promises that name no device, or one that is gone, get others.
    """
    tables = [table for table in session.snapshot.islands if table.layer in layers]
    session.islands = [Islands(session.snapshot, table, session.journal) for table in tables]
    if session.snapshot.shared is None or sharing is None:
        return None
    spread = sharing.placement == "spread"
    books = session.devices = Devices(session.snapshot, session.journal, session.ledger, spread=spread)
    # A loop over promises of parts as the cycle began, which are few; most name their devices.
    for task in promised.tolist():
        shape, row = int(session.snapshot.tasks.shape[task]), np.array([task])
        if books.parts[shape] is None or books.tasks[task, 0] != NOWHERE:
            continue
        request, node = Request(shape, when=When.LATER), session.promise[row]
        offers = books.offers(shape, When.LATER, session.spare(request, 0, WHOLE_DEVICES), node, beside=False)
        if offers.room(offers.copies)[0] > 0:
            take_devices(session, request, row, node, None)
    return books
