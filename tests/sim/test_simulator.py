"""The simulator: gangs work when they are whole, nodes fail and return, and a run can be repeated exactly."""

from pathlib import Path
from textwrap import dedent

from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.engine.policy import Policy
from phalanx.model.axis import GPU
from phalanx.model.events import GroupsSeen
from phalanx.model.task import State
from phalanx.policy.load import load_policy, parse_policy
from phalanx.sim.agenda import Agenda
from phalanx.sim.from_manifests import timeline_of_manifests
from phalanx.sim.life import life_key
from phalanx.sim.meter import Meter
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import FOREVER, Simulator
from phalanx.sim.timeline import timeline
from phalanx.testing import check_run
from phalanx.testing.scenario import ALLOCATE

POD_BY_POD = load_policy("pod-by-pod")


def ran(text: str, policy: Policy = ALLOCATE, until: float = FOREVER, seed: int = 0) -> Simulator:
    simulator = Simulator(timeline(read_scenario(dedent(text)), seed), policy, seed)
    for _ in simulator.run(until):
        pass
    return simulator


def lives(text: str, policy: Policy = ALLOCATE, until: float = FOREVER) -> dict[str, tuple[float | None, ...]]:
    """Return, by name: when it was complete, when it started to work, when it ended."""
    found = ran(text, policy, until).lives
    return {life.name.removeprefix("default/"): (life.complete, life.started, life.finished) for life in found}


def test_the_agenda_keeps_time_and_then_the_order_of_putting() -> None:
    agenda = Agenda[str]()
    for at, what in [(2.0, "late"), (1.0, "b"), (1.0, "a")]:
        agenda.put(at, what)
    assert (agenda.next, agenda.pop(), agenda.next, agenda.pop(), agenda.next) == (
        1.0,
        ["b", "a"],
        2.0,
        ["late"],
        FOREVER,
    )


def test_a_gang_starts_to_work_when_its_last_needed_member_runs_and_ends_its_runtime_later() -> None:
    given_ = """
        node n1 gpu=4
        gang g  members=3 minimum=2 gpu=1 created=10s every=5s runtime=1m
    """
    assert lives(given_) == {"g": (15, 15, 75)}
    check_run(
        given_,
        expect="""
            at 10s
            wait g 1 held: 1 of 2 members are there
            at 15s
            bind g-0 n1
            bind g-1 n1
            at 20s
            bind g-2 n1
        """,
    )


def test_a_split_gang_holds_its_gpus_and_does_nothing_for_ever() -> None:
    given_ = """
        node n1 gpu=3
        gang a  members=2 gpu=1 created=0s every=2s runtime=1m
        gang b  members=2 gpu=1 created=1s every=2s runtime=1m
        pod  x  gpu=1 on=n1
    """
    assert lives(given_, POD_BY_POD) == {"a": (2, None, None), "b": (3, None, None), "x": (0, 0, None)}
    assert lives(given_) == {"a": (2, 2, 62), "b": (3, 62, 122), "x": (0, 0, None)}


def test_subgroups_must_be_whole_too() -> None:
    given_ = """
        node n1 gpu=3
        gang g  subgroup=a members=2 subgroup-minimum=1 gpu=1 minimum=2 runtime=1m
        gang g  subgroup=b members=1 gpu=2
    """
    assert lives(given_, POD_BY_POD) == {"g": (0, None, None)}
    assert lives(given_) == {"g": (0, 0, 60)}


def test_when_a_gang_ends_all_its_members_end_those_too_that_never_ran_or_come_later() -> None:
    simulator = ran(
        """
        node n1 gpu=2
        gang g  members=5 minimum=2 gpu=1 every=40s runtime=1m
        """
    )
    assert [(life.started, life.finished, life.members) for life in simulator.lives] == [(40, 100, {})]
    assert simulator.world.tasks == {}
    assert simulator.now == 100


def test_a_node_that_fails_takes_its_gang_down_and_the_work_starts_again_from_nothing() -> None:
    given_ = """
        node n1..n2 gpu=1
        gang g      members=2 gpu=1 runtime=1h
        fail n2     at=50m for=20m
    """
    check_run(
        given_,
        expect="""
            at 0s
            bind g-0 n1
            bind g-1 n2
            at 50m
            wait g 1 full: 0/2 nodes: 1 not ready, 1 short of nvidia.com/gpu (most free on one node: 0 of 1)
            at 1h10m
            bind g-1 n2
        """,
        policy=ALLOCATE,
    )
    [life] = ran(given_).lives
    assert (life.started, life.interruptions, life.finished) == (0, 1, 4200 + 3600)


def test_work_is_lost_even_when_another_place_is_found_at_once() -> None:
    [life] = ran(
        """
        node n1..n2 gpu=2
        gang g      members=2 gpu=1 runtime=1h
        fail n1     at=50m
        """
    ).lives
    assert (life.started, life.interruptions, life.finished) == (0, 1, 50 * 60 + 3600)


def test_a_gang_with_members_to_spare_works_on_when_one_is_lost() -> None:
    [life] = ran(
        """
        node n1..n2 gpu=1
        gang g      members=2 minimum=1 gpu=1 runtime=1h
        fail n2     at=50m
        """
    ).lives
    assert (life.started, life.interruptions, life.finished) == (0, 0, 3600)


def test_a_pod_without_a_controller_is_lost_with_its_node_and_one_with_it_moves() -> None:
    simulator = ran(
        """
        node n1   gpu=2
        node n2   gpu=2 cordoned
        pod  bare gpu=1 on=n2
        pod  kept gpu=1 on=n2 controlled
        fail n2   at=1m
        """
    )
    assert {life.name: life.lost for life in simulator.lives} == {"default/bare": True, "default/kept": False}
    assert [(task.name, task.node, task.state, task.created) for task in simulator.world.tasks.values()] == [
        ("kept", "n1", State.RUNNING, 60.0)
    ]


def test_a_node_that_was_not_ready_before_it_failed_is_not_ready_when_it_returns() -> None:
    assert lives("node n1 gpu=1 not-ready\nfail n1 at=1m for=1m\npod p gpu=1") == {"p": (0, None, None)}


def test_a_pod_that_is_lost_at_the_instant_its_work_would_end_has_not_finished() -> None:
    [life] = ran("node n1 gpu=1\npod p gpu=1 runtime=1m\nfail n1 at=1m").lives
    assert (life.lost, life.finished) == (True, None)


def test_failures_that_overlap_end_with_the_last() -> None:
    assert lives(
        """
        node n1 gpu=1
        fail n1 at=1m for=10m
        fail n1 at=5m for=20m
        pod  p  gpu=1 created=2m
        """
    ) == {"p": (120, 25 * 60, None)}


def test_scaling_up_adds_members_and_scaling_down_takes_the_last_ones() -> None:
    check_run(
        """
        node  n1..n2 gpu=4
        gang  g      members=2 gpu=2
        scale g      members=4 at=1m
        scale g      members=1 minimum=1 at=2m
        pod   big    gpu=4 created=3m
        """,
        expect="""
            at 0s
            bind g-0 n1
            bind g-1 n1
            at 1m
            bind g-2 n2
            bind g-3 n2
            at 3m
            bind big n2
        """,
    )


def test_a_gang_scaled_to_a_new_minimum_is_whole_again_only_with_it() -> None:
    given_ = """
        node  n1 gpu=3
        gang  g  members=2 gpu=1 runtime=1h
        scale g  members=4 minimum=4 at=10m
        scale g  members=3 minimum=3 at=30m
    """
    [life] = ran(given_).lives
    assert (life.interruptions, life.started, life.finished) == (1, 0, 1800 + 3600)


def test_members_that_arrive_after_a_scaling_know_the_new_minimum() -> None:
    given_ = """
        node  n1 gpu=3
        gang  g  members=3 minimum=1 gpu=1 every=1m runtime=1h
        scale g  members=3 minimum=3 at=30s
    """
    [life] = ran(given_).lives
    assert (life.started, life.interruptions, life.finished) == (0, 1, 120 + 3600)


def test_members_that_would_arrive_after_a_scaling_down_never_do() -> None:
    simulator = ran(
        """
        node  n1 gpu=8
        gang  g  members=4 minimum=1 gpu=1 every=1m
        scale g  members=2 at=90s
        """
    )
    assert sorted(task.name for task in simulator.world.tasks.values()) == ["g-0", "g-1"]


def test_everything_at_one_instant_is_one_cycle_and_a_second_holds_at_most_one() -> None:
    text = "node n1 cpu=9\npod a\npod p1..p2\npod q created=0.2s\npod r created=0.7s"
    simulator = Simulator(timeline(read_scenario(text)), ALLOCATE)
    assert [(moment.now, len(moment.happenings), moment.plan is not None) for moment in simulator.run()] == [
        (0.0, 3, True),
        (0.2, 1, False),
        (0.7, 1, False),
        (1.0, 0, True),
    ]
    assert simulator.cycles == 2


def test_a_run_stops_when_nothing_more_can_happen_or_at_the_time_that_was_asked_for() -> None:
    ends, stays = "node n1 cpu=1\npod p cpu=1 runtime=1h", "node n1 cpu=1\npod p cpu=1"
    assert [ran(ends).now, ran(ends, until=7200).now, ran(ends, until=60).now] == [3600, 3600, 60]
    assert [ran(stays).now, ran(stays, until=7200).now] == [0, 7200]


def test_pods_of_other_schedulers_hold_their_place_and_are_not_counted_as_gangs() -> None:
    assert lives(
        """
        node n1    gpu=1
        pod  other gpu=1 on=n1 scheduler=kube runtime=1h
        pod  mine  gpu=1
        """
    ) == {"mine": (0, 3600, None)}


def test_manifests_can_be_simulated_pods_arrive_when_they_were_created(tmp_path: Path) -> None:
    manifest = """
        {{kind: {kind}, apiVersion: v1, metadata: {{name: {name}, creationTimestamp: "{time}", annotations:
        {{phalanx.dev/expected-runtime: 90s}}}}, spec: {{schedulerName: phalanx, containers: [{{name: c,
        resources: {{requests: {{cpu: 1}}}}}}]}}, status: {{allocatable: {{cpu: 1, pods: 9}}}}}}
    """
    parts = [("Node", "n1", "00"), ("Pod", "a", "10"), ("Pod", "b", "30"), ("Wrong", "c", "00")]
    texts = [manifest.format(kind=kind, name=name, time=f"2026-11-01T12:00:{at}Z") for kind, name, at in parts]
    (tmp_path / "all.yaml").write_text("\n---\n".join(texts))
    laid_out, problems = timeline_of_manifests(str(tmp_path), ["phalanx"])
    simulator = Simulator(laid_out, ALLOCATE)
    assert [moment.now for moment in simulator.run()] == [0, 20, 90, 180]
    assert [(life.name, life.complete, life.started, life.finished) for life in simulator.lives] == [
        ("default/a", 0, 0, 90),
        ("default/b", 20, 90, 180),
    ]
    assert problems == []


def test_a_group_in_manifests_was_made_at_a_time_of_the_simulation_too(tmp_path: Path) -> None:
    texts = [
        """{kind: Pod, apiVersion: v1, metadata: {name: a, creationTimestamp: "2026-11-01T12:00:10Z",
           annotations: {pod-group-name: g}}, spec: {schedulerName: phalanx, containers: [{name: c}]}}""",
        """{kind: PodGroup, apiVersion: scheduling.run.ai/v2alpha2, metadata: {name: g,
           creationTimestamp: "2026-11-01T12:00:07Z"}, spec: {}}""",
    ]
    (tmp_path / "all.yaml").write_text("\n---\n".join(texts))
    laid_out, problems = timeline_of_manifests(str(tmp_path), ["phalanx"])
    made = [group.created for event in laid_out.others if isinstance(event, GroupsSeen) for group in event.groups]
    assert (made, problems) == ([-3.0], [])


SCENARIOS = st.lists(
    st.one_of(
        st.builds(
            "gang g{} members={} minimum={} gpu={} cpu=1 created={}s every={}s runtime={}s±50%".format,
            st.integers(1, 6), st.integers(1, 4), st.integers(1, 4), st.integers(0, 2), st.integers(0, 99),
            st.integers(0, 9), st.integers(1, 99),
        ),
        st.builds("fail n{} at={}s for={}s".format, st.integers(1, 3), st.integers(0, 99), st.integers(0, 50)),
        st.builds("pod p{} gpu=1 on=n{} runtime={}s".format, st.integers(1, 99), st.integers(1, 3), st.integers(0, 99)),
    ),
    max_size=8,
    unique_by=lambda line: line.split()[1] if line.startswith("pod") else line,
)  # fmt: skip


@settings(max_examples=50)
@given(SCENARIOS, st.sampled_from([ALLOCATE, POD_BY_POD]), st.integers(0, 3))
def test_any_run_keeps_right_books_and_can_be_repeated(lines: list[str], policy: Policy, seed: int) -> None:
    """The meter, which adds and subtracts, agrees at every instant with a fresh count over the world."""
    laid_out = timeline(read_scenario("\n".join(["node n1..n3 gpu=2 cpu=9", *lines])), seed)
    simulator, again = Simulator(laid_out, policy, seed), Simulator(laid_out, policy, seed)
    for moment, other in zip(simulator.run(), again.run(), strict=True):
        assert moment == other
        fresh = Meter(simulator.world.nodes.values())
        for task in simulator.world.tasks.values():
            if task.state is State.RUNNING:
                fresh.hold(task, 1)
                if simulator.cluster.lives[life_key(task)].working:
                    fresh.work(task, 1)
        fresh.note(0.0)
        assert fresh.history()[1][0].tolist() == simulator.cluster.meter.history()[1][-1].tolist()
    for life in simulator.lives:
        waits_or_works = life.members or life.lost or life.finished is not None
        assert waits_or_works
        assert life.finished is None or not life.members


def test_a_cluster_is_measured_by_its_gpus_and_without_any_by_its_first_other_device() -> None:
    nodes = {text: timeline(read_scenario(text)).nodes for text in ("node n1 gpu=1 a.b/c=1", "node n1 x.y/z=1 a.b/c=1")}
    assert [Meter(found).device for found in nodes.values()] == [GPU, "a.b/c"]


def test_a_team_that_returns_takes_back_its_half_and_who_was_evicted_starts_again() -> None:
    """The evicted gang holds its place for its grace period of 30 s, and its work begins anew when it can."""
    policy = parse_policy("{extends: default, actions: [{name: allocate}, {name: reclaim}]}", "reclaiming")
    scenario = """
        node  n1      gpu=4
        queue a       quota:gpu=2
        queue b       quota:gpu=2
        gang  b1..b2  members=2 gpu=1 queue=b runtime=1h
        gang  a1      members=2 gpu=1 queue=a runtime=1h created=10m
        """
    simulator = Simulator(timeline(read_scenario(dedent(scenario))), policy)
    for _ in simulator.run():
        pass
    told = {life.name: (life.started, life.evictions, life.finished) for life in simulator.lives}
    assert told == {
        "default/b1": (0, 0, 3600),
        "default/b2": (0, 2, 3600 + 3600),
        "default/a1": (630, 0, 630 + 3600),
    }
