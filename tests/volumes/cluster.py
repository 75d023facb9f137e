"""A cluster in a few lines for tests of volumes: objects as the API server has them, and what a cycle decides."""

from typing import Any

from phalanx.dialects.read import read
from phalanx.engine.policy import Policy
from phalanx.loop import Loop
from phalanx.policy.load import load_policy
from phalanx.world.world import World

Object = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}


def node(name: str, zone: str | None = None, pods: int = 110, **labels: str) -> Object:
    """A node in a zone."""
    more = {ZONE: zone} if zone is not None else {}
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **more, **labels}},
        "status": {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": str(pods)}},
    }  # fmt: skip


def pod(name: str, *claims: str, gang: int = 0, on: str | None = None, priority: int = 0, **spec: Any) -> Object:
    """A pod of ours that mounts these claims; `gang`: how many start together."""
    volumes = [{"name": f"v{number}", "persistentVolumeClaim": {"claimName": one}} for number, one in enumerate(claims)]
    notes = {"phalanx.dev/gang": "g", "phalanx.dev/minimum": str(gang)} if gang else {}
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml", "uid": name, "annotations": notes},
        "spec": {
            "schedulerName": "phalanx", "containers": [{"resources": {"requests": {"cpu": "1"}}}],
            "nodeName": on, "priority": priority, "volumes": volumes, **spec,
        },
    }  # fmt: skip


def claim(
    name: str, volume: str | None = None, *, storage_class: str = "fast", size: str = "10Gi", **more: Any
) -> Object:
    """A claim, bound to a volume if there is one."""
    meta: Object = {"name": name, "namespace": "ml", "uid": f"uid-{name}", "annotations": COMPLETED if volume else {}}
    spec = {
        "accessModes": ["ReadWriteOnce"], "storageClassName": storage_class, "volumeName": volume,
        "resources": {"requests": {"storage": size}}, **more.pop("spec", {}),
    }  # fmt: skip
    meta |= more.pop("metadata", {})
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec, **more}


def volume(
    name: str, *, of: str | None = None, zone: str | None = None, host: str | None = None, **spec: Any
) -> Object:
    """A volume, usable in a zone or on a host alone; `of`: the claim that has it."""
    wishes = [(ZONE, zone), ("kubernetes.io/hostname", host)]
    terms = [
        {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]} for key, value in wishes if value
    ]
    return {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {
            "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
            "claimRef": {"namespace": "ml", "name": of, "uid": f"uid-{of}"} if of else None,
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}} if terms else None, **spec,
        },
        "status": {"phase": "Bound" if of else "Available"},
    }  # fmt: skip


def storage_class(
    name: str = "fast", provisioner: str = "csi.example.com", *, waits: bool = True, **more: Any
) -> Object:
    """A class whose volumes wait for the first pod."""
    return {
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name, "uid": f"uid-{name}"},
        "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate", **more,
    }  # fmt: skip


def csi_node(name: str, driver: str = "csi.example.com", count: int | None = None) -> Object:
    """What a node says of a driver."""
    drivers = [{"name": driver, "nodeID": name, "allocatable": {"count": count}}]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": drivers},
    }


def world_of(*objects: Object | list[Any], policy: Policy | None = None) -> World:
    """A world that has seen these objects."""
    world = World((policy or load_policy("default")).label_keys)
    left: list[Any] = list(reversed(objects))
    while left:
        one = left.pop()
        if isinstance(one, list):
            left += reversed(one)
        else:
            show(world, one)
    return world


def show(world: World, one: Object) -> None:
    """Let a world see an object."""
    event = read(one, ["phalanx"], held=True)
    assert event is not None, one["kind"]
    world.apply(event)


def decide(world: World, now: float = 100.0, preset: str = "default") -> list[str]:
    """Decide once; return the steps."""
    cycle = Loop(world, load_policy(preset)).cycle(now)
    assert not cycle.broken, cycle.broken
    return cycle.plan.text().splitlines()


def plan(*objects: Object | list[Any], preset: str = "default") -> list[str]:
    """Return what a first cycle decides of these objects."""
    return decide(world_of(*objects), preset=preset)
