"""`python -m bench.volumes`: what a claim for each member costs, against the same gang without claims.

Claims that are bound in one zone, claims that get a volume with the node, and local volumes that are there, one on each
of some nodes. Processor time of this machine now: compare the ratios.
"""

import time

from bench.decisions import POLICY, shape
from bench.neighbours import zoned
from phalanx.engine.decide import decide
from phalanx.model.events import StorageSeen, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.reference import Reference
from phalanx.model.selectors import NodeTerm, Requirement
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import Task
from phalanx.model.topology import HOSTNAME
from phalanx.model.volume import Claim, Mount, StorageClass, Volume
from phalanx.world.world import World

NODES, SIZE = 10_000, 4_096


def mounting(kind: str) -> World:
    """Return an empty cluster with one waiting gang of which each member mounts a claim of its own."""
    world = zoned(NODES)
    maker = "csi.example.com" if kind == "made" else ""
    if kind in {"made", "local"}:
        see(world, "StorageClass", "fast", StorageClass("fast", provisioner=maker, waits=True))
    for number in range(SIZE):
        name, volume = f"m{number:05}", f"pv{number:05}"
        said = Membership("default/gang", SIZE)
        mounts = (Mount("spec.volumes[0]", name),) if kind else ()
        world.apply(TaskSeen(Task(name, "default", name, shape(), membership=said, mounts=mounts)))
        if not kind:
            continue
        bound = kind == "bound"
        claim = Claim(f"default/{name}", name, "fast", 2**30, volume=volume if bound else "", bound=bound)
        see(world, "PersistentVolumeClaim", claim.name, claim)
        if kind == "made":
            continue
        key, value = ("zone", "z1") if bound else (HOSTNAME, f"node-{number:05}")
        place = (NodeTerm((Requirement(key, "In", (value,)),)),)
        of = f"default/{name}" if bound else ""
        see(world, "PersistentVolume", volume, Volume(volume, volume, "fast", 2**30, place=place, claim=of))
    return world


def see(world: World, kind: str, name: str, value: Claim | Volume | StorageClass) -> None:
    """Let the world see an object."""
    world.apply(StorageSeen(Reference(kind, name), value))


def seconds(snapshot: Snapshot) -> float:
    """Return the least processor time of a decision in which everybody is bound."""
    assert len(decide(snapshot, POLICY).binds) == SIZE
    times = []
    for _ in range(5):
        began = time.process_time()
        decide(snapshot, POLICY)
        times.append(time.process_time() - began)
    return min(times)


def main() -> None:
    """Print a line for each kind of claims."""
    print(f"a gang of {SIZE:,} on {NODES:,} nodes: one decision, and the ratio to the gang without claims")
    alone = 0.0
    for kind, words in (
        ("", "without claims"), ("bound", "a bound claim each, in one zone"),
        ("made", "a claim each whose volume is made"), ("local", "a local volume each, on 4,096 nodes"),
    ):  # fmt: skip
        began = time.process_time()
        snapshot = mounting(kind).compile(0.0)
        built, taken = time.process_time() - began, seconds(snapshot)
        alone = alone or taken
        print(f"  {words:<38} {taken * 1000:7.1f} ms  {taken / alone:5.2f}   (read and compiled in {built:.1f} s)")


if __name__ == "__main__":
    main()
