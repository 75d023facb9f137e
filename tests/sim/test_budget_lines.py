"""Budgets and opt-outs in scenarios: real objects, and mistakes that name the line and what is allowed."""

from textwrap import dedent

import pytest

from phalanx.model.budget import Budget, Portion
from phalanx.model.events import BudgetSeen
from phalanx.model.selectors import LabelSelector, Requirement
from phalanx.model.task import Task
from phalanx.sim.documents import budget_document
from phalanx.sim.lines import ScenarioError
from phalanx.sim.scenario import read_scenario
from phalanx.sim.timeline import Arrive, timeline


def budgets(text: str) -> list[Budget]:
    return [event.budget for event in timeline(read_scenario(text)).others if isinstance(event, BudgetSeen)]


def tasks(text: str) -> list[Task]:
    return [one.task for _, one in timeline(read_scenario(text)).happenings if isinstance(one, Arrive)]


def test_a_budget_line_is_a_real_budget() -> None:
    line = "budget web min-available=50% label:app=web label:tier=front namespace=shop"
    assert budget_document(read_scenario(line).budgets[0]) == {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop", "uid": "budget:web"},
        "spec": {"selector": {"matchLabels": {"app": "web", "tier": "front"}}, "minAvailable": "50%"},
    }
    selector = LabelSelector((Requirement("app", "In", ("web",)), Requirement("tier", "In", ("front",))))
    assert budgets(line) == [Budget("shop", "web", selector, minimum=Portion(50, percent=True), uid="budget:web")]


def test_a_budget_without_labels_covers_its_whole_namespace() -> None:
    assert budgets("budget all max-unavailable=1") == [
        Budget("default", "all", LabelSelector(), maximum=Portion(1), uid="budget:all")
    ]


def test_pods_say_whether_they_may_be_moved_and_whether_others_leave_for_them() -> None:
    first, second, third = tasks("pod p\npod q movable=false\ngang g members=1 preempts=false")
    assert (first.movable, first.evicts) == (True, True)
    assert (second.movable, second.evicts) == (False, True)
    assert (third.movable, third.evicts) == (True, False)


_WORDS = "min-available, max-unavailable, namespace, label:"
_PORTION = "allowed is a whole number from 0 to 100000, or a percentage from 0% to 100%"


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("budget b", "1: budget b: allowed is one of min-available=… and max-unavailable=…"),
        (
            "budget b min-available=1 max-unavailable=1",
            "1: budget b: allowed is one of min-available=… and max-unavailable=…",
        ),
        ("budget b min-available=101%", f"1: budget b: min-available: found '101%', {_PORTION}"),
        ("budget b max-unavailable=-1", f"1: budget b: max-unavailable: found '-1', {_PORTION}"),
        ("budget b max-unavailable=1 label:app", "1: budget b: found 'label:app', allowed is label:KEY=VALUE"),
        (
            "budget b min-avail=1",
            f"1: budget b: found 'min-avail=1', allowed are {_WORDS}; did you mean min-available?",
        ),
    ],
)
def test_a_mistake_names_the_line_the_word_and_what_is_allowed(text: str, mistake: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        read_scenario(text)
    assert str(caught.value) == f"scenario:{mistake}"


def test_two_budgets_of_one_name_are_a_mistake_unless_they_live_apart() -> None:
    line = "budget b max-unavailable=1"
    with pytest.raises(ScenarioError, match="budget b: found 2 budgets of this name, allowed is one"):
        read_scenario(f"{line}\n{line}")
    assert len(budgets(dedent(f"{line}\n{line} namespace=other"))) == 2
