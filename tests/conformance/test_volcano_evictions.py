"""Volcano's own cases of preempt and reclaim, with its numbers: who is evicted, and for whom.

Where ours end otherwise, the case says why; docs/volcano.md has the same reasons.
"""

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from phalanx.cli.main import main
from tests.conformance.test_volcano_cases import PROPORTION, Object, flat, group, node, pod, queue

CLASSES: list[Object] = [
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
    for name, value in (("low", 100), ("mid", 500), ("high", 1000))
]
SAME: Any = {"memory": "1G"}


def of(name: str, queue: str = "q1", minimum: int = 1, klass: str = "low") -> Object:
    return group(name, minimum, queue, priorityClassName=klass)


def never(one: Object) -> Object:
    return {**one, "spec": {**one["spec"], "preemptionPolicy": "Never"}}


Case: TypeAlias = tuple[str, list[Object], set[str]]
Q1, Q12, Q123 = [queue("q1")], [queue("q1"), queue("q2")], [queue("q1"), queue("q2"), queue("q3")]

CASES: list[Case] = [
    ("nobody leaves where there is room", flat(
        node("n1", 10), Q1, of("pg1", minimum=3), pod("a1", "pg1", on="n1"), pod("a2", "pg1", on="n1"),
        pod("b", "pg1")), {"bind b n1"}),
    ("nobody leaves for the growth of an equal", flat(
        node("n1", 3), Q1, of("pg1"), of("pg2"), pod("a1", "pg1", on="n1"), pod("a2", "pg1", on="n1"),
        pod("a3", "pg2", on="n1"), pod("b", "pg2")), set()),
    ("bounds of the queue count: 3 of 4 in use, 3 asked for by who is more important", flat(
        node("n1", 12), queue("q1", capability={"cpu": 4, "memory": "4G"}), of("pg1", minimum=0),
        of("pg2", klass="high"), pod("a", "pg1", 3, "n1", memory="3G"), pod("b", "pg2", 3, memory="3G")),
     {"evict a", "nominate b n1"}),
    ("and 3 of 6 leaves room for both", flat(
        node("n1", 12), queue("q1", capability={"cpu": 6, "memory": "6G"}), of("pg1"), of("pg2", klass="high"),
        pod("a", "pg1", 3, "n1", memory="3G"), pod("b", "pg2", 3, memory="3G")), {"bind b n1"}),
    ("a place for one pod more, taken by one that asks for nothing", flat(
        node("n1", 12, pods="1"), queue("q1", capability={"cpu": 6}), of("pg1", minimum=0), of("pg2", klass="high"),
        pod("a", "pg1", 0, "n1"), pod("b", "pg2", 3)), {"evict a", "nominate b n1"}),
    ("and the same for one that asks for nothing itself", flat(
        node("n1", 12, pods="1"), queue("q1", capability={"cpu": 6}), of("pg1", minimum=0), of("pg2", klass="high"),
        pod("a", "pg1", 0, "n1"), pod("b", "pg2", 0)), {"evict a", "nominate b n1"}),
    ("who may not preempt does not", flat(
        node("n1", 1), Q1, of("pg1", minimum=0), of("pg2", klass="high"), pod("a", "pg1", on="n1"),
        never(pod("b", "pg2"))), set()),
    ("nor does who would still be beyond the bound of the queue", flat(
        node("n1", 12), queue("q1", capability={"cpu": 3}), of("pg1", minimum=0), of("pg2", klass="high"),
        pod("a", "pg1", 3, "n1"), pod("b", "pg2", 4)), set()),
    ("in the queue that has somebody to preempt, whichever comes first", flat(
        node("n1", 2), Q12, of("pg1", "q1"), of("pg2", "q2"), of("pg3", "q1"),
        of("pg4", "q2", klass="high"),
        pod("a", "pg1", on="n1"), pod("b", "pg2", on="n1"), pod("c", "pg3"), pod("d", "pg4")),
     {"evict b", "nominate d n1"}),
    ("queues of another priority are not preempted", flat(
        node("n1", 2), queue("q1", priority=1), queue("q2", priority=10), of("pg1", "q1", minimum=0), of("pg2", "q2"),
        of("pg3", "q1", klass="high"), pod("a", "pg1", on="n1"), pod("b", "pg2", on="n1"), pod("c", "pg3")),
     {"evict a", "nominate c n1"}),
    ("of queues that have too much, the less important group is taken from", flat(
        node("n1", 4, "4Gi"), Q123, of("pg1", "q1", klass="mid"), of("pg2", "q2"), of("pg3", "q3", klass="high"),
        pod("a1", "pg1", on="n1", **SAME), pod("a2", "pg1", on="n1", **SAME), pod("b1", "pg2", on="n1", **SAME),
        pod("b2", "pg2", on="n1", **SAME), pod("c", "pg3", **SAME)), {"evict b2", "nominate c n1"}),
    ("who may not reclaim does not", flat(
        node("n1", 1), queue("q1", weight=5), queue("q2", weight=10), of("pg1", "q1", minimum=0),
        of("pg2", "q2", minimum=0, klass="high"), pod("a", "pg1", on="n1"), never(pod("b", "pg2"))), set()),
]  # fmt: skip

#: Volcano evicts what may be evicted of a group in which other pods may not; and queues of lower priority take from
#: those of higher priority, which go first when the next place is free.
OTHERWISE: list[Case] = [
    ("a pod that must not be evicted protects its group", flat(
        node("n1", 2), Q1, of("pg1"), of("pg2", klass="high"), pod("a1", "pg1", on="n1"),
        pod("a2", "pg1", on="n1", fixed=True), pod("b1", "pg2"), pod("b2", "pg2")), set()),
    ("also from one that asks for more", flat(
        node("n1", 6), Q1, of("pg1"), of("pg2", klass="high"), pod("a1", "pg1", on="n1"), pod("a2", "pg1", on="n1"),
        pod("a3", "pg1", on="n1", fixed=True), pod("b", "pg2", 5)), set()),
    ("and from other queues", flat(
        node("n1", 3), Q12, of("pg1"), of("pg2", "q2", klass="high"), pod("a1", "pg1", on="n1", fixed=True),
        pod("a2", "pg1", on="n1"), pod("a3", "pg1", on="n1", fixed=True), pod("b", "pg2")), set()),
    ("the queue of the lowest priority takes nothing from others: they would have it again", flat(
        node("n1", 4, "4Gi"), queue("q1", priority=5), queue("q2", priority=10), queue("q3", priority=1),
        of("pg1", "q1"), of("pg2", "q2"), of("pg3", "q3"),
        *(pod(f"{name}{at}", f"pg{number}", on="n1", **SAME) for name, number in (("a", 1), ("b", 2)) for at in (1, 2)),
        pod("c", "pg3", **SAME)), set()),
    ("nor for one resource alone, where cpu is there and 1G of memory is missing", flat(
        node("n1", 10, "2Gi"), queue("q1", priority=1), queue("q2", priority=2), queue("q3", weight=3),
        of("pg1", "q1", minimum=0), of("pg2", "q2", minimum=0), of("pg3", "q3"),
        pod("a", "pg1", on="n1", **SAME), pod("b", "pg2", on="n1", **SAME), pod("c", "pg3", 2, **SAME)),
     set()),
]  # fmt: skip


def acts(objects: list[Object], folder: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    (folder / "case.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*CLASSES, *objects]}))
    (folder / "policy.yaml").write_text(PROPORTION)
    words = ["-f", str(folder / "case.json"), "--policy", str(folder / "policy.yaml"), "-o", "json"]
    assert main(["plan", *words]) == 0
    planned: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert planned["refused"] == []
    forms = {"bind": "bind {pod} {node}", "evict": "evict {pod}", "nominate": "nominate {pod} {node}"}
    steps = planned["cycles"][0]["steps"]
    return {forms[one["step"]].format(**one).replace("ns/", "") for one in steps if one["step"] in forms}


@pytest.mark.parametrize(("story", "objects", "expected"), CASES, ids=[case[0] for case in CASES])
def test_the_case_ends_as_volcanos(
    story: str, objects: list[Object], expected: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert acts(objects, tmp_path, capsys) == expected, story


@pytest.mark.parametrize(("story", "objects", "expected"), OTHERWISE, ids=[case[0] for case in OTHERWISE])
def test_the_case_ends_otherwise_and_the_page_says_why(
    story: str, objects: list[Object], expected: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert acts(objects, tmp_path, capsys) == expected, story
