"""A made-up dialect, whole: one file and one row. From manifests to the status that is written back.

Acme has Squads (its groups), Teams (its queues) and Rings (domains: each names its nodes). A pod names its Squad by a
label, or its controller does.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import pytest

from phalanx.dialects import table
from phalanx.dialects.core.objects import Versioned
from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.dialect import Dialect, Kind, QueueName, Table, Version, Wishes
from phalanx.dialects.mistakes import FieldError, Mistakes, check_name
from phalanx.kube.clock import Clock
from phalanx.kube.feed import Feed
from phalanx.kube.groups import GroupStatus
from phalanx.kube.kinds import watched
from phalanx.kube.writes import Write, Writes
from phalanx.loop import Loop
from phalanx.model.axis import GPU
from phalanx.model.events import DomainGone, DomainSeen, GroupsGone, GroupsSeen, QueueGone, QueueSeen, Refused
from phalanx.model.gang import Group, Membership, PodFields
from phalanx.model.keys import annotation, label
from phalanx.model.outcome import Bound, Result
from phalanx.model.plan import Bind, Reason, Wait
from phalanx.model.queue import Queue, Terms
from phalanx.model.reference import Reference
from phalanx.model.task import Hold
from phalanx.policy.load import load_policy
from phalanx.sim.manifests import Document
from phalanx.sim.objects import read_objects
from phalanx.world.world import World

# The file.

API = "acme.example"
SQUAD, TEAM, SECRET = f"{API}/squad", f"{API}/team", f"{API}/secret"
RING = f"{API}/ring"
SQUAD_KIND, TEAM_KIND, RING_KIND = f"Squad.{API}", f"Team.{API}", f"Ring.{API}"
BY_LABEL = PodFields(object=label(SQUAD), group=label(SQUAD))
BY_OWNER = PodFields(object="metadata.ownerReferences", group="metadata.ownerReferences")


class SquadSpec(msgspec.Struct):
    size: int
    team: str | None = None


class Squad(msgspec.Struct):
    metadata: Versioned
    spec: SquadSpec


class RingSpec(msgspec.Struct):
    nodes: list[str]


class Ring(msgspec.Struct):
    metadata: Versioned
    spec: RingSpec


class TeamSpec(msgspec.Struct):
    gpus: int


class Team(msgspec.Struct):
    metadata: Versioned
    spec: TeamSpec


def read_squad(squad: Squad) -> GroupsSeen:
    meta, spec = squad.metadata, squad.spec
    check_name(meta.name, "metadata.name")
    if spec.size < 1:
        raise FieldError("spec.size", f"found {spec.size}, allowed is at least 1")
    group = Group(meta.name, spec.size, queue=spec.team, queue_field="spec.team")
    owner = Reference(SQUAD_KIND, f"{meta.namespace}/{meta.name}")
    return GroupsSeen(owner, (group,), f"{API}/v2", meta.uid or "", meta.generation or 0)


def read_team(team: Team) -> QueueSeen:
    if team.spec.gpus < 0:
        raise FieldError("spec.gpus", f"found {team.spec.gpus}, allowed is zero or more")
    terms = {GPU: Terms(limit=team.spec.gpus * 1000)}
    return QueueSeen(Queue(team.metadata.name, terms=terms, uid=team.metadata.uid or "", kind=TEAM_KIND), f"{API}/v1")


def read_ring(ring: Ring) -> DomainSeen:
    for at, name in enumerate(ring.spec.nodes):
        check_name(name, f"spec.nodes[{at}]")
    seen = Reference(RING_KIND, ring.metadata.name)
    return DomainSeen(seen, RING, tuple(ring.spec.nodes), ring.metadata.uid or "")


def membership(pod: Pod, namespace: str, mistakes: Mistakes) -> Membership | None:
    del mistakes
    named, fields = (pod.metadata.labels or {}).get(SQUAD), BY_LABEL
    if named is None:
        squads = [one.name for one in pod.metadata.owner_references or () if one.kind == "Squad"]
        named, fields = next(iter(squads), None), BY_OWNER
    if named is None:
        return None
    full = f"{namespace}/{named}"
    return Membership(full, None, owner=Reference(SQUAD_KIND, full), group=named, fields=fields)


def references(pod: Pod) -> list[str]:
    return [label(SQUAD)] if SQUAD in (pod.metadata.labels or ()) else []


def queue(pod: Pod, mistakes: Mistakes) -> QueueName | None:
    del mistakes
    name = (pod.metadata.labels or {}).get(TEAM)
    return None if name is None else QueueName(name, label(TEAM))


def wishes(pod: Pod, alone: bool, priority: int, mistakes: Mistakes) -> Wishes | None:
    del alone, priority, mistakes
    return Wishes(movable=(pod.metadata.labels or {}).get(f"{API}/pinned") != "yes")


def holds(pod: Pod) -> Iterator[Hold]:
    if SECRET in (pod.metadata.annotations or ()):
        yield Hold(annotation(SECRET), "secrets are not kept by this version")


def status(seen: GroupsSeen, reason: Reason | None, now: float) -> dict[str, Any]:
    del now
    return {"phase": "Waiting" if reason else "Started", "why": reason.text if reason else "", "of": seen.generation}


ACME = Dialect(
    name="acme",
    kinds=(
        Kind(
            kind="Squad", group=API, plural="squads", gone=GroupsGone, awaited=True, status=status,
            versions=(Version("v2", Squad, read_squad), Version("v1", Squad, read_squad)),
        ),
        Kind(
            kind="Team", group=API, plural="teams", gone=QueueGone, awaited=True, namespaced=False,
            versions=(Version("v1", Team, read_team),),
        ),
        Kind(
            kind="Ring", group=API, plural="rings", gone=DomainGone, namespaced=False,
            versions=(Version("v1", Ring, read_ring),),
        ),
    ),
    membership=membership, references=references, queue=queue, wishes=wishes, holds=holds,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "TABLE", Table((*table.ROWS, ACME)))


# What it does.

Manifest = dict[str, Any]


def node(gpus: int = 8, name: str = "n1") -> Manifest:
    room = {"cpu": "64", GPU: str(gpus), "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": room}}


def ring(name: str, *nodes: str) -> Manifest:
    return {"apiVersion": f"{API}/v1", "kind": "Ring", "metadata": {"name": name}, "spec": {"nodes": list(nodes)}}


def in_ring(number: int, name: str) -> Manifest:
    manifest = pod(number)
    manifest["spec"]["nodeSelector"] = {RING: name}
    return manifest


def squad(size: int, version: str = "v2", **spec: Any) -> Manifest:
    meta = {"name": "train", "namespace": "ml", "uid": "s-1", "generation": 3, "resourceVersion": "7"}
    return {"apiVersion": f"{API}/{version}", "kind": "Squad", "metadata": meta, "spec": {"size": size, **spec}}


def team(gpus: int, name: str = "vision") -> Manifest:
    return {"apiVersion": f"{API}/v1", "kind": "Team", "metadata": {"name": name}, "spec": {"gpus": gpus}}


def pod(number: int, labels: dict[str, str] | None = None, **meta: Any) -> Manifest:
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": f"p{number}", "namespace": "ml", "labels": labels or {}, **meta},
        "spec": {"schedulerName": "phalanx", "containers": [{"resources": {"limits": {GPU: "1"}}}]},
    }  # fmt: skip


def pods(*numbers: int, **more: str) -> list[Manifest]:
    return [pod(number, {SQUAD: "train", **more}) for number in numbers]


@dataclass
class Cluster:
    """Manifests through every stage; the writes that a server would get are kept."""

    world: World = field(default_factory=World)
    sent: list[Write] = field(default_factory=list[Write])
    refused: list[Refused] = field(default_factory=list[Refused])

    def see(self, *manifests: Manifest) -> "Cluster":
        objects = read_objects([Document(one, "file") for one in manifests], ["phalanx"])
        self.refused += [refused for refused, _ in objects.refused]
        for event in objects.events:
            self.world.apply(event)
        assert not objects.ignored
        return self

    def submit(self, write: Write) -> None:
        self.sent.append(write)

    def cycle(self) -> list[str]:
        """Decide, carry out, and write back what became of each gang."""
        plan = Loop(self.world, load_policy("default")).cycle(100.0).plan
        writer = GroupStatus(self.world, Feed(self.world, ["phalanx"]), cast("Writes", self), Clock())
        for step in plan.steps:
            if isinstance(step, Bind):
                self.world.confirm(Bound(step.uid, step.node, Result.OK, 100.0))
                writer.tell(step.gang_key, None)
            elif isinstance(step, Wait):
                writer.tell(step.gang_key, step.reason)
        return plan.text().splitlines()


def test_a_squad_starts_whole_and_its_status_says_so() -> None:
    cluster = Cluster().see(node(), squad(2), *pods(1, 2))
    assert cluster.cycle() == ["bind ml/p1 n1", "bind ml/p2 n1"]
    write = cluster.sent[-1]
    assert (write.method, write.path) == ("PATCH", f"/apis/{API}/v2/namespaces/ml/squads/train/status")
    assert msgspec.json.decode(write.body) == {
        "metadata": {"uid": "s-1"}, "status": {"phase": "Started", "why": "", "of": 3},
    }  # fmt: skip


def test_a_squad_that_waits_says_why() -> None:
    cluster = Cluster().see(node(gpus=2), squad(3), *pods(1, 2, 3))
    (line,) = cluster.cycle()
    assert line.startswith("wait ml/train 3 never: 3 needed together, 2 fit")
    told = msgspec.json.decode(cluster.sent[-1].body)["status"]
    assert (told["phase"], told["why"]) == ("Waiting", line.partition("never: ")[2])


def test_a_pod_may_be_in_a_squad_through_its_owner() -> None:
    owned = [pod(n, ownerReferences=[{"apiVersion": f"{API}/v2", "kind": "Squad", "name": "train"}]) for n in (1, 2)]
    assert Cluster().see(node(), *owned).cycle() == [
        f"wait ml/train 2 held: metadata.ownerReferences: there is no {SQUAD_KIND} ml/train"
    ]
    assert Cluster().see(node(), squad(2), *owned).cycle() == ["bind ml/p1 n1", "bind ml/p2 n1"]


def test_what_is_missing_or_unreadable_is_named_by_the_fields_of_the_dialect() -> None:
    cluster = Cluster().see(node(), *pods(1))
    assert cluster.cycle() == [f"wait ml/train 1 held: {label(SQUAD)}: there is no {SQUAD_KIND} ml/train"]
    cluster = Cluster().see(node(), squad(0), *pods(1))
    why = "spec.size: found 0, allowed is at least 1"
    assert cluster.cycle() == [f"wait ml/train 1 held: {label(SQUAD)}: {SQUAD_KIND} ml/train cannot be read: {why}"]
    assert [str(one) for one in cluster.refused] == [f"{SQUAD_KIND} ml/train: {why}"]


def test_a_version_that_the_dialect_does_not_have_is_refused() -> None:
    (refused,) = Cluster().see(squad(1, version="v9")).refused
    assert str(refused) == f"{SQUAD_KIND} ml/train: apiVersion: found '{API}/v9', allowed is {API}/v1, {API}/v2"


def test_a_team_limits_what_its_pods_get_whoever_names_it() -> None:
    named_by_pods = Cluster().see(node(), team(1), squad(1), *pods(1, 2, **{TEAM: "vision"}))
    named_by_squad = Cluster().see(node(), team(1), squad(1, team="vision"), *pods(1, 2))
    for cluster in (named_by_pods, named_by_squad):
        first, second = cluster.cycle()
        assert first == "bind ml/p1 n1"
        assert second.startswith("wait ml/train 1 held: queue vision has 1 of its limit of 1 nvidia.com/gpu")


def test_a_team_that_is_missing_or_set_aside_is_named_by_the_field() -> None:
    lost = Cluster().see(node(), team(1), squad(1), *pods(1, **{TEAM: "audio"}))
    assert lost.cycle() == [f"wait ml/train 1 held: {label(TEAM)}: there is no Queue audio"]
    bad = Cluster().see(node(), team(-1), squad(1, team="vision"), *pods(1))
    why = "Queue vision is set aside: spec.gpus: found -1, allowed is zero or more"
    assert bad.cycle() == [f"wait ml/train 1 held: {SQUAD_KIND} ml/train: spec.team: {why}"]


def test_a_pod_in_two_gangs_or_with_a_secret_is_held_and_an_annotation_of_ours_adds_to_a_squad() -> None:
    both = pod(1, {SQUAD: "train"}, annotations={"pod-group-name": "other"})
    held = Cluster().see(node(), squad(1), both).world.tasks["Pod/ml/p1"]
    why = f"contradicts {label(SQUAD)}: a pod is in one gang, and one of them says which"
    assert held.hold == Hold(annotation("pod-group-name"), why)
    secret = pod(2, annotations={SECRET: "x"})
    held = Cluster().see(node(), secret).world.tasks["Pod/ml/p2"]
    assert held.hold == Hold(annotation(SECRET), "secrets are not kept by this version")
    wishes_of_ours = pod(3, {SQUAD: "train", f"{API}/pinned": "yes"}, annotations={"phalanx.dev/patience": "10m"})
    task = Cluster().see(node(), squad(1), wishes_of_ours).world.tasks["Pod/ml/p3"]
    assert task.membership is not None
    assert (task.membership.patience, task.movable) == (600.0, False)


def test_domains_come_from_objects_as_they_do_from_labels() -> None:
    nodes = [node(name=name) for name in ("n1", "n2", "n3")]
    rings = [ring("east", "n1", "n2"), ring("west", "n3")]
    cluster = Cluster().see(*nodes, *rings, in_ring(1, "west"))
    assert cluster.cycle() == ["bind ml/p1 n3"]
    assert cluster.world.compile(200.0).nodes.domains(RING).of_node.tolist() == [0, 0, 1]
    assert Cluster().see(*nodes, *rings, in_ring(1, "north")).cycle()[0].startswith("wait ml/p1 1 never")


def test_an_object_that_changes_or_goes_or_cannot_be_read_changes_the_domains() -> None:
    world = Cluster().see(node(), node(name="n2"), ring("east", "n1", "n9"), ring("west", "n1", "n2")).world
    assert world.compile(1.0).nodes.domains(RING).names == ("east", "west"), "of two that name a node the first counts"
    cluster = Cluster(world).see(ring("east"))
    assert world.compile(2.0).nodes.domains(RING).names == ("west",)
    cluster.see(ring("west", "Not A Name"))
    (refused,) = cluster.refused
    assert str(refused).startswith(f"{RING_KIND} west: spec.nodes[0]: found 'Not A Name', allowed is ")
    world.apply(refused)
    assert world.compile(3.0).nodes.domains(RING).names == ()
    cluster.see(ring("west", "n2"))
    world.apply(DomainGone(Reference(RING_KIND, "west"), "another"))
    assert world.compile(4.0).nodes.domains(RING).names == ("west",)
    world.apply(DomainGone(Reference(RING_KIND, "west")))
    assert world.compile(5.0).nodes.domains(RING).names == ()


def test_its_kinds_are_watched_in_the_newest_version_that_is_served_and_forgotten_when_they_go() -> None:
    (squads,) = [kind for kind in watched() if kind.kind == "Squad"]
    assert (squads.path, squads.optional) == (f"/apis/{API}/v2/squads", True)
    assert squads.older is not None
    assert squads.older.path == f"/apis/{API}/v1/squads"
    assert f"/apis/{API}/v1/teams" in [kind.path for kind in watched()]
    world = World()
    feed = Feed(world, ["phalanx"])
    raw = msgspec.Raw(msgspec.json.encode(squad(2)))
    feed.put(squads, raw)
    assert list(world.groups) == [Reference(SQUAD_KIND, "ml/train")]
    feed.gone(squads, raw)
    assert world.groups == {}
