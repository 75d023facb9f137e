"""Clusters that hypothesis can think of: small enough to shrink, odd enough to find what stories do not."""

from dataclasses import replace

from hypothesis import strategies as st

from phalanx.model.device import Device, DeviceWish
from phalanx.model.events import Event, NamespaceSeen, NodeSeen, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node, Taint
from phalanx.model.selectors import HostPort, LabelSelector, NodeTerm, PodTerm, Preference, Requirement, Toleration
from phalanx.model.task import Hold, Shape, State, Task

_TAINTS = (
    Taint("gpu", "h100"),
    Taint("dedicated", "infra", "NoExecute"),
    Taint("slow", "", "PreferNoSchedule"),
)
_TERMS = (
    NodeTerm(labels=(Requirement("zone", "In", ("a", "b")),)),
    NodeTerm(labels=(Requirement("zone", "NotIn", ("a",)),)),
    NodeTerm(labels=(Requirement("zone", "Exists"),)),
    NodeTerm(labels=(Requirement("size", "Gt", ("2",)),)),
    NodeTerm(fields=(Requirement("metadata.name", "In", ("n1",)),)),
    NodeTerm(),
)


_MEMORY = {"": 0, "T4": 16, "H100": 80}
_WISHES = [
    DeviceWish((("T4", 1.0),)), DeviceWish((("H100", 2.0), ("T4", 1.0))),
    DeviceWish(memory=40), DeviceWish((("H100", 1.0),), 99),
]  # fmt: skip


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    """Draw one node: gpus, a dongle or neither, perhaps a zone, taints, trouble."""
    amounts = {
        "cpu": draw(st.integers(0, 8)) * 1000,
        "memory": draw(st.integers(0, 16)),
        "pods": draw(st.integers(0, 8)),
    }
    for resource, most in (("nvidia.com/gpu", 4000), ("example.com/dongle", 4)):
        if draw(st.booleans()):
            amounts[resource] = draw(st.integers(0, 4)) * (most // 4)
    gpus = range(amounts.get("nvidia.com/gpu", 0) // 1000)
    told_models = st.lists(st.sampled_from(["", "T4", "H100"]), min_size=len(gpus), max_size=len(gpus))
    told = zip(gpus, draw(told_models), strict=True) if draw(st.booleans()) else ()
    labels = draw(st.dictionaries(st.sampled_from(["zone", "size"]), st.sampled_from(["a", "b", "3"]), max_size=2))
    return Node(
        name,
        allocatable=amounts,
        labels=labels,
        taints=tuple(draw(st.lists(st.sampled_from(_TAINTS), max_size=2, unique=True))),
        ready=draw(st.integers(0, 9)) > 0,
        cordoned=draw(st.integers(0, 9)) == 0,
        devices=tuple(Device("nvidia.com/gpu", index, model=model, memory=_MEMORY[model]) for index, model in told),
    )


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Draw what a task asks for."""
    amounts = {
        "cpu": draw(st.integers(0, 3)) * 1000,
        "memory": draw(st.integers(0, 4)),
        "nvidia.com/gpu": draw(st.sampled_from([0, 0, 1000, 2000])),
        "example.com/dongle": draw(st.sampled_from([0, 0, 0, 1])),
        "pods": 1,
    }
    terms = draw(st.none() | st.lists(st.sampled_from(_TERMS), min_size=1, max_size=2))
    tolerations = st.sampled_from([Toleration("gpu", "Equal", "h100"), Toleration(operator="Exists")])
    return Shape(
        requests=tuple(sorted((name, amount) for name, amount in amounts.items() if amount)),
        scored=(max(amounts["cpu"], 100), max(amounts["memory"], 1)),
        priority=draw(st.integers(0, 2)),
        tolerations=tuple(draw(st.lists(tolerations, max_size=1))),
        node_terms=None if terms is None else tuple(terms),
        preferences=tuple(
            draw(st.lists(st.builds(Preference, st.integers(1, 9), st.sampled_from(_TERMS)), max_size=1))
        ),
        host_ports=(HostPort(80),) if draw(st.integers(0, 9)) == 0 else (),
        devices=draw(st.sampled_from(_WISHES)) if draw(st.integers(0, 4)) == 0 else None,
    )


@st.composite
def gangs(draw: st.DrawFn, name: str, node_names: list[str]) -> list[Task]:
    """Draw the members of one gang (or a single task): some may run, finish, be held or be missing already."""
    size = draw(st.integers(1, 5))
    minimum = draw(st.integers(1, size + 1))
    alike = draw(shapes())
    lonely = size == 1 and draw(st.booleans())
    said = Membership(f"default/{name}", minimum, maximum=draw(st.none() | st.integers(minimum, minimum + 3)))
    named = draw(st.booleans())
    members = []
    for index in range(size):
        own = replace(said, subgroup=["left", "right"][index % 2], subgroup_minimum=1) if named else said
        mixed = draw(shapes()) if draw(st.integers(0, 5)) == 0 else alike
        task = Task(
            f"{name}-{index}", "default", f"{name}-{index}", mixed,
            created=float(draw(st.integers(0, 3))), membership=None if lonely else own,
            hold=Hold("spec.schedulingGates", "gated") if draw(st.integers(0, 11)) == 0 else None,
            labels={"app": draw(st.sampled_from(["web", "db"]))},
        )  # fmt: skip
        state = draw(st.sampled_from([State.PENDING] * 5 + [State.RUNNING, State.SUCCEEDED]))
        if state is not State.PENDING:
            task = replace(task, state=state, node=draw(st.sampled_from(node_names)), started=1.0, finished=2.0)
        members.append(task)
    return members


@st.composite
def clusters(draw: st.DrawFn) -> list[Event]:
    """Draw a cluster as the events that make it up, in a fixed order."""
    names = [f"n{number}" for number in range(1, draw(st.integers(1, 5)) + 1)]
    found: list[Event] = [NodeSeen(draw(nodes(name))) for name in names]
    found.append(NamespaceSeen("default", {"team": "a"}))
    for number in range(draw(st.integers(0, 3))):
        repels = (PodTerm("zone", LabelSelector((Requirement("app", "In", ("web",)),)), frozenset({"default"})),)
        found.append(
            TaskSeen(
                Task(
                    f"other-{number}", "kube-system", f"other-{number}", draw(shapes()), ours=False,
                    state=draw(st.sampled_from([State.RUNNING, State.RELEASING])), node=draw(st.sampled_from(names)),
                    repels=repels if draw(st.integers(0, 3)) == 0 else (),
                )
            )
        )  # fmt: skip
    for number in range(draw(st.integers(0, 5))):
        found += [TaskSeen(task) for task in draw(gangs(f"g{number}", names))]
    return found
