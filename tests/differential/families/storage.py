"""Families about volumes: claims that are bound, or that a volume or a provisioner would serve, and attach limits."""

from random import Random
from typing import Any

from phalanx.testing.objects import Manifest
from tests.differential.case import ASKED, ZONES, Case, nodes, placed, pod, some

_ZONE = "topology.kubernetes.io/zone"
_HOST = "kubernetes.io/hostname"
_BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
_DRIVER, _MEASURED = "csi.example.com", "measured.example.com"
_STORAGE = "storage.k8s.io/v1"
_NOBODY = "kubernetes.io/no-provisioner"


def bound(random: Random, case: Case) -> None:
    """Claims that are bound, or should be: node affinity, zone labels, of one pod alone, lost and missing ones."""
    standing = nodes(random)
    volumes, claims = [], []
    for number in range(10):
        mode = random.choice(("ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"))
        volume = _volume(random, f"v{number}", standing, "immediate", mode)
        claim = _claim(f"c{number}", "immediate", mode=mode)
        _bind(volume, claim)
        if random.random() < 0.1:
            claim["status"]["phase"] = "Lost"
        if random.random() < 0.9:
            volumes.append(volume)
        claims.append(claim)
    claims.append(_claim("unbound", "immediate"))
    running = placed(random, standing, [_using(f"r{n}", *some(random, claims[:10], 1, 1)) for n in range(6)])
    case.batches = [standing, [*_classes(random), *volumes], claims, running]
    names = [claim["metadata"]["name"] for claim in claims] + ["missing"]
    case.asked = [_asking(random, f"p{number}", names) for number in range(ASKED)]


def static(random: Random, case: Case) -> None:
    """Claims that wait for a pod, and volumes that are there for one of them: size, class, mode, selector, place."""
    standing = nodes(random)
    volumes = [_available(random, f"v{number}", standing) for number in range(random.randint(2, 14))]
    claims = [_wanting(random, f"c{number}", "static") for number in range(14)]
    for number in range(2):
        # A volume that is kept for a claim which does not know it yet.
        kept, claim = _available(random, f"kept{number}", standing), _wanting(random, f"k{number}", "static")
        kept["spec"]["claimRef"] = {"name": f"k{number}", "namespace": "default", "kind": "PersistentVolumeClaim"}
        volumes.append(kept)
        claims.append(claim)
    case.batches = [standing, [*_classes(random), *volumes], claims]
    case.asked = [_asking(random, f"p{n}", [claim["metadata"]["name"] for claim in claims]) for n in range(ASKED)]


def provisioned(random: Random, case: Case) -> None:
    """Claims that wait for a pod and are made then: allowed topologies, measured capacity, a node that was selected."""
    standing = nodes(random)
    classes = _classes(random)
    names = [one["metadata"]["name"] for one in classes if one["kind"] == "StorageClass"]
    claims = [_wanting(random, f"c{number}", random.choice(names)) for number in range(16)]
    for claim in claims:
        if random.random() < 0.15:
            chosen = random.choice(standing)["metadata"]["name"]
            claim["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": chosen}
    limited = [_csi_node(random, one) for one in standing] if random.random() < 0.3 else []
    case.batches = [standing, [*classes, *_capacities(random), *limited], claims]
    case.asked = [_asking(random, f"p{n}", [claim["metadata"]["name"] for claim in claims]) for n in range(ASKED)]


def limits(random: Random, case: Case) -> None:
    """Nodes that can attach few volumes of a driver: those of running pods, shared ones, those still attached."""
    standing = nodes(random)
    volumes, claims = [], []
    for number in range(20):
        driver = random.choice((_DRIVER, _DRIVER, _MEASURED))
        volume = _volume(random, f"v{number}", [], "immediate", "ReadWriteMany", driver=driver)
        claim = _claim(f"c{number}", "immediate", mode="ReadWriteMany")
        _bind(volume, claim)
        volumes.append(volume)
        claims.append(claim)
    running = placed(random, standing, [_using(f"r{n}", *some(random, claims[:20], 3, 1)) for n in range(10)])
    limited = [_csi_node(random, one) for one in standing if random.random() < 0.9]
    attached = [_attachment(random, f"a{number}", standing, volumes) for number in range(random.randint(0, 5))]
    case.batches = [standing, [*_classes(random), *volumes, *limited, *attached], claims, running]
    names = [claim["metadata"]["name"] for claim in claims]
    case.asked = [_asking(random, f"p{number}", names, most=4) for number in range(ASKED)]


def disks(random: Random, case: Case) -> None:
    """Disks that are named in the pod itself: two writers on one node do not go together."""
    standing = nodes(random)
    running = []
    for number in range(8):
        one = pod(f"r{number}")
        one["spec"]["volumes"] = _inline(random)
        running.append(one)
    case.batches = [standing, placed(random, standing, running)]
    for number in range(ASKED):
        one = pod(f"p{number}")
        one["spec"]["volumes"] = _inline(random)
        if random.random() < 0.1:
            template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
            one["spec"]["volumes"].append({"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}})
        case.asked.append(one)


def _inline(random: Random) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for number in range(random.choice((1, 1, 2))):
        writes = {"readOnly": True} if random.random() < 0.4 else {}
        name = random.choice("abcd")
        made.append({
            "name": f"d{number}",
            **random.choice((
                {"gcePersistentDisk": {"pdName": name} | writes},
                {"iscsi": {"targetPortal": "10.0.0.1", "iqn": f"iqn.2026-11.example:{name}", "lun": 0} | writes},
                {"rbd": {"monitors": some(random, ("m1", "m2"), 2, 1), "image": name, "pool": "p"} | writes},
                {"emptyDir": {}},
            )),
        })  # fmt: skip
    return made


def _classes(random: Random) -> list[Manifest]:
    """Return the classes, and what is known of their drivers."""
    allowed = [{"matchLabelExpressions": [{"key": _ZONE, "values": some(random, ZONES, 2, 1)}]}]
    if random.random() < 0.4:
        allowed.append({"matchLabelExpressions": [{"key": "disk", "values": ["ssd"]}, {"key": _ZONE, "values": ["c"]}]})
    return [
        _class("immediate", _DRIVER, "Immediate"),
        _class("static", _NOBODY, "WaitForFirstConsumer"),
        _class("wait", _DRIVER, "WaitForFirstConsumer"),
        _class("zonal", _DRIVER, "WaitForFirstConsumer", allowedTopologies=allowed),
        _class("measured", _MEASURED, "WaitForFirstConsumer"),
        {"apiVersion": _STORAGE, "kind": "CSIDriver", "metadata": {"name": _DRIVER}, "spec": {}},
        {
            "apiVersion": _STORAGE,
            "kind": "CSIDriver",
            "metadata": {"name": _MEASURED},
            "spec": {"storageCapacity": True},
        },
    ]


def _class(name: str, provisioner: str, mode: str, **more: Any) -> Manifest:
    return {
        "apiVersion": _STORAGE, "kind": "StorageClass", "metadata": {"name": name}, "provisioner": provisioner,
        "volumeBindingMode": mode, **more,
    }  # fmt: skip


def _capacities(random: Random) -> list[Manifest]:
    made = []
    for number in range(random.randint(0, 4)):
        one: Manifest = {
            "apiVersion": _STORAGE, "kind": "CSIStorageCapacity",
            "metadata": {"name": f"m{number}", "namespace": "default"}, "storageClassName": "measured",
            "nodeTopology": random.choice((
                {"matchLabels": {_ZONE: random.choice(ZONES)}},
                {"matchLabels": {_HOST: f"n{random.randint(0, 8)}"}},
                {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
            )),
        }  # fmt: skip
        if random.random() < 0.85:
            one["capacity"] = random.choice(("1Gi", "5Gi", "100Gi"))
        if random.random() < 0.3:
            one["maximumVolumeSize"] = random.choice(("1Gi", "5Gi"))
        made.append(one)
    return made


def _volume(
    random: Random, name: str, standing: list[Manifest], of: str, mode: str = "ReadWriteOnce", driver: str = _DRIVER
) -> Manifest:
    """Return a volume; where nodes are given, it is tied to some of them more often than not."""
    volume: Manifest = {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "labels": {}},
        "spec": {
            "capacity": {"storage": random.choice(("1Gi", "5Gi", "10Gi"))}, "accessModes": [mode],
            "storageClassName": of, "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": driver, "volumeHandle": name},
        },
    }  # fmt: skip
    if standing and random.random() < 0.6:
        terms = [[{"key": _ZONE, "operator": "In", "values": some(random, ZONES, 2, 1)}]]
        if random.random() < 0.3:
            terms = [[{"key": _HOST, "operator": "In", "values": [random.choice(standing)["metadata"]["name"]]}]]
        if random.random() < 0.2:
            terms.append([{"key": "disk", "operator": "In", "values": ["ssd"]}])
        required = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
        volume["spec"]["nodeAffinity"] = {"required": required}
    if standing and random.random() < 0.3:
        volume["metadata"]["labels"][_ZONE] = random.choice(("a", "b", "a__b"))
    return volume


def _available(random: Random, name: str, standing: list[Manifest]) -> Manifest:
    volume = _volume(random, name, standing, random.choice(("static", "static", "static", "wait")))
    volume["status"] = {"phase": "Available"}
    if random.random() < 0.15:
        volume["status"]["phase"] = random.choice(("Released", "Pending"))
    if random.random() < 0.15:
        volume["spec"]["volumeMode"] = "Block"
    if random.random() < 0.3:
        volume["metadata"]["labels"]["tier"] = random.choice(("gold", "iron"))
    if random.random() < 0.1:
        volume["spec"]["claimRef"] = {"name": "another", "namespace": "default", "kind": "PersistentVolumeClaim"}
    return volume


def _claim(name: str, of: str, size: str = "1Gi", mode: str = "ReadWriteOnce") -> Manifest:
    return {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"},
        "spec": {"accessModes": [mode], "resources": {"requests": {"storage": size}}, "storageClassName": of},
        "status": {"phase": "Pending"},
    }  # fmt: skip


def _wanting(random: Random, name: str, of: str) -> Manifest:
    claim = _claim(name, of, random.choice(("1Gi", "3Gi", "7Gi", "50Gi")))
    if random.random() < 0.15:
        claim["spec"]["volumeMode"] = "Block"
    if of == "static" and random.random() < 0.3:
        claim["spec"]["selector"] = {"matchLabels": {"tier": random.choice(("gold", "iron"))}}
    return claim


def _bind(volume: Manifest, claim: Manifest) -> None:
    """Bind the two to each other, as the controller leaves them."""
    claim["metadata"]["annotations"] = dict(_BOUND)
    claim["spec"]["volumeName"] = volume["metadata"]["name"]
    claim["spec"]["resources"]["requests"]["storage"] = volume["spec"]["capacity"]["storage"]
    claim["status"]["phase"] = "Bound"
    name, namespace = claim["metadata"]["name"], claim["metadata"]["namespace"]
    volume["spec"]["claimRef"] = {"name": name, "namespace": namespace, "kind": "PersistentVolumeClaim"}
    volume["status"] = {"phase": "Bound"}


def _csi_node(random: Random, node: Manifest) -> Manifest:
    name = node["metadata"]["name"]
    drivers = []
    for driver in some(random, (_DRIVER, _MEASURED), 2, 1):
        made: dict[str, Any] = {"name": driver, "nodeID": name, "topologyKeys": []}
        if random.random() < 0.85:
            made["allocatable"] = {"count": random.randint(0, 4)}
        drivers.append(made)
    return {"apiVersion": _STORAGE, "kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": drivers}}


def _attachment(random: Random, name: str, standing: list[Manifest], volumes: list[Manifest]) -> Manifest:
    volume = random.choice(volumes)
    return {
        "apiVersion": _STORAGE, "kind": "VolumeAttachment", "metadata": {"name": name},
        "spec": {
            "attacher": volume["spec"]["csi"]["driver"], "nodeName": random.choice(standing)["metadata"]["name"],
            "source": {"persistentVolumeName": volume["metadata"]["name"]},
        },
    }  # fmt: skip


def _using(name: str, *claims: Manifest) -> Manifest:
    return _with(pod(name), [claim["metadata"]["name"] for claim in claims])


def _asking(random: Random, name: str, claims: list[str], most: int = 2) -> Manifest:
    return _with(pod(name), some(random, claims, random.choice((1, most)), 1))


def _with(made: Manifest, claims: list[str]) -> Manifest:
    made["spec"]["volumes"] = [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": claim}} for number, claim in enumerate(claims)
    ]
    return made
