"""What the order of a long queue costs per cycle: shares, order inside queues and between them, for 100,000 gangs.

The plain version sorts every leaf's gangs with Python keys and compares the queues of each parent by recursion; both
must put the same queue first. Times are the best of a few runs on this machine now: compare the ratios, not the times.
"""

import gc
import time
from collections.abc import Callable

import numpy as np

from phalanx.engine.opening import open_session
from phalanx.engine.plugin import Heads
from phalanx.engine.policy import Policy
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Units, gang_units
from phalanx.engine.waiting.order import asked, take_turns
from phalanx.model.axis import GPU, Int
from phalanx.model.events import NodeSeen, QueueSeen, TaskSeen
from phalanx.model.node import Node
from phalanx.model.queue import UNLIMITED, Queue, Terms
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import Shape, Task
from phalanx.policy.load import load_policy
from phalanx.world.world import World

POLICY = load_policy("default")
LEVELS = (4, 12, 36, 108, 240, 600)
GANGS = 100_000
#: How many decisions the cost of the next turn is measured over.
TURNS = 2_000


def company() -> Snapshot:
    """Return 1,000 queues on 6 levels and as many waiting gangs as there are in GANGS."""
    world = World()
    for number in range(100):
        world.apply(NodeSeen(Node(f"n{number:03}", allocatable={GPU: 8_000, "cpu": 96_000, "pods": 110})))
    above: list[str | None] = [None]
    for depth, count in enumerate(LEVELS):
        names = [f"q{depth}-{number:03}" for number in range(count)]
        for number, name in enumerate(names):
            terms = {GPU: Terms(1000 * (number % 4), UNLIMITED, 1000 * (1 + number % 3)), "cpu": Terms()}
            world.apply(QueueSeen(Queue(name, above[number % len(above)], number % 3, terms)))
        above = list(names)
    shapes = [Shape(((GPU, 1000 * (1 + kind % 4)), ("pods", 1)), priority=kind % 3) for kind in range(6)]
    for number in range(GANGS):
        name, queue = f"p{number:06}", above[number % len(above)]
        world.apply(TaskSeen(Task(name, "d", name, shapes[number % 6], created=float(number % 5000), queue=queue)))
    return world.compile(10_000.0)


def plain_order(session: Session, policy: Policy, units: Units, ask: Int) -> list[int]:
    """Return the leaf queues in the order of their turns, worked out by recursion with Python keys."""
    snapshot, table = session.snapshot, session.snapshot.queues
    columns = [plugin.gang_key(session, units).tolist() for plugin in policy.orders]
    queue, beyond = snapshot.gangs.queue[units.gang].tolist(), units.beyond.tolist()
    bands = [column for column, plugin in zip(columns, policy.orders, strict=True) if plugin.band]
    inside = [column for column, plugin in zip(columns, policy.orders, strict=True) if not plugin.band]
    lines: dict[int, list[int]] = {}
    for index, leaf in enumerate(queue):
        lines.setdefault(leaf, []).append(index)
    for line in lines.values():
        line.sort(key=lambda at: (*(one[at] for one in bands), beyond[at], *(one[at] for one in inside), at))
    children: dict[int, list[int]] = {}
    for row, parent in enumerate(table.parent.tolist()):
        children.setdefault(parent, []).append(row)

    def ordered(row: int) -> tuple[list[int], int]:
        """Return the leaves below a queue in order, and the unit that stands first there."""
        if row in lines:
            return [row], lines[row][0]
        below = []
        for child in children.get(row, []):
            leaves, first = ordered(child)
            if first >= 0:
                heads = Heads(units, np.array([first]), ask[[first]])
                answers = [plugin.queue_key(session, np.array([child]), heads) for plugin in policy.queue_orders]
                key = (*(column[0].item() for answer in answers for column in answer), int(table.age[child]))
                below.append((key, leaves, first))
        below.sort(key=lambda entry: entry[0])
        return [leaf for _, leaves, _ in below for leaf in leaves], below[0][2] if below else -1

    return ordered(-1)[0]


def best(run: Callable[[], object], times: int) -> float:
    """Return the shortest time of a few runs."""
    took = []
    for _ in range(times):
        gc.collect()
        start = time.perf_counter()
        run()
        took.append(time.perf_counter() - start)
    return min(took)


def main() -> None:
    """Print the table."""
    snapshot = company()
    session = open_session(snapshot, POLICY)
    units = gang_units(snapshot)
    everybody = np.ones(len(units), np.bool_)
    assert POLICY.share is not None
    share = POLICY.share
    shares = best(lambda: share.deserved(snapshot), 5)
    order = best(lambda: take_turns(session, POLICY, gang_units(snapshot), everybody), 5)
    slow = best(lambda: plain_order(session, POLICY, units, asked(session, units)), 2)
    turns = take_turns(session, POLICY, units, everybody)
    first = session.snapshot.gangs.queue[units.gang[turns.line()[0]]]
    assert first == plain_order(session, POLICY, units, asked(session, units))[0], "both put the same queue first"
    start = time.perf_counter()
    for _ in range(TURNS):
        turns.line()
        turns.done(1)
    each = (time.perf_counter() - start) / TURNS
    print(f"{len(snapshot.queues):,} queues on {snapshot.queues.levels} levels, {GANGS:,} waiting gangs")
    whole = (shares + order) * 1e3
    print(f"shares {shares * 1e3:.1f} ms, units and their order {order * 1e3:.1f} ms: {whole:.1f} ms a cycle")
    print(f"the same order by recursion with Python keys: {slow * 1e3:.0f} ms, {slow / order:.1f} times as long")
    print(f"each further turn, comparing one queue of each level anew: {each * 1e6:.0f} µs")


if __name__ == "__main__":
    main()
