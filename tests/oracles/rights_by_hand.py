"""From whom a queue may reclaim, as the rules are written (docs/making-room.md), on plain dictionaries.

Shares come in from outside: how the cluster is divided has an oracle of its own (`division_oracle`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from phalanx.model.queue import UNLIMITED, Queue
from phalanx.model.task import Task
from phalanx.world.world import World
from tests.oracles.exhaustive import THERE, Amounts, Leaving, added, requests


@dataclass(frozen=True, slots=True)
class Books:
    """What every queue has and is entitled to, by name, ancestors included. Every queue lists every resource here."""

    queues: Mapping[str, Queue]
    share: Mapping[str, Mapping[str, int]]
    has: dict[str, Amounts]
    #: What all nodes have.
    total: Mapping[str, int]

    def path(self, leaf: str) -> list[str]:
        """Return a queue and all above it, the topmost last."""
        found = [leaf]
        while (above := self.queues[found[-1]].parent) is not None:
            found.append(above)
        return found

    def charge(self, leaf: str, amounts: Mapping[str, int], sign: int = 1) -> None:
        """Add to (or take from) a queue and all above it."""
        for name in self.path(leaf):
            for resource in self.queues[name].terms:
                self.has[name][resource] += sign * amounts.get(resource, 0)

    def entitled(self, leaf: str, ask: Mapping[str, int]) -> bool:
        """With what it asks for the queue stays within its share."""
        return all(
            self.has[leaf][resource] + ask.get(resource, 0) <= self.share[leaf][resource]
            for resource in self.queues[leaf].terms
        )

    def may_reclaim(self, leaf: str, ask: Mapping[str, int], victims: Sequence[Leaving]) -> bool:
        """Tell whether a queue may take all these units from others for what it asks for."""
        sides: dict[tuple[str, str], list[Leaving]] = {}
        for unit in victims:
            parted = self._parting(leaf, unit.tasks[0].queue or "")
            if parted is None:
                return False
            sides.setdefault(parted, []).append(unit)
        return self.entitled(leaf, ask) and all(
            self._in_turn(mine, theirs, ask, taken)
            and self._fair(mine, theirs, ask, taken)
            and self._goes_first(mine, theirs, ask, taken)
            and not self._comes_back(mine, theirs, ask, taken)
            for (mine, theirs), taken in sides.items()
        )

    def _parting(self, mine: str, theirs: str) -> tuple[str, str] | None:
        ours, others = self.path(mine), self.path(theirs)
        while ours and others and ours[-1] == others[-1]:
            ours.pop()
            others.pop()
        return (ours[-1], others[-1]) if ours and others else None

    def _in_turn(self, mine: str, theirs: str, ask: Mapping[str, int], taken: Sequence[Leaving]) -> bool:
        """(a) In some order, each unit is taken from a side that has too much until then.

        What is too much once others have gone was too much before, so it is enough that one unit can be the last.
        """
        within = self._within_quota(mine, self.has[mine], ask)
        for last in taken:
            gone = added(*(unit.gives for unit in taken if unit is not last))
            for resource, terms in self.queues[theirs].terms.items():
                left = self.has[theirs][resource] - gone.get(resource, 0)
                if left > self._may_have(theirs, resource) or (within and left > terms.quota):
                    return True
        return False

    def _may_have(self, name: str, resource: str) -> int:
        """Return a queue's quota or its share, whichever is more, within its limit."""
        terms = self.queues[name].terms[resource]
        return (
            terms.limit if terms.quota == UNLIMITED else min(terms.limit, max(terms.quota, self.share[name][resource]))
        )

    def _within_quota(self, name: str, has: Mapping[str, int], ask: Mapping[str, int]) -> bool:
        terms = self.queues[name].terms
        return all(has[resource] + ask.get(resource, 0) <= one.quota for resource, one in terms.items())

    def _goes_first(self, mine: str, theirs: str, ask: Mapping[str, int], taken: Sequence[Leaving]) -> bool:
        """(c) In some order, each unit, were it to wait again at once, would come after what we ask for."""
        ours = self._key(mine, self.has[mine], ask)

        def follows(last: Leaving, before: Sequence[Leaving]) -> bool:
            gone = added(*(unit.gives for unit in (*before, last)))
            has = {resource: amount - gone.get(resource, 0) for resource, amount in self.has[theirs].items()}
            return ours < self._key(theirs, has, last.gives)

        def in_turn(some: Sequence[Leaving]) -> bool:
            each = ((last, [unit for unit in some if unit is not last]) for last in some)
            return not some or any(follows(last, others) and in_turn(others) for last, others in each)

        return in_turn(taken)

    def _comes_back(self, mine: str, theirs: str, ask: Mapping[str, int], taken: Sequence[Leaving]) -> bool:
        """(d) A claim beyond our quota takes nothing that they could claim back within theirs."""
        gone = added(*(unit.gives for unit in taken))
        has = {resource: amount - gone.get(resource, 0) for resource, amount in self.has[theirs].items()}
        return not self._within_quota(mine, self.has[mine], ask) and any(
            self._within_quota(theirs, has, unit.gives) for unit in taken
        )

    def _key(self, name: str, has: Mapping[str, int], head: Mapping[str, int]) -> tuple[object, ...]:
        """Return where a queue stands among its siblings, with its first unit (the plugin `fairness`); first is least.

        Quotas and limits that leave a queue unlimited are not drawn where this is asked.
        """
        queue, share = self.queues[name], self.share[name]
        more = added(has, {resource: amount for resource, amount in head.items() if resource in queue.terms})
        may = {resource: self._may_have(name, resource) for resource in queue.terms}

        def dominant(amounts: Mapping[str, int]) -> Fraction:
            # Of what a queue may have nothing of, each GPU counts a thousand, and so does each thousandth of a core.
            nothing = {one: 1000 if one == "cpu" else 1 for one in may}
            return max(
                Fraction(amounts[one], may[one]) if may[one] else Fraction(amounts[one] * nothing[one]) for one in may
            )

        return (
            all(has[resource] > share[resource] for resource in queue.terms),
            not self._within_quota(name, has, head), -queue.priority,
            any(not amount and head.get(resource) for resource, amount in may.items()),
            dominant(more), dominant(has), sum(Fraction(may[one], max(self.total[one], 1)) for one in may),
            queue.created, queue.uid, name,
        )  # fmt: skip

    def _fair(self, mine: str, theirs: str, ask: Mapping[str, int], taken: Sequence[Leaving]) -> bool:
        """(b) We do not end above our share while they end no further above theirs."""
        gone = added(*(unit.gives for unit in taken))
        for resource in self.queues[mine].terms:
            if not (ask.get(resource) or gone.get(resource)):
                continue
            share, their = self.share[mine][resource], self.share[theirs][resource]
            if share == UNLIMITED or their <= 0:
                continue
            ours = self.has[mine][resource] + ask.get(resource, 0)
            others = self.has[theirs][resource] - gone.get(resource, 0)
            if ours > share and (share == 0 or Fraction(ours, share) >= Fraction(others, their)):
                return False
        return True


def books(world: World, share: Mapping[str, Mapping[str, int]]) -> Books:
    """Return the books of what runs now."""
    queues = {seen.queue.name: seen.queue for seen in world.queues.seen.values()}
    has = {name: dict.fromkeys(queue.terms, 0) for name, queue in queues.items()}
    found = Books(queues, share, has, added(*(node.allocatable for node in world.nodes.values())))
    for task in running(world):
        found.charge(task.queue or "", requests(task))
    return found


def running(world: World) -> Iterable[Task]:
    """Return our tasks on nodes, those that leave not counted."""
    return [task for task in world.tasks.values() if task.ours and task.state in THERE]
