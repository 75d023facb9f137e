"""PodDisruptionBudget objects (policy/v1): whose pods may be disturbed, and how many of them at a time.

On a cluster the status says how many may leave now. In files nobody may have counted yet; then the world does, from the
pods that are there.
"""

import re
from typing import Any

from msgspec import Struct

from phalanx.dialects.core import objects
from phalanx.dialects.core.constraints import label_selector
from phalanx.dialects.mistakes import FieldError, Mistakes, check_name
from phalanx.model.budget import Budget, Portion
from phalanx.model.events import BudgetSeen
from phalanx.model.quantity import shown

GROUP = "policy"

_COUNT_MAX = 2**31 - 1
_PERCENT = re.compile(r"[0-9]{1,3}%", re.ASCII)


class BudgetSpec(Struct, gc=False, rename="camel"):
    """What a budget says. Numbers may be percentages, and are checked by hand."""

    selector: objects.Selector | None = None
    min_available: Any = None
    max_unavailable: Any = None


class BudgetStatus(Struct, gc=False, rename="camel"):
    """What the disruption controller counted."""

    disruptions_allowed: objects.Int32 | None = None
    desired_healthy: objects.Int32 | None = None
    expected_pods: objects.Int32 | None = None
    observed_generation: int | None = None


class PodDisruptionBudget(Struct, gc=False):
    """A PodDisruptionBudget."""

    metadata: objects.Versioned
    spec: BudgetSpec | None = None
    status: BudgetStatus | None = None


def read_budget(one: PodDisruptionBudget) -> BudgetSeen:
    """Return the budget, or raise the first mistake in it."""
    meta, spec = one.metadata, one.spec or BudgetSpec()
    namespace = meta.namespace or "default"
    check_name(meta.name, "metadata.name")
    check_name(namespace, "metadata.namespace")
    minimum = _portion(spec.min_available, "spec.minAvailable")
    maximum = _portion(spec.max_unavailable, "spec.maxUnavailable")
    if minimum is not None and maximum is not None:
        raise FieldError(
            "spec.maxUnavailable", f"found {shown(spec.max_unavailable)} beside minAvailable, allowed is one of them"
        )
    allowed, healthy = _counted(meta.generation, one.status)
    return BudgetSeen(
        Budget(
            namespace=namespace,
            name=meta.name,
            selector=label_selector(spec.selector, "spec.selector", Mistakes(strict=True)),
            minimum=minimum,
            maximum=maximum,
            allowed=allowed,
            healthy=healthy,
            uid=meta.uid or "",
        )
    )


def _counted(generation: int | None, status: BudgetStatus | None) -> tuple[int | None, int | None]:
    """Return how many may leave and how many must stay, as far as somebody counted."""
    if status is None or status.disruptions_allowed is None:
        return None, None
    if status.observed_generation is None and generation is None and status.expected_pods == 0:
        # Written by a tool that fills in zeros, and never sent to a cluster.
        return None, None
    if generation is not None and (status.observed_generation or 0) < generation:
        # The API server, too, lets nobody go until the new spec was counted.
        return 0, None
    return max(status.disruptions_allowed, 0), status.desired_healthy


def _portion(value: object, field: str) -> Portion | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _COUNT_MAX:
        return Portion(value)
    if isinstance(value, str) and _PERCENT.fullmatch(value) and int(value[:-1]) <= 100:
        return Portion(int(value[:-1]), percent=True)
    raise FieldError(field, f"found {shown(value)}, allowed is a whole number of pods, or a percentage from 0% to 100%")
