"""PodDisruptionBudget objects: whom they cover, and how many of those may leave."""

from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.model.budget import Budget, Portion
from phalanx.model.events import BudgetSeen, Refused
from phalanx.model.selectors import LabelSelector, Requirement


def budget(spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "shop", "uid": "7"} | more.pop("metadata", {})
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec, **more}


def seen(document: dict[str, Any]) -> Budget:
    event = read(document, [])
    assert isinstance(event, BudgetSeen), event
    return event.budget


def test_a_budget_covers_the_pods_that_its_selector_matches() -> None:
    spec = {
        "selector": {
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["test"]}],
        },
        "minAvailable": 2,
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    assert seen(budget(spec)) == Budget(
        "shop",
        "web",
        LabelSelector((Requirement("app", "In", ("web",)), Requirement("tier", "NotIn", ("test",)))),
        minimum=Portion(2),
        uid="7",
    )


def test_an_empty_selector_covers_everybody_and_a_missing_one_nobody() -> None:
    assert seen(budget({"selector": {}})).selector == LabelSelector()
    assert seen(budget({})).selector is None


@pytest.mark.parametrize(
    ("value", "portion"), [(0, Portion(0)), (3, Portion(3)), ("0%", Portion(0, True)), ("100%", Portion(100, True))]
)
def test_an_amount_is_a_number_or_a_percentage(value: Any, portion: Portion) -> None:
    assert seen(budget({"minAvailable": value})).minimum == portion
    assert seen(budget({"maxUnavailable": value})).maximum == portion


@pytest.mark.parametrize(
    ("value", "said"),
    [(-1, "-1"), ("101%", "'101%'"), ("x", "'x'"), ("3", "'3'"), (True, "true"), (1.5, "1.5"), ("-5%", "'-5%'")],
)
def test_any_other_amount_is_refused(value: Any, said: str) -> None:
    message = f"found {said}, allowed is a whole number of pods, or a percentage from 0% to 100%"
    assert read(budget({"maxUnavailable": value}), []) == Refused(
        "PodDisruptionBudget", "shop/web", "spec.maxUnavailable", message
    )


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        (
            {"minAvailable": 1, "maxUnavailable": "10%"},
            "spec.maxUnavailable",
            "found '10%' beside minAvailable, allowed is one of them",
        ),
        (
            {"selector": {"matchExpressions": [{"key": "app", "operator": "Is"}]}},
            "spec.selector.matchExpressions[0].operator",
            "found 'Is', allowed is In, NotIn, Exists, DoesNotExist",
        ),
        ({"selector": ["app"]}, "spec.selector", "found a list, allowed is a map"),
    ],
)
def test_a_mistake_names_the_field_and_what_is_allowed(spec: dict[str, Any], field: str, message: str) -> None:
    assert read(budget(spec), []) == Refused("PodDisruptionBudget", "shop/web", field, message)


def test_the_old_version_is_refused_since_its_empty_selector_meant_the_opposite() -> None:
    old = {**budget({}), "apiVersion": "policy/v1beta1"}
    assert read(old, []) == Refused(
        "PodDisruptionBudget", "shop/web", "apiVersion", "found 'policy/v1beta1', allowed is policy/v1"
    )


@pytest.mark.parametrize(
    ("generation", "status", "counted"),
    [
        (None, None, (None, None)),
        (None, {}, (None, None)),
        # A tool fills in zeros; nobody has counted.
        (None, {"disruptionsAllowed": 0, "expectedPods": 0, "currentHealthy": 0, "desiredHealthy": 0}, (None, None)),
        (None, {"disruptionsAllowed": 0}, (0, None)),
        (None, {"disruptionsAllowed": 2, "desiredHealthy": 3}, (2, 3)),
        (4, {"disruptionsAllowed": 2, "desiredHealthy": 3, "observedGeneration": 4}, (2, 3)),
        # Nobody goes until the new spec was counted.
        (4, {"disruptionsAllowed": 2, "desiredHealthy": 3, "observedGeneration": 3}, (0, None)),
        (1, {"disruptionsAllowed": 0, "expectedPods": 0}, (0, None)),
        (1, {"disruptionsAllowed": -1, "observedGeneration": 1}, (0, None)),
    ],
)
def test_the_status_counts_once_somebody_has_counted(generation: int | None, status: Any, counted: object) -> None:
    found = seen(budget({"minAvailable": 1}, metadata={"generation": generation}, status=status))
    assert (found.allowed, found.healthy) == counted


@pytest.mark.parametrize(
    ("terms", "running", "expected", "allowed"),
    [
        ({"minimum": Portion(2)}, 3, 3, 1),
        ({"minimum": Portion(2)}, 1, 3, 0),
        ({"minimum": Portion(50, True)}, 3, 3, 1),
        ({"minimum": Portion(50, True)}, 4, 5, 1),
        ({"maximum": Portion(1)}, 3, 3, 1),
        ({"maximum": Portion(1)}, 2, 3, 0),
        ({"maximum": Portion(5)}, 2, 3, 2),
        ({"maximum": Portion(50, True)}, 3, 3, 2),
        ({"maximum": Portion(0, True)}, 3, 3, 0),
        ({}, 3, 3, 0),
        ({"minimum": Portion(1), "allowed": 2}, 9, 9, 2),
        ({"minimum": Portion(1), "allowed": 2, "healthy": 8}, 9, 9, 1),
    ],
)
def test_how_many_may_leave(terms: dict[str, Any], running: int, expected: int, allowed: int) -> None:
    assert Budget("shop", "web", LabelSelector(), **terms).allows(running, expected) == allowed
