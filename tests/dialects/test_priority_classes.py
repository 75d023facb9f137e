"""PriorityClass objects, to numbers."""

from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.model.events import PriorityClassSeen, Refused


def class_(value: Any, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "gold"}, "value": value,
        **more,
    }  # fmt: skip


def test_a_class_is_a_number_and_may_be_everybodys() -> None:
    assert read(class_(1000, description="x"), []) == PriorityClassSeen("gold", 1000)
    assert read(class_(7, preemptionPolicy="PreemptLowerPriority"), []) == PriorityClassSeen("gold", 7)
    assert read(class_(7, preemptionPolicy="Never"), []) == PriorityClassSeen("gold", 7, evicts=False)
    assert read(class_(-5, globalDefault=True), []) == PriorityClassSeen("gold", -5, default=True)


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha1"])
def test_the_versions_of_old_manifests_say_the_same(version: str) -> None:
    old = {**class_(7), "apiVersion": f"scheduling.k8s.io/{version}"}
    assert read(old, []) == PriorityClassSeen("gold", 7)


@pytest.mark.parametrize(
    ("value", "said"), [("high", "'high'"), (None, "null"), (True, "true"), (2**31, "2147483648"), (1.5, "1.5")]
)
def test_a_class_without_a_whole_number_is_refused(value: Any, said: str) -> None:
    message = f"found {said}, allowed is a whole number of 32 bits"
    assert read(class_(value), []) == Refused("PriorityClass", "gold", "value", message)
