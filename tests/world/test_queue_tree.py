"""Which queues are in order, and what is said of those that are not."""

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from phalanx.model.queue import DEFAULT_QUEUE, Queue
from phalanx.model.reference import Reference
from phalanx.world.queue_tree import Tree, resolve


def tree(*queues: Queue, **refused: str) -> Tree:
    return resolve(queues, {Reference("Queue", name): why for name, why in refused.items()})


def names(found: Tree) -> list[str]:
    return [queue.name for queue in found.queues]


def test_without_any_queue_there_is_one_for_everybody() -> None:
    assert tree().queues == (DEFAULT_QUEUE,)
    assert tree().implicit


def test_parents_come_before_children_and_equals_by_name() -> None:
    found = tree(Queue("b", parent="z"), Queue("a", parent="z"), Queue("z"), Queue("c", parent="a"), Queue("y"))
    assert names(found) == ["y", "z", "a", "b", "c"]
    assert found.depth == (0, 0, 1, 1, 2)
    assert found.children == {1: (2, 3), 2: (4,)}
    assert found.aside == {}


def test_what_a_child_does_not_say_is_its_parents() -> None:
    top = Queue("top", placement="spread", preempt_min_runtime=60.0, reclaim_min_runtime=5.0)
    found = tree(top, Queue("mid", parent="top"), Queue("low", parent="mid", placement="pack", reclaim_min_runtime=0.0))
    low = found.queues[2]
    assert (low.placement, low.preempt_min_runtime, low.reclaim_min_runtime) == ("pack", 60.0, 0.0)
    assert found.queues[1].placement == "spread"


def test_below_a_queue_of_which_nothing_is_moved_nothing_is_moved_whatever_it_says() -> None:
    found = tree(Queue("top", consolidation=False), Queue("low", parent="top"), Queue("other"))
    assert {queue.name: queue.consolidation for queue in found.queues} == {"top": False, "low": False, "other": True}


def test_a_missing_parent_sets_its_subtree_aside_and_nobody_else() -> None:
    found = tree(Queue("a", parent="research"), Queue("b", parent="a"), Queue("c", parent="b"), Queue("ok"))
    assert names(found) == ["ok"]
    why = "spec.parent: there is no Queue research"
    assert found.aside == {
        Reference("Queue", "a"): why,
        Reference("Queue", "b"): f"spec.parent: Queue a is set aside: {why}",
        Reference("Queue", "c"): f"spec.parent: Queue b is set aside because of Queue a: {why}",
    }


def test_parents_in_a_circle_are_named_and_so_is_who_hangs_on_them() -> None:
    found = tree(Queue("c", parent="b"), Queue("b", parent="a"), Queue("a", parent="c"), Queue("x", parent="b"))
    ring = "spec.parent: the parents go round in a circle: a > c > b > a"
    assert found.queues == ()
    assert found.aside == {
        Reference("Queue", "a"): ring,
        Reference("Queue", "b"): ring,
        Reference("Queue", "c"): ring,
        Reference("Queue", "x"): f"spec.parent: Queue b is set aside: {ring}",
    }
    assert tree(Queue("me", parent="me")).aside == {Reference("Queue", "me"): "spec.parent: me is its own parent"}


def test_a_long_circle_is_cut_short() -> None:
    found = tree(*(Queue(f"q{n:04}", parent=f"q{(n + 1) % 5000:04}") for n in range(5000)))
    start = " > ".join(f"q{n:04}" for n in range(8))
    assert found.aside[Reference("Queue", "q4999")] == (
        f"spec.parent: the parents go round in a circle: {start} > 4992 more > q0000"
    )


def test_a_queue_that_cannot_be_read_takes_its_subtree_along() -> None:
    found = tree(Queue("a", parent="bad"), Queue("ok"), bad="spec.resources.cpu.quota: found x")
    assert names(found) == ["ok"]
    assert found.aside == {
        Reference("Queue", "bad"): "spec.resources.cpu.quota: found x",
        Reference("Queue", "a"): "spec.parent: Queue bad is set aside: spec.resources.cpu.quota: found x",
    }
    assert found.missing == {"bad": found.aside[Reference("Queue", "bad")], "a": found.aside[Reference("Queue", "a")]}


def test_of_two_objects_of_one_name_the_older_one_counts() -> None:
    native, kai = Queue("team", created=2.0), Queue("team", created=1.0, kind="Queue.scheduling.run.ai")
    found = tree(native, kai)
    assert found.queues == (kai,)
    why = "metadata.name: Queue.scheduling.run.ai team has this name too and is the older one, so it counts"
    assert found.aside == {Reference("Queue", "team"): why}
    assert found.missing == {}
    assert tree(native, replace(kai, created=2.0)).queues == (native,)


def test_a_foreign_queue_is_told_about_its_own_field() -> None:
    lost = Queue("a", parent="gone", kind="Queue.scheduling.run.ai", parent_field="spec.parentQueue")
    assert tree(lost).aside == {Reference("Queue.scheduling.run.ai", "a"): "spec.parentQueue: there is no Queue gone"}


def test_a_chain_deeper_than_any_stack_is_walked() -> None:
    found = tree(*(Queue(f"q{n:05}", parent=f"q{n - 1:05}" if n else None) for n in range(5000)))
    assert found.depth == tuple(range(5000))


QUEUES = st.lists(
    st.builds(
        Queue,
        st.sampled_from("abcdef"),
        parent=st.none() | st.sampled_from("abcdefg"),
        created=st.integers(0, 2).map(float),
        kind=st.sampled_from(["Queue", "Queue.scheduling.run.ai"]),
    ),
    max_size=8,
    unique_by=lambda queue: queue.object,
)


@given(QUEUES, st.sets(st.sampled_from([Reference("Queue", "a"), Reference("Queue", "z")])), st.randoms())
def test_every_object_is_in_order_or_told_why_not_whatever_order_it_came_in(
    queues: list[Queue], refused: set[Reference], chance: Random
) -> None:
    reasons = dict.fromkeys(refused, "found x")
    known = [queue for queue in queues if queue.object not in refused]
    found = resolve(known, reasons)
    mixed = sorted(known, key=lambda _: chance.random())
    assert resolve(mixed, reasons) == found
    if found.implicit:
        return
    inside = {queue.object for queue in found.queues}
    assert inside.isdisjoint(found.aside)
    assert inside | set(found.aside) == {queue.object for queue in known} | refused
    for row, queue in enumerate(found.queues):
        above = found.parent(row)
        assert found.depth[row] == (0 if above < 0 else found.depth[above] + 1)
        assert above < row
        assert queue.name not in found.missing
