"""PriorityClass objects to numbers."""

from typing import Any

from msgspec import Struct

from phalanx.dialects.core import objects
from phalanx.dialects.mistakes import FieldError, Mistakes, check_name, one_of
from phalanx.model.events import PriorityClassSeen
from phalanx.model.quantity import shown

GROUP = "scheduling.k8s.io"


NEVER = "Never"
#: The first is the default.
POLICIES = ("PreemptLowerPriority", NEVER)


class PriorityClass(Struct, gc=False, rename="camel"):
    """A PriorityClass."""

    metadata: objects.Metadata
    #: Checked by hand: the decoder would name a field that is missing otherwise than one that is bad.
    value: Any = None
    global_default: bool | None = None
    preemption_policy: str | None = None


def read_class(one: PriorityClass) -> PriorityClassSeen:
    """Return the class, or raise the first mistake in it."""
    name, value = one.metadata.name, one.value
    check_name(name, "metadata.name")
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**31) <= value < 2**31:
        raise FieldError("value", f"found {shown(value)}, allowed is a whole number of 32 bits")
    may = evicts(one.preemption_policy, "preemptionPolicy", Mistakes(strict=True))
    return PriorityClassSeen(name, value, default=bool(one.global_default), evicts=may)


def evicts(policy: str | None, field: str, mistakes: Mistakes) -> bool:
    """Tell whether others may be evicted for pods of this `preemptionPolicy`."""
    if policy and policy not in POLICIES:
        mistakes.note(field, one_of(policy, POLICIES))
    return policy != NEVER
