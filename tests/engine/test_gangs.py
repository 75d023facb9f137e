"""What a gang means: minimums, growth, subgroups, agreement, and who counts already."""

from dataclasses import replace

from phalanx.engine.decide import decide
from phalanx.engine.policy import Policy
from phalanx.model.events import Event, NamespaceSeen, NodeSeen, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.plan import Plan
from phalanx.model.selectors import NodeTerm, Requirement
from phalanx.model.task import Hold, Shape, State, Task
from phalanx.testing.scenario import ALLOCATE
from phalanx.world.world import World


def gpus(count: int, priority: int = 0) -> Shape:
    return Shape((("nvidia.com/gpu", count * 1000), ("pods", 1)), priority=priority)


def member(gang: str, number: int, minimum: int | None, shape: Shape | None = None, **said: object) -> Task:
    own = {key: said.pop(key) for key in list(said) if key in Membership.__dataclass_fields__}
    membership = Membership(f"default/{gang}", minimum, **own)  # type: ignore[arg-type]
    task = Task(f"{gang}-{number}", "default", f"{gang}-{number}", shape or gpus(1), membership=membership)
    return replace(task, **said)  # type: ignore[arg-type]


def node(name: str, count: int) -> Event:
    return NodeSeen(Node(name, allocatable={"nvidia.com/gpu": count * 1000, "pods": 110}))


def decided(*things: Event | Task, now: float = 100.0) -> list[str]:
    return lines(plan_of(*things, now=now))


def plan_of(*things: Event | Task, now: float = 100.0) -> Plan:
    world = World()
    for thing in things:
        world.apply(TaskSeen(thing) if isinstance(thing, Task) else thing)
    return decide(world.compile(now), ALLOCATE)


def lines(plan: Plan) -> list[str]:
    return [line.replace("default/", "") for line in plan.text().splitlines()]


def test_a_gang_waits_whole_when_only_part_of_it_fits() -> None:
    """And what it tried to take is free for the next in line."""
    big = [member("big", i, 3, gpus(8, priority=9)) for i in range(3)]
    tiny = Task("tiny", "default", "tiny", gpus(1))
    assert decided(node("n1", 8), node("n2", 8), *big, tiny) == [
        (
            "wait big 3 never: 3 needed together, 2 fit: 2 of 2 nodes have room, "
            "short of nvidia.com/gpu (most free on one node: 8 of 8); on empty nodes, 2 would fit"
        ),
        "bind tiny n1",
    ]


def test_members_that_are_missing_hold_the_gang() -> None:
    assert decided(node("n1", 8), *(member("g", i, 4) for i in range(3))) == ["wait g 3 held: 3 of 4 members are there"]


def test_running_members_count_towards_the_minimum() -> None:
    running = [member("g", i, 3, state=State.RUNNING, node="n1", started=1.0) for i in range(2)]
    assert decided(node("n1", 2), node("n2", 1), *running, member("g", 2, 3)) == ["bind g-2 n2"]


def test_growth_comes_after_every_minimum_of_the_same_priority() -> None:
    older = [member("a", i, 1, created=0.0) for i in range(3)]
    younger = [member("b", i, 2, created=50.0) for i in range(2)]
    assert decided(node("n1", 4), *older, *younger) == [
        "bind a-0 n1",
        "bind b-0 n1",
        "bind b-1 n1",
        "bind a-1 n1",
        "wait a 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 4)",
    ]


def test_growth_of_an_important_gang_precedes_the_minimum_of_a_lesser_one() -> None:
    important = [member("a", i, 1, gpus(1, priority=5)) for i in range(2)]
    lesser = [member("b", i, 1) for i in range(1)]
    assert decided(node("n1", 2), *important, *lesser) == [
        "bind a-0 n1",
        "bind a-1 n1",
        "wait b 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 2)",
    ]


def test_a_gang_never_grows_beyond_its_maximum() -> None:
    assert decided(node("n1", 8), *(member("g", i, 1, maximum=2) for i in range(4))) == [
        "bind g-0 n1",
        "bind g-1 n1",
        "wait g 2 held: the gang has its maximum of 2",
    ]


def test_a_gang_that_could_not_start_does_not_grow() -> None:
    assert decided(node("n1", 2), *(member("g", i, 3) for i in range(5))) == [
        (
            "wait g 5 never: 3 needed together, 2 fit: 1 of 1 node has room, "
            "short of nvidia.com/gpu (most free on one node: 2 of 2); on empty nodes, 2 would fit"
        )
    ]


def test_members_are_taken_by_creation_then_name() -> None:
    tasks = [member("g", i, 2, created=float(time)) for i, time in enumerate((7, 3, 3, 9))]
    assert decided(node("n1", 2), *tasks)[:2] == ["bind g-1 n1", "bind g-2 n1"]


def test_the_oldest_members_are_the_minimum_though_only_younger_ones_fit() -> None:
    """Who is taken is fixed before places are looked for. A subgroup says who must start."""
    large = member("g", 0, 2, gpus(9))
    small = [member("g", i, 2, created=10.0) for i in (1, 2)]
    assert decided(node("n1", 2), large, *small)[0].startswith("wait g 3 never: 2 needed together, 0/1 nodes")
    core = [replace(one, membership=Membership("default/g", 2, subgroup="core", subgroup_minimum=2)) for one in small]
    assert decided(node("n1", 2), large, *core)[:2] == ["bind g-1 n1", "bind g-2 n1"]


def test_subgroup_minimums_and_the_gangs_both_hold() -> None:
    leaders = [member("g", i, 4, gpus(2), subgroup="leader", subgroup_minimum=1) for i in range(1)]
    workers = [member("g", i, 4, subgroup="worker", subgroup_minimum=2) for i in range(1, 5)]
    assert decided(node("n1", 5), *leaders, *workers) == [
        "bind g-0 n1",
        "bind g-1 n1",
        "bind g-2 n1",
        "bind g-3 n1",
        "wait g 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 5)",
    ]
    assert decided(node("n1", 3), *leaders, *workers)[-1].startswith("wait g 5 never: 4 needed together, 2 fit")


def test_a_subgroup_with_members_missing_holds_the_gang_and_is_named() -> None:
    workers = [member("g", i, 2, subgroup="worker", subgroup_minimum=2) for i in range(2)]
    leader = member("g", 9, 2, subgroup="leader", subgroup_minimum=2)
    assert decided(node("n1", 8), *workers, leader) == ["wait g 3 held: 1 of 2 members of subgroup leader are there"]


def test_subgroup_minimums_above_the_maximum_can_never_be_and_the_gang_says_so() -> None:
    left = member("g", 0, 1, maximum=1, subgroup="left", subgroup_minimum=1)
    right = member("g", 1, 1, maximum=1, subgroup="right", subgroup_minimum=1)
    assert decided(node("n1", 8), left, right) == [
        "wait g 2 held: metadata.annotations[phalanx.dev/maximum]: 1, but the subgroup minimums add up to 2"
    ]


def test_members_without_a_subgroup_count_to_the_gangs_minimum_alone() -> None:
    worker = member("g", 0, 3, subgroup="worker", subgroup_minimum=1)
    plain = [member("g", i, 3) for i in (1, 2)]
    assert decided(node("n1", 3), worker, *plain) == ["bind g-0 n1", "bind g-1 n1", "bind g-2 n1"]


def test_the_newest_pods_minimum_holds_when_a_template_was_scaled() -> None:
    old = [member("g", i, 3, created=0.0) for i in range(3)]
    new = [member("g", i, 5, created=9.0) for i in (3, 4)]
    assert decided(node("n1", 4), *old, *new)[0].startswith("wait g 5 never: 5 needed together, 4 fit")


def test_any_other_disagreement_holds_the_gang_and_names_the_pods() -> None:
    one, other = member("g", 0, 2, maximum=4), member("g", 1, 2, maximum=5)
    assert decided(node("n1", 8), one, other) == [
        "wait g 2 held: members disagree on phalanx.dev/maximum: 4 on g-0; 5 on g-1"
    ]


def test_a_gang_without_a_minimum_is_held_and_says_so() -> None:
    assert decided(node("n1", 8), member("g", 0, None)) == [
        "wait g 1 held: metadata.annotations[phalanx.dev/minimum]: required with a gang, missing on pod g-0"
    ]


def test_the_priority_of_a_gang_is_its_members_lowest() -> None:
    mixed = [member("a", 0, 2, gpus(1, priority=9)), member("a", 1, 2, gpus(1, priority=1))]
    plain = Task("p", "default", "p", gpus(1, priority=5))
    assert decided(node("n1", 2), *mixed, plain)[0] == "bind p n1"


def test_a_finished_member_counts_only_while_one_that_ran_beside_it_still_runs() -> None:
    done = member("g", 0, 2, state=State.SUCCEEDED, node="n1", started=1.0, finished=50.0)
    beside = member("g", 1, 2, state=State.RUNNING, node="n1", started=2.0)
    waiting = member("g", 2, 2)
    assert decided(node("n1", 8), done, beside, waiting) == ["bind g-2 n1"]
    yesterday = member("g", 0, 2, state=State.SUCCEEDED, node="n1", started=1.0, finished=50.0)
    assert decided(node("n1", 8), yesterday, waiting) == ["wait g 1 held: 1 of 2 members are there"]
    later = replace(beside, started=60.0)
    assert decided(node("n1", 8), done, later, replace(waiting, membership=Membership("default/g", 3))) == [
        "wait g 1 held: 2 of 3 members are there"
    ]


def test_a_failed_member_does_not_count() -> None:
    failed = member("g", 0, 2, state=State.FAILED, node="n1", started=1.0, finished=2.0)
    assert decided(node("n1", 8), failed, member("g", 1, 2)) == ["wait g 1 held: 1 of 2 members are there"]


def test_a_terminating_member_does_not_count_but_still_takes_room() -> None:
    leaving = member("g", 0, 2, state=State.RELEASING, node="n1")
    assert decided(node("n1", 2), leaving, member("g", 1, 2)) == ["wait g 1 held: 1 of 2 members are there"]


def test_a_held_member_is_left_out_when_the_others_suffice_and_named_when_not() -> None:
    gate = Hold("spec.schedulingGates", "the pod is gated")
    gated = member("g", 0, 2, hold=gate)
    others = [member("g", i, 2) for i in (1, 2)]
    assert decided(node("n1", 8), gated, *others) == [
        "bind g-1 n1",
        "bind g-2 n1",
        "wait g 1 held: g-0 spec.schedulingGates: the pod is gated",
    ]
    assert decided(node("n1", 8), gated, others[0]) == [
        "wait g 2 held: 1 of 2 members may start; g-0 spec.schedulingGates: the pod is gated"
    ]


def test_what_holds_many_members_is_said_once() -> None:
    gate, typo = Hold("spec.schedulingGates", "the pod is gated"), Hold("metadata", "a slip")
    members = [*(member("g", i, 4, hold=gate) for i in range(3)), member("g", 3, 4, hold=typo)]
    assert decided(node("n1", 8), *members) == [
        f"wait g 4 held: 0 of 4 members may start; g-0 and 2 more: {gate}; g-3 {typo}"
    ]


def test_after_a_start_timeout_a_gang_queues_again() -> None:
    """It was first in line for 60 seconds and did not start; now it is ordered as if it had come then."""
    patient = member("a", 0, 1, created=0.0, start_timeout=60.0)
    late = member("b", 0, 1, created=30.0)
    assert decided(node("n1", 1), patient, late, now=59.0)[0] == "bind a-0 n1"
    assert decided(node("n1", 1), patient, late, now=60.0)[0] == "bind b-0 n1"
    assert decided(node("n1", 1), patient, replace(late, created=121.0), now=130.0)[0] == "bind a-0 n1"


def test_a_gang_that_queued_again_says_how_often() -> None:
    waiting = [member("a", i, 2, created=0.0, start_timeout=60.0) for i in range(2)]
    short = "short of nvidia.com/gpu (most free on one node: 1 of 1)"
    why = f"wait a 2 never: 2 needed together, 1 fit: 1 of 1 node has room, {short}; on empty nodes, 1 would fit"
    again = f"{why}; queued again after its start timeout of 60 s, "
    assert decided(node("n1", 1), *waiting, now=59.0) == [why]
    assert decided(node("n1", 1), *waiting, now=60.0) == [again + "once"]
    assert decided(node("n1", 1), *waiting, now=200.0) == [again + "3 times"]


def test_a_gang_that_is_held_says_the_same_however_long() -> None:
    alone = member("a", 0, 2, created=0.0, start_timeout=60.0)
    assert decided(node("n1", 8), alone, now=200.0) == ["wait a 1 held: 1 of 2 members are there"]


def test_nobody_queues_again_under_a_policy_that_does_not_order_by_arrival() -> None:
    others = tuple(weighted for weighted in ALLOCATE.plugins if weighted.plugin.name != "arrival")
    world = World()
    world.apply(TaskSeen(member("a", 0, 1, start_timeout=60.0)))
    plan = decide(world.compile(200.0), Policy("no arrival", ALLOCATE.actions, others))
    assert lines(plan) == ["wait a 1 never: there are no nodes"]


def test_a_gang_that_has_started_has_no_start_timeout_any_more() -> None:
    running = member("a", 0, 1, created=0.0, start_timeout=60.0, state=State.RUNNING, node="n1", started=1.0)
    growing = member("a", 1, 1, created=0.0, start_timeout=60.0)
    late = [member("b", i, 1, created=50.0, state=state, node=place) for i, state, place in
            ((0, State.RUNNING, "n1"), (1, State.PENDING, None))]  # fmt: skip
    full = "0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 3)"
    assert decided(node("n1", 3), running, growing, *late) == ["bind a-1 n1", f"wait b 1 full: {full}"]


def test_a_gang_that_lost_a_member_is_made_whole_before_new_ones_start() -> None:
    """It is the youngest; but what its other members hold may be of no use until it is whole."""
    fresh = [member("a", i, 2, created=0.0) for i in range(2)]
    left = member("b", 0, 2, created=50.0, state=State.RUNNING, node="n1", started=60.0)
    again = member("b", 1, 2, created=90.0)
    assert decided(node("n1", 3), *fresh, left, again) == [
        "bind b-1 n1",
        (
            "wait a 2 full: 2 needed together, 1 fit: 1 of 1 node has room, "
            "short of nvidia.com/gpu (most free on one node: 1 of 3)"
        ),
    ]


def test_a_broken_gang_is_made_whole_before_a_more_important_one_starts() -> None:
    """What it holds is of no use to anybody until it is whole."""
    fresh = [member("a", i, 2, gpus(1, priority=9), created=90.0) for i in range(2)]
    left = member("b", 0, 2, created=0.0, state=State.RUNNING, node="n1", started=1.0)
    again = member("b", 1, 2, created=0.0)
    assert decided(node("n1", 3), *fresh, left, again)[0] == "bind b-1 n1"


def test_a_gang_with_a_subgroup_below_its_minimum_is_a_broken_one() -> None:
    fresh = [member("a", i, 1, created=0.0) for i in range(1)]
    parts = [("left", State.RUNNING, "n1"), ("left", State.RUNNING, "n1"), ("right", State.PENDING, None)]
    broken = [
        member("b", i, 1, created=50.0, subgroup=part, subgroup_minimum=1, state=state, node=place)
        for i, (part, state, place) in enumerate(parts)
    ]
    assert decided(node("n1", 3), *fresh, *broken)[0] == "bind b-2 n1"


def test_the_growth_of_a_gang_that_runs_is_no_repair() -> None:
    """It comes after every minimum, and after the growth of who is older."""
    fresh = [member("a", i, 1, created=0.0) for i in range(2)]
    running = member("b", 0, 1, created=50.0, state=State.RUNNING, node="n1", started=60.0)
    growing = member("b", 1, 1, created=50.0)
    full = "0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 3)"
    assert decided(node("n1", 3), *fresh, running, growing) == ["bind a-0 n1", "bind a-1 n1", f"wait b 1 full: {full}"]


def test_different_shapes_of_one_gang_are_placed_hardest_first() -> None:
    """The small ones would fit anywhere; were they placed first, the large one would find no node."""
    small = [member("g", i, 3, gpus(1)) for i in range(2)]
    large = member("g", 2, 3, gpus(4))
    assert sorted(decided(node("n1", 4), node("n2", 2), *small, large)) == [
        "bind g-0 n2",
        "bind g-1 n2",
        "bind g-2 n1",
    ]


def test_a_queue_that_does_not_exist_holds_its_pods() -> None:
    labels = {"phalanx.dev/queue": "team-a"}
    field = "metadata.labels[phalanx.dev/queue]"
    lost = replace(Task("p", "default", "p", gpus(1)), queue="team-a", queue_field=field, labels=labels)
    text = "wait p 1 held: metadata.labels[phalanx.dev/queue]: there is no Queue team-a"
    assert decided(node("n1", 8), lost) == [text]
    by_namespace = NamespaceSeen("default", {"phalanx.dev/queue": "team-a"})
    theirs = text.replace("held: ", "held: Namespace default: ")
    assert decided(node("n1", 8), by_namespace, replace(lost, queue=None)) == [theirs]


def test_a_gang_and_a_pod_of_the_same_name_do_not_meet() -> None:
    pod = Task("default/g", "default", "g", gpus(1))
    assert decided(node("n1", 8), pod, member("g", 0, 2)) == [
        "bind g n1",
        "wait g 1 held: 1 of 2 members are there",
    ]


def test_others_pods_are_charged_and_never_placed() -> None:
    running = Task("o", "kube-system", "o", gpus(1), State.RUNNING, "n1", ours=False)
    waiting = Task("w", "kube-system", "w", gpus(1), ours=False)
    mine = Task("m", "default", "m", gpus(8))
    assert decided(node("n1", 8), running, waiting, mine) == [
        "wait m 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 7 of 8)"
    ]


def test_a_maximum_that_the_subgroups_cannot_keep_holds_that_gang_and_nobody_else() -> None:
    """Three of one subgroup run already; the two that the other needs would make five of four."""
    running = [
        member("g", i, 4, maximum=4, subgroup="a", subgroup_minimum=2, state=State.RUNNING, node="n1", started=1.0)
        for i in range(3)
    ]
    waiting = [member("g", i, 4, maximum=4, subgroup="b", subgroup_minimum=2) for i in (3, 4)]
    other = Task("other", "default", "other", gpus(1))
    assert decided(node("n1", 8), *running, *waiting, other) == [
        "wait g 2 held: its maximum is 4, but 3 run and 2 more are needed",
        "bind other n1",
    ]


def test_finished_members_do_not_count_towards_the_maximum() -> None:
    done = member("g", 0, 1, maximum=2, state=State.SUCCEEDED, node="n1", started=1.0, finished=50.0)
    runs = member("g", 1, 1, maximum=2, state=State.RUNNING, node="n1", started=1.0)
    assert decided(node("n1", 8), done, runs, member("g", 2, 1, maximum=2), member("g", 3, 1, maximum=2)) == [
        "bind g-2 n1",
        "wait g 1 held: the gang has its maximum of 2",
    ]


def test_growth_is_placed_by_creation_even_when_a_younger_member_is_larger() -> None:
    first = member("g", 0, 1, gpus(4))
    older, younger = member("g", 1, 1, gpus(2), created=1.0), member("g", 2, 1, gpus(3), created=2.0)
    assert decided(node("n1", 8), first, older, younger)[:2] == ["bind g-0 n1", "bind g-1 n1"]


def test_a_gang_of_several_shapes_waits_as_full_when_it_would_fit_without_others() -> None:
    busy = Task("busy", "default", "busy", gpus(8), State.RUNNING, "n1", ours=False)
    driver = member("g", 0, 3, gpus(8))
    workers = [member("g", i, 3, Shape((("pods", 1),))) for i in (1, 2)]
    assert decided(node("n1", 8), busy, driver, *workers) == [
        "wait g 3 full: 3 needed together, 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 8)"
    ]


def test_a_shape_that_became_the_hardest_meanwhile_goes_next() -> None:
    """One may use n1 or n2, one n2 or n3, one n1 or n2: whoever has a choice must leave the others theirs."""

    def on(*names: str) -> Shape:
        terms = (NodeTerm(fields=(Requirement("metadata.name", "In", (name,)),)) for name in names)
        return Shape((("nvidia.com/gpu", 1000), ("pods", 1)), node_terms=tuple(terms))

    wishes = [on("n1", "n2"), on("n2", "n3"), on("n1", "n2", "n9")]
    tasks = [member("g", i, 3, wish) for i, wish in enumerate(wishes)]
    assert sorted(decided(node("n1", 1), node("n2", 1), node("n3", 1), *tasks)) == [
        "bind g-0 n1",
        "bind g-1 n3",
        "bind g-2 n2",
    ]


def test_space_kept_for_a_member_stays_kept_when_it_does_not_fit_yet() -> None:
    leaving = Task("l", "default", "l", gpus(1), State.RELEASING, "n1", ours=False)
    nominated = member("g", 1, 1, gpus(2), nominated="n1", created=1.0)
    runs = member("g", 0, 1, gpus(1), state=State.RUNNING, node="n2", started=1.0)
    thief = Task("w", "default", "w", gpus(1, priority=-1))
    assert decided(node("n1", 2), node("n2", 1), leaving, runs, nominated, thief)[-1] == (
        "wait w 1 full: 0/2 nodes: 1 keeping nvidia.com/gpu for pods nominated there, "
        "1 short of nvidia.com/gpu (most free on one node: 0 of 1)"
    )


def test_a_gangs_own_nominations_do_not_stand_in_its_way() -> None:
    tasks = [member("g", 0, 2), member("g", 1, 2), member("g", 2, 2, nominated="n1")]
    assert decided(node("n1", 2), *tasks)[:2] == ["bind g-0 n1", "bind g-1 n1"]


def test_a_pod_whose_uid_looks_like_a_gang_is_not_one_of_it() -> None:
    odd = Task("gang/default/g", "default", "odd", gpus(1))
    assert decided(node("n1", 8), odd, member("g", 0, 2)) == ["bind odd n1", "wait g 1 held: 1 of 2 members are there"]
