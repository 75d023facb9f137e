"""Budgets in the world: whom they cover, how many may leave, and that nothing of it depends on what was before."""

from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.model.budget import Budget, Portion
from phalanx.model.events import BudgetGone, BudgetSeen, Event, NodeSeen, Refused, TaskGone, TaskSeen
from phalanx.model.node import Node
from phalanx.model.reference import Reference
from phalanx.model.running import OVERBUDGETED, UNBUDGETED
from phalanx.model.selectors import LabelSelector, Requirement
from phalanx.model.task import Shape, State, Task
from phalanx.world.world import World

NODE = NodeSeen(Node("n1", allocatable={"cpu": 9000, "pods": 9}))


def app(name: str) -> LabelSelector:
    return LabelSelector((Requirement("app", "In", (name,)),))


def pod(name: str, state: State = State.RUNNING, **more: Any) -> Task:
    made = Task(name, "shop", name, Shape((("pods", 1),)), state, None if state is State.PENDING else "n1")
    return replace(made, **{"labels": {"app": "web"}, "started": 0.0, **more})


def web(**more: Any) -> Budget:
    return replace(Budget("shop", "web", app("web"), minimum=Portion(2), uid="1"), **more)


def world_of(*events: Event) -> World:
    world = World()
    world.look_for_victims(wanted=True)
    for event in events:
        world.apply(event)
    return world


def columns(world: World) -> tuple[dict[str, int], list[int]]:
    """Return the budget of each running task, and how many more may leave."""
    running = world.compile(0.0).running
    return dict(zip(running.uids, running.budget.tolist(), strict=True)), running.budgets.tolist()


def test_a_budget_covers_matching_pods_of_its_namespace_and_counts_those_that_run() -> None:
    world = world_of(
        NODE,
        *map(TaskSeen, [pod("a"), pod("b"), pod("c"), pod("d", labels={"app": "db"}), pod("e", namespace="other")]),
        TaskSeen(pod("f", State.PENDING)),
        TaskSeen(pod("g", ours=False)),
        BudgetSeen(web()),
    )
    under = {"a": 0, "b": 0, "c": 0, "d": UNBUDGETED, "e": UNBUDGETED}
    assert columns(world) == (under, [2])
    world.apply(BudgetSeen(web(minimum=Portion(50, percent=True))))
    assert columns(world) == (under, [1]), "five are expected: half of them is three"
    world.apply(TaskSeen(pod("c", State.RELEASING)))
    assert columns(world)[1] == [0]


def test_a_pod_under_two_budgets_is_marked_and_one_budget_less_is_one_again() -> None:
    world = world_of(NODE, TaskSeen(pod("a")), BudgetSeen(web()), BudgetSeen(Budget("shop", "all", LabelSelector())))
    assert columns(world) == ({"a": OVERBUDGETED}, [0, 0])
    world.apply(BudgetGone("shop/all"))
    assert columns(world) == ({"a": 0}, [0])


def test_a_late_word_of_a_deletion_leaves_the_budget_that_was_made_since() -> None:
    world = world_of(
        NODE, TaskSeen(pod("a")), BudgetSeen(web(uid="2", minimum=Portion(0))), BudgetGone("shop/web", "1")
    )
    assert columns(world) == ({"a": 0}, [1])
    world.apply(BudgetGone("shop/web", "2"))
    assert columns(world) == ({"a": UNBUDGETED}, [])


def test_a_budget_that_cannot_be_read_protects_its_whole_namespace_until_it_is_repaired() -> None:
    world = world_of(NODE, TaskSeen(pod("a", labels={})), TaskSeen(pod("b", labels={}, namespace="other")))
    world.apply(Refused("PodDisruptionBudget", "shop/web", "spec.selector", "found x"))
    assert columns(world) == ({"a": 0, "b": UNBUDGETED}, [0])
    assert Reference("PodDisruptionBudget", "shop/web") in world.refused
    world.apply(BudgetSeen(web()))
    assert columns(world) == ({"a": UNBUDGETED, "b": UNBUDGETED}, [0])
    assert not world.refused


def test_another_allowance_makes_a_decision_due_where_somebody_waits_and_victims_are_looked_for() -> None:
    world = world_of(NODE, TaskSeen(pod("a")), BudgetSeen(web(allowed=0)), TaskSeen(pod("w", State.PENDING)))
    world.compile(0.0)
    assert not world.due(0.0)
    world.apply(BudgetSeen(web(allowed=0)))
    assert not world.due(0.0), "it says the same"
    world.apply(BudgetSeen(web(allowed=1)))
    assert world.due(0.0)
    world.look_for_victims(wanted=False)
    assert not world.due(0.0)


NAMES = ("web", "db", "all")
BUDGETS = st.builds(
    Budget,
    st.sampled_from(["shop", "other"]),
    st.sampled_from(NAMES),
    st.sampled_from([app("web"), app("db"), LabelSelector(), None]),
    minimum=st.none() | st.builds(Portion, st.integers(0, 60), st.booleans()),
    allowed=st.none() | st.integers(0, 3),
    uid=st.sampled_from("12"),
)
TASKS = st.builds(
    lambda name, state, label, namespace, ours: pod(
        name, state, labels={"app": label}, namespace=namespace, ours=ours or state is State.PENDING
    ),
    st.sampled_from([f"p{number}" for number in range(8)]),
    st.sampled_from([State.PENDING, State.RUNNING, State.RUNNING, State.RELEASING, State.SUCCEEDED, State.FAILED]),
    st.sampled_from(["web", "db", "none"]),
    st.sampled_from(["shop", "other"]),
    st.booleans(),
)
FULL_NAMES = st.builds("{}/{}".format, st.sampled_from(["shop", "other"]), st.sampled_from(NAMES))
EVENTS = st.one_of(
    BUDGETS.map(BudgetSeen),
    st.builds(BudgetGone, FULL_NAMES, st.none() | st.sampled_from("12")),
    FULL_NAMES.map(lambda name: Refused("PodDisruptionBudget", name, "spec", "found x")),
    TASKS.map(TaskSeen),
    TASKS.map(TaskSeen),
    st.sampled_from([f"p{number}" for number in range(8)]).map(TaskGone),
)


@settings(max_examples=300)
@given(st.lists(st.tuples(EVENTS, st.booleans()), max_size=25), st.randoms())
def test_the_columns_after_any_story_are_those_of_who_has_just_read_what_is_there(
    story: list[tuple[Event, bool]], chance: Random
) -> None:
    world = world_of(NODE)
    for event, look in story:
        world.apply(event)
        if look:
            world.compile(0.0)
    now: list[Event] = [
        *map(TaskSeen, world.tasks.values()),
        *(BudgetSeen(budget) for budget in world.budgets.seen.values()),
    ]
    chance.shuffle(now)
    fresh = world_of(NODE, *now)
    assert columns(world) == columns(fresh)
