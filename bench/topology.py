"""What wishes for one domain cost: a large gang on a large tree, and a backlog of gangs, with and without wishes.

The loop asks domain after domain how many copies fit into it, as a scheduler does that filters the nodes of each domain
by itself. Times are the best of a few runs on this machine now, on a snapshot whose tree is known: compare the ratios.
"""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bench.decisions import GIB, shape
from phalanx.engine.decide import decide
from phalanx.engine.opening import open_session
from phalanx.engine.placement.copies import copies
from phalanx.engine.placement.find import request_of
from phalanx.engine.placement.place import place
from phalanx.model.events import NodeSeen, TaskSeen
from phalanx.model.gang import Membership, Segments
from phalanx.model.node import Node
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import Task
from phalanx.policy.load import load_policy
from phalanx.world.world import World

POLICY = load_policy("default")
LABEL = "topology.kubernetes.io/"


def backlog(
    nodes: int, gangs: int, size: int, required: str | None, preferred: str | None, segments: Segments | None = None
) -> Snapshot:
    """Return empty nodes of 8 GPUs, 32 in a rack, 25 racks in a block, 16 blocks in a zone; and gangs that wait."""
    world = World()
    amounts = {"cpu": 96_000, "memory": 1024 * GIB, "pods": 110, "ephemeral-storage": 2**40, "nvidia.com/gpu": 8_000}
    for at in range(nodes):
        labels = {f"{LABEL}zone": f"z{at // 12_800}", f"{LABEL}block": f"b{at // 800}", f"{LABEL}rack": f"r{at // 32}"}
        world.apply(NodeSeen(Node(f"node-{at:05}", allocatable=amounts, labels=labels)))
    for gang in range(gangs):
        said = Membership(
            f"d/g{gang:04}", size, topology_required=required, topology_preferred=preferred,
            segment_size=segments and segments.size, segment_topology=segments and segments.level,
        )  # fmt: skip
        for at in range(size):
            name = f"g{gang:04}-{at}"
            world.apply(TaskSeen(Task(name, "d", name, shape(), membership=said, created=float(gang))))
    return world.compile(1e6)


def best(answer: Callable[[], object], times: int) -> float:
    """Return the least milliseconds of so many runs."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        answer()
        found.append(time.perf_counter() - began)
    return min(found) * 1e3


def placing(snapshot: Snapshot) -> float:
    """Return how long it takes to place the first unit of a snapshot."""

    def answer() -> None:
        session = open_session(snapshot, POLICY)
        assert place(session, POLICY, session.units.unit(0)).lack is None

    return best(answer, 7)


def loop(snapshot: Snapshot, level: int) -> float:
    """Return how long it takes to ask each domain of a level by itself, and no more than that."""
    tree, size = snapshot.nodes.tree(POLICY.levels), int(snapshot.gangs.count[0])

    def answer() -> None:
        session = open_session(snapshot, POLICY)
        of, request = tree.domain_of(level), request_of(session, 0, 0, size)
        for domain in range(tree.size(level)):
            room = copies(session, POLICY, request)[of == domain]
            int(np.minimum(room, size).sum())

    return best(answer, 3)


def side_by_side(snapshot: Snapshot) -> tuple[float, float]:
    """Return the least milliseconds of a cycle with the plugin `closeness` and without, run in turns."""
    without = replace(POLICY, plugins=tuple(one for one in POLICY.plugins if one.plugin.name != "closeness"))
    runs = [[best(lambda policy=policy: decide(snapshot, policy), 1) for policy in (POLICY, without)]  # type: ignore[misc]
            for _ in range(4)]  # fmt: skip
    on, off = zip(*runs, strict=True)
    return min(on), min(off)


def main() -> None:
    """Print one row per question."""
    large = [backlog(50_000, 1, 4_096, *wish) for wish in ((None, None), ("block", "rack"))]
    plain, wished = (placing(one) for one in large)
    racks = loop(large[1], 2)
    print("a gang of 4,096, 50,000 nodes in 4 levels, required block, preferred rack:")
    print(f"  {wished:.1f} ms; without wishes {plain:.1f} ms (x {wished / plain:.1f}); "
          f"only asking 1,563 racks one by one {racks:.0f} ms (x {racks / wished:.0f})")  # fmt: skip
    cycles = [best(lambda one=one: decide(one, POLICY), 2) for one in  # type: ignore[misc]
              (backlog(10_000, 1_000, 64, None, None), backlog(10_000, 1_000, 64, "rack", None))]  # fmt: skip
    print("1,000 gangs of 64 on 10,000 nodes, a whole cycle:")
    print(f"  {cycles[1]:.0f} ms with a required rack, {cycles[0]:.0f} ms without (x {cycles[1] / cycles[0]:.1f})")
    on, off = side_by_side(backlog(10_000, 1_000, 64, None, None))
    print(f"  without wishes, the plugin closeness on: {on:.0f} ms, off: {off:.0f} ms (x {on / off:.2f})")
    pieces = [placing(backlog(10_000, 1, 4_096, None, None, segment)) for segment in (None, Segments(16, "rack"))]
    print(f"a gang of 4,096 on 10,000 nodes: {pieces[1]:.1f} ms in segments of 16 per rack, "
          f"{pieces[0]:.1f} ms without wishes (x {pieces[1] / pieces[0]:.1f})")  # fmt: skip


if __name__ == "__main__":
    main()
