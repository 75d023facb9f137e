"""Neighbours: random clusters of pods that look at each other, and kube-scheduler's rules about them, pod by pod."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from phalanx.model.events import Event, NamespaceSeen, NodeSeen, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node, Taint
from phalanx.model.selectors import LabelSelector, Liking, PodTerm, Requirement, Spread
from phalanx.model.task import Shape, State, Task
from phalanx.world.world import World

HOST = "kubernetes.io/hostname"
NAMESPACES = {"default": {"team": "a"}, "other": {"team": "b"}}
TAINT = Taint("keep", "off", "NoSchedule")

_selectors = st.sampled_from(
    [
        None,
        LabelSelector(),
        *(LabelSelector((Requirement("app", "In", (app,)),)) for app in ("web", "db", "web")),
        LabelSelector((Requirement("app", "NotIn", ("db",)),)),
        LabelSelector((Requirement("tier", "Exists"),)),
    ]
)
_keys = st.sampled_from(["zone", "zone", "rack", HOST])


@st.composite
def _terms(draw: st.DrawFn) -> PodTerm:
    own = draw(st.booleans())
    looked_up = (
        None
        if own
        else draw(st.sampled_from([None, LabelSelector(), LabelSelector((Requirement("team", "In", ("b",)),))]))
    )
    named = (
        frozenset({"default"})
        if own or looked_up is None
        else draw(st.sampled_from([frozenset[str](), frozenset({"other"})]))
    )
    return PodTerm(draw(_keys), draw(_selectors), named, looked_up)


_spreads = st.builds(
    Spread, _keys, st.integers(1, 2), _selectors, hard=st.booleans(), min_domains=st.sampled_from([1, 1, 2, 4]),
    honours_affinity=st.booleans(), honours_taints=st.booleans(),
)  # fmt: skip


@st.composite
def _tasks(draw: st.DrawFn, name: str, nodes: Sequence[str]) -> Task:
    """Draw a pod that says at most one or two things of others."""
    says = draw(st.sets(st.sampled_from(["repels", "attracts", "likes", "spreads"]), max_size=2))
    on = draw(st.sampled_from([None, *nodes]))
    ours = on is None or draw(st.booleans())
    namespace = draw(st.sampled_from(["default", "default", "other"]))
    return Task(
        name, namespace, name,
        Shape(
            requests=(("cpu", draw(st.integers(1, 2)) * 1000), ("pods", 1)),
            priority=draw(st.integers(0, 1)), namespace=namespace,
        ),
        State.PENDING if on is None else draw(st.sampled_from([State.RUNNING, State.RUNNING, State.RELEASING])),
        on, ours=ours, created=float(draw(st.integers(0, 2))), started=None if on is None else 1.0,
        labels=draw(st.sampled_from([{}, {"app": "web"}, {"app": "web"}, {"app": "db"}, {"app": "web", "tier": "x"}])),
        repels=tuple(draw(st.lists(_terms(), max_size=2))) if "repels" in says else (),
        attracts=tuple(draw(st.lists(_terms(), max_size=2))) if "attracts" in says else (),
        likes=tuple(draw(st.lists(st.builds(Liking, st.sampled_from([-5, 3]), _terms()), max_size=2)))
        if "likes" in says else (),
        spreads=tuple(draw(st.lists(_spreads, max_size=2))) if "spreads" in says else (),
    )  # fmt: skip


@st.composite
def neighbourly(draw: st.DrawFn) -> list[Event]:
    """Draw a cluster as the events that make it up."""
    found: list[Event] = [NamespaceSeen(name, labels) for name, labels in NAMESPACES.items()]
    names = [f"n{number}" for number in range(1, draw(st.integers(2, 6)) + 1)]
    for name in names:
        zone, rack = draw(st.sampled_from([None, "a", "a", "b", "c"])), draw(st.sampled_from([None, "1", "2"]))
        labels = {HOST: name} | ({"zone": zone} if zone else {}) | ({"rack": f"{zone}{rack}"} if rack else {})
        amounts = {"cpu": draw(st.integers(1, 6)) * 1000, "pods": 10}
        taints = (TAINT,) if draw(st.integers(0, 5)) == 0 else ()
        found.append(NodeSeen(Node(name, allocatable=amounts, labels=labels, taints=taints)))
    for number in range(draw(st.integers(1, 6))):
        task = draw(_tasks(f"t{number}", names))
        size = draw(st.integers(1, 4)) if task.node is None else 1
        said = Membership(f"{task.namespace}/{task.name}", size)
        for index in range(size):
            one = {"uid": f"{task.uid}-{index}", "name": f"{task.name}-{index}"}
            membership = said if size > 1 else None
            found.append(TaskSeen(_replaced(task, membership, **one)))
    return found


def _replaced(task: Task, membership: Membership | None, uid: str, name: str) -> Task:
    return replace(task, uid=uid, name=name, membership=membership)


@dataclass
class Cluster:
    """Pods on nodes, and whether another one may go to a node by kube-scheduler's rules about other pods."""

    nodes: Mapping[str, Node]
    namespaces: Mapping[str, Mapping[str, str]]
    #: Uid -> pod and node.
    pods: dict[str, tuple[Task, str]] = field(default_factory=dict[str, tuple[Task, str]])

    @classmethod
    def of(cls, world: World) -> "Cluster":
        """Return what is on the nodes of a world."""
        there = {task.uid: (task, task.node) for task in world.tasks.values() if task.charged and task.node}
        return cls(world.nodes, world.namespaces, there)

    def allows(self, task: Task, name: str) -> bool:
        """Tell whether affinity, anti-affinity and spread let a pod go there."""
        return self._near(task, name) and not self._repelled(task, name) and self._even(task, name)

    def means(self, term: PodTerm, task: Task) -> bool:
        """Tell whether a term means a pod."""
        chosen = term.namespace_selector
        here = task.namespace in term.namespaces
        here = here or (chosen is not None and chosen.matches(self.namespaces.get(task.namespace, {})))
        return here and term.selector is not None and term.selector.matches(task.labels)

    def _same(self, key: str, one: str, other: str) -> bool:
        value = self.nodes[one].labels.get(key)
        return value is not None and self.nodes[other].labels.get(key) == value

    def _near(self, task: Task, name: str) -> bool:
        if not task.attracts:
            return True
        if any(term.topology_key not in self.nodes[name].labels for term in task.attracts):
            return False
        meant = [node for pod, node in self._there() if all(self.means(term, pod) for term in task.attracts)]
        if all(any(self._same(term.topology_key, name, node) for node in meant) for term in task.attracts):
            return True
        counted = any(term.topology_key in self.nodes[node].labels for term in task.attracts for node in meant)
        return not counted and all(self.means(term, task) for term in task.attracts)

    def _repelled(self, task: Task, name: str) -> bool:
        return any(
            any(self._same(term.topology_key, name, node) and self.means(term, pod) for term in task.repels)
            or any(self._same(term.topology_key, name, node) and self.means(term, task) for term in pod.repels)
            for pod, node in self._there()
        )

    def _there(self) -> Iterable[tuple[Task, str]]:
        return [(pod, node) for pod, node in self.pods.values() if node in self.nodes]

    def _even(self, task: Task, name: str) -> bool:
        hard = [one for one in task.spreads if one.hard]
        return all(self._within(one, hard, task, name) for one in hard)

    def _within(self, one: Spread, hard: list[Spread], task: Task, name: str) -> bool:
        key = one.topology_key
        value = self.nodes[name].labels.get(key)
        if value is None:
            return False
        counting = [
            node for node in self.nodes.values()
            if all(other.topology_key in node.labels for other in hard)
            and not (one.honours_taints and TAINT in node.taints)
        ]  # fmt: skip
        counts = {node.labels[key]: 0 for node in counting}
        for pod, node in self._there():
            here = pod.namespace == task.namespace and pod.state is not State.RELEASING and one.counts(pod.labels)
            if here and any(node == other.name for other in counting):
                counts[self.nodes[node].labels[key]] += 1
        least = min(counts.values(), default=0) if len(counts) >= one.min_domains else 0
        own = int(one.selector is not None and one.selector.matches(task.labels))
        return counts.get(value, 0) + own - least <= one.max_skew
