"""Documents become events, each object alone: a bad one stops nobody and is named once."""

from collections import Counter
from typing import Any

from phalanx.model.events import NodeSeen, PriorityClassSeen, QueueSeen, Refused, TaskSeen
from phalanx.model.reference import Reference
from phalanx.sim.manifests import Document
from phalanx.sim.objects import Objects, read_objects

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4"}}}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    spec = {"schedulerName": "phalanx", "containers": [{"name": "main"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def job(count: int, cpu: str) -> dict[str, Any]:
    template = {"spec": pod("", containers=[{"resources": {"limits": {"cpu": cpu}}}])["spec"]}
    return {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"parallelism": count, "template": template},
    }  # fmt: skip


def read(*objects: dict[str, Any]) -> Objects:
    return read_objects([Document(one, f"f{number}") for number, one in enumerate(objects)], ["phalanx"])


def tasks(objects: Objects) -> list[str]:
    return [event.task.full_name for event in objects.events if isinstance(event, TaskSeen)]


def test_pods_nodes_and_the_pods_of_controllers_are_read_and_unknown_kinds_counted() -> None:
    objects = read(NODE, pod("a"), job(2, "1"), {"kind": "ConfigMap"}, {"kind": "ConfigMap"}, {"kind": "Secret"})
    assert [type(event) for event in objects.events] == [NodeSeen, TaskSeen, TaskSeen, TaskSeen]
    assert tasks(objects) == ["default/a", "ml/train-0", "ml/train-1"]
    assert (objects.ignored, objects.refused) == (Counter(ConfigMap=2, Secret=1), [])


def test_a_class_may_stand_after_the_pods_that_name_it() -> None:
    gold = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "gold"}, "value": 9}
    seen, event = read(pod("a", priorityClassName="gold"), gold).events
    assert seen == PriorityClassSeen("gold", 9)
    assert isinstance(event, TaskSeen)
    assert event.task.shape.priority == 9


def test_a_namespace_that_is_labelled_gives_its_scheduler_to_pods_that_name_none() -> None:
    """As the API server does with our policy. What is on a node, or went through an API server, stays as it is."""
    labels = {"phalanx.dev/scheduler-name": "phalanx"}
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": labels}}
    daemon = pod("of-a-daemon-set", schedulerName=None)
    daemon["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "d", "controller": True}]
    elsewhere = pod("elsewhere", schedulerName=None)
    elsewhere["metadata"]["namespace"] = "ml"
    made = job(1, "1")
    made["metadata"]["namespace"] = "default"
    del made["spec"]["template"]["spec"]["schedulerName"]
    objects = read(
        pod("plain", schedulerName=None), pod("by-default", schedulerName="default-scheduler"), daemon, elsewhere,
        pod("theirs", schedulerName="volcano"), pod("placed", schedulerName=None, nodeName="n1"),
        pod("there", schedulerName="default-scheduler", priority=0), made, home,
    )  # fmt: skip
    ours = [event.task.full_name for event in objects.events if isinstance(event, TaskSeen) and event.task.ours]
    assert ours == ["default/plain", "default/by-default", "default/train-0"]


def test_a_bad_template_is_one_mistake_of_its_controller() -> None:
    objects = read(NODE, job(50, "lots"))
    ((refused, source),) = objects.refused
    assert (refused.object, refused.field, source) == (
        Reference("Job", "ml/train"), "spec.template.spec.containers[0].resources.requests.cpu", "f1",
    )  # fmt: skip
    assert tasks(objects) == []


def test_of_two_objects_with_one_name_the_first_holds() -> None:
    objects = read(pod("a", priority=1), pod("a", priority=2), NODE, NODE)
    said = "already taken by an object in {}, which holds"
    assert objects.refused == [
        (Refused("Pod", "default/a", "metadata.name", said.format("f0")), "f1"),
        (Refused("Node", "n1", "metadata.name", said.format("f2")), "f3"),
    ]
    assert [event.task.shape.priority for event in objects.events if isinstance(event, TaskSeen)] == [1]


def test_of_two_pods_with_one_uid_the_first_holds() -> None:
    one, two = pod("a"), pod("b")
    one["metadata"]["uid"] = two["metadata"]["uid"] = "7"
    objects = read(one, two)
    message = "already taken by an object in f0, which holds"
    assert objects.refused == [(Refused("Pod", "default/b", "metadata.uid", message), "f1")]
    assert tasks(objects) == ["default/a"]


def queue(api: str, name: str = "q", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def test_queues_of_two_systems_may_have_one_name_but_not_two_of_the_same() -> None:
    ours, kai = queue("scheduling.phalanx.dev/v1alpha1"), queue("scheduling.run.ai/v2", resources={})
    objects = read(ours, kai, kai)
    assert [(event.queue.object, event.queue.uid) for event in objects.events if isinstance(event, QueueSeen)] == [
        (Reference("Queue", "q"), "Queue/q"),
        (Reference("Queue.scheduling.run.ai", "q"), "Queue.scheduling.run.ai/q"),
    ]
    message = "already taken by an object in f1, which holds"
    assert objects.refused == [(Refused("Queue.scheduling.run.ai", "q", "metadata.name", message), "f2")]


def test_a_queue_that_cannot_be_read_is_told_to_those_who_wait_in_it_too() -> None:
    objects = read(queue("scheduling.run.ai/v2"))
    refused = Refused("Queue.scheduling.run.ai", "q", "spec.resources", "missing", queue=True)
    assert (objects.events, objects.refused) == ([refused], [(refused, "f0")])


def test_a_budget_that_cannot_be_read_still_protects_and_so_is_told() -> None:
    bad = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": []}
    objects = read(bad)
    refused = Refused("PodDisruptionBudget", "default/b", "spec", "found a list, allowed is a map")
    assert (objects.events, objects.refused) == ([refused], [(refused, "f0")])
