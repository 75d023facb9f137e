"""What the plugins for distributed frameworks add to the pods of a Job."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from phalanx.dialects.mistakes import FieldError, one_of
from phalanx.dialects.volcano import job_objects as api
from phalanx.dialects.volcano.job_plugins import (
    Member,
    Object,
    add_env,
    containers,
    domain,
    env,
    flags,
    hosts,
    open_port,
    ssh,
    ssh_objects,
    svc,
    svc_objects,
)

_MASTER_AND_WORKER = {"master": "master", "worker": "worker"}
_RAY = {
    "head": "head", "headContainer": "head", "worker": "worker", "workerContainer": "worker", "port": "6379",
    "dashboardPort": "8265", "clientPort": "10001",
}  # fmt: skip
_RAY_PORTS = (("gcs", "port"), ("dashboard", "dashboardPort"), ("client-server", "clientPort"))


def pytorch(made: Member) -> None:
    """Tell a pod where the master is, how many there are, and which it is."""
    said = _said(made, "pytorch", {
        **_MASTER_AND_WORKER, "port": "23456", "wait-master-enabled": "false", "wait-master-timeout": "300",
        "wait-master-image": "busybox:1.36.1",
    })  # fmt: skip
    master = _task(made.spec, said["master"])
    if master is None:
        return
    address = domain(made.name, master, 0)
    members = [task for task in made.spec.tasks or () if task.name in {said["master"], said["worker"]}]
    variables = [
        {"name": "MASTER_ADDR", "value": address}, {"name": "MASTER_PORT", "value": said["port"]},
        {"name": "WORLD_SIZE", "value": str(sum(task.replicas for task in members))},
    ]  # fmt: skip
    if made.task.name == said["worker"]:
        variables.append({"name": "RANK", "value": str(made.number + 1)})
        if said["wait-master-enabled"] == "true":
            _wait_for_master(made.pod, said["wait-master-image"], address, said)
    elif made.task.name == said["master"]:
        variables.append({"name": "RANK", "value": "0"})
    for container in containers(made.pod):
        open_port(container, "pytorchjob-port", int(said["port"]))
        add_env(container, *variables)


def _wait_for_master(pod: Object, image: str, address: str, said: Mapping[str, str]) -> None:
    # What it waits with is for the container; here it matters that it is there and asks for nothing.
    if all(one.get("name") != "wait-for-master" for one in containers(pod, "initContainers")):
        seconds, port = said["wait-master-timeout"], said["port"]
        command = f"for i in $(seq 1 {seconds}); do nc -z {address} {port} && exit 0; sleep 1; done; exit 1"
        waiting = {"name": "wait-for-master", "image": image, "command": ["sh", "-c", command]}
        pod["spec"]["initContainers"] = [*(pod["spec"].get("initContainers") or ()), waiting]


def tensorflow(made: Member) -> None:
    """Tell a pod who is in the cluster, and which of them it is."""
    said = _said(
        made, "tensorflow",
        {"ps": "ps", "worker": "worker", "chief": "chief", "evaluator": "evaluator", "port": "2222"},
    )  # fmt: skip
    tasks = made.spec.tasks or []
    if len(tasks) == 1 and tasks[0].replicas == 1:
        return
    roles = {said[role]: role for role in ("ps", "worker", "chief", "evaluator")}
    cluster = {
        roles[task.name]: [f"{domain(made.name, task, index)}:{said['port']}" for index in range(task.replicas)]
        for task in tasks
        if task.name in roles
    }
    ordered = {role: cluster[role] for role in ("ps", "worker", "chief", "evaluator") if cluster.get(role)}
    own = {"type": roles.get(made.task.name, made.task.name), "index": made.number}
    text = json.dumps({"cluster": ordered, "task": own}, separators=(",", ":"))
    for container in containers(made.pod):
        add_env(container, {"name": "TF_CONFIG", "value": text})


def mpi(made: Member) -> None:
    """Open the port for ssh, and tell the master who the workers are."""
    said = _said(made, "mpi", {**_MASTER_AND_WORKER, "port": "22"})
    names = tuple(task.name for task in made.spec.tasks or ())
    for role in ("master", "worker"):
        if said[role] not in names:
            raise FieldError("spec.plugins.mpi", f"--{role}: {one_of(said[role], names)}")
    worker = _task(made.spec, said["worker"])
    for container in containers(made.pod, "initContainers", "containers"):
        open_port(container, "mpijob-port", int(said["port"]))
        if made.task.name == said["master"] and worker is not None:
            add_env(container, {"name": "MPI_HOST", "value": ",".join(hosts(made.name, worker))})


def ray(made: Member) -> None:
    """Start the head and the workers."""
    said = _said(made, "ray", _RAY)
    head = _task(made.spec, said["head"])
    if head is None:
        names = tuple(task.name for task in made.spec.tasks or ())
        raise FieldError("spec.plugins.ray", f"--head: {one_of(said['head'], names)}")
    for container in containers(made.pod):
        if made.task.name == said["head"] and container.get("name") == said["headContainer"]:
            for name, flag in _RAY_PORTS:
                open_port(container, name, int(said[flag]))
            start = (
                f"ray start --head --block --dashboard-host=0.0.0.0 --port={said['port']} "
                f"--dashboard-port={said['dashboardPort']} --ray-client-server-port={said['clientPort']}"
            )
            container["command"] = ["sh", "-c", start]
        if made.task.name == said["worker"] and container.get("name") == said["workerContainer"]:
            start = f"ray start --block --address={domain(made.name, head, 0)}:{said['port']}"
            container["command"] = ["sh", "-c", start]


def ray_objects(name: str, namespace: str, spec: api.JobSpec) -> Iterator[Object]:
    """Yield the service of the head."""
    said = flags((spec.plugins or {}).get("ray"), "ray", _RAY)
    selector = {
        "volcano.sh/job-name": name, "volcano.sh/job-namespace": namespace, "volcano.sh/task-spec": said["head"],
    }  # fmt: skip
    ports = [
        {"name": port, "port": int(said[flag]), "targetPort": port, "protocol": "TCP"} for port, flag in _RAY_PORTS
    ]
    meta = {"name": f"{name}-head-svc"}
    yield {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"selector": selector, "ports": ports}}


def hcclrank(made: Member) -> None:
    """Say the rank of a pod, as another plugin gave it or by its place."""
    said = _said(made, "hcclrank", _MASTER_AND_WORKER)
    annotations = made.pod["metadata"]["annotations"]
    if annotations.get("hccl/rankIndex"):
        return
    given = [one for container in containers(made.pod) for one in container.get("env") or ()]
    rank = next((one.get("value") for one in given if isinstance(one, dict) and one.get("name") == "RANK"), None)
    if rank is None and made.task.name == said["master"]:
        rank = str(made.number)
    elif rank is None and made.task.name == said["worker"]:
        master = _task(made.spec, said["master"])
        rank = str(made.number + (master.replicas if master is not None else 0))
    if rank is not None:
        annotations["hccl/rankIndex"] = rank


#: In this order: one may look at what another added.
PLUGINS: Mapping[str, Callable[[Member], None]] = {
    "svc": svc, "ssh": ssh, "env": env, "tensorflow": tensorflow, "mpi": mpi, "pytorch": pytorch, "ray": ray,
    "hcclrank": hcclrank,
}  # fmt: skip

#: What plugins make once for the Job.
OBJECTS: Mapping[str, Callable[[str, str, api.JobSpec], Iterator[Object]]] = {
    "svc": svc_objects, "ssh": ssh_objects, "ray": ray_objects,
}  # fmt: skip


def _said(made: Member, plugin: str, known: Mapping[str, str]) -> dict[str, str]:
    found: Any = (made.spec.plugins or {}).get(plugin)
    return flags(found, plugin, known)


def _task(spec: api.JobSpec, name: str) -> api.Task | None:
    return next((task for task in spec.tasks or () if task.name == name), None)
