"""Queue tables that hypothesis can think of: small trees with round numbers, so that ties are common."""

from dataclasses import replace

from hypothesis import strategies as st

from phalanx.model.axis import AMOUNT_MAX, SUM_MAX
from phalanx.model.queue import UNLIMITED, Queue, Terms
from phalanx.model.queue_table import QueueTable
from tests.oracles.queue_tables import Use, queue_table

RESOURCES = ("memory", "nvidia.com/gpu")

#: Whole and half GPUs, and a crumb.
AMOUNTS = st.sampled_from([0, 0, 1, 500, 1000, 1000, 1500, 2000, 3000, 4000, 7000])
HUGE = st.sampled_from([0, 1, 999, AMOUNT_MAX - 1, AMOUNT_MAX, SUM_MAX - 1, SUM_MAX])
WEIGHTS = st.sampled_from([0, 1, 500, 1000, 1000, 1000, 2000, 3000])
HUGE_WEIGHTS = st.sampled_from([0, 1, 1000, 2**31 - 1, 2**31, 2**40 + 1, AMOUNT_MAX, SUM_MAX])


@st.composite
def queue_tables(
    draw: st.DrawFn,
    amounts: st.SearchStrategy[int] = AMOUNTS,
    weights: st.SearchStrategy[int] = WEIGHTS,
    most: int = 8,
    *,
    flat: bool = False,
) -> QueueTable:
    """Draw a tree of queues with their terms, requests and past use."""
    queues: list[Queue] = []
    uses: dict[str, Use] = {}
    for number in range(draw(st.integers(1, most))):
        above = None if flat else draw(st.sampled_from([None, *(queue.name for queue in queues)]))
        terms = {
            name: Terms(draw(amounts | st.just(UNLIMITED)), draw(amounts | st.just(UNLIMITED)), draw(weights))
            for name in RESOURCES
            if draw(st.integers(0, 5))
        }
        queue = Queue(
            f"q{number}", above, draw(st.integers(0, 1)), terms, borrowing=draw(st.integers(0, 5)) > 0,
            created=float(draw(st.integers(0, 2))),
        )  # fmt: skip
        queues.append(queue)
        uses[queue.name] = Use(
            {name: draw(amounts) for name in RESOURCES},
            usage={name: draw(st.integers(0, 10)) / 10 for name in RESOURCES},
        )
    parents = {queue.parent for queue in queues}
    leaves = {name: use for name, use in uses.items() if name not in parents}
    return queue_table(queues, leaves, {name: draw(amounts) for name in RESOURCES})


def taken_apart(table: QueueTable) -> tuple[list[Queue], dict[str, Use], dict[str, int]]:
    """Return what a table was made of, so that it can be put together a little differently."""

    def of(queue: Queue) -> Use:
        row = table.row[queue.name]
        return Use(
            dict(zip(table.resources, table.requested[row].tolist(), strict=True)),
            usage=dict(zip(table.resources, table.usage[row].tolist(), strict=True)),
        )

    leaves = {queue.name: of(queue) for queue in table.queues if table.leaf[table.row[queue.name]]}
    return list(table.queues), leaves, dict(zip(table.resources, table.total.tolist(), strict=True))


def richer(table: QueueTable, more: int) -> QueueTable:
    """Return the same tree in a larger cluster."""
    return replace(table, total=table.total + more)
