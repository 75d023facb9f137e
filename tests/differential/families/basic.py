"""Families that need nothing but nodes and pods: resources, taints, node affinity, ports, gates and priorities."""

from random import Random
from typing import Any

from phalanx.testing.objects import Manifest
from tests.differential.case import ASKED, NEIGHBOUR, PRIORITIES, Case, nodes, placed, pods, some

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_KEYS = ("disk", "size", "rack", "topology.kubernetes.io/zone", "kubernetes.io/hostname", "absent")
_VALUES = {
    "disk": ("ssd", "hdd", "tape"), "size": ("1", "2", "3"), "rack": ("r1", "r2", "r9"), "absent": ("1",),
    "topology.kubernetes.io/zone": ("a", "b", "z"), "kubernetes.io/hostname": ("n0", "n1", "n2"),
}  # fmt: skip


def resources(random: Random, case: Case) -> None:
    """Nodes with odd amounts; pods with init containers, sidecars, amounts for the whole pod."""
    standing = nodes(random, alter=_odd_amounts)
    running = pods(random, "r", random.randint(5, 25), _asks)
    case.batches = [standing, placed(random, standing, running)]
    case.asked = pods(random, "p", ASKED, _asks)


def _odd_amounts(random: Random, node: Manifest) -> None:
    amounts: dict[str, str] = node["status"]["allocatable"]
    amounts["cpu"] = random.choice(("900m", "1", "1500m", "2", "3", "0"))
    amounts["memory"] = random.choice(("1Gi", "2G", "2047Mi", "4Gi"))
    amounts["pods"] = str(random.choice((2, 4, 8, 110)))
    if random.random() < 0.7:
        amounts["ephemeral-storage"] = random.choice(("1Gi", "10Gi"))
    if random.random() < 0.6:
        amounts["nvidia.com/gpu"] = str(random.choice((0, 1, 4, 8)))
    if random.random() < 0.4:
        amounts["example.com/dongle"] = str(random.choice((1, 2)))
    if random.random() < 0.3:
        amounts["hugepages-2Mi"] = random.choice(("64Mi", "128Mi"))


def _asks(random: Random, pod: Manifest) -> None:
    spec = pod["spec"]
    spec["containers"] = [_container(random, f"c{number}") for number in range(random.choice((1, 1, 2)))]
    for number in range(random.choice((0, 0, 1, 2))):
        made = _container(random, f"i{number}")
        if random.random() < 0.4:
            made["restartPolicy"] = "Always"
        spec.setdefault("initContainers", []).append(made)
    if random.random() < 0.15 and not _has(spec, "hugepages-2Mi"):
        whole = _total(spec)
        spec["resources"] = {"requests": {"cpu": f"{whole + random.choice((0, 500))}m"}}


def _container(random: Random, name: str) -> dict[str, Any]:
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    if random.random() < 0.8:
        requests["cpu"] = random.choice(("100m", "250m", "1", "1500m", "0"))
    if random.random() < 0.7:
        requests["memory"] = random.choice(("64Mi", "512Mi", "1Gi", "1500M"))
    if random.random() < 0.2:
        requests["ephemeral-storage"] = random.choice(("512Mi", "2Gi"))
    if random.random() < 0.25:
        limits["nvidia.com/gpu"] = str(random.choice((1, 2, 4)))
    if random.random() < 0.1:
        limits["example.com/dongle"] = "1"
    if random.random() < 0.1 and "memory" in requests:
        limits["hugepages-2Mi"] = random.choice(("32Mi", "64Mi"))
    if random.random() < 0.1:
        # A limit alone is a request.
        limits["cpu"] = requests.pop("cpu", "500m")
    return {"name": name, "image": "image", "resources": {"requests": requests, "limits": limits}}


def _has(spec: dict[str, Any], resource: str) -> bool:
    listed = [*spec["containers"], *spec.get("initContainers", ())]
    return any(resource in one["resources"]["limits"] for one in listed)


def _total(spec: dict[str, Any]) -> int:
    """Return an amount of cpu that no container exceeds, and not their sum either: the server asks for that."""
    amounts = {"100m": 100, "250m": 250, "1": 1000, "1500m": 1500, "0": 0, "500m": 500}
    listed = [*spec["containers"], *spec.get("initContainers", ())]
    return sum(
        amounts[one["resources"][kind]["cpu"]]
        for one in listed
        for kind in ("requests", "limits")
        if "cpu" in one["resources"][kind]
    )


def taints(random: Random, case: Case) -> None:
    """Taints of every effect, cordoned nodes, tolerations with gaps."""
    standing = nodes(random, alter=_tainted)
    case.batches = [standing]
    case.asked = pods(random, "p", ASKED, _tolerates)


def _tainted(random: Random, node: Manifest) -> None:
    if random.random() < 0.02:
        # A controller would taint it as well; where none has done it yet, kube-scheduler would go there.
        node["status"]["conditions"][0]["status"] = random.choice(("False", "Unknown"))
    effects = ("NoSchedule", "PreferNoSchedule", "NoExecute")
    keys = some(random, ("k1", "k2", "k3"), 2)
    node["spec"]["taints"] = [
        {"key": key, "value": random.choice(("v", "w", "")), "effect": random.choice(effects)} for key in keys
    ]
    if random.random() < 0.2:
        # The API server adds no taint: that is a controller's work, and none runs.
        node["spec"]["unschedulable"] = True


def _tolerates(random: Random, pod: Manifest) -> None:
    made = []
    for _ in range(random.randint(0, 3)):
        one: dict[str, Any] = {}
        one["operator"] = random.choice(("Exists", "Equal"))
        key = random.choice(("k1", "k2", "k3", "node.kubernetes.io/unschedulable", ""))
        if key:
            one["key"] = key
        else:
            one["operator"] = "Exists"
        if one["operator"] == "Equal":
            one["value"] = random.choice(("v", "w", ""))
            if random.random() < 0.3:
                del one["operator"]
        if random.random() < 0.6:
            one["effect"] = random.choice(("NoSchedule", "NoExecute", "PreferNoSchedule"))
        made.append(one)
    pod["spec"]["tolerations"] = made


def node_affinity(random: Random, case: Case) -> None:
    """Selectors, required terms with every operator, fields, preferences."""
    case.batches = [nodes(random)]
    case.asked = pods(random, "p", ASKED, wants_nodes)


def wants_nodes(random: Random, pod: Manifest) -> None:
    """Give a pod a wish about its nodes."""
    if random.random() < 0.4:
        key = random.choice(_KEYS)
        pod["spec"]["nodeSelector"] = {key: random.choice(_VALUES[key])}
    affinity: dict[str, Any] = {}
    if random.random() < 0.7:
        terms = [_term(random) for _ in range(random.randint(1, 3))]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if random.random() < 0.3:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": random.choice((1, 10, 100)), "preference": {"matchExpressions": [_expression(random)]}}
            for _ in range(random.randint(1, 2))
        ]
    if affinity:
        pod["spec"]["affinity"] = {"nodeAffinity": affinity}


def _term(random: Random) -> dict[str, Any]:
    term: dict[str, Any] = {}
    if random.random() < 0.9:
        term["matchExpressions"] = [_expression(random) for _ in range(random.randint(0, 2))]
    if random.random() < 0.2:
        operator = random.choice(("In", "NotIn"))
        field = {"key": "metadata.name", "operator": operator, "values": [f"n{random.randint(0, 9)}"]}
        term["matchFields"] = [field]
    return term


def _expression(random: Random) -> dict[str, Any]:
    operator = random.choice(_OPERATORS)
    key = "size" if operator in {"Gt", "Lt"} and random.random() < 0.7 else random.choice(_KEYS)
    values = _VALUES[key]
    if operator in {"Exists", "DoesNotExist"}:
        return {"key": key, "operator": operator}
    if operator in {"Gt", "Lt"}:
        return {"key": key, "operator": operator, "values": [str(random.randint(0, 4))]}
    return {"key": key, "operator": operator, "values": some(random, values, 2, 1)}


def ports(random: Random, case: Case) -> None:
    """Host ports by address and protocol, of containers and sidecars, and the host's network."""
    standing = nodes(random)
    running = pods(random, "r", random.randint(4, 14), _listens)
    case.batches = [standing, placed(random, standing, running)]
    case.asked = pods(random, "p", ASKED, _listens)


def _listens(random: Random, pod: Manifest) -> None:
    spec = pod["spec"]
    network = random.random() < 0.25
    if network:
        spec["hostNetwork"] = True
    spec["containers"][0]["ports"] = _ports(random, network=network)
    if random.random() < 0.3:
        init: dict[str, Any] = {"name": "init", "image": "image", "ports": _ports(random, network=network)}
        if random.random() < 0.6:
            init["restartPolicy"] = "Always"
        spec["initContainers"] = [init]


def _ports(random: Random, *, network: bool) -> list[dict[str, Any]]:
    made = []
    for number in some(random, (80, 81, 443), 2):
        one: dict[str, Any] = {"containerPort": number}
        if network or random.random() < 0.8:
            one["hostPort"] = number
            if random.random() < 0.5:
                one["hostIP"] = random.choice(("127.0.0.1", "10.0.0.1", "0.0.0.0"))  # noqa: S104 (in a manifest)
        if random.random() < 0.4:
            one["protocol"] = random.choice(("TCP", "UDP"))
        made.append(one)
    return made


def priority(random: Random, case: Case) -> None:
    """Gates and priorities beside full nodes: nobody is asked to leave here, so the full ones stay full."""
    standing = nodes(random)
    case.batches = [standing, placed(random, standing, pods(random, "r", random.randint(10, 30), _ranks))]
    case.asked = pods(random, "p", ASKED, _waits)


def _ranks(random: Random, pod: Manifest) -> None:
    name = random.choice((None, *PRIORITIES))
    if name:
        pod["spec"]["priorityClassName"] = name
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": random.choice(("500m", "1", "2"))}}


def _waits(random: Random, pod: Manifest) -> None:
    _ranks(random, pod)
    if random.random() < 0.3:
        pod["spec"]["schedulingGates"] = [{"name": f"example.com/{gate}"} for gate in some(random, "ab", 2, 1)]


def nominations(random: Random, case: Case) -> None:
    """Places that are kept for waiting pods of somebody else: from pods of their priority and below."""
    standing = nodes(random)
    running = placed(random, standing, pods(random, "r", random.randint(5, 15), _ranks))
    waiting = pods(random, "w", random.randint(2, 12), _ranks)
    for one in waiting:
        # Gated, so that nobody decides about it: its nomination stays.
        one["spec"] |= {"schedulerName": NEIGHBOUR, "schedulingGates": [{"name": "example.com/wait"}]}
        if random.random() < 0.4:
            one["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
        one["status"] = {"nominatedNodeName": random.choice(standing)["metadata"]["name"]}
    case.batches = [standing, running, waiting]

    def alter(random: Random, pod: Manifest) -> None:
        _ranks(random, pod)
        if random.random() < 0.3:
            pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]

    case.asked = pods(random, "p", ASKED, alter)
