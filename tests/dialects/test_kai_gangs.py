"""Gangs that KAI's PodGroups describe: what the group, its priority class and its pods come to together."""

from dataclasses import replace
from typing import Any

import pytest

from phalanx.dialects.kai.pods import FIELDS
from phalanx.model.events import GroupsSeen, PriorityClassSeen, Refused
from phalanx.model.gang import Gang, Group, Membership, Subgroup
from phalanx.model.reference import Reference
from phalanx.model.task import Shape, Task
from phalanx.world.gangs import assemble, gang_key
from phalanx.world.groups import look_up

OWNER = Reference("PodGroup.scheduling.run.ai", "ml/train")
FIELD = "metadata.annotations[pod-group-name]"
PART = "metadata.labels[kai.scheduler/subgroup-name]"
KAI: dict[str, Any] = {"priority_absent": 50, "fixed_from": 100}
TREE = (Subgroup("eval", 1), Subgroup("train", 0, (Subgroup("leader", 1), Subgroup("workers", 2))))


def pod(name: str, subgroup: str | None = None, **more: Any) -> Task:
    said = Membership("ml/train", None, subgroup=subgroup, owner=OWNER, group="train", fields=FIELDS)
    return Task(f"u-{name}", "ml", name, Shape((("pods", 1),), priority=7), membership=said, created=9.0, **more)


def gang(
    group: Group | None,
    *pods: Task,
    refused: Refused | None = None,
    classes: dict[str, int] | None = None,
    defaults: tuple[str, ...] = (),
) -> Gang:
    known = {} if group is None else {OWNER: GroupsSeen(OWNER, (group,))}
    seen = {name: PriorityClassSeen(name, value, name in defaults) for name, value in (classes or {}).items()}
    found, objection = look_up(pods, known, {} if refused is None else {OWNER: refused}, seen)
    made = assemble(gang_key(pods[0]), pods, "default", found)
    return made if objection is None else replace(made, hold=objection)


def test_the_group_says_the_minimum_the_queue_the_priority_and_the_age() -> None:
    group = Group("train", 3, queue="team-a", priority_class="build", topology_preferred="rack", created=4.0, **KAI)
    made = gang(group, pod("a"), pod("b", queue="elsewhere"), classes={"build": 100})
    assert made == Gang(
        "PodGroup.scheduling.run.ai/ml/train", "ml/train", minimum=3, queue="team-a", priority=100, created=4.0,
        preemptible=False, topology_preferred="rack",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("named", "classes", "priority", "preemptible"),
    [
        ("train", {"train": 50}, 50, True),
        ("build", {"build": 100}, 100, False),
        ("lost", {"train": 60}, 50, True),
        ("lost", {"usual": 120, "also": 110, "other": 1}, 110, False),
        (None, {"usual": 20}, 20, True),
        (None, {}, 50, True),
        ("system-node-critical", {}, 2_000_001_000, False),
    ],
)
def test_a_class_that_is_missing_gives_the_default_of_the_cluster_else_50(
    named: str | None, classes: dict[str, int], priority: int, preemptible: bool
) -> None:
    made = gang(Group("train", 1, priority_class=named, **KAI), pod("a"), classes=classes, defaults=("usual", "also"))
    assert (made.priority, made.preemptible) == (priority, preemptible)


@pytest.mark.parametrize("word", [True, False])
def test_the_word_of_the_group_counts_more_than_its_priority(word: bool) -> None:
    for value in (50, 100):
        made = gang(Group("train", 1, priority_class="c", preemptible=word, **KAI), pod("a"), classes={"c": value})
        assert made.preemptible is word


def test_pods_of_a_group_without_a_queue_name_it_themselves() -> None:
    pods = [pod("a", queue="team-a"), pod("b", queue="team-b")]
    assert (
        gang(Group("train", 1, **KAI), *pods).hold == "members disagree on phalanx.dev/queue: team-a on a; team-b on b"
    )


def test_a_gang_of_subgroups_has_their_tree() -> None:
    made = gang(Group("train", 4, subgroups=TREE, **KAI), pod("a", "leader"), pod("b", "workers"), pod("c", "eval"))
    assert (made.minimum, made.subgroups, made.hold) == (4, TREE, None)


@pytest.mark.parametrize(
    ("subgroups", "said", "hold"),
    [
        (TREE, None, f"{PART}: missing on pod ml/b, the leaves of {OWNER} are eval, leader, workers"),
        (TREE, "other", f"{PART}: other on pod ml/b is no leaf of {OWNER}, its leaves are eval, leader, workers"),
        (TREE, "train", f"{PART}: train on pod ml/b is no leaf of {OWNER}, its leaves are eval, leader, workers"),
        ((), "other", f"{PART}: other on pod ml/b is no leaf of {OWNER}, it has no subgroups"),
    ],
)
def test_a_pod_outside_every_leaf_holds_its_gang(subgroups: Any, said: str | None, hold: str) -> None:
    first = pod("a", "leader") if subgroups else pod("a")
    assert gang(Group("train", 1, subgroups=subgroups, **KAI), first, pod("b", said)).hold == hold


def test_a_gang_whose_group_is_missing_or_unreadable_is_held_and_says_so() -> None:
    assert gang(None, pod("a")).hold == f"{FIELD}: there is no {OWNER}"
    bad = Refused("PodGroup.scheduling.run.ai", "ml/train", "spec.minMember", "found 0")
    assert gang(None, pod("a"), refused=bad).hold == f"{FIELD}: {OWNER} cannot be read: spec.minMember: found 0"


def test_a_hold_of_the_group_holds_the_gang() -> None:
    group = Group("train", 1, hold="spec.x: not honoured by this version", **KAI)
    assert gang(group, pod("a")).hold == f"{OWNER}: spec.x: not honoured by this version"


def test_a_plain_pod_says_itself_whether_it_may_be_preempted_and_how_long_it_waits_gladly() -> None:
    alone = replace(pod("a", preemptible=False, patience=60.0), membership=None)
    assert gang(None, alone) == Gang("Pod/u-a", "ml/a", priority=7, created=9.0, preemptible=False, patience=60.0)
