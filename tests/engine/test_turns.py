"""Whose turn it is: the quick way gives what comparing every queue anew before each decision gives."""

from dataclasses import replace

import numpy as np
from hypothesis import given

from phalanx.engine.decide import decide
from phalanx.engine.explain import ceiling
from phalanx.engine.opening import deserved, open_session
from phalanx.engine.plugin import Heads
from phalanx.engine.policy import Policy
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Units, gang_units
from phalanx.engine.steps import steps_of
from phalanx.engine.waiting.allocation import place_unit
from phalanx.engine.waiting.order import asked, in_order
from phalanx.model.events import Event, QueueSeen, TaskSeen
from phalanx.model.plan import Plan
from phalanx.model.snapshot import Snapshot
from phalanx.policy.load import load_policy
from phalanx.world.world import World
from tests.oracles.tenants import tenants

DEFAULT = load_policy("default")


def compiled(events: list[Event]) -> Snapshot:
    world = World()
    for event in events:
        world.apply(event)
    return world.compile(10.0)


def slowly(snapshot: Snapshot, policy: Policy) -> Plan:
    """Allocate by comparing all queues of all levels before each unit, one unit at a time."""
    session = open_session(snapshot, policy, deserved(snapshot, policy))
    units = gang_units(snapshot)
    order = in_order(session, policy, units).tolist()
    queue_of = snapshot.gangs.queue[units.gang].tolist()
    governed = bool(snapshot.queues.resources)
    lines: dict[int, list[int]] = {}
    for index in order:
        lines.setdefault(queue_of[index] if governed else -1, []).append(index)
    without: set[int] = set()
    while lines:
        leaf = _first(session, policy, units, lines)
        index = lines[leaf].pop(0)
        if not lines[leaf]:
            del lines[leaf]
        unit = units.unit(index)
        if unit.gang in without:
            continue
        reason = place_unit(session, policy, unit)
        if reason is not None:
            if unit.whole:
                without.add(unit.gang)
                for plugin in policy.noting:
                    if not plugin.hears_refusal(session, units)[index]:
                        continue
                    reason = plugin.refused(session, unit, reason, lambda shape: ceiling(session, policy, shape))
            session.wait(np.array([unit.gang]), [reason])
    return Plan(snapshot.now, steps_of(session, policy))


def _first(session: Session, policy: Policy, units: Units, lines: dict[int, list[int]]) -> int:
    """Return the leaf whose turn it is, by going down from the root."""
    table = session.snapshot.queues
    if set(lines) == {-1}:
        return -1

    def descend(row: int) -> int:
        """Return the leaf below a queue that stands first there, or -1."""
        if row >= 0 and table.leaf[row]:
            return row if row in lines else -1
        found = [(child, descend(child)) for child in np.flatnonzero(table.parent == row).tolist()]
        able = [(child, leaf) for child, leaf in found if leaf >= 0]
        if not able:
            return -1
        return min(able, key=lambda pair: key(*pair))[1]

    def key(row: int, leaf: int) -> tuple[object, ...]:
        index = np.array([lines[leaf][0]])
        heads = Heads(units, index, asked(session, units)[index])
        columns = [plugin.queue_key(session, np.array([row]), heads) for plugin in policy.queue_orders]
        return (*(column[0].item() for columns in columns for column in columns), int(table.age[row]))

    return descend(-1)


@given(tenants())
def test_the_quick_way_decides_as_the_slow_way(events: list[Event]) -> None:
    snapshot = compiled(events)
    quick, slow = decide(snapshot, DEFAULT), slowly(snapshot, DEFAULT)
    assert quick.binds == slow.binds
    # Refusals on which nothing depends may be told in another order.
    assert sorted(wait.text() for wait in quick.waits) == sorted(wait.text() for wait in slow.waits)


@given(tenants())
def test_no_queue_gets_more_than_its_limit_and_nothing_fixed_goes_beyond_a_quota(events: list[Event]) -> None:
    """Added up here by hand, over the whole chain above each pod."""
    world = World()
    for event in events:
        world.apply(event)
    queues = {event.queue.name: event.queue for event in events if isinstance(event, QueueSeen)}

    def used(*, fixed: bool) -> dict[tuple[str, str], int]:
        total: dict[tuple[str, str], int] = {}
        for task in world.tasks.values():
            gang = world.gang_of(task)
            if task.node is None or gang is None or (fixed and gang.preemptible):
                continue
            above: str | None = task.queue
            while above is not None:
                for name, amount in task.shape.requests:
                    total[above, name] = total.get((above, name), 0) + amount
                above = queues[above].parent
        return total

    before, before_fixed = used(fixed=False), used(fixed=True)
    world.assume(decide(world.compile(10.0), DEFAULT))
    for after, was, bound in ((used(fixed=False), before, "limit"), (used(fixed=True), before_fixed, "quota")):
        for (queue, name), amount in after.items():
            terms = queues[queue].terms.get(name)
            if terms is not None and amount > was.get((queue, name), 0):
                assert amount <= getattr(terms, bound), (queue, name, bound)


@given(tenants())
def test_the_order_in_which_queues_are_seen_changes_nothing(events: list[Event]) -> None:
    assert decide(compiled(events), DEFAULT) == decide(compiled(events[::-1]), DEFAULT)


@given(tenants())
def test_queues_without_bounds_or_shares_decide_as_no_queues_at_all(events: list[Event]) -> None:
    bare: list[Event] = [
        QueueSeen(replace(event.queue, terms={}, priority=0)) if isinstance(event, QueueSeen) else event
        for event in events
    ]
    none: list[Event] = [
        TaskSeen(replace(event.task, queue=None)) if isinstance(event, TaskSeen) else event
        for event in events
        if not isinstance(event, QueueSeen)
    ]
    assert decide(compiled(bare), DEFAULT).text() == decide(compiled(none), DEFAULT).text()
