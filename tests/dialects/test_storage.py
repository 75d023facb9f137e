"""Storage objects: each field wrong in turn is one line that names it, and nobody else is affected."""

from collections.abc import Iterator
from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.model.axis import AMOUNT_MAX
from phalanx.model.events import Refused, StorageSeen
from tests.volumes.cluster import claim, csi_node, decide, node, pod, show, storage_class, volume, world_of

CAPACITY = {
    "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", "metadata": {"name": "c", "namespace": "csi"},
    "storageClassName": "fast", "nodeTopology": {"matchLabels": {"zone": "a"}}, "capacity": "1Ti",
}  # fmt: skip
DRIVER = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIDriver",
    "metadata": {"name": "d"},
    "spec": {"storageCapacity": True},
}
ATTACHMENT = {
    "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "a"},
    "spec": {"attacher": "d", "nodeName": "n1", "source": {"persistentVolumeName": "pv"}},
}  # fmt: skip
GOOD = {
    "claim": claim("data"), "volume": volume("pv", zone="a"), "class": storage_class(), "node": csi_node("n1"),
    "driver": DRIVER, "capacity": CAPACITY, "attachment": ATTACHMENT,
}  # fmt: skip


def put(one: Any, path: str, value: object) -> Any:
    """Return a copy of an object with another value at a path."""
    first, _, rest = path.partition(".")
    if isinstance(one, list):
        return [put(each, rest, value) if str(index) == first and rest else value if str(index) == first else each
                for index, each in enumerate(one)]  # fmt: skip
    old = one if isinstance(one, dict) else {}
    return {**old, first: put(old.get(first), rest, value) if rest else value}


@pytest.mark.parametrize(
    ("kind", "path", "value", "field", "message"),
    [
        ("claim", "spec.resources.requests.storage", "ten", "spec.resources.requests.storage", "found 'ten'"),
        ("claim", "spec.resources.requests", 3, "spec.resources.requests", "found 3, allowed is a map"),
        ("claim", "spec.accessModes", ["ReadWrite"], "spec.accessModes[0]", "found 'ReadWrite', allowed is "),
        ("claim", "spec.accessModes", "ReadWriteOnce", "spec.accessModes", "found 'ReadWriteOnce', allowed is a list"),
        ("claim", "spec.volumeMode", "Disk", "spec.volumeMode", "found 'Disk', allowed is Filesystem, Block"),
        ("claim", "spec.volumeName", 7, "spec.volumeName", "found 7, allowed is a string (put it in quotes)"),
        ("claim", "spec.storageClassName", [], "spec.storageClassName", "found a list, allowed is a string"),
        ("claim", "spec.selector", {"matchExpressions": [{"key": "a", "operator": "Near"}]},
         "spec.selector.matchExpressions[0].operator", "found 'Near'"),
        ("claim", "metadata.name", "Data", "metadata.name", "found 'Data'"),
        ("claim", "metadata.annotations", {"a": 1}, "metadata.annotations.a", "found 1"),
        ("claim", "status.phase", 1, "status.phase", "found 1"),
        ("volume", "spec.capacity.storage", "-1Gi", "spec.capacity.storage", "found '-1Gi', allowed is zero or more"),
        ("volume", "spec.claimRef", "data", "spec.claimRef", "found 'data', allowed is a map"),
        ("volume", "spec.nodeAffinity.required.nodeSelectorTerms.0.matchExpressions.0.operator", "near",
         "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator", "found 'near'"),
        ("volume", "spec.csi", {"volumeHandle": "h"}, "spec.csi.driver", "missing"),
        ("volume", "spec.awsElasticBlockStore", {"volumeID": 3}, "spec.awsElasticBlockStore.volumeID", "found 3"),
        ("volume", "spec.volumeMode", "Tape", "spec.volumeMode", "found 'Tape'"),
        ("volume", "spec.accessModes", ["x"], "spec.accessModes[0]", "found 'x'"),
        ("class", "volumeBindingMode", "Later", "volumeBindingMode", "found 'Later', allowed is Immediate, Wait"),
        ("class", "provisioner", 1, "provisioner", "found 1"),
        ("class", "allowedTopologies", [{"matchLabelExpressions": [{"key": "zone"}]}],
         "allowedTopologies[0].matchLabelExpressions[0].values", "found none, allowed is at least one"),
        ("class", "allowedTopologies", [{"matchLabelExpressions": [{"values": ["a"]}]}],
         "allowedTopologies[0].matchLabelExpressions[0].key", "missing"),
        ("node", "spec.drivers.0.allocatable.count", -1, "spec.drivers[0].allocatable.count", "found -1"),
        ("node", "spec.drivers.0.name", None, "spec.drivers[0].name", "found null"),
        ("driver", "spec.storageCapacity", "yes", "spec.storageCapacity", "found 'yes', allowed is true or false"),
        ("capacity", "capacity", "lots", "capacity", "found 'lots'"),
        ("capacity", "maximumVolumeSize", "x", "maximumVolumeSize", "found 'x'"),
        ("capacity", "nodeTopology.matchLabels", {"zone": 1}, "nodeTopology.matchLabels.zone", "found 1"),
        ("attachment", "spec.nodeName", 1, "spec.nodeName", "found 1"),
        ("attachment", "spec.source", "pv", "spec.source", "found 'pv', allowed is a map"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(kind: str, path: str, value: object, field: str, message: str) -> None:
    assert isinstance(read(GOOD[kind], []), StorageSeen)
    event = read(put(GOOD[kind], path, value), [])
    assert isinstance(event, Refused), event
    assert event.field == field
    assert event.message.startswith(message)
    assert "\n" not in str(event)


def _put(one: Any, path: tuple[str | int, ...], value: object) -> Any:
    """Return a copy of an object with another value there; keys may have dots."""
    first, *rest = path
    found: Any = dict(one) if isinstance(one, dict) else list(one)
    found[first] = _put(found[first], tuple(rest), value) if rest else value
    return found


def _paths(one: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    for key, inner in one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ():
        yield from _paths(inner, (*path, key))


@pytest.mark.parametrize("kind", GOOD)
def test_with_each_field_wrong_in_turn_it_is_one_line_and_nobody_else_waits(kind: str) -> None:
    world = world_of(node("n1"), pod("q"))
    for path in _paths(GOOD[kind]):
        for value in (3, -1, True, "", "Bad value\n", [], {}, [3], {"a": 3}, None, [None], 2**70):
            if not path or path[0] in {"apiVersion", "kind"}:
                continue
            event = read(_put(GOOD[kind], path, value), [])
            assert event is not None
            if isinstance(event, Refused):
                assert event.field, (path, value)
                assert "\n" not in str(event)
            world.apply(event)
    assert decide(world) == ["bind ml/q n1"]


def test_a_volume_larger_than_any_amount_is_a_large_volume() -> None:
    event = read(volume("pv", capacity={"storage": "8E"}), [])
    assert isinstance(event, StorageSeen)
    assert event.value.size == AMOUNT_MAX  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["claim", "volume", "class"])
def test_only_who_needs_the_bad_object_waits_and_he_is_told_which_field(kind: str) -> None:
    good = {"claim": claim("data", "pv"), "volume": volume("pv", of="data"), "class": storage_class(waits=False)}
    bad = {
        "claim": put(good["claim"], "spec.volumeMode", "Disk"),
        "volume": put(good["volume"], "spec.volumeMode", "Disk"),
        "class": put(good["class"], "volumeBindingMode", "Later"),
    }[kind]  # fmt: skip
    needs = [pod("p", "data")] if kind != "class" else [pod("p", "other"), claim("other")]
    world = world_of(
        node("n1"), list(good.values()), needs, pod("q"), volume("pv2", of="d2"), claim("d2", "pv2"), pod("r", "d2")
    )
    show(world, bad)
    first, *others = decide(world)
    assert others == ["bind ml/q n1", "bind ml/r n1"]
    assert first.startswith("wait ml/p 1 held: spec.volumes[0].persistentVolumeClaim.claimName: ")
    assert "cannot be read: " in first
    assert "found 'Disk'" in first or "found 'Later'" in first
    show(world, good[kind])
    assert ("bind ml/p n1" in decide(world)) == (kind != "class")


@pytest.mark.parametrize(
    ("volumes", "field", "message"),
    [
        ([{"name": "v", "persistentVolumeClaim": {}}], "spec.volumes[0].persistentVolumeClaim.claimName", "missing"),
        ([{"name": "v", "persistentVolumeClaim": {"claimName": "A b"}}],
         "spec.volumes[0].persistentVolumeClaim.claimName", "found 'A b'"),
        ([{"name": "v", "persistentVolumeClaim": {"claimName": 3}}],
         "spec.volumes[0].persistentVolumeClaim.claimName", "found 3"),
        ([{"ephemeral": {}}], "spec.volumes[0].name", "missing"),
        ([{"name": "v", "rbd": {"monitors": "m", "image": "i"}}], "spec.volumes[0].rbd.monitors", "found 'm'"),
        ([{"name": "v", "iscsi": {}}], "spec.volumes[0].iscsi.iqn", "found null, allowed is a string"),
        ([{"name": "v", "gcePersistentDisk": {"pdName": "x", "readOnly": "no"}}],
         "spec.volumes[0].gcePersistentDisk.readOnly", "found 'no'"),
    ],
)  # fmt: skip
def test_a_wrong_volume_of_a_pod_is_named(volumes: list[Any], field: str, message: str) -> None:
    event = read(pod("p", volumes=volumes), ["phalanx"])
    assert isinstance(event, Refused), event
    assert event.field == field
    assert event.message.startswith(message)
