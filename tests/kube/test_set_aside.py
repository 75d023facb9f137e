"""Objects that cannot be read are in the log: once, when they change, and when they are whole again or gone."""

import io

import msgspec

from phalanx.kube.feed import Feed
from phalanx.kube.kinds import NODES, PODS
from phalanx.kube.local.nodes import node_manifest
from phalanx.kube.log import Log
from phalanx.kube.set_aside import SetAside
from phalanx.testing.objects import pod_manifest
from phalanx.world.world import World


def test_a_node_that_cannot_be_read_is_one_line_and_another_when_it_can() -> None:
    world, stream = World(), io.StringIO()
    feed, aside = Feed(world, ("phalanx",)), SetAside(world, Log("text", stream))

    def see(version: int, cpu: str) -> list[str]:
        node = node_manifest("n1", gpus=8)
        node["metadata"] |= {"uid": "u1", "resourceVersion": str(version)}
        node["status"]["allocatable"]["cpu"] = cpu
        feed.put(NODES, msgspec.Raw(msgspec.json.encode(node)))
        stream.seek(0)
        stream.truncate()
        aside.tell()
        aside.tell()
        return [line.partition(" ")[2] for line in stream.getvalue().splitlines()]

    what = 'object-set-aside object="Node n1" field=status.allocatable.cpu'
    assert see(1, "64") == []
    assert see(2, "many") == [
        f"{what} why=\"found 'many', allowed is a Kubernetes quantity such as 2, 500m, 1.5 or 8Gi\""
    ]
    assert see(3, "-4") == [f"{what} why=\"found '-4', allowed is zero or more\""]
    assert see(4, "64") == ['object-back object="Node n1"']


def test_a_pod_of_another_scheduler_is_not_the_operators_business() -> None:
    world, stream = World(), io.StringIO()
    pod = pod_manifest("p", scheduler="other")
    pod["metadata"] |= {"uid": "u1", "resourceVersion": "1"}
    pod["spec"]["tolerations"] = "all"
    Feed(world, ("phalanx",)).put(PODS, msgspec.Raw(msgspec.json.encode(pod)))
    SetAside(world, Log("text", stream)).tell()
    assert (len(world.refused), stream.getvalue()) == (1, "")
