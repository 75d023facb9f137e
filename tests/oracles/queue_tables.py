"""Queue tables for tests: from queues and amounts, or from a few lines of text for one resource.

    lab            quota=4 limit=8
      vision       quota=1 weight=3 asks=2 allocated=1.5
      speech       quota=2 asks=2.5 priority=1

Indentation is the tree. Amounts are in whole units of the resource, and only leaves have them: parents have the sum.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from phalanx.model.axis import GPU, SUM_MAX, Amounts, Axis, Bool, Float, Int, unit
from phalanx.model.queue import UNLIMITED, WEIGHT_ONE, Placement, Queue, Terms
from phalanx.model.queue_table import QueueTable


@dataclass(frozen=True, slots=True)
class Use:
    """What the tasks of one leaf ask for and have."""

    requested: Amounts = field(default_factory=dict[str, int])
    allocated: Amounts = field(default_factory=dict[str, int])
    fixed: Amounts = field(default_factory=dict[str, int])
    usage: Mapping[str, float] = field(default_factory=dict[str, float])


def queue_table(queues: Sequence[Queue], uses: Mapping[str, Use], total: Amounts) -> QueueTable:
    """Return the table of queues that are in order. The resources are those of `total`."""
    by_name = {queue.name: queue for queue in queues}
    chains = {queue.name: _chain(queue, by_name) for queue in queues}
    ordered = sorted(queues, key=lambda queue: (len(chains[queue.name]), queue.name))
    row = {queue.name: number for number, queue in enumerate(ordered)}
    resources = tuple(sorted(total))
    parent = np.array([-1 if queue.parent is None else row[queue.parent] for queue in ordered], np.int64)
    leaf = ~np.isin(np.arange(len(ordered)), parent)
    seniority = sorted(ordered, key=lambda queue: (queue.created, queue.uid, queue.name))
    age = {queue.name: rank for rank, queue in enumerate(seniority)}
    shape = (len(ordered), len(resources))
    every = {name: uses.get(name, Use()) for name in row}
    return QueueTable(
        queues=tuple(ordered),
        row=row,
        parent=parent,
        depth=np.array([len(chains[queue.name]) - 1 for queue in ordered], np.int64),
        leaf=leaf,
        resources=resources,
        columns=np.array([Axis.of(resources).index[name] for name in resources], np.int64),
        grain=np.array([1000 if name.endswith("/gpu") else 1 for name in resources], np.int64),
        total=np.array([total[name] for name in resources], np.int64),
        **_terms(ordered, parent, leaf, resources),
        listed=np.array([[name in queue.terms for name in resources] for queue in ordered], np.bool_).reshape(shape),
        priority=np.array([queue.priority for queue in ordered], np.int64),
        age=np.array([age[queue.name] for queue in ordered], np.int64),
        allocated=_added_up((use.allocated for use in every.values()), parent, resources),
        fixed=_added_up((use.fixed for use in every.values()), parent, resources),
        requested=_added_up((use.requested for use in every.values()), parent, resources),
        usage=_past(every, parent, resources),
        placement=tuple(_placement(chains[queue.name], by_name) for queue in ordered),
        paths={
            int(number): np.array([row[name] for name in chains[ordered[number].name]], np.int64)
            for number in np.flatnonzero(leaf)
        },
    )


def queue_tree(text: str, total: float, resource: str = GPU) -> QueueTable:
    """Return the table of a text as above, for one resource."""
    queues: list[Queue] = []
    uses: dict[str, Use] = {}
    open_at: list[tuple[int, str]] = []

    def amount(written: str | None) -> int:
        if written in {None, "unlimited"}:
            return UNLIMITED
        return int(Fraction(str(written)) * unit(resource))

    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        indent = len(line) - len(line.lstrip())
        while open_at and open_at[-1][0] >= indent:
            open_at.pop()
        said = dict(word.split("=") for word in words[1:])
        terms = Terms(
            quota=amount(said.get("quota", "0")),
            limit=amount(said.get("limit")),
            weight=int(Fraction(said.get("weight", "1")) * WEIGHT_ONE),
        )
        parent = open_at[-1][1] if open_at else None
        priority = int(said.get("priority", "0"))
        queues.append(Queue(words[0], parent, priority, {resource: terms}, created=float(len(queues))))
        uses[words[0]] = Use(
            {resource: amount(said.get("asks", "0"))},
            {resource: amount(said.get("allocated", "0"))},
            {resource: amount(said.get("fixed", "0"))},
            {resource: float(said.get("usage", "0"))},
        )
        open_at.append((indent, words[0]))
    return queue_table(queues, uses, {resource: amount(str(total))})


def whole(table: QueueTable, share: Int) -> dict[str, float]:
    """Return a column of one resource by queue, in whole units."""
    return {name: int(share[row, 0]) / unit(table.resources[0]) for name, row in table.row.items()}


def _chain(queue: Queue, by_name: Mapping[str, Queue]) -> list[str]:
    above = [] if queue.parent is None else _chain(by_name[queue.parent], by_name)
    return [queue.name, *above]


def _terms(ordered: Sequence[Queue], parent: Int, leaf: Bool, resources: Sequence[str]) -> dict[str, Int]:
    found = [[queue.terms.get(name, Terms()) for name in resources] for queue in ordered]
    quota = np.array([[terms.quota for terms in row] for row in found], np.int64).reshape(len(ordered), len(resources))
    for row in reversed(range(len(ordered))):
        below = np.flatnonzero(parent == row)
        for column, name in enumerate(resources):
            if not leaf[row] and name not in ordered[row].terms:
                quota[row, column] = min(sum(quota[below, column].tolist()), SUM_MAX)
    limit = [
        [terms.limit if queue.borrowing else min(terms.limit, own) for terms, own in zip(row, quotas, strict=True)]
        for queue, row, quotas in zip(ordered, found, quota.tolist(), strict=True)
    ]
    weight = [[terms.weight for terms in row] for row in found]
    return {
        "quota": quota,
        "limit": np.array(limit, np.int64).reshape(quota.shape),
        "weight": np.array(weight, np.int64).reshape(quota.shape),
    }


def _added_up(said: Iterable[Amounts], parent: Int, resources: Sequence[str]) -> Int:
    """Return the amounts, every row added to its ancestors, saturating."""
    rows = [[amounts.get(name, 0) for name in resources] for amounts in said]
    for row in reversed(range(len(rows))):
        if parent[row] >= 0:
            above = rows[parent[row]]
            above[:] = [min(mine + its, SUM_MAX) for mine, its in zip(above, rows[row], strict=True)]
    return np.array(rows, np.int64).reshape(len(rows), len(resources))


def _past(uses: Mapping[str, Use], parent: Int, resources: Sequence[str]) -> Float:
    past = np.array([[use.usage.get(name, 0.0) for name in resources] for use in uses.values()], np.float64)
    past = past.reshape(len(uses), len(resources))
    for row in reversed(range(len(past))):
        if parent[row] >= 0:
            past[parent[row]] += past[row]
    return np.minimum(past, 1.0)


def _placement(chain: Sequence[str], by_name: Mapping[str, Queue]) -> Placement | None:
    return next((by_name[name].placement for name in chain if by_name[name].placement is not None), None)
