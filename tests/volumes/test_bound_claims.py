"""A pod goes where its volumes are, and waits, saying for what, while a claim has none."""

import pytest

from tests.volumes.cluster import Object, claim, decide, node, plan, pod, show, storage_class, volume, world_of

ZONES = [node("n1", "a"), node("n2", "b"), node("n3", "b"), node("n4")]


def test_a_pod_goes_where_its_volume_can_be_used() -> None:
    assert plan(ZONES, volume("pv", of="data", zone="b"), claim("data", "pv"), pod("p", "data")) == ["bind ml/p n2"]


def test_of_two_volumes_each_must_be_within_reach() -> None:
    given = [volume("pv1", of="a", zone="b"), claim("a", "pv1"), volume("pv2", of="b", host="n3"), claim("b", "pv2")]
    assert plan(ZONES, given, pod("p", "a", "b")) == ["bind ml/p n3"]


def test_a_volume_out_of_reach_is_named_with_where_it_is() -> None:
    given = [volume("pv", of="data", zone="c"), claim("data", "pv"), pod("p", "data")]
    assert plan(ZONES, given) == [
        "wait ml/p 1 never: 0/4 nodes: 4 outside topology.kubernetes.io/zone=c, where its volume is (pv)"
    ]


def test_only_the_nodes_within_reach_are_full() -> None:
    full = [pod(f"old{number}", on=f"n{number}", priority=9) for number in (2, 3)]
    nodes = [node("n1", "a"), node("n2", "b", pods=1), node("n3", "b", pods=1)]
    why = "1 outside topology.kubernetes.io/zone=b, where its volume is (pv), 2 short of pods"
    assert plan(nodes, full, volume("pv", of="data", zone="b"), claim("data", "pv"), pod("p", "data")) == [
        f"wait ml/p 1 full: 0/3 nodes: {why} (most free on one node: 0 of 1)"
    ]


def test_an_old_volume_says_its_zone_in_a_label_and_a_node_in_no_zone_is_not_asked() -> None:
    labelled = volume("pv", of="data")
    labelled["metadata"]["labels"] = {"failure-domain.beta.kubernetes.io/zone": "b__c"}
    for nodes, bound in (([node("n1", "a"), node("n3", "b")], "n3"), ([node("n1", "a"), node("n4")], "n4")):
        assert plan(nodes, labelled, claim("data", "pv"), pod("p", "data")) == [f"bind ml/p {bound}"]


def test_an_affinity_that_names_a_node_matches_none_as_for_kube_scheduler() -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
    given = volume("pv", of="data", nodeAffinity={"required": {"nodeSelectorTerms": terms}})
    assert plan(ZONES, given, claim("data", "pv"), pod("p", "data"))[0].startswith("wait ml/p 1 never: 0/4 nodes")


def waits(*objects: Object | list[Object]) -> str:
    (step,) = plan(node("n1"), *objects, pod("p", "data"))
    prefix = "wait ml/p 1 held: spec.volumes[0].persistentVolumeClaim.claimName: "
    assert step.startswith(prefix), step
    return step.removeprefix(prefix)


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        ([], "claim ml/data is not there"),
        ([claim("data", "pv", status={"phase": "Lost"})], "claim ml/data lost its volume pv"),
        ([volume("pv", of="data"), claim("data", "pv", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
         "claim ml/data is being deleted"),
        ([claim("data", "pv")], "volume pv of claim ml/data is not there"),
        ([claim("data")], "class fast of claim ml/data is not there"),
        ([claim("data", storage_class="")], "claim ml/data waits until a volume is bound to it (it has no class)"),
        ([storage_class(waits=False), claim("data")],
         "claim ml/data waits until csi.example.com makes its volume (class fast binds immediately)"),
        ([storage_class(), claim("data", spec={"volumeName": "pv"})],
         "claim ml/data waits until volume pv, which it names, is bound to it"),
    ],
)  # fmt: skip
def test_a_claim_that_cannot_be_used_holds_its_pod_and_is_named(objects: list[Object], why: str) -> None:
    assert waits(objects) == why


def test_the_claim_of_an_ephemeral_volume_is_the_pods_own() -> None:
    mine = pod("p", volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}])
    owner = {"ownerReferences": [{"kind": "Pod", "name": "p", "uid": "p", "controller": True}]}
    place = "spec.volumes[0].ephemeral: claim ml/p-scratch"
    assert plan(node("n1"), mine) == [f"wait ml/p 1 held: {place} is not there, its controller has not made it yet"]
    given = [node("n1"), volume("pv", of="p-scratch"), mine]
    assert plan(given, claim("p-scratch", "pv")) == [f"wait ml/p 1 held: {place} was not made for this pod"]
    assert plan(given, claim("p-scratch", "pv", metadata=owner)) == ["bind ml/p n1"]


def test_a_gang_waits_whole_for_one_claim_and_starts_when_it_is_there() -> None:
    given = [node("n1"), volume("pv0", of="c0"), claim("c0", "pv0"), *[pod(f"m{i}", f"c{i}", gang=2) for i in range(2)]]
    world = world_of(given)
    assert decide(world)[0].startswith("wait ml/g 2 held: 1 of 2 members")
    show(world, volume("pv1", of="c1"))
    show(world, claim("c1", "pv1"))
    assert decide(world) == ["bind ml/m0 n1", "bind ml/m1 n1"]


def test_pods_with_like_claims_are_one_shape() -> None:
    given = [
        [volume(f"pv{i}", of=f"c{i}", zone="b"), claim(f"c{i}", f"pv{i}"), pod(f"m{i}", f"c{i}")] for i in range(9)
    ]
    assert len(world_of(ZONES, *given).compile(0.0).shapes) == 1


def test_a_cluster_where_nobody_mounts_anything_carries_no_table_of_volumes() -> None:
    snapshot = world_of(ZONES, volume("pv", zone="b"), storage_class(), pod("p")).compile(0.0)
    assert snapshot.volumes is None
    assert [shape.volumes for shape in snapshot.shapes] == [None]
