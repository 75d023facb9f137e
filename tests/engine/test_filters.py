"""Filters: who may go where, one rule a test; told by the nodes that are left."""

import pytest

from phalanx.engine.decide import decide
from phalanx.model.events import Event, NamespaceSeen, NodeSeen, TaskSeen
from phalanx.model.node import Node, Taint
from phalanx.model.plan import Code
from phalanx.model.selectors import (
    HostPort,
    LabelSelector,
    NodeTerm,
    PodTerm,
    Preference,
    Requirement,
    Toleration,
)
from phalanx.model.task import Shape, State, Task
from phalanx.testing.scenario import ALLOCATE
from phalanx.world.world import World

ROOMY = {"cpu": 8000, "memory": 100, "pods": 10}
NSCHED, NEXEC, PREFER = "NoSchedule", "NoExecute", "PreferNoSchedule"


def asking(**constraints: object) -> Shape:
    return Shape((("cpu", 1000), ("pods", 1)), scored=(1000, 1), **constraints)  # type: ignore[arg-type]


def chosen(nodes: list[Node], shape: Shape, *others: Event, copies: int = 1) -> list[str]:
    """Return the nodes that `copies` equal plain pods got, in order; a wait shows as its reason."""
    world = World()
    for event in (*(NodeSeen(node) for node in nodes), *others):
        world.apply(event)
    for number in range(copies):
        labels = dict(shape.labels)
        world.apply(TaskSeen(Task(f"new-{number}", shape.namespace, f"new-{number}", shape, labels=labels)))
    plan = decide(world.compile(0.0), ALLOCATE)
    return [bind.node for bind in plan.binds] + [f"{wait.reason.code.value}: {wait.reason}" for wait in plan.waits[:1]]


def node(name: str, *taints: Taint, **labels: str) -> Node:
    return Node(name, allocatable=ROOMY, taints=taints, labels=labels)


def test_a_node_that_is_not_ready_or_cordoned_takes_nothing() -> None:
    down = Node("a-down", allocatable=ROOMY, ready=False)
    closed = Node("b-closed", allocatable=ROOMY, cordoned=True)
    assert chosen([down, closed], asking()) == ["never: 0/2 nodes: 1 not ready, 1 cordoned"]
    assert chosen([down, closed, node("c")], asking()) == ["c"]


def test_a_pod_goes_to_nodes_that_declare_all_that_it_needs() -> None:
    able = [Node(name, allocatable=ROOMY, features=features) for name, features in (
        ("a", ()), ("b", ("other",)), ("c", ("x",)), ("d", ("other", "x", "y")),
    )]  # fmt: skip
    assert chosen(able, asking(features=("x",)), copies=3)[:2] == ["c", "c"]
    assert chosen(able, asking(features=("x", "y"))) == ["d"]
    assert chosen(able[:3], asking(features=("x", "y"))) == [
        "never: 0/3 nodes: 2 not declaring the feature x, 1 not declaring the feature y"
    ]
    assert chosen(able, asking()) == ["a"]


def test_a_pod_that_tolerates_the_cordon_may_go_there() -> None:
    closed = Node("closed", allocatable=ROOMY, cordoned=True)
    tolerant = asking(tolerations=(Toleration("node.kubernetes.io/unschedulable", "Exists"),))
    assert chosen([closed], tolerant) == ["closed"]


@pytest.mark.parametrize(
    ("toleration", "taint", "tolerated"),
    [
        (Toleration("gpu", "Equal", "h100", NSCHED), Taint("gpu", "h100", NSCHED), True),
        (Toleration("gpu", "Equal", "a100", NSCHED), Taint("gpu", "h100", NSCHED), False),
        (Toleration("gpu", "", "h100"), Taint("gpu", "h100", NSCHED), True),
        (Toleration("gpu", "Exists"), Taint("gpu", "h100", NEXEC), True),
        (Toleration("gpu", "Exists", "", NSCHED), Taint("gpu", "h100", NEXEC), False),
        (Toleration("", "Exists"), Taint("anything", "", NEXEC), True),
        (Toleration("other", "Exists"), Taint("gpu", "h100", NSCHED), False),
        (Toleration("sla", "Gt", "750"), Taint("sla", "950", NSCHED), True),
        (Toleration("sla", "Gt", "950"), Taint("sla", "950", NSCHED), False),
        (Toleration("sla", "Lt", "950"), Taint("sla", "750", NSCHED), True),
        (Toleration("sla", "Lt", "950"), Taint("sla", "many", NSCHED), False),
        (Toleration("sla", "Lt", "٩"), Taint("sla", "1", NSCHED), False),
        (Toleration("sla", "Near", "1"), Taint("sla", "1", NSCHED), False),
    ],
)
def test_tolerations_by_operator_and_effect(toleration: Toleration, taint: Taint, tolerated: bool) -> None:
    expected = ["n1"] if tolerated else [f"never: 0/1 nodes: 1 tainted {taint}"]
    assert chosen([node("n1", taint)], asking(tolerations=(toleration,))) == expected


def test_a_soft_taint_is_avoided_but_not_forbidden() -> None:
    soft, clean = node("a-soft", Taint("slow", "", PREFER)), node("b-clean")
    assert chosen([soft, clean], asking()) == ["b-clean"]
    assert chosen([soft], asking()) == ["a-soft"]


@pytest.mark.parametrize(
    ("requirement", "matching"),
    [
        (Requirement("zone", "In", ("a", "b")), ["1-a", "2-b"]),
        (Requirement("zone", "NotIn", ("a",)), ["2-b", "3-none", "4-7"]),
        (Requirement("zone", "Exists"), ["1-a", "2-b", "4-7"]),
        (Requirement("zone", "DoesNotExist"), ["3-none"]),
        (Requirement("zone", "Gt", ("5",)), ["4-7"]),
        (Requirement("zone", "Lt", ("8",)), ["4-7"]),
        (Requirement("zone", "Gt", ("abc",)), []),
        (Requirement("zone", "Gt", ("9223372036854775808",)), []),
        (Requirement("unheard-of", "NotIn", ("x",)), ["1-a", "2-b", "3-none", "4-7"]),
    ],
)
def test_required_node_affinity_by_operator(requirement: Requirement, matching: list[str]) -> None:
    nodes = [node("1-a", zone="a"), node("2-b", zone="b"), node("3-none"), node("4-7", zone="7")]
    shape = asking(node_terms=(NodeTerm(labels=(requirement,)),))
    alone = [one.name for one in nodes if chosen([one], shape) == [one.name]]
    assert alone == matching


def test_terms_are_alternatives_and_an_empty_term_matches_nothing() -> None:
    nodes = [node("n1", zone="a"), node("n2", zone="b")]
    either = (NodeTerm(), NodeTerm(labels=(Requirement("zone", "In", ("b",)),)))
    assert chosen(nodes, asking(node_terms=either)) == ["n2"]
    assert chosen(nodes, asking(node_terms=(NodeTerm(),))) == ["never: 0/2 nodes: 2 not matching the node affinity"]


def test_the_selector_and_the_terms_must_both_hold() -> None:
    nodes = [node("n1", zone="a", disk="ssd"), node("n2", zone="a"), node("n3", disk="ssd")]
    wish = asking(
        node_selector=NodeTerm(labels=(Requirement("zone", "In", ("a",)),)),
        node_terms=(NodeTerm(labels=(Requirement("disk", "Exists"),)),),
    )
    assert chosen(nodes, wish) == ["n1"]


def test_match_fields_name_a_node() -> None:
    nodes = [node("n1"), node("n2")]
    at = (NodeTerm(fields=(Requirement("metadata.name", "In", ("n2",)),)),)
    not_at = (NodeTerm(fields=(Requirement("metadata.name", "NotIn", ("n1",)),)),)
    nowhere = (NodeTerm(fields=(Requirement("metadata.name", "In", ("gone",)),)),)
    assert chosen(nodes, asking(node_terms=at)) == ["n2"]
    assert chosen(nodes, asking(node_terms=not_at)) == ["n2"]
    assert chosen(nodes, asking(node_terms=nowhere)) == ["never: 0/2 nodes: 2 not matching the node affinity"]


def test_preferred_affinity_draws_but_does_not_bind() -> None:
    nodes = [node("n1"), node("n2", zone="b")]
    likes = (Preference(10, NodeTerm(labels=(Requirement("zone", "In", ("b",)),))),)
    assert chosen(nodes, asking(preferences=likes)) == ["n2"]
    assert chosen(nodes[:1], asking(preferences=likes)) == ["n1"]


def test_a_missing_selector_label_is_named() -> None:
    wish = asking(node_selector=NodeTerm(labels=(Requirement("gpu", "In", ("h100",)),)))
    assert chosen([node("n1")], wish) == ["never: 0/1 nodes: 1 without label gpu=h100"]


def test_a_host_port_is_given_once_per_node() -> None:
    serving = asking(host_ports=(HostPort(80),))
    full = "full: 0/2 nodes: 2 with host port 80 taken"
    assert chosen([node("n1"), node("n2")], serving, copies=3) == ["n1", "n2", full]


@pytest.mark.parametrize(
    ("there", "free"),
    [
        (HostPort(80), False),
        (HostPort(81), True),
        (HostPort(80, "UDP"), True),
        (HostPort(80, ip="10.0.0.1"), False),
    ],
)
def test_host_ports_conflict_by_address_protocol_and_number(there: HostPort, free: bool) -> None:
    other = TaskSeen(Task("o", "kube-system", "o", asking(host_ports=(there,)), State.RUNNING, "n1", ours=False))
    expected = ["n1"] if free else ["full: 0/1 nodes: 1 with host port 80 taken"]
    assert chosen([node("n1")], asking(host_ports=(HostPort(80),)), other) == expected


def test_two_addresses_of_one_port_live_side_by_side() -> None:
    other = TaskSeen(
        Task("o", "d", "o", asking(host_ports=(HostPort(80, ip="10.0.0.1"),)), State.RUNNING, "n1", ours=False)
    )
    assert chosen([node("n1")], asking(host_ports=(HostPort(80, ip="10.0.0.2"),)), other) == ["n1"]


def repelling(term: PodTerm) -> Event:
    return TaskSeen(Task("r", "prod", "r", asking(), State.RUNNING, "n1", ours=False, repels=(term,)))


WEB = LabelSelector((Requirement("app", "In", ("web",)),))


@pytest.mark.parametrize(
    ("term", "kept_out"),
    [
        (PodTerm("zone", WEB, frozenset({"default"})), True),
        (PodTerm("zone", WEB, frozenset({"prod"})), False),
        (PodTerm("zone", None, frozenset({"default"})), False),
        (PodTerm("zone", WEB, frozenset(), LabelSelector()), True),
        (PodTerm("zone", WEB, frozenset(), LabelSelector((Requirement("team", "In", ("a",)),))), True),
        (PodTerm("zone", WEB, frozenset(), LabelSelector((Requirement("team", "In", ("z",)),))), False),
        (PodTerm("absent", WEB, frozenset({"default"})), False),
    ],
)
def test_a_running_pods_anti_affinity_closes_its_domain_for_whom_it_matches(term: PodTerm, kept_out: bool) -> None:
    nodes = [node("n1", zone="a"), node("n2", zone="a"), node("n3", zone="b")]
    namespaces = NamespaceSeen("default", {"team": "a"})
    web = asking(labels=(("app", "web"),))
    db = asking(labels=(("app", "db"),))
    assert chosen(nodes, web, repelling(term), namespaces)[0] == ("n3" if kept_out else "n1")
    assert chosen(nodes, db, repelling(term), namespaces)[0] == "n1"


def test_the_reason_counts_every_node_once_under_its_first_filter() -> None:
    nodes = [
        *(
            Node(f"a{i}", allocatable=ROOMY | {"nvidia.com/gpu": 8000}, taints=(Taint("gpu", "h100"),))
            for i in range(3)
        ),
        *(Node(f"b{i}", allocatable=ROOMY | {"nvidia.com/gpu": 8000}) for i in range(2)),
    ]
    busy = [
        TaskSeen(
            Task(f"busy{i}", "d", f"busy{i}", Shape((("nvidia.com/gpu", used), ("pods", 1))), State.RUNNING, f"b{i}")
        )
        for i, used in enumerate((3000, 6000))
    ]
    wish = Shape((("nvidia.com/gpu", 8000), ("pods", 1)))
    expected = "full: 0/5 nodes: 3 tainted gpu=h100, 2 short of nvidia.com/gpu (most free on one node: 5 of 8)"
    assert chosen(nodes, wish, *busy) == [expected]


def test_never_is_told_from_full() -> None:
    small = Node("n1", allocatable={"cpu": 2000, "pods": 10})
    assert chosen([small], Shape((("cpu", 4000), ("pods", 1)))) == [
        f"{Code.NEVER.value}: 0/1 nodes: 1 too small in cpu (4 asked, largest 2)"
    ]
    assert chosen([small], Shape((("example.com/dongle", 1), ("pods", 1)))) == [
        "never: 0/1 nodes: 1 without example.com/dongle"
    ]
    assert chosen([], asking()) == ["never: there are no nodes"]


def test_terminating_pods_still_take_room() -> None:
    leaving = TaskSeen(Task("l", "d", "l", Shape((("cpu", 8000), ("pods", 1))), State.RELEASING, "n1"))
    assert chosen([node("n1")], asking(), leaving) == [
        "full: 0/1 nodes: 1 short of cpu (most free on one node: 0 of 8)"
    ]


def test_space_nominated_to_somebody_else_is_not_taken() -> None:
    nominated = Task("o", "d", "o", Shape((("cpu", 8000), ("pods", 1))), ours=False, nominated="n1")
    assert chosen([node("n1"), node("n2")], asking(), TaskSeen(nominated)) == ["n2"]


def test_space_nominated_to_a_task_is_for_that_task() -> None:
    mine = Task("new-0", "default", "new-0", asking(), nominated="n1")
    crowd = Task("c", "d", "c", Shape((("cpu", 7000), ("pods", 1))), State.RUNNING, "n1", ours=False)
    world = World()
    world.apply(NodeSeen(node("n1")))
    world.apply(TaskSeen(crowd))
    world.apply(TaskSeen(mine))
    assert [bind.node for bind in decide(world.compile(0.0), ALLOCATE).binds] == ["n1"]
