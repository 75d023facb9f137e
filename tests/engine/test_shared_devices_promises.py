"""What always holds of shared GPUs, whatever comes: no GPU is given twice, and what is taken comes back."""

from collections import defaultdict

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from phalanx.engine.opening import open_session
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.session import Session
from phalanx.loop import Loop
from phalanx.model.axis import GPU, Int
from phalanx.model.encoding import encoded
from phalanx.model.events import NodeSeen, TaskSeen
from phalanx.model.sharing import WHOLE
from phalanx.model.snapshot import Snapshot
from phalanx.policy.load import load_policy, parse_policy
from phalanx.testing.stage import Stage
from phalanx.world.world import World
from tests.oracles.in_turn import check_in_turn

POLICY = load_policy("default")
SPREAD = parse_policy(
    "{extends: default, plugins: [{name: resource_fit}, {name: shared_devices, arguments: {placement: spread}},"
    " {name: gang}, {name: arrival}]}",
    "spread",
)

PARTS = st.one_of(
    st.builds("gpu-fraction={}".format, st.sampled_from(["0.1", "0.25", "0.3", "0.333", "0.5", "0.7", "0.9"])),
    st.builds(
        "gpu-fraction={} gpu-devices={}".format, st.sampled_from(["0.25", "0.3", "0.5", "0.7"]), st.integers(2, 3)
    ),
    st.builds("gpu-memory={}Gi".format, st.sampled_from([1, 8, 12, 20, 30])),
    st.builds("gpu-memory={}Gi gpu-devices=2".format, st.sampled_from([8, 20])),
)
ASKS = st.one_of(PARTS, PARTS, st.builds("gpu={}".format, st.integers(1, 2)))


@st.composite
def clusters(draw: st.DrawFn) -> str:
    """Draw a scenario: nodes with GPUs of several sizes, and pods and gangs that ask for parts and for whole ones."""
    lines = []
    for number in range(draw(st.integers(1, 3))):
        memory = draw(st.sampled_from(["", " gpu-memory=24576", " gpu-memory=40960", " gpu-memory=81920"]))
        lines.append(f"node n{number} gpu={draw(st.integers(1, 4))}{memory}")
    for number in range(draw(st.integers(1, 7))):
        time, priority = draw(st.integers(0, 200)), draw(st.sampled_from([0, 0, 10]))
        rest = f"{draw(ASKS)} created={time}s priority={priority}"
        if draw(st.booleans()):
            lines.append(f"gang g{number} members={draw(st.integers(1, 4))} {rest}")
        else:
            lines.append(f"pod p{number} {rest}{draw(st.sampled_from(['', ' controlled']))}")
    return "\n".join(lines)


def assert_no_gpu_is_given_twice(world: World) -> None:
    """Add up, in plain loops, who sits where. Terminating pods count: they are there."""
    taken: dict[tuple[str, str], float] = defaultdict(float)
    wholes: dict[str, int] = defaultdict(int)
    for task in world.tasks.values():
        if not task.charged or task.node is None:
            continue
        if task.part is None:
            wholes[task.node] += dict(task.shape.requests).get(GPU, 0) // WHOLE
            continue
        assert len(set(task.groups)) == len(task.groups) == task.part.devices
        memory = next((one.memory for one in world.nodes[task.node].devices), 0)
        assert memory or not task.part.memory
        for group in task.groups:
            taken[task.node, group] += max(task.part.milli / WHOLE, task.part.memory / memory if memory else 0)
    assert all(sum_ <= 1 + 1e-9 for sum_ in taken.values())
    for name, node in world.nodes.items():
        shared = len([1 for where, _ in taken if where == name])
        assert wholes[name] + shared <= node.allocatable[GPU] // WHOLE


@given(clusters())
@settings(max_examples=60, deadline=None)
def test_per_gpu_parts_never_add_up_to_more_than_one_and_whole_ones_are_exclusive(scenario: str) -> None:
    stage = Stage(scenario)
    for moment in range(0, 400, 40):
        cycle = stage.cycle(f"{moment}s")
        assert not cycle.broken
        assert_no_gpu_is_given_twice(stage.world)


@given(clusters())
@settings(max_examples=60, deadline=None)
def test_a_world_that_is_read_anew_has_equal_books(scenario: str) -> None:
    stage = Stage(scenario)
    for moment in range(0, 240, 40):
        stage.cycle(f"{moment}s")
        fresh = World(POLICY.label_keys, POLICY.devices)
        for node in stage.world.nodes.values():
            fresh.apply(NodeSeen(node))
        for task in stage.world.tasks.values():
            fresh.apply(TaskSeen(task))
        Loop(fresh, POLICY)
        if not stage.world.moves.places:
            now = float(moment)
            assert encoded(fresh.compile(now).shared) == encoded(stage.world.compile(now).shared)


def _filled(scenario: str) -> Snapshot:
    stage = Stage(scenario)
    for moment in (0, 40, 80):
        stage.cycle(f"{moment}s")
    # Who is moved has a place there, and is nowhere: nobody can evict him from it.
    assume(not stage.world.moves.places)
    stage._come(1000.0)
    return stage.world.compile(119.0)


def _left(session: Session) -> list[bytes]:
    """Return the books of devices, whole ones too."""
    assert session.devices is not None
    books = session.ledger.books("whole_devices")
    own = session.devices
    arrays = (own._here, own._leaving, own._promised, books.free, books.leaving, books.promised)
    return [array.tobytes() for array in arrays]


@given(
    clusters(), PARTS, st.integers(1, 12), st.sampled_from([When.NOW, When.LATER]), st.sampled_from([POLICY, SPREAD])
)
@settings(max_examples=80, deadline=None)
def test_equal_parts_at_once_pack_like_one_after_the_other(
    scenario: str, ask: str, count: int, when: When, policy: Policy
) -> None:
    snapshot = _filled(f"{scenario}\npod q {ask} created=900s")
    shape = int(snapshot.tasks.shape[[name.endswith("/q") for name in snapshot.tasks.names].index(True)])
    check_in_turn(snapshot, policy, Request(shape, count, when=when), _left)


@given(clusters())
@settings(max_examples=80, deadline=None)
def test_what_leaves_gives_back_what_it_took_device_by_device(scenario: str) -> None:
    snapshot = _filled(scenario)
    if snapshot.shared is None:
        return
    session = open_session(snapshot, POLICY)
    start, before = session.checkpoint(), _left(session)
    everybody: Int = np.arange(len(session.residents))
    session.evict(everybody)
    assert session.devices is not None
    assert not session.devices._here.any()
    assert not session.devices._promised.any()
    wholes = session.devices.wholes(np.arange(len(snapshot.nodes)))
    total = snapshot.nodes.allocatable[:, snapshot.axis.index[GPU]] // WHOLE
    assert (wholes[1] == total).all()
    session.rollback(start)
    assert _left(session) == before
