"""What the plugins of a Job add to its pods, and which objects they make beside them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from phalanx.dialects.mistakes import FieldError
from phalanx.dialects.volcano import job_objects as api
from phalanx.model.quantity import shown

Object = dict[str, Any]

_KEYS = ".ssh"
_KEY_FOLDER = f"/root/{_KEYS}"
_KEY_FILES = ("id_rsa", "id_rsa.pub", "authorized_keys", "config")

_SSH = {"ssh-key-file-path": _KEY_FOLDER, "ssh-private-key": "", "ssh-public-key": "", "ssh-port": "22"}


class Member(NamedTuple):
    """The Job that is expanded, and one of its pods."""

    name: str
    namespace: str
    spec: api.JobSpec
    task: api.Task
    number: int
    pod: Object


def flags(arguments: Sequence[str] | None, plugin: str, known: Mapping[str, str]) -> dict[str, str]:
    """Return flags as Go reads them: `--name=value`, `-name value`, and `--name` of a truth."""
    found, rest, path = dict(known), list(arguments or ()), f"spec.plugins.{plugin}"
    while rest:
        word = rest.pop(0)
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or name not in known:
            allowed = ", ".join(f"--{one}" for one in known) or "none"
            raise FieldError(path, f"found {shown(word)}, allowed is {allowed}")
        if not equals:
            truth = known[name] in {"true", "false"}
            if not truth and not rest:
                raise FieldError(path, f"found {shown(word)} without a value")
            value = "true" if truth else rest.pop(0)
        if known[name].isdigit() and not value.isdigit():
            raise FieldError(path, f"found {shown(word)}, allowed is a whole number")
        found[name] = value
    return found


def containers(pod: Object, *lists: str) -> Iterator[Object]:
    """Yield the containers of these lists, `containers` alone if none is named."""
    for name in lists or ("containers",):
        for one in pod["spec"].get(name) or ():
            if isinstance(one, dict):
                yield one


def add_env(container: Object, *variables: Object) -> None:
    """Append variables of the environment."""
    container["env"] = [*(container.get("env") or ()), *variables]


def open_port(container: Object, name: str, port: int) -> None:
    """Append a port that is not there yet."""
    ports = container.get("ports") or []
    if all(not isinstance(one, dict) or one.get("containerPort") != port for one in ports):
        container["ports"] = [*ports, {"name": name, "containerPort": port}]


def domain(job: str, task: api.Task, index: int) -> str:
    """Return the name under which a pod is found."""
    return f"{task.pod.get('hostname') or f'{job}-{task.name}-{index}'}.{task.pod.get('subdomain') or job}"


def hosts(job: str, task: api.Task) -> list[str]:
    """Return the names of a task's pods; a name that is given is that of one pod alone."""
    count = min(task.replicas, 1) if task.pod.get("hostname") else task.replicas
    return [domain(job, task, index) for index in range(count)]


def svc(made: Member) -> None:
    """Give a pod a name in the network, and tell it those of the others."""
    spec, table = made.pod["spec"], f"{made.name}-svc"
    spec["hostname"] = spec.get("hostname") or made.pod["metadata"]["name"]
    spec["subdomain"] = spec.get("subdomain") or made.name
    names = [
        name.format(task.name.replace("-", "_").upper())
        for task in made.spec.tasks or ()
        for name in ("VC_{}_HOSTS", "VC_{}_NUM")
    ]
    variables = [{"name": name, "valueFrom": {"configMapKeyRef": {"name": table, "key": name}}} for name in names]
    for container in containers(made.pod, "containers", "initContainers"):
        add_env(container, *variables)
        mounts = container.get("volumeMounts") or []
        container["volumeMounts"] = [*mounts, {"mountPath": "/etc/volcano", "name": table}]
    spec["volumes"] = [*(spec.get("volumes") or ()), {"name": table, "configMap": {"name": table}}]


def svc_objects(name: str, namespace: str, spec: api.JobSpec) -> Iterator[Object]:
    """Yield the table of names, the service, and the rule that lets in the Job's own pods alone."""
    said = flags(
        (spec.plugins or {}).get("svc"), "svc",
        {"publish-not-ready-addresses": "false", "disable-network-policy": "false", "inject-hosts-env": "true"},
    )  # fmt: skip
    data: dict[str, str] = {}
    for task in spec.tasks or ():
        word, found = task.name.replace("-", "_"), hosts(name, task)
        data[f"{word}.host"] = "\n".join(found)
        data[f"VC_{word.upper()}_HOSTS"] = ",".join(found)
        data[f"VC_{word.upper()}_NUM"] = str(len(found))
    own = {"volcano.sh/job-name": name, "volcano.sh/job-namespace": namespace}
    yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-svc"}, "data": data}
    service: Object = {"clusterIP": "None", "selector": own}
    if said["publish-not-ready-addresses"] == "true":
        service["publishNotReadyAddresses"] = True
    yield {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": service}
    if said["disable-network-policy"] != "true":
        chosen = {"podSelector": {"matchLabels": own}}
        yield {
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name},
            "spec": {**chosen, "ingress": [{"from": [chosen]}], "policyTypes": ["Ingress"]},
        }  # fmt: skip


def env(made: Member) -> None:
    """Tell a pod which of its task it is."""
    for container in containers(made.pod, "containers", "initContainers"):
        index = str(made.number)
        add_env(container, {"name": "VK_TASK_INDEX", "value": index}, {"name": "VC_TASK_INDEX", "value": index})


def ssh(made: Member) -> None:
    """Mount the keys that the pods of the Job share."""
    folder = flags((made.spec.plugins or {}).get("ssh"), "ssh", _SSH)["ssh-key-file-path"]
    name = f"{made.name}-ssh"
    items = [{"key": file, "path": f"{_KEYS}/{file}"} for file in _KEY_FILES]
    # Another user than root must be able to read them.
    mode = 0o600 if folder == _KEY_FOLDER else 0o644
    secret = {"secretName": name, "items": items, "defaultMode": mode}
    spec = made.pod["spec"]
    spec["volumes"] = [*(spec.get("volumes") or ()), {"name": name, "secret": secret}]
    for container in containers(made.pod, "containers", "initContainers"):
        mount = {"mountPath": folder, "subPath": _KEYS, "name": name}
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]


def ssh_objects(name: str, namespace: str, spec: api.JobSpec) -> Iterator[Object]:
    """Yield the Secret with the keys, as far as they are known: where none is given a pair is made for the Job."""
    del namespace
    said = flags((spec.plugins or {}).get("ssh"), "ssh", _SSH)
    lines = ["StrictHostKeyChecking no", "UserKnownHostsFile /dev/null"]
    for task in spec.tasks or ():
        for host in hosts(name, task):
            lines += [f"Host {host.partition('.')[0]}", f"  HostName {host}"]
            if said["ssh-port"] != "22":
                lines.append(f"  Port {said['ssh-port']}")
    data = {"config": "".join(f"{line}\n" for line in lines)}
    if said["ssh-private-key"]:
        public = said["ssh-public-key"]
        data |= {"id_rsa": said["ssh-private-key"], "id_rsa.pub": public, "authorized_keys": public}
    yield {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{name}-ssh"}, "stringData": data}
