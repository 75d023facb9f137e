"""The Jobs, and what happens to each, round by round.

A round is a text; what is in it happens at once, then everything comes to rest and is looked at. `run`, `succeed`,
`fail CODE`, `evict` and `restarts N` name pods by `task` or `task-number`; without a name they mean every pod. A group
is let in as soon as it is there, unless `closed` says otherwise.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Spec = dict[str, Any]


@dataclass(frozen=True)
class Life:
    """A Job and its rounds."""

    name: str
    spec: Spec
    rounds: tuple[str, ...]
    annotations: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    #: What is there before: claims that the Job names.
    claims: tuple[str, ...] = ()
    #: The namespace; empty: one of its own name.
    namespace: str = ""

    @property
    def place(self) -> str:
        """Return the namespace."""
        return self.namespace or self.name


def task(name: str, replicas: int, **more: Any) -> Spec:
    """Return a task as Volcano's webhook leaves it."""
    pod = more.pop("pod", {})
    requests = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}}
    container = {"name": more.pop("container", "main"), "image": "train:1", "resources": requests}
    container |= more.pop("inside", {})
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container], **pod}
    meta = {key: more.pop(key) for key in ("labels", "annotations") if key in more}
    return {
        "name": name, "replicas": replicas, "minAvailable": replicas, "maxRetry": 3,
        "template": {"metadata": meta, "spec": spec}, **more,
    }  # fmt: skip


def job(*tasks: Spec, **more: Any) -> Spec:
    """Return a Job's spec as Volcano's webhook leaves it."""
    plugins = dict(more.pop("plugins", {}))
    if {"tensorflow", "mpi", "pytorch", "ray"} & plugins.keys():
        plugins.setdefault("svc", [])
    if "mpi" in plugins:
        plugins.setdefault("ssh", [])
    return {
        "schedulerName": "volcano", "queue": "default", "maxRetry": 3,
        "minAvailable": sum(one["minAvailable"] for one in tasks), "tasks": list(tasks),
        **({"plugins": plugins} if plugins else {}), **more,
    }  # fmt: skip


def on(action: str, *events: str, **more: Any) -> Spec:
    """Return a policy."""
    named = {"event": events[0]} if len(events) == 1 else {"events": list(events)} if events else {}
    return {"action": action, **named, **more}


def lives() -> Iterator[Life]:
    """Yield all of them."""
    two = task("worker", 2)
    yield Life("plain", job(two), ("", "run", "succeed worker-0", "succeed"))
    yield Life("waits", job(two), ("closed", "open", "run", "succeed"))
    yield Life("fails", job(two), ("", "run", "fail 1 worker-1", "succeed worker-0"))
    yield Life(
        "enough", job(task("worker", 3, minAvailable=2), minAvailable=2), ("", "run", "fail 1 worker-2", "succeed")
    )
    yield Life("success", job(task("worker", 3), minSuccess=1), ("", "run", "succeed worker-1"))
    yield Life("elastic", job(task("worker", 4, minAvailable=2), minAvailable=2), ("", "run worker-0 worker-1", "run"))
    restarted = job(two, policies=[on("RestartJob", "PodFailed")])
    yield Life("restart", restarted, ("", "run", "fail 1 worker-0", "run", "succeed"))
    yield Life("exhausted", restarted | {"maxRetry": 1}, ("", "run", "fail 1 worker-0"))
    yield Life("again", restarted | {"maxRetry": 2}, ("", "run", "fail 1 worker-0", "run", "fail 1 worker-1"))
    yield Life(
        "evicted", job(two, policies=[on("RestartJob", "PodEvicted")]), ("", "run", "evict worker-1", "run", "succeed")
    )
    yield Life("unheard", job(two), ("", "run", "evict worker-1", "run", "succeed"))
    yield Life("codes", job(
        task("worker", 2, policies=[on("AbortJob", exitCode=3), on("RestartJob", exitCode=4)])
    ), ("", "run", "fail 4 worker-0", "run", "fail 3 worker-1"))  # fmt: skip
    master = task("master", 1, policies=[on("CompleteJob", "TaskCompleted")])
    yield Life("master", job(master, two, plugins={"svc": [], "env": []}), ("", "run", "succeed master"))
    yield Life(
        "terminated", job(two, policies=[on("TerminateJob", "PodFailed", "PodEvicted")]), ("", "run", "fail 2 worker-0")
    )
    yield Life("any", job(two, policies=[on("AbortJob", "*")]), ("", "run", "evict worker-0"))
    yield Life("task", job(task("a", 2, policies=[on("RestartTask", "PodFailed")]), task("b", 1)), (
        "", "run", "fail 1 a-1", "run", "succeed",
    ))  # fmt: skip
    yield Life(
        "pod", job(task("a", 3, policies=[on("RestartPod", "PodFailed")])), ("", "run", "fail 1 a-1", "run", "succeed")
    )
    yield Life("crashing", job(
        task("a", 2, maxRetry=2, policies=[on("TerminateJob", "TaskFailed")])
    ), ("", "run", "restarts 2 a-1"))  # fmt: skip
    yield Life(
        "late", job(two, policies=[on("AbortJob", "PodPending", timeout="20s")]), ("", "run worker-0", "wait 20")
    )
    yield Life("after", job(two, policies=[on("TerminateJob", "PodFailed", timeout="10s")]), (
        "", "run", "fail 1 worker-0", "wait 10",
    ))  # fmt: skip
    yield Life("waiting", job(
        task("worker", 2, dependsOn={"name": ["master"]}), task("master", 1), minAvailable=3
    ), ("", "run master", "run", "succeed"))  # fmt: skip
    yield Life("either", job(
        task("a", 1), task("b", 1), task("c", 1, dependsOn={"name": ["a", "b"], "iteration": "any"})
    ), ("", "run b", "run", "succeed"))  # fmt: skip
    yield Life("both", job(
        task("a", 1), task("b", 1), task("c", 1, dependsOn={"name": ["a", "b"], "iteration": "all"})
    ), ("", "run b", "run a", "run", "succeed"))  # fmt: skip
    yield Life("grows", job(two, plugins={"svc": []}), ("", "run", "scale worker 3", "run", "succeed"))
    yield Life("shrinks", job(task("worker", 3, minAvailable=1), minAvailable=1, plugins={"svc": []}), (
        "", "run", "scale worker 1", "succeed",
    ))  # fmt: skip
    yield Life("suspended", job(two, plugins={"svc": [], "ssh": []}), (
        "", "run", "command AbortJob", "command ResumeJob", "run", "succeed",
    ))  # fmt: skip
    yield Life("unstarted", job(two), ("closed", "command AbortJob", "command ResumeJob open", "run", "succeed"))
    yield Life("fleeting", job(two, ttlSecondsAfterFinished=2), ("", "run", "succeed", "", "", ""))
    parts = task("worker", 4, partitionPolicy={"totalPartitions": 2, "partitionSize": 2, "minPartitions": 2})
    yield Life("parts", job(
        parts | {"policies": [on("RestartPartition", "PodFailed")]}
    ), ("", "run", "fail 1 worker-2", "run", "succeed"))  # fmt: skip
    yield Life("pytorch", job(
        task("master", 1), two, plugins={"pytorch": ["--master=master", "--worker=worker", "--port=23456"]}
    ), ("", "run", "succeed"))  # fmt: skip
    yield Life("tensorflow", job(task("ps", 1), two, plugins={"tensorflow": ["--port=2222"]}), ("", "run"))
    yield Life(
        "mpi",
        job(task("master", 1), two, plugins={"mpi": ["--master=master", "--worker=worker", "--port=22"]}),
        ("", "run"),
    )
    yield Life("ray", job(
        task("head", 1, container="head"), task("worker", 2, container="worker"), plugins={"ray": []}
    ), ("", "run", "succeed"))  # fmt: skip
    yield Life(
        "ranks", job(task("master", 1), two, plugins={"hcclrank": ["--master=master", "--worker=worker"]}), ("", "run")
    )
    volumes = [
        {"mountPath": "/in", "volumeClaimName": "data"},
        {"mountPath": "/out", "volumeClaim": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        }},
    ]  # fmt: skip
    yield Life("volumes", job(two, volumes=volumes), ("", "run", "succeed"), claims=("data",))
    passed_on = {
        "volcano.sh/preemptable": "true",
        "volcano.sh/revocable-zone": "*",
        "volcano.sh/jdb-min-available": "1",
    }
    own = task("worker", 1, labels={"own": "l"}, annotations={"own": "a"}, topologyPolicy="restricted")
    yield Life(
        "handed-down", job(own, priorityClassName="urgent"), ("", "run"),
        passed_on | {"note": "n"}, {"volcano.sh/preemptable": "true", "team": "t"},
    )  # fmt: skip
