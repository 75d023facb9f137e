"""Users of one queue: who used and has less of the cluster goes first, and in the long run each has its weight."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.dialects.read import read
from phalanx.engine.policy import Policy
from phalanx.loop import Loop
from phalanx.model.events import NodeSeen, TaskSeen
from phalanx.model.node import Node
from phalanx.policy.load import PolicyError, parse_policy
from phalanx.sim.report import report
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import Simulator
from phalanx.sim.timeline import timeline
from phalanx.testing import check
from phalanx.testing.stage import Stage
from phalanx.world.world import World

RULES = """
extends: default
actions: [{name: allocate}]
plugins: [{name: node_ready}, {name: resource_fit}, {name: gang}, {name: quota}, {name: fairness}, {name: priority},
          {name: user_fairness, arguments: {%s}}, {name: arrival}]
"""


def policy(arguments: str = "label: user") -> Policy:
    return parse_policy(RULES % arguments, "users")


FULL = "full: 0/1 nodes: 1 short of nvidia.com/gpu …"


def test_who_asks_for_much_gets_no_more_than_who_comes_later_and_asks_for_little() -> None:
    given = """
        node n1 gpu=4
        pod a-1..a-4 gpu=1 label:user=alice
        pod b-1..b-2 gpu=1 label:user=bob created=1m
    """
    fair = f"""
        bind a-1 n1
        bind b-1 n1
        bind a-2 n1
        bind b-2 n1
        wait a-3 1 {FULL}
        wait a-4 1 {FULL}
    """
    by_age = f"""
        bind a-1 n1
        bind a-2 n1
        bind a-3 n1
        bind a-4 n1
        wait b-1 1 {FULL}
        wait b-2 1 {FULL}
    """
    check(given, fair, policy())
    check(given, by_age, policy("label: team"))


def test_a_user_of_weight_two_goes_twice_as_often() -> None:
    check(
        """
        node n1 gpu=3
        pod a-1..a-3 gpu=1 label:user=alice
        pod b-1..b-3 gpu=1 label:user=bob created=1m
        """,
        f"""
        bind b-1 n1
        bind a-1 n1
        bind b-2 n1
        wait b-3 1 {FULL}
        wait a-2 1 {FULL}
        wait a-3 1 {FULL}
        """,
        policy("label: user, weights: {bob: 2}"),
    )


def test_without_a_label_the_namespace_is_the_user_and_what_runs_counts() -> None:
    check(
        """
        node n1 gpu=4
        pod r-1..r-2 gpu=1 namespace=alice on=n1
        pod a-1      gpu=1 namespace=alice
        pod b-1..b-2 gpu=1 namespace=bob created=1m
        """,
        f"""
        bind bob/b-1 n1
        bind bob/b-2 n1
        wait alice/a-1 1 {FULL}
        """,
        policy("halfLife: 4h"),
    )


def test_priority_goes_before_it_and_each_queue_has_its_own_users() -> None:
    check(
        """
        node  n1 gpu=4
        queue x quota:gpu=2
        queue y quota:gpu=2
        pod r-1      gpu=1 label:user=alice queue=x on=n1
        pod a-1..a-2 gpu=1 label:user=alice queue=x priority=5
        pod b-1      gpu=1 label:user=bob   queue=x created=1m
        pod c-1..c-2 gpu=1 label:user=alice queue=y
        """,
        f"""
        bind c-1 n1
        bind a-1 n1
        bind c-2 n1
        wait a-2 1 {FULL}
        wait b-1 1 {FULL}
        """,
        policy(),
    )


def test_a_gang_that_fits_nowhere_does_not_hold_up_its_users_other_work() -> None:
    check(
        """
        node n1 gpu=2
        gang big members=8 gpu=1 label:user=alice
        pod  a-1 gpu=1 label:user=alice created=1m
        pod  b-1..b-3 gpu=1 label:user=bob created=2m
        """,
        f"""
        bind a-1 n1
        bind b-1 n1
        wait b-2 1 {FULL}
        wait b-3 1 {FULL}
        wait big 8 …
        """,
        policy(),
    )


def test_what_was_used_counts_and_fades() -> None:
    """Alice had both GPUs for an hour: Bob's later job goes first. A day later that hour is forgotten."""
    given = """
        node n1 gpu=2
        gang old members=2 gpu=1 label:user=alice
        pod  a-1 gpu=2 label:user=alice created=59m
        pod  b-1 gpu=2 label:user=bob   created=59m30s
    """
    stage = Stage(given, policy("label: user, halfLife: 1h"))
    stage.check("0s", "bind old-0 n1\nbind old-1 n1")
    stage.lose("old-0")
    stage.lose("old-1")
    stage.check("60m", f"bind b-1 n1\nwait a-1 1 {FULL}")

    late = Stage(given.replace("=59m", "=30h"), policy("label: user, halfLife: 1h"))
    late.check("0s", "bind old-0 n1\nbind old-1 n1")
    late.lose("old-0")
    late.lose("old-1")
    late.check("1h", "")
    late.check("31h", f"bind a-1 n1\nwait b-1 1 {FULL}")


def test_a_user_without_the_label_is_one_user_with_all_others_without_it() -> None:
    check(
        """
        node n1 gpu=3
        pod x-1 gpu=1 on=n1
        pod y-1 gpu=1 namespace=other
        pod b-1 gpu=1 label:user=bob created=1m
        pod z-1 gpu=1 created=2m
        """,
        f"""
        bind b-1 n1
        bind other/y-1 n1
        wait z-1 1 {FULL}
        """,
        policy(),
    )


@pytest.mark.slow
@given(
    weights=st.lists(st.integers(1, 4), min_size=2, max_size=4),
    size=st.sampled_from((1, 2)),
    runtimes=st.lists(st.sampled_from((20, 60, 180)), min_size=4, max_size=4),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=3, deadline=None)
def test_over_a_long_steady_load_each_user_gets_its_weight(
    weights: list[int], size: int, runtimes: list[int], seed: int
) -> None:
    """Everybody always has work waiting, of lengths of their own; the first of them asks long before the others."""
    gpus, hours = 4, 30
    given = {f"u{at}": weight for at, weight in enumerate(weights)}
    lines = [f"node n1..n{gpus} gpu={size}"]
    for user, minutes in zip(given, runtimes, strict=False):
        # As much as the whole cluster can do.
        count, every = hours * 60 * gpus // minutes, minutes * 60 // gpus
        lines.append(f"pod {user}-1..{user}-{count} gpu={size} runtime={minutes}m±50% every={every}s label:user={user}")
    users = ", ".join(f"{user}: {weight}" for user, weight in given.items())
    laid_out = timeline(read_scenario("\n".join(lines)), seed)
    run = Simulator(laid_out, policy(f"label: user, weights: {{{users}}}"), seed, interval=60.0)
    for _ in run.run(hours * 3600.0):
        pass
    had = {one.user: one.device for one in report(run).users}
    for user, weight in given.items():
        assert had[user] / sum(had.values()) == pytest.approx(weight / sum(weights), abs=0.05)


@pytest.mark.parametrize(
    ("arguments", "mistake"),
    [
        ("halfLife: 1s", "halfLife: found 1 s, allowed is 1m to 30d"),
        ("resources: []", "resources: found none, allowed is at least one"),
        ("weights: {bob: 0}", "weights.bob: found 0.0, allowed is 0.001 to 1000000"),
        ("label: a, annotation: b", "annotation: found b beside label, allowed is one of the two"),
        ("label: 3", "label: found 3, allowed is text"),
        ("user: name", "user: unknown argument (allowed: label, annotation, halfLife, resources, weights)"),
    ],
)
def test_a_mistake_in_its_arguments_is_named(arguments: str, mistake: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(mistake)):
        policy(arguments)


def test_an_annotation_may_say_whose_a_pod_is_and_only_that_one_is_kept() -> None:
    chosen = policy("annotation: example.com/owner")

    def pod(name: str, owner: str, minute: int) -> dict[str, object]:
        meta = {
            "name": name, "creationTimestamp": f"2026-11-01T12:0{minute}:00Z",
            "annotations": {"example.com/owner": owner, "example.com/other": "x"},
        }  # fmt: skip
        asks = {"limits": {"nvidia.com/gpu": "1"}}
        spec = {"schedulerName": "phalanx", "containers": [{"name": "main", "resources": asks}]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}

    world = World()
    world.apply(NodeSeen(Node("n1", allocatable={"nvidia.com/gpu": 2000, "pods": 110})))
    for one in (pod("a-1", "alice", 0), pod("a-2", "alice", 1), pod("b-1", "bob", 2)):
        event = read(one, chosen.ours)
        assert isinstance(event, TaskSeen)
        assert event.task.annotations == {"example.com/owner": one["metadata"]["annotations"]["example.com/owner"]}  # type: ignore[index]
        world.apply(event)
    plan = Loop(world, chosen).cycle(1_793_600_000.0).plan
    assert sorted(step.task for step in plan.binds) == ["default/a-1", "default/b-1"]
    assert read(pod("x", "y", 0), chosen.scheduler_names) == read(pod("x", "z", 0), chosen.scheduler_names)
