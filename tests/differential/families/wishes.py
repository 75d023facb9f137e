"""Pods that fit on several nodes and prefer some: what a choice is made by, once the filters have spoken."""

from random import Random
from typing import Any

from phalanx.testing.objects import Manifest
from tests.differential.case import NAMESPACES, Alter, Case, nodes, placed, pods, some
from tests.differential.comparing import Family
from tests.differential.families.neighbours import constraint, labelled, term

_IMAGES = {
    "registry.example/torch:2.1": 9_000_000_000,
    "registry.example/base:latest": 120_000_000,
    "registry.example/small:1": 30_000_000,
    "registry.example/tiny:latest": 5_000_000,
}
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
#: What Services select by.
_SERVED = {"app": ("x", "y", "z"), "version": ("1", "2")}
#: Those that a ReplicaSet made: all that it selects, since it adopts what nobody owns.
_OWNERS = ("x", "y")
#: Fewer than for filters: they are asked one after the other.
ASKED = 25


def plain(random: Random, case: Case) -> None:
    """Requests, taints that only ask, preferred nodes, images that are there already."""
    standing = nodes(random, random.randint(4, 10), _attractive)
    running = pods(random, "r", random.randint(5, 30), _small)
    case.batches = [standing, placed(random, standing, running)]
    case.asked = pods(random, "p", ASKED, _wishes)


def _attractive(random: Random, node: Manifest) -> None:
    keys = some(random, ("k1", "k2", "k3"), 3) if random.random() < 0.5 else ()
    node["spec"]["taints"] = [{"key": key, "value": "v", "effect": "PreferNoSchedule"} for key in keys]
    amounts: dict[str, str] = node["status"]["allocatable"]
    amounts["cpu"], amounts["memory"] = random.choice(("7900m", "16", "64")), random.choice(("30Gi", "64Gi", "100Gi"))
    if random.random() < 0.3:
        amounts["nvidia.com/gpu"] = "8"
    chosen = some(random, _IMAGES, 3)
    node["status"]["images"] = [{"names": [name, f"{name}-alias"], "sizeBytes": _IMAGES[name]} for name in chosen]


def _small(random: Random, pod: Manifest) -> None:
    pod["spec"]["containers"][0]["resources"] = {"requests": _requests(random)}


def _requests(random: Random) -> dict[str, str]:
    requests: dict[str, str] = {}
    if random.random() < 0.8:
        requests["cpu"] = random.choice(("50m", "250m", "1", "1300m"))
    if random.random() < 0.8:
        requests["memory"] = random.choice(("64Mi", "700Mi", "3Gi"))
    return requests


def _wishes(random: Random, pod: Manifest) -> None:
    spec = pod["spec"]
    spec["containers"] = [_container(random, f"c{number}") for number in range(random.choice((1, 1, 2, 3)))]
    if random.random() < 0.2:
        spec["initContainers"] = [_container(random, "init")]
    if random.random() < 0.4:
        effect = random.choice(("PreferNoSchedule", "NoSchedule", ""))
        one: dict[str, Any] = {"key": random.choice(("k1", "k2")), "operator": "Exists"}
        spec["tolerations"] = [one | ({"effect": effect} if effect else {})]
    if random.random() < 0.4:
        spec["affinity"] = {"nodeAffinity": {_PREFERRED: [_preference(random) for _ in range(random.randint(1, 3))]}}


def _container(random: Random, name: str) -> dict[str, Any]:
    image = random.choice((*_IMAGES, "registry.example/base", "registry.example/tiny", "absent"))
    return {"name": name, "image": image, "resources": {"requests": _requests(random)}}


def _preference(random: Random) -> dict[str, Any]:
    key, values = random.choice(
        (("disk", ("ssd", "hdd")), ("topology.kubernetes.io/zone", ("a", "b")), ("size", "1234"))
    )
    expression = {"key": key, "operator": random.choice(("In", "NotIn")), "values": some(random, values, 2, 1)}
    return {"weight": random.choice((1, 7, 50, 100)), "preference": {"matchExpressions": [expression]}}


def beside(random: Random, case: Case) -> None:
    """Preferred affinity and anti-affinity, of those who are asked and of those who run, who also need some."""
    _among_others(random, case, _likes, running=_likes_and_needs)


def apart(random: Random, case: Case) -> None:
    """Spread that schedules anyway."""
    _among_others(random, case, _spreads, running=labelled)


def replicas(random: Random, case: Case) -> None:
    """Copies of ReplicaSets and pods of Services, which say nothing: kube-scheduler spreads them by default."""
    _among_others(random, case, _owned, running=_owned)
    case.batches.insert(1, [_replica_set(app, namespace) for app in _OWNERS for namespace in NAMESPACES])
    case.batches.insert(1, [_service(random, number) for number in range(random.randint(0, 6))])


def _owned(random: Random, pod: Manifest) -> None:
    labelled(random, pod)
    metadata = pod["metadata"]
    if (app := metadata["labels"].get("app")) in _OWNERS:
        uid = f"{metadata['namespace']}-{app}"
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": uid, "controller": True}
        metadata["ownerReferences"] = [owner]


def _service(random: Random, number: int) -> Manifest:
    """A Service that selects by one label or two, or nobody."""
    selector = {key: random.choice(values) for key, values in _SERVED.items() if random.random() < 0.5}
    spec: dict[str, Any] = {"ports": [{"port": 80}], "clusterIP": "None", "selector": selector or None}
    metadata = {"name": f"s{number}", "namespace": random.choice(tuple(NAMESPACES))}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _replica_set(app: str, namespace: str) -> Manifest:
    labels = {"app": app}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "image"}]}}
    return {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": app, "namespace": namespace},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
    }  # fmt: skip


def _among_others(random: Random, case: Case, alter: Alter, running: Alter) -> None:
    def small(random: Random, pod: Manifest) -> None:
        pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "50m", "memory": "64Mi"}}
        running(random, pod)

    def asks(random: Random, pod: Manifest) -> None:
        labelled(random, pod)
        pod["spec"]["containers"][0]["resources"] = {"requests": _requests(random)}
        alter(random, pod)

    standing = nodes(random, random.randint(4, 10), _attractive)
    case.batches = [standing, placed(random, standing, pods(random, "r", random.randint(5, 30), small, NAMESPACES))]
    case.asked = pods(random, "p", ASKED, asks, NAMESPACES)


def _likes(random: Random, pod: Manifest) -> None:
    affinity = pod["spec"].setdefault("affinity", {})
    for kind in some(random, ("podAffinity", "podAntiAffinity"), 2, 1):
        terms = [{"weight": random.choice((1, 10, 100)), "podAffinityTerm": term(random)} for _ in range(2)]
        affinity.setdefault(kind, {})[_PREFERRED] = terms[: random.randint(1, 2)]


def _likes_and_needs(random: Random, pod: Manifest) -> None:
    labelled(random, pod)
    if random.random() < 0.5:
        _likes(random, pod)
    if random.random() < 0.3:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term(random)]}
        pod["spec"].setdefault("affinity", {}).setdefault("podAffinity", {}).update(required)


def _spreads(random: Random, pod: Manifest) -> None:
    made = [constraint(random) | {"whenUnsatisfiable": "ScheduleAnyway"} for _ in range(random.randint(1, 2))]
    for one in made:
        one.pop("minDomains", None)
    pod["spec"]["topologySpreadConstraints"] = list({one["topologyKey"]: one for one in made}.values())


WISHES: dict[str, Family] = {
    "plain wishes": plain,
    "preferred neighbours": beside,
    "soft spread": apart,
    "default spread": replicas,
}
