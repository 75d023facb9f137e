"""Memory and cores of one GPU: whatever comes, neither is ever more than there is, and room comes back."""

from collections import defaultdict
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.dialects.read import read
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.session import Session
from phalanx.loop import Loop
from phalanx.model.events import TaskGone
from phalanx.policy.load import load_policy
from phalanx.sim.cycles import carry_out
from phalanx.world.world import World
from tests.oracles.in_turn import check_in_turn

POLICY = load_policy("default")
TOTAL = 24_576
REGISTERS = {
    "nvidia.com/gpu": ("hami.io/node-nvidia-register", "GPU-{},10,24576,100,NVIDIA-L4,0,true:"),
    "volcano.sh/vgpu-number": ("volcano.sh/node-vgpu-register", "GPU-{},10,24576,NVIDIA-L4,true,hami-core:"),
}
PREFIXES = {"nvidia.com/gpu": ("nvidia.com/gpumem", "nvidia.com/gpucores")}
VOLCANO = ("volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores")
#: Of how many GPUs, MiB (None: all) and percent of cores of each.
ASKS = st.tuples(
    st.integers(1, 2), st.sampled_from([None, 1000, 8000, 12_288, 20_000]), st.sampled_from([0, 25, 60, 100])
)


def node(name: str, resource: str, gpus: int) -> dict[str, Any]:
    key, record = REGISTERS[resource]
    metadata = {"name": name, "annotations": {key: "".join(record.format(at) for at in range(gpus))}}
    amounts = {"pods": "99", resource: str(10 * gpus)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": amounts}}


def pod(name: str, resource: str, asked: tuple[int, int | None, int]) -> dict[str, Any]:
    count, memory, cores = asked
    of_memory, of_cores = PREFIXES.get(resource, VOLCANO)
    limits = {resource: count, of_cores: cores} | ({} if memory is None else {of_memory: memory})
    spec = {"schedulerName": "phalanx", "containers": [{"name": "a", "resources": {"limits": limits}}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": name}, "spec": spec}


RESOURCES = st.sampled_from(sorted(REGISTERS))


@given(
    st.lists(st.tuples(RESOURCES, st.integers(1, 3)), min_size=1, max_size=2),
    st.lists(st.tuples(RESOURCES, ASKS), min_size=1, max_size=9),
)
@settings(max_examples=40, deadline=None)
def test_neither_memory_nor_cores_of_a_gpu_are_given_out_twice_and_all_of_it_comes_back(
    nodes: list[tuple[str, int]], asks: list[tuple[str, tuple[int, int | None, int]]]
) -> None:
    world = World(POLICY.label_keys, POLICY.devices)
    loop = Loop(world, POLICY)
    for at, (resource, gpus) in enumerate(nodes):
        event = read(node(f"n{at}", resource, gpus), ["phalanx"])
        assert event is not None
        world.apply(event)
    first: list[int] = []
    for round_ in range(2):
        placed = []
        for at, (resource, asked) in enumerate(asks):
            event = read(pod(f"p{round_}-{at}", resource, asked), ["phalanx"])
            assert event is not None
            world.apply(event)
            cycle = loop.cycle(100.0 * round_ + at)
            assert not cycle.broken
            carry_out(world, cycle.plan)
        memory: dict[tuple[str, str], int] = defaultdict(int)
        cores: dict[tuple[str, str], int] = defaultdict(int)
        # In the order in which they came; nobody has left.
        for at, (_, (count, mebibytes, percent)) in enumerate(asks):
            task = world.tasks[f"p{round_}-{at}"]
            each = TOTAL if mebibytes is None or percent == 100 else mebibytes
            every = [(f"n{number}", str(gpu)) for number, (_, gpus) in enumerate(nodes) for gpu in range(gpus)]
            room = [
                one for one in every if memory[one] + each <= TOTAL and cores[one] + percent <= min(100, 99 + percent)
            ]
            if task.node is None:
                # Each has a bound of its own, so nobody waits for whom one GPU has both.
                assert all(len([1 for node, _ in room if node == f"n{number}"]) < count for number in range(len(nodes)))
                continue
            placed.append(at)
            assert task.part is not None
            assert len(set(task.groups)) == count
            for group in task.groups:
                memory[task.node, group] += each
                cores[task.node, group] += percent
        assert all(sum_ <= TOTAL for sum_ in memory.values())
        assert all(sum_ <= 100 for sum_ in cores.values())
        gpus_used = {f"n{at}": len([1 for name, _ in memory if name == f"n{at}"]) for at in range(len(nodes))}
        assert all(gpus_used[f"n{at}"] <= gpus for at, (_, gpus) in enumerate(nodes))
        # Everything ends; the second round finds what the first one found.
        first = placed if not round_ else first
        assert placed == first
        for uid in list(world.tasks):
            world.apply(TaskGone(uid))


#: A plain node, on which pods also compute side by side or in turns.
PLAIN = {
    "apiVersion": "v1", "kind": "Node",
    "metadata": {"name": "plain", "labels": {"nvidia.com/gpu.count": "3", "nvidia.com/gpu.memory": str(TOTAL)}},
    "status": {"allocatable": {"pods": "99", "nvidia.com/gpu": "3"}},
}  # fmt: skip
MODES = st.sampled_from(["", "time-slicing", "sm-sharing"])
KAI = st.tuples(st.just("kai"), st.tuples(st.sampled_from(["0.2", "0.3", "0.5"]), MODES, st.integers(1, 2)))
ANY = st.one_of(st.tuples(st.sampled_from(sorted(REGISTERS)), ASKS), KAI)


def any_pod(name: str, asked: tuple[str, Any]) -> dict[str, Any]:
    """Return a pod in the words of HAMi, of Volcano or of KAI."""
    if asked[0] != "kai":
        return pod(name, asked[0], asked[1])
    fraction, mode, devices = asked[1]
    said = {"gpu-fraction": fraction, "gpu-fraction-num-devices": str(devices)}
    mode_of = {"nvidia.com/container.a.gpu-compute.mode": mode} if mode else {}
    plain = pod(name, "nvidia.com/gpu", (1, 1, 0))
    plain["spec"]["containers"] = [{"name": "a"}]
    plain["metadata"]["annotations"] = said | mode_of
    return plain


@given(st.lists(ANY, max_size=7), ANY, st.integers(1, 8), st.sampled_from([When.NOW, When.LATER]))
@settings(max_examples=60, deadline=None)
def test_copies_at_once_pack_like_one_after_the_other_by_every_limit_and_modes_never_meet(
    there: list[tuple[str, Any]], asked: tuple[str, Any], count: int, when: When
) -> None:
    world = World(POLICY.label_keys, POLICY.devices)
    loop = Loop(world, POLICY)
    documents = [PLAIN, node("hami", "nvidia.com/gpu", 2), *(any_pod(f"p{at}", one) for at, one in enumerate(there))]
    for document in documents:
        event = read(document, ["phalanx"])
        assert event is not None
        world.apply(event)
    cycle = loop.cycle(1.0)
    assert not cycle.broken
    carry_out(world, cycle.plan)
    modes: dict[tuple[str, str], set[bool]] = defaultdict(set)
    for task in world.tasks.values():
        for group in task.groups if task.node and task.part else ():
            modes[task.node or "", group].add(task.part is not None and task.part.abreast)
    assert all(len(found) == 1 for found in modes.values())
    event = read(any_pod("q", asked), ["phalanx"])
    assert event is not None
    world.apply(event)
    snapshot = world.compile(2.0)
    shape = int(snapshot.tasks.shape[snapshot.tasks.names.index("default/q")])
    check_in_turn(snapshot, POLICY, Request(shape, count, when=when), left)


def left(session: Session) -> list[bytes]:
    """Return the books of devices, whole ones too."""
    own, books = session.devices, session.ledger.books("whole_devices")
    assert own is not None
    arrays = (own._here, own._leaving, own._promised, books.free, books.leaving, books.promised)
    return [array.tobytes() for array in arrays]
