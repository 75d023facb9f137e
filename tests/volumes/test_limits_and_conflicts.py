"""Drivers attach so many volumes to a node; some disks and claims are one pod's at a time."""

from typing import Any

from tests.volumes.cluster import Object, claim, csi_node, decide, node, plan, pod, show, volume, world_of

DRIVER = "csi.example.com"


def bound(name: str, access: str = "ReadWriteOnce") -> list[Object]:
    """A claim with a volume of the driver."""
    source = {"driver": DRIVER, "volumeHandle": f"h-{name}"}
    given = volume(f"pv-{name}", of=name, csi=source, accessModes=[access])
    return [given, claim(name, f"pv-{name}", spec={"accessModes": [access]})]


def attachment(name: str, at: str, of: str) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": name, "uid": name},
        "spec": {"attacher": DRIVER, "nodeName": at, "source": {"persistentVolumeName": of}},
    }  # fmt: skip


def driver(**spec: Any) -> Object:
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": spec}


def test_a_node_attaches_so_many_volumes_and_no_more() -> None:
    given = [[*bound(f"c{i}"), pod(f"p{i}", f"c{i}")] for i in range(4)]
    assert plan(node("n1"), node("n2"), csi_node("n1", count=2), csi_node("n2", count=1), *given) == [
        "bind ml/p0 n1", "bind ml/p1 n1", "bind ml/p2 n2",
        "wait ml/p3 1 full: 0/2 nodes: 2 where csi.example.com attaches no more volumes (at most 2 for pods)",
    ]  # fmt: skip


def test_a_volume_that_several_pods_use_is_attached_once_per_node() -> None:
    shared = [pod(f"p{i}", "all") for i in range(3)]
    given = [node("n1"), csi_node("n1", count=2), bound("all"), bound("own"), bound("more"), *shared]
    last = [pod("q", "own"), pod("r", "more")]
    assert plan(given, last) == [
        "bind ml/p0 n1", "bind ml/p1 n1", "bind ml/p2 n1", "bind ml/q n1",
        "wait ml/r 1 full: 0/1 nodes: 1 where csi.example.com attaches no more volumes (at most 2 for pods)",
    ]  # fmt: skip


def test_a_full_node_still_takes_a_pod_whose_volume_is_attached_there_already() -> None:
    given = [node("n1"), csi_node("n1", count=1), bound("all"), pod("old", "all", on="n1"), pod("p", "all")]
    assert plan(given) == ["bind ml/p n1"]


def test_what_is_attached_beside_the_pods_of_a_node_counts_too() -> None:
    given = [
        node("n1"),
        csi_node("n1", count=2),
        bound("a"),
        bound("b"),
        pod("p", "a"),
        volume("gone", csi={"driver": DRIVER}),
    ]
    world = world_of(given, attachment("x", "n1", "gone"), attachment("y", "n1", "pv-a"), pod("old", "a", on="n1"))
    # The volume of the pod that runs there is counted once, by its pod, and takes no second place.
    show(world, pod("q", "b"))
    assert decide(world) == [
        "bind ml/p n1",
        "wait ml/q 1 full: 0/1 nodes: 1 where csi.example.com attaches no more volumes (at most 1 for pods)",
    ]


def test_who_makes_room_gives_back_the_place_of_its_volume() -> None:
    given = [node("n1"), csi_node("n1", count=1), bound("a"), bound("b"), pod("low", "a", on="n1")]
    assert plan(given, pod("q", "b", priority=9)) == [
        "evict ml/low n1 for ml/q: of higher priority in its queue (9)",
        "nominate ml/q n1",
    ]


def test_nobody_is_evicted_where_the_volume_is_out_of_reach_anyway() -> None:
    given = [node("n1", "a", pods=1), pod("low", on="n1"), volume("pv", of="c", zone="b"), claim("c", "pv")]
    assert [step.split()[0] for step in plan(given, pod("q", "c", priority=9))] == ["wait"]


def test_pods_do_not_go_where_a_driver_that_they_need_is_missing() -> None:
    given = [node("n1"), node("n2"), csi_node("n2"), bound("a"), pod("p", "a")]
    assert plan(given) == ["bind ml/p n1"]
    assert plan(given, driver(preventPodSchedulingIfMissing=True)) == ["bind ml/p n2"]


def test_one_pod_at_a_time_uses_a_claim_that_says_so() -> None:
    given = [node("n1"), node("n2"), bound("a", "ReadWriteOncePod")]
    assert plan(given, pod("p", "a"), pod("q", "a")) == [
        "bind ml/p n1",
        "wait ml/q 1 full: 0/2 nodes: 2 since claim ml/a is ReadWriteOncePod and another pod uses it",
    ]  # fmt: skip
    assert plan(given, [pod(name, "a", gang=2) for name in "pq"])[0].startswith("wait ml/g 2")
    assert plan(given, pod("p", "a", on="n1"), pod("q", "a", priority=9)) == [
        "evict ml/p n1 for ml/q: of higher priority in its queue (9)",
        "nominate ml/q n1",
    ]


def test_a_disk_is_mounted_once_per_node_unless_all_only_read() -> None:
    def disk(name: str, kind: str = "gcePersistentDisk", *, at: str | None = None, **source: Any) -> Object:
        return pod(name, on=at, volumes=[{"name": "d", kind: source}])

    nodes = [node("n1"), node("n2")]
    assert plan(nodes, disk("p", pdName="x"), disk("q", pdName="x"), disk("r", pdName="x")) == [
        "bind ml/p n1", "bind ml/q n2", "wait ml/r 1 full: 0/2 nodes: 2 where a pod mounts gcePersistentDisk x",
    ]  # fmt: skip
    readers = [disk(name, pdName="x", readOnly=True) for name in "pq"]
    assert plan(nodes, readers) == ["bind ml/p n1", "bind ml/q n1"]
    assert plan(nodes, disk("old", at="n1", pdName="x"), readers) == ["bind ml/p n2", "bind ml/q n2"]
    rbd = {"image": "i", "pool": "rbd"}
    assert plan(
        nodes, disk("old", "rbd", at="n1", monitors=["m1", "m2"], **rbd), disk("p", "rbd", monitors=["m2"], **rbd)
    ) == ["bind ml/p n2"]
    assert plan(
        nodes, disk("old", "rbd", at="n1", monitors=["m1"], **rbd), disk("p", "rbd", monitors=["m2"], **rbd)
    ) == ["bind ml/p n1"]
    # Nothing forbids two pods with one Azure disk on a node.
    assert plan(nodes, [disk(name, "azureDisk", diskURI="x") for name in "pq"]) == ["bind ml/p n1", "bind ml/q n1"]


def test_a_gang_with_a_disk_each_of_its_own_name_goes_one_per_node_where_they_are_one_disk() -> None:
    members = [pod(f"m{i}", gang=3, volumes=[{"name": "d", "iscsi": {"iqn": "iqn.x"}}]) for i in range(3)]
    assert plan(node("n1"), node("n2"), node("n3"), members) == ["bind ml/m0 n1", "bind ml/m1 n2", "bind ml/m2 n3"]
    assert plan(node("n1"), node("n2"), members)[0].startswith("wait ml/g 3 never: 3 needed together, 2 fit")
