"""Volcano's own cases, with its numbers: who is placed, and who is evicted for whom, under its arithmetic of queues."""

import json
from pathlib import Path
from typing import Any

import pytest

from phalanx.cli.main import main

PROPORTION = "{extends: volcano, actions: [{name: allocate}, {name: reclaim}, {name: preempt}]}"
CAPACITY = (
    "{extends: volcano, actions: [{name: allocate}, {name: reclaim}, {name: preempt}], "
    "share: {name: quota_then_weight}}"
)
API = "scheduling.volcano.sh/v1beta1"
Object = dict[str, Any]


def node(name: str, cpu: float, memory: str = "100Gi", labels: Any = None, **more: Any) -> Object:
    room = {"cpu": str(cpu), "memory": memory, "pods": "110", **more}
    meta = {"name": name, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": {"allocatable": room}}


def queue(name: str, state: str = "Open", **spec: Any) -> Object:
    return {
        "apiVersion": API, "kind": "Queue", "metadata": {"name": name}, "spec": spec, "status": {"state": state}
    }  # fmt: skip


def group(name: str, minimum: int = 1, of: str = "default", **spec: Any) -> Object:
    return {
        "apiVersion": API, "kind": "PodGroup", "metadata": {"name": name, "namespace": "ns"},
        "spec": {"minMember": minimum, "queue": of, **spec},
    }  # fmt: skip


def pod(
    name: str, of: str, cpu: float = 1, on: str | None = None, *, fixed: bool = False, task: str = "",
    selector: Any = None, priority: int = 0, **amounts: str,
) -> Object:  # fmt: skip
    annotations = {"scheduling.k8s.io/group-name": of}
    annotations |= {"volcano.sh/task-spec": task} if task else {}
    annotations |= {"volcano.sh/preemptable": "false"} if fixed else {}
    requests = {"cpu": str(cpu), **{key.replace("gpu", "nvidia.com/gpu"): value for key, value in amounts.items()}}
    spec: Object = {
        "schedulerName": "volcano", "priority": priority, "nodeSelector": selector or {},
        "containers": [{"name": "c", "resources": {"requests": requests}}],
    }  # fmt: skip
    meta = {"name": name, "namespace": "ns", "annotations": annotations}
    status = {"phase": "Running"} if on else {"phase": "Pending"}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**spec, **({"nodeName": on} if on else {})},
        "status": status,
    }  # fmt: skip


def alone(name: str, of: str, cpu: float = 1, on: str | None = None, **more: Any) -> list[Object]:
    """Return a pod in a group of its own, in a queue."""
    return [group(f"pg-{name}", 1, of), pod(name, f"pg-{name}", cpu, on, **more)]


def flat(*objects: Object | list[Object]) -> list[Object]:
    return [one for item in objects for one in (item if isinstance(item, list) else [item])]


MASTER, WORKER = {"nodeRole": "master"}, {"nodeRole": "worker"}
TWO = [queue("q1", weight=1), queue("q2", weight=1)]


def tasks(master: int, worker: int) -> list[Object]:
    """Return a group of two, and four pods of two tasks with places of their own."""
    return [
        group("pg", 2, minTaskMember={"master": master, "worker": worker}),
        *(pod(f"m{index}", "pg", task="master", selector=MASTER) for index in range(2)),
        *(pod(f"w{index}", "pg", task="worker", selector=WORKER) for index in range(2)),
    ]


CASES = [
    # Volcano binds p2. Here the oldest members are the minimum, and p1 fits nowhere: docs/volcano.md says so.
    ("the oldest pods of a group are its minimum", PROPORTION,
     flat(node("n1", 2, labels=WORKER), group("pg"), pod("p1", "pg", selector=MASTER),
          pod("p2", "pg", selector=WORKER)), set()),
    ("one of each task", PROPORTION,
     flat(node("n1", 1, labels=MASTER), node("n2", 1, labels=WORKER), tasks(1, 1)), {"bind m0 n1", "bind w0 n2"}),
    ("two masters have no room, so nobody starts", PROPORTION,
     flat(node("n1", 1, labels=MASTER), node("n2", 2, labels=WORKER), tasks(2, 0)), set()),
    ("a group of nobody starts pod by pod", PROPORTION,
     flat(node("n1", 2), group("pg", 0), pod("p1", "pg"), pod("p2", "pg")), {"bind p1 n1", "bind p2 n1"}),
    ("queues of one weight take turns", PROPORTION,
     flat(node("n1", 2), TWO, *(alone(f"{name}-{n}", name) for name in ("q1", "q2") for n in range(2))),
     {"bind q1-0 n1", "bind q2-0 n1"}),
    ("a queue whose pod fits nowhere does not block the other", PROPORTION,
     flat(node("n1", 2), TWO, alone("p1", "q1", 3), alone("p2", "q2", 1)), {"bind p2 n1"}),
    ("who has nothing yet goes first", PROPORTION,
     flat(node("n1", 5), TWO, alone("has", "q1", 1, "n1"), alone("p1", "q1", 2), alone("p2", "q2", 3)),
     {"bind p2 n1"}),
    ("and the large ones of both fill the node", PROPORTION,
     flat(node("n1", 5), TWO, alone("has", "q1", 1, "n1"), alone("p1", "q1", 2), alone("p2-large", "q2", 2),
          alone("p2-small", "q2", 1)), {"bind p1 n1", "bind p2-large n1"}),
    ("the same weight: the second queue gets its part back, from what may be evicted", PROPORTION,
     flat(node("n1", 3), TWO, alone("a1", "q1", 1, "n1", fixed=True), alone("a2", "q1", 1, "n1"),
          alone("a3", "q1", 1, "n1", fixed=True), alone("b", "q2", 1)), {"evict a2", "nominate b n1"}),
    ("a reclaimer whose queue is closed gets nothing", PROPORTION,
     flat(node("n1", 3), queue("q1", weight=1), queue("q2", "Closed", weight=1),
          *(alone(f"a{n}", "q1", 1, "n1") for n in range(3)), alone("b", "q2", 1)), set()),
    ("nobody is evicted where there is room", PROPORTION,
     flat(node("n1", 4), TWO, *(alone(f"a{n}", "q1", 1, "n1") for n in range(3)), alone("b", "q2", 1)),
     {"bind b n1"}),
    ("a queue that is not reclaimable keeps what it has", PROPORTION,
     flat(node("n1", 3), queue("q1", weight=1, reclaimable=False), queue("q2", weight=1),
          *(alone(f"a{n}", "q1", 1, "n1") for n in range(3)), alone("b", "q2", 1)), set()),
    ("a bound of 2 with 1 used lets 1 in", CAPACITY,
     flat(node("n1", 4), queue("q1", capability={"cpu": 2}), alone("a", "q1", 1, "n1"), alone("p", "q1", 1)),
     {"bind p n1"}),
    ("a bound of 1.5 does not", CAPACITY,
     flat(node("n1", 4), queue("q1", capability={"cpu": "1.5"}), alone("a", "q1", 1, "n1"), alone("p", "q1", 1)),
     set()),
    ("deserved comes back, from who may be evicted", CAPACITY,
     flat(node("n1", 2, "4Gi"), node("n2", 2, "4Gi"),
          *(queue(f"q{n}", deserved={"cpu": 2, "memory": "4Gi"}) for n in (1, 3)),
          alone("a1", "q3", 2, "n1", fixed=True, memory="4Gi"), alone("a2", "q3", 2, "n2", memory="4Gi"),
          alone("b", "q1", 2, memory="4Gi")), {"evict a2", "nominate b n2"}),
    ("beyond what it deserves in all it asks for, a queue takes nothing back", CAPACITY,
     flat(node("n1", 4), queue("q1", deserved={"cpu": 1}), queue("q2", deserved={"cpu": 3}),
          alone("a", "q1", 1, "n1"), alone("b", "q2", 3, "n1"), alone("more", "q1", 1)), set()),
    ("nor beyond its bound", CAPACITY,
     flat(node("n1", 4), queue("q1", deserved={"cpu": 2}, capability={"cpu": 2}), queue("q2"),
          alone("a", "q1", 1, "n1"), *(alone(f"b{n}", "q2", 1, "n1") for n in range(3)), alone("more", "q1", 2)),
     set()),
    ("the queue of the highest priority goes first", CAPACITY,
     flat(node("n1", 1), *(queue(f"q{priority}", priority=priority) for priority in (5, 1, 10)),
          *(alone(f"p{priority}", f"q{priority}") for priority in (5, 1, 10))), {"bind p10 n1"}),
    ("the bound of a queue above holds for those below", CAPACITY,
     flat(node("n1", 8), queue("lab", capability={"cpu": 4}), queue("a", parent="lab"), queue("b", parent="lab"),
          alone("p1", "a", 2, "n1"), alone("p2", "b", 2, "n1"), alone("p3", "a", 3)), set()),
    ("pods live in leaves", CAPACITY,
     flat(node("n1", 8), queue("lab"), queue("a", parent="lab"), alone("p", "lab"), alone("inside", "a")),
     {"bind inside n1"}),
    ("guarantees below a queue that add up to more than it has crash nobody", CAPACITY,
     flat(node("n1", 4), queue("lab", capability={"cpu": 2}),
          *(queue(name, parent="lab", guarantee={"resource": {"cpu": 2}}) for name in ("a", "b")), queue("c"),
          alone("p", "c", 1)),
     {"bind p n1"}),
    ("a root that may have more than there is", CAPACITY,
     flat(node("n1", 2), queue("root", capability={"cpu": 100}), queue("a"), alone("p", "a", 2)), {"bind p n1"}),
    ("what is guaranteed to another is out of reach even while it is idle", CAPACITY,
     flat(node("n1", 4), queue("a", deserved={"cpu": 3}, guarantee={"resource": {"cpu": 3}}), queue("b"),
          alone("p1", "b", 1), alone("p2", "b", 1)), {"bind p1 n1"}),
    ("one resource at its bound does not stop who asks for another", PROPORTION,
     flat(node("n1", 2, "2G"), node("n2", 2, "2G"), queue("q1", capability={"cpu": 2, "memory": "2G"}),
          queue("q2", capability={"cpu": 3, "memory": "3G"}), alone("has", "q1", 1, "n1", memory="2G"),
          alone("cpu-only", "q1", 1), alone("both", "q1", 1, memory="1G")), {"bind cpu-only n2"}),
]  # fmt: skip


@pytest.mark.parametrize(("story", "policy", "objects", "expected"), CASES, ids=[case[0] for case in CASES])
def test_the_case_ends_as_volcanos(
    story: str, policy: str, objects: list[Object], expected: set[str], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "case.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    (tmp_path / "policy.yaml").write_text(policy)
    assert (
        main(["plan", "-f", str(tmp_path / "case.json"), "--policy", str(tmp_path / "policy.yaml"), "-o", "json"]) == 0
    )
    planned = json.loads(capsys.readouterr().out)
    assert planned["refused"] == []
    forms = {"bind": "bind {pod} {node}", "evict": "evict {pod}", "nominate": "nominate {pod} {node}"}
    found = {
        forms[step["step"]].format(**step).replace("ns/", "")
        for step in planned["cycles"][0]["steps"]
        if step["step"] in forms
    }
    assert found == expected, story
