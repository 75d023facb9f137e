"""Stories about what belongs together inside a node: GPUs that are linked, and NUMA nodes with their cpus."""

from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.loop import Loop
from phalanx.policy.load import load_policy, parse_policy
from phalanx.policy.mistake import PolicyError
from phalanx.testing import check
from phalanx.testing.stage import Stage
from phalanx.world.world import World

GPU = "nvidia.com/gpu"


def test_eight_on_one_board_find_the_node_whose_eight_are_linked() -> None:
    """On the other node there are eight GPUs too, on two boards."""
    check(
        """
        node n1 gpu=8 gpu-links=0-3,4-7
        node n2 gpu=8 gpu-links=0-7
        gang g  members=1 gpu=8 gpu-together=link
        gang h  members=1 gpu=8 gpu-together=link created=1s
        gang i  members=1 gpu=8 created=2s
        """,
        """
        bind g-0 n2
        wait h 1 full: 0/2 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 8), 1 without …
        bind i-0 n1
        """,
    )


def test_where_nobody_says_what_is_linked_who_insists_on_it_does_not_go() -> None:
    check(
        """
        node n1 gpu=8
        pod  a gpu=2 gpu-together=link
        pod  b gpu=1 gpu-together=link created=1s
        pod  c gpu=2 gpu-together=numa created=2s
        """,
        """
        wait a 1 never: 0/1 nodes: 1 whose links are not known
        bind b n1
        wait c 1 never: 0/1 nodes: 1 whose NUMA nodes are not known
        """,
    )


def test_four_free_gpus_on_two_boards_are_no_four_on_one() -> None:
    """Who does not insist takes them, and rather goes where they are linked."""
    given = """
        node n1 gpu=8 gpu-links=0-3,4-7
        node n2 gpu=8 gpu-links=0-3,4-7
        pod  a1 gpu=3 on=n1
        pod  a2 gpu=3 on=n1
        pod  b1 gpu=2 on=n2
        pod  b2 gpu=1 on=n2
        """
    check(given + "\npod x gpu=2 created=1s", "bind x n2")
    check(given.replace("node n2", "node n2 cordoned") + "\npod x gpu=2 created=1s", "bind x n1")
    check(
        given.replace("node n2", "node n2 cordoned") + "\npod x gpu=2 gpu-together=link created=1s",
        "wait x 1 full: …",
    )


def test_small_pods_leave_a_whole_board_to_the_large_one() -> None:
    """The two that came first lie on one board, so four of the other are free."""
    check(
        """
        node n1 gpu=8 gpu-links=0-3,4-7
        gang s  members=2 gpu=2
        pod  l  gpu=4 gpu-together=link created=1s
        pod  m  gpu=1 gpu-together=link created=2s
        """,
        """
        bind s-0 n1
        bind s-1 n1
        bind l n1
        wait m 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 8)
        """,
    )


def test_room_on_one_board_is_made_by_evicting_those_on_it() -> None:
    check(
        """
        node n1 gpu=8 gpu-links=0-3,4-7
        pod  a gpu=2 on=n1 controlled
        pod  b gpu=2 on=n1 controlled created=1s
        pod  c gpu=2 on=n1 controlled created=2s
        pod  x gpu=4 gpu-together=link priority=10 created=3s
        """,
        """
        evict c n1 for x: …
        nominate x n1
        cycle 2
        bind x n1
        wait c 1 full: …
        """,
        cycles=2,
    )


def zones(policy: str, *free: tuple[int, int], available: bool = False) -> Any:
    """Return a NodeResourceTopology of n1: per NUMA node, cpus and GPUs."""
    listed = [
        {
            "name": f"node-{at}",
            "type": "Node",
            "resources": [
                {"name": name, "capacity": most, "allocatable": most, **({"available": str(left)} if available else {})}
                for name, most, left in (("cpu", "32", cpus), (GPU, "4", gpus))
            ],
        }
        for at, (cpus, gpus) in enumerate(free)
    ]
    kind = {"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology"}
    return kind | {
        "metadata": {"name": "n1", "uid": "t"},
        "attributes": [{"name": "topologyManagerPolicy", "value": policy}],
        "zones": listed,
    }


def pod(name: str, gpus: int, cpus: int, after: int = 0, *, pinned: bool = True, **more: Any) -> Any:
    amounts = {"cpu": str(cpus), "memory": "1Gi"} | ({GPU: str(gpus)} if gpus else {})
    resources = {"limits": amounts} if pinned else {"requests": amounts, "limits": {GPU: str(gpus)}}
    metadata = {"name": name, "creationTimestamp": f"2026-11-01T12:00:0{after}Z"} | more
    spec = {"schedulerName": "phalanx", "containers": [{"name": "c", "resources": resources}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def node(gpus: int = 8) -> Any:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1"},
        "status": {
            "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: str(gpus)},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def told(*documents: Any) -> list[str]:
    """Return the steps of one cycle."""
    policy = load_policy("default")
    world = World(policy.label_keys, policy.devices)
    for document in documents:
        event = read(document, ["phalanx"])
        assert event is not None
        world.apply(event)
    cycle = Loop(world, policy).cycle(1.0)
    assert not cycle.broken
    return [step.text().replace("default/", "") for step in cycle.plan.steps]


REFUSED = "0/1 nodes: 1 without room for it on one NUMA node, or on as few as can be"


def test_a_node_that_admits_pods_on_one_numa_node_alone_gets_no_other() -> None:
    """Three and three of four each: two are left, and no NUMA node has both."""
    filled = [pod("a", 3, 1), pod("b", 3, 1, 1)]
    late = pod("c", 2, 1, 2)
    for policy, outcome in (
        ("single-numa-node", f"wait c 1 full: {REFUSED}"),
        ("restricted", f"wait c 1 full: {REFUSED}"),
        ("best-effort", "bind c n1"),
        ("none", "bind c n1"),
    ):
        steps = told(node(), zones(policy, (32, 4), (32, 4)), *filled, late)
        assert steps == ["bind a n1", "bind b n1", outcome]


def test_gpus_and_the_cpus_of_one_numa_node() -> None:
    """The cpus of the first are gone after the first pod, though two of its GPUs are free."""
    given = [node(), zones("single-numa-node", (32, 4), (32, 4)), pod("a", 2, 30)]
    assert told(*given, pod("b", 4, 30, 1)) == ["bind a n1", "bind b n1"]
    two = [pod("b", 2, 30, 1), pod("c", 2, 3, 2)]
    assert told(*given, *two) == ["bind a n1", "bind b n1", f"wait c 1 full: {REFUSED}"]
    # Who has no cpus for himself is not bound to a NUMA node by them.
    two[1] = pod("c", 2, 3, 2, pinned=False)
    assert told(*given, *two) == ["bind a n1", "bind b n1", "bind c n1"]


def test_more_than_a_numa_node_has_is_admitted_where_as_few_as_can_be_are_enough() -> None:
    eight = pod("a", 8, 8)
    assert told(node(), zones("restricted", (32, 4), (32, 4)), eight) == ["bind a n1"]
    refused = f"wait a 1 never: {REFUSED}"
    assert told(node(), zones("single-numa-node", (32, 4), (32, 4)), eight) == [refused]


def test_what_the_node_says_is_in_use_comes_before_what_was_reckoned() -> None:
    """Two pods of two GPUs each: the kubelet put them on different NUMA nodes, and so there are no four on one."""
    there = [pod(name, 2, 1, uid=name) for name in ("a", "b")]
    for one in there:
        one["spec"]["nodeName"] = "n1"
    later = pod("x", 4, 1, 1)
    known = zones("single-numa-node", (31, 2), (31, 2), available=True)
    assert told(node(), zones("single-numa-node", (32, 4), (32, 4)), *there, later) == ["bind x n1"]
    assert told(node(), known, *there, later) == [f"wait x 1 full: {REFUSED}"]


def test_a_label_of_koordinator_says_the_policy_too() -> None:
    labelled = node()
    labelled["metadata"]["labels"] = {"node.koordinator.sh/numa-topology-policy": "SingleNUMANode"}
    assert told(labelled, zones("none", (32, 4), (32, 4)), pod("a", 8, 8)) == [f"wait a 1 never: {REFUSED}"]


def test_a_place_that_is_promised_on_a_board_stays_free() -> None:
    """The place of x is a board that somebody leaves; who comes meanwhile takes the other GPUs, and none of these."""
    stage = Stage(
        """
        node n1 gpu=8 gpu-links=0-3,4-7
        pod  a gpu=4 on=n1 controlled
        pod  b gpu=3 on=n1 controlled priority=20
        pod  x gpu=4 gpu-together=link priority=10 created=3s
        pod  y gpu=1 created=5s
        pod  z gpu=1 created=6s gpu-together=link
        """
    )
    stage.check("4s", "evict a n1 for x: …\nnominate x n1")
    stage.check("7s", "bind y n1\nwait z 1 full: …\nnominate x n1")
    stage.check("60s", "bind x n1\nwait a 1 full: …\nwait z 1 full: …")


def on_one(name: str, gpus: int, said: str) -> Any:
    return pod(name, gpus, 1, annotations={"scheduling.koordinator.sh/numa-topology-spec": said})


def test_a_pod_in_the_words_of_koordinator_insists_on_one_numa_node() -> None:
    given = [node(), zones("none", (32, 4), (32, 4)), zones("best-effort", (32, 4), (32, 4))]
    one = '{"numaTopologyPolicy": "SingleNUMANode"}'
    assert told(*given, on_one("a", 4, one)) == ["bind a n1"]
    assert told(*given, on_one("a", 5, one)) == [f"wait a 1 never: {REFUSED}"]
    assert told(*given, on_one("a", 5, '{"numaTopologyPolicy": "BestEffort"}')) == ["bind a n1"]
    field = "held: metadata.annotations[scheduling.koordinator.sh/numa-topology-spec]:"
    assert told(*given, on_one("a", 0, one)) == [
        f"wait a 1 {field} numaTopologyPolicy SingleNUMANode is honoured by this version for devices alone"
    ]
    assert told(*given, on_one("a", 1, '{"numaTopologyPolicy": "Restricted"}')) == [
        f"wait a 1 {field} numaTopologyPolicy Restricted is not honoured by this version, on pods"
    ]


RINGS = parse_policy(
    "{extends: default, actions: [{name: allocate}], plugins: [{name: resource_fit}, {name: gang}, {name: arrival},"
    " {name: linked_devices, arguments: {counts: {nvidia.com/gpu: [1, 2, 4, 8]}}}]}",
    "rings",
)


def test_of_some_devices_a_pod_gets_certain_numbers_alone_in_one_ring() -> None:
    """Eight are both rings, which is as few as hold them; where nobody says what a ring is, the number counts."""
    check(
        """
        node n1 gpu=8 gpu-links=0-3,4-7
        node n2 gpu=8 cordoned
        pod  odd   gpu=3
        pod  two   gpu=2 created=1s
        pod  one   gpu=1 created=2s
        pod  four  gpu=4 created=3s
        pod  eight gpu=8 created=4s
        """,
        """
        wait odd 1 never: 0/2 nodes: 2 left aside: it asks for 3 nvidia.com/gpu, allowed is 1, 2, 4 or 8
        bind two n1
        bind one n1
        bind four n1
        bind eight n2
        """,
        policy=RINGS,
    )
    check("node n1 gpu=8 gpu-links=0-3,4-7\npod eight gpu=8", "bind eight n1", policy=RINGS)
    check(
        """
        node n1 gpu=8 gpu-links=0-3,4-7
        pod  a gpu=1 on=n1
        pod  b gpu=4 on=n1
        pod  c gpu=2 created=1s
        pod  d gpu=2 created=2s
        """,
        """
        bind c n1
        wait d 1 full: …
        """,
        policy=RINGS,
    )


def test_a_table_of_numbers_that_cannot_be_is_refused_with_its_line() -> None:
    text = "{extends: default, plugins: [{name: linked_devices, arguments: {counts: {a.b/c: [0]}}}]}"
    with pytest.raises(PolicyError, match="allowed are numbers of devices from 1 to 256"):
        parse_policy(text, "rings")
