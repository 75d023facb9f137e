"""What always holds of islands inside nodes: none that a node guards is overfull, and what is taken comes back."""

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from phalanx.engine.opening import open_session
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.session import Session
from phalanx.model.axis import GPU, Int
from phalanx.model.encoding import encoded
from phalanx.model.events import Event, NodeSeen, TaskSeen
from phalanx.model.island import NUMA, Rule, chosen, piece
from phalanx.model.node import Zone
from phalanx.model.sharing import NOWHERE
from phalanx.model.snapshot import Snapshot
from phalanx.policy.load import load_policy
from phalanx.testing.stage import Stage
from phalanx.world.world import World
from tests.oracles.in_turn import check_in_turn

#: A scenario, and of some of its nodes the policy and the NUMA nodes.
Cluster: TypeAlias = tuple[str, dict[str, tuple[str, tuple[Zone, ...]]]]

POLICY = load_policy("default")
POLICIES = st.sampled_from(["none", "best-effort", "restricted", "single-numa-node", ""])
LINKS = st.sampled_from(
    ["", " gpu-links=0-3,4-7", " gpu-links=0-1,2-3,4-5,6-7", " gpu-links=0-6", " gpu-links=0-2,3-7"]
)
ASKS = st.builds(
    "gpu={}{}".format,
    st.sampled_from([1, 2, 2, 3, 4, 8]),
    st.sampled_from(["", "", "", " gpu-together=link", " gpu-together=numa"]),
)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Draw a scenario, and of some of its nodes the policy and the NUMA nodes."""
    lines: list[str] = []
    divided: dict[str, tuple[str, tuple[Zone, ...]]] = {}
    for number in range(draw(st.integers(1, 3))):
        lines.append(f"node n{number} gpu=8 cpu=64{draw(LINKS)}")
        if draw(st.booleans()):
            count = draw(st.sampled_from([2, 2, 4]))
            amounts = ((("cpu", 64_000 // count), (GPU, 8000 // count)), ((GPU, 8000 // count),))
            each = draw(st.sampled_from(amounts))
            divided[f"n{number}"] = (draw(POLICIES), tuple(Zone(at, each) for at in range(count)))
    for number in range(draw(st.integers(1, 8))):
        rest = f"{draw(ASKS)} created={draw(st.integers(0, 200))}s priority={draw(st.sampled_from([0, 0, 10]))}"
        if draw(st.booleans()):
            lines.append(f"gang g{number} members={draw(st.integers(1, 4))} {rest}")
        else:
            lines.append(f"pod p{number} {rest}{draw(st.sampled_from(['', ' controlled']))}")
    return "\n".join(lines), divided


def staged(cluster: Cluster) -> Stage:
    """Return a stage on which the nodes are divided and every pod may have cpus for itself."""
    stage = Stage(cluster[0])
    for name, (policy, zones) in cluster[1].items():
        stage.world.apply(NodeSeen(replace(stage.world.nodes[name], numa_policy=policy, zones=zones)))
    stage._to_come = [(at, replace(task, shape=replace(task.shape, pinned=True))) for at, task in stage._to_come]
    return stage


def filled(cluster: Cluster) -> Snapshot:
    stage = staged(cluster)
    for moment in (0, 40, 80):
        assert not stage.cycle(f"{moment}s").broken
    # Who is moved has a place there, and is nowhere: nobody can evict him from it.
    assume(not stage.world.moves.places)
    stage._come(1000.0)
    return stage.world.compile(119.0)


def books(session: Session) -> list[bytes]:
    return [array.tobytes() for one in session.islands for array in (one._free, one._leaving, one._promised)]


@given(clusters())
@settings(max_examples=40, deadline=None)
def test_no_island_that_a_node_guards_is_overfull_and_nobody_lies_across_more_than_allowed(cluster: Cluster) -> None:
    """Looked at in the session that decided, pod by pod: each lies where its node and its own wish allow it."""
    stage = staged(cluster)
    for moment in range(0, 240, 40):
        stage._come(float(moment))
        snapshot = stage.world.compile(float(moment))
        session = open_session(snapshot, POLICY)
        for action in POLICY.actions[:1]:
            action.run(session, POLICY)
        for one in session.islands:
            table = one.table
            for task in np.flatnonzero(session.place >= 0).tolist():
                shape, node = int(snapshot.tasks.shape[task]), int(session.place[task])
                rows = [row for row in one.tasks[task].tolist() if row != NOWHERE]
                ask = table.asks[shape]
                if not rows or not one.spans(shape):
                    continue
                assert all(table.node[row] == node for row in rows)
                if table.wants[shape] or table.rule[node] == Rule.ONE:
                    assert len(rows) == 1
                if table.rule[node] >= Rule.LEAST or table.wants[shape]:
                    part = piece(ask, table.units, len(rows))
                    assert (one._free[rows][:, part > 0] >= 0).all()
        assert not stage.cycle(f"{moment}s").broken


@given(clusters(), ASKS, st.integers(1, 12), st.sampled_from([When.NOW, When.LATER]))
@settings(max_examples=40, deadline=None)
def test_equal_pods_at_once_lie_like_one_after_the_other(cluster: Cluster, ask: str, count: int, when: When) -> None:
    scenario, divided = cluster
    snapshot = filled((f"{scenario}\npod q {ask} created=900s", divided))
    shape = int(snapshot.tasks.shape[[name.endswith("/q") for name in snapshot.tasks.names].index(True)])
    check_in_turn(snapshot, POLICY, Request(shape, count, when=when), books)


@given(clusters())
@settings(max_examples=40, deadline=None)
def test_what_leaves_gives_back_what_it_took_island_by_island(cluster: Cluster) -> None:
    session = open_session(filled(cluster), POLICY)
    start, before = session.checkpoint(), books(session)
    everybody: Int = np.arange(len(session.residents))
    session.evict(everybody)
    for one in session.islands:
        assert (one._spare(When.LATER) == one.table.capacity).all()
        assert not one._promised.any()
    session.rollback(start)
    assert books(session) == before


@given(clusters())
@settings(max_examples=40, deadline=None)
def test_a_world_that_is_read_anew_lays_out_every_pod_within_what_its_node_has(cluster: Cluster) -> None:
    """Where nobody says it, another layout may be as good; two that read the same agree."""
    stage = staged(cluster)
    for moment in range(0, 160, 40):
        stage.cycle(f"{moment}s")
        # Rows that were kept up to date are those that are written anew.
        kept = encoded(stage.world.compile(float(moment)).islands)
        stage.world._rows.nodes.islands._layouts.clear()
        assert kept == encoded(stage.world.compile(float(moment)).islands)
    events: list[Event] = [*map(NodeSeen, stage.world.nodes.values()), *map(TaskSeen, stage.world.tasks.values())]
    found = []
    for some in (events, events[::-1]):
        fresh = World(POLICY.label_keys, POLICY.devices)
        for event in some:
            fresh.apply(event)
        found.append(encoded(fresh.compile(200.0).islands))
    assert found[0] == found[1]


@given(st.lists(st.integers(0, 8), min_size=1, max_size=4), st.integers(1, 8), st.sampled_from(["link", NUMA]))
def test_a_pod_lies_on_as_few_islands_as_it_can(free: list[int], ask: int, layer: str) -> None:
    """Looked for in plain loops: the fewest that have an equal piece each; of one alone, the lowest or the tightest."""
    spare, units = np.array(free)[:, None] * 1000, np.array([1000])
    rows = chosen(np.array([ask * 1000]), units, spare, layer)
    enough = [n for n in range(1, len(free) + 1) if sum(one >= -(-ask // n) for one in free) >= n]
    assert len(rows) == (enough[0] if enough else len(free))
    if enough and enough[0] == 1:
        able = [at for at, one in enumerate(free) if one >= ask]
        assert rows == ((able[0],) if layer == NUMA else (min(able, key=lambda at: (free[at] // ask, at)),))
