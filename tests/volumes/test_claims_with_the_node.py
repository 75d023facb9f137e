"""A claim that gets its volume with the pod's node: one that is there already, or one that is made."""

from typing import Any

from hypothesis import given as drawn
from hypothesis import strategies as st

from phalanx.loop import Loop
from phalanx.model.events import StorageGone
from phalanx.model.outcome import Bound, Result
from phalanx.model.reference import Reference
from phalanx.policy.load import load_policy
from tests.volumes.cluster import ZONE, Object, claim, decide, node, plan, pod, show, storage_class, volume, world_of

LOCAL = storage_class("local", "kubernetes.io/no-provisioner")
NODES = [node("n1", "a"), node("n2", "a"), node("n3", "b")]


def local(name: str, host: str, size: str = "10Gi", **spec: Any) -> Object:
    return volume(name, host=host, storageClassName="local", capacity={"storage": size}, **spec)


def wants(name: str, size: str = "10Gi", storage_class: str = "local", **more: Any) -> Object:
    return claim(name, size=size, storage_class=storage_class, **more)


def test_a_class_makes_the_volume_where_its_topologies_allow_it() -> None:
    assert plan(NODES, storage_class(), claim("c"), pod("p", "c")) == ["bind ml/p n1 c=(new)"]
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b", "c"]}]}]
    assert plan(NODES, storage_class(allowedTopologies=topologies), claim("c"), pod("p", "c")) == [
        "bind ml/p n3 c=(new)"
    ]
    topologies[0]["matchLabelExpressions"][0]["values"] = ["x"]
    assert plan(NODES, storage_class(allowedTopologies=topologies), claim("c"), pod("p", "c")) == [
        "wait ml/p 1 never: 0/3 nodes: 3 outside the topologies of class fast"
    ]


def test_where_a_driver_tells_its_capacity_the_volume_must_fit() -> None:
    driver = {
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "csi.example.com"},
        "spec": {"storageCapacity": True},
    }  # fmt: skip

    def there(zone: str, size: str, **more: str) -> Object:
        return {
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
            "metadata": {"name": zone, "namespace": "csi"},
            "storageClassName": "fast", "nodeTopology": {"matchLabels": {ZONE: zone}}, "capacity": size, **more,
        }  # fmt: skip

    given = [NODES, storage_class(), driver, claim("c", size="50Gi"), pod("p", "c")]
    assert plan(given, there("a", "49Gi"), there("b", "50Gi")) == ["bind ml/p n3 c=(new)"]
    assert plan(given, there("a", "100Gi"), there("b", "100Gi", maximumVolumeSize="10Gi")) == ["bind ml/p n1 c=(new)"]
    assert plan(given, there("a", "49Gi")) == [
        "wait ml/p 1 never: 0/3 nodes: 3 where class fast has too little capacity for its claim"
    ]


def test_the_node_that_was_chosen_for_a_claim_earlier_stays_chosen() -> None:
    chosen = {"annotations": {"volume.kubernetes.io/selected-node": "n2"}}
    assert plan(NODES, storage_class(), claim("c", metadata=chosen), pod("p", "c")) == ["bind ml/p n2 c=(new)"]
    chosen["annotations"]["volume.kubernetes.io/selected-node"] = "n9"
    assert plan(NODES, storage_class(), claim("c", metadata=chosen), pod("p", "c")) == [
        "wait ml/p 1 never: 0/3 nodes: 3 other than n9, where its claim is to get a volume"
    ]


def test_the_smallest_local_volume_that_serves_is_given() -> None:
    given = [
        local("big", "n2", "30Gi"),
        local("mid", "n2", "20Gi"),
        local("tiny", "n1", "5Gi"),
        local("odd", "n2", "11Gi", volumeMode="Block"),
    ]
    assert plan(NODES, LOCAL, given, wants("c"), pod("p", "c")) == ["bind ml/p n2 c=mid"]
    both = [wants("c1", "25Gi"), wants("c2"), pod("p", "c1", "c2")]
    assert plan(NODES, LOCAL, given, both) == ["bind ml/p n2 c2=mid c1=big"]
    assert plan(NODES, LOCAL, given, wants("c", "31Gi"), pod("p", "c")) == [
        "wait ml/p 1 never: 0/3 nodes: 3 without a free volume of class local for its claim"
    ]


def test_class_mode_access_and_selector_must_match() -> None:
    labelled = local("pv1", "n1")
    labelled["metadata"]["labels"] = {"disk": "ssd"}
    ssd = {"selector": {"matchLabels": {"disk": "ssd"}}}
    assert plan(NODES, LOCAL, local("pv0", "n3"), labelled, wants("c", spec=ssd), pod("p", "c")) == [
        "bind ml/p n1 c=pv1"
    ]
    many = {"accessModes": ["ReadWriteMany"]}
    assert plan(NODES, LOCAL, local("pv0", "n3"), wants("c", spec=many), pod("p", "c"))[0].startswith(
        "wait ml/p 1 never"
    )
    taken = volume("pv0", of="other", host="n3", storageClassName="local")
    assert plan(NODES, LOCAL, taken, wants("c"), pod("p", "c"))[0].startswith("wait ml/p 1 never")


def test_a_gang_of_four_with_three_volumes_waits_whole_and_takes_none() -> None:
    given = [local(f"pv{i}", f"n{i}") for i in (1, 2, 3)]
    members = [[wants(f"c{i}"), pod(f"m{i}", f"c{i}", gang=4)] for i in range(4)]
    steps = plan(NODES, LOCAL, given, members, wants("other"), pod("single", "other"))
    assert steps[0] == "bind ml/single n1 other=pv1"
    assert steps[1].startswith("wait ml/g 4 never: 4 needed together, ")
    assert len(steps) == 2


def test_volumes_of_a_zone_are_shared_by_its_nodes_and_each_is_given_once() -> None:
    given = [volume(f"pv{i}", zone=zone, storageClassName="local") for i, zone in enumerate("aab")]
    four = [[wants(f"c{i}"), pod(f"m{i}", f"c{i}", gang=4)] for i in range(4)]
    assert plan(NODES, LOCAL, given, four)[0].startswith("wait ml/g 4")
    three = [[wants(f"c{i}"), pod(f"m{i}", f"c{i}", gang=3)] for i in range(3)]
    bound = plan(NODES, LOCAL, given, three)
    assert sorted(step.partition("=")[2] for step in bound) == ["pv0", "pv1", "pv2"]
    assert [step.split()[2] for step in bound].count("n3") == 1


def test_volumes_that_all_nodes_reach_beside_local_ones_are_given_once_too() -> None:
    given = [volume("nfs", storageClassName="local"), local("pv1", "n1")]
    members = [[wants(f"c{i}"), pod(f"m{i}", f"c{i}")] for i in range(3)]
    steps = plan(NODES, LOCAL, given, members)
    assert max(step.partition("=")[2] for step in steps if step.startswith("bind")) in {"nfs", "pv1"}
    assert len([step for step in steps if step.startswith("bind")]) in {1, 2}


def test_what_a_plan_gave_is_given_to_nobody_else_until_the_bind_is_refused() -> None:
    world = world_of(NODES, LOCAL, local("pv", "n1"), wants("a"), wants("b"), pod("p", "a"))
    assert decide(world) == ["bind ml/p n1 a=pv"]
    show(world, pod("q", "b"))
    # A late echo of the volume, from before it was written to, frees nothing.
    again = local("pv", "n1")
    again["metadata"]["labels"] = {"late": "yes"}
    show(world, again)
    assert decide(world)[0].startswith("wait ml/q 1 never")
    world.confirm(Bound("p", "n1", Result.REFUSED, 101.0))
    assert [step.split()[:2] for step in decide(world)] == [["bind", "ml/p"], ["wait", "ml/q"]]


def test_a_claim_for_which_a_volume_is_there_already_gets_that_one_and_is_bound_first() -> None:
    """As after a crash between the write to the volume and the bind."""
    given = local("pv", "n2")
    given["spec"]["claimRef"] = {"namespace": "ml", "name": "c", "uid": "uid-c"}
    assert plan(NODES, LOCAL, given, local("pv1", "n1"), wants("c"), pod("p", "c")) == ["bind ml/p n2 c=pv"]


def test_a_volume_that_is_kept_for_a_claim_of_another_class_is_not_its() -> None:
    """kube-scheduler looks for volumes of the claim's class alone."""
    given = local("pv", "n2")
    given["spec"] |= {"claimRef": {"namespace": "ml", "name": "c", "uid": "uid-c"}, "storageClassName": "other"}
    assert plan(NODES, LOCAL, given, wants("c"), pod("p", "c")) == [
        "wait ml/p 1 never: 0/3 nodes: 3 without a free volume of class local for its claim"
    ]


def test_the_zone_that_a_volume_is_labelled_with_counts_once_it_is_bound() -> None:
    """As for kube-scheduler, which looks at the labels of bound volumes alone."""
    kept = volume("pv", storageClassName="local")
    kept["metadata"]["labels"] = {ZONE: "b"}
    kept["spec"]["claimRef"] = {"namespace": "ml", "name": "c", "uid": "uid-c"}
    assert plan(NODES, LOCAL, kept, wants("c"), pod("p", "c")) == ["bind ml/p n1 c=pv"]
    bound = claim("c", "pv", storage_class="local")
    assert plan(NODES, LOCAL, kept, bound, pod("p", "c")) == ["bind ml/p n3"]


def test_a_nominated_place_keeps_its_volume() -> None:
    given = [
        node("n1", pods=1),
        LOCAL,
        local("pv", "n1"),
        wants("a"),
        wants("b"),
        pod("old", on="n1"),
        pod("p", "a", priority=9),
    ]
    world = world_of(given)
    assert decide(world)[-1] == "nominate ml/p n1"
    show(world, node("n1", pods=3))
    show(world, pod("q", "b", priority=1))
    assert decide(world, 101.0)[0] == "bind ml/p n1 a=pv"


SIZES = ("5Gi", "10Gi", "20Gi")


@drawn(
    volumes=st.lists(st.tuples(st.sampled_from(("n1", "n2", "n3", "a", "b", "")), st.sampled_from(SIZES)), max_size=6),
    pods=st.lists(st.tuples(st.sampled_from(SIZES), st.integers(0, 3), st.booleans()), min_size=1, max_size=7),
)
def test_no_volume_is_given_twice_in_any_sequence_of_cycles_and_refusals(
    volumes: list[tuple[str, str]], pods: list[tuple[str, int, bool]]
) -> None:
    world = world_of(NODES, LOCAL)
    for number, (where, size) in enumerate(volumes):
        place = {"zone": where} if where in {"a", "b"} else {"host": where or None}
        show(world, volume(f"pv{number}", storageClassName="local", capacity={"storage": size}, **place))
    owner: dict[str, str] = {}
    loop = Loop(world, load_policy("default"))
    for number, (size, gang, refuse) in enumerate(pods):
        name = f"p{number}"
        show(world, wants(f"c{number}", size))
        one = pod(name, f"c{number}", gang=2 if gang > 1 else 0)
        one["metadata"]["annotations"] |= {"phalanx.dev/gang": f"g{gang}"} if gang > 1 else {}
        show(world, one)
        cycle = loop.cycle(100.0 + 1000 * number)
        assert not cycle.broken, cycle.broken
        for bind in cycle.plan.binds:
            ((claimed, given),) = bind.volumes
            assert given is not None
            assert given not in owner, f"{given} is {owner.get(given)}'s and was given to {claimed}"
            owner[given] = claimed
        for bind in cycle.plan.binds:
            result = Result.REFUSED if refuse else Result.OK
            world.confirm(Bound(bind.uid, bind.node, result, 100.5 + 1000 * number))
            if refuse:
                owner.pop(bind.volumes[0].volume or "")


def test_a_gang_that_rests_for_want_of_a_class_names_the_class() -> None:
    """What keeps it a minute does not hide what keeps it until somebody makes the class again."""
    gang = [pod(f"g-{number}", f"c{number}", gang=2) for number in range(2)]
    world = world_of(NODES, storage_class(), claim("c0"), claim("c1"), gang)
    assert len(decide(world)) == 2
    for number in range(2):
        world.confirm(Bound(f"g-{number}", "n3", Result.REFUSED, 110.0))
    world.apply(StorageGone(Reference("StorageClass", "fast"), None))
    world.rest("gang/ml/g", 500.0, "its bind was refused: claim ml/c0 got no volume within 120 s")
    (line,) = decide(world, 120.0)
    assert line.startswith("wait ml/g 2 held: resting: its bind was refused: claim ml/c0 got no volume within 120 s; ")
    assert "class fast of claim ml/c0 is not there" in line
    assert "class fast of claim ml/c1 is not there" in line
    (line,) = decide(world, 600.0)
    assert "resting" not in line
    assert "class fast of claim ml/c0 is not there" in line
